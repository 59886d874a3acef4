//! What the reading commands print with `--json`, one document or line each.

use crate::row::{Problem, Row};
use crate::shape::Tag;
use crate::status::{AgentName, Attention, ContextDetail, Process, Reason, State, StateFrom};
use crate::time::Timestamp;
use serde_json::{Map, Value};

record! {
    /// `ls --json`: every session, the one that needs a person first.
    pub struct Ls {
        /// The version of this document: 1.
        version schema: Tag = "schema" is 1,
        /// When it was looked.
        required at: Timestamp = "at",
        /// The sessions: attention first (oldest first), then busy, then idle; then by folder and id.
        needed sessions: Vec<Row> = "sessions",
        /// Files and hosts that gave no row.
        needed problems: Vec<Problem> = "problems",
    }
}

record! {
    /// `show --json`: one session with its whole file.
    pub struct Show {
        /// The version of this document: 1.
        version schema: Tag = "schema" is 1,
        /// When it was looked.
        required at: Timestamp = "at",
        /// The session.
        required session: Row = "session",
        /// The file as read, unknown fields included.
        needed document: Map<String, Value> = "document",
    }
}

record! {
    /// `wait --json`: the session as it was when the wait ended.
    pub struct Wait {
        /// The version of this document: 1.
        version schema: Tag = "schema" is 1,
        /// When it was looked.
        required at: Timestamp = "at",
        /// The session.
        required session: Row = "session",
    }
}

record! {
    /// `context --json`: what fills a session's context.
    pub struct ContextDocument {
        /// The version of this document: 1.
        version schema: Tag = "schema" is 1,
        /// When it was looked.
        required at: Timestamp = "at",
        /// The session.
        required session: Row = "session",
        /// What fills its context; null when the agent tells none.
        seed context_detail: Option<ContextDetail> = "contextDetail",
    }
}

lines! {
    /// `watch --json`: one line a change, distinguished by `change`. A new `updatedAt` alone gives no line.
    pub enum WatchLine by "change" {
        /// A session appeared.
        Added(WatchAdded) = "added",
        /// A session changed.
        Changed(WatchChanged) = "changed",
        /// A session went.
        Removed(WatchRemoved) = "removed",
        /// A file or host gives no row.
        Problem(WatchProblem) = "problem",
        /// Everything that was there has been reported; written once.
        Ready(WatchReady) = "ready",
    }
}

record! {
    /// A session appeared.
    pub struct WatchAdded {
        /// The version of this line: 1.
        version schema: Tag = "schema" is 1,
        /// When it was seen.
        required at: Timestamp = "at",
        /// The word of this line.
        tag change: Tag = "change" is "added",
        /// The session.
        required session: Row = "session",
    }
}

record! {
    /// A session changed.
    pub struct WatchChanged {
        /// The version of this line: 1.
        version schema: Tag = "schema" is 1,
        /// When it was seen.
        required at: Timestamp = "at",
        /// The word of this line.
        tag change: Tag = "change" is "changed",
        /// The session as it is now.
        required session: Row = "session",
        /// The names of the row's fields that changed, and `tools` and `lastRequest` when those of the file did.
        needed fields: Vec<String> = "fields",
    }
}

record! {
    /// A session went.
    pub struct WatchRemoved {
        /// The version of this line: 1.
        version schema: Tag = "schema" is 1,
        /// When it was seen.
        required at: Timestamp = "at",
        /// The word of this line.
        tag change: Tag = "change" is "removed",
        /// The session as it was last.
        required session: Row = "session",
        /// How it went.
        required why: RemovedWhy = "why",
    }
}

closed_words! {
    /// How a session went.
    pub enum RemovedWhy {
        /// Its file was removed.
        Ended = "ended",
        /// Its process is gone.
        Gone = "gone",
        /// Its process id belongs to another process.
        Reused = "reused",
    }
}

record! {
    /// A file or host gives no row.
    pub struct WatchProblem {
        /// The version of this line: 1.
        version schema: Tag = "schema" is 1,
        /// When it was seen.
        required at: Timestamp = "at",
        /// The word of this line.
        tag change: Tag = "change" is "problem",
        /// What and why.
        required problem: Problem = "problem",
    }
}

record! {
    /// Everything that was there has been reported.
    pub struct WatchReady {
        /// The version of this line: 1.
        version schema: Tag = "schema" is 1,
        /// When.
        required at: Timestamp = "at",
        /// The word of this line.
        tag change: Tag = "change" is "ready",
    }
}

record! {
    /// `explain --json`: why a session is shown as it is.
    pub struct Explain {
        /// The version of this document: 1.
        version schema: Tag = "schema" is 1,
        /// When it was looked.
        required at: Timestamp = "at",
        /// The session.
        required session: Row = "session",
        /// How its life was proved.
        needed identity: Identity = "identity",
        /// Where its state comes from.
        needed state: StateProof = "state",
        /// Further remarks, for people.
        needed notes: Vec<String> = "notes",
    }
}

record! {
    /// How a session's life was proved.
    pub struct Identity {
        /// What the file says.
        needed recorded: RecordedIdentity = "recorded",
        /// What the process table says.
        needed observed: ObservedIdentity = "observed",
        /// The row of the verdict table that decided, such as `7`.
        needed rule: String = "rule",
    }
}

record! {
    /// What a file says of its process.
    pub struct RecordedIdentity {
        /// The process id.
        seed pid: Option<u32> = "pid",
        /// Its identity.
        seed process: Option<Process> = "process",
    }
}

record! {
    /// What the process table says.
    pub struct ObservedIdentity {
        /// Whether a process has this id.
        seed exists: Option<bool> = "exists",
        /// Its state's letter or word, as the system gives it.
        seed process_state: Option<String> = "processState",
        /// Its identity.
        seed process: Option<Process> = "process",
    }
}

record! {
    /// Where a session's state comes from.
    pub struct StateProof {
        /// What the file says.
        needed written: StateEvidence = "written",
        /// What the agent's own records say.
        needed evidence: Vec<StateEvidence> = "evidence",
        /// Which one counts: its `from`.
        seed chosen: Option<StateFrom> = "chosen",
    }
}

record! {
    /// One source of a session's state.
    pub struct StateEvidence {
        /// The source.
        seed from: Option<StateFrom> = "from",
        /// When it was set there.
        seed at: Option<Timestamp> = "at",
        /// The state.
        seed state: Option<State> = "state",
        /// Whether a person is waited for.
        seed attention: Option<Attention> = "attention",
    }
}

record! {
    /// `king ls --json`: pi-king's sessions with what only its format holds.
    pub struct KingLs {
        /// The version of this document: 1.
        version schema: Tag = "schema" is 1,
        /// When it was looked.
        required at: Timestamp = "at",
        /// The sessions.
        needed sessions: Vec<Map<String, Value>> = "sessions",
        /// Files that gave no row.
        needed problems: Vec<Problem> = "problems",
    }
}

record! {
    /// `paths --json`: where everything is.
    pub struct Paths {
        /// The version of this document: 1.
        version schema: Tag = "schema" is 1,
        /// The state folder.
        needed state_dir: PathEntry = "stateDir",
        /// Status files.
        needed sessions: PathEntry = "sessions",
        /// Request files.
        needed requests: PathEntry = "requests",
        /// The bus.
        needed bus: PathEntry = "bus",
        /// The log.
        needed log: PathEntry = "log",
        /// pi-king's status files.
        needed king: PathEntry = "king",
        /// The configuration file.
        needed config: PathEntry = "config",
        /// Marks of what was seen.
        added seen: Option<PathEntry> = "seen",
    }
}

record! {
    /// One place.
    pub struct PathEntry {
        /// Its path.
        required path: String = "path",
        /// The same with links followed; null when it is not there.
        seed real_path: Option<String> = "realPath",
        /// Whether it is there.
        needed exists: bool = "exists",
    }
}

record! {
    /// `prune --json`: what was removed and what was kept.
    pub struct Prune {
        /// The version of this document: 1.
        version schema: Tag = "schema" is 1,
        /// What was removed.
        needed removed: Vec<Pruned> = "removed",
        /// What was kept.
        needed kept: Vec<RetainedFile> = "kept",
    }
}

record! {
    /// A file that was removed.
    pub struct Pruned {
        /// The file.
        required path: String = "path",
        /// Why: a verdict, `abandoned`, `empty` or `unparsable`.
        needed verdict: String = "verdict",
    }
}

record! {
    /// A file that was kept.
    pub struct RetainedFile {
        /// The file.
        required path: String = "path",
        /// Why.
        needed reason: String = "reason",
    }
}

record! {
    /// `validate --json`: whether files are what they should be.
    pub struct Validate {
        /// The version of this document: 1.
        version schema: Tag = "schema" is 1,
        /// The files.
        needed files: Vec<ValidatedFile> = "files",
    }
}

record! {
    /// One validated file.
    pub struct ValidatedFile {
        /// The file.
        required path: String = "path",
        /// Its format, or null when it is of none.
        seed format: Option<String> = "format",
        /// Whether nothing is wrong with it.
        required ok: bool = "ok",
        /// What is wrong with it.
        needed problems: Vec<Finding> = "problems",
    }
}

record! {
    /// One thing that is wrong with a file.
    pub struct Finding {
        /// Where, as a JSON pointer; in a line format with the line's number before it.
        needed pointer: String = "pointer",
        /// What.
        required message: String = "message",
    }
}

record! {
    /// `doctor --json`: whether everything is as it should be.
    pub struct Doctor {
        /// The version of this document: 1.
        version schema: Tag = "schema" is 1,
        /// When it was looked.
        required at: Timestamp = "at",
        /// Whether every check is ok.
        required ok: bool = "ok",
        /// The checks.
        needed checks: Vec<Check> = "checks",
    }
}

record! {
    /// One check.
    pub struct Check {
        /// Its name.
        required check: String = "check",
        /// Whether it is ok.
        required ok: bool = "ok",
        /// What was found.
        needed message: String = "message",
        /// What can be done about it.
        added hint: Option<String> = "hint",
        /// The file or folder.
        added path: Option<String> = "path",
    }
}

record! {
    /// `statusline --format json`: what a status bar shows.
    pub struct Statusline {
        /// The version of this document: 1.
        version schema: Tag = "schema" is 1,
        /// When it was looked.
        required at: Timestamp = "at",
        /// Sessions that wait for a person.
        needed attention: u64 = "attention",
        /// Sessions whose process is stopped.
        needed stopped: u64 = "stopped",
        /// Sessions whose last turn is over and was not seen yet.
        needed finished: u64 = "finished",
        /// Sessions that work.
        needed busy: u64 = "busy",
        /// Sessions that wait for a prompt.
        needed idle: u64 = "idle",
        /// The sessions that wait for a person, the longest wait first.
        needed waiting: Vec<StatuslineWait> = "waiting",
    }
}

record! {
    /// One session that waits for a person.
    pub struct StatuslineWait {
        /// The session's id.
        required session: String = "session",
        /// Which agent.
        seed agent: Option<AgentName> = "agent",
        /// The session's name as its user set it.
        seed name: Option<String> = "name",
        /// What a listing calls it: its name, else the end of its id.
        needed title: String = "title",
        /// Why it waits.
        needed reason: Reason = "reason",
        /// Since when.
        seed since: Option<Timestamp> = "since",
        /// The host it was read on; null for this machine.
        seed host: Option<String> = "host",
    }
}

record! {
    /// `seen --json`: the mark that was made.
    pub struct Seen {
        /// The version of this document: 1.
        version schema: Tag = "schema" is 1,
        /// When it was marked.
        required at: Timestamp = "at",
        /// The session's id.
        required session: String = "session",
        /// The mark.
        needed path: String = "path",
    }
}
