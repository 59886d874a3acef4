//! From the contract's shapes to the record that a verdict judges. Nowhere else is one made of the other.

use jig_session_schema::king::{EpochMs, KingStatus};
use jig_session_schema::status::{self, Status};

use crate::evidence::Record;

impl<'a> Record<'a> {
    /// The record of a document's `pid` and `process`, as they were read. What a document without `process` is judged
    /// by, the caller adds: [`Record::written_ms`], [`Record::file_ms`] and [`Record::local`].
    #[must_use]
    pub fn of(pid: Option<u32>, process: Option<&'a status::Process>) -> Self {
        let pid = pid.map(i64::from);
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

    /// The record of a status document. A folder on another machine's disk may hold the files of processes that cannot
    /// be seen from here: without an identity they are indistinguishable, so nothing is concluded from their age.
    #[must_use]
    pub fn of_status(status: &'a Status) -> Self {
        let newest = status.updated_at.max(status.started_at);
        Self { written_ms: newest.map(|time| time.epoch_ms()), ..Self::of(status.pid, status.process.as_ref()) }
    }

    /// The record of the process that keeps a status document up to date. It runs on the machine, and in the pid
    /// namespace, of the agent whose life was judged before.
    #[must_use]
    pub fn of_publisher(publisher: &'a status::Publisher, process: Option<&'a status::Process>) -> Self {
        Self {
            pid: Some(i64::from(publisher.pid)),
            start: Some(publisher.start.as_str()),
            boot_id: publisher.boot_id.as_deref(),
            pid_namespace: publisher.pid_namespace.as_deref(),
            machine: process.and_then(|process| process.machine.as_deref()),
            ..Self::default()
        }
    }

    /// The record of a pi-king card. It carries no identity but the pid, so the newest sign of its writer is what a
    /// reused pid is recognised by.
    #[must_use]
    pub fn of_king(card: &KingStatus) -> Record<'static> {
        let signs = [card.started_at, card.last_activity].into_iter().flatten();
        let newest = signs.map(|EpochMs(ms)| ms).fold(0.0, f64::max);
        Record { written_ms: (newest > 0.0).then_some(newest as i64), local: true, ..Record::of(card.pid, None) }
    }
}
