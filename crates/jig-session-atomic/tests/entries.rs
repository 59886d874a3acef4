//! Bad entries among good ones: each is named with its reason, none is waited for, none hides another.
#![allow(clippy::disallowed_methods, reason = "tests read the files that they made")]

use std::collections::BTreeMap;
use std::os::unix::fs::{chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use jig_session_atomic::{PrivateDir, Reason};
use jig_session_testing::child::{Child, NOBODY, is_root, mode, names, place, temp};
use jig_session_testing::skipped;

const LIMIT: usize = 4096;

/// Runs the work on a thread of its own: a read that waits for a pipe fails the test instead of hanging it.
fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(work()));
    receiver.recv_timeout(Duration::from_secs(30)).expect("it does not wait for anybody")
}

fn make(path: &Path, program: &str, more: &[&str]) -> bool {
    let output = Command::new(program).arg(path).args(more).output().expect("it starts");
    output.status.success()
}

#[test]
fn each_bad_entry_is_named_and_hides_none() {
    let temp = temp();
    let path = temp.path().join("d");
    let dir = PrivateDir::open(&path).expect("made");
    let mut expected: BTreeMap<String, Result<Vec<u8>, Reason>> = BTreeMap::new();
    for number in 0..10 {
        let name = format!("good-{number}.json");
        let content = format!("{{\"n\":{number}}}").into_bytes();
        dir.write(&name, &content).expect("written");
        expected.insert(name, Ok(content));
    }
    let full = vec![b'x'; LIMIT];
    std::fs::write(path.join("full.json"), &full).expect("written");
    expected.insert("full.json".to_owned(), Ok(full));
    // Files of other writers may have wider modes: the folder is the gate.
    std::fs::write(path.join("wide.json"), "{}").expect("written");
    mode(&path.join("wide.json"), 0o664);
    expected.insert("wide.json".to_owned(), Ok(b"{}".to_vec()));

    let mut bad = |name: &str, reason| expected.insert(name.to_owned(), Err(reason));
    std::fs::write(path.join("long.json"), vec![b'x'; LIMIT + 1]).expect("written");
    bad("long.json", Reason::TooLarge);
    std::fs::File::create(path.join("huge.json")).expect("made").set_len(1 << 40).expect("sparse");
    bad("huge.json", Reason::TooLarge);
    std::fs::write(path.join("empty.json"), "").expect("written");
    bad("empty.json", Reason::Empty);
    std::fs::create_dir(path.join("folder.json")).expect("made");
    bad("folder.json", Reason::NotARegularFile);
    symlink("good-1.json", path.join("link.json")).expect("linked");
    bad("link.json", Reason::NotARegularFile);
    symlink("circle.json", path.join("circle.json")).expect("linked");
    bad("circle.json", Reason::NotARegularFile);
    symlink("/dev/zero", path.join("zero.json")).expect("linked");
    bad("zero.json", Reason::NotARegularFile);
    assert!(make(&path.join("pipe.json"), "mkfifo", &[]));
    bad("pipe.json", Reason::NotARegularFile);
    let _listener = UnixListener::bind(path.join("socket.json")).expect("bound");
    bad("socket.json", Reason::NotARegularFile);
    if is_root() {
        std::fs::write(path.join("theirs.json"), "{}").expect("written");
        chown(path.join("theirs.json"), Some(NOBODY), None).expect("given away");
        bad("theirs.json", Reason::ForeignOwner);
        if make(&path.join("device.json"), "mknod", &["c", "1", "5"]) {
            bad("device.json", Reason::NotARegularFile);
        }
    } else {
        skipped("each_bad_entry_is_named_and_hides_none (owner, device)", "only root can make those");
    }
    // These are no documents, whatever they hold.
    for name in [".hidden.json", "note.txt", ".good-1.json.tmp-1-00000000", "good-1.json.tmp-1", "json"] {
        std::fs::write(path.join(name), "{}").expect("written");
    }

    let before = names(&path);
    let found = in_time(move || {
        let mut found = BTreeMap::new();
        let leftovers = dir
            .scan(LIMIT, |entry| {
                let content = entry.content.map(|(bytes, _)| bytes.to_vec()).map_err(|problem| problem.reason);
                found.insert(entry.name.to_string_lossy().into_owned(), content);
            })
            .expect("the folder can be listed");
        assert_eq!(leftovers, 1, "one name is a temporary's");
        found
    });
    assert_eq!(found, expected);
    assert_eq!(names(&path), before, "a reader changes nothing");
}

#[test]
fn a_file_that_is_not_there_is_missing_and_nothing_else() {
    let temp = temp();
    let dir = PrivateDir::open(temp.path().join("d")).expect("made");
    let problem = dir.read("a.json", LIMIT).expect_err("not there");
    assert_eq!((problem.reason, problem.errno), (Reason::Missing, None));
}

#[test]
fn names_that_are_no_text_are_listed() {
    use std::os::unix::ffi::OsStrExt;
    let temp = temp();
    let dir = PrivateDir::open(temp.path().join("d")).expect("made");
    let name = std::ffi::OsStr::from_bytes(b"\xff\xfe.json");
    if std::fs::write(dir.path().join(name), "{}").is_err() {
        return skipped("names_that_are_no_text_are_listed", "this file system takes only names that are text");
    }
    assert_eq!(dir.documents().expect("listed"), [name]);
    assert_eq!(dir.read(name, LIMIT).expect("read").bytes, b"{}");
}

/// Without descriptors left nothing is concluded: the folder's failure is an error, the file's a problem with its errno.
#[test]
fn no_descriptors_left_is_no_empty_list() {
    if let Some(place) = place() {
        let dir = PrivateDir::open(&place).expect("there");
        let mut held = Vec::new();
        while let Ok(file) = std::fs::File::open("/dev/null") {
            held.push(file);
            assert!(held.len() < 10_000, "the limit is not in force");
        }
        let problem = dir.read("a.json", LIMIT).expect_err("no descriptor");
        let error = dir.list().expect_err("no descriptor");
        let write = dir.write("a.json", b"new").expect_err("no descriptor");
        let reopened = PrivateDir::open_existing(&place).expect_err("no descriptor");
        held.clear();
        assert_eq!((problem.reason, problem.errno), (Reason::Unreadable, Some(24)));
        for error in [error, write, reopened] {
            let text = error.to_string();
            assert!(text.contains("EMFILE") && text.contains(&place.display().to_string()), "{text}");
        }
        assert_eq!(dir.read("a.json", LIMIT).expect("descriptors again").bytes, b"old");
        return;
    }
    let temp = temp();
    let path = temp.path().join("d");
    PrivateDir::open(&path).expect("made").write("a.json", b"old").expect("written");
    let line = "ulimit -n 30; exec \"$0\" \"$@\"";
    Child::behind(&["sh", "-c", line], "no_descriptors_left_is_no_empty_list", &path).passes();
    assert_eq!(names(&path), ["a.json"]);
}

#[test]
fn an_unreadable_file_and_an_unlisted_folder_are_errors() {
    const NAME: &str = "an_unreadable_file_and_an_unlisted_folder_are_errors";
    if let Some(place) = place() {
        let path = place.join("own");
        let dir = PrivateDir::open(&path).expect("made");
        dir.write("a.json", b"{}").expect("written");
        mode(&path.join("a.json"), 0);
        let problem = dir.read("a.json", LIMIT).expect_err("no permission");
        assert_eq!((problem.reason, problem.errno), (Reason::Unreadable, Some(13)));
        mode(&path, 0o300);
        let error = PrivateDir::open_existing(&path).expect_err("no permission");
        assert!(error.to_string().contains("EACCES"), "{error}");
        mode(&path, 0o500);
        let error = dir.write("b.json", b"{}").expect_err("no permission");
        assert!(error.to_string().contains("EACCES") && error.hint().is_some(), "{error}");
        return;
    }
    let temp = temp();
    mode(temp.path(), 0o777);
    if is_root() {
        Child::as_user(NOBODY, NAME, temp.path(), temp.path()).passes();
    } else {
        Child::new(NAME, temp.path()).passes();
    }
}
