//! The host at the other end of Pi's bridge: what a turn costs it, and its memory.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::Bench;
use super::measure::{median, process_cpu, quantile, status_mib};
use super::report::Report;
use super::world::{Sleepers, World};

/// Tool calls of the turn.
const CALLS: usize = 100;
/// Turns over which the CPU time is averaged: it is told in steps of 10 ms.
const TURNS: usize = 20;

pub(super) fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let sleepers = Sleepers::start(1)?;
    let world = World::new("host", None)?;
    let transcript = world.work().join("sessions/--work--/2026-11-29T18-18-47-855Z_s-1.jsonl");
    std::fs::create_dir_all(transcript.parent().context("it lies in a folder")?)?;
    // The host must not read it: a session's transcript grows without limit.
    std::fs::write(&transcript, vec![b'x'; 50 << 20])?;
    let mut command = bench.programs.jig(&world, &["host"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut stdin = child.stdin.take().context("stdin is a pipe")?;
    let mut lines = BufReader::new(child.stdout.take().context("stdout is a pipe")?).lines();
    send(
        &mut stdin,
        &json!({
            "t": "hello", "protocol": 1, "bridge": "bench", "pi": "1.6.0", "reason": "startup", "pid": sleepers.pid(0),
            "cwd": world.work(), "mode": "tui", "session": "s-1", "file": transcript, "leaf": null, "name": null,
            "model": { "provider": "fake", "id": "m", "name": "M", "contextWindow": 100_000 }, "thinking": "low",
            "usage": { "tokens": 0, "contextWindow": 100_000, "percent": 0 },
            "active": ["read", "bash", "edit", "write"], "skills": [],
            "tools": [{ "name": "read", "exposure": "direct", "source": "builtin" },
                      { "name": "bash", "exposure": "direct", "source": "builtin" },
                      { "name": "edit", "exposure": "direct", "source": "builtin" },
                      { "name": "write", "exposure": "direct", "source": "builtin" }],
        }),
    )?;
    // It greets, asks for the session's entries and whether Pi is idle; then prompts are answered at once.
    let greeted = Instant::now();
    let mut asked = 0;
    while asked < 2 {
        ensure!(greeted.elapsed() < Duration::from_secs(10), "the host does not greet");
        let line: Value = serde_json::from_str(&lines.next().context("the host has ended")??)?;
        match line["op"].as_str().unwrap_or_default() {
            "entries" => {
                send(&mut stdin, &json!({ "t": "entries", "id": line["id"], "entries": [], "more": false }))?;
                asked += 1;
            }
            "call" => {
                send(&mut stdin, &json!({ "t": "return", "id": line["id"], "result": true }))?;
                asked += 1;
            }
            _ => {}
        }
    }
    let mut trips = Vec::new();
    let mut trip = |stdin: &mut ChildStdin, id: usize| -> anyhow::Result<()> {
        let start = Instant::now();
        let id = format!("p{id}");
        send(stdin, &json!({ "t": "prompt", "id": id, "messageType": "user", "skills": [], "promptChars": 100 }))?;
        loop {
            let line: Value = serde_json::from_str(&lines.next().context("the host has ended")??)?;
            if line["op"] == "result" && line["id"] == id.as_str() {
                trips.push(start.elapsed().as_secs_f64() * 1000.0);
                return Ok(());
            }
        }
    };
    trip(&mut stdin, 0)?;
    let before = process_cpu(child.id())?;
    for turn in 0..TURNS {
        one_turn(&mut stdin, turn)?;
        trip(&mut stdin, turn + 1)?;
    }
    let cpu = (process_cpu(child.id())? - before) * 1000.0 / TURNS as f64;
    for index in 0..500 {
        trip(&mut stdin, 1000 + index)?;
    }
    let memory = status_mib(child.id(), "VmHWM")?;
    drop(stdin);
    child.wait()?;
    trips.drain(..=TURNS);
    trips.sort_by(f64::total_cmp);
    report.at_most("host", &format!("CPU of a turn with {CALLS} tool calls"), cpu, "ms", 50.0);
    report.at_most("host", "round trip of a question, p99", quantile(&trips, 0.99), "ms", 1.0);
    report.at_most("host", "round trip of a question, median", median(trips), "ms", 1.0);
    report.at_most("host", "memory, transcript of 50 MB", memory, "MiB", 8.0);
    Ok(())
}

fn one_turn(stdin: &mut ChildStdin, turn: usize) -> anyhow::Result<()> {
    let at = 1_796_000_000_000_u64 + turn as u64 * 60_000;
    let usage = json!({ "tokens": 1000, "contextWindow": 100_000, "percent": 1 });
    let event = |name: &str, at: u64, data: Value, idle: bool| json!({ "t": "event", "event": name, "at": at, "data": data, "idle": idle, "pending": false, "usage": usage });
    send(stdin, &event("agent_start", at, json!({}), false))?;
    for call in 0..CALLS {
        let (id, at) = (format!("t{turn}-{call}"), at + call as u64 * 100);
        let start =
            json!({ "toolCallId": id, "toolName": "edit", "args": { "path": format!("src/f{}.rs", call % 30) } });
        send(stdin, &event("tool_execution_start", at, start, false))?;
        let end = json!({ "toolCallId": id, "toolName": "edit", "isError": false, "durationMs": 50 });
        send(stdin, &event("tool_execution_end", at + 50, end, false))?;
    }
    let message = json!({ "message": { "role": "assistant", "provider": "fake", "model": "m", "stopReason": "stop",
        "usage": { "input": 100, "output": 10, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 110,
                   "cost": { "total": 0.001 } } } });
    send(stdin, &event("message_end", at + 20_000, message, false))?;
    send(stdin, &event("agent_settled", at + 20_001, json!({ "aborted": false }), true))
}

fn send(stdin: &mut ChildStdin, line: &Value) -> anyhow::Result<()> {
    writeln!(stdin, "{line}")?;
    stdin.flush().context("the host reads its stdin")
}
