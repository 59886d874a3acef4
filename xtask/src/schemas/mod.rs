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

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with today's schemas, released as 9.9.9.
    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(refresh(folder.path(), false).expect("written").len(), FORMATS.len() * 2);
        released::add(folder.path(), "9.9.9").expect("released");
        folder
    }

    #[test]
    fn only_a_changed_or_missing_file_is_stale_and_checking_writes_nothing() {
        let folder = folder();
        assert_eq!(refresh(folder.path(), true).expect("checked"), Vec::<String>::new());
        let file = folder.path().join("status.v1.schema.json");
        fs::write(&file, "{}").expect("written");
        fs::remove_file(folder.path().join("writer/ls.v1.schema.json")).expect("removed");
        for _ in 0..2 {
            let stale = refresh(folder.path(), true).expect("checked");
            assert_eq!(stale, ["status.v1.schema.json", "writer/ls.v1.schema.json"]);
        }
        refresh(folder.path(), false).expect("written");
        assert_eq!(refresh(folder.path(), true).expect("checked"), Vec::<String>::new());
    }

    #[test]
    fn what_was_just_released_is_compatible_and_a_touched_copy_is_noticed() {
        let folder = folder();
        assert_eq!(released::compare(folder.path()).expect("compared"), Vec::<String>::new());
        let copy = folder.path().join("released/9.9.9/status.v1.schema.json");
        let text = fs::read_to_string(&copy).expect("the copy");
        fs::write(&copy, text + "\n").expect("written");
        let broken = released::compare(folder.path()).expect("compared");
        assert_eq!(broken, ["9.9.9: status.v1.schema.json was changed after its release"]);
    }

    #[test]
    fn an_accepted_break_must_name_a_decision() {
        let folder = folder();
        let copy = folder.path().join("released/9.9.9/status.v1.schema.json");
        fs::write(&copy, fs::read_to_string(&copy).expect("the copy") + "\n").expect("written");
        let line = "9.9.9: status.v1.schema.json was changed after its release";
        let accept = |decision: &str| {
            let accepted = serde_json::json!([{ "line": line, "decision": decision }]);
            fs::write(folder.path().join("accepted.json"), accepted.to_string()).expect("written");
            released::compare(folder.path())
        };
        let error = accept("no such heading").expect_err("a decision that nobody wrote");
        assert!(error.to_string().contains("no such heading"), "{error}");
    }
}
