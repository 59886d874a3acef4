//! The bus beside another program of this kind, in one run and in turns: `cargo xtask bench bus --beside hcom`.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use super::Bench;
use super::measure::{Pair, Run, pair, quantile};
use super::report::Report;
use super::world::{Sleepers, World};
use crate::run::say;
use crate::tools;

/// The program, as its package is named, and its version.
const PACKAGE: &str = "hcom==0.7.31";
/// Members of either bus.
const MEMBERS: usize = 20;
/// Sends that are started at once.
const AT_ONCE: usize = 240;
/// Letters that are taken in one call.
const MAIL: usize = 50;
/// Runs that are averaged in a round.
const TIMES: usize = 10;
/// How long a waiter is given until it waits.
const SETTLED: Duration = Duration::from_millis(400);
/// How long anything may take before the bench gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// One of the two programs with its members: the last one is written to by all others.
trait Side {
    fn send(&self, from: usize, text: &str) -> Command;
    /// Blocks until there is mail.
    fn wait(&self) -> Command;
    /// Takes all mail.
    fn take(&self) -> Command;
    fn status(&self) -> Command;
    /// Whether it is this project's: its waiter leaves the mail that it has waited for.
    fn is_ours(&self) -> bool;
}

struct Ours<'a> {
    bench: &'a Bench,
    world: World,
}

struct Theirs {
    program: PathBuf,
    world: World,
    names: Vec<String>,
}

impl<'a> Ours<'a> {
    fn begin(bench: &'a Bench, sleepers: &Sleepers) -> anyhow::Result<Self> {
        let ours = Self { bench, world: World::new("beside-ours", None)? };
        for index in 0..MEMBERS {
            let (id, label, pid) = (format!("s-{index}"), format!("member{index}"), sleepers.pid(index).to_string());
            done(&mut ours.call(index, &["join", &label, "--id", &id, "--pid", &pid]))?;
        }
        Ok(ours)
    }

    fn call(&self, who: usize, args: &[&str]) -> Command {
        let mut command = self.bench.programs.jig(&self.world, &["bus", "--as", &format!("s-{who}")]);
        command.args(args);
        command
    }
}

impl Side for Ours<'_> {
    fn send(&self, from: usize, text: &str) -> Command {
        self.call(from, &["send", &format!("member{}", MEMBERS - 1), text])
    }

    fn wait(&self) -> Command {
        self.call(MEMBERS - 1, &["wait", "--timeout", "60"])
    }

    fn take(&self) -> Command {
        self.call(MEMBERS - 1, &["inbox", "--limit", "50"])
    }

    fn status(&self) -> Command {
        self.call(0, &["status"])
    }

    fn is_ours(&self) -> bool {
        true
    }
}

impl Theirs {
    fn begin(program: &Path) -> anyhow::Result<Self> {
        let world = World::new("beside-theirs", None)?;
        let mut theirs = Self { program: program.to_owned(), world, names: Vec::new() };
        for _ in 0..MEMBERS {
            let output = theirs.call(&["start"]).output().context("cannot run hcom")?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let name = text.lines().find_map(|line| line.strip_prefix("[hcom:")?.strip_suffix(']'));
            theirs.names.push(name.with_context(|| format!("hcom names no member: {text}"))?.to_owned());
        }
        Ok(theirs)
    }

    fn call(&self, args: &[&str]) -> Command {
        let mut command = self.world.command(&self.program);
        // It is to send nothing and look for no newer version of itself.
        command.env("HCOM_DIR", self.world.root().join("hcom")).env("HCOM_DISABLE_UPDATE", "1").args(args);
        command
    }

    fn last(&self) -> &str {
        self.names.last().map_or("", String::as_str)
    }
}

impl Side for Theirs {
    fn send(&self, from: usize, text: &str) -> Command {
        self.call(&["send", &format!("@{}", self.last()), "--name", &self.names[from], "--", text])
    }

    fn wait(&self) -> Command {
        self.call(&["listen", "--timeout", "60", "--name", self.last()])
    }

    fn take(&self) -> Command {
        self.call(&["listen", "--timeout", "1", "--name", self.last()])
    }

    fn status(&self) -> Command {
        self.call(&["list", "--name", &self.names[0]])
    }

    fn is_ours(&self) -> bool {
        false
    }
}

pub(super) fn hcom(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let program = tools::python_venv("beside", &[PACKAGE])?.with_file_name("hcom");
    let sleepers = Sleepers::start(MEMBERS)?;
    let (ours, theirs) = (Ours::begin(bench, &sleepers)?, Theirs::begin(&program)?);
    let number = Cell::new(0);
    let text = || {
        number.set(number.get() + 1);
        format!("letter {}", number.get())
    };

    let send = |side: &dyn Side| side.send(0, &text());
    // The taking in between keeps both inboxes short; it is not measured.
    let every = |side: &dyn Side| if number.get() % 40 == 0 { empty(side) } else { Ok(()) };
    let both = pair(
        &Run::new(|| send(&ours)).before(|| every(&ours)),
        &Run::new(|| send(&theirs)).before(|| every(&theirs)),
        bench.rounds,
        TIMES,
    )?;
    report.beside("send", &both);

    let mut times = Pair { ours: Vec::new(), base: Vec::new() };
    for _ in 0..bench.rounds.div_ceil(3).max(2) {
        times.ours.push(wall(at_once(&ours, &text)?));
        times.base.push(wall(at_once(&theirs, &text)?));
    }
    report.beside(&format!("{AT_ONCE} sends at once, until all are done"), &times);

    let (mut our_wakes, mut their_wakes) = (Vec::new(), Vec::new());
    for _ in 0..bench.rounds * 4 {
        our_wakes.push(wake(&ours, &text)?);
        their_wakes.push(wake(&theirs, &text)?);
    }
    for (what, share, goal) in [("median", 0.5, 30.0), ("p99", 0.99, 100.0)] {
        let at = |times: &mut Vec<f64>| {
            times.sort_by(f64::total_cmp);
            quantile(times, share)
        };
        let (mine, other) = (at(&mut our_wakes), at(&mut their_wakes));
        let one = |seconds| vec![super::measure::Cost { wall: seconds, cpu: 0.0 }];
        report.beside(
            &format!("a waiter ends, from the start of the send, {what}"),
            &Pair { ours: one(mine), base: one(other) },
        );
        report.at_most("beside", &format!("a waiter ends, {what}"), mine * 1000.0, "ms", goal);
    }

    let fill = |side: &dyn Side| -> anyhow::Result<()> {
        empty(side)?;
        (0..MAIL).try_for_each(|_| done(&mut side.send(0, &text())))
    };
    let both = pair(
        &Run::new(|| ours.take()).before(|| fill(&ours)),
        &Run::new(|| theirs.take()).before(|| fill(&theirs)),
        bench.rounds.min(7),
        1,
    )?;
    report.beside(&format!("taking {MAIL} letters"), &both);

    let both = pair(&Run::new(|| ours.status()), &Run::new(|| theirs.status()), bench.rounds, TIMES)?;
    report.beside(&format!("status of {MEMBERS} members"), &both);
    Ok(())
}

fn done(command: &mut Command) -> anyhow::Result<()> {
    let output = command.output()?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// Takes everything, however many calls it needs; one that finds nothing may end in any way.
fn empty(side: &dyn Side) -> anyhow::Result<()> {
    let begun = Instant::now();
    while String::from_utf8_lossy(&side.take().output()?.stdout).contains("letter ") {
        ensure!(begun.elapsed() < PATIENCE, "the mail has no end");
    }
    Ok(())
}

fn wall(time: Duration) -> super::measure::Cost {
    super::measure::Cost { wall: time.as_secs_f64(), cpu: 0.0 }
}

/// How long it takes until all of many sends that are started at once have ended; all must have succeeded.
fn at_once(side: &dyn Side, text: &dyn Fn() -> String) -> anyhow::Result<Duration> {
    empty(side)?;
    let mut commands: Vec<Command> = (0..AT_ONCE).map(|index| side.send(index % (MEMBERS - 1), &text())).collect();
    for command in &mut commands {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    }
    let begun = Instant::now();
    let children: Vec<Child> = commands.iter_mut().map(Command::spawn).collect::<Result<_, _>>()?;
    let ends: Vec<Output> = children.into_iter().map(Child::wait_with_output).collect::<Result<_, _>>()?;
    let time = begun.elapsed();
    let failed: Vec<&Output> = ends.iter().filter(|end| !end.status.success()).collect();
    if let Some(first) = failed.first() {
        let words = String::from_utf8_lossy(&first.stderr);
        let (count, words) = (failed.len(), words.trim());
        ensure!(!side.is_ours(), "{count} of {AT_ONCE} sends failed, the first with {}: {words}", first.status);
        say(&format!("beside: {count} of {AT_ONCE} sends of the other program failed: {words}"));
    }
    empty(side)?;
    Ok(time)
}

/// Seconds from the start of a send until the program that waits for mail has ended.
fn wake(side: &dyn Side, text: &dyn Fn() -> String) -> anyhow::Result<f64> {
    if side.is_ours() {
        empty(side)?;
    }
    let mut waiter = side.wait();
    let mut waiter = waiter.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    std::thread::sleep(SETTLED);
    ensure!(waiter.try_wait()?.is_none(), "the waiter does not wait");
    let begun = Instant::now();
    let mut sender = side.send(0, &text());
    let mut sender = sender.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let status = waiter.wait()?;
    let time = begun.elapsed();
    ensure!(status.success() && time < PATIENCE, "the waiter ended with {status} after {time:?}");
    ensure!(sender.wait()?.success(), "the send failed");
    Ok(time.as_secs_f64())
}
