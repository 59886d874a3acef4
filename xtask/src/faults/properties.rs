//! The properties of parsers, names and the sanitiser, tried for a minute each. `cargo test` tries a few hundred cases.

use std::time::{Duration, Instant};

use anyhow::Context;

use super::Report;
use crate::run::cargo;

/// How long each is tried.
const LONG: Duration = Duration::from_secs(60);

/// How many cases a round tries: about ten seconds' worth.
const CASES: &str = "20000";

/// What is tried: package, and the arguments that choose its tests.
const TARGETS: &[(&str, &str, &[&str])] = &[
    ("names of temporaries", "jig-session-atomic", &["--lib", "names::tests"]),
    ("the process table's lines", "jig-session-liveness", &["--lib", "linux::tests"]),
    ("bytes as documents", "jig-session-schema", &["--test", "properties", "no_bytes"]),
    ("text as documents", "jig-session-schema", &["--test", "properties", "no_text_that"]),
    ("spoilt documents", "jig-session-schema", &["--test", "properties", "no_spoilt"]),
    ("ill-typed parts", "jig-session-schema", &["--test", "properties", "ill_typed"]),
    ("names of documents", "jig-session-schema", &["--test", "properties", "name"]),
    ("times", "jig-session-schema", &["--test", "properties", "time"]),
    ("the sanitiser", "jig-session-view", &["--lib", "sanitise::tests"]),
];

pub(crate) fn run(report: &mut Report) -> anyhow::Result<()> {
    for (what, package, choice) in TARGETS {
        let end = Instant::now() + LONG;
        let mut wrong = Vec::new();
        let mut rounds = 0;
        while wrong.is_empty() && (rounds == 0 || Instant::now() < end) {
            let mut command = cargo(&["test", "--quiet", "-p", package]);
            command.args(*choice).env("PROPTEST_CASES", CASES);
            let output = command.output().context("cannot run cargo")?;
            let text = String::from_utf8_lossy(&output.stdout);
            if !output.status.success() {
                wrong.extend(
                    text.lines()
                        .filter(|line| line.contains("panicked") || line.contains("minimal"))
                        .map(str::to_owned),
                );
                wrong.push(format!("cargo test ended with {}", output.status));
            } else if !text.lines().any(|line| line.contains(" passed") && !line.contains(" 0 passed")) {
                wrong.push("no such test".to_owned());
            }
            rounds += 1;
        }
        report.check(&format!("{what}: {rounds} rounds of {CASES} cases"), wrong);
    }
    Ok(())
}
