//! `jig-session`: the commands around the file contract for live coding-agent sessions.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read the files that they made"))]

mod app;
mod broker;
mod cli;
mod closed;
mod commands;
mod duration;
mod elsewhere;
mod failure;
mod follow;
mod manual;
mod on;
mod select;
mod view;

use std::process::ExitCode;

fn main() -> ExitCode {
    // A file that grows over its limit is then an error of the write (EFBIG), after which the temporary goes; the signal
    // would kill the program before that.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Default::default());
    cli::main()
}
