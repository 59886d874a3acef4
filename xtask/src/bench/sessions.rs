//! Publishing and listing sessions.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use serde_json::json;

use super::measure::{Run, What, median, memory_folder, pair, status_mib};
use super::report::Report;
use super::world::{Sleepers, World, as_read, fill_sessions};
use super::{Bench, peak};

/// Changes that are published one by one.
const CHANGES: &str = "1000";

/// The writer against create, write and rename; the memory of a lasting publisher.
pub(super) fn publish(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    for (place, under) in [("disk", None), ("tmpfs", memory_folder())] {
        if place == "tmpfs" && under.is_none() {
            report.skip("publish", "no folder in memory");
            continue;
        }
        let world = World::new("publish", under)?;
        let changes = Path::new(CHANGES);
        let (ours, base) = (world.root().to_path_buf(), world.work());
        let ours = Run::new(|| bench.programs.baseline("publish-loop", &[&ours, changes]));
        let base = Run::new(|| bench.programs.baseline("replace-file", &[&base, changes]));
        let pair = pair(&ours, &base, bench.rounds, 4)?;
        let what = format!("{CHANGES} changes of 4 KiB, {place}");
        report.ratio("publish", &what, &pair, What::Cpu, 1.5);
        report.ratio("publish", &what, &pair, What::Wall, 1.5);
    }
    report.at_most("publish", "memory of a lasting publisher", publisher_memory(bench)?, "MiB", 6.0);
    Ok(())
}

fn publisher_memory(bench: &Bench) -> anyhow::Result<f64> {
    let world = World::new("memory", None)?;
    let mut command = world.command(as_read(bench.programs.ours())?);
    command.args(["publish", "--agent", "bench"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut stdin = child.stdin.take().context("stdin is a pipe")?;
    let first = json!({ "event": "session", "schema": 1, "session": "s-1", "pid": std::process::id() });
    writeln!(stdin, "{first}")?;
    for index in 0..2000 {
        let id = format!("c{index}");
        writeln!(stdin, "{}", json!({ "event": "tool", "phase": "start", "id": id, "tool": "edit" }))?;
        writeln!(stdin, "{}", json!({ "event": "tool", "phase": "end", "id": id, "outcome": "ok" }))?;
        let path = format!("/home/dev/app/file-{index}.rs");
        writeln!(stdin, "{}", json!({ "event": "output", "path": path, "action": "edited" }))?;
    }
    stdin.flush()?;
    std::thread::sleep(Duration::from_millis(500));
    let peak = status_mib(child.id(), "VmHWM");
    drop(stdin);
    child.wait()?;
    peak
}

/// The listing against reading the same files; growth, memory, start.
pub(super) fn list(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let sleepers = Sleepers::start(50)?;
    let mut costs = Vec::new();
    for (count, times) in [(10, 40), (100, 20), (1000, 8), (10_000, 3)] {
        let world = World::new("ls", None)?;
        fill_sessions(&world, &sleepers, count)?;
        let folder = world.sessions();
        let ours = Run::new(|| bench.programs.jig(&world, &["ls", "--json"]));
        let base = Run::new(|| bench.programs.baseline("read-files", &[&folder]));
        let pair = pair(&ours, &base, bench.rounds, times)?;
        report.ratio("ls", &format!("ls of {count} against reading them"), &pair, What::Cpu, 2.2);
        costs.push(median(pair.ours.iter().map(|cost| cost.cpu)));
        if count == 10 {
            let ours = Run::new(|| bench.programs.jig(&world, &["ls"]));
            let base = Run::new(|| Command::new("/bin/true"));
            let pair = super::measure::pair(&ours, &base, bench.rounds, times)?;
            report.ratio("ls", "ls of 10 against /bin/true", &pair, What::Cpu, 2.5);
        }
        if count == 10_000 {
            report.at_most(
                "ls",
                "memory of ls of 10000",
                peak(&bench.programs.jig(&world, &["ls", "--json"]))?,
                "MiB",
                40.0,
            );
        }
    }
    let world = World::new("statusline", None)?;
    fill_sessions(&world, &sleepers, 20)?;
    let ours = Run::new(|| bench.programs.jig(&world, &["statusline", "--format", "tmux"]));
    let base = Run::new(|| Command::new("/bin/true"));
    let pair = pair(&ours, &base, bench.rounds, 40)?;
    report.ratio("ls", "statusline of 20 against /bin/true", &pair, What::Cpu, 3.0);
    if let [.., thousand, ten_thousand] = costs.as_slice() {
        report.at_most("ls", "10000 sessions against 1000", ten_thousand / thousand, "x", 12.0);
    }
    Ok(())
}
