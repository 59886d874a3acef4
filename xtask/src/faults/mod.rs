//! `cargo xtask faults [--short] [--only NAME]`: every operation that writes, killed before each of its calls, with each
//! call failing in every way, on a full and on a read-only file system, and raced by readers and other writers.
//!
//! Nothing may be torn, lost or left behind, nothing may panic, and every failure is told with its path and errno.

mod bus;
mod crowds;
mod ends;
mod interrupt;
mod live;
mod operations;
mod properties;
mod race;
mod scene;
mod starve;
mod strace;

use std::process::ExitCode;
use std::time::Instant;

use crate::run::say;

/// What was found so far.
pub(crate) struct Report {
    passed: usize,
    failed: usize,
    skipped: usize,
    begun: Instant,
}

impl Report {
    /// One check, and what is wrong with it: nothing, or a few lines.
    pub(crate) fn check(&mut self, about: &str, wrong: Vec<String>) {
        let seconds = self.begun.elapsed().as_secs_f64();
        if wrong.is_empty() {
            self.passed += 1;
            say(&format!("ok     {seconds:6.1} s  {about}"));
            return;
        }
        self.failed += 1;
        say(&format!("FAILED {seconds:6.1} s  {about}: {} wrong", wrong.len()));
        for line in wrong.iter().take(12) {
            say(&format!("         {line}"));
        }
    }

    /// A check that cannot run here, and why.
    pub(crate) fn skip(&mut self, name: &str, why: &str) {
        self.skipped += 1;
        say(&format!("SKIPPED faults {name}: {why}"));
    }
}

/// The parts, in their order: what `--only` can name besides an operation.
const PARTS: [&str; 8] = ["interrupt", "starve", "race", "properties", "power", "crowds", "soak", "ends"];

/// Runs the task.
pub(crate) fn run(args: &[String]) -> anyhow::Result<ExitCode> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (short, only) = match args.as_slice() {
        // The same program once more, inside a mount namespace of its own.
        ["starve-inside", folder] => return starve::inside(folder),
        [] => (false, None),
        ["--short"] => (true, None),
        ["--only", name] => (false, Some(*name)),
        ["--short", "--only", name] | ["--only", name, "--short"] => (true, Some(*name)),
        _ => anyhow::bail!("usage: cargo xtask faults [--short] [--only PART-OR-OPERATION]"),
    };
    let known = |name: &str| PARTS.contains(&name) || operations::all().any(|one| one.name == name);
    anyhow::ensure!(only.is_none_or(known), "there is no such part or operation");
    let wanted = |part: &str| only.is_none_or(|name| name == part);

    let programs = scene::Programs::build()?;
    let mut report = Report { passed: 0, failed: 0, skipped: 0, begun: Instant::now() };
    let operation = only.filter(|name| !PARTS.contains(name));
    if wanted("interrupt") || operation.is_some() {
        if strace::is_there() {
            interrupt::run(&programs, operation, short, &mut report)?;
        } else {
            report.skip("interrupt", "strace is not installed: apt-get install strace");
        }
    }
    if wanted("starve") {
        starve::run(&mut report)?;
    }
    if wanted("race") {
        race::run(&programs, short, &mut report)?;
    }
    if wanted("power") && !short {
        bus::power_cut(&programs, &mut report)?;
    }
    // In the short form they are part of `cargo test`, with a few hundred cases each.
    if wanted("properties") && !short {
        properties::run(&mut report)?;
    }
    // Likewise, with a few workers each.
    if wanted("crowds") && !short {
        crowds::run(&mut report)?;
    }
    // In the long form it is a task of its own, which takes half an hour.
    if wanted("soak") && (short || only.is_some()) {
        soak(&mut report)?;
    }
    if wanted("ends") {
        ends::run(&programs, short, &mut report)?;
    }
    say(&format!("{} passed, {} failed, {} skipped", report.passed, report.failed, report.skipped));
    Ok(if report.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The two-minute form of `cargo xtask soak`.
fn soak(report: &mut Report) -> anyhow::Result<()> {
    let ran = crate::soak::played(crate::soak::SHORT)?;
    let said = |word: &str| ran.lines.iter().filter(|line| line.starts_with(word)).cloned().collect::<Vec<_>>();
    for skipped in said("SKIPPED soak") {
        report.skip("soak", &skipped);
    }
    let mut wrong = said("FAILED");
    if !ran.status.success() {
        wrong.extend(ran.lines.last().cloned());
    }
    if wrong.is_empty() && ran.lines.last().is_some_and(|line| line.starts_with("0 passed")) {
        return Ok(());
    }
    let figures = ran.lines.iter().rev().find(|line| line.contains(" events, ")).map_or("", String::as_str);
    report.check(&format!("the short soak: {}", figures.trim()), wrong);
    Ok(())
}
