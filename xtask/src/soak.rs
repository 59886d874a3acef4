//! `cargo xtask soak [--minutes N] [--sessions N] [--seed N] [--control]`: many sessions of every agent, with readers,
//! bus traffic, kills, clock steps, a full disk and a folder that is moved away. The program is `tests/soak/run.py`.

use std::process::{Command, ExitCode};

use anyhow::ensure;

use crate::run::{Ran, cargo, root, run, target};

/// The short form, a part of `cargo xtask faults --short`.
pub(crate) const SHORT: &[&str] = &["--minutes", "2", "--sessions", "60"];

pub(crate) fn soak(args: &[String]) -> anyhow::Result<ExitCode> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ran = played(&args)?;
    Ok(if ran.status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Builds the program and plays; what was printed.
pub(crate) fn played(args: &[&str]) -> anyhow::Result<Ran> {
    let built = run(&mut cargo(&["build", "--quiet", "-p", "jig-session"]), |_| true)?;
    ensure!(built.status.success(), "the program does not build");
    let mut soak = Command::new("python3");
    soak.arg(root().join("tests/soak/run.py")).arg("--program").arg(target().join("debug/jig-session")).args(args);
    run(&mut soak, |_| true)
}
