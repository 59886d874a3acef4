//! `cargo xtask bench [GROUP…] [--rounds N] [--write] [--with PROGRAM] [--beside hcom]`: how fast the programs are, against the shortest
//! straight code. `--with` measures a program that is built already, such as another version. `--beside` measures the bus
//! beside another program of its kind, which is installed for it.

mod beside;
mod board;
mod bus;
mod fleet;
mod hook;
mod host;
mod king;
mod measure;
mod panes;
mod pi;
mod report;
mod run;
mod sessions;
mod world;

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, bail, ensure};

use crate::run::{root, say};
use report::Report;
use world::Programs;

/// A group's name and what runs it.
type Group = (&'static str, fn(&Bench, &mut Report) -> anyhow::Result<()>);

const GROUPS: [Group; 11] = [
    ("publish", sessions::publish),
    ("ls", sessions::list),
    ("king", king::run),
    ("hook", hook::run),
    ("bus", bus::run),
    ("board", board::run),
    ("panes", panes::run),
    ("host", host::run),
    ("pi", pi::run),
    ("run", run::run),
    ("fleet", fleet::run),
];

/// What every group is given.
pub(crate) struct Bench {
    programs: Programs,
    rounds: usize,
}

/// Runs the groups that are named, or all.
pub(crate) fn run_all(args: &[String]) -> anyhow::Result<ExitCode> {
    if let Some(("peak", command)) = args.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return peak_of_one(command);
    }
    let (mut rounds, mut write, mut wanted, mut with, mut beside) = (11, false, Vec::new(), None, false);
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "--write" => write = true,
            "--beside" => {
                let other = rest.next().context("--beside wants a program")?;
                ensure!(other == "hcom", "beside {other:?}: only hcom is known");
                beside = true;
            }
            "--with" => {
                let program = rest.next().context("--with wants a program")?;
                with = Some(std::fs::canonicalize(program).with_context(|| format!("no program {program}"))?);
            }
            "--rounds" => {
                rounds = rest.next().context("--rounds wants a number")?.parse().context("--rounds wants a number")?
            }
            "all" => {}
            name if GROUPS.iter().any(|(group, _)| *group == name) => wanted.push(name),
            other => bail!("no bench {other:?}: {}", GROUPS.map(|(name, _)| name).join(" ")),
        }
    }
    say("building both sides");
    let bench = Bench { programs: Programs::build(with)?, rounds };
    let mut report = Report::default();
    for (name, group) in GROUPS {
        if wanted.is_empty() || wanted.contains(&name) {
            group(&bench, &mut report).with_context(|| format!("bench {name}"))?;
        }
    }
    if beside {
        beside::hcom(&bench, &mut report).context("bench beside hcom")?;
    }
    if write {
        let command = format!("cargo xtask bench {}", args.join(" "));
        let path = root().join("docs/performance.md");
        std::fs::write(&path, report.page(command.trim(), &machine())).context("cannot write docs/performance.md")?;
        say(&format!("written: {}", path.display()));
    }
    let missed = report.missed();
    say(&format!("{missed} figures missed"));
    Ok(if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs one program in a process of its own, so that its peak is the only one that process knows.
fn peak_of_one(command: &[String]) -> anyhow::Result<ExitCode> {
    let (program, args) = command.split_first().context("a program")?;
    let status = Command::new(program).args(args).stdout(Stdio::null()).status().context("cannot run it")?;
    ensure!(status.success(), "it ended with {status}");
    say(&format!("{:.3}", measure::children_peak_mib()?));
    Ok(ExitCode::SUCCESS)
}

/// The peak memory of a program in MiB, as it is when the program was read from the disk.
fn peak(command: &Command) -> anyhow::Result<f64> {
    let me = std::env::current_exe().context("xtask's own path")?;
    let mut outer = Command::new(me);
    let program = world::as_read(Path::new(command.get_program()))?;
    outer.args(["bench", "peak"]).arg(program).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        outer.current_dir(folder);
    }
    let output = outer.output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().parse().context("a number of MiB")
}

fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let model = read("/proc/cpuinfo");
    let model = model.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
    let kernel = read("/proc/sys/kernel/osrelease");
    format!("{cpus} CPUs ({}), Linux {}", model.trim_start_matches([':', '\t', ' ']), kernel.trim())
}
