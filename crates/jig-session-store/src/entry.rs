//! What one file gives: a session, or a problem.

use jig_session_atomic::Stamp;
use jig_session_liveness::{Processes, Record};
use jig_session_schema::row::{Detail, Problem, ProblemReason, Row, Verdict};
use jig_session_schema::status::{Process, Publisher};

/// One session: its row, and what its file says beyond the row.
#[derive(Clone, Debug)]
pub struct Session {
    /// What is printed. `state` and `attention` are as written; nothing is reconciled here.
    pub row: Row,
    /// The recorded identity of the process.
    pub process: Option<Process>,
    /// The variable that named the terminal.
    pub terminal_from: Option<String>,
    /// The tmux server's socket.
    pub tmux_socket: Option<String>,
    /// The process that keeps its file up to date.
    pub publisher: Option<Publisher>,
    /// Whether it is listed: a pi-king card may opt out.
    pub visible: bool,
    /// Whether its file says that it has ended, whatever its process does.
    pub exited: bool,
    /// Which version of the file this is.
    pub stamp: Stamp,
    /// Whether the file lies on a file system of this machine.
    pub local: bool,
}

impl Session {
    /// A session of another machine: its row is all that is known of it here, and there is no file of it.
    #[must_use]
    pub fn elsewhere(row: Row) -> Self {
        Self {
            row,
            process: None,
            terminal_from: None,
            tmux_socket: None,
            publisher: None,
            visible: true,
            exited: false,
            stamp: Stamp { inode: 0, size: 0, modified_ns: 0 },
            local: false,
        }
    }

    /// What the file says about the process that wrote it.
    #[must_use]
    pub fn record(&self) -> Record<'_> {
        let stamps = [self.row.started_at, self.row.updated_at];
        Record {
            written_ms: stamps.into_iter().flatten().map(|stamp| stamp.epoch_ms()).max(),
            file_ms: Some(self.stamp.modified_ms()),
            local: self.local,
            ..Record::of(self.row.pid, self.process.as_ref())
        }
    }

    /// Sets the verdict.
    pub(crate) fn judge(&mut self, processes: &dyn Processes) {
        let judged = processes.judge(&self.record());
        self.row.verdict = judged.verdict;
        self.row.detail = if self.exited { Some(Detail::EXITED) } else { judged.detail.and_then(Detail::new) };
        // A stopped agent has no other detail: it is stopped.
        if judged.verdict.is_alive() && self.row.detail != Some(Detail::STOPPED) && self.is_unpublished(processes) {
            self.row.verdict = Verdict::Unknown;
            self.row.detail = Some(Detail::NO_PUBLISHER);
        }
    }

    /// Whether the process that keeps the file up to date is gone or stopped: what stands there is an old state then.
    /// A document that names none has no lasting publisher, as with hooks.
    fn is_unpublished(&self, processes: &dyn Processes) -> bool {
        self.publisher.as_ref().is_some_and(|publisher| {
            let judged = processes.judge(&Record::of_publisher(publisher, self.process.as_ref()));
            judged.verdict.is_over() || judged.detail.is_some_and(|detail| Detail::STOPPED == detail)
        })
    }
}

/// A file that gives no session.
pub(crate) fn problem(path: String, reason: ProblemReason, message: impl Into<String>) -> Problem {
    Problem::new().path(Some(path)).reason(reason).message(message.into())
}
