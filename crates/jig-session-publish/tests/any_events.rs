//! Whatever is told in whatever order, the document keeps its rules.

#![allow(clippy::unwrap_used, missing_docs)]

use std::path::PathBuf;

use jig_session_publish::reduce::{Memory, Occurrence, Order, Session};
use jig_session_schema::event::Event;
use jig_session_schema::limits;
use jig_session_schema::status::{StateFrom, Status};
use jig_session_schema::time::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Few names and ids, so that events meet each other.
fn word() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![json!("a"), json!("b"), json!("c"), Value::Null])
}

fn event() -> impl Strategy<Value = Value> {
    let number = || prop_oneof![Just(Value::Null), (0_u64..5).prop_map(Value::from), Just(json!(u64::MAX >> 11))];
    let of = |words: &'static [&'static str]| prop::sample::select(words);
    prop_oneof![
        of(&["start", "settled"]).prop_flat_map(move |phase| {
            of(&["ok", "error", "aborted"]).prop_map(move |outcome| json!({"event": "turn", "phase": phase, "outcome": outcome}))
        }),
        (of(&["start", "end"]), word(), word(), of(&["ok", "error", "denied", "aborted"])).prop_map(
            |(phase, id, tool, outcome)| json!({"event": "tool", "phase": phase, "id": id, "tool": tool, "outcome": outcome})
        ),
        (word(), of(&["allow", "deny", "ask"])).prop_map(|(id, decision)| json!({"event": "decision", "id": id, "decision": decision})),
        (word(), of(&["approval", "error", "other"])).prop_map(|(id, reason)| json!({"event": "attention", "id": id, "reason": reason})),
        Just(json!({"event": "attention", "reason": null})),
        (of(&["add", "set"]), number(), number(), prop::option::of(0.0..1.0_f64)).prop_map(
            |(mode, input, output, cost)| json!({"event": "usage", "mode": mode, "input": input, "output": output, "cost": cost})
        ),
        (number(), number()).prop_map(|(tokens, window)| json!({"event": "context", "tokens": tokens, "window": window})),
        (0_u32..130, of(&["written", "edited", "removed"]), any::<bool>()).prop_map(|(n, action, repo)| {
            let root = if repo { "/repo" } else { "/x" };
            json!({"event": "output", "path": format!("{root}/{n}"), "action": action})
        }),
        (0_u64..9).prop_map(|count| json!({"event": "background", "count": count})),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_document_keeps_its_rules(events in prop::collection::vec((0_i64..20_000, event()), 0..150)) {
        let mut status = Status::new();
        status.session = "s-1".into();
        status.cwd = "/home/dev".into();
        let mut session = Session { status, memory: Memory::default() };
        for (at, event) in events {
            let Ok(read) = Event::read_value(event.clone()) else { continue };
            let occurrence = Occurrence {
                at: Timestamp::from_epoch_ms(1_795_976_300_000 + at),
                // Lists are in the order of their times only where times are what puts events in order.
                order: Order::BootClock(None),
                from: StateFrom::EVENT,
                repo: &|path| path.starts_with("/repo").then(|| PathBuf::from("/repo")),
            };
            let before = session.status.usage.clone();
            session.apply(&read.value, &occurrence);
            let usage = &session.status.usage;
            // Once sums are known without a cost, only a `set` brings one back.
            let cost_lost = before.cost.is_none() && before.input.is_some() && event["mode"] != "set";
            prop_assert!(!cost_lost || usage.cost.is_none());
        }
        let status = &session.status;
        prop_assert!(status.recent.len() <= limits::RECENT);
        prop_assert!(status.recent.is_sorted_by(|a, b| a.at >= b.at));
        let with_repo = status.outputs.iter().filter(|output| output.repo.is_some()).count();
        prop_assert!(with_repo <= limits::OUTPUTS && status.outputs.len() - with_repo <= limits::OUTPUTS);
        prop_assert!(status.outputs.is_sorted_by(|a, b| a.at >= b.at));
        let mut paths: Vec<_> = status.outputs.iter().map(|output| &output.path).collect();
        paths.sort();
        prop_assert!(paths.windows(2).all(|pair| pair[0] != pair[1]));
        prop_assert!(status.context.percent.is_none_or(|percent| (0.0..=100.0).contains(&percent)));
        let text = serde_json::to_vec(status).unwrap();
        let again = Status::read(&text).unwrap();
        prop_assert_eq!(&again.problems, &Vec::new());
        prop_assert_eq!(&again.value, status);
    }
}
