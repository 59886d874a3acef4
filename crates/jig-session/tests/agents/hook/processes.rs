//! Whose session it is: two processes with one, one process with several, one process for many terminals.

use serde_json::{Value, json};

use super::{file, names, row};
use crate::common::{Running, TestEnvironment, install_program, program};

/// A live program of an agent's name, which calls a hook for each payload that it is sent.
struct Agent<'a> {
    env: &'a TestEnvironment,
    running: Running,
}

impl<'a> Agent<'a> {
    fn start(env: &'a TestEnvironment, name: &str, argument: &str) -> Self {
        // A shell by another name: the process above the hook is the agent's, and no shell.
        let place = env.work().join(name);
        if !place.exists() {
            install_program("/bin/sh".as_ref(), &place);
        }
        let script = format!("while read -r line; do printf %s \"$line\" | \"$J\" hook {name}; echo done; done\n");
        std::fs::write(env.work().join(argument), script).expect("written");
        let mut command = env.command(&place);
        command.arg(argument).env("J", program());
        Self { env, running: Running::start(command) }
    }

    fn pid(&self) -> Value {
        self.running.pid().into()
    }

    /// Calls the hook; gives the session's file as it is then.
    fn hears(&mut self, event: &str, session: &str, more: &Value) -> Value {
        let mut payload = json!({ "session_id": session, "cwd": self.env.work(), "hook_event_name": event });
        for (key, value) in more.as_object().into_iter().flatten() {
            payload[key] = value.clone();
        }
        self.running.send(&payload.to_string());
        assert_eq!(self.running.line(), "done", "the hook itself prints nothing");
        file(self.env, session)
    }
}

/// The names of the status files there are.
fn documents(env: &TestEnvironment) -> Vec<String> {
    let names = names(&env.sessions_dir()).into_iter();
    names.filter_map(|name| name.strip_suffix(".json").map(str::to_owned)).collect()
}

#[test]
fn of_two_live_processes_with_one_session_the_newer_has_the_file() {
    let env = TestEnvironment::new();
    let mut first = Agent::start(&env, "claude", "loop");
    let began = first.hears("SessionStart", "s-1", &json!({ "source": "startup" }));
    assert_eq!(began["pid"], first.pid());
    let mut second = Agent::start(&env, "claude", "loop");
    let resumed = second.hears("SessionStart", "s-1", &json!({ "source": "resume" }));
    assert_eq!(resumed["pid"], second.pid());
    // The older works on under the longer name: what it does is not the newer's.
    let newer = first.hears("UserPromptSubmit", "s-1", &json!({}));
    assert_eq!((&newer["pid"], &newer["state"]), (&second.pid(), &"idle".into()));
    first.hears("Stop", "s-1", &json!({}));
    assert!(documents(&env).iter().all(|name| file(&env, name)["state"] == "idle"), "each has settled");
    let after = first.hears("SessionEnd", "s-1", &json!({ "reason": "prompt_input_exit" }));
    assert_eq!(after["pid"], second.pid(), "the older one's end takes nothing from the newer");
    assert_eq!(documents(&env), ["s-1"]);
    assert_eq!(row(&env)["verdict"], "alive");
    assert_eq!(second.hears("UserPromptSubmit", "s-1", &json!({}))["state"], "busy");
    assert_eq!(second.hears("SessionEnd", "s-1", &json!({ "reason": "other" })), Value::Null);
    assert_eq!(second.hears("Stop", "s-1", &json!({})), Value::Null, "a late end makes no file");
    assert_eq!(documents(&env), Vec::<String>::new());
}

#[test]
fn clear_and_fork_change_the_session_and_compact_and_resume_keep_it() {
    let env = TestEnvironment::new();
    let mut agent = Agent::start(&env, "claude", "loop");
    agent.hears("SessionStart", "s-1", &json!({ "source": "startup" }));
    agent.hears("UserPromptSubmit", "s-1", &json!({}));
    agent.hears("PreCompact", "s-1", &json!({ "trigger": "auto" }));
    let compacted = agent.hears("SessionStart", "s-1", &json!({ "source": "compact" }));
    assert_eq!(compacted["state"], "busy", "a compaction amid a turn does not end it");
    assert_eq!(agent.hears("Stop", "s-1", &json!({}))["state"], "idle");

    assert_eq!(agent.hears("SessionEnd", "s-1", &json!({ "reason": "clear" })), Value::Null);
    let cleared = agent.hears("SessionStart", "s-2", &json!({ "source": "clear" }));
    assert_eq!((&cleared["state"], &cleared["pid"]), (&"idle".into(), &agent.pid()));
    assert_eq!(documents(&env).len(), 1);

    // A fork into the background is a process of its own beside the one that it left.
    let mut forked = Agent::start(&env, "claude", "loop");
    let fork = forked.hears("SessionStart", "s-3", &json!({ "source": "fork" }));
    assert_eq!(fork["pid"], forked.pid());
    assert_eq!(file(&env, "s-2")["pid"], agent.pid());

    let resumed = agent.hears("SessionStart", "s-4", &json!({ "source": "resume" }));
    assert_eq!((&resumed["pid"], file(&env, "s-2")), (&agent.pid(), Value::Null), "the session before it is left");
    assert_eq!(documents(&env).len(), 2);
}

#[test]
fn sessions_of_a_shared_server_have_no_terminal_and_are_never_proved() {
    let env = TestEnvironment::new();
    env.set("TMUX", "/tmp/tmux-0/default,1,0").set("TMUX_PANE", "%1");
    let mut server = Agent::start(&env, "codex", "app-server");
    for session in ["c-1", "c-2"] {
        let status = server.hears("UserPromptSubmit", session, &json!({}));
        assert_eq!(status["process"]["shared"], true, "{status}");
        assert_eq!((&status["terminal"], &status["pid"]), (&Value::Null, &server.pid()), "{status}");
    }
    assert_eq!(file(&env, "c-1")["state"], "busy", "the one's prompt ends nothing of the other");
    let rows = env.jig(&["ls", "--json"]).exits(0).json()["sessions"].clone();
    let verdicts: Vec<&str> = rows.as_array().into_iter().flatten().filter_map(|row| row["verdict"].as_str()).collect();
    assert_eq!(verdicts, ["unverified", "unverified"]);
    assert_eq!(server.hears("Interrupt", "c-1", &json!({}))["state"], "idle");
    assert_eq!(file(&env, "c-2")["state"], "busy");
    // One process: the same hooks without the server's word name the process and its terminal.
    let mut alone = Agent::start(&env, "codex", "exec");
    let status = alone.hears("UserPromptSubmit", "c-3", &json!({}));
    assert_eq!((&status["process"]["shared"], &status["pid"]), (&Value::Null, &alone.pid()), "{status}");
}
