//! Files outside of a verified folder, and files that are added to: whatever stands there, nobody waits for it.
#![allow(clippy::disallowed_methods, reason = "tests read the files that they made")]

use std::io::{Read, Write};
use std::os::unix::fs::{chown, lchown, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use jig_session_atomic::{Fault, PrivateDir, Reason, open_file, read_file};
use jig_session_testing::child::{NOBODY, is_root, mode_of, names, temp};
use jig_session_testing::skipped;

const LIMIT: usize = 4096;

/// Runs the work on a thread of its own: a call that waits for a pipe fails the test instead of hanging it.
fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(work()));
    receiver.recv_timeout(Duration::from_secs(30)).expect("it does not wait for anybody")
}

fn make(path: &Path, program: &str, more: &[&str]) -> bool {
    Command::new(program).arg(path).args(more).output().expect("it starts").status.success()
}

fn reason(path: &Path) -> Reason {
    let path = path.to_owned();
    in_time(move || read_file(&path, LIMIT)).expect_err("it is not read").reason
}

/// Everything that is no regular file, made in a folder; their names.
fn wrong_kinds(folder: &Path) -> (Vec<&'static str>, UnixListener) {
    let mut made = vec!["pipe", "socket", "folder", "zero", "to-pipe", "circle"];
    assert!(make(&folder.join("pipe"), "mkfifo", &[]));
    let listener = UnixListener::bind(folder.join("socket")).expect("bound");
    std::fs::create_dir(folder.join("folder")).expect("made");
    symlink("/dev/zero", folder.join("zero")).expect("linked");
    symlink("pipe", folder.join("to-pipe")).expect("linked");
    symlink("circle", folder.join("circle")).expect("linked");
    if is_root() && make(&folder.join("device"), "mknod", &["c", "1", "5"]) {
        made.push("device");
    }
    (made, listener)
}

#[test]
fn only_a_regular_file_within_the_bound_is_read() {
    let temp = temp();
    let at = |name: &str| temp.path().join(name);
    std::fs::write(at("full"), vec![b'x'; LIMIT]).expect("written");
    std::fs::write(at("empty"), "").expect("written");
    std::fs::write(at("long"), vec![b'x'; LIMIT + 1]).expect("written");
    std::fs::File::create(at("huge")).expect("made").set_len(1 << 40).expect("sparse");
    symlink("full", at("link")).expect("linked");
    symlink("nowhere", at("dangling")).expect("linked");
    for (name, size) in [("full", LIMIT), ("link", LIMIT), ("empty", 0)] {
        assert_eq!(read_file(at(name), LIMIT).expect(name).bytes.len(), size, "{name}");
    }
    let (kinds, _listener) = wrong_kinds(temp.path());
    for name in kinds {
        assert_eq!(reason(&at(name)), Reason::NotARegularFile, "{name}");
    }
    for name in ["long", "huge"] {
        assert_eq!(reason(&at(name)), Reason::TooLarge, "{name}");
    }
    for name in ["nothing", "dangling", "full/below"] {
        assert!(read_file(at(name), LIMIT).expect_err(name).is_missing(), "{name}");
    }
    let mut text = String::new();
    let (mut file, stamp) = open_file(at("full")).expect("opened");
    file.read_to_string(&mut text).expect("read");
    assert_eq!(text.len() as u64, stamp.size);
}

/// The files of `/proc` say that they hold nothing, and one of them would be waited for.
#[test]
fn a_file_whose_size_is_not_known_is_read_to_its_end() {
    let status = Path::new("/proc/self/status");
    if !status.exists() {
        return skipped("a_file_whose_size_is_not_known_is_read_to_its_end", "there is no /proc");
    }
    let text = read_file(status, 1 << 16).expect("read").bytes;
    assert!(text.len() > 100, "{}", text.len());
    assert_eq!(reason(Path::new("/proc/self/smaps")), Reason::TooLarge);
}

#[test]
fn a_link_of_another_user_is_not_followed() {
    const NAME: &str = "a_link_of_another_user_is_not_followed";
    if !is_root() {
        return skipped(NAME, "only root can make one");
    }
    let temp = temp();
    let (theirs, link) = (temp.path().join("theirs"), temp.path().join("link"));
    std::fs::write(&theirs, "{}").expect("written");
    chown(&theirs, Some(NOBODY), None).expect("given away");
    symlink("theirs", &link).expect("linked");
    assert_eq!(read_file(&theirs, LIMIT).expect("another user's file").bytes, b"{}");
    assert_eq!(read_file(&link, LIMIT).expect("through a link of ours").bytes, b"{}");
    lchown(&link, Some(NOBODY), None).expect("given away");
    assert_eq!(reason(&link), Reason::ForeignOwner);
}

#[test]
fn what_is_added_is_added_to_a_file_of_ours_and_to_nothing_else() {
    let temp = temp();
    let path = temp.path().join("d");
    let dir = PrivateDir::open(&path).expect("made");
    dir.append("log", b"one\n", 8).expect("made");
    dir.append("log", b"two\n", 8).expect("added");
    assert_eq!(std::fs::read(path.join("log")).expect("there"), b"one\ntwo\n");
    assert_eq!(mode_of(&path.join("log")), 0o600);
    dir.append("log", b"three\n", 8).expect("added to a new one");
    assert_eq!(std::fs::read(path.join("log")).expect("there"), b"three\n");
    assert_eq!(std::fs::read(path.join("log.1")).expect("there"), b"one\ntwo\n");
    dir.append("log", b"four\n", 5).expect("added to a new one");
    assert_eq!(std::fs::read(path.join("log.1")).expect("there"), b"three\n");
    assert_eq!(names(&path), ["log", "log.1"]);

    // A file elsewhere that a link or a second name leads to stays as it is.
    let victim = temp.path().join("victim");
    std::fs::write(&victim, "theirs").expect("written");
    symlink(&victim, path.join("link")).expect("linked");
    std::fs::hard_link(&victim, path.join("second")).expect("linked");
    symlink(temp.path().join("new"), path.join("dangling")).expect("linked");
    let (mut kinds, _listener) = wrong_kinds(&path);
    kinds.extend(["link", "second", "dangling"]);
    // With somebody at its other end a pipe can be opened for writing.
    let fed = path.join("fed");
    assert!(make(&fed, "mkfifo", &[]));
    let _reader = std::fs::File::options().read(true).write(true).open(&fed).expect("opened");
    kinds.push("fed");
    let dir = std::sync::Arc::new(dir);
    for name in kinds {
        let dir = dir.clone();
        let error = in_time(move || dir.append(name, b"ours\n", 8)).expect_err(name);
        assert_eq!(error.fault(), &Fault::NotAFile, "{name}");
        assert!(error.hint().is_some() && error.to_string().contains(name), "{error}");
    }
    assert_eq!(std::fs::read(&victim).expect("there"), b"theirs");
    assert!(!temp.path().join("new").exists());
    if is_root() {
        std::fs::write(path.join("theirs"), "").expect("written");
        chown(path.join("theirs"), Some(NOBODY), None).expect("given away");
        let error = dir.append("theirs", b"ours\n", 8).expect_err("another user's");
        assert!(matches!(error.fault(), Fault::ForeignOwner { .. }), "{error}");
    } else {
        let _ = writeln!(std::io::stderr(), "SKIPPED another user's file: only root can make one");
    }
}
