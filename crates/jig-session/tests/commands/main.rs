//! The commands that read and check, run as a person or a program runs them.
#![allow(clippy::disallowed_methods, reason = "tests read the files that they made")]
#![allow(clippy::unwrap_used, missing_docs, reason = "a test says what went wrong by failing")]

mod ask;
mod demo;
mod documents;
mod drift;
mod manual;
mod read;
mod readers;
mod schemas;
mod surfaces;
mod validate;
mod words;

use jig_session_testing as common;
