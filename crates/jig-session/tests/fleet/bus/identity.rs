use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::town::Town;
use crate::common::{Output, TestEnvironment, finish, identity, install_program, skipped};

/// An agent's program: a shell under the agent's name, so that it is a process of that name above ours.
fn agent(env: &TestEnvironment, name: &str) -> PathBuf {
    let folder = env.root().join("bin");
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(name);
    if !path.exists() {
        let shell = Path::new("/bin/sh").canonicalize().expect("a shell");
        install_program(&shell, &path);
    }
    path
}

/// Runs the program below an agent. The `:` keeps the shell from giving its process to the last command.
fn below(town: &Town, name: &str, variables: &[(&str, &str)], args: &str) -> Output {
    let mut command = town.env.command(agent(&town.env, name));
    command
        .arg("-c")
        .arg(format!("\"{}\" --json bus {args}; code=$?; :; exit $code", env!("CARGO_BIN_EXE_jig-session")));
    for (name, value) in variables {
        command.env(name, value);
    }
    finish(command, b"")
}

fn me(output: &Output) -> Value {
    output.json()["me"].clone()
}

#[test]
fn the_nearest_agents_variable_names_the_session() {
    let town = Town::new();
    let script = |args: &str| format!("join api && \"$J\" --json bus {args}");
    town.env.set("J", env!("CARGO_BIN_EXE_jig-session"));
    let status =
        below(&town, "claude", &[("CLAUDE_CODE_SESSION_ID", "c-1"), ("PI_SESSION_ID", "p-1")], &script("status"));
    let last: Value = serde_json::from_str(status.stdout.lines().last().expect("a line")).expect("a document");
    assert_eq!((&last["me"]["id"], &last["me"]["agent"]), (&"c-1".into(), &"claude".into()));

    // An agent inside another agent's shell: the inner one is meant.
    let inner =
        format!("status >/dev/null; \"{}\" -c '\"$J\" --json bus join inner; :'", agent(&town.env, "codex").display());
    let variables = [("CLAUDE_CODE_SESSION_ID", "c-1"), ("CODEX_THREAD_ID", "x-1")];
    let joined = below(&town, "claude", &variables, &inner);
    assert!(joined.stdout.contains("\"label\":\"inner\""), "{joined:?}");
    assert!(town.folder().join("sessions/x-1.json").exists());
}

#[test]
fn a_variable_without_its_agent_names_nobody() {
    let town = Town::new();
    town.env.set("CODEX_THREAD_ID", "x-1");
    let joined = below(&town, "claude", &[], "join someone").exits(0);
    assert_eq!(joined.json()["label"], "someone");
    assert!(!town.folder().join("sessions/x-1.json").exists(), "Codex is not above");
}

#[test]
fn the_agents_process_stands_for_the_session() {
    // H19: the anchor is the agent, never the command.
    let town = Town::new();
    let script = "join api >/dev/null; echo $$";
    let printed = below(&town, "claude", &[("CLAUDE_CODE_SESSION_ID", "c-1")], script);
    let pid: u64 = printed.stdout.trim().parse().expect("a pid");
    let record = std::fs::read(town.folder().join("sessions/c-1.json")).expect("a record");
    let record: Value = serde_json::from_slice(&record).expect("a document");
    assert_eq!(record["pid"], pid);
    let status = town.bus(&["status"]).json();
    assert_eq!(status["members"][0]["state"], "gone", "the agent has ended, and its session with it");
}

#[test]
fn a_status_file_names_the_session_of_its_process() {
    let town = Town::new();
    let sessions = town.env.sessions_dir();
    // The shell writes no status file itself: a stand-in is written for its pid from inside.
    let helper = town.env.root().join("status.json");
    let mut document = crate::common::status_document("s-status", 1);
    document["name"] = "billing core".into();
    document["agent"]["name"] = "gemini".into();
    std::fs::write(&helper, document.to_string()).expect("a file");
    let script = format!(
        "paths >/dev/null 2>&1; start=$(sed 's/.*) //' /proc/$$/stat | cut -d' ' -f20); \
         sed -e \"s/\\\"pid\\\":1,/\\\"pid\\\":$$,/\" -e \"s/linux:[0-9]*/linux:$start/\" {} > {}/s-status.json; \
         \"$J\" --json bus join",
        helper.display(),
        sessions.display()
    );
    town.env.set("J", env!("CARGO_BIN_EXE_jig-session"));
    let joined = below(&town, "gemini", &[], &script);
    assert!(joined.stdout.contains("\"label\":\"billing-core\""), "{joined:?}");
    assert!(town.folder().join("sessions/s-status.json").exists());
    assert!(identity(std::process::id())["start"].is_string());
}

#[test]
fn a_person_at_a_shell_is_the_same_member_at_every_command() {
    let town = Town::new();
    let joined = town.bus(&["join", "me"]).exits(0).json();
    assert_eq!(joined["joined"], true);
    let again = town.bus(&["join"]).exits(0).json();
    assert_eq!((&again["joined"], &again["label"]), (&false.into(), &"me".into()));
    let me = me(&town.bus(&["status"]));
    assert_eq!(me["agent"], "human");
    assert!(me["id"].as_str().is_some_and(|id| id.starts_with("term-")), "{me}");
}

/// What a container or a service manager starts from outside its pid namespace belongs to a session without a leader in it.
#[test]
fn a_session_whose_leader_is_outside_the_namespace_is_still_one_member() {
    let name = "a_session_whose_leader_is_outside_the_namespace_is_still_one_member";
    let inside = ["--pid", "--fork", "--mount-proc", "sh", "-c"];
    let trial = Command::new("unshare").args(inside).arg("true").output();
    if !trial.is_ok_and(|trial| trial.status.success()) {
        return skipped(name, "this machine lets nobody make a pid namespace");
    }
    let town = Town::new();
    let mut command = town.env.command("unshare");
    let line =
        "read -r a b c d e sid rest </proc/$$/stat; echo $sid; \"$J\" --json bus join me && \"$J\" --json bus join; :";
    command.args(inside).arg(line).env("J", env!("CARGO_BIN_EXE_jig-session"));
    let out = finish(command, b"").exits(0);
    let mut lines = out.stdout.lines();
    assert_eq!(lines.next(), Some("0"), "the session's leader is outside");
    let documents: Vec<Value> = lines.map(|line| serde_json::from_str(line).expect("a document")).collect();
    assert_eq!((&documents[0]["joined"], &documents[0]["label"]), (&true.into(), &"me".into()));
    assert_eq!((&documents[1]["joined"], &documents[1]["label"]), (&false.into(), &"me".into()));
}

#[test]
fn the_bus_variable_and_as_go_first() {
    let town = Town::new();
    town.env.set("JIG_BUS_SESSION", "chosen");
    let joined = below(&town, "claude", &[("CLAUDE_CODE_SESSION_ID", "c-1")], "join x").exits(0);
    assert_eq!(joined.json()["label"], "x");
    assert!(town.folder().join("sessions/chosen.json").exists());
    town.bus(&["--as", "other", "join", "y"]).exits(0);
    assert!(town.folder().join("sessions/other.json").exists());
}

#[test]
fn two_names_in_one_terminal_are_strangers() {
    let town = Town::new();
    let act = |args: &[&str]| town.bus(args);
    assert_eq!(act(&["--as", "alice", "join"]).exits(0).json()["label"], "alice", "who is named is called that");
    act(&["--as", "bob", "join"]).exits(0);
    act(&["--as", "alice", "claim", "src"]).exits(0);
    act(&["--as", "bob", "check", "src"]).exits(3);
    let refused = act(&["--as", "bob", "claim", "src/api"]).exits(3).json();
    assert_eq!(refused["conflicts"][0]["label"], "alice");
    let status = act(&["--as", "bob", "status"]).exits(0).json();
    assert_eq!(status["members"].as_array().map(Vec::len), Some(2));
    // A join under the terminal's own id removes neither.
    act(&["join", "me"]).exits(0);
    assert_eq!(act(&["status"]).json()["members"].as_array().map(Vec::len), Some(3));
}

#[test]
fn a_loop_over_the_bus_variable_makes_a_member_each() {
    let town = Town::new();
    for worker in ["worker-1", "worker-2", "worker-3"] {
        town.env.set("JIG_BUS_SESSION", worker);
        town.bus(&["claim", &format!("src/{worker}")]).exits(0);
    }
    let status = town.bus(&["status"]).json();
    assert_eq!(
        (status["members"].as_array().map(Vec::len), status["claims"].as_array().map(Vec::len)),
        (Some(3), Some(3))
    );
    town.bus(&["claim", "src/worker-1/x"]).exits(3);
}

#[test]
fn a_name_of_nobody_acts_for_nobody() {
    let town = Town::new();
    let _b = town.peer("bob");
    let renamed = crate::common::Sleeper::start();
    town.bus(&["join", "alice", "--id", "s-1", "--pid", &renamed.pid().to_string()]).exits(0);
    town.bus(&["--as", "alice", "join", "api-lead"]).exits(0);
    for act in [
        &["send", "bob", "hi"][..],
        &["claim", "src"],
        &["release", "--all"],
        &["check", "src"],
        &["inbox"],
        &["peek"],
        &["status"],
        &["leave"],
        &["wait", "--timeout", "0"],
        &["watch"],
    ] {
        let args: Vec<&str> = ["--as", "alice"].iter().chain(act).copied().collect();
        let error = town.bus(&args).exits(4).error();
        assert_eq!(error["error"]["code"], "not-found", "{act:?}");
        assert_eq!(error["error"]["candidates"], serde_json::json!(["api-lead", "bob"]), "{act:?}");
    }
    assert_eq!(town.bus(&["status"]).json()["members"].as_array().map(Vec::len), Some(2), "nobody was born");
    // A renamed member may take its old name back.
    assert_eq!(town.bus(&["--as", "api-lead", "join", "alice"]).exits(0).json()["label"], "alice");
    // A label that a dead session left behind does not make a living one's ambiguous.
    let mut dead = town.peer("core");
    dead.process.kill();
    let standing = crate::common::Sleeper::start();
    town.bus(&["join", "core", "--id", "s-core-2", "--pid", &standing.pid().to_string()]).exits(0);
    town.bus(&["--as", "core", "claim", "docs"]).exits(0);
}

#[test]
fn as_takes_a_label_and_an_unknown_process_is_refused() {
    let town = Town::new();
    let a = town.peer("alpha");
    town.bus(&["--as", "ALPHA", "claim", "src"]).exits(0);
    assert_eq!(town.as_peer(&a, &["release", "--all"]).json()["released"], serde_json::json!(["src"]));
    town.bus(&["join", "x", "--pid", "4194304"]).exits(2);
    town.bus(&["join", "x", "--pid", "0"]).exits(2);
}

#[test]
fn another_folder_is_another_bus() {
    let town = Town::new();
    let _a = town.peer("alpha");
    let elsewhere = town.env.root().join("elsewhere");
    std::fs::create_dir(&elsewhere).expect("a folder");
    let status = town.bus(&["status", "--cwd", elsewhere.to_str().expect("text")]).exits(0).json();
    assert_eq!(status["members"], serde_json::json!([]));
    assert!(status["repo"]["key"].as_str().is_some_and(|key| key.starts_with("elsewhere-")));
    town.bus(&["status", "--cwd", "/nonexistent/x"]).exits(0);
}
