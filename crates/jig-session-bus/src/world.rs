//! The bus's outside dependencies: two clocks, the process table, and randomness.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use jig_session_liveness::{ProbeError, ProcessState, Processes, Record, Verdict};
use jig_session_schema::status::Process;

use crate::clock::Moment;

/// The world around the bus. Tests give their own.
pub trait World {
    /// Both clocks, now.
    fn now(&self) -> Moment;

    /// The table of processes.
    fn processes(&self) -> &dyn Processes;

    /// The pid of this process.
    fn pid(&self) -> u32 {
        std::process::id()
    }

    /// This process: its pid and the digits of its start time.
    fn this(&self) -> (u32, String) {
        let start = self.processes().process(self.pid()).map(|process| digits(&process.start));
        (self.pid(), start.unwrap_or_else(|_| "0".to_owned()))
    }

    /// A number that two calls hardly share.
    fn random(&self) -> u32 {
        static CALLS: AtomicU64 = AtomicU64::new(0);
        let call = CALLS.fetch_add(1, Ordering::Relaxed);
        (RandomState::new().hash_one((call, std::process::id())) & 0xffff_ffff) as u32
    }
}

/// Whether the process of a record runs.
pub(crate) fn verdict(world: &dyn World, pid: Option<u32>, process: Option<&Process>) -> Verdict {
    world.processes().judge(&Record::of(pid, process)).verdict
}

/// Whether the process with this pid and these digits of its start time runs; `None` when that is unknown. No digits
/// stand for any start.
pub(crate) fn runs(world: &dyn World, pid: u32, start: &str) -> Option<bool> {
    match world.processes().process(pid) {
        Ok(process) if matches!(process.state, ProcessState::Zombie | ProcessState::Dead) => Some(false),
        Ok(process) => Some(start.is_empty() || digits(&process.start) == start),
        Err(ProbeError::Missing) => Some(false),
        Err(_) => None,
    }
}

/// The digits of a start time such as `linux:12345`: they distinguish two processes with one pid in a folder's name.
pub fn digits(start: &str) -> String {
    let digits: String = start.chars().filter(char::is_ascii_digit).collect();
    if digits.is_empty() { "0".to_owned() } else { digits }
}
