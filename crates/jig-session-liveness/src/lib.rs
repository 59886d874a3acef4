//! Who wrote this, and is that process still running?
//!
//! A process id says little: ids come back. The contract's `process` object adds what tells two processes with one id
//! apart, and is compared for equality only. The question is answered in two steps: [`Machine`] gathers [`Evidence`]
//! (one small read of `/proc` for each process), and [`verdict`] is a pure function of a [`Record`] and that evidence,
//! a table whose rows have numbers, so that every answer can be explained.
//!
//! [`Processes`] is the table of processes as the other crates see it. [`Machine`] is this machine's, [`Probes`] one
//! look at it, and a test's own is `fake::Table`, behind the feature `fake`.
//!
//! Age is never evidence, nothing is read from the text of other programs, and what cannot be known is
//! [`Verdict::Unknown`], which nobody may delete upon. The crate does not read files of sessions.

mod above;
pub mod clock;
mod contract;
mod evidence;
#[cfg(any(feature = "fake", test))]
pub mod fake;
mod identity;
#[cfg(target_os = "linux")]
mod linux;
mod machine;
#[cfg(any(not(target_os = "linux"), test))]
mod portable;
mod processes;
mod terminals;
mod verdict;

pub use jig_session_schema::row::Verdict;

pub use above::{agent_above, hosts_sessions, is_in_tmux, is_shell, runs_script, shows_in_last};
pub use evidence::{Evidence, Probe, Record};
pub use identity::{ProbeError, Process, ProcessState};
pub use machine::{Machine, Probes};
pub use processes::Processes;
pub use terminals::{TerminalProcess, command_line, on_terminals, reads_keys, variable};
pub use verdict::{Judgement, Rule, verdict};
