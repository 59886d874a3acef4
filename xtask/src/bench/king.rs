//! pi-king's cards and call logs.

use std::process::Command;

use super::measure::{Run, What, pair};
use super::report::Report;
use super::world::{Sleepers, World, fill_calls, fill_cards};
use super::{Bench, peak};
use crate::run;

/// Call records of the metrics bench.
const RECORDS: usize = 100_000;

pub(super) fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    cards(bench, report)?;
    metrics(bench, report)
}

fn cards(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let sleepers = Sleepers::start(50)?;
    let node = Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success());
    if !node {
        report.skip("king", "the comparison with Node: node is not installed");
    }
    for (count, times, faster) in [(10, 20, 20.0), (100, 20, 20.0), (1000, 5, 4.0)] {
        let world = World::new("king", None)?;
        fill_cards(&world, &sleepers, count)?;
        let folder = world.king();
        let ours = Run::new(|| bench.programs.jig(&world, &["ls", "--json"]));
        let base = Run::new(|| bench.programs.baseline("read-files", &[&folder]));
        let raw = pair(&ours, &base, bench.rounds, times)?;
        report.ratio("king", &format!("ls of {count} cards against reading them"), &raw, What::Cpu, 1.8);
        if node {
            let base = Run::new(|| {
                let mut command = Command::new("node");
                command.arg(run::root().join("xtask/baselines/read-cards.mjs")).arg(&folder);
                command
            });
            let node = pair(&ours, &base, bench.rounds, times.min(5))?;
            for what in [What::Cpu, What::Wall] {
                report.speedup("king", &format!("ls of {count} cards against Node"), &node, what, faster);
            }
        }
    }
    Ok(())
}

fn metrics(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let (small, large) = (World::new("few", None)?, World::new("calls", None)?);
    let memory = |world: &World, records: usize| -> anyhow::Result<(std::path::PathBuf, f64)> {
        let logs = world.root().join("logs");
        fill_calls(&logs, records)?;
        let mut command = bench.programs.jig(world, &["king", "metrics", "--day", "2026-11-24", "--json"]);
        command.env("PI_KING_CALL_LOGS", &logs);
        Ok((logs, peak(&command)?))
    };
    let (_, few) = memory(&small, RECORDS / 10)?;
    let (logs, many) = memory(&large, RECORDS)?;
    report.at_most("king", &format!("memory of {RECORDS} records against a tenth"), many / few, "x", 1.5);
    let archive = large.root().join("state/king/usage.json");
    let ours = Run::new(|| {
        let mut command = bench.programs.jig(&large, &["king", "metrics", "--day", "2026-11-24", "--json"]);
        command.env("PI_KING_CALL_LOGS", &logs);
        command
    })
    // Without the archive every record is read.
    .before(|| {
        let _ = std::fs::remove_file(&archive);
        Ok(())
    });
    let base = Run::new(|| bench.programs.baseline("parse-records", &[&logs]));
    let pair = pair(&ours, &base, bench.rounds.min(5), 1)?;
    for what in [What::Cpu, What::Wall] {
        report.ratio("king", &format!("metrics of {RECORDS} records against parsing"), &pair, what, 2.5);
    }
    Ok(())
}
