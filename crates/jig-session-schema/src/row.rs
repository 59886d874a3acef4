//! Rows and problems: what every reading command prints of a session.

use crate::status::{AgentName, Attention, Context, Model, State, StateFrom, Status, Usage};
use crate::time::Timestamp;

record! {
    /// One session in one line of a listing: a summary on purpose.
    pub struct Row {
        /// The session's id.
        required session: String = "session",
        /// Which agent.
        seed agent: Option<crate::status::Agent> = "agent",
        /// The session's name as its user set it.
        seed name: Option<String> = "name",
        /// The agent's working folder.
        needed cwd: String = "cwd",
        /// The reconciled state.
        needed state: State = "state",
        /// A person is waited for; reconciled.
        seed attention: Option<Attention> = "attention",
        /// Background tasks and subagents still running.
        seed background: Option<u64> = "background",
        /// What set the state; reconciled.
        seed state_from: Option<StateFrom> = "stateFrom",
        /// When the state last changed; reconciled.
        seed state_at: Option<Timestamp> = "stateAt",
        /// The model.
        seed model: Option<Model> = "model",
        /// How full the context is.
        needed context: Context = "context",
        /// Tokens and cost; null when this source tells none.
        seed usage: Option<Usage> = "usage",
        /// The agent's process id.
        seed pid: Option<u32> = "pid",
        /// The terminal.
        seed terminal: Option<String> = "terminal",
        /// The tmux pane.
        seed tmux_pane: Option<String> = "tmuxPane",
        /// When this process began this session.
        seed started_at: Option<Timestamp> = "startedAt",
        /// When the file was last written.
        seed updated_at: Option<Timestamp> = "updatedAt",
        /// Which format the row is from.
        needed source: Source = "source",
        /// The host it was read on with `--on`, or that shared it for `--fleet`; null for this machine.
        seed host: Option<String> = "host",
        /// The file.
        needed path: String = "path",
        /// Whether the session lives.
        needed verdict: Verdict = "verdict",
        /// Why the verdict is what it is.
        seed detail: Option<Detail> = "detail",
        /// Whose word the row is, when it came through a broker.
        added reported: Option<Reported> = "reported",
    }
}

record! {
    /// Whose word a row is that came through a broker, and when it was given.
    pub struct Reported {
        /// The machine.
        required by: String = "by",
        /// When, by that machine's clock.
        seed at: Option<Timestamp> = "at",
        /// The verdict as that machine judged it.
        needed verdict: Verdict = "verdict",
    }
}

impl Row {
    /// The agent's name: a session without one is of `pi`.
    #[must_use]
    pub fn agent_name(&self) -> AgentName {
        self.agent.as_ref().map_or(AgentName::PI, |agent| agent.name.clone())
    }
}

closed_words! {
    /// Which format a row is from.
    pub enum Source {
        /// Status v1.
        Jig = "jig",
        /// pi-king session-status v1.
        PiKing = "pi-king",
    }
}

closed_words! {
    /// Whether a session lives, proved by its process's identity and never by age.
    pub enum Verdict {
        /// Nothing is known; never taken for dead.
        Unknown = "unknown",
        /// The process runs, and it is the one that wrote the file.
        Alive = "alive",
        /// A process runs under this id; that it is the same one could not be proved.
        Unverified = "unverified",
        /// The process does not run any more.
        Gone = "gone",
        /// The process id belongs to another process now.
        Reused = "reused",
    }
}

impl Verdict {
    /// Whether the session is over: only then may anything of it be removed.
    #[must_use]
    pub fn is_over(self) -> bool {
        matches!(self, Self::Gone | Self::Reused)
    }

    /// Whether the process runs, proved or not.
    #[must_use]
    pub fn is_alive(self) -> bool {
        matches!(self, Self::Alive | Self::Unverified)
    }
}

open_words! {
    /// Why a verdict is what it is.
    pub struct Detail {
        /// The process is stopped.
        STOPPED = "stopped",
        /// The process has ended and waits for its parent.
        ZOMBIE = "zombie",
        /// The machine was started again since.
        REBOOTED = "rebooted",
        /// The process's start could not be read.
        START_UNREADABLE = "start unreadable",
        /// The file holds no identity.
        NO_IDENTITY = "no identity",
        /// The file is from another machine.
        OTHER_MACHINE = "other machine",
        /// The file is from another pid namespace.
        OTHER_PID_NAMESPACE = "other pid namespace",
        /// The process serves several sessions.
        SHARED_PROCESS = "shared process",
        /// A pi-king card of a session that has ended.
        EXITED = "exited",
        /// The agent lives, but the process that kept its file up to date is gone or stopped.
        NO_PUBLISHER = "no publisher",
        /// Two live processes tell of the session; the row is of the one that began last.
        TWO_PROCESSES = "two processes",
        /// The row's host does not answer any more: the row is what it said last.
        UNREACHABLE = "unreachable",
        /// Another machine's word, through a broker: whose and when is in `reported`.
        REPORTED = "reported",
        /// The process table could not be asked.
        PROBE_FAILED = "probe failed",
    }
}

record! {
    /// A file or host that gave no row.
    pub struct Problem {
        /// The host, or null for this machine.
        seed host: Option<String> = "host",
        /// The file; null for a host.
        seed path: Option<String> = "path",
        /// What is wrong.
        required reason: ProblemReason = "reason",
        /// The same for people, with the cause.
        needed message: String = "message",
    }
}

open_words! {
    /// Why a file or host gave no row.
    pub struct ProblemReason {
        /// A link, folder, pipe, socket or device.
        NOT_A_REGULAR_FILE = "not-a-regular-file",
        /// It belongs to another user.
        FOREIGN_OWNER = "foreign-owner",
        /// It is larger than a document may be.
        TOO_LARGE = "too-large",
        /// It holds no byte.
        EMPTY = "empty",
        /// It is no such document.
        UNPARSABLE = "unparsable",
        /// Its version is not known here.
        UNSUPPORTED = "unsupported",
        /// Its name does not fit the session inside.
        MISMATCH = "mismatch",
        /// It could not be read.
        UNREADABLE = "unreadable",
        /// The host did not answer.
        UNREACHABLE = "unreachable",
        /// The host's clock is off.
        CLOCK = "clock",
    }
}

impl Row {
    /// The row of a session; what only the reader knows is given. `status` may be what
    /// [`Status::scan`] reads.
    #[must_use]
    pub fn of(status: Status, path: String, verdict: Verdict, detail: Option<Detail>) -> Self {
        Self {
            session: status.session,
            agent: Some(status.agent.unwrap_or_else(|| crate::status::Agent::new().name(AgentName::PI))),
            name: status.name,
            cwd: status.cwd,
            state: status.state,
            attention: status.attention,
            background: status.background,
            state_from: status.state_from,
            state_at: status.state_at,
            model: status.model,
            context: status.context,
            usage: Some(status.usage),
            pid: status.pid,
            terminal: status.terminal,
            tmux_pane: status.tmux_pane,
            started_at: status.started_at,
            updated_at: status.updated_at,
            source: Source::Jig,
            host: None,
            path,
            verdict,
            detail,
            reported: None,
            unknown: crate::shape::Unknown::default(),
        }
    }
}
