//! What is published: state, attention, subagents, progress, under the session that hooks name.

use serde_json::Value;

use super::screen::Screen;
use crate::common::{TestEnvironment, eventually};

/// A program that reports what it is typed, a line each: `state=working:app=claude-code`.
const REPORTER: &str = "stty -echo; echo ready; while read -r body; do printf '\\033]7501;%s\\033\\\\' \"$body\"; done";

fn rows(env: &TestEnvironment) -> Vec<Value> {
    env.jig(&["ls", "--json"]).json()["sessions"].as_array().cloned().unwrap_or_default()
}

/// The only status file there is.
fn status(env: &TestEnvironment) -> Option<Value> {
    let folder = env.sessions_dir();
    let mut files = std::fs::read_dir(folder).ok()?.flatten().filter(|file| {
        file.file_name().to_string_lossy().ends_with(".json") && !file.file_name().to_string_lossy().starts_with('.')
    });
    let first = files.next()?;
    assert!(files.next().is_none(), "one file for one process");
    serde_json::from_slice(&std::fs::read(first.path()).ok()?).ok()
}

#[track_caller]
fn becomes(env: &TestEnvironment, what: &str, expected: impl Fn(&Value) -> bool) -> Value {
    eventually(what, || status(env).filter(|status| expected(status)))
}

#[test]
fn a_program_is_listed_with_what_it_reports() {
    let env = TestEnvironment::new();
    let mut screen = Screen::run(&env, &["sh", "-c", REPORTER]);
    screen.wait_for("ready");
    let first = becomes(&env, "it is listed", |_| true);
    assert_eq!(
        (&first["state"], &first["stateFrom"], &first["agent"]["name"]),
        (&"idle".into(), &"process".into(), &"sh".into())
    );
    assert_eq!(rows(&env)[0]["verdict"], "alive");
    let explained = env.jig(&["explain", first["session"].as_str().unwrap_or_default(), "--json"]).json();
    assert!(explained["notes"].to_string().contains("nothing tells its state"), "{explained}");
    for (report, state, reason) in [
        ("state=working:app=claude-code", "busy", None),
        ("state=blocked:kind=permission:app=claude-code:msg=c2VjcmV0IGNvbW1hbmQ=", "busy", Some("approval")),
        ("state=working:app=claude-code:progress=40", "busy", None),
        ("state=blocked:kind=question:app=claude-code", "busy", Some("question")),
        ("state=blocked:kind=auth:app=claude-code", "busy", Some("auth")),
        ("state=done:app=claude-code", "idle", None),
        ("state=working:app=claude-code", "busy", None),
        ("state=error:app=claude-code", "idle", Some("error")),
        ("state=idle:app=claude-code", "idle", None),
        // Claude has told of a dialog right after it took its turn back.
        ("state=blocked:kind=permission:app=claude-code", "busy", Some("approval")),
        ("state=idle:app=claude-code", "idle", None),
    ] {
        screen.send(format!("{report}\r"));
        let status = becomes(&env, report, |status| {
            status["state"] == state && status["attention"]["reason"].as_str() == reason
        });
        assert_eq!(status["stateFrom"], "program-status", "{report}");
        assert_eq!(status["agent"]["name"], "claude", "{report}");
        assert!(!status.to_string().contains("secret"), "{report}");
    }
    screen.send("state=working:app=x:id=task-1:title=bmFtZQ==\r");
    let status = becomes(&env, "a subagent", |status| status["children"].is_array());
    assert_eq!(status["children"], serde_json::json!([{"id": "task-1", "state": "working"}]));
    assert_eq!(status["background"], 1);
    screen.send("\x04");
    screen.ends_with(0);
    assert_eq!(status_files(&env), 0, "the end takes the file away");
}

fn status_files(env: &TestEnvironment) -> usize {
    crate::common::names_in(&env.sessions_dir()).iter().filter(|name| name.ends_with(".json")).count()
}

#[test]
fn a_session_that_hooks_name_takes_the_place_of_the_programs_own_row() {
    let env = TestEnvironment::new();
    // The program is a wrapper: the session's process lies below it.
    let inner = "exec 3>&1; (printf '{\"event\":\"session\",\"schema\":1,\"session\":\"true-one\",\"pid\":%d}\\n' $$; \
                 cat go) | \"$J\" publish --agent claude >/dev/null & echo inner; exec sh -c \"$1\"";
    let go = env.work().join("go");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &go,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .expect("a pipe");
    let mut screen = Screen::run(&env, &["sh", "-c", "sh -c \"$1\" inner \"$2\"; true", "outer", inner, REPORTER]);
    screen.wait_for("ready");
    eventually("the session is the hooks'", || {
        let rows = rows(&env);
        (rows.len() == 1 && rows[0]["session"] == "true-one").then_some(())
    });
    screen.send("state=working:app=claude-code\r");
    let status = becomes(&env, "the report is in the hooks' file", |status| status["state"] == "busy");
    assert_eq!((&status["session"], &status["stateFrom"]), (&"true-one".into(), &"program-status".into()));
    screen.send("\x04");
    screen.end();
}
