//! Reading and replacing a configuration file, whatever stands in its place.

#![allow(clippy::disallowed_methods, reason = "the test made the files it reads")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use jig_session_settings::{ConfigFile, FileError};

fn read(path: &Path) -> ConfigFile {
    ConfigFile::read(path).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_file_keeps_its_mode_and_a_new_one_is_for_its_user() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made/settings.json");
    read(&path).replace("{}\n").unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    read(&path).replace("{\"a\":1}\n").unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"a\":1}\n");
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no temporary is left");
}

#[test]
fn a_link_stays_a_link_and_one_that_leads_nowhere_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (link, target) = (folder.path().join("settings.json"), folder.path().join("dotfiles.json"));
    symlink(&target, &link).unwrap();
    let refused = ConfigFile::read(&link).unwrap_err();
    assert!(matches!(&refused, FileError::DanglingLink { target: to, .. } if *to == target), "{refused}");
    fs::write(&target, "{}").unwrap();
    read(&link).replace("{\"a\":1}").unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&target).unwrap(), "{\"a\":1}");
}

#[test]
fn what_is_no_file_is_refused_without_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let link = folder.path().join("link");
    symlink(&fifo, &link).unwrap();
    for path in [fifo.as_path(), &link, folder.path(), Path::new("/dev/null")] {
        let refused = ConfigFile::read(path).unwrap_err().to_string();
        assert!(refused.starts_with(&format!("cannot read {}", path.display())), "{refused}");
    }
    let binary = folder.path().join("binary");
    fs::write(&binary, [0xff, 0xfe]).unwrap();
    assert!(matches!(ConfigFile::read(&binary), Err(FileError::NotText { .. })));
}

#[test]
fn a_file_that_changed_meanwhile_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings.json");
    let absent = read(&path);
    fs::write(&path, "theirs").unwrap();
    assert!(matches!(absent.replace("ours"), Err(FileError::Changed { .. })));
    let seen = read(&path);
    fs::write(&path, "theirs again").unwrap();
    assert!(matches!(seen.replace("ours"), Err(FileError::Changed { .. })));
    assert!(matches!(seen.remove(folder.path()), Err(FileError::Changed { .. })));
    assert_eq!(fs::read_to_string(&path).unwrap(), "theirs again");
}

#[test]
fn a_removed_file_takes_its_empty_folder_but_not_the_home() {
    let home = tempfile::tempdir().unwrap();
    let inner = home.path().join(".agent/settings.json");
    read(&inner).replace("{}").unwrap();
    read(&inner).remove(home.path()).unwrap();
    assert!(!home.path().join(".agent").exists());
    let outer = home.path().join(".agent.json");
    read(&outer).replace("{}").unwrap();
    read(&outer).remove(home.path()).unwrap();
    assert!(home.path().exists());
}

#[test]
fn what_a_killed_process_left_goes_with_the_next_edit_and_a_living_ones_stays() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("settings.json");
    fs::write(&path, "{}").unwrap();
    let mut ended = std::process::Command::new("true").spawn().unwrap();
    ended.wait().unwrap();
    let of = |pid: u32| temp.path().join(format!(".settings.json.tmp-{pid}"));
    let others = [of(1), temp.path().join(".other.json.tmp-1"), temp.path().join(".settings.json.tmp-x")];
    for left in others.iter().chain([&of(ended.id())]) {
        fs::write(left, "half").unwrap();
    }
    ConfigFile::read(&path).unwrap().replace("{}\n").unwrap();
    assert!(!of(ended.id()).exists());
    assert!(others.iter().all(|other| other.exists()));
}
