//! What `doctor` says of the buses: whose they are, and what lies in their quarantine.

use std::path::Path;

use jig_session_atomic::{MARK, PrivateDir};
use jig_session_schema::documents::Check;

use crate::buses::{About, Buses};
use crate::lock::fallback;
use crate::system::System;

/// One check a bus that a person should hear of, or one that says all are well.
pub fn checks(root: &Path) -> Vec<Check> {
    let system = System::new();
    let buses = Buses::new(root, &system);
    let Ok(Some(all)) = PrivateDir::open_own_existing(root) else { return Vec::new() };
    // That the folder cannot be listed is said by the check of the folder itself.
    let keys = all.list().unwrap_or_default();
    let mut found = Vec::new();
    let mut count = 0;
    for key in keys.into_iter().filter(|key| key != MARK) {
        let path = root.join(&key);
        let Ok(Some(bus)) = all.sub_existing(&key) else {
            found.push(check(false, format!("{} is no bus folder", path.display())).path(Some(text(&path))));
            continue;
        };
        count += 1;
        if let Some(errno) = fallback(&bus) {
            let message = format!(
                "the bus in {} runs with the fallback lock: a process found no locks on its file system ({errno})",
                path.display()
            );
            found.push(check(true, message).path(Some(text(&path))));
        }
        if let Some(finding) = whose(&buses, &key.to_string_lossy(), &path) {
            found.push(finding.path(Some(text(&path))));
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

/// Whose bus a folder is, if there is something to say of it. What live members use is never advised to be removed.
fn whose(buses: &Buses<'_>, key: &str, path: &Path) -> Option<Check> {
    let About { made_for, now, live } = buses.about(key);
    let Some(made_for) = made_for else {
        return Some(check(true, format!("{} does not say whose it is", path.display())));
    };
    let members = if live == 1 { "1 live member".to_owned() } else { format!("{live} live members") };
    if made_for.exists() {
        return now.filter(|now| *now != made_for && live > 0).map(|now| {
            check(
                true,
                format!("the bus of {} is the one of {} too, with {members}", made_for.display(), now.display()),
            )
        });
    }
    let was = made_for.display();
    Some(match (now, live) {
        (Some(now), 1..) => check(true, format!("the bus of {was}, which is {} now, with {members}", now.display())),
        (None, 1..) => check(true, format!("the bus of {was}, which is not there any more; {members} still on it"))
            .hint(Some("their next call in the moved folder finds it; it goes when they have ended".to_owned())),
        (_, 0) => check(true, format!("the bus of {was}, which is not there any more, without a live member"))
            .hint(Some(format!("if nobody needs its mail: rm -r {}", path.display()))),
    })
}

fn check(ok: bool, message: String) -> Check {
    Check::new().check("bus".to_owned()).ok(ok).message(message)
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
