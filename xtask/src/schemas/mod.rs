//! `cargo xtask schemas [--check]`: the JSON Schemas under `schemas/`, kept equal to the types and compatible with
//! every released copy.

mod edits;
mod inclusion;
mod released;
mod rules;
mod second;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use jig_session_schema::formats::FORMATS;
use jig_session_schema::shape::Side;

use crate::run::{root, say};

/// The files are not what the types say.
const STALE: u8 = 4;
/// The types have left a promise behind.
const INCOMPATIBLE: u8 = 100;

/// Both schemas of a format.
const SIDES: [Side; 2] = [Side::Reader, Side::Writer];

/// Writes the schemas, or with `--check` only says whether they are what the types say; then compares with the released.
pub(crate) fn run(args: &[String]) -> anyhow::Result<ExitCode> {
    let mut check = false;
    let mut release = None;
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "--check" => check = true,
            "--second-opinion" => return second::compare(&root().join("schemas")),
            "--release" => release = Some(rest.next().context("--release wants a version")?.clone()),
            other => anyhow::bail!("unknown argument {other}; known: --check, --release VERSION, --second-opinion"),
        }
    }
    let folder = root().join("schemas");
    let stale = refresh(&folder, check)?;
    if let Some(version) = release {
        released::add(&folder, &version)?;
    }
    let broken = released::compare(&folder)?;
    for line in &broken {
        say(&format!("incompatible: {line}"));
    }
    if !broken.is_empty() {
        say("a released format must stay readable: mend the type, or give the format a new version");
        return Ok(ExitCode::from(INCOMPATIBLE));
    }
    if check && !stale.is_empty() {
        stale.iter().for_each(|file| say(&format!("stale: schemas/{file}")));
        say("mend it with: cargo xtask schemas");
        return Ok(ExitCode::from(STALE));
    }
    say(&format!(
        "schemas: {} formats, {} files fresh, compatible with what was released",
        FORMATS.len(),
        FORMATS.len() * 2
    ));
    Ok(ExitCode::SUCCESS)
}

/// The files that differ from the types; written unless only checked.
fn refresh(folder: &Path, check: bool) -> anyhow::Result<Vec<String>> {
    let mut stale = Vec::new();
    for format in FORMATS {
        for side in SIDES {
            let file = format.schema_file(side);
            let path = folder.join(&file);
            let text = format.schema_text(side);
            if fs::read_to_string(&path).is_ok_and(|found| found == text) {
                continue;
            }
            if !check {
                write(&path, &text)?;
            }
            stale.push(file);
        }
    }
    Ok(stale)
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
