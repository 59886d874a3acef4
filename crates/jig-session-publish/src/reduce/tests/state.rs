//! State and attention: what changes them, in which order, and what is stamped.

use super::*;

/// `state`, the reason of `attention` and its `since`, `stateAt`.
#[test]
fn state_and_attention_follow_the_table() {
    let approval = json!({"event": "attention", "reason": "approval", "id": "c1"});
    let anybody = json!({"event": "attention", "reason": "question"});
    let nobody = json!({"event": "attention", "reason": null});
    let settled = |outcome: &str| json!({"event": "turn", "phase": "settled", "outcome": outcome});
    let (none, idle, busy) = (Value::Null, json!("idle"), json!("busy"));
    let cases: Vec<(&str, Vec<Value>, Value, Value)> = vec![
        ("a session that began", vec![], idle.clone(), none.clone()),
        ("turn start", vec![turn("start")], busy.clone(), none.clone()),
        ("tool start while idle", vec![start("c1", "read")], busy.clone(), none.clone()),
        ("settled", vec![turn("start"), turn("settled")], idle.clone(), none.clone()),
        ("settled ok", vec![turn("start"), settled("ok")], idle.clone(), none.clone()),
        ("settled aborted", vec![turn("start"), settled("aborted")], idle.clone(), none.clone()),
        ("settled error", vec![turn("start"), settled("error")], idle.clone(), json!("error")),
        ("the next turn after an error", vec![settled("error"), turn("start")], busy.clone(), none.clone()),
        ("attention in a turn", vec![turn("start"), approval.clone()], busy.clone(), json!("approval")),
        ("attention while idle", vec![anybody.clone()], idle.clone(), json!("question")),
        ("attention null", vec![turn("start"), anybody.clone(), nobody], busy.clone(), none.clone()),
        (
            "the end of the call that waits",
            vec![turn("start"), start("c1", "bash"), approval.clone(), end("c1", "ok")],
            busy.clone(),
            none.clone(),
        ),
        (
            "the end of another call",
            vec![turn("start"), start("c2", "bash"), approval.clone(), end("c2", "ok")],
            busy.clone(),
            json!("approval"),
        ),
        (
            "the end of any call when none was named",
            vec![turn("start"), start("c2", "bash"), anybody.clone(), end("c2", "ok")],
            busy.clone(),
            none.clone(),
        ),
        ("a call's start in a wait", vec![turn("start"), approval.clone(), start("c3", "ls")], busy, json!("approval")),
        ("settled in a wait", vec![turn("start"), approval, turn("settled")], idle, none),
    ];
    for (case, events, state, reason) in cases {
        let document = document(events.into_iter().enumerate().map(|(at, event)| (at as i64 + 1, event)));
        assert_eq!((&document["state"], &document["attention"]["reason"]), (&state, &reason), "{case}");
    }
}

#[test]
fn attention_since_is_when_the_wait_began() {
    let waits = |id: &str| json!({"event": "attention", "reason": "approval", "id": id});
    let first = document([(10, turn("start")), (20, waits("c1"))]);
    assert_eq!(first["attention"]["since"], time(20));
    let again = document([(10, turn("start")), (20, waits("c1")), (30, waits("c1"))]);
    assert_eq!(again["attention"]["since"], time(20), "told twice, it is still the same wait");
    let other = document([(10, turn("start")), (20, waits("c1")), (30, waits("c2"))]);
    assert_eq!(other["attention"]["since"], time(30));
}

#[test]
fn state_from_and_state_at_say_what_changed_the_state_last() {
    let mut session = session();
    feed(&mut session, 10, &StateFrom::hook("UserPromptSubmit").unwrap(), turn("start"));
    feed(&mut session, 20, &StateFrom::EVENT, start("c1", "read"));
    let document = written(&session);
    assert_eq!(document["stateFrom"], "hook:UserPromptSubmit");
    assert_eq!(document["stateAt"], time(10), "nothing has changed since");
}

#[test]
fn a_stream_s_events_happened_in_the_order_in_which_they_arrive() {
    // The wall clock is set back by as much before the last event.
    for back in [1, 3_000, 5_000, 60_000, 86_400_000] {
        let last = 10_000 - back;
        let waits = || json!({"event": "attention", "reason": "approval", "id": "c1"});
        let cases = [
            ("a turn starts", vec![turn("start"), turn("settled")], turn("start"), json!("busy"), Value::Null),
            ("a call starts", vec![turn("start"), turn("settled")], start("c1", "bash"), json!("busy"), Value::Null),
            ("a turn settles", vec![turn("start")], turn("settled"), json!("idle"), Value::Null),
            ("asked", vec![turn("start"), start("c1", "bash")], waits(), json!("busy"), json!("approval")),
            ("given", vec![turn("start"), start("c1", "bash"), waits()], end("c1", "ok"), json!("busy"), Value::Null),
        ];
        for (case, before, event, right, reason) in cases {
            let document = document(before.into_iter().map(|event| (10_000, event)).chain([(last, event)]));
            assert_eq!((&document["state"], &document["attention"]["reason"]), (&right, &reason), "{case}, {back}");
            assert_eq!(document["stateAt"], time(last), "{case}, {back}");
        }
        let called = document([(10_000, start("old", "bash")), (last, start("new", "read"))]);
        assert_eq!(outcomes(&called), [("read", "running"), ("bash", "running")], "the newest call stands first");
    }
}

/// One hook's event: the time of day and the boot clock at which the hook began, both in milliseconds.
fn hook(session: &mut Session, wall: i64, clock: Option<u64>, event: Value) {
    let event = Event::read_value(event).expect("the event can be read").value;
    let at = Timestamp::from_epoch_ms(BEGAN + wall);
    let from = StateFrom::hook("Stop").unwrap();
    session.apply(&event, &Occurrence { at, order: Order::BootClock(clock), from, repo: &repo });
}

#[test]
fn a_hook_that_was_overtaken_changes_lists_only_and_the_boot_clock_tells() {
    for (clock, applies) in [(Some(501), true), (Some(500), true), (Some(499), false), (Some(1), false), (None, true)] {
        // Whatever the time of day is.
        for wall in [-9_000, 9_999, 10_000, 20_000] {
            let mut session = session();
            hook(&mut session, 10_000, Some(500), turn("start"));
            hook(&mut session, wall, clock, turn("settled"));
            let state = written(&session)["state"].clone();
            assert_eq!(state, if applies { "idle" } else { "busy" }, "{clock:?} {wall}");
        }
    }
    let mut session = session();
    hook(&mut session, 10_000, Some(500), turn("start"));
    hook(&mut session, 9_000, Some(400), start("c1", "read"));
    assert_eq!(outcomes(&written(&session)), [("read", "running")]);
}

#[test]
fn a_late_settling_ends_the_calls_of_its_own_turn_only() {
    let mut session = session();
    hook(&mut session, 10_000, Some(100), turn("start"));
    hook(&mut session, 10_100, Some(200), start("old", "bash"));
    hook(&mut session, 12_000, Some(2_100), json!({"event": "attention", "reason": "question"}));
    hook(&mut session, 12_100, Some(2_200), start("new", "read"));
    hook(&mut session, 11_000, Some(1_100), turn("settled"));
    assert_eq!(written(&session)["state"], "busy");
    assert_eq!(outcomes(&written(&session)), [("read", "running"), ("bash", "aborted")]);
}

#[test]
fn every_change_of_state_or_attention_is_stamped() {
    let waits = |reason: Value, id: Value| json!({"event": "attention", "reason": reason, "id": id});
    let asked = waits(json!("approval"), json!("c1"));
    // What ends or changes the wait, each at its own time: the stamp is always its own.
    for (case, change) in [
        ("null", waits(Value::Null, Value::Null)),
        ("null with the call", waits(Value::Null, json!("c1"))),
        ("another call", waits(json!("approval"), json!("c2"))),
        ("no call", waits(json!("approval"), Value::Null)),
        ("another reason", waits(json!("question"), json!("c1"))),
        ("the call's end", end("c1", "ok")),
        ("a turn", turn("start")),
        ("the turn's end", turn("settled")),
    ] {
        let document = document([(10, turn("start")), (20, asked.clone()), (30, change)]);
        assert_eq!(document["stateAt"], time(30), "{case}");
    }
    let same = document([(10, turn("start")), (20, asked.clone()), (30, asked)]);
    assert_eq!(same["stateAt"], time(20), "told twice, nothing changes");
}

#[test]
fn a_stamp_that_is_yet_to_come_becomes_now() {
    let mut session = session();
    apply(&mut session, [(10_000, turn("start")), (20_000, json!({"event": "attention", "reason": "question"}))]);
    assert!(!session.heal(Timestamp::from_epoch_ms(BEGAN + 20_000)));
    assert!(session.heal(Timestamp::from_epoch_ms(BEGAN - 5_000)));
    let document = written(&session);
    for found in [&document["startedAt"], &document["stateAt"], &document["attention"]["since"]] {
        assert_eq!(*found, time(-5_000));
    }
    assert_eq!(document["state"], "busy");
}
