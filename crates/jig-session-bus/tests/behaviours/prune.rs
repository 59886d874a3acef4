use std::fs;

use jig_session_liveness::Verdict;

use crate::town::{Town, session, unproven};

#[test]
fn mail_expires_after_a_day_and_its_folder_with_it() {
    // bus-v1 86
    let town = Town::new();
    let (a, b) = (session("s-a", 11), session("s-b", 12));
    town.join_as(&a, Some("a"));
    town.join_as(&b, Some("b"));
    town.send(&a, "b", "old");
    town.leave(&b);
    town.set_wall(25 * 3_600_000);
    town.open().prune_if_free().expect("pruned");
    assert_eq!(town.files("inbox").len(), 2, "the wall clock alone makes no mail old");
    town.set_wall(-25 * 3_600_000);
    town.pass(86_400_001);
    assert!(town.open().prune_if_free().expect("pruned"));
    assert!(!town.files("inbox").contains(&"s-b".to_owned()), "its session is off the bus, so the folder goes too");
}

#[test]
fn a_members_inbox_stays_when_its_mail_expires() {
    let town = Town::new();
    let (a, b) = (session("s-a", 11), session("s-b", 12));
    town.join_as(&a, Some("a"));
    town.join_as(&b, Some("b"));
    town.send(&a, "b", "old");
    town.pass(86_400_001);
    town.join_as(&b, Some("b"));
    town.open().prune_if_free().expect("pruned");
    assert!(town.texts(&b).is_empty());
}

#[test]
fn claims_without_a_record_go() {
    let town = Town::new();
    let (a, b) = (session("s-a", 11), session("s-b", 12));
    town.claim(&a, "src");
    fs::remove_file(town.folder().join("sessions/s-a.json")).expect("removed");
    assert!(town.claim(&b, "src/api").ok);
    assert_eq!(town.files("claims").len(), 1);
}

#[test]
fn a_record_that_cannot_be_read_keeps_its_claims() {
    let town = Town::new();
    let (a, b) = (session("s-a", 11), session("s-b", 12));
    town.claim(&a, "src");
    town.join(&b);
    let record = town.folder().join("sessions/s-a.json");
    let text = fs::read_to_string(&record).expect("a file");
    fs::write(&record, text.replace("\"schema\":1", "\"schema\":2")).expect("a file");
    town.open().prune_if_free().expect("pruned");
    assert_eq!(town.files("claims").len(), 1, "a newer program's member may hold it");
}

#[test]
fn the_quarantine_keeps_a_hundred_for_a_day() {
    let town = Town::new();
    let b = session("s-b", 12);
    town.join_as(&b, Some("b"));
    let inbox = town.folder().join("inbox/s-b");
    fs::create_dir_all(&inbox).expect("a folder");
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_millis(crate::town::NOON as u64 - 60_000);
    for i in 0..120 {
        let path = inbox.join(format!("1796000000000-{i:08x}.json"));
        fs::write(&path, "bad").expect("a file");
        let file = fs::File::options().write(true).open(&path).expect("a file");
        file.set_modified(long_ago + std::time::Duration::from_millis(i)).expect("a time");
    }
    town.inbox(&b);
    let kept = town.files("quarantine");
    assert_eq!(kept.len(), 100);
    assert_eq!(kept[0], format!("1796000000000-{:08x}.json", 20), "the newest are kept");
    town.pass(86_400_001);
    town.open().prune_if_free().expect("pruned");
    assert!(town.files("quarantine").is_empty());
}

#[test]
fn a_lock_that_is_held_is_not_waited_for() {
    let town = Town::new();
    town.join(&session("s-a", 11));
    let held = fs::File::open(town.folder().join("lock")).expect("the lock");
    held.lock().expect("locked");
    assert!(!town.open().prune_if_free().expect("asked"));
}

#[test]
fn a_silent_member_that_comes_back_in_time_keeps_what_nobody_took() {
    let town = Town::new();
    let (a, b) = (unproven("s-a"), session("s-b", 12));
    town.claim(&a, "src");
    town.claim(&a, "docs");
    town.pass(600_001);
    town.claim(&b, "src/api");
    assert!(town.open().beat(&a).expect("beaten"), "its record is kept for a day");
    assert!(!town.claim(&b, "docs").ok, "docs is its again");
    let held: Vec<_> = town.status(&b).claims.into_iter().map(|claim| (claim.path, claim.session)).collect();
    assert_eq!(held, [("docs".into(), "s-a".into()), ("src/api".into(), "s-b".into())]);
    assert!(town.status(&b).overlaps.is_empty());
}

#[test]
fn a_dead_members_inbox_with_mail_stays() {
    let town = Town::new();
    let (a, b) = (session("s-a", 11), session("s-b", 12));
    town.join_as(&a, Some("a"));
    town.join_as(&b, Some("b"));
    town.send(&a, "b", "keep");
    town.life(12, Verdict::Gone);
    town.pass(600_001);
    town.join_as(&a, Some("a"));
    assert_eq!(town.files("sessions"), ["s-a.json"]);
    assert_eq!(town.files("inbox/s-b").iter().filter(|name| name.ends_with(".json")).count(), 1);
}

/// Sets a file's time back so far that everything about it is old.
fn age(path: &std::path::Path) {
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_millis(crate::town::NOON as u64 - 90_000_000);
    fs::File::options().write(true).open(path).expect("a file").set_modified(long_ago).expect("a time");
}

#[test]
fn a_status_prunes_whatever_its_look_finds() {
    // A status takes the lock only when its look has shown something: each of these has to show.
    type Litter = (&'static str, &'static str, fn(&Town));
    let cases: [Litter; 10] = [
        ("claims", "s", |town| drop(fs::remove_file(town.folder().join("sessions/s-b.json")))),
        ("claims", "s", |town| town.life(12, Verdict::Gone)),
        ("sessions", "s-b.json", |town| {
            town.pass(600_001);
            town.open().beat(&session("s-a", 11)).expect("beaten");
        }),
        ("claims", "bad.json", |town| {
            fs::write(town.folder().join("claims/bad.json"), "bad").expect("a file");
            age(&town.folder().join("claims/bad.json"));
        }),
        ("sessions", ".s-a.json.tmp-77-0123abcd", |town| litter(town, "sessions/.s-a.json.tmp-77-0123abcd")),
        ("claims", ".s.json.tmp-77-0123abcd", |town| litter(town, "claims/.s.json.tmp-77-0123abcd")),
        ("", ".bus.json.tmp-77-0123abcd", |town| litter(town, ".bus.json.tmp-77-0123abcd")),
        ("inbox/s-b", ".m.json.tmp-77-0123abcd", |town| litter(town, "inbox/s-b/.m.json.tmp-77-0123abcd")),
        ("inbox/s-b", ".taken-77-77", |town| {
            let taken = town.folder().join("inbox/s-b/.taken-77-77");
            fs::create_dir(&taken).expect("a folder");
            town.life(77, Verdict::Gone);
        }),
        ("quarantine", "old.json", |town| {
            fs::create_dir_all(town.folder().join("quarantine")).expect("a folder");
            fs::write(town.folder().join("quarantine/old.json"), "bad").expect("a file");
            age(&town.folder().join("quarantine/old.json"));
        }),
    ];
    for (folder, name, make) in cases {
        let town = Town::new();
        let (a, b) = (session("s-a", 11), session("s-b", 12));
        town.join_as(&a, Some("a"));
        town.join_as(&b, Some("b"));
        town.claim(&b, "s");
        town.send(&a, "b", "mail");
        let there = |name: &str| town.files(folder).iter().any(|file| file.starts_with(name));
        make(&town);
        assert!(there(name), "{folder}/{name} is made");
        town.status(&a);
        assert!(!there(name), "{folder}/{name} goes");
        assert_eq!(town.peek(&b).messages.len(), 1, "{folder}/{name}: mail stays");
    }
}

/// A temporary whose writer is gone.
fn litter(town: &Town, path: &str) {
    town.life(77, Verdict::Gone);
    fs::write(town.folder().join(path), "half").expect("a file");
}

#[test]
fn a_status_removes_mail_and_inboxes_that_nobody_waits_for() {
    let town = Town::new();
    let (a, b) = (session("s-a", 11), session("s-b", 12));
    town.join_as(&a, Some("a"));
    town.join_as(&b, Some("b"));
    town.send(&a, "b", "old");
    town.pass(86_400_001);
    town.join_as(&a, Some("a"));
    town.join_as(&b, Some("b"));
    town.status(&a);
    let mail = |town: &Town| town.files("inbox/s-b").iter().filter(|name| name.ends_with(".json")).count();
    assert_eq!(mail(&town), 0, "expired mail goes");
    fs::create_dir(town.folder().join("inbox/s-nobody")).expect("a folder");
    town.status(&a);
    assert!(!town.files("inbox").contains(&"s-nobody".to_owned()));
}

#[test]
fn a_status_without_anything_to_prune_asks_once_and_touches_nothing() {
    let town = Town::new();
    let sessions = [session("s-a", 11), session("s-b", 12), session("s-c", 13)];
    for me in &sessions {
        town.join(me);
        town.claim(me, &format!("src/{}", me.id));
    }
    // Another record of the same process, as a caller with `--as` makes it.
    let twin = jig_session_bus::Me {
        id: "s-twin".into(),
        source: jig_session_bus::who::IdSource::Given,
        ..session("s-c", 13)
    };
    town.join(&twin);
    let before = (crate::town::tree(&town.folder()), town.asked());
    assert_eq!(town.status(&sessions[0]).members.len(), 4);
    assert_eq!(town.asked() - before.1, 3, "one question a process");
    assert_eq!(crate::town::tree(&town.folder()), before.0);
}
