//! The reading commands, run as a person or a program runs them.
#![allow(clippy::disallowed_methods, reason = "tests read the files that they made")]

#[path = "../common/mod.rs"]
mod common;

mod cost;
mod following;
mod harness;
mod hindered;
mod hostile;
mod listing;
mod readme;
mod root;
mod single;
mod terminal;
mod verdicts;
