//! What the README shows is what the program prints, and what it says to type works.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::common::{Live, Output, TestEnvironment, finish, now_ms, skipped, timestamp};

fn readme() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    fs::read_to_string(path).expect("the README is there")
}

/// The first block of this kind.
fn block(kind: &str) -> String {
    let readme = readme();
    let begin = format!("```{kind}\n");
    let at = readme.find(&begin).unwrap_or_else(|| panic!("a {kind} block")) + begin.len();
    let end = readme[at..].find("```").expect("its end");
    readme[at..at + end].to_owned()
}

/// One session of the picture. The time is far from the next unit, so that a slow machine shows the same.
fn session(env: &TestEnvironment, id: &str, agent: &str, change: impl FnOnce(&mut serde_json::Value)) -> Live {
    env.live(id, |document| {
        document["agent"] = json!({ "name": agent });
        change(document);
        let cwd = document["cwd"].as_str().map(|cwd| cwd.replace("~", &env.home().to_string_lossy()));
        document["cwd"] = cwd.into();
    })
}

fn ago(seconds: i64) -> String {
    timestamp(now_ms() - seconds * 1000)
}

#[test]
fn the_picture_is_the_programs_own_output() {
    let env = TestEnvironment::new();
    let _sessions = [
        session(&env, "019fb27c-6804", "claude", |document| {
            document["name"] = "billing".into();
            document["cwd"] = "~/shop/api".into();
            document["state"] = "busy".into();
            document["attention"] = json!({ "reason": "approval", "since": ago(7 * 60 + 2) });
            document["model"] = json!({ "provider": "anthropic", "id": "opus", "name": "Opus" });
            document["context"] = json!({ "tokens": 142_000, "window": 200_000, "percent": 71.0 });
            document["usage"]["cost"] = json!(4.18);
            document["terminal"] = "%3".into();
        }),
        session(&env, "019fb27c-9911", "pi", |document| {
            document["name"] = "flaky test".into();
            document["cwd"] = "~/shop/web".into();
            document["attention"] = json!({ "reason": "question", "since": ago(2 * 60 + 2) });
            document["context"] = json!({ "tokens": 36_000, "window": 200_000, "percent": 18.0 });
            document["usage"]["cost"] = json!(0.62);
            document["terminal"] = "%7".into();
        }),
        session(&env, "019fb27d-0a17", "codex", |document| {
            document["name"] = "migrate to v2".into();
            document["cwd"] = "~/shop/api".into();
            document["state"] = "busy".into();
            document["stateAt"] = ago(60 + 2).into();
            document["context"] = json!({ "tokens": 176_000, "window": 200_000, "percent": 88.0 });
            document["usage"]["cost"] = json!(null);
            document["terminal"] = "t7".into();
        }),
        session(&env, "docs", "gemini", |document| {
            document["cwd"] = "~/shop/docs".into();
            document["stateAt"] = ago(3 * 3600 + 60).into();
            document["context"] = json!({ "tokens": 12_000, "window": 200_000, "percent": 6.0 });
            document["usage"]["cost"] = json!(0.05);
            document["terminal"] = "%9".into();
        }),
        session(&env, "spike", "pi", |document| {
            document["cwd"] = "~/spike".into();
            document["stateAt"] = ago(2 * 86_400 + 60).into();
            document.as_object_mut().expect("an object").remove("process");
        }),
    ];
    let printed = format!("$ jig-session ls\n{}", env.jig(&["ls"]).exits(0).stdout);
    assert_eq!(block("text"), printed, "the picture in README.md is not what the program prints; it is:\n{printed}");
}

/// Runs a snippet with a live session in the home; `None`, and said so, where its language is not installed.
fn snippet(kind: &str, program: &str, flag: &str) -> Option<(Output, Live)> {
    let env = TestEnvironment::new();
    let live = env.live("s-1", |document| document["state"] = "busy".into());
    let mut command = env.command(program);
    if env.command(program).arg("--version").output().is_err() {
        skipped(&format!("the {kind} snippet of the README"), &format!("{program} is not installed"));
        return None;
    }
    command.arg(flag).arg(block(kind));
    Some((finish(command, b"").exits(0), live))
}

#[test]
fn the_snippets_read_a_live_session() {
    for (kind, program, flag) in [("bash", "bash", "-c"), ("python", "python3", "-c"), ("js", "node", "-e")] {
        let Some((output, live)) = snippet(kind, program, flag) else { continue };
        let pid = live.pid().to_string();
        assert!(output.stdout.contains(&pid) && output.stdout.contains("busy"), "{kind}: {}", output.stdout);
        assert_eq!(output.stderr, "", "{kind}");
        assert!(block(kind).lines().count() <= 3, "{kind}: three lines");
    }
}
