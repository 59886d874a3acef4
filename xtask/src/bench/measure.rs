//! Whole processes, measured: wall time, CPU time of the process and its children, peak memory.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, ensure};
use nix::sys::resource::{UsageWho, getrusage};

use crate::run::children_cpu;

/// What a run cost, on average.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    /// From the start to the end, in seconds.
    pub(super) wall: f64,
    /// User and system time, in seconds.
    pub(super) cpu: f64,
}

/// Two programs' costs over the same rounds.
pub(super) struct Pair {
    pub(super) ours: Vec<Cost>,
    pub(super) base: Vec<Cost>,
}

/// Which cost is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Wall,
    Cpu,
}

impl What {
    pub(super) fn of(self, cost: &Cost) -> f64 {
        match self {
            Self::Wall => cost.wall,
            Self::Cpu => cost.cpu,
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Wall => "wall",
            Self::Cpu => "CPU",
        }
    }
}

impl Pair {
    /// The ratio of each round, ascending.
    pub(super) fn ratios(&self, what: What) -> Vec<f64> {
        let both = self.ours.iter().zip(&self.base);
        let mut ratios: Vec<f64> = both.map(|(ours, base)| what.of(ours) / what.of(base).max(1e-9)).collect();
        ratios.sort_by(f64::total_cmp);
        ratios
    }
}

/// The value below which this share of the sorted values lies.
pub(super) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = ((sorted.len().saturating_sub(1)) as f64 * share).round() as usize;
    sorted.get(at).copied().unwrap_or(f64::NAN)
}

/// The median of any values.
pub(super) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    quantile(&values, 0.5)
}

/// One thing to run: a command made anew for each run, and what must be put right before it.
pub(super) struct Run<'a> {
    pub(super) command: Box<dyn Fn() -> Command + 'a>,
    /// Done before each run, unmeasured.
    pub(super) before: Box<dyn Fn() -> anyhow::Result<()> + 'a>,
    /// What ends up on its stdin.
    pub(super) input: Vec<u8>,
}

impl<'a> Run<'a> {
    pub(super) fn new(command: impl Fn() -> Command + 'a) -> Self {
        Self { command: Box::new(command), before: Box::new(|| Ok(())), input: Vec::new() }
    }

    pub(super) fn before(mut self, before: impl Fn() -> anyhow::Result<()> + 'a) -> Self {
        self.before = Box::new(before);
        self
    }

    pub(super) fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// The average cost of `times` runs.
    pub(super) fn cost(&self, times: usize) -> anyhow::Result<Cost> {
        let mut total = Cost::default();
        for _ in 0..times {
            (self.before)()?;
            let one = once((self.command)(), &self.input)?;
            total.wall += one.wall;
            total.cpu += one.cpu;
        }
        let times = times.max(1) as f64;
        Ok(Cost { wall: total.wall / times, cpu: total.cpu / times })
    }
}

/// Runs both in turns, the order changing from round to round, so that a slower minute of the machine
/// hits both alike.
pub(super) fn pair(ours: &Run<'_>, base: &Run<'_>, rounds: usize, times: usize) -> anyhow::Result<Pair> {
    let mut pair = Pair { ours: Vec::new(), base: Vec::new() };
    // Caches are warm on both sides before the first round counts.
    ours.cost(1)?;
    base.cost(1)?;
    for round in 0..rounds {
        if round % 2 == 0 {
            pair.ours.push(ours.cost(times)?);
            pair.base.push(base.cost(times)?);
        } else {
            pair.base.push(base.cost(times)?);
            pair.ours.push(ours.cost(times)?);
        }
    }
    Ok(pair)
}

fn once(mut command: Command, input: &[u8]) -> anyhow::Result<Cost> {
    let name = format!("{command:?}");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() });
    let before = children_cpu()?;
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot run {name}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read all of it says so by its exit code.
        let _ = std::io::Write::write_all(&mut stdin, input);
    }
    let status = child.wait().with_context(|| format!("cannot wait for {name}"))?;
    let wall = start.elapsed().as_secs_f64();
    let cpu = (children_cpu()? - before).as_secs_f64();
    ensure!(status.success(), "{name} ended with {status}");
    Ok(Cost { wall, cpu })
}

/// The largest memory a child of this process had, in MiB. Meaningful in a process that ran one child.
pub(super) fn children_peak_mib() -> anyhow::Result<f64> {
    let kib = getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss();
    Ok(kib as f64 / 1024.0)
}

/// A number of `/proc/<pid>/status` in MiB.
pub(super) fn status_mib(pid: u32, field: &str) -> anyhow::Result<f64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).context("the process is there")?;
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let kib: f64 = line.and_then(|line| line.split_whitespace().next()?.parse().ok()).context("the field is there")?;
    Ok(kib / 1024.0)
}

/// CPU seconds of a living process so far, in steps of the system's clock tick.
pub(super) fn process_cpu(pid: u32) -> anyhow::Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: Vec<f64> = rest.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse().ok()).collect();
    Ok(ticks.iter().sum::<f64>() / 100.0)
}

/// The file system a path lies on is in memory.
pub(super) fn memory_folder() -> Option<&'static Path> {
    let folder = Path::new("/dev/shm");
    folder.is_dir().then_some(folder)
}
