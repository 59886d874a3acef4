//! Publishers: the host beside Pi, hooks, `publish`, and what is written for pi-king.
#![allow(clippy::disallowed_methods, reason = "tests read the files that they made")]
#![allow(clippy::unwrap_used, missing_docs, reason = "a test says what went wrong by failing")]

mod hook;
mod host;
mod king;
mod publish;
#[cfg(target_os = "linux")]
mod run;

use jig_session_testing as common;
