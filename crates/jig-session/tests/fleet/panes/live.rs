//! Rows, filters, order, watching, and the status file that outranks the screen.

use serde_json::{Value, json};

use super::tmux::{Tmux, folder, start, targets};
use crate::common::{Running, TestEnvironment, eventually, identity, status_document};

/// The contract's 17 keys, then ours.
const KEYS: &str = "target session windowIndex paneIndex paneId command cwd projectPath projectSlug machine title status \
                    statusReason paneDead paneActive lastVisibleLine isOpenSession statusSource agent panePid paneDeadStatus";

#[test]
fn a_row_has_the_contracts_keys_in_order() {
    let Some(tmux) = start("a_row_has_the_contracts_keys_in_order") else { return };
    let work = folder(&tmux.env, "open-app/src");
    let pane = tmux.new_session("router", &work, "printf 'one\\n\\ntwo   words\\n'; exec cat");
    tmux.shows(&pane, "two");
    tmux.until(&pane, "#{pane_current_command}", "cat");
    tmux.env.set("HASNA_MACHINE", " box ");
    let row = tmux.row(&pane);
    let keys: Vec<_> = row.as_object().expect("an object").keys().cloned().collect();
    assert_eq!(keys.join(" "), KEYS);
    let pid: u32 = tmux.tell(&pane, "#{pane_pid}").parse().expect("a number");
    assert_eq!(row["target"], "router:0.0");
    assert_eq!((&row["windowIndex"], &row["paneIndex"]), (&json!("0"), &json!("0")));
    assert_eq!(row["command"], "cat");
    assert_eq!(row["cwd"], work.to_str().expect("UTF-8"));
    assert_eq!(row["projectPath"], tmux.env.work().join("open-app").to_str().expect("UTF-8"));
    assert_eq!((&row["projectSlug"], &row["isOpenSession"]), (&json!("open-app"), &json!(true)));
    assert_eq!(row["machine"], "box");
    assert_eq!((&row["status"], &row["statusReason"]), (&json!("active"), &json!("non-shell foreground command")));
    assert_eq!((&row["paneDead"], &row["paneActive"]), (&json!(false), &json!(true)));
    assert_eq!(row["lastVisibleLine"], "two words");
    assert_eq!((&row["statusSource"], &row["agent"]), (&json!("command"), &Value::Null));
    assert_eq!((&row["panePid"], &row["paneDeadStatus"]), (&json!(pid), &Value::Null));
}

#[test]
fn no_server_is_no_panes() {
    let env = TestEnvironment::new();
    let socket = env.root().join("nobody");
    let socket = socket.to_str().expect("UTF-8");
    if env.command("tmux").arg("-V").output().is_err() {
        return crate::common::skipped("no_server_is_no_panes", "tmux is not installed");
    }
    let output = env.jig(&["live", "--json", "-S", socket]).exits(0);
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("[]\n", ""));
    let output = env.jig(&["live", "-S", socket]).exits(0);
    assert_eq!(output.stdout, "No live tmux panes found.\n");
}

#[test]
fn rows_are_filtered_and_ordered() {
    let Some(tmux) = start("rows_are_filtered_and_ordered") else { return };
    tmux.run(&["set-option", "-g", "remain-on-exit", "on"]);
    let open = folder(&tmux.env, "open-suite/packages/api");
    tmux.new_session("worker", &open, "exec env PS1='$ ' sh");
    let dead = tmux.new_session("a", &tmux.env.work(), "exit 3");
    tmux.until(&dead, "#{pane_dead}", "1");
    tmux.until("worker:", "#{pane_current_command}", "sh");
    tmux.shows("worker:", "$");
    tmux.until("keep:", "#{pane_current_command}", "cat");
    for _ in 0..10 {
        tmux.run(&["new-window", "-d", "-t", "keep:", "exec cat"]);
    }
    eventually("every window runs cat", || {
        let commands = tmux.run(&["list-panes", "-s", "-t", "keep:", "-F", "#{pane_current_command}"]);
        commands.lines().all(|command| command == "cat").then_some(())
    });
    let all = targets(&tmux.rows(&[]));
    let mut expected: Vec<String> = (0..=10).map(|window| format!("keep:{window}.0")).collect();
    expected.extend(["worker:0.0".to_owned(), "a:0.0".to_owned()]);
    assert_eq!(all, expected, "active, idle, dead; windows as numbers");

    assert_eq!(targets(&tmux.rows(&["--open-only"])), ["worker:0.0"]);
    assert_eq!(targets(&tmux.rows(&["--project", "OPEN-SUITE"])), ["worker:0.0"]);
    assert_eq!(targets(&tmux.rows(&["--status", "dead, idle"])), ["worker:0.0", "a:0.0"]);
    assert_eq!(targets(&tmux.rows(&["--status", ","])).len(), 13);
    assert_eq!(targets(&tmux.rows(&["--machine", "nowhere"])).len(), 0);
    let machine = tmux.row(&dead)["machine"].as_str().expect("a name").to_uppercase();
    assert_eq!(targets(&tmux.rows(&["--machine", &machine])).len(), 13);

    let row = tmux.row(&dead);
    assert_eq!((&row["status"], &row["statusSource"]), (&json!("dead"), &json!("tmux")));
    assert_eq!((&row["cwd"], &row["paneDeadStatus"]), (&Value::Null, &json!(3)));

    let text = tmux.jig(&["live", "--status", "dead"]).exits(0).stdout;
    assert!(text.starts_with("sessions live ("), "{text}");
    assert!(text.contains("a:0.0"), "{text}");
}

#[test]
fn wrong_options_are_usage_errors() {
    let env = TestEnvironment::new();
    for args in [
        &["live", "--json", "--status", "sleepy"][..],
        &["live", "--json", "--watch", "--interval", "0"],
        &["live", "--json", "--interval", "soon"],
        &["live", "--json", "extra"],
        &["live", "--json", "-L", "a", "-S", "b"],
    ] {
        let output = env.jig(args).exits(2);
        assert_eq!(output.stdout, "", "{args:?}");
        assert_eq!(output.error()["error"]["code"], "usage", "{args:?}");
    }
}

#[test]
fn help_begins_with_what_the_command_does() {
    let env = TestEnvironment::new();
    for (args, first) in [
        (&["live", "--help"][..], "List tmux panes and what their agents do"),
        (&["bulk", "--help"], "Plan and run an action over many panes"),
        (&["live", "explain", "--help"], "Classify a captured screen from stdin and name the rule that decided"),
        (&["live", "alias", "--help"], "Link this program as `sessions` into a folder"),
    ] {
        let help = env.jig(args).exits(0).stdout;
        assert_eq!(help.lines().next(), Some(first), "{args:?}");
    }
}

#[test]
fn watching_prints_one_list_a_line() {
    let Some(tmux) = start("watching_prints_one_list_a_line") else { return };
    let watch = Running::start(tmux.jig_command(&["live", "--json", "--watch", "--interval", "0.05"]));
    let first = watch.json_line();
    assert_eq!(first.as_array().map(Vec::len), Some(1));
    tmux.new_session("more", &tmux.env.work(), "exec cat");
    eventually("a list with the new pane", || (watch.json_line().as_array().map(Vec::len) == Some(2)).then_some(()));
    let output = tmux.jig(&["live", "--json", "--watch", "--once"]).exits(0);
    assert_eq!(output.json().as_array().map(Vec::len), Some(2));
}

#[test]
fn panes_of_grouped_sessions_count_once() {
    let Some(tmux) = start("panes_of_grouped_sessions_count_once") else { return };
    tmux.run(&["new-session", "-d", "-s", "twin", "-t", "keep"]);
    tmux.new_session("other", &tmux.env.work(), "exec cat");
    tmux.run(&["link-window", "-d", "-s", "other:0", "-t", "keep:7"]);
    assert_eq!(tmux.rows(&[]).len(), 2);
    let all = targets(&tmux.rows(&["--all-targets"]));
    assert_eq!(all, ["keep:0.0", "keep:7.0", "other:0.0", "twin:0.0", "twin:7.0"]);
}

/// Publishes a status file for a process.
fn publish(tmux: &Tmux, pid: u32, change: impl FnOnce(&mut Value)) {
    let mut document = status_document("s-1", pid);
    change(&mut document);
    tmux.env.write_status("s-1", &document);
}

fn told(tmux: &Tmux, pane: &str) -> (String, String, Value) {
    let row = tmux.row(pane);
    let word = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
    (word("status"), word("statusSource"), row["agent"].clone())
}

fn words(status: &str, source: &str, agent: impl Into<Value>) -> (String, String, Value) {
    (status.to_owned(), source.to_owned(), agent.into())
}

#[test]
fn the_status_file_of_a_panes_process_outranks_the_screen() {
    let Some(tmux) = start("the_status_file_of_a_panes_process_outranks_the_screen") else { return };
    let pane = tmux.new_session("agent", &tmux.env.work(), "exec cat");
    let pid: u32 = tmux.tell(&pane, "#{pane_pid}").parse().expect("a number");
    assert_eq!(told(&tmux, &pane), words("active", "command", Value::Null));
    // No screen of this agent is known, so its file is believed.
    let of = |document: &mut Value| document["agent"] = json!({ "name": "mine" });
    publish(&tmux, pid, of);
    assert_eq!(told(&tmux, &pane), words("idle", "status-file", "mine"));
    publish(&tmux, pid, |document| document["state"] = "busy".into());
    assert_eq!(told(&tmux, &pane), words("active", "status-file", "pi"));
    for reason in ["approval", "question", "trust", "unknown"] {
        publish(&tmux, pid, |document| {
            document["state"] = "busy".into();
            document["attention"] = json!({ "reason": reason, "since": document["stateAt"] });
        });
        assert_eq!(told(&tmux, &pane), words("needs_attention", "status-file", "pi"), "{reason}");
    }
    publish(&tmux, pid, |document| {
        of(document);
        document["attention"] = json!({ "reason": "error", "since": document["stateAt"] });
    });
    assert_eq!(told(&tmux, &pane), words("idle", "status-file", "mine"));
    assert_eq!(told(&tmux, "%0"), words("active", "command", Value::Null), "another pane's file says nothing");
}

#[test]
fn a_descendant_of_the_panes_process_counts_too() {
    let Some(tmux) = start("a_descendant_of_the_panes_process_counts_too") else { return };
    let pane = tmux.new_session("agent", &tmux.env.work(), "sh -c 'sleep 600 & echo child $!.; wait'");
    tmux.shows(&pane, ".");
    let screen = tmux.run(&["capture-pane", "-p", "-t", &pane]);
    let child = screen.split_once("child ").and_then(|(_, rest)| rest.split_once('.')).expect("the child's pid").0;
    publish(&tmux, child.parse().expect("a number"), |document| document["state"] = "busy".into());
    assert_eq!(told(&tmux, &pane), words("active", "status-file", "pi"));
}

#[test]
fn a_file_without_the_panes_process_says_nothing() {
    let Some(tmux) = start("a_file_without_the_panes_process_says_nothing") else { return };
    let pane = tmux.new_session("agent", &tmux.env.work(), "exec cat");
    let pid: u32 = tmux.tell(&pane, "#{pane_pid}").parse().expect("a number");
    let untouched = words("active", "command", Value::Null);
    // The pid is the pane's, its start is another process's.
    publish(&tmux, pid, |document| {
        document["process"] = identity(pid);
        document["process"]["start"] = "linux:1".into();
    });
    assert_eq!(told(&tmux, &pane), untouched);
    // The pane's number is right, its process is not in the pane.
    let foreign = tmux.env.live("s-2", |document| {
        document["tmuxPane"] = pane.as_str().into();
        document["tmuxSocket"] = tmux.socket.to_str().expect("UTF-8").into();
    });
    assert_eq!(told(&tmux, &pane), untouched);
    drop(foreign);
}

const DIALOG: &str = "\
● Bash(rm -rf dist)
────────────────────────────────────────
 Bash command
   rm -rf dist
 Do you want to proceed?
 ❯ 1. Yes
   2. No
 Esc to cancel · Tab to amend
";

#[test]
fn explain_names_the_rule() {
    let env = TestEnvironment::new();
    let args =
        ["live", "explain", "--command", "claude", "--title", "✳ Build", "--width", "40", "--height", "30", "--json"];
    let document = env.jig_stdin(&args, DIALOG.as_bytes()).exits(0).json();
    assert_eq!(document["status"], "needs_attention");
    assert_eq!(document["reason"], "current attention indicator in pane text");
    assert_eq!(document["agent"], "claude");
    assert_eq!(document["rule"], "choice instead of the composer");
    assert_eq!(document["source"], "screen");
    let dead = env.jig_stdin(&["live", "explain", "--dead", "--json"], DIALOG.as_bytes()).exits(0).json();
    assert_eq!((&dead["status"], &dead["source"]), (&json!("dead"), &json!("tmux")));
    let text = env.jig_stdin(&["live", "explain", "--command", "bash"], b"dev@devbox:~$ \n").exits(0).stdout;
    assert!(text.starts_with("status    idle\n") && text.contains("rule      shell prompt\n"), "{text}");
}

#[test]
fn rows_and_envelopes_are_valid_documents() {
    let Some(tmux) = start("rows_and_envelopes_are_valid_documents") else { return };
    tmux.run(&["set-option", "-g", "remain-on-exit", "on"]);
    let dead = tmux.new_session("dead", &tmux.env.work(), "exit 3");
    tmux.until(&dead, "#{pane_dead}", "1");
    let valid = |name: &str, format: &str, document: &Value| {
        let path = tmux.env.work().join(name);
        std::fs::write(&path, document.to_string()).expect("it can be written");
        let output = tmux.env.jig(&["validate", "--json", "--format", format, path.to_str().expect("UTF-8")]);
        assert_eq!(output.code, 0, "{name}: {output:?}");
    };
    valid("rows.json", "live-row.v1", &Value::Array(tmux.rows(&[])));
    for action in ["status", "capture", "doctor", "start", "stop"] {
        let args = ["bulk", action, "--json", "--yes", "--max-load-per-core", "1e6", "--project", "nothing-here"];
        valid(&format!("none-{action}.json"), "bulk.v1", &tmux.jig(&args).json());
        let args = ["bulk", action, "--json", "--yes", "--max-load-per-core", "1e6", "--status", "dead"];
        valid(&format!("{action}.json"), "bulk.v1", &tmux.jig(&args).json());
    }
}

#[test]
fn status_files_that_cannot_be_read_are_told_of() {
    let Some(tmux) = start("status_files_that_cannot_be_read_are_told_of") else { return };
    let folder = tmux.env.sessions_dir();
    std::fs::remove_dir_all(&folder).expect("removed");
    std::fs::write(&folder, "no folder").expect("a file can be written");
    let output = tmux.jig(&["live", "--json"]).exits(0);
    assert_eq!(output.json()[0]["statusSource"], "command");
    assert!(output.stderr.starts_with("warning: status files are left out"), "{}", output.stderr);
    // What acts on panes does not guess.
    let refused = tmux.jig(&["bulk", "stop", "--json", "--yes", "--max-load-per-core", "1e6"]).exits(1);
    assert_eq!(refused.stdout, "");
    assert!(refused.error()["error"]["code"].is_string());
    assert!(tmux.has("%0"));
}
