//! A table of processes that a test fills.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jig_session_schema::row::Verdict;
use jig_session_schema::status;

use crate::evidence::Record;
use crate::identity::{ProbeError, Process, ProcessState};
use crate::processes::Processes;
use crate::verdict::{Judgement, Rule};

/// The run of the machine that every process of the table belongs to.
pub const BOOT: &str = "boot-1";

/// The start of a process that nobody has put into the table.
#[must_use]
pub fn start_of(pid: u32) -> String {
    format!("linux:{pid}")
}

/// Processes by their ids; clones share them. One that nobody has mentioned runs, has no parent and no terminal, and
/// started at [`start_of`].
#[derive(Clone, Debug, Default)]
pub struct Table(Arc<Mutex<Entries>>);

#[derive(Debug, Default)]
struct Entries {
    processes: HashMap<u32, Process>,
    command_lines: HashMap<u32, Vec<String>>,
    verdicts: HashMap<u32, Judgement>,
    judged: usize,
}

impl Table {
    /// A table in which every process runs.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a record of this process is judged from now on.
    pub fn set(&self, pid: u32, verdict: Verdict) {
        let (detail, rule) = match verdict {
            Verdict::Alive => (None, Rule::SameStart),
            Verdict::Gone => (None, Rule::NoProcess),
            Verdict::Reused => (None, Rule::OtherStart),
            Verdict::Unverified => (Some("start unreadable"), Rule::StartHidden),
            _ => (Some("probe failed"), Rule::ProbeFailed),
        };
        self.judge_as(pid, Judgement { verdict, detail, rule });
    }

    /// As [`Table::set`], with detail and row.
    pub fn judge_as(&self, pid: u32, judgement: Judgement) {
        self.entries().verdicts.insert(pid, judgement);
    }

    /// Puts a process below `parent`, in a terminal or in none.
    pub fn add(&self, pid: u32, parent: Option<u32>, command: &str, terminal: Option<u64>) {
        self.put(Process { parent, command: command.to_owned(), terminal, ..process(pid) });
    }

    /// How a process was started.
    pub fn set_command_line<'a>(&self, pid: u32, words: impl IntoIterator<Item = &'a str>) {
        self.entries().command_lines.insert(pid, words.into_iter().map(str::to_owned).collect());
    }

    /// Puts a process into the table, as it is to be seen.
    pub fn put(&self, process: Process) {
        self.entries().processes.insert(process.pid, process);
    }

    /// How many records were judged.
    #[must_use]
    pub fn judged(&self) -> usize {
        self.entries().judged
    }
}

/// A process that nobody has mentioned.
#[must_use]
pub fn process(pid: u32) -> Process {
    Process {
        pid,
        parent: None,
        command: String::new(),
        state: ProcessState::Live,
        session: None,
        terminal: None,
        start: start_of(pid),
        started_ms: None,
    }
}

impl Processes for Table {
    fn process(&self, pid: u32) -> Result<Process, ProbeError> {
        let entries = self.entries();
        match entries.verdicts.get(&pid) {
            Some(judged) if judged.verdict == Verdict::Gone => Err(ProbeError::Missing),
            _ => Ok(entries.processes.get(&pid).cloned().unwrap_or_else(|| process(pid))),
        }
    }

    fn command_line(&self, pid: u32) -> Vec<String> {
        self.entries().command_lines.get(&pid).cloned().unwrap_or_default()
    }

    fn judge(&self, record: &Record<'_>) -> Judgement {
        let mut entries = self.entries();
        entries.judged += 1;
        let unproved = |verdict, rule| Judgement { verdict, detail: Some("no identity"), rule };
        match record.valid_pid() {
            None => unproved(Verdict::Unknown, Rule::NoPid),
            Some(pid) => match entries.verdicts.get(&pid) {
                Some(judged) => *judged,
                None if record.is_proof() => Judgement { verdict: Verdict::Alive, detail: None, rule: Rule::SameStart },
                None => unproved(Verdict::Unverified, Rule::NoIdentity),
            },
        }
    }

    fn identity(&self, start: String) -> status::Process {
        status::Process::new().start(Some(start)).boot_id(Some(BOOT.to_owned()))
    }
}
