use std::time::Instant;

use serde_json::{Value, json};

use super::town::{Peer, Town};
use crate::common::DEADLINE;

fn denied(town: &Town, agent: &str, payload: &[u8]) -> Value {
    let output = town.env.jig_stdin(&["bus", "guard", agent], payload).exits(0);
    assert!(!output.stdout.is_empty(), "{agent} was not denied: {}", String::from_utf8_lossy(payload));
    output.json()
}

fn allowed(town: &Town, agent: &str, payload: &[u8]) {
    let output = town.env.jig_stdin(&["bus", "guard", agent], payload).exits(0);
    assert_eq!(output.stdout, "", "{agent}");
}

fn guarded() -> (Town, Peer, Peer) {
    let town = Town::new();
    let (a, b) = (town.peer("alpha"), town.peer_with("beta", &["--guard"]));
    town.as_peer(&a, &["claim", "src/api"]).exits(0);
    (town, a, b)
}

#[test]
fn an_edit_of_what_another_session_holds_is_denied_in_the_agents_form() {
    let (town, _a, _b) = guarded();
    let path = town.env.work().join("src/api/routes.ts");
    let edit = town.payload("s-beta", "Edit", json!({ "file_path": path }));
    for agent in ["claude", "codex", "droid", "copilot"] {
        let form = &denied(&town, agent, &edit)["hookSpecificOutput"];
        assert_eq!((&form["hookEventName"], &form["permissionDecision"]), (&"PreToolUse".into(), &"deny".into()));
        let reason = form["permissionDecisionReason"].as_str().expect("a reason");
        assert!(reason.starts_with("src/api is held by alpha (session s-alpha) since 2"), "{reason}");
        assert!(reason.ends_with(" Ask with: jig-session bus send alpha …"), "{reason}");
    }
    let gemini = denied(&town, "gemini", &town.payload("s-beta", "write_file", json!({ "file_path": path })));
    assert_eq!(gemini["decision"], "deny");
    let patch = "*** Begin Patch\n*** Update File: src/api/routes.ts\n@@\n-a\n+b\n*** End Patch\n";
    denied(&town, "codex", &town.payload("s-beta", "apply_patch", json!({ "command": ["apply_patch", patch] })));
    let camel =
        json!({ "sessionId": "s-beta", "cwd": town.env.work(), "toolName": "edit", "toolArgs": { "path": path } });
    denied(&town, "copilot", camel.to_string().as_bytes());
    let plugin =
        json!({ "sessionID": "s-beta", "cwd": town.env.work(), "tool": "write", "args": { "filePath": path } });
    denied(&town, "opencode", plugin.to_string().as_bytes());
}

#[test]
fn the_verdict_can_be_read_as_a_result() {
    let (town, _a, _b) = guarded();
    let edit = |file: &str| town.payload("s-beta", "Edit", json!({ "file_path": town.env.work().join(file) }));
    let ask = |payload: &[u8]| town.env.jig_stdin(&["--json", "bus", "guard", "claude"], payload).exits(0).json();
    assert_eq!(
        ask(&edit("docs/x")),
        json!({ "schema": 1, "action": "guard", "ok": true, "deny": null, "message": null })
    );
    let result = ask(&edit("src/api/x"));
    assert_eq!((&result["deny"]["session"], &result["deny"]["path"]), (&"s-alpha".into(), &"src/api".into()));
}

#[test]
fn every_doubt_allows() {
    let (town, mut a, b) = guarded();
    let path = town.env.work().join("src/api/routes.ts");
    let input = json!({ "file_path": path });
    denied(&town, "claude", &town.payload("s-beta", "Edit", input.clone()));
    allowed(&town, "claude", &town.payload("s-alpha", "Edit", input.clone()));
    allowed(&town, "claude", &town.payload("s-nobody", "Edit", input.clone()));
    allowed(&town, "claude", &town.payload("s-beta", "Read", input.clone()));
    allowed(&town, "claude", &town.payload("s-beta", "Bash", json!({ "command": "echo x > src/api/routes.ts" })));
    allowed(&town, "claude", &town.payload("s-beta", "Edit", json!({})));
    allowed(&town, "claude", &town.payload("s-beta", "Edit", json!({ "file_path": "/etc/passwd" })));
    allowed(&town, "claude", &town.payload("s-beta", "Edit", json!({ "file_path": "docs/x" })));
    for broken in [&b"not json"[..], b"[]", b"{}", b""] {
        allowed(&town, "claude", broken);
    }
    // A link inside the repository is the file it names.
    std::os::unix::fs::symlink("src/api", town.env.work().join("alias")).expect("a link");
    denied(&town, "claude", &town.payload("s-beta", "Edit", json!({ "file_path": "alias/routes.ts" })));
    let unguarded = town.peer("gamma");
    allowed(&town, "claude", &town.payload(&unguarded.id, "Edit", input.clone()));
    town.env.set("JIG_BUS_GUARD", "1");
    denied(&town, "claude", &town.payload(&unguarded.id, "Edit", input.clone()));
    a.process.kill();
    allowed(&town, "claude", &town.payload("s-beta", "Edit", input));
    drop(b);
}

/// Ends the work of the threads that keep the machine busy.
struct Busy(std::sync::Arc<std::sync::atomic::AtomicBool>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

#[test]
fn a_busy_machine_allows_nothing() {
    let (town, _a, _b) = guarded();
    let edit = town.payload("s-beta", "Edit", json!({ "file_path": "src/api/x" }));
    let busy = Busy(std::sync::Arc::default());
    for _ in 0..8 {
        let end = std::sync::Arc::clone(&busy.0);
        std::thread::spawn(move || while !end.load(std::sync::atomic::Ordering::Relaxed) {});
    }
    for _ in 0..40 {
        denied(&town, "claude", &edit);
    }
}

#[test]
fn a_doubt_is_a_line_in_the_log_that_doctor_counts() {
    let (town, _a, _b) = guarded();
    let log = || std::fs::read_to_string(town.env.state_dir().join("log/jig-session.log")).unwrap_or_default();
    allowed(&town, "claude", &town.payload("s-beta", "Edit", json!({ "file_path": "docs/x" })));
    assert_eq!(log(), "", "what is decided is no doubt");
    allowed(&town, "claude", b"not json");
    assert_eq!(log().lines().count(), 1);
    allowed(&town, "claude", format!("{{\"a\":\"{}\"}}", "x".repeat(1 << 20)).as_bytes());
    let lines = log();
    assert!(lines.lines().count() == 2 && lines.contains("undecided") && lines.contains("longer than"), "{lines}");
    let doctor = town.env.jig(&["doctor", "--json"]).json();
    let checks = doctor["checks"].as_array().expect("checks");
    let counted = checks.iter().find(|check| check["check"] == "log").expect("a check of the log");
    assert!(counted["message"].as_str().is_some_and(|words| words.contains('2')), "{counted}");
}

#[test]
fn a_held_file_is_found_under_every_spelling() {
    let (town, _a, _b) = guarded();
    let work = town.env.work().to_owned();
    let file = "src/api/routes.ts";
    std::fs::write(work.join(file), "x").expect("a file");
    std::fs::hard_link(work.join(file), work.join("docs/link")).expect("a link");
    let patch = |header: &str| format!("*** Begin Patch\n{header}\n@@\n-a\n+b\n*** End Patch");
    let uri = format!("file://{}/src/api/ro%75tes.ts", work.display());
    for (agent, tool, input) in [
        ("codex", "apply_patch", json!({ "command": patch(&format!(" *** Update File: {file}")) })),
        ("codex", "apply_patch", json!({ "command": patch(&format!("***Delete File:{file}")) })),
        ("droid", "ApplyPatch", json!({ "input": patch(&format!("*** Update File: {file}")) })),
        ("droid", "ApplyPatch", json!({ "patch": patch(&format!("*** Update File: {file}")) })),
        ("claude", "MultiEdit", json!({ "edits": [{ "file_path": file }] })),
        ("claude", "mcp__filesystem__write_file", json!({ "path": file })),
        ("claude", "mcp__filesystem__move_file", json!({ "source": "x", "destination": file })),
        ("claude", "mcp__filesystem__delete_directory", json!({ "path": "src" })),
        ("claude", "Write", json!({ "file_path": uri })),
        ("claude", "Write", json!({ "file_path": "docs/link" })),
    ] {
        denied(&town, agent, &town.payload("s-beta", tool, input));
    }
    for (tool, input) in [
        ("mcp__filesystem__read_file", json!({ "path": file })),
        ("mcp__filesystem__create_directory", json!({ "path": "src" })),
        ("Write", json!({ "file_path": "src/apix" })),
    ] {
        allowed(&town, "claude", &town.payload("s-beta", tool, input));
    }
    // Half an emoji, in what is written or in what names the file, hides nothing.
    let cut = |tool: &str, input: &str| {
        let work = work.display();
        format!(r#"{{"session_id":"s-beta","cwd":"{work}","tool_name":"{tool}","tool_input":{input}}}"#).into_bytes()
    };
    denied(&town, "claude", &cut("Write", r#"{"file_path":"src/api/routes.ts","content":"cut \ud83d"}"#));
    denied(&town, "codex", &cut("apply_patch", r#"{"command":"*** Update File: src/api/routes.ts\n+cut \ud83d"}"#));
}

#[test]
fn a_guard_waits_for_no_payload() {
    let (town, _a, _b) = guarded();
    let mut command = town.env.jig_command(&["bus", "guard", "claude"]);
    // Its stdin stays open and empty: it ends by itself.
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().expect("it starts");
    let stdin = child.stdin.take();
    let end = Instant::now() + DEADLINE;
    while child.try_wait().expect("ours").is_none() {
        assert!(Instant::now() < end, "it waits for ever");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    drop(stdin);
}

fn notice(town: &Town, agent: &str, event: &str, session: &str, more: Value) -> String {
    let mut payload = json!({ "session_id": session, "cwd": town.env.work(), "hook_event_name": event });
    if let (Some(payload), Some(more)) = (payload.as_object_mut(), more.as_object()) {
        payload.extend(more.clone());
    }
    town.env.jig_stdin(&["bus", "notice", agent, event], payload.to_string().as_bytes()).exits(0).stdout
}

#[test]
fn mail_is_told_once_and_stays_in_the_inbox() {
    let town = Town::new();
    let (a, b) = (town.peer("alpha"), town.peer("beta"));
    assert_eq!(notice(&town, "claude", "PostToolUse", "s-alpha", json!({})), "", "no mail, no word");
    town.as_peer(&b, &["send", "alpha", "the port is 8080"]).exits(0);
    let told: Value =
        serde_json::from_str(&notice(&town, "claude", "PostToolUse", "s-alpha", json!({}))).expect("a document");
    let form = &told["hookSpecificOutput"];
    assert_eq!(form["hookEventName"], "PostToolUse");
    assert_eq!(form["additionalContext"], "1 message\nRead with: jig-session bus inbox\nbeta: the port is 8080");
    assert_eq!(notice(&town, "claude", "UserPromptSubmit", "s-alpha", json!({})), "", "told once");
    assert_eq!(town.as_peer(&a, &["peek"]).json()["messages"].as_array().map(Vec::len), Some(1));
    assert_eq!(notice(&town, "claude", "PostToolUse", "s-nobody", json!({})), "");
    town.as_peer(&a, &["join", "--no-listen"]).exits(0);
    town.as_peer(&b, &["send", "alpha", "more"]).exits(0);
    assert_eq!(notice(&town, "claude", "PostToolUse", "s-alpha", json!({})), "", "it does not listen");
    town.as_peer(&a, &["join"]).exits(0);
    let copilot = notice(&town, "copilot", "postToolUse", "s-alpha", json!({}));
    let copilot: Value = serde_json::from_str(&copilot).expect("a document");
    assert!(copilot["additionalContext"].as_str().is_some_and(|text| text.contains("more")));
}

#[test]
fn the_end_of_a_turn_is_held_back_for_a_wake_only() {
    let town = Town::new();
    let (a, b) = (town.peer("alpha"), town.peer("beta"));
    let stop = |more: Value| notice(&town, "claude", "Stop", "s-alpha", more);
    town.as_peer(&b, &["send", "alpha", "one"]).exits(0);
    assert_eq!(stop(json!({})), "", "mode next waits for the next turn");
    town.as_peer(&a, &["join", "--wake"]).exits(0);
    assert_eq!(stop(json!({ "stop_hook_active": true })), "", "a turn that goes on already is let end");
    let held: Value = serde_json::from_str(&stop(json!({}))).expect("a document");
    assert_eq!(held["decision"], "block");
    assert!(
        held["reason"]
            .as_str()
            .is_some_and(|reason| reason.starts_with("1 message\nRead with: jig-session bus inbox\nbeta: one"))
    );
    assert_eq!(stop(json!({})), "");
    // H18: the seventh wake of a pair waits, until a person speaks.
    for wake in 0..5 {
        town.as_peer(&b, &["send", "alpha", &format!("again {wake}")]).exits(0);
        assert_ne!(stop(json!({})), "", "wake {wake}");
    }
    town.as_peer(&b, &["send", "alpha", "once more"]).exits(0);
    assert_eq!(stop(json!({})), "", "the budget is used up");
    // B15
    assert_eq!(town.as_peer(&a, &["status"]).json()["me"]["throttled"], true);
    let shown = town.text(&a, &["status"]).stdout;
    assert!(shown.contains("wake, throttled"), "{shown}");
    assert_eq!(town.as_peer(&b, &["status"]).json()["me"].get("throttled"), None);
    let told = notice(&town, "claude", "UserPromptSubmit", "s-alpha", json!({}));
    assert!(told.contains("once more"), "at the next turn it is told: {told}");
    town.as_peer(&b, &["send", "alpha", "and now"]).exits(0);
    assert_ne!(stop(json!({})), "", "a person has spoken");
    assert_eq!(town.as_peer(&a, &["status"]).json()["me"].get("throttled"), None);
}

#[test]
fn a_notice_that_cannot_be_written_is_told_again() {
    let town = Town::new();
    let (_a, b) = (town.peer("alpha"), town.peer("beta"));
    town.as_peer(&b, &["send", "alpha", "hear me"]).exits(0);
    let payload = json!({ "session_id": "s-alpha", "cwd": town.env.work() }).to_string();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = town.env.jig_command(&["bus", "notice", "claude", "PostToolUse"]);
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::from(writer))
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut stdin, payload.as_bytes()).expect("written");
    drop(stdin);
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    assert!(notice(&town, "claude", "PostToolUse", "s-alpha", json!({})).contains("hear me"));
}

/// What running agents gave their hooks, with the folder and the session named anew.
fn recorded(town: &Town, session: &str, kind: &str) -> Vec<(String, String, Vec<u8>)> {
    let work = town.env.work().to_string_lossy().into_owned();
    let text = include_str!("recorded/hooks.jsonl").replace("@cwd@", &work).replace("@session@", session);
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a recorded line"));
    let word = |line: &Value, key: &str| line[key].as_str().expect("a word").to_owned();
    lines
        .filter(|line| line["is"] == kind)
        .map(|line| (word(&line, "agent"), word(&line, "event"), line["payload"].to_string().into_bytes()))
        .collect()
}

#[test]
fn a_guard_understands_what_running_agents_gave_it() {
    let (town, a, _b) = guarded();
    town.as_peer(&a, &["claim", "a.txt"]).exits(0);
    let edits = recorded(&town, "s-beta", "edit");
    assert!(!edits.is_empty());
    for (agent, _, payload) in edits {
        denied(&town, &agent, &payload);
    }
    for (agent, _, payload) in recorded(&town, "s-beta", "other") {
        allowed(&town, &agent, &payload);
    }
}

#[test]
fn mail_is_told_in_what_running_agents_gave_their_hooks() {
    let town = Town::new();
    let (_a, b) = (town.peer("alpha"), town.peer("beta"));
    let events = recorded(&town, "s-alpha", "notice");
    assert!(events.len() > 10);
    for (turn, (agent, event, payload)) in events.into_iter().enumerate() {
        town.as_peer(&b, &["send", "alpha", &format!("turn {turn}")]).exits(0);
        let told = town.env.jig_stdin(&["bus", "notice", &agent, &event], &payload).exits(0);
        assert!(told.stdout.contains(&format!("turn {turn}")), "{agent} {event}: {told:?}");
    }
}
