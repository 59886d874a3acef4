//! Many sessions: the bus between them, and the panes they live in.
#![allow(clippy::disallowed_methods, reason = "tests read the files that they made")]
#![allow(clippy::unwrap_used, missing_docs, reason = "a test says what went wrong by failing")]

mod board;
mod bus;
mod panes;
mod remote;
mod statusline;

use jig_session_testing as common;
