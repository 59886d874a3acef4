//! `cargo xtask fuzz [TARGET] [--minutes N] [--control]`: every parser under a coverage-guided fuzzer, on the stable compiler.
//!
//! The targets and their seeds are in `xtask/fuzz`. What a run found is gone on from by the next one, so its minutes add
//! up; hours, executions and edges of all runs are printed. An hour is one of a processor: on a busy machine a campaign
//! of an hour does less than that.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, bail, ensure};

use crate::run::{cargo, children_cpu, root, run, say};

/// The target with a fault on purpose, which must be found within this many minutes.
const PLANTED: (&str, u64) = ("planted", 1);
/// How long each target runs when nothing is asked.
const MINUTES: u64 = 5;

pub(crate) fn fuzz(args: &[String]) -> anyhow::Result<ExitCode> {
    let (wanted, minutes) = parse(args)?;
    let installed = run(&mut cargo(&["afl", "--version"]), |_| false)?;
    ensure!(installed.status.success(), "cargo-afl is not installed: cargo install cargo-afl");
    let program = build()?;
    let mut targets = run(Command::new(&program).arg("--list"), |_| false)?.lines;
    if let Some(wanted) = &wanted {
        ensure!(targets.contains(wanted), "no target is called {wanted}; there are {}", targets.join(" "));
        targets.retain(|target| target == wanted);
    }
    let mut wrong = Vec::new();
    for target in &targets {
        let minutes = if target == PLANTED.0 { PLANTED.1 } else { minutes };
        let stats = campaign(&program, target, minutes)?;
        let machine = spent(target, 0.0)?;
        let number = |key: &str| stats.get(key).and_then(|text| text.parse::<f64>().ok()).unwrap_or_default();
        say(&format!(
            "    {target}: {:.2} h of a processor in all, {} executions, {} of {} edges, {} findings",
            machine / 3600.0,
            number("execs_done"),
            number("edges_found"),
            number("total_edges"),
            number("saved_crashes") + number("saved_hangs"),
        ));
        let found = number("saved_crashes") + number("saved_hangs") > 0.0;
        if found != (target == PLANTED.0) {
            wrong.push(if found {
                format!("{target}: see {}", out(target).display())
            } else {
                format!("{target}: the planted fault was not found")
            });
        }
    }
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    Ok(ExitCode::SUCCESS)
}

fn parse(args: &[String]) -> anyhow::Result<(Option<String>, u64)> {
    let (mut wanted, mut minutes) = (None, MINUTES);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--minutes" => {
                minutes = args.next().and_then(|text| text.parse().ok()).context("--minutes takes a number")?
            }
            "--control" => wanted = Some(PLANTED.0.to_owned()),
            _ if arg.starts_with('-') => bail!("there is no option {arg}: [TARGET] [--minutes N] [--control]"),
            _ => wanted = Some(arg.clone()),
        }
    }
    Ok((wanted, minutes))
}

/// The seconds of a processor that a target has had in all its runs, after adding some.
fn spent(target: &str, more: f64) -> anyhow::Result<f64> {
    let path = out(target).join("processor-seconds");
    let before = std::fs::read_to_string(&path).ok().and_then(|text| text.trim().parse::<f64>().ok());
    let sum = before.unwrap_or_default() + more;
    std::fs::write(&path, sum.to_string()).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(sum)
}

fn build() -> anyhow::Result<PathBuf> {
    let target = root().join("target/fuzz");
    let mut command = cargo(&["afl", "build", "--release"]);
    command.current_dir(root().join("xtask/fuzz")).env("CARGO_TARGET_DIR", &target);
    let ran = run(&mut command, |line| line.starts_with("error"))?;
    ensure!(ran.status.success(), "the targets cannot be built:\n{}", ran.lines.join("\n"));
    Ok(target.join("release/jig-session-fuzz"))
}

fn out(target: &str) -> PathBuf {
    root().join("target/fuzz/found").join(target)
}

/// Runs one target; what the fuzzer says of it at its end.
fn campaign(program: &Path, target: &str, minutes: u64) -> anyhow::Result<BTreeMap<String, String>> {
    let out = out(target);
    if target == PLANTED.0 {
        // What an earlier run found would be found at once.
        let _ = std::fs::remove_dir_all(&out);
    }
    std::fs::create_dir_all(root().join("target/fuzz/found")).context("cannot make the folder of findings")?;
    let seconds = (minutes * 60).to_string();
    let mut command = cargo(&["afl", "fuzz", "-V", &seconds, "-i"]);
    command.arg(root().join("xtask/fuzz/seeds").join(target)).arg("-o").arg(&out).arg("--").arg(program).arg(target);
    // No screen, no wish for other settings of the machine, on with what an earlier run left.
    for name in
        ["AFL_NO_UI", "AFL_SKIP_CPUFREQ", "AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES", "AFL_AUTORESUME", "AFL_NO_AFFINITY"]
    {
        command.env(name, "1");
    }
    if target == PLANTED.0 {
        command.env("AFL_BENCH_UNTIL_CRASH", "1");
    }
    let before = children_cpu()?;
    let ran = run(&mut command, |_| false)?;
    let stats = out.join("default/fuzzer_stats");
    let text = std::fs::read_to_string(&stats)
        .with_context(|| format!("the fuzzer ended without figures:\n{}", ran.lines.join("\n")))?;
    spent(target, (children_cpu()? - before).as_secs_f64())?;
    let pair = |line: &str| line.split_once(':').map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()));
    Ok(text.lines().filter_map(pair).collect())
}
