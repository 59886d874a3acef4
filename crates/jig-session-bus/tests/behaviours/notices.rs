use jig_session_bus::{Call, limits, notice, wake};
use jig_session_schema::bus_result::BusResult;

use crate::town::{Town, join, message, result, session};

#[test]
fn a_notice_points_and_previews() {
    let town = Town::new();
    let (a, b) = (session("s-a", 11), session("s-b", 12));
    town.join_as(&a, Some("alpha"));
    town.join_as(&b, Some("beta"));
    town.send(&a, "beta", "the port is 8080");
    assert_eq!(notice::text(&town.peek(&b).messages), "1 message\nalpha: the port is 8080\nRead with session inbox.");
    town.send(&a, "beta", "and 8081");
    assert!(notice::text(&town.peek(&b).messages).starts_with("2 messages\n"));
    assert!(result!(town.act(&a, &message("beta", "take over billing", "handoff")), Send).ok);
    let text = notice::text(&town.peek(&b).messages);
    assert!(text.starts_with("1 handoff, 2 messages\n"), "{text}");
    assert!(text.contains("\nalpha: take over billing\n"));
    assert!(text.ends_with("The work is yours: read it with session inbox, record the plan, and start."));
}

#[test]
fn what_was_told_is_not_told_again() {
    // 128, 130
    let town = Town::new();
    let (a, b) = (session("s-a", 11), session("s-b", 12));
    town.join_as(&a, Some("alpha"));
    town.join_as(&b, Some("beta"));
    town.send(&a, "beta", "one");
    let bus = town.open();
    let new = || {
        let mark = bus.told("s-b").expect("read");
        let peeked = bus.peek("s-b", limits::INBOX_MOST).expect("read");
        peeked.messages.into_iter().filter(|message| mark.is_new(&message.id)).map(|m| m.id).collect::<Vec<_>>()
    };
    let first = new();
    assert_eq!(first.len(), 1, "mail from before the watch is told once");
    bus.set_told("s-b", &first[0], &[]).expect("told");
    assert!(new().is_empty());
    town.send(&a, "beta", "two");
    assert_eq!(new().len(), 1);
    town.inbox(&b);
    assert!(new().is_empty(), "mail that was read raises nothing");
    bus.set_told("s-b", "1000000000000-00000000", &[]).expect("told");
    assert_eq!(bus.told("s-b").expect("read").last.as_deref(), Some(first[0].as_str()), "the mark never goes back");
}

#[test]
fn two_listeners_that_answer_each_other_run_dry() {
    // B15
    let town = Town::new();
    let b = session("s-b", 12);
    let wakes = Call::Join { label: Some("beta".into()), wake: true, listen: true, guard: None };
    town.act(&b, &wakes);
    let bus = town.open();
    let throttled = || town.status(&b).members[0].throttled;
    for turn in 0..6 {
        assert_eq!(throttled(), None, "wake {turn}");
        let mark = bus.told("s-b").expect("read");
        assert!(wake::may_wake(&mark.wakes, &["s-a"], crate::town::NOON + turn), "wake {turn}");
        bus.set_told("s-b", &format!("{:013}-00000000", 1_796_000_000_000i64 + turn), &["s-a"]).expect("told");
    }
    let mark = bus.told("s-b").expect("read");
    assert!(!wake::may_wake(&mark.wakes, &["s-a"], crate::town::NOON + 10));
    assert!(wake::may_wake(&mark.wakes, &["s-c"], crate::town::NOON + 10));
    assert_eq!(throttled(), Some(true));
    assert_eq!(town.status(&b).me.expect("a member").throttled, Some(true));
    town.act(&b, &join(None));
    assert_eq!(throttled(), None, "who is not woken is not held back");
    town.act(&b, &wakes);
    town.pass(600_000);
    town.act(&b, &wakes);
    assert_eq!(throttled(), None, "the wakes have left the window");
}
