//! The lock of files, as it is taken where a file system has no locks. The mark in the folder makes everybody take it;
//! what the kernel says is tried over the command line, and by a crowd.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use jig_session_atomic::PrivateDir;
use jig_session_bus::fallback;
use jig_session_liveness::Verdict;
use serde_json::json;

use crate::town::{NOON, Town, names, session};

/// A bus that takes the lock of files, with a member.
fn town() -> Town {
    let town = Town::new();
    town.join_as(&session("s-a", 11), Some("a"));
    fs::write(town.folder().join("lock.fallback"), "ENOLCK\n").expect("a file");
    town
}

fn lock(town: &Town) -> PathBuf {
    town.folder().join("lock.holder")
}

/// What a process leaves that is killed with the lock.
fn held_by(pid: u32, boot: &str) -> String {
    let process = json!({ "start": format!("linux:{pid}"), "bootId": boot });
    json!({ "schema": 1, "token": format!("{pid:016x}"), "pid": pid, "process": process }).to_string()
}

/// A file of that many milliseconds before now.
fn leave(town: &Town, name: &str, content: &str, age_ms: u64) {
    let path = town.folder().join(name);
    fs::write(&path, content).expect("a file");
    let made = SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(NOON).expect("a time") - age_ms);
    fs::File::options().write(true).open(path).and_then(|file| file.set_modified(made)).expect("a time");
}

/// The names of the lock that are in the folder.
fn files(town: &Town) -> Vec<String> {
    names(&town.folder()).into_iter().filter(|name| name.starts_with("lock")).collect()
}

#[test]
fn everything_that_changes_works_and_leaves_nothing() {
    let town = town();
    let (a, b) = (session("s-a", 11), session("s-b", 12));
    town.join_as(&b, Some("b"));
    assert!(town.claim_all(&a, &["src", "docs"]).ok);
    assert!(!town.claim(&b, "src/api").ok);
    assert!(town.release(&a, &["src"]).ok);
    assert!(town.claim(&b, "src/api").ok);
    assert!(town.leave(&a).ok);
    assert_eq!(files(&town), ["lock", "lock.fallback"]);
    let folder = PrivateDir::open(town.folder()).expect("the folder");
    assert_eq!(fallback(&folder).as_deref(), Some("ENOLCK"));
    fs::remove_file(town.folder().join("lock.fallback")).expect("removed");
    assert_eq!(fallback(&folder), None);
}

#[test]
fn a_running_holder_is_waited_for_and_named_and_reading_goes_on() {
    let town = town();
    let (a, b) = (session("s-a", 11), session("s-b", 12));
    town.join_as(&b, Some("b"));
    leave(&town, "lock.holder", &held_by(77, "boot-1"), 400 * 24 * 3_600_000);
    let refused = town.claim(&a, "src");
    assert_eq!(refused.code.as_deref(), Some("busy"));
    assert_eq!(refused.message.expect("words"), "the bus is busy: process 77 holds its lock");
    assert!(town.status(&a).ok);
    assert!(town.send(&a, "b", "x").ok, "mail does not wait");
    assert_eq!(town.texts(&b), ["x"]);
    assert!(lock(&town).exists());
}

#[test]
fn a_dead_holder_and_its_dead_heirs_hold_nothing() {
    let town = town();
    let a = session("s-a", 11);
    leave(&town, "lock.holder", &held_by(77, "boot-1"), 0);
    leave(&town, &format!("lock.holder-{:016x}", 77), &held_by(78, "boot-1"), 0);
    town.life(77, Verdict::Gone);
    let refused = town.claim(&a, "src");
    assert_eq!(refused.message.expect("words"), "the bus is busy: process 78 holds its lock", "its heir runs");
    town.life(78, Verdict::Gone);
    assert!(town.claim(&a, "src").ok);
    assert_eq!(files(&town), ["lock", "lock.fallback"], "the chain goes with the lock");
}

#[test]
fn nobody_is_passed_over_for_want_of_evidence() {
    let town = town();
    let a = session("s-a", 11);
    leave(&town, "lock.holder", &held_by(77, "boot-1"), 400 * 24 * 3_600_000);
    town.life(77, Verdict::Unknown);
    let refused = town.claim(&a, "src");
    assert_eq!(refused.code.as_deref(), Some("busy"));
    assert!(refused.message.expect("words").contains("process 77 of another container or machine"));
    assert!(refused.hint.expect("a way out").contains(&format!("rm '{}'", lock(&town).display())));
    // No start is no identity.
    town.life(78, Verdict::Gone);
    leave(&town, "lock.holder", &json!({ "schema": 1, "token": "0123456789abcdef", "pid": 78 }).to_string(), 0);
    assert_eq!(town.claim(&a, "src").code.as_deref(), Some("busy"));
    // Another boot of a machine that looks like this one: a file made during this boot may be a copy's of this machine.
    leave(&town, "lock.holder", &held_by(78, "boot-0"), 10);
    assert_eq!(town.claim(&a, "src").code.as_deref(), Some("busy"));
    leave(&town, "lock.holder", &held_by(78, "boot-0"), 3_600_000);
    assert!(town.claim(&a, "src").ok, "made before this machine began to run");
}

#[test]
fn a_file_that_names_nobody_counts_until_this_boot_or_a_day() {
    let town = town();
    let a = session("s-a", 11);
    for content in ["", "\0\0\0", "{}", r#"{"token":"../../../../etc/p","pid":1}"#] {
        leave(&town, "lock.holder", content, 10);
        let refused = town.claim(&a, "src");
        assert_eq!(refused.code.as_deref(), Some("busy"), "{content:?}");
        assert!(refused.message.expect("words").contains("does not name its holder"));
        leave(&town, "lock.holder", content, 3_600_000);
        assert!(town.claim(&a, "src").ok, "{content:?}: a power cut left it");
        assert!(town.release_all(&a).ok);
    }
    town.pass(100 * 3_600_000);
    leave(&town, "lock.holder", "", 0);
    assert!(town.claim(&a, "src").ok, "older than a day, and of this boot");
    // What is no file of ours is no lock, and said so.
    fs::create_dir(lock(&town)).expect("a folder");
    let failed = town.try_at(&town.root.clone(), &a, &crate::town::claim(&["docs"])).err().expect("a failure");
    assert!(failed.to_string().contains("lock.holder"), "{failed}");
}

#[test]
fn what_a_killed_heir_left_is_swept() {
    let town = town();
    let a = session("s-a", 11);
    leave(&town, "lock.holder-0123456789abcdef", &held_by(77, "boot-1"), 0);
    assert!(town.status(&a).ok);
    assert_eq!(files(&town), ["lock", "lock.fallback"]);
}
