//! A repository and sessions in it, each with a process of its own.

use std::path::PathBuf;

use serde_json::Value;

use crate::common::{Output, Sleeper, TestEnvironment};

pub(crate) struct Town {
    pub(crate) env: TestEnvironment,
}

/// A session that is on the bus under a label; its process ends with it.
pub(crate) struct Peer {
    pub(crate) id: String,
    pub(crate) process: Sleeper,
}

impl Town {
    pub(crate) fn new() -> Self {
        let env = TestEnvironment::new();
        for folder in [".git/objects", ".git/refs/heads", "src/api", "docs"] {
            std::fs::create_dir_all(env.work().join(folder)).expect("a folder");
        }
        std::fs::write(env.work().join(".git/HEAD"), "ref: refs/heads/main\n").expect("a file");
        Self { env }
    }

    /// Joins a session with a process of its own.
    pub(crate) fn peer(&self, label: &str) -> Peer {
        self.peer_with(label, &[])
    }

    pub(crate) fn peer_with(&self, label: &str, more: &[&str]) -> Peer {
        let peer = Peer { id: format!("s-{label}"), process: Sleeper::start() };
        let pid = peer.process.pid().to_string();
        let mut args = vec!["join", label, "--id", &peer.id, "--pid", &pid];
        args.extend(more);
        self.bus(&args).exits(0);
        peer
    }

    /// Runs a bus command as nobody in particular.
    pub(crate) fn bus(&self, args: &[&str]) -> Output {
        let mut all = vec!["--json", "bus"];
        all.extend(args);
        self.env.jig(&all)
    }

    /// Runs a bus command as a member.
    pub(crate) fn as_peer(&self, peer: &Peer, args: &[&str]) -> Output {
        let mut all = vec!["--json", "bus", "--as", &peer.id];
        all.extend(args);
        self.env.jig(&all)
    }

    pub(crate) fn text(&self, peer: &Peer, args: &[&str]) -> Output {
        let mut all = vec!["bus", "--as", &peer.id];
        all.extend(args);
        self.env.jig(&all)
    }

    /// The bus folder of this repository.
    pub(crate) fn folder(&self) -> PathBuf {
        let status = self.bus(&["status"]).json();
        self.env.state_dir().join("bus").join(status["repo"]["key"].as_str().expect("a key"))
    }

    /// A hook's payload of a session of this repository.
    pub(crate) fn payload(&self, session: &str, tool: &str, input: Value) -> Vec<u8> {
        serde_json::json!({
            "session_id": session,
            "cwd": self.env.work(),
            "tool_name": tool,
            "tool_input": input,
        })
        .to_string()
        .into_bytes()
    }
}

/// The texts in an `inbox` result.
pub(crate) fn texts(result: &Value) -> Vec<String> {
    let messages = result["messages"].as_array().expect("messages").iter();
    messages.map(|message| message["text"].as_str().expect("a text").to_owned()).collect()
}
