//! pi-king session-status v1: its folder read and written as pi-king does it, the layout beside it,
//! the startup fingerprint, and the metrics of call logs.
//!
//! It knows nothing of status v1's folder, of tmux or of the terminal: it receives a session's facts
//! and a folder. It never writes another session's file.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read the files that they made"))]

pub mod card;
pub mod fingerprint;
pub mod layout;
pub mod metrics;
pub mod rules;
pub mod writer;
