//! The plan of a run: panes in, envelope out, nothing done.

use jig_session_schema::bulk::{
    Action, Entry, EntryCheck, EntryDecision, EntryOutcome, EntryResult, Envelope, Filters, Guard, Hints, Summary,
};
use jig_session_schema::live::PaneStatus;
use jig_session_schema::time::Timestamp;

use super::decide::{DecisionInput, decide};
use super::delay::delay;
use super::guard::{Limits, Load, reasons};
use super::step::{Report, Step};
use crate::observe::{Filter, by_target};
use crate::pane::Pane;
use crate::text;
use crate::tmux::Server;

/// The options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The action.
    pub action: Action,
    /// `--dry-run`.
    pub dry_run: bool,
    /// `--yes`.
    pub yes: bool,
    /// Not `--no-queue`.
    pub queue: bool,
    /// How many run at once.
    pub concurrency: u64,
    /// The greatest random delay in milliseconds.
    pub jitter_ms: u64,
    /// The limits.
    pub limits: Limits,
    /// Which panes.
    pub filter: Filter,
}

/// A plan: the envelope as it stands before anything ran, and the panes behind its entries.
#[derive(Debug)]
pub struct Plan {
    /// What is printed.
    pub envelope: Envelope,
    /// The selected panes, one an entry, in the same order.
    pub panes: Vec<Pane>,
}

impl Plan {
    /// Plans a run over the captured panes.
    pub fn new(
        options: &Options,
        server: &Server,
        machine: &str,
        mut panes: Vec<Pane>,
        load: Load,
        at: Timestamp,
    ) -> Self {
        panes.sort_by(|a, b| by_target(&a.facts, &b.facts));
        let total = panes.len() as u64;
        let active = panes.iter().filter(|pane| pane.classification.status == PaneStatus::Active).count() as u64;
        panes.retain(|pane| options.filter.matches_classified(machine, pane.classification.status));
        // Every row is this machine's; the guard counts machines all the same, because the contract does.
        let machines: Vec<String> = if panes.is_empty() { Vec::new() } else { vec![machine.to_owned()] };
        let reasons = reasons(options.action, machines.len(), active, load, &options.limits);

        let mut envelope = Envelope::new();
        envelope.observed_at = at;
        envelope.action = options.action;
        envelope.dry_run = options.dry_run;
        envelope.yes = options.yes;
        envelope.queue = options.queue;
        envelope.execution_enabled = !options.dry_run;
        envelope.concurrency = options.concurrency;
        envelope.jitter_ms = options.jitter_ms;
        envelope.filters = filters(&options.filter);
        envelope.entries = panes
            .iter()
            .enumerate()
            .map(|(index, pane)| entry(options, server, machine, index, pane, &reasons))
            .collect();
        envelope.guard = guard(options, machines, active, panes.len(), load, reasons);
        let mut plan = Self { envelope, panes };
        plan.count(total);
        plan
    }

    /// The entries that are to be run.
    pub fn steps(&self) -> Vec<Step> {
        let envelope = &self.envelope;
        if envelope.action.is_read_only() || !envelope.execution_enabled {
            return Vec::new();
        }
        let runs = |entry: &&Entry| matches!(entry.decision, EntryDecision::Queued | EntryDecision::Planned);
        let steps =
            envelope.entries.iter().enumerate().filter(|(_, entry)| runs(entry)).filter_map(|(index, entry)| {
                let delay_ms = if envelope.queue { entry.scheduled_delay_ms } else { 0 };
                entry.argv.clone().map(|argv| Step { index, delay_ms, argv })
            });
        steps.collect()
    }

    /// Puts the results of a run into the entries and the summary.
    pub fn settle(&mut self, reports: Vec<Report>) {
        for report in reports {
            let Some(entry) = self.envelope.entries.get_mut(report.index) else { continue };
            let mut result = EntryResult::new();
            result.outcome = report.outcome;
            result.exit_code = report.exit_code;
            result.message = text::line(&report.message);
            result.started_at = report.started_at;
            result.ended_at = report.ended_at;
            entry.result = Some(result);
        }
        let total = self.envelope.summary.total_panes;
        self.count(total);
    }

    /// Puts the checks of `doctor` into the entries and the summary.
    pub fn check(&mut self, checks: impl Fn(&Pane) -> Vec<EntryCheck>) {
        for (entry, pane) in self.envelope.entries.iter_mut().zip(&self.panes) {
            entry.checks = Some(checks(pane));
        }
        let total = self.envelope.summary.total_panes;
        self.count(total);
    }

    /// Whether every requested action succeeded; it decides the exit code.
    pub fn well(&self) -> bool {
        if self.envelope.action.is_read_only() {
            return !self.envelope.entries.iter().any(has_failed_check);
        }
        self.envelope.guard.ok
            && self.envelope.entries.iter().all(|entry| {
                entry.decision != EntryDecision::Refused
                    && entry.result.as_ref().is_none_or(|result| result.outcome == EntryOutcome::Done)
            })
    }

    fn count(&mut self, total: u64) {
        let entries = &self.envelope.entries;
        let decided = |decision| entries.iter().filter(|entry| entry.decision == decision).count() as u64;
        let ended = |outcome| {
            let of = |entry: &&Entry| entry.result.as_ref().is_some_and(|result| result.outcome == outcome);
            entries.iter().filter(of).count() as u64
        };
        let mut summary = Summary::new();
        summary.total_panes = total;
        summary.selected = entries.len() as u64;
        summary.planned = decided(EntryDecision::Planned);
        summary.queued = decided(EntryDecision::Queued);
        summary.skipped = decided(EntryDecision::Skipped);
        summary.refused = decided(EntryDecision::Refused) + ended(EntryOutcome::Refused);
        let looked_at = entries.iter().filter(|entry| entry.captured_text.is_some() || entry.checks.is_some());
        let (failed, well): (Vec<_>, Vec<_>) = looked_at.partition(|entry| has_failed_check(entry));
        summary.done = Some(ended(EntryOutcome::Done) + well.len() as u64);
        summary.failed = Some(ended(EntryOutcome::Failed) + failed.len() as u64);
        self.envelope.summary = summary;
    }
}

fn has_failed_check(entry: &Entry) -> bool {
    entry.checks.iter().flatten().any(|check| !check.ok)
}

fn filters(filter: &Filter) -> Filters {
    let mut filters = Filters::new();
    filters.open_only = filter.open_only;
    filters.statuses.clone_from(&filter.statuses);
    filters.project.clone_from(&filter.project);
    filters.machine.clone_from(&filter.machine);
    filters
}

fn guard(
    options: &Options,
    machines: Vec<String>,
    active: u64,
    selected: usize,
    load: Load,
    reasons: Vec<String>,
) -> Guard {
    let mut hints = Hints::new();
    hints.capture_scope = "prefiltered".to_owned();
    hints.active_agent_count = active;
    hints.selected_count = selected as u64;
    hints.selected_machine_count = machines.len() as u64;
    hints.selected_machines = machines;
    hints.load1 = load.load1;
    hints.cpu_count = load.cpus;
    hints.load_per_core = load.per_core();
    hints.max_active_agents = options.limits.max_active_agents;
    hints.max_load1 = options.limits.max_load1;
    hints.max_load_per_core = options.limits.max_load_per_core;
    let mut guard = Guard::new();
    guard.ok = reasons.is_empty();
    guard.reasons = reasons;
    guard.hints = hints;
    guard
}

fn entry(options: &Options, server: &Server, machine: &str, index: usize, pane: &Pane, reasons: &[String]) -> Entry {
    let (decision, reason, queue) = decide(&DecisionInput {
        action: options.action,
        status: pane.classification.status,
        statuses: options.filter.statuses.as_deref(),
        reasons,
        dry_run: options.dry_run,
        yes: options.yes,
        queue: options.queue,
    });
    let argv = argv(options.action, server, pane);
    let mut entry = Entry::new();
    entry.target = pane.facts.target();
    machine.clone_into(&mut entry.machine);
    entry.project_slug.clone_from(&pane.project.slug);
    entry.project_path.clone_from(&pane.project.path);
    entry.is_open_session = pane.project.open;
    entry.status = pane.classification.status;
    entry.action = options.action;
    entry.decision = decision;
    entry.reason = reason;
    entry.scheduled_delay_ms = delay(&entry.target, index, options.concurrency, options.jitter_ms);
    entry.queue = queue;
    entry.command_preview = argv.as_deref().map(preview);
    entry.argv = argv;
    entry.last_visible_line.clone_from(&pane.last_line);
    entry.pane_id = Some(pane.facts.pane_id.clone());
    if options.action == Action::Capture {
        entry.captured_text = Some(text::screen(&pane.text));
    }
    entry
}

/// What an action runs on a pane.
///
/// A dead pane still exists, so it is started again in place, in the folder it was opened in; a live one
/// keeps the folder it works in.
fn argv(action: Action, server: &Server, pane: &Pane) -> Option<Vec<String>> {
    let facts = &pane.facts;
    let id = facts.pane_id.as_str();
    let some = |folder: &str| (!folder.trim().is_empty()).then(|| folder.to_owned());
    let folder = some(&facts.path).or_else(|| some(&facts.start_path));
    let mut command: Vec<&str> = Vec::new();
    let in_folder = match action {
        Action::Capture => {
            command.extend(["capture-pane", "-p", "-t", id]);
            None
        }
        Action::Stop => {
            command.extend(["kill-pane", "-t", id]);
            None
        }
        Action::Restart => {
            command.extend(["respawn-pane", "-k", "-t", id]);
            folder
        }
        Action::Ensure | Action::Start if facts.dead => {
            command.extend(["respawn-pane", "-t", id]);
            folder
        }
        Action::Ensure | Action::Start => {
            command.extend(["new-session", "-d", "-s", &facts.session]);
            Some(pane.project.path.clone()?)
        }
        _ => return None,
    };
    if let Some(folder) = &in_folder {
        command.extend(["-c", folder]);
    }
    Some(server.argv(&command))
}

/// A command line as JSON strings with blanks between: for people, never to be run.
pub fn preview(argv: &[String]) -> String {
    let quoted: Vec<String> = argv.iter().map(|word| serde_json::Value::from(word.as_str()).to_string()).collect();
    quoted.join(" ")
}
