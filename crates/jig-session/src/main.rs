//! `jig-session`: the commands around the file contract for live coding-agent sessions.

mod ages;
mod app;
mod cli;
mod clock;
mod commands;
mod failure;
mod follow;
mod rows;
mod sanitise;
mod select;
mod serve;
mod setup;
mod table;
mod view;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
