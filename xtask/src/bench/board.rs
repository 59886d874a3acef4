//! What an open board costs that nobody looks at.

use std::time::{Duration, Instant};

use super::Bench;
use super::measure::{process_cpu, status_mib};
use super::report::Report;
use super::run::Terminal;
use super::world::{Sleepers, World, as_read, fill_sessions};

/// Sessions that are listed.
const SESSIONS: usize = 20;
/// How long it is watched.
const WATCHED: Duration = Duration::from_secs(20);

pub(super) fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let sleepers = Sleepers::start(SESSIONS)?;
    let world = World::new("board", None)?;
    fill_sessions(&world, &sleepers, SESSIONS)?;
    let mut command = world.command(as_read(bench.programs.ours())?);
    command.arg("board").env("TERM", "xterm-256color");
    let mut terminal = Terminal::start(command)?;
    terminal.read_until(b"[Sessions]")?;
    let pid = terminal.id();
    // What it says once it has looked at everything is read, so that it never waits for its terminal.
    let mut reader = terminal.reader()?;
    std::thread::spawn(move || std::io::copy(&mut reader, &mut std::io::sink()));
    std::thread::sleep(Duration::from_secs(2));
    let (before, began) = (process_cpu(pid)?, Instant::now());
    std::thread::sleep(WATCHED);
    let share = (process_cpu(pid)? - before) / began.elapsed().as_secs_f64() * 100.0;
    let memory = status_mib(pid, "VmHWM")?;
    terminal.kill()?;
    report.at_most("board", "CPU of an open board with 20 idle sessions", share, "% of a core", 0.5);
    report.at_most("board", "memory of it", memory, "MiB", 20.0);
    Ok(())
}
