//! Children that are this very test program under other conditions: another user, other limits, another namespace.

use std::ffi::OsString;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The variable that tells a child which folder it is to work on.
const PLACE: &str = "JIG_TEST_PLACE";

/// A user that owns nothing here.
pub const NOBODY: u32 = 65534;

/// The folder that this process was started for, if it is such a child.
pub fn place() -> Option<PathBuf> {
    std::env::var_os(PLACE).map(PathBuf::from)
}

pub fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// A temporary folder that other users may pass through.
pub fn temp() -> tempfile::TempDir {
    let temp = tempfile::tempdir().expect("a temporary folder");
    mode(temp.path(), 0o755);
    temp
}

pub fn mode(path: &Path, bits: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(bits)).expect("the mode can be set");
}

pub fn mode_of(path: &Path) -> u32 {
    std::fs::symlink_metadata(path).expect("it is there").permissions().mode() & 0o7777
}

/// This test program once more, on one test, with the folder to work on.
pub struct Child {
    command: Command,
}

impl Child {
    pub fn new(test: &str, place: &Path) -> Self {
        Self::run(std::env::current_exe().expect("the test program has a path").into(), Vec::new(), test, place)
    }

    /// Behind a wrapping program and its arguments.
    pub fn behind(wrapper: &[&str], test: &str, place: &Path) -> Self {
        let mut words: Vec<OsString> = wrapper.iter().map(OsString::from).collect();
        words.push(std::env::current_exe().expect("the test program has a path").into());
        let program = words.remove(0);
        Self::run(program, words, test, place)
    }

    /// As another user. The program is copied to a place that user can start it from.
    pub fn as_user(uid: u32, test: &str, place: &Path, scratch: &Path) -> Self {
        let copy = open_copy(scratch);
        let mut child = Self::run(copy.into(), Vec::new(), test, place);
        // Started by root, `uid` also drops the other groups.
        child.command.uid(uid).gid(uid).current_dir("/");
        child
    }

    fn run(program: OsString, words: Vec<OsString>, test: &str, place: &Path) -> Self {
        let mut command = Command::new(program);
        command.args(words).args([test, "--exact", "--test-threads=1", "--nocapture"]).env(PLACE, place);
        Self { command }
    }

    /// Runs it; a child that fails an assertion fails the test.
    #[track_caller]
    pub fn passes(mut self) -> String {
        let output = self.command.output().expect("the child starts");
        let text = both(&output);
        assert!(output.status.success(), "{text}");
        assert!(text.contains("1 passed"), "the child ran no test: {text}");
        text
    }
}

/// A copy of this program that every user can start.
pub fn open_copy(folder: &Path) -> PathBuf {
    let copy = folder.join("test-program");
    // Copied by another program: a descriptor open for writing, inherited by a child of another test that is just being
    // started, would make the copy "busy".
    let own = std::env::current_exe().expect("the test program has a path");
    assert!(Command::new("cp").arg(own).arg(&copy).status().expect("cp runs").success());
    mode(folder, mode_of(folder) | 0o055);
    mode(&copy, 0o755);
    copy
}

fn both(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The names in a folder, sorted.
pub fn names(path: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(path)
        .expect("it can be listed")
        .map(|entry| entry.expect("it has an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

pub fn has(program: &str) -> bool {
    Command::new("sh").args(["-c", "command -v \"$0\" >/dev/null", program]).status().is_ok_and(|s| s.success())
}
