//! Prompts that need not wait for the host: the files that say so, and what makes them say something else.

use std::fs;
use std::os::unix::fs::MetadataExt;

use serde_json::{Value, json};

use super::pi::{Pi, SESSION};
use super::{request, status};
use crate::common::TestEnvironment;

/// As the bridge judges it: every file is as it was seen.
fn is_as_seen(files: &[Value]) -> bool {
    files.iter().all(|file| {
        let found = fs::metadata(file["path"].as_str().unwrap()).ok();
        let at = found.map(|found| format!("{}{:09}", found.mtime(), found.mtime_nsec()));
        json!(at) == file["at"]
    })
}

fn quiet(pi: &mut Pi<'_>, count: usize) -> Vec<Value> {
    pi.until("prompts that need not be asked about", |pi| {
        pi.quiet.clone().filter(|files| files.len() == count && is_as_seen(files))
    })
}

fn result(pi: &mut Pi<'_>, id: &str) -> Value {
    pi.until("an answer", |pi| pi.results.get(id).cloned())
}

fn prompt(pi: &mut Pi<'_>, id: &str, waits: Option<bool>) {
    pi.send(&json!({ "t": "prompt", "id": id, "messageType": "user", "waits": waits }));
}

fn call(pi: &mut Pi<'_>, id: &str, params: &Value) -> Value {
    pi.send(&json!({ "t": "tool", "id": id, "name": "session", "toolCallId": id, "params": params }));
    result(pi, id)
}

#[test]
fn where_nobody_is_on_a_bus_no_prompt_is_asked_about() {
    let env = TestEnvironment::new();
    let mut pi = Pi::start(&env);
    let files = quiet(&mut pi, 1);
    assert_eq!((&files[0]["path"], &files[0]["at"]), (&json!(env.state_dir().join("bus")), &Value::Null));
    // Only the question that waits is answered.
    prompt(&mut pi, "told", Some(false));
    prompt(&mut pi, "asked", None);
    assert_eq!(result(&mut pi, "asked"), json!({ "hidden": [] }));
    assert_eq!(pi.results.get("told"), None);
    // The first bus anywhere makes it uncertain, and the end of the next run certain again.
    env.jig(&["bus", "--as", "someone", "join"]).exits(0);
    assert!(!is_as_seen(&files));
    for event in ["agent_start", "agent_settled"] {
        let idle = event == "agent_settled";
        pi.send(&json!({ "t": "event", "event": event, "data": {}, "idle": idle, "pending": false }));
    }
    let files = quiet(&mut pi, 1);
    let record = files[0]["path"].as_str().unwrap();
    assert!(record.ends_with(&format!("sessions/{SESSION}.json")), "{record}");
}

#[test]
fn a_session_that_listens_is_asked_about_after_mail() {
    let env = TestEnvironment::new();
    let mut pi = Pi::start(&env);
    let before = quiet(&mut pi, 1);
    call(&mut pi, "join", &json!({ "action": "join", "label": "core" }));
    assert!(!is_as_seen(&before));
    let listening = quiet(&mut pi, 2);
    env.jig(&["bus", "--as", "someone", "join"]).exits(0);
    env.jig(&["bus", "--as", "someone", "send", "core", "one"]).exits(0);
    assert!(!is_as_seen(&listening));
    prompt(&mut pi, "mail", None);
    let told = result(&mut pi, "mail");
    assert!(told["message"]["content"].as_str().unwrap().contains(": one"), "{told}");
    // As long as the notice waits for its mail to be read, every prompt is asked about.
    call(&mut pi, "read", &json!({ "action": "inbox" }));
    prompt(&mut pi, "read mail", None);
    let after = result(&mut pi, "read mail");
    assert_eq!((&after["message"], after["read"].as_array().map(Vec::len)), (&Value::Null, Some(1)), "{after}");
    let read = quiet(&mut pi, 2);
    assert_ne!(read, listening);
}

#[test]
fn what_waits_for_a_session_that_comes_back_is_asked_for() {
    let env = TestEnvironment::new();
    let mut pi = Pi::start(&env);
    call(&mut pi, "join", &json!({ "action": "join", "label": "core" }));
    env.jig(&["bus", "--as", "someone", "join"]).exits(0);
    env.jig(&["bus", "--as", "someone", "send", "core", "one"]).exits(0);
    call(&mut pi, "leave", &json!({ "action": "leave" }));
    pi.ended();
    pi.quiet = None;
    pi.host("resume");
    prompt(&mut pi, "back", None);
    let told = result(&mut pi, "back");
    assert_eq!(pi.quiet, None, "not while mail waits that a prompt is to be told of");
    assert!(told["message"]["content"].as_str().unwrap().contains(": one"), "{told}");
}

#[test]
fn a_host_that_dies_in_the_middle_of_a_switch_leaves_no_skill_hidden() {
    let env = TestEnvironment::new();
    let mut pi = Pi::start(&env);
    quiet(&mut pi, 1);
    pi.kill_at = Some(|line| line["fn"] == "pi.appendEntry");
    request(&env, "a", &json!({ "skills": { "skill-1": false } }));
    pi.until("its end", |pi| pi.host_pid().is_none().then_some(()));
    assert_eq!(pi.hidden, ["skill-1"], "the bridge was told, and nothing was stored");
    pi.quiet = None;
    pi.restart();
    quiet(&mut pi, 1);
    assert_eq!(pi.hidden, Vec::<String>::new());
    assert_eq!(status(&env).unwrap()["lastRequest"]["id"], "a");
}
