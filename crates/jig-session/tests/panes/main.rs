//! `live`, `bulk` and the name `sessions` on real tmux servers, one a test, killed at its end.

#[path = "../common/mod.rs"]
mod common;

mod alias;
mod bulk;
mod faults;
mod live;
mod tmux;
