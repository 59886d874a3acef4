//! The envelope of `bulk ACTION --json`: what is planned, refused and done with many panes.

use crate::live::PaneStatus;
use crate::shape::Tag;
use crate::time::Timestamp;

record! {
    /// One run of `bulk`, printed once, after the last entry has ended.
    pub struct Envelope {
        /// The version of this format.
        version schema_version: Tag = "schemaVersion" is "sessions.bulk.v1",
        /// When the panes were observed.
        required observed_at: Timestamp = "observedAt",
        /// The action.
        required action: Action = "action",
        /// Whether only a plan was requested.
        needed dry_run: bool = "dryRun",
        /// Whether it was confirmed.
        needed yes: bool = "yes",
        /// Whether changes go through the queue.
        needed queue: bool = "queue",
        /// False with a dry run: nothing is run.
        needed execution_enabled: bool = "executionEnabled",
        /// How many run at once.
        needed concurrency: u64 = "concurrency",
        /// The greatest random delay, in milliseconds.
        needed jitter_ms: u64 = "jitterMs",
        /// Which panes were requested.
        needed filters: Filters = "filters",
        /// Whether the machine may be burdened.
        needed guard: Guard = "guard",
        /// Counts.
        needed summary: Summary = "summary",
        /// The panes.
        needed entries: Vec<Entry> = "entries",
    }
}

closed_words! {
    /// What is done with the panes.
    pub enum Action {
        /// Report them.
        Status = "status",
        /// Report their text.
        Capture = "capture",
        /// Check them.
        Doctor = "doctor",
        /// Start what is dead.
        Ensure = "ensure",
        /// Start what is dead.
        Start = "start",
        /// Close them.
        Stop = "stop",
        /// Run their command again.
        Restart = "restart",
    }
}

impl Action {
    /// Whether it only reads.
    #[must_use]
    pub fn is_read_only(self) -> bool {
        matches!(self, Self::Status | Self::Capture | Self::Doctor)
    }
}

record! {
    /// Which panes were requested.
    pub struct Filters {
        /// Only open sessions.
        needed open_only: bool = "openOnly",
        /// Only these; null for all.
        seed statuses: Option<Vec<PaneStatus>> = "statuses",
        /// Only this project; null for all.
        seed project: Option<String> = "project",
        /// Only this machine; null for all.
        seed machine: Option<String> = "machine",
    }
}

record! {
    /// Whether the machine may be burdened.
    pub struct Guard {
        /// Whether nothing speaks against it.
        required ok: bool = "ok",
        /// What does.
        needed reasons: Vec<String> = "reasons",
        /// The figures behind it.
        needed hints: Hints = "hints",
    }
}

record! {
    /// The figures behind the guard.
    pub struct Hints {
        /// Which panes were counted: `prefiltered`.
        needed capture_scope: String = "captureScope",
        /// Active panes.
        needed active_agent_count: u64 = "activeAgentCount",
        /// Selected panes.
        needed selected_count: u64 = "selectedCount",
        /// Machines of the selected panes.
        needed selected_machine_count: u64 = "selectedMachineCount",
        /// Their names, sorted.
        needed selected_machines: Vec<String> = "selectedMachines",
        /// The load of the last minute.
        needed load1: f64 = "load1",
        /// Processors.
        needed cpu_count: u64 = "cpuCount",
        /// Load a processor.
        needed load_per_core: f64 = "loadPerCore",
        /// The most active panes allowed.
        needed max_active_agents: u64 = "maxActiveAgents",
        /// The greatest load allowed; null for any.
        seed max_load1: Option<f64> = "maxLoad1",
        /// The greatest load a processor allowed.
        needed max_load_per_core: f64 = "maxLoadPerCore",
    }
}

record! {
    /// Counts.
    pub struct Summary {
        /// Panes captured.
        needed total_panes: u64 = "totalPanes",
        /// Panes selected.
        needed selected: u64 = "selected",
        /// Entries decided `planned`.
        needed planned: u64 = "planned",
        /// Entries decided `queued`.
        needed queued: u64 = "queued",
        /// Entries decided `skipped`.
        needed skipped: u64 = "skipped",
        /// Entries decided `refused`.
        needed refused: u64 = "refused",
        /// Entries run well.
        added done: Option<u64> = "done",
        /// Entries run badly.
        added failed: Option<u64> = "failed",
    }
}

record! {
    /// One pane.
    pub struct Entry {
        /// `session:windowIndex.paneIndex`.
        required target: String = "target",
        /// The machine's name.
        needed machine: String = "machine",
        /// The project's name.
        needed project_slug: String = "projectSlug",
        /// The project's folder.
        seed project_path: Option<String> = "projectPath",
        /// Whether it belongs to an open session.
        needed is_open_session: bool = "isOpenSession",
        /// What it did when it was observed.
        required status: PaneStatus = "status",
        /// The action.
        required action: Action = "action",
        /// What was decided.
        required decision: EntryDecision = "decision",
        /// Why.
        needed reason: String = "reason",
        /// When its turn is, in milliseconds after the start.
        needed scheduled_delay_ms: u64 = "scheduledDelayMs",
        /// Its queue.
        needed queue: Queue = "queue",
        /// Exactly what is run; null when nothing is.
        seed argv: Option<Vec<String>> = "argv",
        /// The same as text, for people; never to be run.
        seed command_preview: Option<String> = "commandPreview",
        /// The pane's last line that is not blank; untrusted.
        seed last_visible_line: Option<String> = "lastVisibleLine",
        /// The pane's id.
        added pane_id: Option<String> = "paneId",
        /// The pane's text, of `capture`; null otherwise. Untrusted.
        seed captured_text: Option<String> = "capturedText",
        /// The checks, of `doctor`; null otherwise.
        seed checks: Option<Vec<EntryCheck>> = "checks",
        /// How it went; null when nothing was run.
        seed result: Option<EntryResult> = "result",
    }
}

closed_words! {
    /// What was decided on a pane.
    pub enum EntryDecision {
        /// Safe to report, or would run in a dry run.
        Planned = "planned",
        /// Accepted into the queue.
        Queued = "queued",
        /// It does not apply.
        Skipped = "skipped",
        /// A guard rejected it.
        Refused = "refused",
    }
}

closed_words! {
    /// An entry's queue.
    pub enum Queue {
        /// None.
        None = "none",
        /// This machine's.
        Local = "local",
    }
}

record! {
    /// One check of a pane.
    pub struct EntryCheck {
        /// Its name.
        required check: String = "check",
        /// Whether it is ok.
        required ok: bool = "ok",
        /// What was found.
        needed message: String = "message",
    }
}

record! {
    /// How an entry went.
    pub struct EntryResult {
        /// In a word.
        required outcome: EntryOutcome = "outcome",
        /// The exit code of what was run.
        seed exit_code: Option<i32> = "exitCode",
        /// What it said.
        needed message: String = "message",
        /// When it began.
        seed started_at: Option<Timestamp> = "startedAt",
        /// When it ended.
        seed ended_at: Option<Timestamp> = "endedAt",
    }
}

closed_words! {
    /// How an entry went.
    pub enum EntryOutcome {
        /// Well.
        Done = "done",
        /// Badly.
        Failed = "failed",
        /// The pane changed before its turn.
        Refused = "refused",
        /// The run was broken off.
        Cancelled = "cancelled",
    }
}
