//! Who wrote this, and is that process still running?
//!
//! A process id says little: ids come back. [`ProcessIdentity`] adds what tells two processes with one id apart, and is
//! compared for equality only. The question is answered in two steps: [`Machine`] gathers [`Evidence`] (one small read
//! of `/proc` for each process), and [`verdict`] is a pure function of a [`Record`] and that evidence, a table whose
//! rows have numbers, so that every answer can be explained.
//!
//! Age is never evidence, nothing is read from the text of other programs, and what cannot be known is
//! [`Verdict::Unknown`], which nobody may delete upon. The crate knows nothing of files and their formats.

mod contract;
mod evidence;
mod identity;
#[cfg(target_os = "linux")]
mod linux;
mod machine;
#[cfg(any(not(target_os = "linux"), test))]
mod portable;
mod verdict;

pub use evidence::{Evidence, Probe, Record};
pub use identity::{ProbeError, Process, ProcessIdentity, ProcessState};
pub use machine::{Machine, Probes};
pub use verdict::{Judgement, Rule, Verdict, verdict};

/// The identity of a process, or why it cannot be told. Who asks for several keeps a [`Machine`].
pub fn identity_of(pid: u32) -> Result<ProcessIdentity, ProbeError> {
    Machine::new().identity_of(pid)
}

/// The identity of this process.
pub fn current() -> Result<ProcessIdentity, ProbeError> {
    identity_of(std::process::id())
}

/// A process as it is now: its parent, name, terminal and state.
pub fn process(pid: u32) -> Result<Process, ProbeError> {
    Machine::new().process(pid)
}

/// The parent of a process, the parent's parent and so on, as far as they can be read.
pub fn ancestors(pid: u32) -> Vec<Process> {
    Machine::new().ancestors(pid)
}
