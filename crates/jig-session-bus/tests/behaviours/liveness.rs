use std::fs;

use jig_session_liveness::Verdict;
use jig_session_schema::bus_result::MemberState;

use crate::town::{Town, calls, session, unproven};

#[test]
fn a_dead_process_is_gone_at_once() {
    // bus-v1 34, 39, 40, 41
    let town = Town::new();
    let (a, b) = (session("s-a", 11), session("s-b", 12));
    town.join_as(&a, Some("a"));
    town.claim(&a, "src/api");
    town.join_as(&b, Some("b"));
    town.life(11, Verdict::Gone);
    let status = town.status(&session("s-x", 13));
    let gone = status.members.iter().find(|member| member.id == "s-a").expect("its row stays");
    assert_eq!((gone.state, gone.claims), (MemberState::Gone, 0));
    assert!(status.claims.is_empty(), "its claims are not listed from that read on");
    assert!(town.claim(&b, "src").ok, "and are free");
    town.pass(600_001);
    assert!(town.open().beat(&b).expect("beaten"));
    let later = town.status(&b);
    assert!(!later.members.iter().any(|member| member.id == "s-a"), "its row goes when its beat ages out");
}

#[test]
fn a_claim_is_free_before_any_prune() {
    // bus-v1 41
    let town = Town::new();
    let (a, b) = (session("s-a", 11), session("s-b", 12));
    town.claim(&a, "src");
    town.join(&b);
    town.life(11, Verdict::Gone);
    assert!(town.check(&b, "src/api").ok);
    assert_eq!(town.files("claims").len(), 1, "a check writes nothing");
    assert!(town.claim(&b, "src/api").ok);
    assert_eq!(town.files("claims").len(), 1, "the dead one's claim went");
}

#[test]
fn without_evidence_the_beat_decides() {
    // bus-v1 37, 38
    let town = Town::new();
    let (a, b) = (unproven("s-a"), session("s-b", 12));
    town.join_as(&a, Some("a"));
    town.claim(&a, "src");
    town.pass(600_000);
    town.join(&b);
    assert!(!town.claim(&b, "src").ok, "at the TTL it is still live");
    town.pass(1);
    let status = town.status(&b);
    assert!(!status.members.iter().any(|member| member.id == "s-a"));
    assert_eq!(town.files("sessions").len(), 2, "without evidence its files stay for a day");
    assert_eq!(town.files("claims").len(), 1);
    assert!(town.claim(&b, "src/api").ok, "a stale member's claims do not hold");
    assert_eq!(town.files("claims").len(), 1, "and what overlaps a new one goes");
    town.pass(86_400_000);
    town.join(&b);
    assert_eq!(town.files("sessions"), ["s-b.json"]);
}

#[test]
fn a_member_elsewhere_is_not_called_dead() {
    // bus-v1 38
    let town = Town::new();
    let a = session("s-a", 11);
    town.join_as(&a, Some("a"));
    town.life(11, Verdict::Unknown);
    assert_eq!(town.status(&a).members[0].state, MemberState::Live);
    town.claim(&a, "src");
    assert!(!town.claim(&session("s-b", 12), "src").ok);
}

#[test]
fn a_silent_timer_is_stale_after_ten_minutes_and_calls_after_two_hours() {
    // bus-v1 42, 43, 116
    let town = Town::new();
    let (timer, by_calls, b) = (session("s-t", 11), calls(session("s-c", 12)), session("s-b", 13));
    town.claim(&timer, "src");
    town.claim(&by_calls, "docs");
    town.pass(600_000);
    assert!(!town.claim(&b, "src").ok, "a process that is stopped keeps its claims until the TTL");
    town.pass(1);
    assert!(town.open().beat(&b).expect("beaten"));
    let status = town.status(&b);
    let ids: Vec<_> = status.members.iter().map(|member| member.id.as_str()).collect();
    assert_eq!(ids, ["s-b", "s-c"]);
    assert_eq!(town.files("sessions"), ["s-b.json", "s-c.json"], "the stale one is pruned");
    assert!(town.claim(&b, "src").ok);
    town.pass(7_200_000 - 600_001);
    town.open().beat(&b).expect("beaten");
    assert!(!town.claim(&b, "docs").ok);
    town.pass(1);
    assert!(town.claim(&b, "docs").ok);
}

#[test]
fn setting_the_wall_clock_ages_nobody() {
    // bus-v1 44, 45
    let town = Town::new();
    let (a, b) = (session("s-a", 11), session("s-b", 12));
    town.join_as(&a, Some("a"));
    town.claim(&a, "src");
    for step in [9 * 3_600_000, -10 * 3_600_000] {
        town.set_wall(step);
        assert!(!town.claim(&b, "src").ok, "clock set by {step} ms");
        assert_eq!(town.files("sessions").len(), 2);
    }
}

#[test]
fn a_record_that_is_none_is_skipped_and_goes_only_after_the_ttl() {
    // bus-v1 49
    let town = Town::new();
    let a = session("s-a", 11);
    town.join(&a);
    let torn = town.folder().join("sessions/s-torn.json");
    fs::write(&torn, "{\"schema\":1,\"id\":").expect("a file");
    let stamp = |ago_s: u64| {
        let file = fs::File::options().write(true).open(&torn).expect("a file");
        let noon = std::time::UNIX_EPOCH + std::time::Duration::from_millis(crate::town::NOON as u64);
        file.set_modified(noon - std::time::Duration::from_secs(ago_s)).expect("a time");
    };
    stamp(590);
    let status = town.status(&a);
    assert_eq!((status.members.len(), status.unreadable), (1, 1));
    assert!(torn.exists());
    stamp(610);
    town.status(&a);
    assert!(!torn.exists());
    assert_eq!(town.files("quarantine"), ["s-torn.json"], "nothing is deleted at once");
}

#[test]
fn a_newer_record_is_left_alone() {
    let town = Town::new();
    let a = session("s-a", 11);
    town.join(&a);
    let newer = town.folder().join("sessions/s-new.json");
    fs::write(&newer, "{\"schema\":2,\"id\":\"s-new\"}").expect("a file");
    let file = fs::File::options().write(true).open(&newer).expect("a file");
    file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000)).expect("a time");
    assert_eq!(town.status(&a).unreadable, 1);
    assert!(newer.exists());
}

#[test]
fn a_file_under_anothers_name_is_nobodys() {
    let town = Town::new();
    let a = session("s-a", 11);
    town.join(&a);
    fs::copy(town.folder().join("sessions/s-a.json"), town.folder().join("sessions/s-b.json")).expect("a copy");
    let status = town.status(&a);
    assert_eq!((status.members.len(), status.unreadable), (1, 1));
}
