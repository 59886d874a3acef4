//! `jig-session publish` as a feeder and a reader see it: events on stdin, one file, how it ends.

mod page;
mod starved;

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Running, Sleeper, TestEnvironment, eventually, names_in};
use serde_json::{Value, json};

const PUBLISH: [&str; 3] = ["publish", "--agent", "acme"];

fn path(env: &TestEnvironment, session: &str) -> PathBuf {
    env.sessions_dir().join(format!("{session}.json"))
}

fn read(path: &Path) -> Option<Value> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Waits until the session's file says so.
fn until(env: &TestEnvironment, session: &str, what: &str, says: impl Fn(&Value) -> bool) -> Value {
    eventually(what, || read(&path(env, session)).filter(&says))
}

fn until_gone(env: &TestEnvironment, session: &str) {
    eventually("the file goes", || (!path(env, session).exists()).then_some(()));
}

fn names(env: &TestEnvironment) -> Vec<String> {
    names_in(&env.sessions_dir())
}

/// The status files alone: a live publisher's temporary comes and goes.
fn documents(env: &TestEnvironment) -> Vec<String> {
    names(env).into_iter().filter(|name| !name.starts_with('.')).collect()
}

fn begin(session: &str, pid: u32) -> String {
    json!({"event": "session", "schema": 1, "session": session, "pid": pid}).to_string()
}

/// A running `publish` of this session for this process, its file written.
fn publishing(env: &TestEnvironment, session: &str, pid: u32) -> Running {
    let mut publish = env.start(&PUBLISH);
    publish.send(&begin(session, pid));
    until(env, session, "the session is published", |document| document["pid"] == pid);
    publish
}

#[test]
fn a_session_is_published_changes_and_goes() {
    let env = TestEnvironment::new();
    let mut publish = env.start(&PUBLISH);
    publish.send(r#"{"event":"session","schema":1,"session":"s-1","cwd":"/home/dev/app","name":"billing"}"#);
    let document = until(&env, "s-1", "the file appears", |_| true);
    // The feeder, this test, is the agent: no shell stands between.
    let own = std::process::id();
    assert_eq!(
        (&document["pid"], &document["name"], &document["state"]),
        (&json!(own), &json!("billing"), &json!("idle"))
    );
    assert_eq!(document["agent"], json!({"name": "acme"}));
    assert_eq!(document["process"]["start"], crate::common::identity(own)["start"]);
    for line in [
        r#"{"event":"model","model":{"provider":"acme","id":"m-2","name":"M 2"},"thinking":"medium"}"#,
        r#"{"event":"turn","phase":"start"}"#,
        r#"{"event":"tool","phase":"start","id":"c1","tool":"edit"}"#,
    ] {
        publish.send(line);
    }
    until(&env, "s-1", "it is busy", |document| {
        document["state"] == "busy" && document["recent"][0]["outcome"] == "running"
    });
    for line in [
        r#"{"event":"tool","phase":"end","id":"c1","outcome":"ok"}"#,
        r#"{"event":"output","path":"src/api.rs","action":"edited"}"#,
        r#"{"event":"usage","mode":"add","input":1000,"output":50,"cost":0.004}"#,
        r#"{"event":"context","tokens":1050,"window":200000}"#,
        r#"{"event":"turn","phase":"settled"}"#,
    ] {
        publish.send(line);
    }
    let document = until(&env, "s-1", "it has settled", |document| document["state"] == "idle");
    assert_eq!(document["outputs"][0]["path"], "/home/dev/app/src/api.rs");
    assert_eq!((&document["context"]["percent"], &document["usage"]["cost"]), (&json!(0.5), &json!(0.004)));
    publish.send(r#"{"event":"end"}"#);
    until_gone(&env, "s-1");
    let output = publish.end().exits(0);
    assert_eq!((output.stdout, output.stderr), (String::new(), String::new()));
    assert_eq!(names(&env), Vec::<String>::new());
}

#[test]
fn the_end_of_the_input_is_the_end_of_the_session() {
    let env = TestEnvironment::new();
    publishing(&env, "s-1", std::process::id()).end().exits(0);
    assert_eq!(names(&env), Vec::<String>::new());
}

#[test]
fn signals_end_the_session() {
    for signal in ["TERM", "HUP", "INT"] {
        let env = TestEnvironment::new();
        let publish = publishing(&env, "s-1", std::process::id());
        publish.signal(signal);
        until_gone(&env, "s-1");
        publish.end().exits(0);
    }
}

#[test]
fn bad_lines_are_named_by_number_and_skipped() {
    let env = TestEnvironment::new();
    let long = "x".repeat((1 << 20) + 1);
    let lines = [
        r#"{"event":"turn","phase":"start"}"#,
        &begin("s-1", std::process::id()),
        "not json",
        "",
        r#"{"event":"turn"}"#,
        r#"{"event":"later","x":1}"#,
        &long,
        r#"{"event":"tool","phase":"start","id":"c1"}"#,
        r#"{"event":"background","count":3}"#,
        r#"{"event":"end","keep":true}"#,
    ];
    let output = env.jig_stdin(&PUBLISH, (lines.join("\n") + "\n").as_bytes()).exits(0);
    let named: Vec<_> = output.stderr.lines().map(|line| line.split(':').nth(1).unwrap().trim()).collect();
    assert_eq!(named, ["line 1", "line 3", "line 5", "line 7", "line 8"], "{}", output.stderr);
    assert_eq!(read(&path(&env, "s-1")).unwrap()["background"], 3, "the good lines counted");
}

#[test]
fn a_name_that_is_no_name_is_a_usage_error() {
    let env = TestEnvironment::new();
    env.jig(&["publish"]).exits(2);
    env.jig(&["publish", "--agent", ""]).exits(2);
    env.jig(&["publish", "--agent", &"x".repeat(129)]).exits(2);
}

#[test]
fn a_killed_publisher_leaves_its_file_to_the_next_start() {
    let env = TestEnvironment::new();
    let (mut dead, alive) = (Sleeper::start(), Sleeper::start());
    let publishers = [publishing(&env, "dead", dead.pid()), publishing(&env, "alive", alive.pid())];
    for publish in publishers {
        publish.signal("KILL");
        publish.end().exits(137);
    }
    dead.kill();
    let orphan = env.sessions_dir().join(format!(".dead.json.tmp-{}-0123abcd", dead.pid()));
    fs::write(&orphan, "{").unwrap();
    assert_eq!(documents(&env).len(), 2);
    let publish = publishing(&env, "own", std::process::id());
    eventually("what is over goes", || {
        (documents(&env) == ["alive.json", "own.json"] && !orphan.exists()).then_some(())
    });
    publish.end().exits(0);
    assert_eq!(documents(&env), ["alive.json"], "the process that lives keeps its file");
}

#[test]
fn a_file_that_vanished_comes_back() {
    let env = TestEnvironment::new();
    let publish = publishing(&env, "s-1", std::process::id());
    fs::remove_file(path(&env, "s-1")).unwrap();
    until(&env, "s-1", "the file is back", |document| document["session"] == "s-1");
    publish.end().exits(0);
}

#[test]
fn a_newer_process_takes_the_file_and_gives_it_back_by_dying() {
    let env = TestEnvironment::new();
    let (first, mut second) = (Sleeper::start(), Sleeper::start());
    let mut older = publishing(&env, "s-1", first.pid());
    let newer = publishing(&env, "s-1", second.pid());
    older.send(r#"{"event":"background","count":1}"#);
    older.send("to be told of, once the line before was taken");
    assert!(older.error_line().contains("line 3"));
    assert_eq!(read(&path(&env, "s-1")).unwrap()["pid"], second.pid());
    newer.signal("KILL");
    newer.end().exits(137);
    second.kill();
    let document = until(&env, "s-1", "the older one writes again", |document| document["pid"] == first.pid());
    assert_eq!(document["background"], 1);
    older.end().exits(0);
    assert_eq!(names(&env), Vec::<String>::new());
}

#[test]
fn what_another_process_owns_is_not_removed() {
    let env = TestEnvironment::new();
    let (first, second) = (Sleeper::start(), Sleeper::start());
    let older = publishing(&env, "s-1", first.pid());
    let newer = publishing(&env, "s-1", second.pid());
    older.end().exits(0);
    assert_eq!(read(&path(&env, "s-1")).unwrap()["pid"], second.pid());
    newer.end().exits(0);
    assert_eq!(names(&env), Vec::<String>::new());
}

#[test]
fn a_kept_file_is_continued_by_the_next_publisher_of_the_process() {
    let env = TestEnvironment::new();
    let agent = Sleeper::start();
    let mut publish = publishing(&env, "s-1", agent.pid());
    for line in [
        r#"{"event":"usage","mode":"add","input":7,"cost":0.5}"#,
        r#"{"event":"tool","phase":"start","id":"c1","tool":"read"}"#,
        r#"{"event":"end","keep":true}"#,
    ] {
        publish.send(line);
    }
    publish.end().exits(0);
    let before = read(&path(&env, "s-1")).unwrap();
    let mut publish = env.start(&PUBLISH);
    publish.send(&begin("s-1", agent.pid()));
    publish.send(r#"{"event":"tool","phase":"end","id":"c1"}"#);
    let after = until(&env, "s-1", "it goes on", |document| document["recent"][0]["outcome"] == "ok");
    for field in ["startedAt", "process", "usage", "state"] {
        assert_eq!(after[field], before[field], "{field}");
    }
    publish.end().exits(0);
}

#[test]
fn two_ids_with_one_safe_name_have_two_files() {
    let env = TestEnvironment::new();
    let (first, second) = (Sleeper::start(), Sleeper::start());
    let one = publishing(&env, "a_b", first.pid());
    let mut other = env.start(&PUBLISH);
    other.send(&begin("a/b", second.pid()));
    eventually("the second file appears", || (documents(&env).len() == 2).then_some(()));
    let mut sessions: Vec<_> =
        documents(&env).iter().map(|name| read(&env.sessions_dir().join(name)).unwrap()["session"].clone()).collect();
    sessions.sort_by_key(ToString::to_string);
    assert_eq!(sessions, ["a/b", "a_b"]);
    one.end().exits(0);
    other.end().exits(0);
    assert_eq!(names(&env), Vec::<String>::new());
}

#[test]
fn a_folder_in_the_way_disturbs_nobody_and_publishing_resumes_by_itself() {
    let env = TestEnvironment::new();
    fs::create_dir_all(env.state_dir()).unwrap();
    let sessions = env.state_dir().join("sessions");
    fs::write(&sessions, "in the way").unwrap();
    let mut publish = env.start(&PUBLISH);
    publish.send(&begin("s-1", std::process::id()));
    let told = publish.error_line();
    assert!(told.contains(sessions.to_str().unwrap()), "{told}");
    for count in 0..100 {
        publish.send(&json!({"event": "background", "count": count}).to_string());
    }
    fs::remove_file(&sessions).unwrap();
    until(&env, "s-1", "it is written after all", |document| document["background"] == 99);
    let again = publish.error_line();
    assert!(again.contains("written again"), "one message for the whole time: {again}");
    publish.end().exits(0);
}

#[test]
fn a_child_of_a_live_session_publishes_nothing() {
    let env = TestEnvironment::new();
    // The child has no terminal; its parent, this test, owns the other session.
    let child = Sleeper::start();
    let parent = publishing(&env, "parent", std::process::id());
    let terminal = fs::read_to_string("/proc/self/stat").unwrap();
    let terminal = terminal.rsplit_once(')').unwrap().1.split_ascii_whitespace().nth(4).unwrap().to_owned();
    let output = env.jig_stdin(&PUBLISH, (begin("child", child.pid()) + "\n{}\n").as_bytes()).exits(0);
    assert!(output.stderr.contains("line 2"), "terminal {terminal}: {}", output.stderr);
    assert_eq!(documents(&env), ["parent.json"]);
    parent.end().exits(0);
}

#[test]
fn a_marked_child_publishes_nothing() {
    let env = TestEnvironment::new();
    env.set("PI_SUBAGENT_RUN_ID", "7");
    env.sessions_dir();
    let input = begin("child", std::process::id()) + "\n{\"event\":\"end\",\"keep\":true}\n";
    env.jig_stdin(&PUBLISH, input.as_bytes()).exits(0);
    assert_eq!(names(&env), Vec::<String>::new());
}

/// The file that a run leaves which ends with `keep`.
fn kept(env: &TestEnvironment, events: &[Value]) -> Value {
    let mut input = begin("s-1", std::process::id()) + "\n";
    for event in events {
        input += &format!("{event}\n");
    }
    input += "{\"event\":\"end\",\"keep\":true}\n";
    let output = env.jig_stdin(&PUBLISH, input.as_bytes()).exits(0);
    assert_eq!(output.stderr, "");
    read(&path(env, "s-1")).unwrap()
}

#[test]
fn the_terminal_comes_from_the_environment() {
    let env = TestEnvironment::new();
    env.set("HC_TERMINAL_ID", "t7").set("TMUX_PANE", "%3").set("TMUX", "/tmp/tmux-1/default,4,0");
    let document = kept(&env, &[]);
    for (field, right) in [("terminal", "t7"), ("terminalFrom", "HC_TERMINAL_ID")] {
        assert_eq!(document[field], right, "{field}");
    }
}

/// Writes a file and the folders above it.
fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A home with two ticket folders, one with a workflow of its own, and a workflow folder.
fn tickets(env: &TestEnvironment) -> PathBuf {
    let home = env.home();
    let config = r#"{"memory":{"dir":"~/tickets"},"workflow":{"dirs":["~/flows"]},"jira":{"site":"jira.example.org"}}"#;
    put(&home.join(".config/jig/config.json"), config);
    put(&home.join("tickets/APP-12/ticket.json"), r#"{"title":"Log in"}"#);
    put(
        &home.join("tickets/APP-12/workflow.json"),
        r#"{"name":"delivery","stages":["plan","build"],"current":"build"}"#,
    );
    put(&home.join("tickets/APP-12/plan.md"), "x");
    put(&home.join("tickets/APP-12/evidence/tools/raw.txt"), "x");
    put(&home.join("tickets/APP-13/notes.txt"), "x");
    put(&home.join("flows/workflow.json"), "{");
    home
}

#[test]
fn ticket_workflow_and_the_tickets_files_come_from_the_environment() {
    let env = TestEnvironment::new();
    let home = tickets(&env);
    env.set("JIG_TICKET", "APP-12");
    let document = kept(&env, &[]);
    let url = "https://jira.example.org/browse/APP-12";
    assert_eq!(document["ticket"], json!({"key": "APP-12", "title": "Log in", "url": url}));
    assert_eq!(
        document["workflow"],
        json!({"name": "delivery", "stages": ["plan", "build"], "current": "build", "prs": []})
    );
    let outputs = document["outputs"].as_array().unwrap();
    assert_eq!(outputs.len(), 1, "{outputs:?}");
    assert_eq!(
        (&outputs[0]["path"], &outputs[0]["action"]),
        (&json!(home.join("tickets/APP-12/plan.md")), &json!("ticket"))
    );
}

#[test]
fn a_ticket_event_outranks_the_environment_and_a_broken_workflow_is_a_problem() {
    let env = TestEnvironment::new();
    tickets(&env);
    env.set("JIG_TICKET", "APP-12");
    let document = kept(&env, &[json!({"event": "ticket", "ticket": {"key": "APP-13"}})]);
    assert_eq!(document["ticket"]["key"], "APP-13");
    assert!(document["workflow"]["problem"].as_str().unwrap().contains("does not parse"), "{document}");
}

#[test]
fn the_branch_names_the_ticket_and_files_name_their_repository() {
    let env = TestEnvironment::new();
    tickets(&env);
    let work = env.work();
    put(&work.join(".git/HEAD"), "ref: refs/heads/fix/app-13-login\n");
    for folder in ["objects", "refs"] {
        fs::create_dir_all(work.join(".git").join(folder)).unwrap();
    }
    let document = kept(&env, &[json!({"event": "output", "path": "src/a.rs", "action": "written"})]);
    assert_eq!(document["ticket"]["key"], "APP-13");
    let output = document["outputs"].as_array().unwrap().iter().find(|output| output["action"] == "written").unwrap();
    assert_eq!(output["path"], json!(work.join("src/a.rs")));
    assert_eq!(output["repo"], json!(work.canonicalize().unwrap()));
}

/// A running `publish` that takes requests for one tool.
fn asked(env: &TestEnvironment) -> Running {
    let mut publish = publishing(env, "s-1", std::process::id());
    publish.send(
        r#"{"event":"capabilities","tools":[{"name":"bash","on":true}],"skills":[],"accepts":["tools","reload"]}"#,
    );
    until(env, "s-1", "its capabilities are known", |document| document["accepts"].is_array());
    publish
}

fn request(env: &TestEnvironment, request: &Value) {
    crate::common::replace(&env.requests_dir().join("s-1.json"), request.to_string().as_bytes());
}

#[test]
fn a_switch_is_handed_to_the_feeder_and_answered_when_it_was_applied() {
    for (applied, ok, message) in [
        (json!({"event": "applied", "id": "r1", "ok": true}), true, "tools: bash off; ignored: no tool nosuch"),
        (
            json!({"event": "applied", "id": "r1", "ok": false, "message": "no"}),
            false,
            "ignored: no tool nosuch; failed: no",
        ),
    ] {
        let env = TestEnvironment::new();
        let mut publish = asked(&env);
        request(&env, &json!({"schema": 1, "id": "r1", "tools": {"bash": false, "nosuch": true}}));
        assert_eq!(publish.json_line(), json!({"op": "switch", "id": "r1", "tools": {"bash": false}, "skills": {}}));
        publish.send(&applied.to_string());
        let document = until(&env, "s-1", "it is answered", |document| document["lastRequest"]["id"] == "r1");
        assert_eq!(
            (&document["lastRequest"]["ok"], &document["lastRequest"]["message"]),
            (&json!(ok), &json!(message))
        );
        assert_eq!(document["recentRequests"][0], document["lastRequest"]);
        publish.end().exits(0);
    }
}

#[test]
fn a_switch_that_is_not_applied_in_time_is_answered_as_failed() {
    let env = TestEnvironment::new();
    let publish = asked(&env);
    request(&env, &json!({"schema": 1, "id": "r1", "tools": {"bash": false}}));
    publish.json_line();
    let document = until(&env, "s-1", "it is answered", |document| document["lastRequest"]["id"] == "r1");
    assert_eq!(document["lastRequest"]["ok"], false);
    publish.end().exits(0);
}

#[test]
fn a_reload_waits_until_the_session_is_idle_and_is_done_before_it_is_asked_for() {
    let env = TestEnvironment::new();
    let mut publish = asked(&env);
    publish.send(r#"{"event":"turn","phase":"start"}"#);
    request(&env, &json!({"schema": 1, "id": "r1", "reload": true}));
    let document = until(&env, "s-1", "it is answered", |document| document["lastRequest"]["id"] == "r1");
    assert_eq!(
        (&document["lastRequest"]["reload"], &document["lastRequest"]["message"]),
        (&json!("due"), &json!("reload when idle"))
    );
    publish.send(r#"{"event":"turn","phase":"settled"}"#);
    assert_eq!(publish.json_line(), json!({"op": "reload", "id": "r1"}));
    assert_eq!(read(&path(&env, "s-1")).unwrap()["lastRequest"]["reload"], "done");
    publish.end().exits(0);
}

#[test]
fn without_capabilities_no_request_is_taken() {
    let env = TestEnvironment::new();
    let publish = publishing(&env, "s-1", std::process::id());
    request(&env, &json!({"schema": 1, "id": "r1", "reload": true}));
    let output = publish.end().exits(0);
    assert_eq!(output.stdout, "");
    assert!(env.requests_dir().join("s-1.json").exists(), "it is left to its requester");
}
