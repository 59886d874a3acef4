//! A second opinion on compatibility, by jsoncompat: a program of its own below `xtask/compat`, built only when a
//! released schema has changed or when it is asked for.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use serde_json::{Value, json};

use super::edits::{self, Breaks};
use super::released::{self, Pair};
use super::write;
use crate::run::{cargo, root, run, say, target};

/// What it says of one pair.
struct Opinion {
    name: String,
    readers: String,
    files: String,
}

/// Where it does not find a changed format compatible; it is not built when nothing has changed.
pub(super) fn doubts(changed: &[(String, Pair)]) -> anyhow::Result<Vec<String>> {
    if changed.is_empty() {
        return Ok(Vec::new());
    }
    let mut out = Vec::new();
    for opinion in ask(changed.iter().map(|(name, pair)| (name.as_str(), pair)))? {
        for (side, verdict) in [("old readers", &opinion.readers), ("old files", &opinion.files)] {
            if verdict != COMPATIBLE {
                out.push(format!("{}: {side}: jsoncompat says {verdict}", opinion.name));
            }
        }
    }
    Ok(out)
}

const COMPATIBLE: &str = "compatible";

/// Compares it with the table of edits, and asks it about every released format.
pub(super) fn compare(folder: &Path) -> anyhow::Result<ExitCode> {
    let table = edits::table();
    let opinions = ask(table.iter().map(|(name, _, pair)| (name.as_str(), pair)))?;
    let mut wrong = 0;
    for ((name, expected, _), opinion) in table.iter().zip(&opinions) {
        let against = disagreement(*expected, opinion);
        wrong += usize::from(against.is_some());
        say(&format!(
            "{} {name}: readers {}, files {}",
            if against.is_some() { "WRONG" } else { "   ok" },
            opinion.readers,
            opinion.files
        ));
    }
    let released = released::pairs(folder, true)?;
    let broken = doubts(&released)?;
    broken.iter().for_each(|line| say(&format!("WRONG {line}")));
    say(&format!("{} edits, {} released formats, {} wrong", table.len(), released.len(), wrong + broken.len()));
    Ok(if wrong + broken.len() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// It may not call compatible what breaks, and must call compatible what breaks nothing. What only our own rules
/// forbid, it need not see.
fn disagreement(expected: Breaks, opinion: &Opinion) -> Option<&'static str> {
    let compatible = |verdict: &str| verdict == COMPATIBLE;
    if (expected.readers && compatible(&opinion.readers)) || (expected.files && compatible(&opinion.files)) {
        return Some("a break is called compatible");
    }
    let nothing = !expected.readers && !expected.files && !expected.rules;
    (nothing && !(compatible(&opinion.readers) && compatible(&opinion.files))).then_some("nothing is called a break")
}

fn ask<'a>(pairs: impl Iterator<Item = (&'a str, &'a Pair)>) -> anyhow::Result<Vec<Opinion>> {
    let pairs: Vec<Value> = pairs
        .map(|(name, pair)| {
            json!({
                "name": name,
                "oldReader": pair.old_reader,
                "oldWriter": pair.old_writer,
                "newReader": pair.new_reader,
                "newWriter": pair.new_writer,
            })
        })
        .collect();
    let file = target().join("schema-pairs.json");
    write(&file, &Value::from(pairs).to_string())?;
    let manifest = root().join("xtask/compat/Cargo.toml");
    let place = target().join("compat");
    let mut command = cargo(&["run", "--quiet", "--locked", "--manifest-path"]);
    command.arg(manifest).arg("--").arg(&file).env("CARGO_TARGET_DIR", place);
    let ran = run(&mut command, |line| line.starts_with("error"))?;
    let _ = fs::remove_file(&file);
    anyhow::ensure!(ran.status.success(), "jsoncompat's program ended with {}", ran.status);
    ran.lines.iter().filter(|line| line.starts_with('{')).map(|line| opinion(line)).collect()
}

fn opinion(line: &str) -> anyhow::Result<Opinion> {
    let value: Value = serde_json::from_str(line).context("jsoncompat's program printed no JSON")?;
    let text = |key: &str| value[key].as_str().map(str::to_owned).with_context(|| format!("no {key} in {line}"));
    Ok(Opinion { name: text("name")?, readers: text("readers")?, files: text("files")? })
}
