//! The writer: events in, one session's status file out.
//!
//! [`reduce`] is pure: an event and a session in, the session after it out. [`Publisher`] is the thin edge around it:
//! it owns the file, writes it when its content changed, puts it back when it vanished, leaves it when another live
//! process owns it, and removes it at the end. The document is its whole memory, so a publisher that lives as long as
//! its session and one that lives for a single event are the same code.
//!
//! The crate knows an agent only by its entry in the table of agents, and prints nothing: clock, environment and
//! process table are handed in. Around it stand what a program that publishes needs: [`setup`] makes a publisher of
//! this process, [`serve`] is the loop of one that is fed on stdin, [`log`] is where its errors go.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read the files that they made"))]

pub mod around;
mod bounds;
pub mod log;
pub mod placeholder;
mod publisher;
pub mod reduce;
pub mod serve;
pub mod setup;

use std::time::Duration;

use jig_session_liveness::clock;
use jig_session_schema::time::Timestamp;

pub use publisher::{Mode, Publisher, Refused, Setup};

/// A moment: what stands in documents, and what timers are reckoned by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// The time of day.
    pub wall: Timestamp,
    /// Time since some fixed moment of this process; it never goes back.
    pub mono: Duration,
    /// Milliseconds by the machine's boot clock, which all its processes share; `None` where there is none.
    pub boot_ms: Option<u64>,
}

impl Now {
    /// The moment as this machine's clocks tell it.
    pub fn read() -> Self {
        Self { wall: clock::wall(), mono: clock::monotonic(), boot_ms: clock::boot_ms() }
    }
}
