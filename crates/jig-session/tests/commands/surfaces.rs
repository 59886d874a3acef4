//! What other programs show of sessions: status bars, notices, metrics, a terminal's program status; and what was seen.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use termstate_core::scan::{Event, Scanner};
use termstate_core::{Kind, State};
use termstate_store::Store;

use crate::common::{Live, TestEnvironment, eventually, names_in, now_ms, skipped, timestamp};

fn asks(document: &mut Value) {
    document["state"] = "busy".into();
    document["attention"] = json!({ "reason": "approval", "since": timestamp(now_ms() - 125_000) });
}

fn work(document: &mut Value) {
    document["state"] = "busy".into();
}

#[test]
fn a_line_for_every_host_and_nothing_when_nothing_lives() {
    let env = TestEnvironment::new();
    let hosts = ["tmux", "waybar", "sketchybar", "starship", "i3status", "plain", "json"];
    for host in hosts {
        assert_eq!(env.jig(&["statusline", "--format", host]).exits(0).stdout, "", "{host}");
    }
    assert_eq!(env.jig(&["statusline", "-q"]).exits(0).stdout, "0\n");
    let _sessions = [env.live("s-1", asks), env.live("s-2", work), env.live("s-3", |_| ())];
    for host in hosts {
        let shown = env.jig(&["statusline", "--format", host]).exits(0).stdout;
        assert_eq!(shown.lines().count(), 1, "{host}: {shown}");
        let is_json = serde_json::from_str::<Value>(&shown).is_ok();
        assert_eq!(is_json, matches!(host, "waybar" | "i3status" | "json"), "{host}: {shown}");
    }
    let plain = env.jig(&["statusline"]).exits(0).stdout;
    assert_eq!(plain, "1 needs you: s-1 approval 2m · 1 busy · 1 idle\n");
    assert_eq!(env.jig(&["statusline", "-q"]).exits(0).stdout, "1\n");
    assert_eq!(env.jig(&["statusline", "--agent", "codex"]).exits(0).stdout, "");
    // Waybar's documented keys of a custom module with "return-type": "json".
    let waybar = env.jig(&["statusline", "-f", "waybar"]).exits(0).json();
    let keys: Vec<&String> = waybar.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["text", "alt", "tooltip", "class"]);
    assert_eq!(waybar["class"], "attention");
    assert_eq!(env.jig(&["statusline", "-f", "polybar"]).code, 2);
}

#[test]
fn a_bar_is_not_broken_by_a_folder_that_cannot_be_read() {
    let env = TestEnvironment::new();
    let sessions = env.sessions_dir();
    fs::remove_dir_all(&sessions).unwrap();
    fs::write(&sessions, "").unwrap();
    let output = env.jig(&["statusline", "--format", "tmux"]).exits(0);
    assert_eq!(output.stdout, "");
    assert!(output.stderr.starts_with("error: "), "{}", output.stderr);
}

#[test]
fn metrics_are_prometheus_text() {
    let env = TestEnvironment::new();
    let _sessions =
        [env.live("s-1", asks), env.live("s-2", |document| document["agent"]["name"] = "a\"b\\c\n{}".into())];
    let text = env.jig(&["metrics", "--machine", "here"]).exits(0).stdout;
    assert!(text.contains("jig_session_longest_wait_seconds{machine=\"here\",agent=\"pi\"} 12"), "{text}");
    assert!(text.contains("jig_session_cost_dollars{machine=\"here\",agent=\"pi\"} 0.004"), "{text}");
    let refused = env.jig(&["metrics", "--json"]).exits(2);
    assert!(refused.stderr.contains("ls --json"), "{}", refused.stderr);
    let file = env.root().join("jig.prom");
    fs::write(&file, &text).unwrap();
    checked_by_promtool(&env, &text);
    read_by_pythons_client(&env, &file);
}

fn checked_by_promtool(env: &TestEnvironment, text: &str) {
    let mut command = env.command("promtool");
    command.args(["check", "metrics"]);
    if env.command("promtool").arg("--version").output().is_err() {
        return skipped("metrics_are_checked_by_promtool", "promtool (Debian: prometheus) is not installed");
    }
    let output = crate::common::finish(command, text.as_bytes());
    assert_eq!((output.code, output.stdout.as_str(), output.stderr.as_str()), (0, "", ""), "{text}");
}

fn read_by_pythons_client(env: &TestEnvironment, file: &std::path::Path) {
    let target = crate::common::program().parent().and_then(|folder| folder.parent()).unwrap().to_owned();
    let python = target.join("py/bin/python");
    let script = "import sys\nfrom prometheus_client.parser import text_string_to_metric_families as read\n\
        rows = [s for f in read(open(sys.argv[1]).read()) for s in f.samples]\n\
        print(sorted({s.labels.get('agent', '') for s in rows}))";
    let has = |python: &PathBuf| {
        let mut command = Command::new(python);
        command.args(["-c", "import prometheus_client"]).output().is_ok_and(|output| output.status.success())
    };
    if !has(&python) {
        let why = "Python's prometheus-client is not installed; cargo xtask test tools installs it";
        return skipped("metrics_are_read_by_pythons_client", why);
    }
    let mut command = env.command(python);
    command.args(["-c", script]).arg(file);
    let output = crate::common::finish(command, b"").exits(0);
    assert_eq!(output.stdout, "['', 'a\"b\\\\c\\n{}', 'pi']\n");
}

/// Settles a session now, in a turn that began after the session did.
fn settle(live: &mut Live) {
    live.rewrite(|document| {
        document["state"] = "idle".into();
        document["attention"] = Value::Null;
        document["stateAt"] = timestamp(now_ms() + 5_000).into();
    });
}

fn attention(env: &TestEnvironment, id: &str) -> Value {
    let rows = env.jig(&["ls", "--json"]).exits(0).json();
    let rows = rows["sessions"].as_array().unwrap().clone();
    rows.iter().find(|row| row["session"] == id).map(|row| row["attention"]["reason"].clone()).unwrap()
}

#[test]
fn a_turn_that_is_done_waits_until_it_is_seen_once_somebody_marks() {
    let env = TestEnvironment::new();
    let mut live = env.live("s-1", |document| document["tmuxPane"] = "%7".into());
    let _other = env.live("s-2", |_| ());
    settle(&mut live);
    assert_eq!(attention(&env, "s-1"), Value::Null, "nobody has made a mark yet");
    assert_eq!(names_in(&env.state_dir()), ["sessions"], "a reader makes none");
    env.jig(&["seen", "s-2", "--quiet"]).exits(0);
    assert_eq!(attention(&env, "s-1"), "finished");
    assert_eq!(attention(&env, "s-2"), Value::Null);
    assert_eq!(env.jig(&["statusline"]).exits(0).stdout, "1 done · 1 idle\n");
    assert_eq!(env.jig(&["statusline", "-q"]).exits(0).stdout, "0\n");
    let before = fs::read(&live.path).unwrap();
    env.jig(&["wait", "s-1", "--for", "idle", "--timeout", "0"]).exits(0);
    live.rewrite(|document| document["stateAt"] = timestamp(now_ms() - 50).into());
    let marked = env.jig(&["seen", "%7", "--json"]).exits(0).json();
    assert_eq!(marked["session"], "s-1");
    assert!(fs::metadata(marked["path"].as_str().unwrap()).unwrap().is_file());
    assert_eq!(attention(&env, "s-1"), Value::Null);
    assert_ne!(fs::read(&live.path).unwrap(), before);
    assert_eq!(env.jig(&["seen", "nobody"]).code, 4);
    assert_eq!(env.jig(&["seen", "nobody", "-q"]).exits(0).stderr, "");
    // A crashed session's mark goes with its file.
    live.process.kill();
    let pruned = env.jig(&["prune", "--json"]).exits(0).json();
    let removed: Vec<_> = pruned["removed"].as_array().unwrap().iter().map(|one| one["path"].clone()).collect();
    assert_eq!(removed.last(), Some(&marked["path"]), "{removed:?}");
    assert_eq!(names_in(&env.state_dir().join("seen")), ["s-2"]);
}

#[test]
fn a_publisher_takes_the_mark_with_its_file() {
    let env = TestEnvironment::new();
    let mut publisher = env.start(&["publish", "--agent", "tester"]);
    let pid = std::process::id();
    publisher.send(&format!(r#"{{"event":"session","schema":1,"session":"s-1","pid":{pid},"cwd":"/"}}"#));
    let file = env.sessions_dir().join("s-1.json");
    eventually("the status file", || file.exists().then_some(()));
    env.jig(&["seen", "s-1"]).exits(0);
    assert_eq!(names_in(&env.state_dir().join("seen")), ["s-1"]);
    publisher.end();
    assert_eq!(names_in(&env.state_dir().join("seen")), Vec::<String>::new());
}

#[test]
fn a_command_runs_at_transitions_and_never_for_what_was_there() {
    let env = TestEnvironment::new();
    let out = env.root().join("told");
    let line = "$JIG_CHANGE|$JIG_SESSION|$JIG_AGENT|$JIG_NAME|$JIG_STATE|$JIG_REASON|$JIG_CWD|$JIG_PATH|$JIG_HOST";
    let script = format!("echo \"{line}\" >> {}", out.display());
    let mut live = env.live("s-1", |document| {
        asks(document);
        document["name"] = "billing; rm -rf / $(touch pwned)".into();
    });
    let muted = env.live("muted", work);
    let watch = env.start(&[
        "watch",
        "--json",
        "--exec",
        &script,
        "--for",
        "attention,settled,gone,added",
        "--debounce",
        "50ms",
        "--mute",
        "muted",
    ]);
    while watch.json_line()["change"] != "ready" {}
    let told = |count: usize| {
        eventually(&format!("line {count} of the command"), || {
            let lines: Vec<String> = fs::read_to_string(&out).ok()?.lines().map(str::to_owned).collect();
            (lines.len() >= count).then_some(lines)
        })
    };
    live.rewrite(|document| document["attention"] = Value::Null);
    assert_eq!(watch.json_line()["change"], "changed");
    live.rewrite(|document| document["state"] = "idle".into());
    let path = live.path.display().to_string();
    let name = "billing; rm -rf / $(touch pwned)";
    assert_eq!(told(1), [format!("settled|s-1|pi|{name}|idle||/home/dev/app|{path}|")]);
    live.rewrite(asks);
    assert_eq!(told(2)[1], format!("attention|s-1|pi|{name}|busy|approval|/home/dev/app|{path}|"));
    drop(muted);
    let second = env.live("s-2", |_| ());
    assert_eq!(told(3)[2], format!("added|s-2|pi||idle||/home/dev/app|{}|", second.path.display()));
    live.process.kill();
    assert_eq!(told(4)[3], format!("gone|s-1|pi|{name}|busy|gone|/home/dev/app|{path}|"));
    assert!(!env.work().join("pwned").exists());
    assert_eq!(told(4).len(), 4, "nothing of what was there before, and nothing muted");
}

#[test]
fn a_notice_goes_to_the_desktop_as_arguments() {
    let env = TestEnvironment::new();
    let bin = env.root().join("bin");
    fs::create_dir(&bin).unwrap();
    let out = env.root().join("notices");
    let script = format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > {0}.new\nmv {0}.new {0}\n", out.display());
    fs::write(env.root().join("notify-send"), script).unwrap();
    crate::common::install_program(&env.root().join("notify-send"), &bin.join("notify-send"));
    let path = std::env::var("PATH").unwrap_or_default();
    env.set("PATH", format!("{}:{path}", bin.display())).set("DISPLAY", ":7");
    let mut live = env.live("s-1", |document| document["name"] = "<b>bold</b> -u low".into());
    let watch = env.start(&["watch", "--json", "--notify", "--debounce", "0s"]);
    while watch.json_line()["change"] != "ready" {}
    live.rewrite(asks);
    let told = eventually("the notice", || fs::read_to_string(&out).ok());
    let words: Vec<&str> = told.lines().collect();
    assert_eq!(
        words,
        [
            "--app-name=jig-session",
            "--urgency=critical",
            "--",
            "Waits for you: <b>bold</b> -u low",
            "session of pi waits for you (approval), in /home/dev/app"
        ]
    );
}

#[test]
fn without_a_desktop_and_a_terminal_a_notice_is_an_error_with_the_way_out() {
    let env = TestEnvironment::new();
    let mut command = env.jig_command(&["watch", "--notify"]);
    command.env("PATH", "/nonexistent");
    // In a session of its own there is no terminal.
    let mut setsid = env.command("setsid");
    setsid.arg("--wait").arg(command.get_program()).args(command.get_args());
    if env.command("setsid").arg("--version").output().is_err() {
        return skipped("without_a_desktop_a_notice_is_an_error", "setsid (util-linux) is not installed");
    }
    let output = crate::common::finish(setsid, b"").exits(4);
    assert!(output.stderr.contains("--exec"), "{}", output.stderr);
}

/// Reads what was written so far into a terminal's records.
fn show(store: &mut Store, scanner: &mut Scanner, text: &str) {
    scanner.feed(text.as_bytes(), |event| match event {
        Event::Sequence { message, .. } => drop(store.apply(&message.expect("a report that no terminal discards"))),
        Event::Passthrough(bytes) => assert_eq!(bytes, b"", "nothing else is written"),
    });
}

#[test]
fn a_terminal_shows_every_session_and_forgets_them_at_the_end() {
    use std::io::Read;
    let env = TestEnvironment::new();
    let mut live = env.live("0123456789ab", asks);
    let mut command = env.jig_command(&["watch", "--program-status"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdout.take().unwrap();
    let (sender, bytes) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count) = pipe.read(&mut buffer) {
            if count == 0 || sender.send(String::from_utf8_lossy(&buffer[..count]).into_owned()).is_err() {
                return;
            }
        }
    });
    let (mut store, mut scanner) = (Store::new(), Scanner::new());
    let mut until = |store: &mut Store, what: &str, done: &dyn Fn(&Store) -> bool| {
        eventually(what, || {
            while let Ok(text) = bytes.recv_timeout(Duration::from_millis(20)) {
                show(store, &mut scanner, &text);
            }
            done(store).then_some(())
        });
    };
    until(&mut store, "the root record", &|store| store.get(None).is_some_and(|root| root.state == State::Blocked));
    let child_record = store.get(Some("0123456789ab")).expect("a record of the session").clone();
    assert_eq!((child_record.kind, child_record.msg.as_deref()), (Some(Kind::Permission), None));
    live.rewrite(|document| document["attention"] = Value::Null);
    until(&mut store, "the turn goes on", &|store| store.get(None).is_some_and(|root| root.state == State::Working));
    let killed = Command::new("kill").arg("-TERM").arg(child.id().to_string()).status().unwrap();
    assert!(killed.success());
    until(&mut store, "the end", &Store::is_empty);
    let status = child.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(15), "it ends as the signal says");
}
