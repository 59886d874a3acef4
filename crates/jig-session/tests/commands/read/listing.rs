//! `ls`: which rows, in which order, with which fields.

use std::fs;

use serde_json::{Value, json};

use crate::common::{Sleeper, TestEnvironment, now_ms, status_document, timestamp};

/// The fields of a row, in order.
const FIELDS: [&str; 22] = [
    "session",
    "agent",
    "name",
    "cwd",
    "state",
    "attention",
    "background",
    "stateFrom",
    "stateAt",
    "model",
    "context",
    "usage",
    "pid",
    "terminal",
    "tmuxPane",
    "startedAt",
    "updatedAt",
    "source",
    "host",
    "path",
    "verdict",
    "detail",
];

fn ids(document: &Value) -> Vec<String> {
    let rows = document["sessions"].as_array().expect("a list");
    rows.iter().map(|row| row["session"].as_str().expect("an id").to_owned()).collect()
}

fn listed(env: &TestEnvironment, args: &[&str]) -> Value {
    env.jig(&[&["ls", "--json"], args].concat()).exits(0).json()
}

#[test]
fn no_folder_is_an_empty_list() {
    let env = TestEnvironment::new();
    let document = listed(&env, &[]);
    assert_eq!(document["schema"], 1);
    assert!(document["at"].as_str().is_some_and(|at| at.len() == 24 && at.ends_with('Z')));
    assert_eq!(document["sessions"], json!([]));
    assert_eq!(document["problems"], json!([]));
    assert!(!env.state_dir().exists(), "a reader makes nothing");
}

#[test]
fn a_folder_that_cannot_be_read_is_an_error_and_not_an_empty_list() {
    let env = TestEnvironment::new();
    fs::create_dir_all(env.state_dir()).expect("made");
    fs::write(env.state_dir().join("sessions"), "not a folder").expect("written");
    let output = env.jig(&["ls", "--json"]).exits(1);
    assert_eq!(output.stdout, "");
    let error = output.error();
    assert_eq!(error["error"]["code"], "unsafe-dir");
    assert!(error["error"]["message"].as_str().is_some_and(|text| text.contains("sessions")), "{error}");
    assert_eq!(error["exit"], 1);
}

#[test]
fn a_row_has_every_field_in_order() {
    let env = TestEnvironment::new();
    let live = env.live("s-1", |document| {
        document["name"] = "billing".into();
        document["tmuxPane"] = "%3".into();
        document["terminal"] = "%3".into();
        document["attention"] = json!({ "reason": "approval", "since": document["stateAt"] });
        document["background"] = 2.into();
    });
    let document = listed(&env, &[]);
    let row = document["sessions"][0].as_object().expect("an object");
    assert_eq!(row.keys().collect::<Vec<_>>(), FIELDS);
    for field in &FIELDS[..17] {
        assert_eq!(row[*field], live.document[*field], "{field}");
    }
    assert_eq!(row["source"], "jig");
    assert_eq!(row["host"], Value::Null);
    assert_eq!(row["path"], live.path.to_str().expect("UTF-8"));
    assert_eq!(row["verdict"], "alive");
    assert_eq!(row["detail"], Value::Null);
}

#[test]
fn what_is_not_known_is_null_and_an_old_document_is_pis() {
    let env = TestEnvironment::new();
    let live = env.live("s-1", |document| {
        let map = document.as_object_mut().expect("an object");
        for field in ["agent", "process", "stateFrom", "stateAt"] {
            map.remove(field);
        }
        map["model"] = Value::Null;
        map["context"] = json!({ "tokens": null, "window": null, "percent": null });
    });
    let document = listed(&env, &[]);
    let row = &document["sessions"][0];
    assert_eq!(row["agent"]["name"], "pi");
    for field in ["name", "attention", "background", "stateFrom", "stateAt", "model", "terminal", "tmuxPane"] {
        assert_eq!(row[field], Value::Null, "{field}");
    }
    assert_eq!(row["pid"], live.pid());
    assert_eq!(row["verdict"], "unverified", "without an identity nothing proves that it is the same process");
}

#[test]
fn an_ill_typed_field_costs_that_field() {
    let env = TestEnvironment::new();
    let _live = env.live("s-1", |document| {
        document["name"] = json!({ "first": "x" });
        document["usage"] = json!("much");
        document["pid"] = json!(document["pid"].as_f64());
    });
    let document = listed(&env, &[]);
    let row = &document["sessions"][0];
    assert_eq!(row["name"], Value::Null);
    assert_eq!(row["verdict"], "alive", "1234.0 is the number 1234");
    assert_eq!(document["problems"], json!([]));
}

#[test]
fn damaged_strings_do_not_hide_a_session() {
    let env = TestEnvironment::new();
    let process = Sleeper::start();
    let text = |id: &str| {
        let mut document = status_document(id, process.pid());
        document["name"] = "NAME".into();
        format!("\u{feff}{document}")
    };
    fs::write(env.sessions_dir().join("lone.json"), text("lone").replace("NAME", "a\\ud83d")).expect("written");
    let (before, after) = text("bytes").split_once("NAME").map(|(a, b)| (a.to_owned(), b.to_owned())).expect("there");
    let bytes = [before.as_bytes(), &[0xFF, 0xC3], after.as_bytes()].concat();
    fs::write(env.sessions_dir().join("bytes.json"), bytes).expect("written");
    let twice = text("twice").replacen("\"name\":\"NAME\"", "\"name\":\"first\",\"name\":\"last\"", 1);
    fs::write(env.sessions_dir().join("twice.json"), twice).expect("written");
    let document = listed(&env, &[]);
    assert_eq!(document["problems"], json!([]));
    assert_eq!(ids(&document), ["bytes", "lone", "twice"]);
    assert_eq!(document["sessions"][0]["name"], "\u{fffd}\u{fffd}");
    assert_eq!(document["sessions"][1]["name"], "a\u{fffd}");
    assert_eq!(document["sessions"][2]["name"], "last");
}

#[test]
fn who_waits_comes_first_and_the_longest_wait_before_the_others() {
    let env = TestEnvironment::new();
    let now = now_ms();
    let waiting = |since: i64| json!({ "reason": "question", "since": timestamp(now - since) });
    let set = |state: &'static str, cwd: &'static str, attention: Value| {
        move |document: &mut Value| {
            document["state"] = state.into();
            document["cwd"] = cwd.into();
            document["attention"] = attention;
        }
    };
    let _sessions = [
        env.live("idle-b", set("idle", "/b", Value::Null)),
        env.live("idle-a2", set("idle", "/a", Value::Null)),
        env.live("idle-a1", set("idle", "/a", Value::Null)),
        env.live("busy-b", set("busy", "/b", Value::Null)),
        env.live("busy-a", set("busy", "/a", Value::Null)),
        env.live("waits-short", set("busy", "/a", waiting(1_000))),
        env.live("waits-long", set("idle", "/z", waiting(60_000))),
    ];
    let order = ["waits-long", "waits-short", "busy-a", "busy-b", "idle-a1", "idle-a2", "idle-b"];
    assert_eq!(ids(&listed(&env, &[])), order);
    let text = env.jig(&["ls"]).exits(0).stdout;
    let position = |id: &str| text.lines().position(|line| line.contains(id)).unwrap_or_else(|| panic!("{id}: {text}"));
    // Without a name a session goes by its folder and a part of its id; the order is the same.
    assert!(position("question") < position("busy") && position("busy") < position("idle"), "{text}");
}

#[test]
fn ended_sessions_are_shown_only_when_asked_for() {
    let env = TestEnvironment::new();
    let _alive = env.live("alive", |_| ());
    let mut crashed = env.live("crashed", |_| ());
    crashed.process.kill();
    let _reused = env.live("reused", |document| document["process"]["start"] = "linux:1".into());
    assert_eq!(ids(&listed(&env, &[])), ["alive"]);
    let all = listed(&env, &["--all"]);
    let verdict = |id: &str| {
        let rows = all["sessions"].as_array().expect("a list");
        rows.iter().find(|row| row["session"] == id).map(|row| row["verdict"].clone()).expect("listed")
    };
    assert_eq!(
        (verdict("alive"), verdict("crashed"), verdict("reused")),
        (json!("alive"), json!("gone"), json!("reused"))
    );
}

#[test]
fn age_never_hides_a_session_but_one_of_another_machine() {
    let env = TestEnvironment::new();
    let old = |document: &mut Value| document["updatedAt"] = timestamp(now_ms() - 3 * 86_400_000).into();
    let foreign = |document: &mut Value| {
        document["process"]["bootId"] = "00000000-0000-0000-0000-000000000000".into();
        document["process"]["machine"] = "0123456789abcdef".into();
    };
    let _old = env.live("old", old);
    let _foreign = env.live("foreign", foreign);
    let _foreign_old = env.live("foreign-old", |document| {
        old(document);
        foreign(document);
    });
    let _nobody = env.live("nobody", |document| document["pid"] = Value::Null);
    assert_eq!(ids(&listed(&env, &[])), ["foreign", "nobody", "old"]);
    let all = listed(&env, &["--all"]);
    assert_eq!(ids(&all), ["foreign", "foreign-old", "nobody", "old"]);
    assert_eq!(all["sessions"][0]["verdict"], "unknown");
    assert_eq!(all["sessions"][0]["detail"], "other machine");
    assert_eq!(all["sessions"][2]["verdict"], "unknown");
}

#[test]
fn an_idle_session_of_a_shared_process_needs_company_in_its_folder() {
    let env = TestEnvironment::new();
    let shared = |cwd: &'static str, state: &'static str| {
        move |document: &mut Value| {
            document["agent"] = json!({ "name": "codex" });
            document["process"]["shared"] = true.into();
            document["cwd"] = cwd.into();
            document["state"] = state.into();
        }
    };
    let _sessions = [
        env.live("alone", shared("/alone", "idle")),
        env.live("works", shared("/works", "busy")),
        env.live("company", shared("/company", "idle")),
        env.live("seat", |document| {
            document["agent"] = json!({ "name": "codex" });
            document["cwd"] = "/company".into();
        }),
    ];
    assert_eq!(ids(&listed(&env, &[])), ["works", "company", "seat"]);
    let all = listed(&env, &["--all"]);
    let alone = all["sessions"].as_array().expect("a list").iter().find(|row| row["session"] == "alone").cloned();
    let alone = alone.expect("listed");
    assert_eq!((&alone["verdict"], &alone["detail"]), (&json!("unverified"), &json!("shared process")));
}

#[test]
fn a_pipe_that_is_closed_is_no_error() {
    let env = TestEnvironment::new();
    let process = Sleeper::start();
    for number in 0..400 {
        let id = format!("session-{number:03}");
        env.write_status(&id, &status_document(&id, process.pid()));
    }
    let mut shell = env.command("sh");
    shell.arg("-c").arg(format!("{} ls --json | head -c 10; echo", env!("CARGO_BIN_EXE_jig-session")));
    let output = crate::common::finish(shell, b"").exits(0);
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("{\"schema\":\n", ""));
}
