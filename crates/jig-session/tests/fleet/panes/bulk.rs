//! Bulk actions that are really run.

use std::fs;

use serde_json::{Value, json};

use super::tmux::{PI_AT_REST, Tmux, draws, folder, start, wrap};
use crate::common::{Running, TestEnvironment, eventually};

/// The machine that runs the tests may be busy: the guard is not what these tests are about.
const CALM: [&str; 4] = ["--max-load-per-core", "100000", "--max-active-agents", "100000"];

fn bulk(tmux: &Tmux, args: &[&str], code: i32) -> Value {
    let mut all = vec!["bulk", "--json"];
    all.extend(args);
    all.extend(CALM);
    tmux.jig(&all).exits(code).json()
}

fn entry<'a>(envelope: &'a Value, pane: &str) -> &'a Value {
    let entries = envelope["entries"].as_array().expect("a list");
    entries.iter().find(|entry| entry["paneId"] == pane).unwrap_or_else(|| panic!("no entry of {pane} in {envelope}"))
}

/// A session that stands at a shell's prompt.
fn prompt(tmux: &Tmux, name: &str) -> String {
    let pane = tmux.new_session(name, &tmux.env.work(), "exec env PS1='$ ' sh");
    tmux.until(&pane, "#{pane_current_command}", "sh");
    tmux.shows(&pane, "$");
    pane
}

#[test]
fn stop_closes_what_was_asked_for_and_nothing_else() {
    let Some(tmux) = start("stop_closes_what_was_asked_for_and_nothing_else") else { return };
    let idle = prompt(&tmux, "router");
    let other = tmux.new_session("router-2", &tmux.env.work(), "exec cat");
    tmux.until(&other, "#{pane_current_command}", "cat");

    let planned = bulk(&tmux, &["stop", "--status", "idle", "--dry-run", "--yes"], 0);
    assert_eq!((&planned["dryRun"], &planned["executionEnabled"]), (&json!(true), &json!(false)));
    let dry = entry(&planned, &idle);
    assert_eq!(
        (&dry["decision"], &dry["reason"], &dry["result"]),
        (&json!("planned"), &json!("dry run"), &Value::Null)
    );
    assert_eq!(dry["argv"], json!(["tmux", "-S", tmux.socket.to_str(), "kill-pane", "-t", idle]));
    let unconfirmed = bulk(&tmux, &["stop", "--status", "idle"], 1);
    assert_eq!(entry(&unconfirmed, &idle)["reason"], "mutating bulk operation requires --yes");
    assert!(tmux.has(&idle), "nothing was run");

    let run = bulk(&tmux, &["stop", "--project", "router", "--yes"], 1);
    assert_eq!(entry(&run, &idle)["decision"], "queued");
    assert_eq!(entry(&run, &idle)["result"]["outcome"], "done");
    assert_eq!(entry(&run, &idle)["result"]["exitCode"], 0);
    let refused = entry(&run, &other);
    assert_eq!(refused["reason"], "refusing stop for active pane without explicit --status active");
    assert_eq!(refused["result"], Value::Null);
    assert_eq!((&run["summary"]["done"], &run["summary"]["refused"]), (&json!(1), &json!(1)));
    assert!(!tmux.has(&idle));
    assert!(tmux.has(&other), "a session whose name begins alike is another session");

    let named = bulk(&tmux, &["stop", "--project", "router", "--status", "active", "--no-queue", "--yes"], 0);
    assert_eq!(entry(&named, &other)["decision"], "planned");
    assert_eq!(entry(&named, &other)["result"]["outcome"], "done");
    assert!(!tmux.has(&other));
}

#[test]
fn a_restart_keeps_the_folder_and_changes_the_process() {
    let Some(tmux) = start("a_restart_keeps_the_folder_and_changes_the_process") else { return };
    let work = folder(&tmux.env, "open-app/packages/api");
    let pane = tmux.new_session("open-app", &work, "exec env PS1='$ ' sh");
    tmux.until(&pane, "#{pane_current_command}", "sh");
    tmux.shows(&pane, "$");
    let before = tmux.tell(&pane, "#{pane_pid}");
    let run = bulk(&tmux, &["restart", "--open-only", "--status", "idle", "--yes", "--jitter", "5"], 0);
    assert_eq!(entry(&run, &pane)["result"]["outcome"], "done");
    assert_ne!(tmux.tell(&pane, "#{pane_pid}"), before);
    tmux.until(&pane, "#{pane_current_path}", work.to_str().expect("UTF-8"));
}

#[test]
fn a_dead_pane_is_started_in_its_folder() {
    let Some(tmux) = start("a_dead_pane_is_started_in_its_folder") else { return };
    tmux.run(&["set-option", "-g", "remain-on-exit", "on"]);
    let work = folder(&tmux.env, "dead folder");
    let flag = tmux.env.work().join("alive");
    // The first run ends at once, the second stays.
    let program = format!("test -e '{0}' && exec cat; touch '{0}'; exit 3", flag.display());
    let pane = tmux.new_session("open-dead", &work, &program);
    tmux.until(&pane, "#{pane_dead}", "1");
    let argv = ["tmux", "-S", tmux.socket.to_str().expect("UTF-8"), "respawn-pane", "-t", &pane, "-c"];
    let planned = bulk(&tmux, &["ensure", "--open-only", "--dry-run"], 0);
    let mut expected: Vec<Value> = argv.iter().map(|&word| word.into()).collect();
    expected.push(work.to_str().expect("UTF-8").into());
    assert_eq!(entry(&planned, &pane)["argv"], Value::Array(expected));
    let run = bulk(&tmux, &["start", "--yes"], 0);
    assert_eq!(entry(&run, &pane)["result"]["outcome"], "done");
    assert_eq!(entry(&run, "%0")["decision"], "skipped");
    tmux.until(&pane, "#{pane_dead}", "0");
    tmux.until(&pane, "#{pane_current_path}", work.to_str().expect("UTF-8"));
}

#[test]
fn a_pane_that_changed_before_its_turn_is_refused() {
    let Some(tmux) = start("a_pane_that_changed_before_its_turn_is_refused") else { return };
    let first = prompt(&tmux, "a");
    let replaced = prompt(&tmux, "b");
    let busy = prompt(&tmux, "c");
    // The first act changes the two panes behind it.
    let socket = tmux.socket.display();
    let script = format!(
        "case \"$*\" in *kill-pane*'{first}')\n\
         \"$real\" -S '{socket}' respawn-pane -k -t '{replaced}' 'exec env PS1=\"$ \" sh'\n\
         \"$real\" -S '{socket}' send-keys -t '{busy}' 'exec cat' Enter\n\
         until [ \"$(\"$real\" -S '{socket}' display-message -p -t '{busy}' '#{{pane_current_command}}')\" = cat ]; do sleep 0.05; done\n\
         esac"
    );
    wrap(&tmux.env, &script);
    let run = bulk(&tmux, &["stop", "--status", "idle", "--concurrency", "1", "--yes"], 1);
    assert_eq!(entry(&run, &first)["result"]["outcome"], "done", "{run}");
    assert_eq!(entry(&run, &replaced)["result"]["outcome"], "refused");
    assert_eq!(entry(&run, &replaced)["result"]["message"], "another process runs in the pane now");
    assert_eq!(entry(&run, &busy)["result"]["message"], "the pane is active now, it was idle");
    assert_eq!((&run["summary"]["done"], &run["summary"]["refused"]), (&json!(1), &json!(2)));
    assert!(tmux.has(&replaced) && tmux.has(&busy));
}

#[test]
fn a_run_that_is_broken_off_stops_cleanly() {
    let Some(tmux) = start("a_run_that_is_broken_off_stops_cleanly") else { return };
    let panes = ["a", "b", "c"].map(|name| prompt(&tmux, name));
    let log = tmux.env.work().join("calls");
    wrap(&tmux.env, &format!("echo \"$*\" >> '{}'", log.display()));
    let mut args =
        vec!["bulk", "stop", "--json", "--status", "idle", "--yes", "--jitter", "86400000", "--concurrency", "1"];
    args.extend(CALM);
    let running = Running::start(tmux.jig_command(&args));
    // The queue begins after the batch; what comes before the handler would end the program as any signal does.
    eventually("the panes were captured", || {
        fs::read_to_string(&log).ok().filter(|calls| calls.contains("source-file"))
    });
    let output = eventually_ends(running);
    assert_eq!(output.code, 1, "{output:?}");
    let envelope = output.json();
    for pane in &panes {
        assert_eq!(entry(&envelope, pane)["result"]["outcome"], "cancelled");
        assert_eq!(entry(&envelope, pane)["result"]["startedAt"], Value::Null);
        assert!(tmux.has(pane));
    }
}

/// Sends Ctrl+C once the program has taken the signal over, which its own table of signals tells.
fn eventually_ends(running: Running) -> crate::common::Output {
    let status = format!("/proc/{}/status", running.pid());
    eventually("the program handles SIGINT", || {
        let text = fs::read_to_string(&status).ok()?;
        let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
        let caught = u64::from_str_radix(caught.trim(), 16).ok()?;
        (caught & 0b10 != 0).then_some(())
    });
    running.signal("INT");
    running.end()
}

#[test]
fn capture_gives_the_text_and_doctor_looks() {
    let Some(tmux) = start("capture_gives_the_text_and_doctor_looks") else { return };
    let pane = tmux.new_session("talker", &tmux.env.work(), "printf 'one\\n\\ntwo\\n'; exec cat");
    tmux.shows(&pane, "two");
    tmux.until(&pane, "#{pane_current_command}", "cat");
    let captured = bulk(&tmux, &["capture"], 0);
    assert_eq!(entry(&captured, &pane)["capturedText"], "one\n\ntwo");
    assert_eq!(entry(&captured, &pane)["checks"], Value::Null);
    assert_eq!((&captured["summary"]["done"], &captured["summary"]["failed"]), (&json!(2), &json!(0)));

    let pid: u32 = tmux.tell(&pane, "#{pane_pid}").parse().expect("a number");
    tmux.env.write_status("s-1", &crate::common::status_document("s-1", pid));
    let checked = bulk(&tmux, &["doctor"], 1);
    assert_eq!((&checked["summary"]["done"], &checked["summary"]["failed"]), (&json!(0), &json!(2)));
    let ok = |pane: &str| -> Vec<(String, bool)> {
        let checks = entry(&checked, pane)["checks"].as_array().expect("a list").clone();
        checks
            .iter()
            .map(|check| (check["check"].as_str().unwrap_or_default().to_owned(), check["ok"] == true))
            .collect()
    };
    let expected = |all: [bool; 5]| -> Vec<(String, bool)> {
        ["pane", "agent", "status-file", "composer", "folder"].into_iter().map(str::to_owned).zip(all).collect()
    };
    assert_eq!(ok(&pane), expected([true, true, true, false, true]));
    assert_eq!(ok("%0"), expected([true, false, false, false, true]));
}

#[test]
fn doctor_ends_with_zero_when_every_check_is_ok() {
    let Some(tmux) = start("doctor_ends_with_zero_when_every_check_is_ok") else { return };
    let pane = tmux.new_session("agent", &tmux.env.work(), &draws(PI_AT_REST));
    tmux.shows(&pane, "200k");
    let pid: u32 = tmux.tell(&pane, "#{pane_pid}").parse().expect("a number");
    tmux.env.write_status("s-1", &crate::common::status_document("s-1", pid));
    let checked = bulk(&tmux, &["doctor", "--project", "agent"], 0);
    assert_eq!((&checked["summary"]["done"], &checked["summary"]["failed"]), (&json!(1), &json!(0)), "{checked}");
}

#[test]
fn guards_refuse_and_warn() {
    let Some(tmux) = start("guards_refuse_and_warn") else { return };
    let pane = prompt(&tmux, "router");
    tmux.new_session("busy", &tmux.env.work(), "exec cat");
    let args = [
        "bulk",
        "stop",
        "--json",
        "--status",
        "idle",
        "--yes",
        "--max-active-agents",
        "1",
        "--max-load-per-core",
        "1e6",
    ];
    let refused = tmux.jig(&args).exits(1).json();
    assert_eq!(refused["guard"]["reasons"], json!(["active agent count 2 exceeds max 1"]));
    assert_eq!(entry(&refused, &pane)["decision"], "refused");
    assert!(tmux.has(&pane));
    let status = ["bulk", "status", "--json", "--max-active-agents", "1", "--max-load-per-core", "1e6"];
    let warned = tmux.jig(&status).exits(0).json();
    let reason = "read-only bulk check; guard warnings: active agent count 2 exceeds max 1";
    assert_eq!(entry(&warned, &pane)["reason"], reason);
    let text = tmux.jig(&["bulk", "status", "--max-active-agents", "1"]).exits(0).stdout;
    assert!(text.contains("guard: refused") && text.contains("refusal: active agent count 2 exceeds max 1"), "{text}");
}

#[test]
fn wrong_numbers_are_named() {
    let env = TestEnvironment::new();
    for (option, value, message) in [
        ("--concurrency", "0", "--concurrency must be a positive integer"),
        ("--jitter", "-1", "--jitter must be a non-negative integer number of milliseconds"),
        ("--max-active-agents", "few", "--max-active-agents must be a positive integer"),
        ("--max-load1", "-0.5", "--max-load1 must be a non-negative number"),
        ("--max-load-per-core", "x", "--max-load-per-core must be a non-negative number"),
    ] {
        let output = env.jig(&["bulk", "status", "--json", option, value]).exits(2);
        assert_eq!(output.error()["error"]["message"], message);
    }
}
