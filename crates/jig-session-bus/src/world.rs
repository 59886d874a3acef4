//! What the bus is told about the world: two clocks, which processes run, and chance.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use jig_session_schema::status::Process;

use crate::clock::Moment;

/// Whether the process behind a record still runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// It runs, or it exists and cannot be looked at.
    Alive,
    /// It ended, or its pid belongs to another process by now.
    Gone,
    /// There is no evidence: no pid, another machine, another pid namespace.
    Unknown,
}

/// The world around the bus. Tests give their own.
pub trait World {
    /// Both clocks, now.
    fn now(&self) -> Moment;

    /// Whether the process of a record runs.
    fn life(&self, pid: Option<u32>, process: Option<&Process>) -> Life;

    /// Whether the process with this pid and these digits of its start time runs; `None` when that cannot be told.
    fn runs(&self, pid: u32, start: &str) -> Option<bool>;

    /// This process: its pid and the digits of its start time.
    fn this(&self) -> (u32, String);

    /// The identity of this process, by which another one can tell whether it still runs; `None` when it cannot be told.
    fn this_process(&self) -> Option<Process> {
        None
    }

    /// A number that two calls hardly share.
    fn random(&self) -> u32 {
        static CALLS: AtomicU64 = AtomicU64::new(0);
        let call = CALLS.fetch_add(1, Ordering::Relaxed);
        (RandomState::new().hash_one((call, std::process::id())) & 0xffff_ffff) as u32
    }
}

/// The digits of a start time such as `linux:12345`: what tells two processes of one pid apart in a folder's name.
pub fn digits(start: &str) -> String {
    let digits: String = start.chars().filter(char::is_ascii_digit).collect();
    if digits.is_empty() { "0".to_owned() } else { digits }
}
