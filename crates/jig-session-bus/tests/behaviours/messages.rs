use std::fs;

use jig_session_bus::Call;
use jig_session_liveness::Verdict;
use jig_session_schema::bus::{ListenMode, MessageKind};
use jig_session_schema::bus_result::{BusResult, MemberState, SendResult};

use crate::town::{Town, calls, message, result, session};

fn trio() -> (Town, [jig_session_bus::Me; 3]) {
    let town = Town::new();
    let all = [session("s-aaaa", 11), session("s-bbbb", 12), session("s-cccc", 13)];
    for (me, label) in all.iter().zip(["a", "b", "c"]) {
        town.join_as(me, Some(label));
    }
    (town, all)
}

fn send(town: &Town, me: &jig_session_bus::Me, call: &Call) -> SendResult {
    result!(town.act(me, call), Send)
}

#[test]
fn one_file_goes_to_each_recipient_and_the_result_says_what_happened() {
    // bus-v1 50, 64, 67
    let (town, [a, b, _]) = trio();
    let sent = town.send(&a, "b", "hello");
    assert!(sent.ok);
    assert_eq!(sent.kind, Some(MessageKind::Message));
    let [one] = sent.recipients.as_slice() else { panic!("one recipient") };
    assert_eq!((one.id.as_str(), one.label.as_str(), one.state), ("s-bbbb", "b", MemberState::Live));
    assert_eq!((one.listen, one.unread, one.queued, one.reason.as_deref()), (Some(ListenMode::Next), 1, true, None));
    let id = sent.id.expect("an id");
    assert_eq!(town.files("inbox/s-bbbb"), [format!("{id}.json")]);
    let got = town.inbox(&b).messages;
    assert_eq!((got[0].id.as_str(), got[0].from.id.as_str(), got[0].from.label.as_str()), (id.as_str(), "s-aaaa", "a"));
    assert_eq!((got[0].text.as_deref(), got[0].preview.as_deref(), got[0].broadcast), (Some("hello"), None, false));
}

#[test]
fn only_an_event_goes_to_everybody() {
    // bus-v1 51, 52, 53, 54
    let (town, [a, b, c]) = trio();
    for kind in ["message", "ask", "handoff"] {
        let refused = send(&town, &a, &message("*", "x", kind));
        assert_eq!((refused.ok, refused.code.as_deref()), (false, Some("refused")), "{kind}");
    }
    town.join_as(&session("s-gone", 14), Some("gone"));
    town.life(14, Verdict::Gone);
    town.join_as(&session("s-mute", 15), Some("mute"));
    town.pass(600_001);
    for me in [&a, &b, &c] {
        town.open().beat(me).expect("beaten");
    }
    let sent = send(&town, &a, &message("*", "contract v2", "event"));
    let mut labels: Vec<_> = sent.recipients.iter().map(|to| to.label.as_str()).collect();
    labels.sort_unstable();
    assert_eq!(labels, ["b", "c"], "not the sender, not the gone, not the stale");
    let later = session("s-dddd", 16);
    town.join_as(&later, Some("d"));
    assert!(town.texts(&later).is_empty(), "who joins later does not get it");
    assert_eq!(town.texts(&b), ["contract v2"]);
    assert!(town.inbox(&c).messages[0].broadcast);

    let alone = Town::new();
    let done = alone.act(&session("s-a", 11), &message("*", "x", "event"));
    assert!(done.notes().iter().any(|note| note.contains("nobody")));
    let sent = result!(done, Send);
    assert!(sent.ok && sent.recipients.is_empty());
}

#[test]
fn targets_are_ids_labels_and_pieces() {
    // bus-v1 55, 56, 57, 58, 59
    let (town, [a, b, _]) = trio();
    for (to, text) in [("s-bbbb", "1"), ("B", "2"), ("bbbb", "3")] {
        assert!(town.send(&a, to, text).ok, "{to}");
    }
    assert_eq!(town.texts(&b), ["1", "2", "3"]);
    let inboxes = town.files("inbox");
    let unknown = town.send(&a, "nobody", "x");
    assert_eq!((unknown.ok, unknown.code.as_deref()), (false, Some("not-found")));
    let own = town.send(&a, "a", "x");
    assert_eq!(own.code.as_deref(), Some("refused"));
    for (id, pid) in [("019fb27c-6804-7fa5-a", 21), ("019fb27c-6804-7fa6-b", 22)] {
        town.join(&session(id, pid));
    }
    let ambiguous = town.send(&a, "019fb2", "x");
    assert_eq!(ambiguous.code.as_deref(), Some("ambiguous"));
    let words = ambiguous.message.expect("words");
    assert!(words.contains("019fb27c-6804-7fa5-a") && words.contains("019fb27c-6804-7fa6-b"), "{words}");
    town.life(12, Verdict::Gone);
    let gone = town.send(&a, "b", "x");
    assert_eq!(gone.code.as_deref(), Some("refused"));
    assert!(gone.message.expect("words").contains("gone"));
    assert_eq!(town.files("inbox"), inboxes, "nothing is written");
    assert!(town.files("inbox/s-bbbb").iter().all(|name| !name.ends_with(".json")));
}

#[test]
fn a_dead_namesake_makes_no_target_ambiguous() {
    let (town, [a, ..]) = trio();
    town.life(12, Verdict::Gone);
    let heir = session("s-heir", 22);
    town.join_as(&heir, Some("b"));
    assert!(town.send(&a, "b", "for the living").ok);
    assert_eq!(town.texts(&heir), ["for the living"]);
}

#[test]
fn a_stale_peer_is_written_to_with_a_warning() {
    let (town, [a, b, _]) = trio();
    let quiet = calls(session("s-quiet", 31));
    town.join_as(&quiet, Some("quiet"));
    town.pass(7_200_001);
    town.open().beat(&a).expect("beaten");
    town.join_as(&a, Some("a"));
    // It is not pruned: nobody has evidence about it.
    town.life(31, Verdict::Unknown);
    town.join_as(&quiet, Some("quiet"));
    town.pass(7_200_001);
    town.join_as(&a, Some("a"));
    let done = town.act(&a, &message("quiet", "x", "message"));
    assert!(done.notes().iter().any(|note| note.contains("silent")), "{:?}", done.notes());
    assert_eq!(result!(done, Send).recipients[0].state, MemberState::Stale);
    drop(b);
}

#[test]
fn texts_are_whole_or_refused() {
    // bus-v1 60, 61, 62, 64
    let (town, [a, b, _]) = trio();
    let long = "x".repeat(4000);
    let wide = "\u{1f600}".repeat(4000);
    assert!(town.send(&a, "b", &long).ok);
    assert!(town.send(&a, "b", &wide).ok);
    for bad in ["x".repeat(4001), String::new(), " \n ".into(), "a\u{1b}]0;x\u{7}".into()] {
        assert_eq!(town.send(&a, "b", &bad).code.as_deref(), Some("refused"), "{:?}", &bad[..bad.len().min(9)]);
    }
    assert_eq!(send(&town, &a, &message("b", "x", "note")).code.as_deref(), Some("refused"));
    assert_eq!([town.texts(&b), town.texts(&b)], [[long], [wide]], "an answer holds one of that size");
    let newcomer = session("s-new", 40);
    town.send(&newcomer, "b", "");
    assert!(!town.files("sessions").contains(&"s-new.json".to_owned()), "a refused text joins nobody");
}

#[test]
fn paths_travel_in_the_repositorys_spelling() {
    // bus-v1 63
    let (town, [a, b, _]) = trio();
    let call = |paths: &[&str]| Call::Send {
        to: "b".into(),
        text: "look".into(),
        kind: "ask".into(),
        paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        reply_to: Some("1796000000000-00000001".into()),
    };
    let sent = result!(town.at(&town.root.join("src"), &a, &call(&["./api/", "../docs"])), Send);
    assert!(sent.ok);
    let got = &town.inbox(&b).messages[0];
    assert_eq!(got.paths, ["src/api", "docs"]);
    assert_eq!((got.kind, got.reply_to.as_deref()), (MessageKind::Ask, Some("1796000000000-00000001")));
    assert_eq!(send(&town, &a, &call(&["/etc/passwd"])).code.as_deref(), Some("refused"));
    assert_eq!(send(&town, &a, &call(&["x"; 21])).code.as_deref(), Some("refused"));
}

#[test]
fn a_handoff_keeps_its_card() {
    // bus-v1 66
    let (town, [a, b, _]) = trio();
    let text = "line one\nline two ".repeat(100);
    send(&town, &a, &message("b", &text, "handoff"));
    send(&town, &a, &message("b", &text, "ask"));
    let previews: Vec<_> = town.peek(&b).messages.into_iter().filter_map(|message| message.preview).collect();
    let lengths: Vec<_> = previews.iter().map(|preview| preview.chars().count()).collect();
    assert_eq!(lengths, [800, 120]);
    assert!(previews.iter().all(|preview| !preview.contains('\n')));
}

#[test]
fn one_senders_messages_stay_in_order_over_a_clock_step() {
    // bus-v1 70, 71
    let (town, [a, b, c]) = trio();
    for i in 0..5 {
        town.send(&a, "b", &format!("a{i}"));
    }
    town.set_wall(-3_600_000);
    town.send(&a, "b", "a5");
    town.send(&c, "b", "c0");
    assert_eq!(town.texts(&b), ["a0", "a1", "a2", "a3", "a4", "a5", "c0"]);
    town.send(&a, "b", "a6");
    let mark = town.open();
    let id = town.peek(&b).messages[0].id.clone();
    mark.set_told("s-bbbb", &id, &[]).expect("told");
    town.inbox(&b);
    town.set_wall(-3_600_000);
    town.send(&a, "b", "a7");
    let next = town.peek(&b).messages[0].id.clone();
    assert!(next > id, "a later message sorts after what was told, or nobody would be told of it");
}

#[test]
fn an_inbox_has_room_for_a_thousand() {
    // bus-v1 72
    let (town, [a, ..]) = trio();
    let inbox = town.folder().join("inbox/s-bbbb");
    fs::create_dir_all(&inbox).expect("a folder");
    for i in 0..999 {
        fs::write(inbox.join(format!("{:013}-{i:08x}.json", 1_795_000_000_000u64 + i)), "{}").expect("a file");
    }
    let last = town.send(&a, "b", "the thousandth");
    assert_eq!((last.ok, last.recipients[0].unread), (true, 1000));
    let full = town.send(&a, "b", "one too many");
    assert_eq!((full.ok, full.code.as_deref()), (false, Some("inbox-full")));
    assert_eq!((full.recipients[0].queued, full.recipients[0].reason.as_deref()), (false, Some("inbox-full")));
    assert_eq!(town.files("inbox/s-bbbb").iter().filter(|name| name.ends_with(".json")).count(), 1000);
}

#[test]
fn the_same_text_twice_in_ten_seconds_is_one_message() {
    // bus-v1 73
    let (town, [a, b, c]) = trio();
    assert!(town.send(&a, "b", "ok, thanks").ok);
    town.pass(9_999);
    let again = town.send(&a, "b", "ok, thanks");
    assert_eq!((again.ok, again.recipients[0].queued), (true, false));
    assert_eq!(again.recipients[0].reason.as_deref(), Some("duplicate"));
    assert!(town.send(&a, "c", "ok, thanks").recipients[0].queued, "another peer");
    assert!(town.send(&c, "b", "ok, thanks").recipients[0].queued, "another sender");
    assert_eq!(town.texts(&b).len(), 2);
    assert!(!town.send(&a, "b", "ok, thanks").recipients[0].queued, "read mail counts as well");
    town.pass(10_001);
    assert!(town.send(&a, "b", "ok, thanks").recipients[0].queued);
}

#[test]
fn an_ask_does_not_wait() {
    // bus-v1 65
    let (town, [a, b, _]) = trio();
    let sent = send(&town, &a, &message("b", "which port?", "ask"));
    assert!(sent.ok && sent.recipients[0].queued && sent.reply.is_none());
    assert_eq!(town.inbox(&b).messages[0].kind, MessageKind::Ask);
}
