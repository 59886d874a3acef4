//! `live`, `bulk` and the name `sessions` on real tmux servers, one a test, killed at its end.

mod alias;
mod bulk;
mod faults;
mod live;
mod sources;
pub(crate) mod tmux;
