use std::fs;

use jig_session_bus::Life;

use crate::town::{Town, session, unproven};

#[test]
fn mail_expires_after_a_day_and_its_folder_with_it() {
    // 86
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
    town.life(12, Life::Gone);
    town.pass(600_001);
    town.join_as(&a, Some("a"));
    assert_eq!(town.files("sessions"), ["s-a.json"]);
    assert_eq!(town.files("inbox/s-b").iter().filter(|name| name.ends_with(".json")).count(), 1);
}
