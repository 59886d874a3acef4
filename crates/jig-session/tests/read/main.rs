//! The reading commands, run as a person or a program runs them.

#[path = "../common/mod.rs"]
mod common;

mod harness;
