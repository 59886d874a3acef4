//! `cargo xtask e2e pi [SUITE...]` and `cargo xtask e2e agents [AGENT...]`: the built program against real agents and a
//! scripted model on loopback. `cargo xtask e2e fleet [PART...]`: against a real broker.
//!
//! They come from the npm registry by the committed lock files in `tests/pi/` and `tests/agents/`, into the target
//! folder, once for each change of a lock file. Where they cannot be had the task says `SKIPPED` and why; in CI that is
//! a failure.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, bail};

use crate::run::{ask, cargo, in_ci, root, run, say, target};

/// The versions of Pi that are tested: the newest, and the oldest that is supported.
pub(crate) const VERSIONS: &[&str] = &["1.6.0", "1.3.0"];
/// What must be there besides the agents: the program and an argument that makes it end at once.
const PROGRAMS: &[(&str, &str)] = &[("npm", "--version"), ("python3", "--version"), ("tmux", "-V")];

pub(crate) fn run_all(args: &[String]) -> anyhow::Result<ExitCode> {
    let (which, suites) = args.split_first().map_or(("", args), |(which, suites)| (which.as_str(), suites));
    if !matches!(which, "pi" | "agents" | "fleet") {
        bail!("which suites? cargo xtask e2e pi [SUITE...], e2e agents [AGENT...], e2e fleet [PART...]");
    }
    if let Some(why) = unavailable(which) {
        return skip(which, &why);
    }
    if which == "fleet" {
        return fleet(suites);
    }
    let built = run(&mut cargo(&["build", "--quiet", "-p", "jig-session"]), |_| true)?;
    if !built.status.success() {
        bail!("the program does not build");
    }
    if which == "agents" {
        return match agents() {
            Ok(agents) => Ok(ended(suites_of("agents", "--agents", &agents, suites)?.0)),
            Err(error) => skip(which, &format!("the agents cannot be installed: {error:#}")),
        };
    }
    let (mut good, mut passed) = (true, 0);
    for version in VERSIONS {
        let pi = match pi(version) {
            Ok(pi) => pi,
            Err(error) => return skip(which, &format!("Pi {version} cannot be installed: {error:#}")),
        };
        let ran = suites_of("pi", "--pi", &pi, suites)?;
        good &= ran.0;
        passed += ran.1;
    }
    say(&format!("{passed} passed"));
    Ok(ended(good))
}

/// Many machines and a real broker on loopback.
fn fleet(parts: &[String]) -> anyhow::Result<ExitCode> {
    let mut suite = Command::new("python3");
    suite.arg(root().join("tests/fleet/run.py")).arg("--program").arg(fleet_program("debug")?).args(parts);
    Ok(ended(run(&mut suite, |_| true)?.status.success()))
}

/// The program of a profile, `debug` or `release`, built with the feature `fleet`; beside the others, which are built
/// without it.
pub(crate) fn fleet_program(profile: &str) -> anyhow::Result<PathBuf> {
    let optimised = if profile == "release" { &["--release"][..] } else { &[] };
    let args = ["build", "--quiet", "-p", "jig-session", "--features", "fleet"];
    let built = run(cargo(&args).args(optimised), |_| true)?;
    if !built.status.success() {
        bail!("the program with the feature fleet does not build");
    }
    let program = target().join("fleet").join(profile).join("jig-session");
    fs::create_dir_all(program.parent().context("a folder")?)?;
    fs::copy(target().join(profile).join("jig-session"), &program).context("cannot copy the program")?;
    Ok(program)
}

/// Runs the suites of a folder against what is installed: whether they passed, and how many.
pub(crate) fn suites_of(
    folder: &str,
    flag: &str,
    installed: &Path,
    chosen: &[String],
) -> anyhow::Result<(bool, usize)> {
    let mut runner = Command::new("python3");
    runner.arg(root().join("tests").join(folder).join("run.py")).arg(flag).arg(installed);
    runner.arg("--program").arg(target().join("debug/jig-session")).args(chosen);
    let ran = run(&mut runner, |_| true)?;
    let count = |line: &String| line.split_once(" passed")?.0.parse::<usize>().ok();
    Ok((ran.status.success(), ran.lines.iter().rev().find_map(count).unwrap_or(0)))
}

fn ended(good: bool) -> ExitCode {
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn skip(which: &str, why: &str) -> anyhow::Result<ExitCode> {
    if in_ci() {
        bail!("{why}");
    }
    say(&format!("SKIPPED e2e {which}: {why}"));
    say("0 passed");
    Ok(ExitCode::SUCCESS)
}

/// Why the suites cannot run on this machine at all.
fn unavailable(which: &str) -> Option<String> {
    if which == "fleet" {
        let there = |program: &str| Command::new(program).arg("-h").output().is_ok();
        let lacks = ["mosquitto", "mosquitto_pub", "openssl", "python3"].into_iter().find(|program| !there(program));
        return lacks.map(|program| format!("there is no {program} on the PATH"));
    }
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Some("the lock files name Node for 64-bit Linux on x86 only".into());
    }
    PROGRAMS.iter().find_map(|(program, arg)| {
        let there = Command::new(program).arg(arg).output().is_ok_and(|output| output.status.success());
        (!there).then(|| format!("there is no {program} on the PATH"))
    })
}

/// Pi of this version, installed.
pub(crate) fn pi(version: &str) -> anyhow::Result<PathBuf> {
    let name = format!("pi-{version}");
    install(&format!("Pi {version}"), &root().join("tests/pi").join(&name), &target().join(name), "ci")
}

/// The other agents, installed.
pub(crate) fn agents() -> anyhow::Result<PathBuf> {
    // Their packages name others for systems that a registry may not have, which `npm ci` takes for a broken lock file.
    install("the agents", &root().join("tests/agents"), &target().join("agents"), "install")
}

/// Installs what a lock file names, unless that was done before.
pub(crate) fn install(what: &str, from: &Path, to: &Path, how: &str) -> anyhow::Result<PathBuf> {
    let lock = fs::read(from.join("package-lock.json")).context("there is no lock file")?;
    let stamp = to.join("installed-by.json");
    if fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(to.to_owned());
    }
    say(&format!("installing {what}"));
    fs::create_dir_all(to)?;
    for name in ["package.json", "package-lock.json"] {
        fs::copy(from.join(name), to.join(name))?;
    }
    // No install script is needed; npm itself may run on an older Node than the packages ask for.
    let flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--engine-strict=false", "--loglevel=error"];
    let ran = ask(Command::new("npm").arg(how).args(flags).current_dir(to), |_| true)?;
    if !ran.status.success() {
        bail!("npm {how} failed in {}", to.display());
    }
    fs::write(&stamp, &lock)?;
    Ok(to.to_owned())
}
