use jig_session_bus::{Call, Door, Occasion, limits, notice, wake};
use jig_session_schema::bus_result::BusResult;

use crate::town::{Town, join, message, result, session};

#[test]
fn a_notice_points_and_previews() {
    let town = Town::new();
    let (a, b) = (session("s-a", 11), session("s-b", 12));
    town.join_as(&a, Some("alpha"));
    town.join_as(&b, Some("beta"));
    town.send(&a, "beta", "the port is 8080");
    assert_eq!(
        notice::text(&town.peek(&b).messages, Door::Tool),
        "1 message\nRead with: session inbox\nalpha: the port is 8080"
    );
    town.send(&a, "beta", "and 8081");
    assert!(notice::text(&town.peek(&b).messages, Door::Tool).starts_with("2 messages\n"));
    assert!(result!(town.act(&a, &message("beta", "take over billing", "handoff")), Send).ok);
    let text = notice::text(&town.peek(&b).messages, Door::Tool);
    assert!(text.starts_with("1 handoff, 2 messages\n"), "{text}");
    assert!(text.contains("\nalpha: take over billing\n"));
    assert!(text.contains("\nThe work is yours: read it with session inbox, record the plan, and start.\n"));
}

#[test]
fn what_was_told_is_not_told_again() {
    // bus-v1 128, 130
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

#[test]
fn a_notice_and_an_inbox_have_a_size_whatever_waits() {
    let town = Town::new();
    let (a, b) = (session("s-a", 11), session("s-b", 12));
    town.join_as(&a, Some("alpha"));
    town.join_as(&b, Some("beta"));
    for k in 0..200 {
        town.send(&a, "beta", &format!("letter {k} {}", "pad ".repeat(if k < 5 { 900 } else { 40 })));
    }
    town.act(&a, &message("beta", &format!("the card {}", "x".repeat(900)), "handoff"));
    let member = town.open().member("s-b").expect("read").expect("a member");
    let notice = town.open().notice(&member, Occasion::Turn).expect("read").expect("mail");
    let lines: Vec<&str> = notice.text.lines().collect();
    assert!(notice.text.chars().count() <= 8_000);
    assert_eq!(lines[0], "1 handoff, 200 messages");
    assert!(lines[2].starts_with("alpha: the card"), "a handoff has room before the others");
    let shown = lines.len() - 3;
    assert_eq!(lines.last(), Some(&format!("and {} more", 201 - shown).as_str()));
    // What an answer has no room for stays in the inbox.
    let mut taken = 0;
    loop {
        let result = town.inbox_of(&b, Some(50));
        let count = result.messages.len();
        let size: usize = result.messages.iter().filter_map(|message| Some(message.text.as_ref()?.len())).sum();
        assert!(count <= 1 || size <= 8_000, "{size}");
        taken += count;
        assert_eq!(result.unread, Some(201 - taken as u64));
        if count == 0 {
            break;
        }
    }
    assert_eq!(taken, 201);
}

#[test]
fn sizes_are_counted_as_they_are_written() {
    let town = Town::new();
    let (a, b) = (session("s-a", 11), session("s-b", 12));
    town.join_as(&a, Some("alpha"));
    town.join_as(&b, Some("beta"));
    // Each of these is longer in an answer than it has characters: escaped, outside of the first plane, or with paths.
    let texts = ["\"".repeat(3_990), "\n.".repeat(1_990), "\u{1f600}".repeat(3_990), "plain ".repeat(600)];
    let paths: Vec<String> = (0..8).map(|n| format!("{n}/{}", "p".repeat(400))).collect();
    for k in 0..20 {
        let (text, paths) = (&texts[k % 4], if k % 4 == 3 { paths.clone() } else { Vec::new() });
        let text = format!("{k} {text}");
        let call = Call::Send { to: "beta".into(), text, kind: "message".into(), paths, reply_to: None };
        assert!(result!(town.act(&a, &call), Send).ok);
    }
    let units = |text: &str| text.encode_utf16().count();
    let member = town.open().member("s-b").expect("read").expect("a member");
    let notice = town.open().notice(&member, Occasion::Turn).expect("read").expect("mail");
    assert!(units(&notice.text) <= 8_000, "{}", units(&notice.text));
    let mut seen = 0;
    while seen < 20 {
        let answer = town.inbox_of(&b, Some(50));
        let document = serde_json::to_string(&answer).expect("a document");
        assert!(units(&document) < 10_000, "{}", units(&document));
        assert!(!answer.messages.is_empty(), "everything is given in the end");
        seen += answer.messages.len();
    }
    // What could never be given whole is not sent.
    let paths: Vec<String> = (0..20).map(|n| format!("{n}/{}", "p".repeat(450))).collect();
    let call = Call::Send { to: "beta".into(), text: "x".into(), kind: "message".into(), paths, reply_to: None };
    let refused = result!(town.act(&a, &call), Send);
    assert!(!refused.ok && refused.hint.is_some_and(|hint| hint.contains("fewer paths")), "{:?}", refused.message);
}

#[test]
fn a_letter_that_would_be_cut_is_not_taken_and_holds_nobody_up() {
    // As another program may have written it: 40,000 characters.
    let town = Town::new();
    let (a, b) = (session("s-a", 11), session("s-b", 12));
    town.join_as(&a, Some("alpha"));
    town.join_as(&b, Some("beta"));
    town.send(&a, "beta", "first");
    let inbox = town.folder().join("inbox/s-b");
    let first = town.files("inbox/s-b").into_iter().find(|name| name.ends_with(".json")).expect("a letter");
    let text = std::fs::read_to_string(inbox.join(&first)).expect("a letter");
    let id = format!("{}-0000aaaa", &first[..13]);
    let long = text.replace(first.trim_end_matches(".json"), &id).replace("first", &"y".repeat(40_000));
    std::fs::remove_file(inbox.join(&first)).expect("removed");
    std::fs::write(inbox.join(format!("{id}.json")), long).expect("a letter");
    town.send(&a, "beta", "second");
    let answer = town.inbox(&b);
    assert_eq!(answer.messages.len(), 1, "{answer:?}");
    assert_eq!(answer.messages[0].text.as_deref(), Some("second"));
    assert_eq!((answer.remaining, answer.unread), (1, Some(1)));
    assert!(answer.notes.iter().any(|note| note.contains("\"alpha\"") && note.contains("--limit 1")), "{answer:?}");
    // Who asks a command for one message is given it.
    let person = crate::town::calls(b);
    assert_eq!(town.inbox_of(&person, Some(1)).messages[0].text.as_deref().map(str::len), Some(40_000));
    assert!(town.files("inbox/s-b").iter().all(|name| !name.ends_with(".json")));
}
