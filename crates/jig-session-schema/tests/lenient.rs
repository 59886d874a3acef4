//! Reading what others wrote: one bad field costs that field; unknown fields survive; a newer version is never guessed.

use jig_session_schema::event::{Event, SessionEvent};
use jig_session_schema::king::KingStatus;
use jig_session_schema::read::ReadError;
use jig_session_schema::request::Request;
use jig_session_schema::shape::Patch;
use jig_session_schema::status::{AgentName, Reason, State, Status};
use serde_json::{Map, Value, json};

fn status(changes: Value) -> Value {
    let mut document = json!({
        "schema": 1, "session": "s-1", "pid": 4242, "cwd": "/home/dev/app", "terminal": "t7",
        "terminalFrom": "HC_TERMINAL_ID", "agentDir": "/home/dev/.pi/agent",
        "model": { "provider": "acme", "id": "m-2", "name": "M 2" }, "thinking": "medium", "state": "busy",
        "context": { "tokens": 1050, "window": 200_000, "percent": 0.5 },
        "usage": { "input": 1000, "output": 50, "cacheRead": 0, "cacheWrite": 0, "cost": 0.004 },
        "tools": { "active": 4, "total": 5 }, "ticket": null, "workflow": null,
        "outputs": [{ "path": "/home/dev/app/a.rs", "action": "edited", "at": "2026-11-29T18:18:47.855Z", "repo": null }],
        "recent": [{ "at": "2026-11-29T18:18:47.855Z", "tool": "edit", "decision": "ask", "answer": "later", "outcome": "ok" }],
        "contextDetail": null, "lastRequest": null,
        "startedAt": "2026-11-29T18:18:00.000Z", "updatedAt": "2026-11-29T18:18:47.855Z",
    });
    let fields = document.as_object_mut().expect("an object");
    for (key, value) in changes.as_object().expect("an object") {
        fields.insert(key.clone(), value.clone());
    }
    document
}

/// The pointers of the fields that were dropped.
fn pointers(document: &Value) -> Vec<String> {
    let read = Status::read_value(document.clone()).expect("a record");
    read.problems.into_iter().map(|problem| problem.pointer).collect()
}

#[test]
fn a_document_is_written_again_as_it_was() {
    let document = status(json!({}));
    let read = Status::read(document.to_string().as_bytes()).expect("a record");
    assert_eq!(read.problems, []);
    assert_eq!(
        serde_json::to_string(&read.value).expect("text"),
        document.to_string(),
        "the same keys in the same order"
    );
    assert_eq!(read.value.agent_name(), AgentName::PI, "a document without an agent is of pi");
}

#[test]
fn one_ill_typed_field_costs_that_field() {
    let cases = [
        (json!({ "name": {} }), vec!["/name"]),
        (json!({ "pid": "4242" }), vec!["/pid"]),
        (json!({ "pid": 0 }), vec!["/pid"]),
        (json!({ "pid": 2_147_483_648_u32 }), vec!["/pid"]),
        (json!({ "pid": 4242.0 }), vec![]),
        (json!({ "state": "paused" }), vec!["/state"]),
        (json!({ "attention": { "reason": "x".repeat(129) } }), vec!["/attention/reason", "/attention"]),
        (json!({ "attention": { "reason": "coffee" } }), vec![]),
        (
            json!({ "recent": [{ "tool": "x".repeat(129), "outcome": "ok" }, { "tool": "ls", "outcome": "ok" }] }),
            vec!["/recent/0/tool"],
        ),
        (json!({ "outputs": "none" }), vec!["/outputs"]),
        (json!({ "context": null, "usage": null, "tools": null, "outputs": null }), vec![]),
        (json!({ "usage": { "input": -1, "cost": "free" } }), vec!["/usage/input", "/usage/cost"]),
        (json!({ "updatedAt": 1_785_400_000_000_u64 }), vec!["/updatedAt"]),
        (json!({ "accepts": ["tools", 7] }), vec!["/accepts/1"]),
    ];
    for (changes, expected) in cases {
        let found = pointers(&status(changes.clone()));
        let found: Vec<_> = found.iter().map(String::as_str).filter(|pointer| *pointer != "/attention").collect();
        let expected: Vec<_> = expected.into_iter().filter(|pointer| *pointer != "/attention").collect();
        assert_eq!(found, expected, "{changes}");
    }
    let read = Status::read_value(status(json!({ "name": 7, "recent": [7, { "tool": "ls", "outcome": "ok" }] })))
        .expect("a record");
    assert_eq!((read.value.name.as_deref(), read.value.recent.len(), read.value.state), (None, 1, State::Busy));
}

#[test]
fn without_what_makes_it_a_record_there_is_none() {
    for changes in
        [json!({ "session": null }), json!({ "session": 7 }), json!({ "schema": "1" }), json!({ "schema": null })]
    {
        let error = Status::read_value(status(changes.clone())).expect_err("no record");
        assert_eq!(error.reason(), "unparsable", "{changes}");
    }
    for bytes in ["[]", "7", "null", "\"x\"", "{}", "[1,\"s-1\",4242]"] {
        assert_eq!(Status::read(bytes.as_bytes()).expect_err("no record").reason(), "unparsable", "{bytes}");
    }
}

#[test]
fn a_newer_version_is_named_and_never_guessed() {
    let error = Status::read_value(status(json!({ "schema": 2 }))).expect_err("unsupported");
    assert_eq!(error, ReadError::Unsupported { version: "2".into() });
    let bulk =
        jig_session_schema::bulk::Envelope::read(br#"{"schemaVersion":"sessions.bulk.v2"}"#).expect_err("unsupported");
    assert_eq!(bulk, ReadError::Unsupported { version: "sessions.bulk.v2".into() });
    assert!(Status::read_value(status(json!({ "schema": 1.0 }))).is_ok(), "1.0 is 1 in other languages");
}

#[test]
fn unknown_fields_survive_a_read_modify_write() {
    let mut document = status(json!({ "later": { "deep": [1, 2] }, "another": "x" }));
    document["model"]["family"] = json!("m");
    document["recent"][0]["cost"] = json!(3);
    let mut read = Status::read_value(document.clone()).expect("a record");
    assert_eq!(read.unknown().keys().collect::<Vec<_>>(), ["later", "another"]);
    read.value.state = State::Idle;
    document["state"] = json!("idle");
    assert_eq!(Value::Object(read.value.to_document()), document);
}

#[test]
fn unknown_words_of_open_sets_are_kept() {
    let document = status(json!({
        "agent": { "name": "newcomer" }, "attention": { "reason": "coffee", "since": null }, "stateFrom": "hook:Stop",
    }));
    let read = Status::read_value(document).expect("a record");
    assert_eq!(read.value.agent_name(), "newcomer");
    assert_eq!(read.value.attention.as_ref().map(|attention| attention.reason.clone()), Reason::new("coffee"));
    assert_eq!(read.value.state_from.as_ref().and_then(|from| from.hook_event()), Some("Stop"));
}

#[test]
fn added_fields_are_left_out_and_seed_fields_are_null() {
    let mut status = Status::new().session("s-1".into());
    let keys: Vec<String> = status.to_document().keys().cloned().collect();
    assert_eq!(
        keys,
        [
            "schema",
            "session",
            "pid",
            "cwd",
            "terminal",
            "terminalFrom",
            "agentDir",
            "model",
            "thinking",
            "state",
            "context",
            "usage",
            "tools",
            "ticket",
            "workflow",
            "outputs",
            "recent",
            "contextDetail",
            "lastRequest",
            "startedAt",
            "updatedAt"
        ]
    );
    assert_eq!(
        status.to_document()["usage"],
        json!({ "input": null, "output": null, "cacheRead": null, "cacheWrite": null, "cost": null })
    );
    status.accepts = Some(vec![]);
    assert_eq!(status.to_document()["accepts"], json!([]), "an empty list says: nothing; its absence: not known");
}

#[test]
fn lone_surrogates_and_bad_utf8_cost_one_character() {
    let text = status(json!({ "name": "HERE" })).to_string();
    let surrogate = text.replace("HERE", "abc\\ud83d");
    assert_eq!(Status::read(surrogate.as_bytes()).expect("a record").value.name.as_deref(), Some("abc\u{fffd}"));
    let mut bytes = text.into_bytes();
    let at = bytes.windows(4).position(|window| window == b"HERE").expect("the name");
    bytes[at] = 0xff;
    assert_eq!(Status::read(&bytes).expect("a record").value.name.as_deref(), Some("\u{fffd}ERE"));
}

#[test]
fn events_tell_absent_null_and_given_apart() {
    let event = |text: &str| Event::read(text.as_bytes()).expect("an event").value;
    let Event::Session(session) = event(r#"{"event":"session","schema":1,"session":"s-1","name":null,"version":"2"}"#)
    else {
        panic!("a session event");
    };
    assert_eq!((session.name, session.version, session.terminal), (Patch::Clear, Patch::Set("2".into()), Patch::Keep));
    assert_eq!(event(r#"{"event":"dance","schema":7}"#), Event::Other("dance".into()));
    let written = SessionEvent::new().session("s-1".into()).name(Patch::Clear);
    assert_eq!(
        Event::from(written).to_document(),
        object(json!({ "event": "session", "schema": 1, "session": "s-1", "name": null }))
    );
}

#[test]
fn bad_event_lines_are_refused_and_name_what_is_wrong() {
    for (line, message) in [
        (r#"{"event":"tool"}"#, "/phase is missing"),
        (r#"{"event":"tool","phase":"middle"}"#, "/phase is none of start end"),
        (r#"{"event":"session","session":"s-1"}"#, "/schema is missing"),
        (r#"{"event":"decision","id":"c1","decision":"perhaps"}"#, "/decision is none of allow deny ask"),
        (r#"{"event":7}"#, "/event is missing"),
        (r"[]", "is not an object"),
    ] {
        let error = Event::read(line.as_bytes()).expect_err(line);
        let ReadError::Unparsable { problems, .. } = &error else { panic!("{line}: {error:?}") };
        assert!(problems.iter().any(|problem| problem.to_string().trim() == message), "{line}: {problems:?}");
    }
}

#[test]
fn a_request_keeps_the_order_of_its_names() {
    let read =
        Request::read(br#"{"schema":1,"id":"c","tools":{"write":true,"bash":false,"x":"no"}}"#).expect("a request");
    let names: Vec<_> = read.value.tools.iter().map(|(name, on)| (name, *on)).collect();
    assert_eq!(names, [("write", true), ("bash", false)]);
    assert_eq!(read.problems[0].pointer, "/tools/x");
}

#[test]
fn pi_king_numbers_may_be_fractional_and_unknown_words_stay() {
    let text = br#"{"formatVersion":1,"id":"k","cwd":"/x","pid":9,"startedAt":1795974219108.0735,"lastActivity":1795974219999,"status":"dreaming","subagents":[],"visible":true,"isFork":false}"#;
    let read = KingStatus::read(text).expect("a card");
    assert_eq!(read.problems, []);
    assert_eq!(read.value.started_at.map(|at| at.timestamp().epoch_ms()), Some(1_795_974_219_108));
    assert_eq!(serde_json::to_string(&read.value).expect("text").as_bytes(), text);
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no object"),
    }
}
