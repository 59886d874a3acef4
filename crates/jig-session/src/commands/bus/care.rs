//! What `doctor` says of the buses: whose they are, and what lies in their quarantine.

use std::path::Path;

use jig_session_atomic::PrivateDir;
use jig_session_schema::bus::BusFolder;
use jig_session_schema::documents::Check;

/// One check a bus that a person should hear of, or one that says all are well.
pub(crate) fn checks(root: &Path) -> Vec<Check> {
    let check = |ok, message: String| Check::new().check("bus".to_owned()).ok(ok).message(message);
    let Ok(Some(all)) = PrivateDir::open_existing(root) else { return Vec::new() };
    // That the folder cannot be listed is said by the check of the folder itself.
    let keys = all.list().unwrap_or_default();
    let mut found = Vec::new();
    let mut count = 0;
    for key in keys {
        let path = root.join(&key);
        let Ok(Some(bus)) = all.sub_existing(&key) else {
            found.push(check(false, format!("{} is no bus folder", path.display())).path(Some(text(&path))));
            continue;
        };
        count += 1;
        if let Some(errno) = jig_session_bus::fallback(&bus) {
            let message = format!(
                "the bus in {} runs with the fallback lock: a process found no locks on its file system ({errno})",
                path.display()
            );
            found.push(check(true, message).path(Some(text(&path))));
        }
        let about = bus.read("bus.json", 65_536).ok().and_then(|read| BusFolder::read(&read.bytes).ok());
        match about.map(|read| read.value.common_dir) {
            None => {
                found.push(check(true, format!("{} does not say whose it is", path.display())).path(Some(text(&path))))
            }
            Some(of) if !Path::new(&of).exists() => {
                let message =
                    format!("the bus of {of}, which is not there any more: moved repositories have a new bus");
                let hint = format!("if nobody needs its mail: rm -r {}", path.display());
                found.push(check(true, message).hint(Some(hint)).path(Some(text(&path))));
            }
            Some(_) => {}
        }
        let held = bus.sub_existing("quarantine").ok().flatten().and_then(|folder| folder.list().ok());
        if let Some(held) = held.filter(|held| !held.is_empty()) {
            let message = format!("{} file(s) that were no documents lie in its quarantine, for a day", held.len());
            let path = path.join("quarantine");
            found.push(
                check(false, message).hint(Some(format!("look at them in {}", path.display()))).path(Some(text(&path))),
            );
        }
    }
    if found.is_empty() && count > 0 {
        found.push(check(true, format!("{count} bus folder(s), each of a repository that is there")));
    }
    found
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
