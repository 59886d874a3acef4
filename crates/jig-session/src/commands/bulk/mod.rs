//! `jig-session bulk`: one action over many panes, planned, guarded and, with `--yes`, run.

mod doctor;
mod executor;
mod numbers;
mod text;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use jig_session_atomic::read_file;
use jig_session_panes::bulk::{self, Limits, Load, Options, Plan};
use jig_session_panes::observe;
use jig_session_schema::bulk::Action;

use super::live::options::{self, Selection, Tmux};
use super::live::terminals::ThisMachine;
use super::live::{join, print_pretty};
use crate::app::App;
use crate::failure::{Code, Exit, Failure, Outcome};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// status, capture and doctor only read; ensure, start, stop and restart change panes
    #[arg(value_name = "ACTION")]
    action: String,
    /// Print the plan, run nothing
    #[arg(long)]
    dry_run: bool,
    /// Confirm an action that changes panes
    #[arg(long)]
    yes: bool,
    /// Run the entries one by one, without delay
    #[arg(long)]
    no_queue: bool,
    /// Maximum number of entries run at once (default 2)
    #[arg(long, value_name = "N")]
    concurrency: Option<String>,
    /// Maximum random delay of an entry in milliseconds (default 0)
    #[arg(long, value_name = "MS", allow_hyphen_values = true)]
    jitter: Option<String>,
    /// Refuse when more than this many panes are active (default 12)
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    max_active_agents: Option<String>,
    /// Refuse when the 1-minute load average exceeds this
    #[arg(long, value_name = "LOAD", allow_hyphen_values = true)]
    max_load1: Option<String>,
    /// Refuse when the 1-minute load average per CPU exceeds this (default 1.5)
    #[arg(long, value_name = "LOAD", allow_hyphen_values = true)]
    max_load_per_core: Option<String>,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    tmux: Tmux,
}

impl Args {
    fn options(&self) -> Result<Options, Failure> {
        let action = Action::parse(&self.action).ok_or_else(|| {
            let words = "status, capture, ensure, start, stop, restart, doctor";
            Failure::new(Code::Usage, format!("unknown bulk action '{}'. Use: {words}", self.action))
        })?;
        let usage = |message: &'static str| move || Failure::new(Code::Usage, message);
        let defaults = Limits::default();
        let count = |text: &Option<String>, default, message| {
            numbers::positive(text.as_deref(), default).ok_or_else(usage(message))
        };
        let load = |text: &Option<String>, message| numbers::load(text.as_deref()).ok_or_else(usage(message));
        Ok(Options {
            action,
            dry_run: self.dry_run,
            yes: self.yes,
            queue: !self.no_queue,
            concurrency: count(&self.concurrency, 2, "--concurrency must be a positive integer")?,
            jitter_ms: numbers::whole(self.jitter.as_deref(), 0)
                .ok_or_else(usage("--jitter must be a non-negative integer number of milliseconds"))?,
            limits: Limits {
                max_active_agents: count(
                    &self.max_active_agents,
                    defaults.max_active_agents,
                    "--max-active-agents must be a positive integer",
                )?,
                max_load1: load(&self.max_load1, "--max-load1 must be a non-negative number")?,
                max_load_per_core: load(&self.max_load_per_core, "--max-load-per-core must be a non-negative number")?
                    .unwrap_or(defaults.max_load_per_core),
            },
            filter: self.selection.filter()?,
        })
    }
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    let options = args.options()?;
    let setting = options::setting(app, &args.tmux, false);
    let listed = |facts: &_, project: &_| options.filter.matches_listed(&setting.projects, facts, project);
    let mut panes = observe::observe(&setting, &ThisMachine, listed).map_err(options::failure)?;
    join::join(app, &mut panes)?;
    let mut plan = Plan::new(&options, &setting.server, &setting.machine, panes, load(), app.now());
    if options.action == Action::Doctor {
        plan.check(doctor::checks);
    }
    let steps = plan.steps();
    if !steps.is_empty() {
        let stop = stopped_by_signals();
        let statuses = options.filter.statuses.as_deref();
        let executor = executor::TmuxExecutor { app, setting: &setting, statuses, panes: &plan.panes };
        let concurrency = if options.queue { usize::try_from(options.concurrency).unwrap_or(usize::MAX) } else { 1 };
        let reports = bulk::run(&steps, concurrency, &executor, &stop, &|| app.now());
        plan.settle(reports);
    }
    if app.json {
        print_pretty(app, &plan.envelope)?;
    } else {
        app.print(&text::text(app, &plan.envelope))?;
    }
    Ok(if plan.well() { Exit::OK } else { Exit::FINDINGS })
}

/// A flag set by SIGINT and SIGTERM: what has begun is finished, nothing new begins, and the envelope is printed.
fn stopped_by_signals() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    #[cfg(unix)]
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // Without the handler the signal ends the program at once, which is all that is lost.
        let _ = signal_hook::flag::register(signal, Arc::clone(&stop));
    }
    stop
}

/// The machine's load; zero where the system does not tell it in a file.
fn load() -> Load {
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64);
    let text = read_file("/proc/loadavg", 4096).map(|read| read.bytes).unwrap_or_default();
    let load1 = String::from_utf8_lossy(&text).split(' ').next().and_then(|word| word.parse().ok()).unwrap_or_default();
    Load { load1, cpus }
}
