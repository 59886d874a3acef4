//! Writing, taking and deleting.
#![allow(clippy::disallowed_methods, reason = "tests read the files that they made")]

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use jig_session_atomic::{Fault, Leftover, LeftoverKind, Moved, PrivateDir, Removal, Sync, TempName};
use jig_session_testing::child::{Child, has, mode_of, names, place, temp};
use jig_session_testing::skipped;

const LIMIT: usize = 1 << 20;

fn bytes(dir: &PrivateDir, name: &str) -> Vec<u8> {
    dir.read(name, LIMIT).expect("it can be read").bytes
}

#[test]
fn a_written_file_is_read_back_and_nothing_else_is_left() {
    let temp = temp();
    let dir = PrivateDir::open(temp.path().join("d")).expect("made");
    for (round, sync) in [Sync::Nothing, Sync::FileAndName].into_iter().enumerate() {
        let content = vec![b'a' + round as u8; 70_000 * (2 - round)];
        let stamp = dir.write_synced("a.json", &content, sync).expect("written");
        let read = dir.read("a.json", LIMIT).expect("it can be read");
        assert_eq!(read.bytes, content);
        assert_eq!(read.stamp, stamp);
        assert_eq!(dir.stamp("a.json").expect("no error"), Some(stamp));
    }
    assert_eq!(mode_of(&dir.path().join("a.json")), 0o600);
    assert_eq!(names(dir.path()), ["a.json"]);
    assert!(dir.remove("a.json").expect("removed"));
    assert!(!dir.remove("a.json").expect("no error"));
    assert_eq!(dir.stamp("a.json").expect("no error"), None);
}

#[test]
fn a_new_file_replaces_none() {
    let temp = temp();
    let dir = PrivateDir::open(temp.path().join("d")).expect("made");
    assert!(dir.create_new("a.json", b"first").expect("no error").is_some());
    assert!(dir.create_new("a.json", b"second").expect("no error").is_none());
    assert!(dir.create_new_synced("a.json", b"third", Sync::FileAndName).expect("no error").is_none());
    assert_eq!(bytes(&dir, "a.json"), b"first");
    assert_eq!(names(dir.path()), ["a.json"]);
}

#[test]
fn of_many_who_create_or_take_one_wins() {
    let temp = temp();
    let path = temp.path().join("d");
    let dir = PrivateDir::open(&path).expect("made");
    for _ in 0..50 {
        let (made, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    if dir.create_new("r.json", b"{}").expect("no error").is_some() {
                        made.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    if let Some(name) = dir.take("r.json").expect("no error") {
                        taken.fetch_add(1, Ordering::Relaxed);
                        let parsed = Leftover::parse(&name).expect("a taken name");
                        assert_eq!(parsed.kind, LeftoverKind::Taken);
                        assert_eq!(parsed.file, "r.json");
                        assert_eq!(parsed.pid, std::process::id());
                        assert_eq!(dir.read(&name, LIMIT).expect("it is ours").bytes, b"{}");
                        assert!(dir.remove(&name).expect("removed"));
                    }
                });
            }
        });
        assert_eq!((made.into_inner(), taken.into_inner()), (1, 1));
        assert_eq!(names(&path), [""; 0]);
    }
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let temp = temp();
    let dir = PrivateDir::open(temp.path().join("d")).expect("made");
    for name in ["", ".", "..", "a/b", "../x.json", "/etc/passwd", "a\0b"] {
        for error in [
            dir.write(name, b"x").expect_err("refused"),
            dir.create_new(name, b"x").expect_err("refused"),
            dir.take(name).expect_err("refused"),
            dir.remove(name).expect_err("refused"),
            dir.lock(name, Duration::ZERO).expect_err("refused"),
            dir.sub(name).expect_err("refused"),
        ] {
            assert_eq!(error.fault(), &Fault::BadName, "{name:?}");
        }
        assert!(dir.read(name, LIMIT).is_err(), "{name:?}");
    }
    assert_eq!(names(temp.path()), ["d"]);
    assert_eq!(names(dir.path()), [""; 0]);
}

#[test]
fn a_failed_write_leaves_the_old_file_and_no_temporary() {
    let temp = temp();
    let dir = PrivateDir::open(temp.path().join("d")).expect("made");
    std::fs::create_dir(dir.path().join("folder.json")).expect("made");
    let error = dir.write("folder.json", b"x").expect_err("a folder stands there");
    let text = error.to_string();
    assert!(text.contains("EISDIR") && text.contains("folder.json"), "{text}");
    assert!(error.hint().is_some());
    let long = "n".repeat(250);
    let error = dir.write(&long, b"x").expect_err("no room for the temporary's name");
    assert!(error.to_string().contains("ENAMETOOLONG"), "{error}");
    assert!(dir.create_new("folder.json", b"x").expect("no error").is_none());
    assert_eq!(names(dir.path()), ["folder.json"]);
}

#[test]
fn a_file_over_the_size_limit_is_not_published() {
    if let Some(place) = place() {
        let dir = PrivateDir::open(&place).expect("there");
        let error = dir.write("a.json", &[b'x'; 100_000]).expect_err("over the limit");
        let text = error.to_string();
        assert!(text.contains("EFBIG") && text.contains("a.json"), "{text}");
        return;
    }
    let temp = temp();
    let path = temp.path().join("d");
    let dir = PrivateDir::open(&path).expect("made");
    dir.write("a.json", b"old").expect("written");
    let line = "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"";
    Child::behind(&["sh", "-c", line], "a_file_over_the_size_limit_is_not_published", &path).passes();
    assert_eq!(bytes(&dir, "a.json"), b"old");
    assert_eq!(names(&path), ["a.json"]);
}

#[test]
fn what_was_not_judged_stays() {
    let temp = temp();
    let dir = PrivateDir::open(temp.path().join("d")).expect("made");
    let judged = dir.write("a.json", b"old").expect("written");
    let newer = dir.write("a.json", b"new").expect("written");
    assert_ne!(judged, newer);
    assert_eq!(dir.remove_judged("a.json", &judged).expect("no error"), Removal::Changed);
    assert_eq!(bytes(&dir, "a.json"), b"new");
    assert_eq!(dir.remove_judged("a.json", &newer).expect("no error"), Removal::Removed);
    assert_eq!(dir.remove_judged("a.json", &newer).expect("no error"), Removal::Missing);
    assert_eq!(names(dir.path()), [""; 0]);
}

/// A publisher writes while others judge and delete, threads of one process and other processes' folders alike: what it
/// wrote last is never lost to a judgement of something older.
#[test]
fn a_removal_never_takes_a_newer_file() {
    let temp = temp();
    let dir = PrivateDir::open(temp.path().join("d")).expect("made");
    let other = PrivateDir::open(temp.path().join("d")).expect("the same folder, opened as another process does");
    let done = AtomicBool::new(false);
    let remover = |dir: &PrivateDir| {
        while !done.load(Ordering::Relaxed) {
            if let Ok(found) = dir.read("a.json", LIMIT)
                && found.bytes.starts_with(b"dead")
            {
                // On a busy machine a turn may not come in time; then nothing is removed.
                if let Err(error) = dir.remove_judged("a.json", &found.stamp) {
                    assert!(error.to_string().contains("EAGAIN"), "{error}");
                }
            }
        }
    };
    let lost = std::thread::scope(|scope| {
        // The removers end whatever becomes of this thread.
        let _end = Finally(|| done.store(true, Ordering::Relaxed));
        scope.spawn(|| remover(&dir));
        scope.spawn(|| remover(&dir));
        scope.spawn(|| remover(&other));
        scope.spawn(|| remover(&other));
        (0..500).find(|round| {
            dir.write("a.json", b"dead").expect("written");
            let content = format!("live {round}").into_bytes();
            dir.write("a.json", &content).expect("written");
            // The file can be aside for a moment while it is looked at again; it comes back by itself.
            let end = Instant::now() + Duration::from_secs(30);
            while dir.read("a.json", LIMIT).map(|found| found.bytes).as_ref() != Ok(&content) {
                if Instant::now() > end {
                    return true;
                }
                std::thread::yield_now();
            }
            false
        })
    });
    assert_eq!(lost, None, "the round in which a live file was lost");
    assert_eq!(names(dir.path()), ["a.json"]);
}

/// Does something when it is dropped.
struct Finally<F: Fn()>(F);

impl<F: Fn()> Drop for Finally<F> {
    fn drop(&mut self) {
        self.0();
    }
}

#[test]
fn moving_replaces_nothing() {
    let temp = temp();
    let dir = PrivateDir::open(temp.path().join("d")).expect("made");
    let aside = dir.sub("quarantine").expect("made");
    dir.write("a.json", b"1").expect("written");
    aside.write("taken.json", b"2").expect("written");
    assert_eq!(dir.move_new("a.json", &aside, "taken.json").expect("no error"), Moved::Exists);
    assert_eq!(dir.move_new("a.json", &aside, "a.json").expect("no error"), Moved::Done);
    assert_eq!(dir.move_new("a.json", &aside, "b.json").expect("no error"), Moved::Missing);
    assert_eq!(names(aside.path()), ["a.json", "taken.json"]);
    let error = dir.remove_sub("quarantine").expect_err("it holds files");
    assert!(error.to_string().contains("ENOTEMPTY"), "{error}");
    for name in ["a.json", "taken.json"] {
        assert!(aside.remove(name).expect("removed"));
    }
    assert!(dir.remove_sub("quarantine").expect("removed"));
    assert!(!dir.remove_sub("quarantine").expect("no error"));
}

/// Each kind of leftover by name, age and owner, and what a sweep does with it.
#[test]
fn a_sweep_takes_what_dead_writers_left_and_nothing_else() {
    const GONE: u32 = 4_000_001;
    const ALIVE: u32 = 4_000_002;
    let temp = temp();
    let dir = PrivateDir::open(temp.path().join("d")).expect("made");
    let own = std::process::id();
    let swept = [format!(".a.json.tmp-{GONE}-0123abcd"), format!(".b~0.json.tmp-{GONE}-ffffffff")];
    let kept = [
        format!(".a.json.tmp-{ALIVE}-0123abcd"),
        format!(".a.json.tmp-{own}-0123abcd"),
        format!(".a.json.taken-{GONE}-0123abcd"),
        format!("a.json.tmp-{GONE}"),
        format!(".a.json.tmp-{GONE}-0123ABCD"),
        format!(".tmp-{GONE}-1700000000000"),
        "a.json".to_owned(),
        ".a.lock".to_owned(),
    ];
    for name in swept.iter().chain(&kept) {
        std::fs::write(dir.path().join(name), "x").expect("written");
    }
    symlink("a.json", dir.path().join(format!(".l.json.tmp-{GONE}-00000000"))).expect("linked");
    std::fs::create_dir(dir.path().join(format!(".d.json.tmp-{GONE}-00000000"))).expect("made");
    let now = dir.stamp("a.json").expect("no error").expect("there").modified_ms();

    let mut went = dir.sweep(now, |pid| pid == GONE).expect("no error");
    went.sort();
    assert_eq!(went, swept.iter().map(OsStr::new).collect::<Vec<_>>());
    for name in &kept {
        assert!(dir.path().join(name).exists(), "{name}");
    }
    // An hour later nobody writes those any more, whoever has the number now.
    let went = dir.sweep(now + 3_601_000, |_| false).expect("no error");
    assert_eq!(went.len(), 2, "the temporaries of the living: {went:?}");
    assert!(dir.path().join(&kept[2]).exists(), "a taken file is answered for, not swept");
}

#[test]
fn a_thousand_leftovers_keep_nobody_from_writing() {
    let temp = temp();
    let dir = PrivateDir::open(temp.path().join("d")).expect("made");
    for number in 0..1_000 {
        std::fs::write(dir.path().join(format!(".a.json.tmp-4000001-{number:08x}")), "x").expect("written");
    }
    dir.write("a.json", b"{}").expect("written");
    assert_eq!(dir.sweep(0, |_| true).expect("no error").len(), 1_000);
    assert_eq!(names(dir.path()), ["a.json"]);
}

#[test]
fn the_other_form_of_temporaries_replaces_its_own_leftover() {
    let temp = temp();
    let dir = PrivateDir::open(temp.path().join("d")).expect("made").with_temp_name(TempName::PerProcess);
    let leftover = dir.path().join(format!("a.json.tmp-{}", std::process::id()));
    std::fs::write(&leftover, "half").expect("written");
    dir.write("a.json", b"whole").expect("written");
    assert_eq!(bytes(&dir, "a.json"), b"whole");
    assert_eq!(names(dir.path()), ["a.json"]);
}

#[test]
fn a_lock_is_held_by_one_and_its_file_may_go() {
    let temp = temp();
    let dir = PrivateDir::open(temp.path().join("d")).expect("made");
    let held = dir.lock(".a.lock", Duration::ZERO).expect("no error").expect("free");
    assert!(dir.lock(".a.lock", Duration::from_millis(30)).expect("no error").is_none());
    drop(held);
    let held = dir.lock(".a.lock", Duration::ZERO).expect("no error").expect("free again");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| dir.lock(".a.lock", Duration::from_secs(30)).expect("no error").is_some());
        held.remove(&dir).expect("removed");
        assert!(waiting.join().expect("no panic"), "who waits gets a new file");
    });
    assert_eq!(names(dir.path()), [".a.lock"]);
    symlink("a.json", dir.path().join(".b.lock")).expect("linked");
    assert!(dir.lock(".b.lock", Duration::ZERO).is_err(), "a link is no lock");
    let status = std::process::Command::new("mkfifo").arg(dir.path().join(".c.lock")).status().expect("it runs");
    assert!(status.success());
    assert_eq!(dir.lock(".c.lock", Duration::ZERO).expect_err("a pipe is no lock").fault(), &Fault::NotAFile);
}

/// Four threads count in one file under the lock, which each of them deletes: no count is lost.
#[test]
fn a_deleted_lock_keeps_excluding() {
    let temp = temp();
    let dir = PrivateDir::open(temp.path().join("d")).expect("made");
    dir.write("n", b"0").expect("written");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let lock = dir.lock(".n.lock", Duration::from_secs(60)).expect("no error").expect("in time");
                    let text = String::from_utf8(bytes(&dir, "n")).expect("digits");
                    let count: u32 = text.parse().expect("a number");
                    dir.write("n", (count + 1).to_string().as_bytes()).expect("written");
                    lock.remove(&dir).expect("removed");
                }
            });
        }
    });
    assert_eq!(bytes(&dir, "n"), b"200");
    assert_eq!(names(dir.path()), ["n"]);
}

/// Readers see whole files only; the same readers catch a writer that writes in place.
#[test]
fn no_read_is_torn_and_the_control_is() {
    let temp = temp();
    let dir = PrivateDir::open(temp.path().join("d")).expect("made");
    let torn = |whole: bool| {
        let done = AtomicBool::new(false);
        let (torn, missing) = (AtomicUsize::new(0), AtomicUsize::new(0));
        publish(&dir, whole, b'a');
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut buffer = Vec::new();
                    while !done.load(Ordering::Relaxed) {
                        match dir.read_into("a.json", LIMIT, &mut buffer) {
                            Ok(_) if buffer.len() == 65_536 && buffer.iter().all(|b| *b == buffer[0]) => {}
                            Ok(_) => _ = torn.fetch_add(1, Ordering::Relaxed),
                            Err(problem) if problem.reason.word() == "missing" => {
                                missing.fetch_add(1, Ordering::Relaxed);
                            }
                            Err(_) => _ = torn.fetch_add(1, Ordering::Relaxed),
                        }
                    }
                });
            }
            let _end = Finally(|| done.store(true, Ordering::Relaxed));
            // The control writes until it is caught, so that a slow machine cannot make it look whole.
            let mut round: u32 = 0;
            while round < 400 || (!whole && torn.load(Ordering::Relaxed) == 0 && round < 1_000_000) {
                publish(&dir, whole, b'a' + (round % 26) as u8);
                round += 1;
            }
        });
        (torn.into_inner(), missing.into_inner())
    };
    assert_eq!(torn(true), (0, 0));
    assert!(torn(false).0 > 0, "a writer in place must be caught, or this test proves nothing");
}

fn publish(dir: &PrivateDir, whole: bool, letter: u8) {
    let content = vec![letter; 65_536];
    if whole {
        dir.write("a.json", &content).expect("written");
        return;
    }
    let path = dir.path().join("a.json");
    let mut file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).open(path).expect("opened");
    for part in content.chunks(4096) {
        file.write_all(part).expect("written");
    }
}

/// Modes are right from the first system call on: nothing is opened to others and closed afterwards.
#[test]
fn nothing_is_ever_open_to_others() {
    const NAME: &str = "nothing_is_ever_open_to_others";
    if let Some(place) = place() {
        let dir = PrivateDir::open(place.join("state/jig")).expect("made");
        dir.write("a.json", b"{}").expect("written");
        dir.create_new("b.json", b"{}").expect("written");
        drop(dir.lock(".c.lock", Duration::ZERO).expect("no error"));
        return;
    }
    if !has("strace") {
        return skipped(NAME, "strace is not installed");
    }
    let temp = temp();
    let log = temp.path().join("log");
    let log_name = log.to_str().expect("UTF-8").to_owned();
    let wrapper = ["strace", "-f", "-o", &log_name, "-e", "trace=openat,mkdirat,mkdir,creat,open", "sh", "-c"];
    let wrapper = [wrapper.as_slice(), &["umask 000; exec \"$0\" \"$@\""]].concat();
    Child::behind(&wrapper, NAME, temp.path()).passes();
    let log = std::fs::read_to_string(&log).expect("a log");
    let (mut folders, mut files) = (0, 0);
    for line in log.lines().filter(|line| about(line, temp.path())) {
        if line.contains("mkdir") {
            assert!(line.contains(", 0700)"), "{line}");
            folders += 1;
        } else if line.contains("O_CREAT") {
            assert!(line.contains(", 0600)"), "{line}");
            files += 1;
        }
    }
    assert_eq!((folders, files), (2, 3), "{log}");
}

/// Whether a line of the log is about the folder: by its path, or by a name in it.
fn about(line: &str, place: &Path) -> bool {
    line.contains(&place.display().to_string()) || [".json", ".lock"].iter().any(|part| line.contains(part))
}
