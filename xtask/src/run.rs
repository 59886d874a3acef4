//! Running other programs, and saying what happens.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// The folder of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_path_buf()
}

/// The folder that everything built or installed goes to.
pub(crate) fn target() -> PathBuf {
    match variable("CARGO_TARGET_DIR") {
        Some(dir) => root().join(dir),
        None => root().join("target"),
    }
}

/// A variable of this process; empty counts as unset.
#[expect(clippy::disallowed_methods, reason = "the one place of xtask that reads the environment")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// `CI` is set: the run may install packages, and a missing one is an error.
pub(crate) fn in_ci() -> bool {
    variable("CI").is_some_and(|value| value != "false" && value != "0")
}

/// One line to stdout. A stdout that is gone ends nothing.
pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}

/// `cargo` in the workspace's folder.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(variable("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root());
    command
}

/// What a program did: its end, and every line of stdout and stderr.
pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    pub(crate) lines: Vec<String>,
}

/// Runs a program, passing its lines on as they come when `show` says so, and keeps them.
pub(crate) fn run(command: &mut Command, show: fn(&str) -> bool) -> anyhow::Result<Ran> {
    let name = format!("{command:?}");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run {name}"))?;
    let stdout = child.stdout.take().expect("stdout is piped");
    let stderr = child.stderr.take().expect("stderr is piped");
    let other = thread::spawn(move || collect(stderr, show));
    let mut lines = collect(stdout, show);
    lines.extend(other.join().unwrap_or_default());
    let status = child.wait().with_context(|| format!("cannot wait for {name}"))?;
    Ok(Ran { status, lines })
}

/// As [`run`], for a command that asks a registry: one that stumbles once is asked again.
pub(crate) fn ask(command: &mut Command, show: fn(&str) -> bool) -> anyhow::Result<Ran> {
    let ran = run(command, show)?;
    if ran.status.success() {
        return Ok(ran);
    }
    say("    once more, as a registry may have stumbled");
    run(command, show)
}

fn collect(stream: impl std::io::Read, show: fn(&str) -> bool) -> Vec<String> {
    let mut lines = Vec::new();
    for line in BufReader::new(stream).split(b'\n') {
        let Ok(line) = line else { break };
        let line = String::from_utf8_lossy(&line).into_owned();
        if show(&line) {
            say(&line);
        }
        lines.push(line);
    }
    lines
}

/// CPU time of all children that have ended.
pub(crate) fn children_cpu() -> anyhow::Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(Duration::from_micros(u64::try_from(micros).unwrap_or(0)))
}
