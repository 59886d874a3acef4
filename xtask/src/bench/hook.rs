//! One call of an agent's hook against a program that does nothing, and a listing that corrects what hooks have missed.

use std::fs;
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::Bench;
use super::measure::{Run, What, median, memory_folder, pair};
use super::report::Report;
use super::world::{Sleepers, World, fill_sessions};

/// Runs that are averaged in a round.
const TIMES: usize = 20;
/// Sessions beside the one that is called for.
const OTHERS: usize = 200;
/// Sessions whose hooks may have missed something.
const DRIVEN: usize = 60;
/// The end of a transcript that is read, in bytes.
const TAIL: usize = 64 << 10;

pub(super) fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let sleepers = Sleepers::start(50)?;
    let mut costs = Vec::new();
    for others in [0, OTHERS] {
        let world = World::new("hook", memory_folder())?;
        fill_sessions(&world, &sleepers, others)?;
        let call = |event: &str| {
            let payload = json!({
                "session_id": "bench", "hook_event_name": event, "cwd": world.work(), "tool_name": "Bash",
                "tool_use_id": "call-1", "tool_input": { "command": "cargo test", "description": "Runs the tests" },
            });
            Run::new(|| bench.programs.jig(&world, &["hook", "claude"])).input(payload.to_string())
        };
        call("SessionStart").cost(1)?;
        let begun = world.sessions().join("bench.json");
        ensure!(begun.exists(), "the hook did not publish");
        let nothing = Run::new(|| Command::new("/bin/true"));
        let pair = pair(&call("PreToolUse"), &nothing, bench.rounds, TIMES)?;
        report.ratio("hook", &format!("a tool's start, {others} other sessions"), &pair, What::Cpu, 2.5);
        // Against the same baseline: the two are measured one after the other, on a machine that may change meanwhile.
        costs.push(median(pair.ratios(What::Cpu)));
    }
    if let [alone, among] = costs.as_slice() {
        report.at_most("hook", &format!("{OTHERS} other sessions against none"), among / alone, "x", 1.15);
    }
    list(bench, report, &sleepers)
}

/// Sessions of Codex that look busy, each with a transcript that says that its turn was broken off.
fn list(bench: &Bench, report: &mut Report, sleepers: &Sleepers) -> anyhow::Result<()> {
    let world = World::new("driven", None)?;
    fill_sessions(&world, sleepers, DRIVEN)?;
    let line = |kind: &str, text: &str| json!({ "timestamp": "2026-11-29T18:18:48.000Z", "type": "event_msg", "payload": { "type": kind, "text": text } });
    let mut transcript = String::new();
    while transcript.len() < 2 * TAIL {
        transcript += &format!("{}\n", line("agent_message", &"lorem ipsum ".repeat(40)));
    }
    transcript += &format!("{}\n", line("turn_aborted", "interrupted"));
    for file in fs::read_dir(world.sessions())? {
        let path = file?.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let mut document: Value = serde_json::from_slice(&fs::read(&path)?).context("a status document")?;
        let rollout = world.work().join(path.file_name().context("a name")?);
        fs::write(&rollout, &transcript)?;
        document["agent"] = json!({ "name": "codex" });
        document["state"] = json!("busy");
        document["stateFrom"] = json!("hook:PreToolUse");
        document["transcript"] = json!(rollout);
        fs::write(&path, document.to_string())?;
    }
    let listed = bench.programs.jig(&world, &["ls", "--json"]).output()?;
    let document: Value = serde_json::from_slice(&listed.stdout).context("ls printed no document")?;
    let rows = document["sessions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let corrected = rows.iter().filter(|row| row["state"] == "idle" && row["stateFrom"] == "transcript").count();
    ensure!(corrected == DRIVEN, "{corrected} of {DRIVEN} sessions were corrected");
    let ls = Run::new(|| bench.programs.jig(&world, &["ls", "--json"]));
    let nothing = Run::new(|| Command::new("/bin/true"));
    let pair = pair(&ls, &nothing, bench.rounds, TIMES)?;
    let cost = median(pair.ours.iter().map(|cost| cost.cpu * 1000.0));
    report.at_most("hook", &format!("CPU of ls of {DRIVEN} sessions, each corrected"), cost, "ms", 20.0);
    Ok(())
}
