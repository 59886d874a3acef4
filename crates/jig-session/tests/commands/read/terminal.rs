//! What reaches a terminal: foreign text cleaned, lines that fit, colour only where it is wanted.

use std::fs;

use serde_json::json;

use crate::common::{Live, Output, TestEnvironment, finish, skipped};

/// Everything in a status file that a person may be shown, hostile.
fn hostile(env: &TestEnvironment) -> Live {
    let evil = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\r\n\t\u{202e}gnp\u{200b}\u{e0041}\0";
    env.live("s-1", |document| {
        for field in ["name", "cwd", "terminal", "tmuxPane", "terminalFrom", "agentDir", "thinking", "transcript"] {
            document[field] = format!("{field}{evil}").into();
        }
        document["agent"] = json!({ "name": format!("agent{evil}"), "version": evil });
        document["model"] = json!({ "provider": evil, "id": evil, "name": format!("model{evil}") });
        document["attention"] = json!({ "reason": format!("reason{evil}"), "since": document["stateAt"] });
        document["ticket"] = json!({ "key": evil, "title": evil });
        document["outputs"] = json!([{ "path": format!("/x{evil}"), "action": evil, "at": null, "repo": null }]);
        document["recent"] = json!([{ "at": null, "tool": format!("tool{evil}"), "action": evil, "outcome": "ok" }]);
    })
}

fn is_clean(text: &str) -> bool {
    let hostile = |c: char| c.is_control() && c != '\n' || ['\u{202e}', '\u{200b}', '\u{e0041}', '\u{9b}'].contains(&c);
    !text.chars().any(hostile)
}

#[test]
fn no_command_prints_foreign_control_characters() {
    let env = TestEnvironment::new();
    let _live = hostile(&env);
    fs::write(env.sessions_dir().join("bad\u{1b}[2J.json"), "{").expect("written");
    for command in [
        &["ls"][..],
        &["ls", "--all"],
        &["show", "s-1"],
        &["explain", "s-1"],
        &["doctor"],
        &["prune", "-n"],
        &["wait", "s-1"],
    ] {
        let output = env.jig(command);
        assert!(is_clean(&output.stdout), "{command:?}: {:?}", output.stdout);
        assert!(is_clean(&output.stderr), "{command:?}: {:?}", output.stderr);
    }
    let shown = env.jig(&["ls"]).exits(0).stdout;
    assert!(shown.contains("reason") && shown.contains("name\u{fffd}[2J"), "{shown}");
    let error = env.jig(&["show", "\u{1b}]0;x\u{7}"]).exits(4);
    assert!(is_clean(&error.stderr), "{:?}", error.stderr);
}

#[test]
fn json_keeps_every_character_and_no_raw_one() {
    let env = TestEnvironment::new();
    let live = hostile(&env);
    for command in [&["ls", "--json"][..], &["show", "s-1", "--json"], &["explain", "s-1", "--json"]] {
        let output = env.jig(command).exits(0);
        assert!(is_clean(&output.stdout), "{command:?}");
        let document = output.json();
        let row = if command[0] == "ls" { &document["sessions"][0] } else { &document["session"] };
        assert_eq!(row["name"], live.document["name"], "{command:?}");
    }
}

#[test]
fn a_pipe_gets_no_colour_unless_asked() {
    let env = TestEnvironment::new();
    let _live = env.live("s-1", |document| {
        document["attention"] = json!({ "reason": "approval", "since": document["stateAt"] });
    });
    assert!(!env.jig(&["ls"]).exits(0).stdout.contains('\u{1b}'));
    let coloured = env.jig(&["ls", "--color", "always"]).exits(0).stdout;
    assert!(coloured.contains("\u{1b}[1;31mapproval\u{1b}[0m"), "{coloured:?}");
}

/// `ls` on a terminal of this width; `None`, and said so, where no terminal can be had.
fn on_a_terminal(env: &TestEnvironment, columns: usize) -> Option<Output> {
    let line = format!("stty cols {columns} && '{}' ls", env!("CARGO_BIN_EXE_jig-session"));
    let mut command = env.command("script");
    command.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm").env("SHELL", "/bin/sh");
    if env.command("script").arg("--version").output().is_err() {
        skipped("a_terminal_gets_lines_that_fit", "script (util-linux) is not installed");
        return None;
    }
    Some(finish(command, b"").exits(0))
}

#[test]
fn a_terminal_gets_lines_that_fit() {
    let env = TestEnvironment::new();
    let _sessions = [
        env.live("s-1", |document| {
            document["name"] = "日本語 a rather long name of a session that goes on".into();
            document["attention"] = json!({ "reason": "approval", "since": document["stateAt"] });
        }),
        env.live("s-2", |document| document["state"] = "busy".into()),
    ];
    for columns in [24, 40, 60, 100] {
        let Some(output) = on_a_terminal(&env, columns) else { return };
        assert!(output.stdout.contains("\u{1b}["), "colour on a terminal");
        let plain = without_colour(&output.stdout);
        // Wide characters count twice.
        let width = |line: &str| line.chars().map(|c| if c >= '\u{1100}' && c != '…' { 2 } else { 1 }).sum::<usize>();
        for line in plain.lines() {
            assert!(width(line.trim_end_matches('\r')) <= columns, "{columns}: {line:?}");
        }
        assert!(plain.contains("approval"), "{columns}: {plain}");
    }
    let wide = on_a_terminal(&env, 100).map(|output| without_colour(&output.stdout)).unwrap_or_default();
    assert!(wide.contains("1 needs you, 1 busy"), "{wide}");
    env.set("NO_COLOR", "1");
    let plain = on_a_terminal(&env, 100).map(|output| output.stdout).unwrap_or_default();
    assert!(!plain.contains('\u{1b}'), "{plain:?}");
}

/// The program's own colour codes taken out.
fn without_colour(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("\u{1b}[") {
        plain.push_str(&rest[..at]);
        let end = rest[at..].find('m').map_or(rest.len(), |end| at + end + 1);
        rest = &rest[end..];
    }
    plain + rest
}

#[test]
fn sessions_that_are_not_proved_stand_last_and_are_marked() {
    let env = TestEnvironment::new();
    let no_identity = |document: &mut serde_json::Value| {
        document.as_object_mut().expect("an object").remove("process");
    };
    let _sessions = [
        env.live("doubtful-busy", |document| {
            no_identity(document);
            document["state"] = "busy".into();
        }),
        env.live("proved-idle", |_| ()),
        env.live("doubtful-waits", |document| {
            no_identity(document);
            document["attention"] = json!({ "reason": "trust", "since": document["stateAt"] });
        }),
    ];
    let text = env.jig(&["ls"]).exits(0).stdout;
    let lines: Vec<_> = text.lines().skip(1).collect();
    assert!(lines[0].starts_with("trust? ") && lines[0].contains("doubtful-waits"), "{text}");
    assert!(lines[1].starts_with("idle ") && lines[1].contains("proved-idle"), "{text}");
    assert!(lines[2].starts_with("busy? ") && lines[2].contains("doubtful-busy"), "{text}");
}

#[test]
fn nothing_to_list_says_where_it_looked() {
    let env = TestEnvironment::new();
    let text = env.jig(&["ls"]).exits(0).stdout;
    let first = format!("no live sessions in {}\n", env.state_dir().join("sessions").display());
    assert!(text.starts_with(&first) && text.contains("jig-session demo"), "{text}");
}

#[test]
fn a_variable_that_counts_as_unset_is_told() {
    let env = TestEnvironment::new();
    env.set("JIG_STATE_DIR", "state");
    let output = env.jig(&["ls"]).exits(0);
    assert!(output.stderr.contains("JIG_STATE_DIR counts as unset"), "{}", output.stderr);
    assert_eq!(env.jig(&["ls", "--json"]).exits(0).stderr, "");
}
