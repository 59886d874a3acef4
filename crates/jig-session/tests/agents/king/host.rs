//! The card that the host writes for a Pi session when its user asks for it.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{card, put, sessions};
use crate::common::{Running, Sleeper, TestEnvironment, eventually, skipped};

const ID: &str = "019fb27c-6804-7fa5-96f3-e63e610950c7";

/// A Pi with its host: the process that the bridge would run in, and the host on its stdio.
struct Session<'a> {
    env: &'a TestEnvironment,
    pi: &'a Sleeper,
    host: Running,
    wants: Value,
}

impl<'a> Session<'a> {
    fn start(env: &'a TestEnvironment, pi: &'a Sleeper, reason: &str, mode: &str) -> Self {
        let mut host = env.start(&["host"]);
        let file = env.home().join(format!(".pi/agent/sessions/--work--/2026-11-29T17-43-44-391Z_{ID}.jsonl"));
        let hello = json!({
            "t": "hello", "protocol": 1, "bridge": "test", "pi": "1.6.0", "reason": reason, "pid": pi.pid(),
            "cwd": env.work(), "mode": mode, "session": ID, "file": file, "leaf": null, "name": null,
            "model": { "provider": "fake", "id": "m-2", "name": "M 2", "contextWindow": 100_000 }, "thinking": "low",
            "usage": { "tokens": 0, "contextWindow": 100_000, "percent": 0 }, "active": ["read"], "skills": [],
            "tools": [{ "name": "read", "exposure": "direct", "source": "builtin" }],
        });
        host.send(&hello.to_string());
        let mut wants = Value::Null;
        let (mut entries, mut idle) = (false, false);
        // It greets, asks for the entries and whether Pi is idle; the order is its own.
        while wants.is_null() || !entries || !idle {
            let line = host.json_line();
            match line["op"].as_str().unwrap() {
                "ready" => wants = line.get("want").cloned().unwrap_or_else(|| json!([])),
                "entries" => {
                    entries = true;
                    host.send(&json!({ "t": "entries", "id": line["id"], "entries": [], "more": false }).to_string());
                }
                "call" => {
                    idle = true;
                    host.send(&json!({ "t": "return", "id": line["id"], "result": true }).to_string());
                }
                other => panic!("not expected yet: {other}"),
            }
        }
        Self { env, pi, host, wants }
    }

    fn event(&mut self, name: &str, data: &Value, idle: bool) {
        let at = super::now_ms();
        let usage = json!({ "tokens": 12_000, "contextWindow": 100_000, "percent": 12 });
        let line = json!({ "t": "event", "event": name, "at": at, "data": data, "idle": idle, "pending": false, "usage": usage });
        self.host.send(&line.to_string());
    }

    fn prompt(&mut self, text: &str) {
        let line =
            json!({ "t": "prompt", "id": "p", "messageType": "user", "skills": [], "promptChars": 5, "text": text });
        self.host.send(&line.to_string());
        self.event("agent_start", &json!({}), false);
    }

    fn settle(&mut self, stop: &str) {
        let usage = json!({ "input": 10, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 11, "cost": { "total": 0.1 } });
        let message = json!({ "message": { "role": "assistant", "provider": "fake", "model": "m-2", "stopReason": stop, "usage": usage } });
        self.event("message_end", &message, false);
        self.event("agent_settled", &json!({ "aborted": false }), true);
    }

    fn bus(&mut self, event: &str, id: &str) {
        let line =
            json!({ "t": "bus", "event": event, "data": { "id": id, "type": "Explore" }, "at": super::now_ms() });
        self.host.send(&line.to_string());
    }

    fn bye(mut self, reason: &str) {
        self.host.send(&json!({ "t": "bye", "reason": reason }).to_string());
        self.host.end();
    }

    /// Waits until the card says this, and gives it.
    fn shows(&self, status: &str, activity: &str) -> Value {
        eventually(&format!("{status}: {activity}; now {:?}", read(self.env)), || {
            read(self.env).filter(|card| card["status"] == status && card["activity"] == activity)
        })
    }
}

fn file(env: &TestEnvironment) -> PathBuf {
    env.home().join(".pi/king/session-status").join(format!("{ID}.json"))
}

fn read(env: &TestEnvironment) -> Option<Value> {
    serde_json::from_slice(&fs::read(file(env)).ok()?).ok()
}

fn log(env: &TestEnvironment) -> String {
    fs::read_to_string(env.state_dir().join("log/jig-session.log")).unwrap_or_default()
}

#[test]
fn without_being_asked_no_card_is_written() {
    for value in [None, Some("0"), Some("yes")] {
        let env = TestEnvironment::new();
        if let Some(value) = value {
            env.set("JIG_SESSION_KING", value);
        }
        let pi = Sleeper::start();
        let mut session = Session::start(&env, &pi, "startup", "tui");
        assert_eq!(session.wants, json!([]), "no prompt is asked for");
        session.prompt("secret");
        session.settle("stop");
        session.bye("quit");
        assert!(!env.home().join(".pi/king").exists(), "{value:?}");
    }
}

#[test]
fn a_turn_on_the_card_which_goes_with_its_session() {
    let env = TestEnvironment::new();
    env.set("JIG_SESSION_KING", "1");
    let pi = Sleeper::start();
    let mut session = Session::start(&env, &pi, "startup", "tui");
    assert_eq!(session.wants, json!(["prompt"]));
    let first = session.shows("idle", "Session started.");
    assert_eq!(
        (&first["visible"], &first["isFork"], &first["pid"]),
        (&json!(false), &json!(false), &json!(session.pi.pid()))
    );
    assert_eq!((&first["model"], first["startedAt"].is_u64()), (&json!("m-2"), true));
    let text = fs::read_to_string(file(&env)).unwrap();
    assert!(
        text.starts_with("{\n  \"formatVersion\": 1,\n  \"id\": ") && text.ends_with("\n}") && !text.contains("null"),
        "{text}"
    );

    session.prompt("fix the\nparser");
    session.shows("working", "fix the\nparser");
    session.settle("stop");
    let settled = session.shows("idle", "Done: fix the\nparser");
    assert!(settled["lastActivity"].as_u64() > first["lastActivity"].as_u64());

    // Both files of the session are one row, told by the one that knows more; the card is listed by its own command.
    let ls = env.jig(&["ls", "--all", "--json"]).exits(0).json();
    assert_eq!((sessions(&ls), &ls["sessions"][0]["source"]), (vec![ID], &json!("jig")));
    assert_eq!(sessions(&env.jig(&["king", "ls", "--all", "--json"]).exits(0).json()), [ID]);
    session.bye("quit");
    assert!(!file(&env).exists());
    assert!(fs::read_dir(file(&env).parent().unwrap()).unwrap().next().is_none(), "nothing is left");
}

#[test]
fn a_listed_card_stays_as_exited_however_pi_ends() {
    for bye in [true, false] {
        let env = TestEnvironment::new();
        env.set("JIG_SESSION_KING", "visible");
        let pi = Sleeper::start();
        let mut session = Session::start(&env, &pi, "startup", "tui");
        session.prompt("do it");
        session.settle("stop");
        assert_eq!(session.shows("idle", "Done: do it")["visible"], json!(true));
        if bye {
            session.bye("quit")
        } else {
            drop(session.host.end())
        }
        let left = read(&env).unwrap();
        assert_eq!(
            (&left["status"], &left["activity"], &left["visible"]),
            (&json!("exited"), &json!("Session ended."), &json!(true))
        );
    }
}

#[test]
fn only_what_was_begun_in_a_terminal_is_listed() {
    let env = TestEnvironment::new();
    env.set("JIG_SESSION_KING", "1").set("PI_DASHBOARD_SPAWNED", "1");
    let pi = Sleeper::start();
    let session = Session::start(&env, &pi, "startup", "tui");
    assert_eq!(session.shows("idle", "Session started.")["visible"], json!(true), "a dashboard began it");
    session.bye("quit");

    let env = TestEnvironment::new();
    env.set("JIG_SESSION_KING", "visible");
    let session = Session::start(&env, &pi, "startup", "rpc");
    assert_eq!(session.shows("idle", "Session started.")["visible"], json!(false));
}

#[test]
fn a_reload_goes_on_and_another_session_begins_anew() {
    let env = TestEnvironment::new();
    env.set("JIG_SESSION_KING", "visible");
    let pi = Sleeper::start();
    let mut session = Session::start(&env, &pi, "startup", "tui");
    session.bus("subagents:started", "a1");
    session.prompt("do it");
    session.settle("stop");
    let before = session.shows("background", "Done: do it");
    session.bye("reload");
    assert_eq!(read(&env).unwrap(), before, "a reload is not an end");

    let session = Session::start(&env, &pi, "reload", "tui");
    let after = session.shows("background", "Done: do it");
    assert_eq!((&after["subagents"], &after["startedAt"]), (&before["subagents"], &before["startedAt"]));
    session.bye("quit");

    // The ended session begins again: its user had asked to see it, and nothing else is remembered.
    env.set("JIG_SESSION_KING", "1");
    let session = Session::start(&env, &pi, "resume", "tui");
    let again = session.shows("idle", "Session started.");
    assert_eq!((&again["visible"], &again["subagents"]), (&json!(true), &json!([])));
}

#[test]
fn subagents_errors_and_ceilings() {
    let env = TestEnvironment::new();
    env.set("JIG_SESSION_KING", "1");
    let pi = Sleeper::start();
    let mut session = Session::start(&env, &pi, "startup", "tui");
    session.prompt("do it");
    session.bus("subagents:created", "a1");
    session.settle("stop");
    let card = session.shows("background", "Done: do it");
    assert_eq!(
        (&card["subagents"][0]["status"], &card["subagents"][0]["agentType"]),
        (&json!("queued"), &json!("Explore"))
    );
    session.bus("subagents:completed", "a1");
    let card = session.shows("attention", "Done: do it");
    assert!(card["subagents"][0]["completedAt"].is_u64());
    session.prompt("again");
    session.shows("working", "again");
    session.settle("error");
    session.shows("error", "The last turn failed.");
    session.prompt("more");
    session.shows("working", "more");
}

#[test]
fn a_live_owner_keeps_its_card_and_is_named_once() {
    let env = TestEnvironment::new();
    env.set("JIG_SESSION_KING", "visible");
    let other = Sleeper::start();
    put(&env, &card(ID, other.pid()));
    let before = fs::read(file(&env)).unwrap();
    let pi = Sleeper::start();
    let mut session = Session::start(&env, &pi, "resume", "tui");
    session.prompt("one");
    session.settle("stop");
    session.prompt("two");
    session.settle("stop");
    session.bye("quit");
    assert_eq!(fs::read(file(&env)).unwrap(), before);
    let said = log(&env).lines().filter(|line| line.contains(&format!("live process {}", other.pid()))).count();
    assert_eq!(said, 1, "{}", log(&env));
}

#[test]
fn pi_kings_own_extension_in_the_same_pi_is_not_fought() {
    let env = TestEnvironment::new();
    env.set("JIG_SESSION_KING", "1");
    let pi = Sleeper::start();
    put(&env, &card(ID, pi.pid()));
    let before = fs::read(file(&env)).unwrap();
    let mut session = Session::start(&env, &pi, "startup", "tui");
    session.prompt("one");
    session.settle("stop");
    session.bye("quit");
    assert_eq!(fs::read(file(&env)).unwrap(), before);
    assert_eq!(log(&env).lines().filter(|line| line.contains("pi-king keeps the card")).count(), 1, "{}", log(&env));
}

#[test]
fn other_agents_never_have_a_card() {
    let env = TestEnvironment::new();
    env.set("JIG_SESSION_KING", "visible");
    let agent = Sleeper::start();
    let mut publish = env.start(&["publish", "--agent", "pi"]);
    publish.send(&json!({ "event": "session", "schema": 1, "session": ID, "pid": agent.pid() }).to_string());
    publish.send(&json!({ "event": "turn", "phase": "start" }).to_string());
    eventually("the status file", || env.sessions_dir().join(format!("{ID}.json")).exists().then_some(()));
    publish.end();
    assert!(!env.home().join(".pi/king").exists());
}

/// A tmux server that nobody is attached to.
struct Tmux(PathBuf);

impl Tmux {
    fn start(env: &TestEnvironment) -> Option<Self> {
        let socket = env.root().join("tmux.sock");
        let mut command = env.command("tmux");
        command.args(["-f", "/dev/null", "-S"]).arg(&socket).args(["new-session", "-d", "sleep 600"]);
        let started = command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success());
        started.then_some(Self(socket))
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&self.0).arg("kill-server").stdout(Stdio::null()).stderr(Stdio::null());
        let _ = command.status();
    }
}

#[test]
fn a_turn_that_settles_while_nobody_is_attached_wants_attention() {
    let env = TestEnvironment::new();
    let Some(tmux) = Tmux::start(&env) else {
        return skipped(
            "a_turn_that_settles_while_nobody_is_attached_wants_attention",
            "no tmux server can be started",
        );
    };
    env.set("JIG_SESSION_KING", "1").set("TMUX", format!("{},1,0", tmux.0.display())).set("TMUX_PANE", "%0");
    let pi = Sleeper::start();
    let mut session = Session::start(&env, &pi, "startup", "tui");
    session.prompt("do it");
    session.settle("stop");
    session.shows("attention", "Done: do it");
    session.prompt("more");
    session.shows("working", "more");
}
