//! The `king` commands from outside: cards listed and dismissed, the layout edited, call logs measured.

mod host;
mod hostile;
mod layout;
mod list;
mod metrics;
mod replay;

use serde_json::{Value, json};

use crate::common::{Sleeper, TestEnvironment, now_ms};

/// A card as pi-king writes it, of a process that began a minute ago.
fn card(id: &str, pid: u32) -> Value {
    let now = now_ms();
    json!({
        "formatVersion": 1, "id": id, "name": "billing", "cwd": "/home/dev/app", "project": "app", "model": "m-2",
        "pid": pid, "startedAt": (now - 60_000) as f64 + 0.0735, "lastActivity": now, "status": "idle",
        "activity": "Done: fix it", "title": "● billing", "sessionFile": "/home/dev/.pi/agent/sessions/x.jsonl",
        "subagents": [], "visible": true, "contextPct": 12, "isFork": false,
    })
}

/// Writes a card under its own id.
fn put(env: &TestEnvironment, card: &Value) {
    put_as(env, card["id"].as_str().unwrap(), card.to_string().as_bytes());
}

fn put_as(env: &TestEnvironment, name: &str, bytes: &[u8]) {
    crate::common::replace(&env.king_dir().join(format!("{name}.json")), bytes);
}

/// A pid that no process has: a child that ended and was reaped.
fn dead_pid() -> u32 {
    let mut process = Sleeper::start();
    process.kill();
    process.pid()
}

/// The ids of a listing, in its order.
fn sessions(document: &Value) -> Vec<&str> {
    document["sessions"].as_array().unwrap().iter().map(|row| row["session"].as_str().unwrap()).collect()
}
