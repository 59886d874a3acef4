//! The request file: publish one, take one, judge it, answer it.
//!
//! A request asks a live session for a switch of a tool or a skill, or for a reload; it can never approve a
//! call. [`judge`] decides what is to be done from the request, what the session offers and what it has
//! answered before; it does no I/O. [`Desk`] is the session's side of the folder, [`Counter`] the
//! requester's.
//!
//! This crate knows no agent and writes no status file: whoever owns the session's status file applies a
//! [`Plan`] and keeps the answer.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read the files that they made"))]
#![deny(missing_docs)]

mod counter;
mod desk;
mod judge;

pub use counter::{Counter, Published};
pub use desk::{Desk, Taken};
pub use judge::{Capabilities, Case, Judgement, Memory, Offer, Plan, judge};
