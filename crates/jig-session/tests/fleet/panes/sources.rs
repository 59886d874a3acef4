//! Which source is believed: the status file, the screen, the processes on the terminal.

use serde_json::{Value, json};

use super::tmux::{PI_AT_REST, Tmux, draws, start};
use crate::common::{eventually, status_document};

const PI_DIALOG: &str = "────────────────────\n Deploy?\n → Yes\n   No\n ↑↓ navigate  enter select  escape/ctrl+c cancel\n\
                         ────────────────────\n~/app\n0.7%/200k (auto)   m\n";
const PI_AT_WORK: &str = " Done.\n\n── ⠏ Working ────────────\n\n────────────────────\n~/app\n0.7%/200k (auto)   m\n";
const PI_PICKER: &str = "────────────────────\n Select a model\n\n → gpt-5\n   gpt-5-mini\n\n────────────────────\n\
                         ~/app\n0.7%/200k (auto)   m\n";
const EDITOR: &str = "# notes\n~\n~\n~\n\"notes.md\" 1L, 8B\n";

fn state(tmux: &Tmux, pane: &str) -> (String, String, Value) {
    let row = tmux.row(pane);
    let word = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
    (word("status"), word("statusSource"), row["agent"].clone())
}

fn is(status: &str, source: &str, agent: impl Into<Value>) -> (String, String, Value) {
    (status.to_owned(), source.to_owned(), agent.into())
}

fn pid(tmux: &Tmux, pane: &str) -> u32 {
    tmux.tell(pane, "#{pane_pid}").parse().expect("a number")
}

#[test]
fn a_file_that_says_idle_frees_no_pane_that_shows_otherwise() {
    let Some(tmux) = start("a_file_that_says_idle_frees_no_pane_that_shows_otherwise") else { return };
    for (name, screen, idle, busy) in [
        ("rest", PI_AT_REST, is("idle", "status-file", "pi"), is("active", "status-file", "pi")),
        ("work", PI_AT_WORK, is("active", "screen", "pi"), is("active", "status-file", "pi")),
        ("asks", PI_DIALOG, is("needs_attention", "screen", "pi"), is("needs_attention", "screen", "pi")),
        ("picker", PI_PICKER, is("needs_attention", "screen", "pi"), is("needs_attention", "screen", "pi")),
        ("editor", EDITOR, is("active", "command", "pi"), is("active", "status-file", "pi")),
    ] {
        let pane = tmux.new_session(name, &tmux.env.work(), &draws(screen));
        tmux.until(&pane, "#{pane_current_command}", "cat");
        tmux.shows(&pane, screen.lines().next_back().expect("a line"));
        let mut document = status_document("s-1", pid(&tmux, &pane));
        tmux.env.write_status("s-1", &document);
        assert_eq!(state(&tmux, &pane), idle, "{name}, idle");
        document["state"] = "busy".into();
        tmux.env.write_status("s-1", &document);
        assert_eq!(state(&tmux, &pane), busy, "{name}, busy");
    }
}

#[test]
fn bulk_takes_no_pane_for_idle_that_its_screen_does_not_show_as_idle() {
    let Some(tmux) = start("bulk_takes_no_pane_for_idle_that_its_screen_does_not_show_as_idle") else { return };
    let pane = tmux.new_session("picker", &tmux.env.work(), &draws(PI_PICKER));
    tmux.shows(&pane, "200k");
    tmux.env.write_status("s-1", &status_document("s-1", pid(&tmux, &pane)));
    let args = ["bulk", "stop", "--json", "--status", "idle", "--yes", "--max-load-per-core", "1e6"];
    let run = tmux.jig(&args).exits(0).json();
    assert_eq!(run["summary"]["selected"], 0, "{run}");
    assert!(tmux.has(&pane));
}

#[test]
fn a_shell_is_idle_at_its_prompt_and_nowhere_else() {
    let Some(tmux) = start("a_shell_is_idle_at_its_prompt_and_nowhere_else") else { return };
    let work = tmux.env.work();
    let shell = "exec env PS1='dev@box:~$ ' bash --norc --noprofile";
    let pane = tmux.new_session("shell", &work, shell);
    let shows = |text: &str| tmux.shows(&pane, text);
    let send = |keys: &[&str]| {
        let mut args = vec!["send-keys", "-t", pane.as_str()];
        args.extend(keys);
        tmux.run(&args);
    };
    let becomes = |expected: &str| {
        eventually(&format!("it is {expected}"), || (state(&tmux, &pane).0 == expected).then_some(()));
    };
    shows("dev@box:~$");
    becomes("idle");
    // A frame that a killed program left, on its own screen, stays around the prompt.
    send(&["printf '\\033[?1049h\\033[H\\342\\240\\217 Working\\n\\n  esc interrupt\\033[2;1H'", "Enter"]);
    shows("esc interrupt");
    becomes("idle");
    send(&["git commit -m 'does it?"]);
    shows("does it?");
    becomes("idle");
    send(&["C-c"]);
    send(&["read -p 'dev@box:~$ ' answer", "Enter"]);
    becomes("active");
    send(&["C-c"]);
    becomes("idle");
    send(&["while :; do :; done", "Enter"]);
    becomes("active");
    send(&["C-c"]);
    becomes("idle");
}

#[test]
fn a_script_at_a_question_or_a_loop_is_not_idle() {
    let Some(tmux) = start("a_script_at_a_question_or_a_loop_is_not_idle") else { return };
    let work = tmux.env.work();
    for (name, script, status) in [
        ("asks", "read -p 'Deploy? [y/N] ' x", "needs_attention"),
        ("like-a-prompt", "read -p 'dev@box:~$ ' x", "active"),
        ("silent", "read x", "active"),
        ("waits", "sleep 600; true", "active"),
    ] {
        let pane = tmux.new_session(name, &work, &format!("exec bash -c \"{script}\""));
        tmux.until(&pane, "#{pane_current_command}", "bash");
        eventually(name, || (tmux.row(&pane)["status"] == status).then_some(()));
        assert_eq!(tmux.row(&pane)["agent"], Value::Null);
    }
}

#[test]
fn an_agent_behind_a_shells_name_is_that_agent() {
    let Some(tmux) = start("an_agent_behind_a_shells_name_is_that_agent") else { return };
    let work = tmux.env.work();
    let bin = super::tmux::folder(&tmux.env, "agent-bin");
    let fake = bin.join("pi");
    for (name, screen, status) in
        [("rest", PI_AT_REST, "idle"), ("work", PI_AT_WORK, "active"), ("asks", PI_DIALOG, "needs_attention")]
    {
        // The name of the process is what is looked at, so a program of that name is needed: a copy of cat.
        let cat = ["/bin/cat", "/usr/bin/cat"].into_iter().find(|path| std::path::Path::new(path).exists());
        std::fs::copy(cat.expect("cat is installed"), &fake).expect("it can be copied");
        let script = draws(screen).replace("exec cat", &format!("{}; sleep 60", fake.display()));
        let pane = tmux.new_session(name, &work, &format!("exec sh -c {}", quoted(&script)));
        tmux.shows(&pane, "200k");
        eventually(name, || {
            let row = tmux.row(&pane);
            (row["agent"] == "pi" && row["status"] == status).then_some(())
        });
        assert_eq!(tmux.tell(&pane, "#{pane_current_command}"), "sh");
        let _ = std::fs::remove_file(&fake);
    }
}

/// A word for the shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[test]
fn a_stopped_agent_keeps_its_row_and_is_not_free() {
    let Some(tmux) = start("a_stopped_agent_keeps_its_row_and_is_not_free") else { return };
    // tmux continues its own child when that is stopped, so the agent is a child of the pane's process.
    let program = draws(PI_AT_REST).replace("exec cat", "cat; true");
    let pane = tmux.new_session("stopped", &tmux.env.work(), &program);
    tmux.shows(&pane, "200k");
    let shell = pid(&tmux, &pane);
    let children = format!("/proc/{shell}/task/{shell}/children");
    if !std::path::Path::new(&children).exists() {
        return crate::common::skipped("a_stopped_agent_keeps_its_row_and_is_not_free", "children are not listed here");
    }
    let pid: u32 = eventually("the child", || std::fs::read_to_string(&children).ok()?.trim().parse().ok());
    tmux.env.write_status("s-1", &status_document("s-1", pid));
    assert_eq!(state(&tmux, &pane).0, "idle");
    let signal = |name: &str| {
        let status = tmux.env.command("kill").args([&format!("-{name}"), &pid.to_string()]).status();
        assert!(status.expect("kill can be started").success());
    };
    signal("STOP");
    eventually("it is stopped", || (tmux.row(&pane)["statusReason"] == "the agent's process is stopped").then_some(()));
    let row = tmux.row(&pane);
    assert_eq!((&row["status"], &row["agent"]), (&json!("active"), &json!("pi")));
    let text = tmux.jig(&["live"]).exits(0).stdout;
    assert!(text.lines().any(|line| line.starts_with("stopped") && line.contains("stopped:0.0")), "{text}");
    signal("CONT");
    eventually("it goes on", || (state(&tmux, &pane).0 == "idle").then_some(()));
}

#[test]
fn a_session_on_another_terminal_claims_no_pane() {
    let Some(tmux) = start("a_session_on_another_terminal_claims_no_pane") else { return };
    if tmux.env.command("setsid").arg("--version").output().is_err() {
        return crate::common::skipped("a_session_on_another_terminal_claims_no_pane", "setsid is not installed");
    }
    let pane = tmux.new_session("host", &tmux.env.work(), "setsid sh -c 'echo child $$.; exec sleep 600' & exec cat");
    tmux.shows(&pane, ".");
    let screen = tmux.run(&["capture-pane", "-p", "-t", &pane]);
    let child = screen.split_once("child ").and_then(|(_, rest)| rest.split_once('.')).expect("the child's pid").0;
    let child = child.parse().expect("a number");
    tmux.env.write_status("s-1", &status_document("s-1", child));
    assert_eq!(state(&tmux, &pane), is("active", "command", Value::Null));
}

#[test]
fn a_nested_server_is_looked_through() {
    let Some(tmux) = start("a_nested_server_is_looked_through") else { return };
    let inner = tmux.env.work().join("inner");
    let inner_path = inner.to_str().expect("UTF-8");
    let run = |args: &[&str]| {
        let mut command = tmux.env.command("tmux");
        command.args(["-u", "-f", "/dev/null", "-S", inner_path]).args(args);
        crate::common::finish(command, b"").exits(0)
    };
    for (name, screen) in [("rest", PI_AT_REST), ("asks", PI_DIALOG), ("work", PI_AT_WORK)] {
        // Nothing but its title and its drawing says which agent it is.
        let program = format!("printf '\\033]2;π - app\\007'; {}", draws(screen).replace("exec cat", "exec sleep 600"));
        run(&["new-session", "-d", "-s", name, "-x", "90", "-y", "20", &program]);
    }
    for (name, status) in [("rest", "idle"), ("asks", "needs_attention"), ("work", "active")] {
        let attach = format!("exec env -u TMUX tmux -u -S '{inner_path}' attach -t {name}");
        let pane = tmux.new_session(&format!("outer-{name}"), &tmux.env.work(), &attach);
        tmux.shows(&pane, "200k");
        eventually(name, || (tmux.row(&pane)["status"] == status).then_some(()));
    }
    run(&["kill-server"]);
}
