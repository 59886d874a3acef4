//! `jig-session hook`: each call is a process of its own, whose agent is this test program.

mod privacy;
mod processes;

use std::fs;
use std::path::Path;

use crate::common::{TestEnvironment, identity, now_ms};
use serde_json::{Value, json};

/// Calls a hook of an agent; it says nothing and ends with 0.
fn call(env: &TestEnvironment, args: &[&str], payload: &[u8]) {
    let output = env.jig_stdin(&[&["hook"], args].concat(), payload).exits(0);
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("", ""), "{args:?}");
}

fn claude(env: &TestEnvironment, event: &str, more: &Value) {
    let mut payload = json!({ "session_id": "s-1", "cwd": env.work(), "hook_event_name": event });
    for (key, value) in more.as_object().into_iter().flatten() {
        payload[key] = value.clone();
    }
    call(env, &["claude"], payload.to_string().as_bytes());
}

/// The session's file; null when there is none.
fn file(env: &TestEnvironment, session: &str) -> Value {
    let path = env.sessions_dir().join(format!("{session}.json"));
    fs::read_to_string(path).map_or(Value::Null, |text| serde_json::from_str(&text).expect("a document"))
}

/// The row that `ls` shows for the only session.
fn row(env: &TestEnvironment) -> Value {
    env.jig(&["ls", "--json"]).exits(0).json()["sessions"][0].clone()
}

/// The names of everything in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    // The folder's own mark is no session's.
    names.filter(|name| name != ".jig-session").collect()
}

#[test]
fn a_session_is_published_from_its_beginning_to_its_end() {
    let env = TestEnvironment::new();
    env.set("HC_TERMINAL_ID", "t7");
    claude(&env, "SessionStart", &json!({ "source": "startup", "model": "m-1" }));
    let begun = file(&env, "s-1");
    assert_eq!(
        (&begun["state"], &begun["model"]["id"], &begun["pid"]),
        (&"idle".into(), &"m-1".into(), &std::process::id().into())
    );
    assert_eq!(begun["process"]["start"], identity(std::process::id())["start"]);
    assert_eq!((&begun["terminal"], &begun["stateFrom"]), (&"t7".into(), &"hook:SessionStart".into()));
    assert_eq!(begun["agentDir"], json!(env.home().join(".claude")));

    claude(&env, "UserPromptSubmit", &json!({ "prompt": "do it" }));
    assert_eq!(file(&env, "s-1")["state"], "busy");
    let write = json!({ "tool_name": "Write", "tool_use_id": "c-1", "tool_input": { "file_path": env.work().join("made.txt"), "content": "x" } });
    claude(&env, "PreToolUse", &write);
    claude(&env, "PermissionRequest", &json!({ "tool_name": "Write", "tool_input": {} }));
    let asked = row(&env);
    assert_eq!((&asked["attention"]["reason"], &asked["state"]), (&"approval".into(), &"busy".into()));
    claude(&env, "PostToolUse", &write);
    let done = file(&env, "s-1");
    assert_eq!((&done["attention"], &done["recent"][0]["outcome"]), (&Value::Null, &"ok".into()));
    assert_eq!((&done["recent"][0]["decision"], &done["outputs"][0]["action"]), (&"ask".into(), &"written".into()));
    claude(&env, "Stop", &json!({ "background_tasks": [{}, {}] }));
    let over = file(&env, "s-1");
    assert_eq!(
        (&over["state"], &over["background"], &over["startedAt"]),
        (&"idle".into(), &2.into(), &begun["startedAt"])
    );

    claude(&env, "SessionEnd", &json!({ "reason": "prompt_input_exit" }));
    for late in ["StopFailure", "Stop", "Notification", "PostToolUse", "SessionEnd", "SubagentStop", "PreCompact"] {
        claude(&env, late, &json!({ "tool_name": "Write" }));
    }
    assert_eq!(names(&env.sessions_dir()), Vec::<String>::new(), "nothing comes back, and no lock is left");
}

#[test]
fn a_subagent_ends_no_turn_and_makes_no_session() {
    let env = TestEnvironment::new();
    claude(&env, "PreToolUse", &json!({ "session_id": "ghost", "agent_id": "a", "tool_name": "Bash" }));
    assert_eq!(file(&env, "ghost"), Value::Null);
    claude(&env, "UserPromptSubmit", &json!({}));
    claude(&env, "SubagentStart", &json!({ "agent_id": "a" }));
    claude(&env, "Stop", &json!({ "agent_id": "a" }));
    let within = file(&env, "s-1");
    assert_eq!((&within["state"], &within["background"]), (&"busy".into(), &1.into()));
    claude(&env, "SubagentStop", &json!({ "agent_id": "a" }));
    assert_eq!(file(&env, "s-1")["background"], 0);

    // Copilot's subagents have session ids of their own.
    let copilot = |event: &str, session: &str| {
        call(
            &env,
            &["copilot", event],
            json!({ "sessionId": session, "cwd": "/", "toolName": "bash" }).to_string().as_bytes(),
        );
    };
    copilot("userPromptSubmitted", "main");
    copilot("preToolUse", "sub");
    copilot("agentStop", "sub");
    assert_eq!(file(&env, "sub"), Value::Null);
    assert_eq!(file(&env, "main")["agent"]["name"], "copilot");
}

#[test]
fn a_session_that_the_same_process_left_is_gone() {
    let env = TestEnvironment::new();
    claude(&env, "SessionStart", &json!({ "source": "startup" }));
    claude(&env, "SessionStart", &json!({ "source": "startup", "session_id": "s-2" }));
    assert_eq!((file(&env, "s-1"), file(&env, "s-2")["state"].clone()), (Value::Null, "idle".into()));
}

#[test]
fn what_no_hook_tells_is_read_from_the_agents_own_record() {
    let env = TestEnvironment::new();
    let pid = std::process::id();
    claude(&env, "UserPromptSubmit", &json!({}));
    assert_eq!(row(&env)["state"], "busy");
    let folder = env.home().join(".claude/sessions");
    fs::create_dir_all(&folder).expect("a folder");
    let start = identity(pid)["start"].as_str().expect("a start").replace("linux:", "");
    let record = |status: &str, session: &str, start: &str, at: i64| {
        let record = json!({ "pid": pid, "sessionId": session, "procStart": start, "status": status,
            "waitingFor": "permission prompt", "statusUpdatedAt": at });
        fs::write(folder.join(format!("{pid}.json")), record.to_string()).expect("written");
    };
    let later = now_ms() + 10;
    record("idle", "s-1", &start, later);
    let esc = row(&env);
    assert_eq!((&esc["state"], &esc["stateFrom"], &esc["attention"]), (&"idle".into(), &"record".into(), &Value::Null));
    let explained = env.jig(&["explain", "s-1", "--json"]).exits(0).json();
    let state = &explained["state"];
    assert_eq!((&state["written"]["state"], &state["evidence"][0]["state"]), (&"busy".into(), &"idle".into()));
    assert_eq!((&state["chosen"], &explained["session"]["state"]), (&"record".into(), &"idle".into()));
    record("waiting", "s-1", &start, later);
    assert_eq!(row(&env)["attention"]["reason"], "approval");
    record("idle", "s-1", &start, 1_700_000_000_000);
    assert_eq!(row(&env)["state"], "busy", "an older record is no news");
    record("idle", "another", &start, later);
    assert_eq!(row(&env)["state"], "busy", "another session's record says nothing");
    record("idle", "s-1", "1", later);
    assert_eq!(row(&env)["state"], "busy", "another process's record says nothing");
    assert_eq!(file(&env, "s-1")["state"], "busy", "a reader writes nothing");
    record("idle", "s-1", &start, later);
    claude(&env, "SessionStart", &json!({ "source": "startup", "session_id": "s-2" }));
    assert_eq!(file(&env, "s-1"), Value::Null, "it was broken off, and the process shows another session now");
}

#[test]
fn what_is_wrong_is_logged_and_never_shown() {
    let env = TestEnvironment::new();
    call(&env, &["claude"], b"");
    call(&env, &["claude"], b"{");
    call(&env, &["nobody"], b"{}");
    call(&env, &["claude", "Stop"], b"[1]");
    call(&env, &["claude"], &vec![b'x'; 3 << 20]);
    call(&env, &["claude", "--nosuch"], b"{}");
    call(&env, &[], b"{}");
    call(&env, &["claude"], json!({ "session_id": "", "hook_event_name": "SessionStart" }).to_string().as_bytes());
    assert_eq!(names(&env.sessions_dir()), Vec::<String>::new());
    let log = fs::read_to_string(env.state_dir().join("log/jig-session.log")).expect("a log");
    assert!(log.contains("unknown agent") && log.contains("the payload of claude cannot be read"), "{log}");
}

#[test]
fn a_status_line_is_passed_on_unchanged_and_its_figures_are_published() {
    let env = TestEnvironment::new();
    claude(&env, "SessionStart", &json!({ "source": "startup" }));
    let payload = json!({
        "session_id": "s-1", "model": { "id": "m-1", "display_name": "M 1" }, "version": "2.1.332", "cwd": env.work(),
        "cost": { "total_cost_usd": 0.5 },
        "context_window": { "total_input_tokens": 2421, "context_window_size": 1_000_000, "used_percentage": 0 },
    });
    let line = ["hook", "claude", "--statusline", "--then", "cat; printf '\\033[1mmine'; exit 3"];
    let output = env.jig_stdin(&line, payload.to_string().as_bytes()).exits(3);
    assert_eq!(output.stdout, format!("{payload}\u{1b}[1mmine"));
    let document = file(&env, "s-1");
    assert_eq!((&document["usage"]["cost"], &document["context"]["percent"]), (&json!(0.5), &json!(0.2)));
    assert_eq!((&document["model"]["name"], &document["agent"]["version"]), (&"M 1".into(), &"2.1.332".into()));
    assert_eq!(document["state"], "idle");
    call(
        &env,
        &["claude", "--statusline"],
        json!({ "session_id": "unheard", "cost": { "total_cost_usd": 1 } }).to_string().as_bytes(),
    );
    assert_eq!(file(&env, "unheard"), Value::Null);
}

#[test]
fn hooks_that_run_at_once_lose_nothing() {
    let env = TestEnvironment::new();
    claude(&env, "UserPromptSubmit", &json!({}));
    std::thread::scope(|scope| {
        for number in 0..8 {
            let env = &env;
            scope.spawn(move || {
                claude(env, "PreToolUse", &json!({ "tool_name": "Bash", "tool_use_id": format!("c-{number}") }))
            });
        }
    });
    assert_eq!(file(&env, "s-1")["recent"].as_array().map(Vec::len), Some(8));
}
