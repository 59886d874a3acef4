//! `jig-session request`, `context` and `hooks` at the command line, with sessions that are only files.

use std::fs;
use std::path::PathBuf;

use crate::common::{TestEnvironment, eventually, replace};
use serde_json::{Value, json};

fn request_path(env: &TestEnvironment, session: &str) -> PathBuf {
    env.requests_dir().join(format!("{session}.json"))
}

#[test]
fn a_request_is_published_whole_and_its_answer_decides_the_exit_code() {
    let env = TestEnvironment::new();
    let mut live = env.live("s-1", |document| document["accepts"] = json!(["tools", "skills", "reload"]));
    for (ok, code, outcome) in [(true, 0, "ok"), (false, 4, "refused")] {
        let asked = env
            .start(&["request", "s-1", "--json", "--tool", "bash=off", "--skill", "x=on", "--reload", "--wait", "60"]);
        let document: Value =
            eventually("the request", || serde_json::from_slice(&fs::read(request_path(&env, "s-1")).ok()?).ok());
        let expected = json!({ "schema": 1, "id": document["id"], "tools": { "bash": false }, "skills": { "x": true }, "reload": true });
        assert_eq!(document, expected);
        fs::remove_file(request_path(&env, "s-1")).unwrap();
        let answer = json!({ "id": document["id"], "ok": ok, "message": "said", "at": "2026-11-30T02:00:00.000Z" });
        live.rewrite(|status| {
            status["lastRequest"] = answer.clone();
            status["recentRequests"] = json!([answer]);
        });
        let result = asked.json_line();
        assert_eq!(result["outcome"], outcome);
        assert_eq!((&result["session"], &result["id"], &result["answer"]), (&json!("s-1"), &document["id"], &answer));
        assert_eq!(asked.end().code, code);
    }
}

#[test]
fn what_cannot_be_asked_is_not_published() {
    let env = TestEnvironment::new();
    let _live = env.live("s-none", |document| document["accepts"] = json!([]));
    let _other = env.live("s-tools", |document| document["accepts"] = json!(["tools"]));
    for (session, ask) in [("s-none", vec!["--tool", "a=on"]), ("s-tools", vec!["--tool", "a=on", "--reload"])] {
        let args = [vec!["--json", "request", session], ask].concat();
        let output = env.jig(&args).exits(4);
        assert_eq!(output.json()["outcome"], "refused");
        assert_eq!(output.json()["answer"], Value::Null);
        assert!(!request_path(&env, session).exists());
    }
    for args in [
        vec!["request", "s-tools"],
        vec!["request", "s-tools", "--tool", "a"],
        vec!["request", "s-tools", "--reload", "--wait", "-1"],
    ] {
        env.jig(&args).exits(2);
    }
    assert_eq!(env.jig(&["--json", "request", "nobody", "--reload"]).exits(4).error()["error"]["code"], "not-found");
}

#[test]
fn one_that_waits_is_never_overwritten_and_an_own_one_is_taken_back() {
    let env = TestEnvironment::new();
    let _live = env.live("s-1", |_| {});
    let output = env.jig(&["--json", "request", "s-1", "--reload", "--wait", "0.2"]).exits(124);
    assert_eq!(output.json()["outcome"], "timeout");
    assert!(!request_path(&env, "s-1").exists(), "taken back");
    assert_eq!(env.jig(&["--json", "request", "s-1", "--reload", "--wait", "0"]).exits(0).json()["outcome"], "sent");
    let waits = fs::read(request_path(&env, "s-1")).unwrap();
    let output = env.jig(&["--json", "request", "s-1", "--tool", "a=off", "--wait", "0.2"]).exits(75);
    assert_eq!(output.json()["outcome"], "busy");
    assert_eq!(fs::read(request_path(&env, "s-1")).unwrap(), waits, "left as it is");
}

/// Sets when a request was written, so that nobody may run it any more.
fn age(path: &std::path::Path) {
    let old = fs::metadata(path).unwrap().modified().unwrap() - std::time::Duration::from_secs(61);
    fs::File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
}

#[test]
fn one_that_nobody_waits_for_is_in_nobodys_way_and_does_not_stay() {
    let env = TestEnvironment::new();
    let mut live = env.live("s-1", |_| {});
    let ask = |tool: &str| env.jig(&["--json", "request", "s-1", "--tool", tool, "--wait", "0"]);
    ask("a=off").exits(0);
    ask("b=off").exits(75);
    age(&request_path(&env, "s-1"));
    assert_eq!(ask("b=off").exits(0).json()["outcome"], "sent");
    let waits: Value = serde_json::from_slice(&fs::read(request_path(&env, "s-1")).unwrap()).unwrap();
    assert_eq!(waits["tools"], json!({ "b": false }), "the newer one waits");
    live.process.kill();
    age(&request_path(&env, "s-1"));
    env.jig(&["prune"]).exits(0);
    assert!(!request_path(&env, "s-1").exists(), "its session is gone, and it is too old to run in the next one");
}

#[test]
fn a_session_that_ends_first_is_told() {
    let env = TestEnvironment::new();
    let mut live = env.live("s-1", |_| {});
    let asked = env.start(&["--json", "request", "s-1", "--reload", "--wait", "60"]);
    eventually("the request", || request_path(&env, "s-1").exists().then_some(()));
    live.process.kill();
    assert_eq!(asked.json_line()["outcome"], "gone");
    assert_eq!(asked.end().code, 1);
    assert!(!request_path(&env, "s-1").exists(), "nobody is left to take it");
}

#[test]
fn context_is_the_same_with_and_without_colour_and_safe_to_print() {
    let env = TestEnvironment::new();
    let detail = json!({ "at": "2026-11-30T02:00:00.000Z", "basis": "measured", "window": 1000, "total": 500,
        "parts": [{ "part": "system", "tokens": 400 }, { "part": "new-part", "tokens": 100 }],
        "tools": [{ "name": "bash\u{1b}[2J", "source": "builtin", "tokens": 50, "on": false }],
        "skills": [], "contextFiles": [{ "path": "/home/dev/app/AGENTS.md", "tokens": 9 }] });
    let _live = env.live("s-1", |document| document["contextDetail"] = detail.clone());
    let _none = env.live("s-2", |_| {});
    let plain = env.jig(&["context", "s-1"]).exits(0).stdout;
    assert!(plain.contains("500 of 1.0k tokens, 50.0 %, measured"), "{plain}");
    assert!(
        plain.contains("off  bash\u{FFFD}[2J (off)") && plain.contains("AGENTS.md") && plain.contains("new-part"),
        "{plain}"
    );
    assert!(!plain.contains('\u{1b}'), "{plain}");
    let coloured = env.jig(&["--color", "always", "context", "s-1"]).exits(0).stdout;
    assert!(coloured.contains("\u{1b}[34m") && !coloured.contains("\u{1b}[2J"), "{coloured}");
    assert_eq!(env.jig(&["--json", "context", "s-1"]).exits(0).json()["contextDetail"], detail);
    assert_eq!(env.jig(&["--json", "context", "s-2"]).exits(0).json()["contextDetail"], Value::Null);
}

#[test]
fn hooks_are_installed_where_the_variable_says_and_removed_without_a_trace() {
    let env = TestEnvironment::new();
    let agent = env.root().join("agent");
    fs::create_dir(&agent).unwrap();
    env.set("PI_CODING_AGENT_DIR", &agent).set("PATH", "/nonexistent");
    let file = agent.join("extensions/jig-session/index.ts");
    let hooks = |args: &[&str]| env.jig(&[&["--json", "hooks"], args].concat()).exits(0).json()["agents"][0].clone();
    let state = |args: &[&str]| hooks(args)["entries"][0]["state"].clone();
    assert_eq!(state(&["status", "pi"]), "absent");
    assert_eq!(state(&["install", "pi"]), "installed");
    let installed = fs::read_to_string(&file).unwrap();
    assert!(installed.contains(env!("CARGO_BIN_EXE_jig-session")), "it runs this program");
    assert_eq!(env.jig(&["hooks", "print", "pi"]).exits(0).stdout, installed);
    assert_eq!(state(&["install", "pi"]), "unchanged");
    assert_eq!(hooks(&["status", "pi"])["found"], Value::Null, "there is no Pi here");
    assert_eq!(state(&["uninstall", "pi"]), "removed");
    assert!(!file.parent().unwrap().exists());
    replace_foreign(&file);
    let refused = env.jig(&["--json", "hooks", "install", "pi"]).exits(4).json();
    assert_eq!(refused["agents"][0]["entries"][0]["state"], "foreign");
    assert_eq!(env.jig(&["--json", "hooks", "install", "nobody"]).exits(4).error()["error"]["code"], "unsupported");
    assert_eq!(env.jig(&["--json", "hooks", "install"]).exits(2).error()["error"]["code"], "usage");
    let none = env.jig(&["hooks", "status"]).exits(0).stdout;
    assert!(none.starts_with("no known agent is on PATH; known are pi, claude, codex, opencode"), "{none}");
}

#[test]
fn beside_an_agents_own_plugin_its_hooks_are_refused_and_nothing_is_offered_by_hand() {
    let env = TestEnvironment::new();
    let settings = env.root().join("claude/settings.json");
    fs::create_dir(settings.parent().unwrap()).unwrap();
    env.set("CLAUDE_CONFIG_DIR", settings.parent().unwrap());
    let text = "{ \"enabledPlugins\": { \"jig-session@jig-session\": true } }";
    fs::write(&settings, text).unwrap();
    let refused = env.jig(&["hooks", "install", "claude"]).exits(4).stdout;
    assert!(refused.contains("session    plugin"), "{refused}");
    assert!(refused.contains("claude plugin uninstall") && !refused.contains("by hand"), "{refused}");
    assert_eq!(fs::read_to_string(&settings).unwrap(), text);
    assert!(env.jig(&["hooks", "status", "claude"]).exits(0).stdout.contains("plugin"));
}

fn replace_foreign(file: &std::path::Path) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    replace(file, b"export default function () {}");
}

/// A usage error quotes what was typed, and that may be another program's text.
#[test]
fn a_usage_error_steers_no_terminal() {
    let env = TestEnvironment::new();
    let hostile = "--no-such\u{1b}[31m\u{9b}2J\u{202e}\u{7}";
    for args in [&["ls", hostile][..], &[hostile], &["show"], &["wait", "--for", hostile], &["--color", hostile, "ls"]]
    {
        let output = env.jig(args).exits(2);
        let steering = |c: char| c != '\n' && (c.is_control() || jig_session_schema::invisible::is_invisible(c));
        assert!(!output.stderr.contains(steering), "{args:?}: {:?}", output.stderr);
        assert!(output.stderr.starts_with("error: "), "{args:?}: {:?}", output.stderr);
    }
}
