//! The process table, as its callers see it.

use jig_session_schema::status;

use crate::evidence::Record;
use crate::identity::{ProbeError, Process};
use crate::verdict::Judgement;

/// No chain of parents is longer; a longer one is a circle that reused ids have made.
const LONGEST_ANCESTRY: usize = 128;

/// A table of processes.
pub trait Processes {
    /// A process as it is now.
    ///
    /// # Errors
    /// When there is none of this id, or the system does not show it.
    fn process(&self, pid: u32) -> Result<Process, ProbeError>;

    /// The beginning of a process's command line; empty when it is not shown.
    fn command_line(&self, pid: u32) -> Vec<String>;

    /// Whether the process of a record still runs, and why.
    fn judge(&self, record: &Record<'_>) -> Judgement;

    /// The identity of a process of this machine that was already looked at, by its start.
    fn identity(&self, start: String) -> status::Process;

    /// The identity of a process.
    ///
    /// # Errors
    /// As [`Processes::process`].
    fn identity_of(&self, pid: u32) -> Result<status::Process, ProbeError> {
        Ok(self.identity(self.process(pid)?.start))
    }

    /// The parent of a process, the parent's parent and so on, as far as they can be read.
    fn ancestors(&self, pid: u32) -> Vec<Process> {
        let mut found: Vec<Process> = Vec::new();
        let mut next = self.process(pid).ok().and_then(|process| process.parent);
        while let Some(process) = next.and_then(|pid| self.process(pid).ok()) {
            if found.len() == LONGEST_ANCESTRY || process.pid == pid || found.iter().any(|p| p.pid == process.pid) {
                break;
            }
            next = process.parent;
            found.push(process);
        }
        found
    }

    /// Whether no process has the id: all that can be asked of a name that holds an id and nothing else. What cannot
    /// be asked is not missing.
    fn is_missing(&self, pid: u32) -> bool {
        matches!(self.process(pid), Err(ProbeError::Missing))
    }
}
