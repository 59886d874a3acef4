//! `live`, `bulk` and the name `sessions` on real tmux servers, one a test, killed at its end.
#![allow(clippy::disallowed_methods, reason = "tests read the files that they made")]

#[path = "../common/mod.rs"]
mod common;

mod alias;
mod bulk;
mod faults;
mod live;
mod sources;
mod tmux;
