//! `cargo xtask test`: every check and test, one line a step, and a count at the end.

mod mcp;
pub(crate) mod packages;
mod policy;
mod readme;
mod types;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::Context;

use crate::run::{Ran, ask, cargo, in_ci, root, run, say, target, variable};

/// The result of a step.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: Vec<String>,
    pub(crate) skipped: Vec<String>,
}

impl Tally {
    /// One check that is right or wrong.
    pub(crate) fn check(&mut self, ok: bool, what: impl Into<String>) {
        if ok {
            self.passed += 1;
        } else {
            self.failed.push(what.into());
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed.extend(other.failed);
        self.skipped.extend(other.skipped);
    }
}

/// A step: its name, and what runs it.
pub(crate) type Step = (&'static str, fn() -> anyhow::Result<Tally>);

/// In this order: what fails quickly comes first.
const STEPS: &[Step] = &[
    ("packages", packages::install),
    ("format", || whole("cargo fmt --check", cargo(&["fmt", "--all", "--check"]))),
    ("policy", policy::check),
    ("lints", || {
        let args = [
            "clippy",
            "--quiet",
            "--workspace",
            "--all-targets",
            "--features",
            "jig-session/fleet",
            "--",
            "-D",
            "warnings",
        ];
        whole("cargo clippy", cargo(&args))
    }),
    ("tools", crate::tools::install),
    ("tests", tests),
    ("schemas", || whole("cargo xtask schemas --check", xtask(&["schemas", "--check"]))),
    ("types", types::check),
    ("mcp", mcp::check),
    ("plugins", || whole("cargo xtask plugins --check", xtask(&["plugins", "--check"]))),
    ("package", package),
    ("release", || whole("cargo build --release", cargo(&["build", "--quiet", "--release", "-p", "jig-session"]))),
    ("install", install),
    ("readme", readme::check),
    ("pictures", || whole("cargo xtask pictures --check", xtask(&["pictures", "--check"]))),
    ("faults", || whole("cargo xtask faults --short", xtask(&["faults", "--short"]))),
    ("page", crate::page::step),
    ("pi", || whole("cargo xtask e2e pi", xtask(&["e2e", "pi"]))),
    ("fleet", || whole("cargo xtask e2e fleet", xtask(&["e2e", "fleet"]))),
    ("agents", || whole("cargo xtask e2e agents", xtask(&["e2e", "agents"]))),
];

/// Runs all steps of a table, or those that are named.
fn run_steps(steps: &[Step], wanted: &[String]) -> anyhow::Result<Tally> {
    let mut all = Tally::default();
    for (name, step) in steps {
        if !wanted.is_empty() && !wanted.iter().any(|one| one == name) {
            continue;
        }
        say(&format!("--- {name}"));
        let begun = Instant::now();
        let found =
            step().unwrap_or_else(|error| Tally { failed: vec![format!("{name}: {error:#}")], ..Tally::default() });
        let (passed, failed, skipped) = (found.passed, found.failed.len(), found.skipped.len());
        for line in &found.failed {
            say(&format!("FAILED {line}"));
        }
        say(&format!(
            "    {name}: {passed} passed, {failed} failed, {skipped} skipped, {} s",
            begun.elapsed().as_secs()
        ));
        all.add(found);
    }
    Ok(all)
}

pub(crate) fn run_all(args: &[String]) -> anyhow::Result<ExitCode> {
    run_table(STEPS, args)
}

/// Runs the steps of a table that are named, or all, and names what failed or was skipped again at the end.
pub(crate) fn run_table(steps: &[Step], args: &[String]) -> anyhow::Result<ExitCode> {
    if let Some(unknown) = args.iter().find(|arg| !steps.iter().any(|(name, _)| name == arg)) {
        let names: Vec<_> = steps.iter().map(|(name, _)| *name).collect();
        anyhow::bail!("unknown step {unknown}; expected one of {}", names.join(", "));
    }
    let all = run_steps(steps, args)?;
    say("");
    for line in &all.failed {
        say(&format!("FAILED {line}"));
    }
    for line in &all.skipped {
        say(&format!("SKIPPED {line}"));
    }
    say(&format!("{} passed, {} failed, {} skipped", all.passed, all.failed.len(), all.skipped.len()));
    Ok(if all.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A command that is one check as a whole; its own `N passed` line and `SKIPPED` lines are counted when it prints them.
pub(crate) fn whole(name: &str, mut command: Command) -> anyhow::Result<Tally> {
    run(&mut command, |_| true).map(|ran| judged(name, &ran))
}

fn judged(name: &str, ran: &Ran) -> Tally {
    let mut found = Tally { skipped: skipped(ran), ..Tally::default() };
    let passed = ran.lines.iter().rev().find_map(|line| count(line, " passed"));
    found.passed = passed.unwrap_or(usize::from(ran.status.success()));
    if !ran.status.success() {
        found.failed.push(format!("{name} ended with {}{}", ran.status, why(ran)));
    }
    found
}

/// The first error that a program told, with the lines of its cause, for the one line a failure gets.
fn why(ran: &Ran) -> String {
    let from = ran.lines.iter().position(|line| line.starts_with("error")).unwrap_or(ran.lines.len());
    let told: Vec<_> = ran.lines.iter().skip(from).map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
    told.iter().take(6).map(|line| format!(" | {line}")).collect()
}

fn xtask(args: &[&str]) -> Command {
    let mut all = vec!["run", "--quiet", "--package", "xtask", "--"];
    all.extend(args);
    cargo(&all)
}

/// The tests of all crates, doc tests too.
fn tests() -> anyhow::Result<Tally> {
    let args = ["test", "--quiet", "--workspace", "--no-fail-fast", "--", "--show-output", "--format=pretty"];
    let ran = run(&mut cargo(&args), |line| {
        line.contains("panicked at")
            || line.contains("FAILED")
            || line.starts_with("error")
            || line.contains("SKIPPED ")
    })?;
    let mut found = Tally { skipped: skipped(&ran), ..Tally::default() };
    for line in &ran.lines {
        if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
            found.failed.push(name.to_owned());
        } else if line.starts_with("test result: ") {
            found.passed += count(line, " passed").unwrap_or(0);
            let ignored = count(line, " ignored").unwrap_or(0);
            if ignored > 0 {
                found.skipped.push(format!("{ignored} tests that are marked as ignored"));
            }
        }
    }
    // A skipped test returns like a passed one; it is counted once, as skipped.
    found.passed = found.passed.saturating_sub(found.skipped.len());
    if !ran.status.success() {
        // The whole of what a failed test said, for whoever reads the log.
        let from = ran.lines.iter().position(|line| line == "failures:").unwrap_or(0);
        for line in ran.lines.iter().skip(from).filter(|line| !line.is_empty()).take(400) {
            say(line);
        }
        if found.failed.is_empty() {
            found.failed.push(format!("cargo test ended with {}", ran.status));
        }
    }
    Ok(found)
}

/// The lines `SKIPPED name: why`, each once.
fn skipped(ran: &Ran) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for line in &ran.lines {
        if let Some((_, rest)) = line.split_once("SKIPPED ")
            && !all.iter().any(|one| one == rest)
        {
            all.push(rest.to_owned());
        }
    }
    all
}

/// The number before a word such as ` passed`.
fn count(line: &str, word: &str) -> Option<usize> {
    let (before, _) = line.split_once(word)?;
    before.rsplit(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Every published crate builds from its own archive. What it is built of is fetched first, so that the registry is
/// asked in one place.
fn package() -> anyhow::Result<Tally> {
    let fetched = judged("cargo fetch", &ask(&mut cargo(&["fetch", "--quiet", "--locked"]), |_| true)?);
    if !fetched.failed.is_empty() {
        return Ok(fetched);
    }
    let args = ["package", "--quiet", "--offline", "--workspace", "--allow-dirty"];
    let mut command = cargo(&[&args[..], &["--exclude", "xtask", "--exclude", "jig-session-tests"]].concat());
    command.env("CARGO_HOME", fresh_cargo_home()?);
    whole("cargo package", command)
}

/// A home of Cargo's that shares what was downloaded and has nothing unpacked. The archives of the crates before this
/// one are unpacked below Cargo's home, by name and version alone: those of an earlier run with the same version would
/// be compiled instead of these, and stay there.
fn fresh_cargo_home() -> anyhow::Result<PathBuf> {
    let theirs = match (variable("CARGO_HOME"), variable("HOME")) {
        (Some(home), _) => root().join(home),
        (None, Some(home)) => Path::new(&home).join(".cargo"),
        (None, None) => anyhow::bail!("neither CARGO_HOME nor HOME is set: there is no home of Cargo's to share"),
    };
    let ours = target().join("package-home");
    if ours.exists() {
        fs::remove_dir_all(&ours).with_context(|| format!("cannot empty {}", ours.display()))?;
    }
    fs::create_dir_all(ours.join("registry")).with_context(|| format!("cannot make {}", ours.display()))?;
    for name in ["config.toml", "config", "registry/index", "registry/cache"] {
        let shared = theirs.join(name);
        if shared.exists() {
            let link = ours.join(name);
            symlink(&shared, &link).with_context(|| format!("cannot link {}", link.display()))?;
        }
    }
    Ok(ours)
}

/// The README's install line, from the checkout.
fn install() -> anyhow::Result<Tally> {
    let place = target().join("install");
    let place = place.to_string_lossy();
    let args = ["install", "--quiet", "--path", "crates/jig-session", "--root", &place, "--force"];
    let mut found = judged("cargo install", &ask(&mut cargo(&args), |_| true)?);
    let program = target().join("install/bin/jig-session");
    let ran = run(Command::new(&program).arg("--version").current_dir(root()), |_| true)?;
    found.check(ran.status.success(), "the installed program runs");
    Ok(found)
}

/// What is missing is an error in CI and a skip elsewhere.
pub(crate) fn missing(found: &mut Tally, what: String) {
    if in_ci() { found.failed.push(what) } else { found.skipped.push(what) }
}
