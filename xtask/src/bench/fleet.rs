//! Many machines through a broker: what sharing costs a machine, what the broker keeps, how fast all of it is listed.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use super::measure::{Run, What, median, pair, process_cpu, status_mib};
use super::report::Report;
use super::world::{Sleepers, World, fill_sessions};
use super::{Bench, peak};
use crate::e2e::fleet_program;

/// How long a machine is watched that does nothing. CPU time is told in steps of 10 ms.
const IDLE: Duration = Duration::from_secs(30);
/// Sessions that change together, and how often.
const CHANGING: (usize, usize) = (100, 10);
/// Sessions of one machine in the large fleets.
const EACH: usize = 1000;

pub(super) fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    if !crate::page::there("mosquitto") {
        report.skip("fleet", "mosquitto is not installed");
        return Ok(());
    }
    let program = fleet_program("release")?;
    let sleepers = Sleepers::start(50)?;
    let broker = Broker::start()?;
    one_machine(&program, &broker, &sleepers, report)?;
    let broker = Broker::start()?;
    many(bench, &program, &broker, &sleepers, report)
}

/// A machine that shares, idle and with changes.
fn one_machine(program: &Path, broker: &Broker, sleepers: &Sleepers, report: &mut Report) -> anyhow::Result<()> {
    let viewer = World::new("viewer", None)?;
    let quiet = Machine::start(program, broker, sleepers, "quiet", 20)?;
    broker.holds(program, &viewer, 20)?;
    std::thread::sleep(Duration::from_secs(2));
    let before = process_cpu(quiet.pid())?;
    std::thread::sleep(IDLE);
    let share = (process_cpu(quiet.pid())? - before) / IDLE.as_secs_f64();
    report.at_most("fleet", "CPU of share with 20 idle sessions", share * 100.0, "% of a core", 0.2);
    report.at_most("fleet", "memory of share with 20 sessions", status_mib(quiet.pid(), "VmHWM")?, "MiB", 10.0);
    drop(quiet);

    let (count, rounds) = CHANGING;
    let busy = Machine::start(program, broker, sleepers, "busy", count)?;
    broker.holds(program, &viewer, 20 + count)?;
    let (before, broker_before) = (process_cpu(busy.pid())?, process_cpu(broker.pid())?);
    for round in 0..rounds {
        busy.change(round)?;
        // A session is told at most once a second.
        std::thread::sleep(Duration::from_millis(1200));
    }
    let changes = (count * rounds) as f64;
    let (cpu, at_broker) = (process_cpu(busy.pid())? - before, process_cpu(broker.pid())? - broker_before);
    report.at_most("fleet", "CPU of share for one of 1000 changes", cpu / changes * 1e6, "us", 1000.0);
    report.at_most("fleet", "CPU of Mosquitto for one of them, no reader", at_broker / changes * 1e6, "us", 200.0);
    Ok(())
}

/// The listing of 1,000 and of 10,000 sessions.
fn many(
    bench: &Bench,
    program: &Path,
    broker: &Broker,
    sleepers: &Sleepers,
    report: &mut Report,
) -> anyhow::Result<()> {
    let viewer = World::new("viewer", None)?;
    let empty = status_mib(broker.pid(), "VmRSS")?;
    let mut machines = vec![Machine::start(program, broker, sleepers, "m0", EACH)?];
    broker.holds(program, &viewer, EACH)?;
    let list = || broker.list(program, &viewer);
    let local = || {
        let mut command = machines[0].world.command(program);
        command.args(["ls", "--json"]);
        command
    };
    let one = pair(&Run::new(list), &Run::new(local), bench.rounds, 2)?;
    let wall = median(one.ours.iter().map(|cost| cost.wall)) * 1000.0;
    report.at_most("fleet", "ls --fleet of 1000 sessions", wall, "ms", 300.0);
    report.ratio("fleet", "ls --fleet of 1000 against ls of 1000 files", &one, What::Cpu, 3.0);
    for index in 1..10 {
        machines.push(Machine::start(program, broker, sleepers, &format!("m{index}"), EACH)?);
    }
    broker.holds(program, &viewer, 10 * EACH)?;
    let kept = (status_mib(broker.pid(), "VmRSS")? - empty) * 1024.0 / 10_000.0;
    report.at_most("fleet", "memory of Mosquitto for a session", kept, "KiB", 8.0);
    let ten = Run::new(list);
    ten.cost(1)?;
    let costs = (0..bench.rounds.min(5)).map(|_| ten.cost(1)).collect::<anyhow::Result<Vec<_>>>()?;
    let cpu = |costs: &[super::measure::Cost]| median(costs.iter().map(|cost| cost.cpu));
    report.at_most("fleet", "ls --fleet of 10000 sessions against 1000", cpu(&costs) / cpu(&one.ours), "x", 12.0);
    report.at_most("fleet", "memory of ls --fleet of 10000", peak(&list())?, "MiB", 120.0);
    Ok(())
}

/// A Mosquitto on loopback.
struct Broker {
    process: Child,
    port: u16,
}

impl Broker {
    fn start() -> anyhow::Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let folder = crate::run::target().join("bench/worlds");
        fs::create_dir_all(&folder)?;
        let config = folder.join(format!("mosquitto-{port}.conf"));
        let rules = "allow_anonymous true\npersistence false\nmax_queued_messages 0\n";
        fs::write(&config, format!("listener {port} 127.0.0.1\n{rules}"))?;
        let mut command = Command::new("mosquitto");
        let path = crate::run::variable("PATH").unwrap_or_default() + ":/usr/sbin";
        command.arg("-c").arg(&config).env("PATH", path).stdout(Stdio::null()).stderr(Stdio::null());
        let broker = Self { process: command.spawn().context("cannot run mosquitto")?, port };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            ensure!(begun.elapsed() < Duration::from_secs(10), "mosquitto does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(broker)
    }

    fn pid(&self) -> u32 {
        self.process.id()
    }

    fn url(&self) -> String {
        format!("mqtt://127.0.0.1:{}/", self.port)
    }

    /// The listing of everything that it holds.
    fn list(&self, program: &Path, viewer: &World) -> Command {
        let mut command = viewer.command(program);
        command.args(["ls", "--json", "--fleet", &self.url()]);
        command
    }

    /// Waits until a listing has this many sessions.
    fn holds(&self, program: &Path, viewer: &World, count: usize) -> anyhow::Result<()> {
        let begun = Instant::now();
        loop {
            let output = self.list(program, viewer).stderr(Stdio::null()).output()?;
            let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            let found = found["sessions"].as_array().map_or(0, Vec::len);
            if found == count {
                return Ok(());
            }
            ensure!(begun.elapsed() < Duration::from_secs(60), "the broker holds {found} sessions, not {count}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A machine that shares its sessions until it is dropped; the broker keeps them.
struct Machine {
    world: World,
    process: Child,
    count: usize,
}

impl Machine {
    fn start(program: &Path, broker: &Broker, sleepers: &Sleepers, name: &str, count: usize) -> anyhow::Result<Self> {
        let world = World::new(name, None)?;
        fill_sessions(&world, sleepers, count)?;
        let mut command = world.command(program);
        command.args(["fleet", "share", "--to", &broker.url(), "--as", name]);
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        Ok(Self { world, process, count })
    }

    fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Changes every session a little, each file in one step.
    fn change(&self, round: usize) -> anyhow::Result<()> {
        for entry in fs::read_dir(self.world.sessions())?.take(self.count) {
            let path = entry?.path();
            let text = fs::read_to_string(&path)?;
            let Some((before, after)) = text.split_once("\"tokens\":") else { continue };
            let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
            let temporary = path.with_extension("tmp");
            fs::write(&temporary, format!("{before}\"tokens\":{}{rest}", 50_000 + round))?;
            fs::rename(&temporary, &path)?;
        }
        Ok(())
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
