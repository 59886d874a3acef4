//! `watch` and `wait`: what changes, told as it happens.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::{Running, Sleeper, TestEnvironment, eventually, private_dir, replace, status_document};

/// The next line that is about a change of a session.
#[track_caller]
fn next(watch: &Running, change: &str) -> Value {
    let line = watch.json_line();
    assert_eq!(line["change"], change, "{line}");
    assert_eq!(line["schema"], 1);
    line
}

#[test]
fn a_session_comes_changes_and_goes() {
    let env = TestEnvironment::new();
    let mut first = env.live("first", |_| ());
    let watch = env.start(&["watch", "--json"]);
    assert_eq!(next(&watch, "added")["session"]["session"], "first");
    next(&watch, "ready");

    first.rewrite(|document| document["state"] = "busy".into());
    let changed = next(&watch, "changed");
    assert_eq!(changed["session"]["state"], "busy");
    assert_eq!(changed["fields"], json!(["state"]));

    let second = env.live("second", |_| ());
    assert_eq!(next(&watch, "added")["session"]["session"], "second");
    fs::remove_file(&second.path).expect("removed");
    let removed = next(&watch, "removed");
    assert_eq!(
        (&removed["session"]["session"], &removed["session"]["host"], &removed["why"]),
        (&json!("second"), &Value::Null, &json!("ended"))
    );

    first.process.kill();
    let removed = next(&watch, "removed");
    assert_eq!((&removed["session"]["session"], &removed["why"]), (&json!("first"), &json!("gone")));
}

#[test]
fn a_new_stamp_alone_is_no_change() {
    let env = TestEnvironment::new();
    let mut live = env.live("s", |_| ());
    let watch = env.start(&["watch", "--json"]);
    next(&watch, "added");
    next(&watch, "ready");
    live.rewrite(|document| document["updatedAt"] = "2030-01-01T00:00:00.000Z".into());
    live.rewrite(|document| document["fromTheFuture"] = json!({ "z": 1 }));
    // What is not in a row is no change of a row either; the next line is the one after.
    live.rewrite(|document| document["attention"] = json!({ "reason": "trust", "since": document["stateAt"] }));
    let changed = next(&watch, "changed");
    // A look may see several writes at once: then the stamp stands beside what changed.
    assert!([json!(["attention"]), json!(["attention", "updatedAt"])].contains(&changed["fields"]), "{changed}");
    assert_eq!(changed["session"]["attention"]["reason"], "trust");
}

#[test]
fn two_writes_in_one_tick_are_both_seen() {
    let env = TestEnvironment::new();
    let mut live = env.live("s", |_| ());
    let watch = env.start(&["watch", "--json"]);
    next(&watch, "added");
    next(&watch, "ready");
    for round in 0..30 {
        // The same length, the same clock tick, and often the same inode as two writes ago.
        for name in ["aaaa", "bbbb"] {
            live.rewrite(|document| document["name"] = format!("{name}{round:02}").into());
        }
        let last = format!("bbbb{round:02}");
        eventually("the last write of the tick", || (watch.json_line()["session"]["name"] == last).then_some(()));
    }
}

#[test]
fn a_bad_file_is_told_once_and_a_mended_one_appears() {
    let env = TestEnvironment::new();
    let live = env.live("good", |_| ());
    let path = env.sessions_dir().join("bad.json");
    replace(&path, b"{");
    let watch = env.start(&["watch", "--json"]);
    assert_eq!(next(&watch, "added")["session"]["session"], "good");
    let problem = next(&watch, "problem");
    assert_eq!(problem["problem"]["reason"], "unparsable");
    assert_eq!(problem["problem"]["path"], path.to_str().expect("UTF-8"));
    next(&watch, "ready");
    replace(&path, status_document("bad", live.pid()).to_string().as_bytes());
    assert_eq!(next(&watch, "added")["session"]["session"], "bad");
}

#[test]
fn a_folder_that_is_made_later_is_watched_too() {
    let env = TestEnvironment::new();
    let watch = env.start(&["watch", "--json"]);
    next(&watch, "ready");
    private_dir(&env.state_dir());
    let _live = env.live("late", |_| ());
    assert_eq!(next(&watch, "added")["session"]["session"], "late");
}

#[test]
fn text_for_people_names_the_session_and_the_state() {
    let env = TestEnvironment::new();
    let mut live = env.live("s-1", |document| document["name"] = "bill\u{1b}[2Jing".into());
    let watch = env.start(&["watch"]);
    let first = watch.line();
    assert!(first.contains("bill\u{fffd}[2Jing") && first.contains("idle"), "{first}");
    live.rewrite(|document| document["state"] = "busy".into());
    eventually("a line with the new state", || watch.line().contains("busy").then_some(()));
}

#[test]
fn wait_ends_when_the_session_settles() {
    let env = TestEnvironment::new();
    let mut live = env.live("s-1", |document| document["state"] = "busy".into());
    let wait = env.start(&["wait", "s-1", "--json"]);
    assert_eq!(wait.line_within(Duration::from_millis(300)), None, "it is busy");
    live.rewrite(|document| document["state"] = "idle".into());
    let document = wait.json_line();
    assert_eq!((&document["session"]["session"], &document["session"]["state"]), (&json!("s-1"), &json!("idle")));
    assert!(document.get("document").is_none());
    wait.end().exits(0);
}

#[test]
fn wait_knows_what_it_waits_for() {
    let env = TestEnvironment::new();
    let live = env.live("asks", |document| {
        document["state"] = "busy".into();
        document["attention"] = json!({ "reason": "question", "since": document["stateAt"] });
    });
    env.jig(&["wait", "asks"]).exits(0);
    env.jig(&["wait", "asks", "--for", "attention"]).exits(0);
    env.jig(&["wait", "asks", "--for", "busy"]).exits(0);
    let late = env.jig(&["wait", "asks", "--for", "idle", "--timeout", "0.2", "--json"]).exits(124);
    assert_eq!((late.stdout.as_str(), &late.error()["error"]["code"]), ("", &json!("timeout")));
    drop(live);
}

#[test]
fn wait_says_when_the_session_ended_first() {
    let env = TestEnvironment::new();
    let mut live = env.live("s-1", |document| document["state"] = "busy".into());
    let (settled, gone) =
        (env.start(&["wait", "s-1", "--json"]), env.start(&["wait", "s-1", "--for", "gone", "--json"]));
    // Both must have found it before it ends.
    assert_eq!(settled.line_within(Duration::from_millis(700)), None);
    live.process.kill();
    assert_eq!(gone.json_line()["session"]["session"], "s-1");
    gone.end().exits(0);
    let output = settled.end().exits(1);
    assert_eq!(output.error()["error"]["code"], "gone");
    fs::remove_file(&live.path).expect("removed");
    env.jig(&["wait", "s-1"]).exits(4);
    // What is not there any more is what was waited for.
    let output = env.jig(&["wait", "s-1", "--for", "gone", "--json"]).exits(0);
    assert_eq!(output.json()["session"]["verdict"], "gone");
    assert_eq!(output.json()["session"]["session"], "s-1");
}

#[test]
fn wait_can_wait_for_a_session_that_is_not_there_yet() {
    let env = TestEnvironment::new();
    // One that ended does not count.
    let mut ended = env.live("ended", |document| document["name"] = "api".into());
    ended.process.kill();
    let late = env.jig(&["wait", "api", "--for", "appear", "--timeout", "0.2", "--json"]).exits(124);
    assert_eq!(late.error()["error"]["code"], "timeout");
    let wait = env.start(&["wait", "api", "--for", "appear", "--json"]);
    assert_eq!(wait.line_within(Duration::from_millis(300)), None, "it is not there yet");
    let _live = env.live("s-1", |document| {
        document["name"] = "api".into();
        document["state"] = "busy".into();
    });
    assert_eq!(wait.json_line()["session"]["session"], "s-1");
    wait.end().exits(0);
    env.jig(&["wait", "api", "--for", "appear"]).exits(0);
}

#[test]
fn whoever_follows_ends_with_its_reader() {
    let env = TestEnvironment::new();
    let _live = env.live("s-1", |_| ());
    for args in [&["watch", "--json"][..], &["watch"], &["live", "--watch", "--json", "--interval", "600"]] {
        let mut command = env.jig_command(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the program starts");
        let mut reader = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        // Without tmux `live` ends at once, with an error.
        let began = reader.read_line(&mut line).expect("a line") > 0;
        drop(reader);
        let code = eventually("its end, though nothing happens", || child.try_wait().expect("its state"));
        assert!(!began || code.success(), "{args:?}: {code}");
    }
}

#[test]
fn without_watches_it_says_so_and_still_sees_everything() {
    let env = TestEnvironment::new();
    let mut live = env.live("s-1", |_| ());
    // Descriptors enough for reading, and not for a watch.
    let script = format!("ulimit -n 5 && exec '{}' watch --json", env!("CARGO_BIN_EXE_jig-session"));
    let mut command = env.command("sh");
    command.args(["-c", &script]);
    let watch = Running::start(command);
    let note = watch.error_line();
    assert!(note.contains("cannot watch") && note.contains("every 2 s"), "{note}");
    assert_eq!(next(&watch, "added")["session"]["session"], "s-1");
    next(&watch, "ready");
    live.rewrite(|document| document["state"] = "busy".into());
    assert_eq!(next(&watch, "changed")["session"]["state"], "busy");
}

/// Whether a process has set its watches on files and waits for one of them to report.
fn is_asleep_over_its_watches(pid: u32) -> bool {
    let watches = fs::read_dir(format!("/proc/{pid}/fdinfo")).into_iter().flatten().flatten();
    let is_watching =
        watches.filter_map(|entry| fs::read_to_string(entry.path()).ok()).any(|text| text.contains("inotify wd:"));
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    is_watching && stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('S'))
}

/// A backup that moves the state folder away, and a restore: nothing that follows a session takes it for ended, and all
/// of it goes on where the path leads, within ten seconds.
#[test]
fn who_follows_goes_on_when_the_state_folder_is_moved_away_and_comes_back() {
    let env = TestEnvironment::new();
    let (agent, other) = (Sleeper::start(), Sleeper::start());
    let mut publish = env.start(&["publish", "--agent", "acme"]);
    let begin = json!({ "event": "session", "schema": 1, "session": "s-1", "pid": agent.pid(), "cwd": env.work() });
    publish.send(&begin.to_string());
    let file = env.sessions_dir().join("s-1.json");
    eventually("the file", || file.exists().then_some(()));
    for (id, pid) in [("m-1", agent.pid()), ("m-2", other.pid())] {
        env.jig(&["bus", "join", id, "--id", id, "--pid", &pid.to_string(), "--agent", "acme"]).exits(0);
    }
    let wait = env.start(&["wait", "s-1", "--for", "busy", "--json"]);
    let mail = env.start(&["bus", "wait", "--as", "m-1", "--json"]);
    let watch = env.start(&["watch", "--json"]);
    next(&watch, "added");
    next(&watch, "ready");
    for waiting in [&wait, &mail] {
        eventually("it has looked and waits", || is_asleep_over_its_watches(waiting.pid()).then_some(()));
    }

    let (state, away) = (env.state_dir(), env.state_dir().with_file_name("away"));
    fs::rename(&state, &away).expect("moved away");
    let moved = Instant::now();
    eventually("the session where the path leads", || file.exists().then_some(()));
    assert!(moved.elapsed() < Duration::from_secs(10 + 10), "ten seconds, and ten for a busy machine");
    next(&watch, "removed");
    next(&watch, "added");

    fs::rename(&state, state.with_file_name("meanwhile")).expect("what was made meanwhile is put aside");
    fs::rename(&away, &state).expect("restored");
    publish.send(r#"{"event":"turn","phase":"start"}"#);
    let done = wait.end().exits(0);
    assert_eq!(done.json()["session"]["state"], "busy");
    env.jig(&["bus", "send", "m-1", "hello", "--as", "m-2"]).exits(0);
    assert_eq!(mail.end().exits(0).json()["messages"][0]["preview"], "hello");
    let busy = eventually("the change", || Some(watch.json_line()).filter(|line| line["session"]["state"] == "busy"));
    assert_eq!(busy["session"]["session"], "s-1");
    publish.end().exits(0);
    assert!(!file.exists(), "the restored file goes with its session");
}
