//! The name under which this program will be found tomorrow.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use crate::command::is_ours;
use crate::found::on_path;

/// The program's name for an entry that outlives an upgrade: as it was typed, if that leads to this program, else the
/// bare name if PATH leads to it, else the file itself. A name of the user's own, such as a link `jig`, is not taken:
/// entries are known by the program's name.
///
/// A package manager keeps each version in a folder of its own and links to it; the file's real path is gone with the
/// next upgrade, so links are not resolved.
#[must_use]
pub fn stable_program(typed: &OsStr, path: Option<&OsStr>, folder: &Path, program: &Path) -> PathBuf {
    let is_this = |candidate: &Path| match (candidate.canonicalize(), program.canonicalize()) {
        (Ok(candidate), Ok(program)) => candidate == program,
        _ => false,
    };
    let typed = Path::new(typed);
    if typed.components().count() > 1 || typed.is_absolute() {
        let full = without_dots(&folder.join(typed));
        if full.to_str().is_some_and(is_ours) && is_this(&full) {
            return full;
        }
    }
    let bare = Path::new("jig-session");
    if path.and_then(|path| on_path(path, bare)).is_some_and(|found| is_this(&found)) {
        return bare.to_owned();
    }
    program.to_owned()
}

/// The path without `.`; `..` stays, since what is before it may be a link.
fn without_dots(path: &Path) -> PathBuf {
    path.components().filter(|component| *component != Component::CurDir).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_link_that_an_upgrade_moves_is_the_name_and_not_the_file_behind_it() {
        let root = tempfile::tempdir().unwrap();
        let cellar = root.path().join("Cellar/jig-session/0.1.0/bin");
        fs::create_dir_all(&cellar).unwrap();
        fs::create_dir_all(root.path().join("bin")).unwrap();
        let file = cellar.join("jig-session");
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        let link = root.path().join("bin/jig-session");
        symlink(&file, &link).unwrap();
        let path = root.path().join("bin");
        let name = |typed: &str, path: Option<&OsStr>| stable_program(OsStr::new(typed), path, root.path(), &file);
        assert_eq!(name(link.to_str().unwrap(), None), link, "as typed");
        assert_eq!(name("./bin/jig-session", None), link, "as typed, from here");
        assert_eq!(name("jig-session", Some(path.as_os_str())), Path::new("jig-session"), "found on PATH");
        assert_eq!(name("/proc/self/exe/none", Some(path.as_os_str())), Path::new("jig-session"), "typed otherwise");
        assert_eq!(name("jig-session", Some(OsStr::new("/nonexistent"))), file, "nothing leads to it");
        assert_eq!(name("jig-session", None), file);
        let alias = path.join("jig");
        symlink(&link, &alias).unwrap();
        assert_eq!(name("jig", Some(path.as_os_str())), Path::new("jig-session"), "a name of the user's own");
        assert_eq!(name(alias.to_str().unwrap(), None), file, "its path");
    }
}
