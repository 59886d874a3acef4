//! `jig-session`: the commands around the file contract for live coding-agent sessions.

mod app;
mod cli;
mod commands;
mod failure;
mod sanitise;
mod table;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
