//! `cargo xtask e2e pi [SUITE...]`: the built program against a real Pi and a scripted model on loopback.
//!
//! Pi comes from the npm registry by the committed lock files in `tests/pi/`, into the target folder, once for each
//! change of a lock file. Where it cannot be had the task says `SKIPPED` and why; in CI that is a failure.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, bail};

use crate::run::{ask, cargo, in_ci, root, run, say, target};

/// The versions of Pi that are tested: the newest, and the oldest that is supported.
const VERSIONS: &[&str] = &["1.6.0", "1.3.0"];
/// What must be there besides Pi: the program and an argument that makes it end at once.
const PROGRAMS: &[(&str, &str)] = &[("npm", "--version"), ("python3", "--version"), ("tmux", "-V")];

pub(crate) fn run_all(args: &[String]) -> anyhow::Result<ExitCode> {
    let Some("pi") = args.first().map(String::as_str) else { bail!("which agent? cargo xtask e2e pi [SUITE...]") };
    if let Some(why) = unavailable() {
        return skip(&why);
    }
    let built = run(&mut cargo(&["build", "--quiet", "-p", "jig-session"]), |_| true)?;
    if !built.status.success() {
        bail!("the program does not build");
    }
    let mut good = true;
    let mut passed = 0;
    for version in VERSIONS {
        let pi = match install(version) {
            Ok(pi) => pi,
            Err(error) => return skip(&format!("Pi {version} cannot be installed: {error:#}")),
        };
        let mut runner = Command::new("python3");
        runner.arg(root().join("tests/pi/run.py")).arg("--pi").arg(&pi);
        runner.arg("--program").arg(target().join("debug/jig-session"));
        runner.args(&args[1..]);
        let ran = run(&mut runner, |_| true)?;
        good &= ran.status.success();
        let count = |line: &String| line.split_once(" passed")?.0.parse::<usize>().ok();
        passed += ran.lines.iter().rev().find_map(count).unwrap_or(0);
    }
    say(&format!("{passed} passed"));
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn skip(why: &str) -> anyhow::Result<ExitCode> {
    if in_ci() {
        bail!("{why}");
    }
    say(&format!("SKIPPED e2e pi: {why}"));
    say("0 passed");
    Ok(ExitCode::SUCCESS)
}

/// Why the suites cannot run on this machine at all.
fn unavailable() -> Option<String> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Some("the lock files name Node for 64-bit Linux on x86 only".into());
    }
    PROGRAMS.iter().find_map(|(program, arg)| {
        let there = Command::new(program).arg(arg).output().is_ok_and(|output| output.status.success());
        (!there).then(|| format!("there is no {program} on the PATH"))
    })
}

/// Installs Pi by its lock file, unless that was done before.
pub(crate) fn install(version: &str) -> anyhow::Result<PathBuf> {
    let from = root().join("tests/pi").join(format!("pi-{version}"));
    let to = target().join(format!("pi-{version}"));
    let lock = fs::read(from.join("package-lock.json")).context("there is no lock file")?;
    let stamp = to.join("installed-by.json");
    if fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(to);
    }
    say(&format!("installing Pi {version}"));
    fs::create_dir_all(&to)?;
    for name in ["package.json", "package-lock.json"] {
        fs::copy(from.join(name), to.join(name))?;
    }
    // No install script is needed; npm itself may run on an older Node than the packages ask for.
    let flags = ["ci", "--no-audit", "--no-fund", "--ignore-scripts", "--engine-strict=false", "--loglevel=error"];
    let ran = ask(Command::new("npm").args(flags).current_dir(&to), |_| true)?;
    if !ran.status.success() {
        bail!("npm ci failed in {}", to.display());
    }
    fs::write(&stamp, &lock)?;
    Ok(to)
}
