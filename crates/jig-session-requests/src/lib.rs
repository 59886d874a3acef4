//! The request file: publish one, take one, judge it, answer it.
//!
//! A request asks a live session for a switch of a tool or a skill, or for a reload; it can never approve a
//! call. [`judge`] decides what is to be done from the request, what the session offers and what it has
//! answered before; it does no I/O. [`RequestInbox`] is the session's side of the folder, [`Requester`] the
//! requester's ([`ask`] waits for the answer), and [`RequestHandler`] serves the inbox for a publisher: it hands out what the agent is to do
//! and keeps the answers.
//!
//! This crate knows no agent and writes no status file: the answers go through the session's publisher.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read the files that they made"))]
#![deny(missing_docs)]

mod ask;
mod folder;
mod handler;
mod inbox;
mod judge;
mod requester;

pub use ask::{AskError, Reply, ask};
pub use folder::folder;
pub use handler::RequestHandler;
pub use inbox::{RequestInbox, Taken};
pub use judge::{Capabilities, Judgement, Memory, Offer, Plan, Timing, judge};
pub use requester::{Published, Requester};
