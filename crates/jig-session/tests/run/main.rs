//! `jig-session run` in real terminals: the program is as it would be without it, and what it reports is published.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "tests read the files that they made")]

#[path = "../common/mod.rs"]
mod common;

mod ends;
mod jobs;
mod published;
mod screen;
mod streams;
