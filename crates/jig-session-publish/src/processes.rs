//! The process table as the publisher needs it; a test hands in its own.

use jig_session_liveness::{Machine, Probe, Record, Verdict};
use jig_session_schema::status::{Process, Status};

/// What the publisher asks about processes.
pub trait Processes {
    /// The identity of a running process; `None` when the system does not tell.
    fn identity(&self, pid: u32) -> Option<Process>;
    /// Whether the process that a document names still runs.
    fn verdict(&self, record: &Status) -> Verdict;
    /// The parent of a process, the parent's parent and so on.
    fn ancestors(&self, pid: u32) -> Vec<Ancestor>;
    /// The controlling terminal of a process, as a device number.
    fn terminal(&self, pid: u32) -> Option<u64>;
    /// Whether no process has this id: what decides about a temporary file, which holds nothing but the id.
    fn is_gone(&self, pid: u32) -> bool;
}

/// A process above another one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ancestor {
    /// Its id.
    pub pid: u32,
    /// Its short name.
    pub name: String,
    /// When it started, as `process.start` has it.
    pub start: Option<String>,
    /// Its controlling terminal, as a device number.
    pub terminal: Option<u64>,
}

impl Processes for Machine {
    fn identity(&self, pid: u32) -> Option<Process> {
        let identity = self.identity_of(pid).ok()?;
        let mut process = Process::new().start(Some(identity.start));
        process.boot_id = identity.boot_id;
        process.pid_namespace = identity.pid_namespace;
        process.machine = identity.machine;
        Some(process)
    }

    fn verdict(&self, record: &Status) -> Verdict {
        self.judge(&record_of(record)).verdict
    }

    fn ancestors(&self, pid: u32) -> Vec<Ancestor> {
        let above = Self::ancestors(self, pid).into_iter();
        above
            .map(|process| Ancestor {
                pid: process.pid,
                name: process.command,
                start: Some(process.start),
                terminal: process.terminal,
            })
            .collect()
    }

    fn terminal(&self, pid: u32) -> Option<u64> {
        self.process(pid).ok()?.terminal
    }

    fn is_gone(&self, pid: u32) -> bool {
        let record = Record { pid: Some(i64::from(pid)), ..Record::default() };
        self.evidence(&record).probe == Probe::Missing
    }
}

/// What a document says about its process, as the verdict wants it.
#[must_use]
pub fn record_of(status: &Status) -> Record<'_> {
    let process = status.process.as_ref();
    let text = |field: fn(&Process) -> &Option<String>| process.and_then(|process| field(process).as_deref());
    Record {
        pid: status.pid.map(i64::from),
        start: text(|process| &process.start),
        boot_id: text(|process| &process.boot_id),
        pid_namespace: text(|process| &process.pid_namespace),
        machine: text(|process| &process.machine),
        shared: process.is_some_and(Process::is_shared),
        written_ms: status.updated_at.max(status.started_at).map(|time| time.epoch_ms()),
        file_ms: None,
        // A folder on another machine's disk may hold the files of processes that cannot be seen from here. Without
        // an identity nothing tells them apart, so nothing is concluded from their age.
        local: false,
    }
}
