//! What is too large for a document: whatever an agent tells, its state is in the file.

use jig_session_schema::limits::{DOCUMENT_BYTES, OUTPUTS, PATH_BYTES, TEXT_CHARS};
use jig_session_schema::status::Status;
use proptest::prelude::*;

use super::*;

/// The document, which a reader takes and of which nothing is to be forgiven.
fn sound(world: &World) -> Status {
    let bytes = fs::read(world.path("s-1")).unwrap();
    assert!(bytes.len() <= DOCUMENT_BYTES, "{} bytes", bytes.len());
    let read = Status::read(&bytes).unwrap();
    assert!(read.problems.is_empty(), "{:?}", read.problems);
    read.value
}

fn long(bytes: usize) -> String {
    "/".to_owned() + &"x".repeat(bytes - 1)
}

#[test]
fn a_path_that_is_too_long_is_left_out_and_said_once() {
    let world = World::new();
    let mut publisher = begun(&world, "s-1", 100, 0);
    let (longest, longer) = (long(PATH_BYTES), long(PATH_BYTES + 1));
    let given = |path: &str| {
        event(json!({"event": "session", "schema": 1, "session": "s-1", "transcript": path, "agentDir": path}))
    };
    told(&mut publisher, &given(&longest), 200);
    let document = sound(&world);
    assert_eq!((document.transcript.as_ref(), &document.agent_dir), (Some(&longest), &longest));
    publisher.notes();
    told(&mut publisher, &given(&longer), 400);
    told(&mut publisher, &given(&longer), 600);
    let document = sound(&world);
    assert_eq!((document.transcript, document.agent_dir.as_str()), (None, ""));
    let notes = publisher.notes();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes.iter().any(|note| note.contains("transcript") && note.contains("4097 bytes")), "{notes:?}");
}

#[test]
fn a_list_leaves_out_an_entry_that_is_too_long_and_keeps_the_others() {
    let world = World::new();
    let mut publisher = begun(&world, "s-1", 100, 0);
    let output = |path: &str| event(json!({"event": "output", "path": path, "action": "written"}));
    for n in 0..OUTPUTS {
        publisher.feed(&output(&format!("/file-{n}")), at(1)).unwrap();
    }
    publisher.feed(&output(&long(PATH_BYTES + 1)), at(2)).unwrap();
    publisher.feed(&output(&"y".repeat(PATH_BYTES)), at(2)).unwrap();
    let detail = json!({"parts": [], "tools": [], "skills": [{"name": "s", "path": long(PATH_BYTES + 1), "tokens": 1, "on": true}],
        "contextFiles": [{"path": long(PATH_BYTES + 1), "tokens": 1}, {"path": "/AGENTS.md", "tokens": 2}]});
    told(&mut publisher, &event(json!({"event": "context", "tokens": 1, "window": 2, "detail": detail})), 200);
    let document = sound(&world);
    assert_eq!(document.outputs.len(), OUTPUTS, "the oldest entry did not give way to one that cannot be held");
    assert_eq!(document.outputs.last().unwrap().path, "/file-0");
    let detail = document.context_detail.unwrap();
    assert_eq!((detail.skills[0].path.as_ref(), detail.context_files.len()), (None, 1));
}

#[test]
fn an_id_or_a_folder_that_is_too_long_is_refused_and_the_session_goes_on() {
    let world = World::new();
    let mut publisher = begun(&world, "s-1", 100, 0);
    let before = fs::read(world.path("s-1")).unwrap();
    let cwd =
        event(json!({"event": "session", "schema": 1, "session": "s-1", "cwd": long(PATH_BYTES + 1), "name": "n"}));
    assert_eq!(publisher.feed(&cwd, at(200)), Err(Refused::LongFolder));
    assert_eq!(publisher.feed(&session(&long(PATH_BYTES + 1), 100), at(200)), Err(Refused::LongId));
    publisher.tick(at(200));
    assert_eq!(fs::read(world.path("s-1")).unwrap(), before);
    let cwd = event(json!({"event": "session", "schema": 1, "session": "s-1", "cwd": long(PATH_BYTES)}));
    told(&mut publisher, &cwd, 400);
    assert_eq!(sound(&world).cwd.len(), PATH_BYTES);
}

#[test]
fn a_name_is_kept_to_a_thousand_characters() {
    let world = World::new();
    let mut publisher = begun(&world, "s-1", 100, 0);
    let name = "é".repeat(TEXT_CHARS + 1);
    told(&mut publisher, &event(json!({"event": "session", "schema": 1, "session": "s-1", "name": name})), 200);
    assert_eq!(sound(&world).name.unwrap(), "é".repeat(TEXT_CHARS));
}

#[test]
fn calls_with_long_ids_still_find_each_other() {
    let world = World::new();
    let mut publisher = begun(&world, "s-1", 100, 0);
    let id = "c".repeat(300_000);
    for value in [
        json!({"event": "tool", "phase": "start", "id": id, "tool": "edit"}),
        json!({"event": "decision", "id": id, "decision": "allow"}),
        json!({"event": "attention", "reason": "approval", "id": id}),
        json!({"event": "tool", "phase": "end", "id": id, "outcome": "error"}),
    ] {
        publisher.feed(&event(value), at(1)).unwrap();
    }
    publisher.tick(at(200));
    let document = sound(&world);
    assert_eq!(document.recent.len(), 1);
    assert_eq!(document.recent[0].outcome.as_str(), "error");
    assert!(document.recent[0].decision.is_some());
    assert_eq!(document.attention, None, "the call that waited has ended");
}

#[test]
fn the_largest_list_gives_way_and_the_others_stay() {
    let world = World::new();
    let mut publisher = begun(&world, "s-1", 100, 0);
    let tools: Vec<_> = (0..9_000)
        .map(|n| json!({"name": format!("tool-{n}"), "source": "s".repeat(100), "tokens": n, "on": true}))
        .collect();
    let detail = json!({"parts": [{"part": "tools", "tokens": 7}], "tools": tools, "skills": [], "contextFiles": []});
    publisher.feed(&event(json!({"event": "output", "path": "/a", "action": "written"})), at(1)).unwrap();
    publisher.feed(&event(json!({"event": "context", "tokens": 1, "window": 2, "detail": detail})), at(1)).unwrap();
    told(&mut publisher, &turn("start"), 200);
    let document = sound(&world);
    assert_eq!((document.state.as_str(), document.outputs.len()), ("busy", 1));
    let detail = document.context_detail.unwrap();
    assert_eq!((detail.tools.len(), detail.parts.len()), (0, 1));
    assert!(publisher.notes().iter().any(|note| note.starts_with("contextDetail is cut")));
}

/// Texts of every length around a limit, of characters that grow when they are written.
fn text() -> impl Strategy<Value = String> {
    let length = prop::sample::select(vec![0, 1, TEXT_CHARS, TEXT_CHARS + 1, PATH_BYTES - 1, PATH_BYTES + 1, 150_000]);
    (prop::sample::select(vec!["a", "/", "\u{1}", "\"", "é", "\u{202e}", "🦀"]), length)
        .prop_map(|(character, length)| character.repeat(length))
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..10_u64, Just((1 << 53) - 1)]
}

/// One event with a huge value in each of its places.
fn huge() -> impl Strategy<Value = Value> {
    let unknown = || prop_oneof![3 => Just(Value::Null), 1 => text().prop_map(Value::from)];
    prop_oneof![
        (text(), text(), text(), unknown()).prop_map(|(cwd, name, path, junk)| json!({
            "event": "session", "schema": 1, "session": "s-1", "pid": 100, "cwd": cwd, "name": name, "agentDir": path,
            "transcript": path, "version": name, "terminal": name, "terminalFrom": name, "junk": junk})),
        (text(), text(), unknown()).prop_map(|(id, name, junk)| json!({
            "event": "model", "model": {"id": id, "name": name, "provider": name, "junk": junk}, "thinking": name})),
        (text(), any::<bool>()).prop_map(|(id, start)| json!({
            "event": "tool", "phase": if start { "start" } else { "end" }, "id": id, "tool": "edit"})),
        (text(), any::<bool>()).prop_map(|(id, ask)| json!({
            "event": "attention", "reason": if ask { json!("approval") } else { Value::Null }, "id": id})),
        any::<bool>().prop_map(|start| json!({"event": "turn", "phase": if start { "start" } else { "settled" }})),
        (text(), 1..60_usize).prop_map(|(path, count)| json!({
            "event": "output", "path": format!("{count}{path}"), "action": "written"})),
        (text(), text(), unknown()).prop_map(|(key, title, junk)| json!({
            "event": "ticket", "ticket": {"key": key, "title": title, "url": title, "junk": junk}})),
        (number(), number()).prop_map(|(input, output)| json!({
            "event": "usage", "mode": "add", "input": input, "output": output, "cost": 1e300})),
        (text(), 0..3_000_usize, number()).prop_map(|(path, count, tokens)| {
            let tools: Vec<_> = (0..count)
                .map(|n| json!({"name": n.to_string(), "source": null, "tokens": tokens, "on": true}))
                .collect();
            json!({"event": "context", "tokens": tokens, "window": 1, "detail": {"parts": [], "tools": tools,
                "skills": [{"name": path, "path": path, "tokens": tokens, "on": true}],
                "contextFiles": [{"path": path, "tokens": tokens}]}})
        }),
        (0..9_000_usize).prop_map(|count| {
            let accepts: Vec<_> = (0..count).map(|n| format!("{n}{}", "x".repeat(120))).collect();
            json!({"event": "capabilities", "tools": [], "skills": [], "accepts": accepts})
        }),
        (unknown(), 0..40_usize).prop_map(|(junk, count)| {
            let children: Vec<_> =
                (0..count).map(|n| json!({"id": n.to_string(), "state": "working", "junk": junk})).collect();
            json!({"event": "children", "children": children})
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Any stream of huge values: after each event the file says what the session does now.
    #[test]
    fn the_files_state_follows_whatever_is_told(events in prop::collection::vec(huge(), 1..30)) {
        let world = World::new();
        let mut publisher = begun(&world, "s-1", 100, 0);
        for (n, value) in events.into_iter().enumerate() {
            let Ok(read) = Event::read_value(value) else { continue };
            let ms = 200 * (n as u64 + 1);
            let refused = publisher.feed(&read.value, at(ms));
            prop_assert!(refused.is_ok() || refused == Err(Refused::LongFolder), "{:?}", refused);
            if n % 2 == 0 {
                publisher.answer(Answer::new().id(format!("r{n}")).ok(true).message("\u{1}".repeat(60_000)));
            }
            publisher.tick(at(ms));
            let (document, live) = (sound(&world), publisher.status().unwrap());
            prop_assert_eq!(document.state, live.state);
            prop_assert_eq!(&document.attention, &live.attention);
            prop_assert!(publisher.is_written());
        }
    }
}
