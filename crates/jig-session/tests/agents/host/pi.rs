//! The other side of the host: a bridge that answers as Pi's does, and can kill its host at any line.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::{DEADLINE, Sleeper, TestEnvironment};

/// The session every test is about.
pub(crate) const SESSION: &str = "0190-session";

/// A Pi that holds nothing but a bridge.
pub(crate) struct Pi<'a> {
    env: &'a TestEnvironment,
    process: Sleeper,
    host: Option<(Child, Receiver<String>)>,
    /// Tools declared to the model.
    pub(crate) active: Vec<String>,
    /// The session's entries.
    pub(crate) entries: Vec<Value>,
    /// What it was called with, in order.
    pub(crate) calls: Vec<Value>,
    /// Skills that are left out.
    pub(crate) hidden: Vec<String>,
    /// While these files are as they were seen, a prompt is not asked about.
    pub(crate) quiet: Option<Vec<Value>>,
    /// The answers to questions and calls of tools, by their id.
    pub(crate) results: HashMap<String, Value>,
    /// The host is killed when this line comes, and the line is not obeyed.
    pub(crate) kill_at: Option<fn(&Value) -> bool>,
    /// Hosts that were started.
    pub(crate) started: usize,
}

impl<'a> Pi<'a> {
    /// A Pi with its host, greeted.
    pub(crate) fn start(env: &'a TestEnvironment) -> Self {
        let active = ["read", "bash", "edit", "write"].map(String::from).to_vec();
        let mut pi = Self {
            env,
            process: Sleeper::start(),
            host: None,
            active,
            entries: Vec::new(),
            calls: Vec::new(),
            hidden: Vec::new(),
            quiet: None,
            results: HashMap::new(),
            kill_at: None,
            started: 0,
        };
        pi.host("startup");
        pi
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub(crate) fn host_pid(&self) -> Option<u32> {
        self.host.as_ref().map(|(child, _)| child.id())
    }

    /// Starts a host and greets it.
    pub(crate) fn host(&mut self, reason: &str) {
        let mut command = self.env.jig_command(&["host"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the host starts");
        let (sender, lines) = channel();
        let out = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        self.host = Some((child, lines));
        self.started += 1;
        let tools: Vec<_> = ["read", "bash", "edit", "write", "grep"]
            .iter()
            .map(|name| json!({ "name": name, "exposure": "direct", "source": "builtin" }))
            .collect();
        let secret = json!({ "name": "secret", "exposure": "hidden", "source": "builtin" });
        let all = [tools, vec![secret]].concat();
        let skills: Vec<_> = (0..4).map(|number| format!("skill-{number}")).collect();
        let hello = json!({ "t": "hello", "protocol": 1, "reason": reason, "pid": self.pid(), "cwd": self.env.work(), "mode": "rpc",
            "pi": "1.6.0", "session": SESSION, "file": "/home/dev/.pi/agent/sessions/x/y.jsonl", "leaf": null, "name": null,
            "model": { "provider": "acme", "id": "m-2", "name": "M 2", "contextWindow": 1000 }, "thinking": "low", "usage": null,
            "active": self.active, "tools": all, "skills": skills });
        self.send(&hello);
    }

    /// Says a line. A host that is gone hears nothing.
    pub(crate) fn send(&mut self, line: &Value) {
        if let Some((child, _)) = &mut self.host
            && let Some(pipe) = &mut child.stdin
        {
            let _ = pipe.write_all(format!("{line}\n").as_bytes());
        }
    }

    /// An event of Pi's.
    pub(crate) fn event(&mut self, event: &str, data: &Value) {
        self.send(&json!({ "t": "event", "event": event, "data": data, "idle": true, "pending": false }));
    }

    /// Obeys the next line that comes within a moment; false when none came.
    pub(crate) fn step(&mut self) -> bool {
        let Some((_, lines)) = &self.host else { return false };
        let line = match lines.recv_timeout(Duration::from_millis(5)) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return false,
        };
        let line: Value = serde_json::from_str(&line).expect("the host writes JSON");
        if self.kill_at.is_some_and(|kill| kill(&line)) {
            self.kill_at = None;
            self.kill();
            return true;
        }
        self.obey(&line);
        true
    }

    /// Obeys until something holds.
    pub(crate) fn until<T>(&mut self, what: &str, mut ask: impl FnMut(&Self) -> Option<T>) -> T {
        let end = Instant::now() + DEADLINE;
        loop {
            if let Some(answer) = ask(self) {
                return answer;
            }
            assert!(Instant::now() < end, "this never came: {what}; calls: {:?}", self.calls);
            self.step();
        }
    }

    fn obey(&mut self, line: &Value) {
        match line["op"].as_str().unwrap_or_default() {
            "entries" => {
                let answer = json!({ "t": "entries", "id": line["id"], "entries": self.entries, "more": false });
                self.send(&answer);
            }
            "quiet" => self.quiet = line["files"].as_array().cloned(),
            "result" => {
                drop(self.results.insert(line["id"].as_str().unwrap_or_default().into(), line["result"].clone()))
            }
            "skills" => self.hidden = strings(&line["hidden"]),
            "call" => {
                self.calls.push(line.clone());
                let result = self.call(line);
                if !line["id"].is_null() {
                    self.send(&json!({ "t": "return", "id": line["id"], "result": result }));
                }
            }
            _ => {}
        }
    }

    fn call(&mut self, line: &Value) -> Value {
        match line["fn"].as_str().unwrap_or_default() {
            "pi.getActiveTools" => json!(self.active),
            "pi.setActiveTools" => {
                self.active = strings(&line["args"][0]);
                Value::Null
            }
            "pi.appendEntry" => {
                let entry =
                    json!({ "id": "e", "type": "custom", "customType": line["args"][0], "data": line["args"][1] });
                self.entries.push(entry);
                Value::Null
            }
            "ctx.isIdle" => json!(true),
            _ => Value::Null,
        }
    }

    /// How often a function was called.
    pub(crate) fn count(&self, function: &str) -> usize {
        self.calls.iter().filter(|call| call["fn"] == function).count()
    }

    /// Kills the host as a crash would.
    pub(crate) fn kill(&mut self) {
        if let Some((mut child, _)) = self.host.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Kills the host and starts the next, as the bridge does.
    pub(crate) fn restart(&mut self) {
        self.kill();
        self.host("restart");
    }

    /// The host's end, as the bridge waits for it.
    pub(crate) fn ended(&mut self) {
        let Some((mut child, _)) = self.host.take() else { return };
        drop(child.stdin.take());
        let end = Instant::now() + DEADLINE;
        while child.try_wait().expect("the host is ours").is_none() {
            assert!(Instant::now() < end, "the host never ended");
            thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Pi<'_> {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A list of texts.
pub(crate) fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
