//! The README's shell blocks, run as they stand in a throw-away home.

use std::process::Command;

use anyhow::Context;

use super::Tally;
use crate::run::{root, run, target};

/// A block with this word is for readers only: it installs, or runs the tests that run this.
const NOT_RUN: &str = "# not run in the tests";

pub(crate) fn check() -> anyhow::Result<Tally> {
    let mut found = Tally::default();
    let path = root().join("README.md");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let home = target().join("readme-home");
    let _ = std::fs::remove_dir_all(&home);
    std::fs::create_dir_all(&home).with_context(|| format!("cannot make {}", home.display()))?;
    let bin = target().join("install/bin");
    let search = format!("{}:{}", bin.display(), crate::run::variable("PATH").unwrap_or_default());
    let rustup = tool_home("RUSTUP_HOME", ".rustup");
    let cargo_home = tool_home("CARGO_HOME", ".cargo");
    for (number, block) in blocks(&text).into_iter().enumerate() {
        if block.contains(NOT_RUN) {
            continue;
        }
        let mut command = Command::new("bash");
        command.args(["-euo", "pipefail", "-c", &block]).current_dir(root());
        command.env("HOME", &home).env("PATH", &search).env("RUSTUP_HOME", &rustup).env("CARGO_HOME", &cargo_home);
        let ran = run(&mut command, |_| false)?;
        if !ran.status.success() {
            for line in ran.lines.iter().rev().take(30).rev() {
                crate::run::say(&format!("    {line}"));
            }
        }
        found.check(ran.status.success(), format!("block {} of README.md ended with {}", number + 1, ran.status));
    }
    Ok(found)
}

/// Where rustup and cargo keep their things, told even when `HOME` is another.
fn tool_home(name: &str, folder: &str) -> String {
    crate::run::variable(name)
        .unwrap_or_else(|| format!("{}/{folder}", crate::run::variable("HOME").unwrap_or_default()))
}

/// The text of every block that begins with three backticks and `sh`.
fn blocks(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut block: Option<String> = None;
    for line in text.lines() {
        match (&mut block, line) {
            (None, "```sh") => block = Some(String::new()),
            (Some(_), "```") => all.extend(block.take()),
            (Some(text), line) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, _) => {}
        }
    }
    all
}
