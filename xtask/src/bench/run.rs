//! A program under `run` against the same program in a terminal alone: keys, throughput, start, memory, reports.

use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use nix::fcntl::{FcntlArg, FdFlag};

use super::Bench;
use super::measure::{median, quantile};
use super::report::Report;
use super::world::World;

/// Keys that are typed in each round.
const KEYS: usize = 400;
/// What is shown in each round, in bytes.
const SHOWN: usize = 100 << 20;
/// Starts in each round.
const STARTS: usize = 20;
/// Reports of a waiting person.
const REPORTS: usize = 200;
/// How long one answer may take before the bench gives up.
const PATIENCE: Duration = Duration::from_secs(30);

/// A program in a new terminal.
pub(super) struct Terminal {
    master: File,
    child: Child,
}

impl Terminal {
    /// Starts it; `under` is the program that stands before it.
    pub(super) fn start(mut command: Command) -> anyhow::Result<Self> {
        let size = nix::pty::Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        let pair = nix::pty::openpty(&size, None).context("cannot make a terminal")?;
        // A program that holds the master's end would keep its own terminal from ever hanging up.
        for end in [&pair.master, &pair.slave] {
            nix::fcntl::fcntl(end, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
        }
        let slave = File::from(pair.slave);
        command.stdin(slave.try_clone()?).stdout(slave.try_clone()?).stderr(Stdio::from(slave));
        let child = command.spawn().context("cannot start the program")?;
        drop(command);
        Ok(Self { master: File::from(pair.master), child })
    }

    fn read(&mut self, bytes: &mut [u8]) -> usize {
        // The last one to leave makes the end an error.
        self.master.read(bytes).unwrap_or(0)
    }

    pub(super) fn read_until(&mut self, text: &[u8]) -> anyhow::Result<()> {
        let (mut seen, mut bytes, until) = (Vec::new(), [0; 4096], Instant::now() + PATIENCE);
        while !seen.windows(text.len()).any(|window| window == text) {
            let size = self.read(&mut bytes);
            ensure!(size > 0 && Instant::now() < until, "the program ended or was silent");
            seen.extend_from_slice(&bytes[..size]);
        }
        Ok(())
    }

    /// The program's process.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Another reader of what the program shows.
    pub(super) fn reader(&self) -> anyhow::Result<File> {
        Ok(self.master.try_clone()?)
    }

    /// Ends the program however it is.
    pub(super) fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    fn end(mut self) -> anyhow::Result<()> {
        drop(self.master);
        self.child.wait()?;
        Ok(())
    }
}

/// The same program, alone and under `run`.
fn both(bench: &Bench, world: &World, program: &[&str], ours: bool) -> anyhow::Result<Terminal> {
    let mut command = if ours {
        bench.programs.jig(world, &["run", "--"])
    } else {
        let mut command = world.command("env");
        command.arg("--");
        command
    };
    command.args(program);
    Terminal::start(command)
}

pub(super) fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let world = World::new("run", None)?;
    keys(bench, &world, report)?;
    throughput(bench, &world, report)?;
    starts(bench, &world, report)?;
    memory_and_reports(bench, &world, report)
}

/// A program that sends every key back.
const ECHO: [&str; 3] = ["sh", "-c", "stty raw -echo; printf ready; exec cat"];

fn keys(bench: &Bench, world: &World, report: &mut Report) -> anyhow::Result<()> {
    let mut times: [Vec<f64>; 2] = Default::default();
    for _ in 0..bench.rounds {
        for (place, ours) in [(0, true), (1, false)] {
            let mut terminal = both(bench, world, &ECHO, ours)?;
            terminal.read_until(b"ready")?;
            for key in 0..KEYS {
                std::thread::sleep(Duration::from_micros(200));
                let start = Instant::now();
                terminal.master.write_all(b"k")?;
                ensure!(terminal.read(&mut [0; 16]) == 1, "the key did not come back");
                // The first ones find everything cold.
                if key >= 20 {
                    times[place].push(start.elapsed().as_secs_f64() * 1000.0);
                }
            }
            terminal.end()?;
        }
    }
    for times in &mut times {
        times.sort_by(f64::total_cmp);
    }
    for (what, share, goal) in
        [("a key there and back, median", 0.5, None), ("a key there and back, p99", 0.99, Some(0.2))]
    {
        let (ours, base) = (quantile(&times[0], share), quantile(&times[1], share));
        report.added("run", what, (ours, base), ours - base, goal);
    }
    Ok(())
}

fn throughput(bench: &Bench, world: &World, report: &mut Report) -> anyhow::Result<()> {
    let file = world.work().join("shown");
    let line: Vec<u8> = (b' '..=b'~').chain(*b"\r\n").collect();
    std::fs::write(&file, line.repeat(SHOWN / line.len()))?;
    let size = std::fs::metadata(&file)?.len();
    let program = ["sh", "-c", "stty raw; exec cat \"$0\"", file.to_str().context("a path")?];
    let mut rates: [Vec<f64>; 2] = Default::default();
    for _ in 0..bench.rounds.div_ceil(2) {
        for (place, ours) in [(0, true), (1, false)] {
            let mut terminal = both(bench, world, &program, ours)?;
            let (mut bytes, mut shown, start) = (vec![0; 1 << 16], 0, Instant::now());
            loop {
                match terminal.read(&mut bytes) {
                    0 => break,
                    size => shown += size as u64,
                }
            }
            ensure!(shown == size, "{shown} of {size} bytes were shown");
            rates[place].push(size as f64 / start.elapsed().as_secs_f64() / f64::from(1 << 20));
            terminal.end()?;
        }
    }
    let [ours, base] = rates.map(median);
    report.at_least("run", &format!("{} MiB shown, MiB/s", SHOWN >> 20), (ours, base), 0.9);
    Ok(())
}

fn starts(bench: &Bench, world: &World, report: &mut Report) -> anyhow::Result<()> {
    let mut times: [Vec<f64>; 2] = Default::default();
    for _ in 0..bench.rounds * STARTS {
        for (place, ours) in [(0, true), (1, false)] {
            let start = Instant::now();
            let mut terminal = both(bench, world, &["printf", "x"], ours)?;
            ensure!(terminal.read(&mut [0; 16]) == 1, "nothing was shown");
            times[place].push(start.elapsed().as_secs_f64() * 1000.0);
            terminal.end()?;
        }
    }
    let [ours, base] = times.map(median);
    report.added("run", "the first byte of a program", (ours, base), ours - base, Some(3.0));
    Ok(())
}

fn memory_and_reports(bench: &Bench, world: &World, report: &mut Report) -> anyhow::Result<()> {
    let mut terminal = both(bench, world, &ECHO, true)?;
    terminal.read_until(b"ready")?;
    let folder = world.sessions();
    let file = wait_for_file(&folder)?;
    let mut times = Vec::new();
    for number in 0..REPORTS {
        std::thread::sleep(Duration::from_millis(12));
        let (kind, reason) = [("permission", "approval"), ("question", "question")][number % 2];
        let line = format!("\x1b]7501;state=blocked:kind={kind}\x1b\\");
        let wanted = format!("\"reason\":\"{reason}\"");
        let start = Instant::now();
        terminal.master.write_all(line.as_bytes())?;
        terminal.read_until(b"\x1b\\")?;
        let wire = Instant::now();
        while !std::fs::read_to_string(&file).is_ok_and(|text| text.contains(&wanted)) {
            ensure!(start.elapsed() < PATIENCE, "the report did not reach the file");
        }
        times.push(wire.elapsed().as_secs_f64() * 1000.0);
    }
    times.sort_by(f64::total_cmp);
    report.at_most("run", "a report on the wire until it is in the file, median", quantile(&times, 0.5), "ms", 10.0);
    report.at_most("run", "a report on the wire until it is in the file, p99", quantile(&times, 0.99), "ms", 10.0);
    let proxy = terminal.child.id();
    let children = std::fs::read_to_string(format!("/proc/{proxy}/task/{proxy}/children"))?;
    let monitor = children.split_whitespace().next().context("the monitor runs")?.parse()?;
    report.at_most(
        "run",
        "memory of both processes, their share of pages",
        pss_mib(proxy)? + pss_mib(monitor)?,
        "MiB",
        6.0,
    );
    terminal.end()
}

fn wait_for_file(folder: &std::path::Path) -> anyhow::Result<PathBuf> {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let found = files.map(|file| file.path()).find(|path| path.extension().is_some_and(|end| end == "json"));
        if let Some(found) = found {
            return Ok(found);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    bail!("no status file was written")
}

/// A process's proportional share of the memory it touches, in MiB.
fn pss_mib(pid: u32) -> anyhow::Result<f64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).context("the share is told")?;
    let kib: f64 = line.split_whitespace().next().context("a number")?.parse()?;
    Ok(kib / 1024.0)
}
