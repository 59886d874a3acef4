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

/// A program that writes operating system commands, as it is typed them, a line each.
const TITLES: &str = "stty -echo; echo ready; while read -r body; do printf '\\033]%s\\007' \"$body\"; done";

#[test]
fn what_a_window_shows_counts_as_long_as_the_program_reports_nothing() {
    let env = TestEnvironment::new();
    env.set("TITLES", TITLES);
    let mut screen = Screen::shell(&env, "exec \"$J\" run --agent gemini -- sh -c \"$TITLES\"");
    screen.wait_for("ready");
    becomes(&env, "it is listed", |_| true);
    for (command, state, reason, progress) in [
        ("0;✦  Working… (secret-folder)", "busy", None, None),
        ("0;✋  Action Required (secret-folder)", "busy", Some("unknown"), None),
        ("0;✦  Working… (secret-folder)", "busy", None, None),
        ("2;◇  Ready (secret-folder)", "idle", Some("finished"), None),
        // The older progress sequence, as package managers and compilers write it.
        ("9;4;1;40", "busy", None, Some(40)),
        ("9;4;4;60", "busy", None, Some(60)),
        ("9;4;3", "busy", None, None),
        ("9;4;0", "idle", Some("finished"), None),
        ("9;4;1;10", "busy", None, Some(10)),
        ("9;4;2;10", "idle", Some("error"), None),
        ("0;secret-title of nobody", "idle", Some("error"), None),
    ] {
        screen.send(format!("{command}\r"));
        let status = becomes(&env, command, |status| {
            let attention = status["attention"]["reason"].as_str();
            let settled = attention == reason || (reason == Some("finished") && attention.is_none());
            status["state"] == state && settled && status["progress"].as_u64() == progress
        });
        assert_eq!(status["stateFrom"], "window", "{command}");
        assert!(!status.to_string().contains("secret"), "{command}");
    }
    screen.send("7501;state=working:app=gemini\r");
    let status = becomes(&env, "a report", |status| status["state"] == "busy");
    assert_eq!(status["stateFrom"], "program-status");
    screen.send("0;◇  Ready\r9;4;0\r7501;state=blocked:kind=question:app=gemini\r");
    let status = becomes(&env, "the next report", |status| status["attention"]["reason"] == "question");
    assert_eq!(status["state"], "busy", "a title counts no more");
    screen.send("\x04");
    screen.ends_with(0);
    for command in ["\x1b]9;4;1;40\x07", "\x1b]0;secret-title of nobody\x07", "\x1b]7501;state=working:app=gemini\x07"]
    {
        assert!(screen.text().contains(command), "every byte passes: {command:?}");
    }
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
