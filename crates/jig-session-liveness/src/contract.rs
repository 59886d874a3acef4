//! To and from the contract's shapes.

use jig_session_schema::row;
use jig_session_schema::status::Process;

use crate::evidence::Record;
use crate::identity::ProcessIdentity;
use crate::verdict::Verdict;

impl From<ProcessIdentity> for Process {
    fn from(identity: ProcessIdentity) -> Self {
        Self::new()
            .start(Some(identity.start))
            .boot_id(identity.boot_id)
            .pid_namespace(identity.pid_namespace)
            .machine(identity.machine)
    }
}

impl<'a> Record<'a> {
    /// The record of a document's `pid` and `process`, as they were read. What a document without `process` is judged
    /// by, the caller adds: [`Record::written_ms`] and [`Record::local`].
    pub fn of_document(pid: Option<i64>, process: Option<&'a Process>) -> Self {
        let Some(process) = process else { return Self { pid, ..Self::default() } };
        Self {
            pid,
            start: process.start.as_deref(),
            boot_id: process.boot_id.as_deref(),
            pid_namespace: process.pid_namespace.as_deref(),
            machine: process.machine.as_deref(),
            shared: process.is_shared(),
            ..Self::default()
        }
    }
}

impl From<Verdict> for row::Verdict {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Alive => Self::Alive,
            Verdict::AliveUnverified => Self::Unverified,
            Verdict::Gone => Self::Gone,
            Verdict::Reused => Self::Reused,
            Verdict::Unknown => Self::Unknown,
        }
    }
}
