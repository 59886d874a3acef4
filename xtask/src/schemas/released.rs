//! The released copies: `schemas/released/<version>/`, never changed, always readable.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use jig_session_schema::formats::FORMATS;
use jig_session_schema::names::hash16_bytes;
use jig_session_schema::shape::Side;
use serde_json::{Map, Value, json};

use super::{SIDES, inclusion, rules, second, write};
use crate::run::root;

/// Copies today's schemas of every format that was not released yet.
pub(super) fn add(folder: &Path, version: &str) -> anyhow::Result<()> {
    let target = folder.join("released").join(version);
    let mut manifest = manifest_of(&target)?.unwrap_or_default();
    for format in FORMATS {
        for side in SIDES {
            let file = format.schema_file(side);
            if manifest.contains_key(&file) {
                continue;
            }
            let text = format.schema_text(side);
            write(&target.join(&file), &text)?;
            manifest.insert(file, json!(hash16_bytes(text.as_bytes())));
        }
    }
    write(&target.join(MANIFEST), &format!("{:#}\n", Value::Object(manifest)))
}

/// The digests of the released files, so that a change of one is noticed.
const MANIFEST: &str = "manifest.json";

/// Where today's types break what was released.
pub(super) fn compare(folder: &Path) -> anyhow::Result<Vec<String>> {
    let accepted = accepted(folder)?;
    let mut broken = Vec::new();
    for format in FORMATS {
        for side in SIDES {
            let today = Value::Object(format.schema(side));
            broken
                .extend(rules::of_one(&today).into_iter().map(|text| format!("{}: {text}", format.schema_file(side))));
        }
    }
    for version in versions(&folder.join("released"))? {
        broken.extend(touched(&version)?);
    }
    let changed = pairs(folder, false)?;
    for (name, pair) in &changed {
        broken.extend(breaks(pair).into_iter().map(|line| format!("{name}: {line}")));
    }
    broken.extend(second::doubts(&changed)?);
    broken.retain(|line| !accepted.contains(line));
    Ok(broken)
}

fn versions(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut out: Vec<_> =
        entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    out.sort();
    Ok(out)
}

/// A released pair of schemas and a later one.
pub(super) struct Pair {
    pub(super) old_reader: Value,
    pub(super) old_writer: Value,
    pub(super) new_reader: Value,
    pub(super) new_writer: Value,
}

/// Every released format beside what it is today, by version and name; only those that changed, or all.
pub(super) fn pairs(folder: &Path, unchanged_too: bool) -> anyhow::Result<Vec<(String, Pair)>> {
    let mut out = Vec::new();
    for version in versions(&folder.join("released"))? {
        let name = version.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let manifest = manifest_of(&version)?.with_context(|| format!("{} has no {MANIFEST}", version.display()))?;
        for format in FORMATS.iter().filter(|format| manifest.contains_key(&format.schema_file(Side::Reader))) {
            let pair = Pair {
                old_reader: read(&version.join(format.schema_file(Side::Reader)))?,
                old_writer: read(&version.join(format.schema_file(Side::Writer)))?,
                new_reader: format.schema(Side::Reader).into(),
                new_writer: format.schema(Side::Writer).into(),
            };
            if unchanged_too || pair.old_reader != pair.new_reader || pair.old_writer != pair.new_writer {
                out.push((format!("{name}: {}", format.name), pair));
            }
        }
    }
    Ok(out)
}

/// Files that were changed after their release, or whose format is no more.
fn touched(folder: &Path) -> anyhow::Result<Vec<String>> {
    let version = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let manifest = manifest_of(folder)?.with_context(|| format!("{} has no {MANIFEST}", folder.display()))?;
    let mut out = Vec::new();
    for (file, digest) in &manifest {
        let path = folder.join(file);
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        if json!(hash16_bytes(&bytes)) != *digest {
            out.push(format!("{version}: {file} was changed after its release"));
        }
    }
    let known = |file: &str| FORMATS.iter().any(|f| SIDES.iter().any(|side| f.schema_file(*side) == file));
    out.extend(
        manifest.keys().filter(|file| !known(file)).map(|file| format!("{version}: {file} is no format any more")),
    );
    Ok(out)
}

/// What breaks between a released pair of schemas and a new one.
pub(super) fn breaks(pair: &Pair) -> Vec<String> {
    let Pair { old_reader, old_writer, new_reader, new_writer } = pair;
    let forward = inclusion::differences(new_writer, old_reader).into_iter().map(|text| format!("old readers: {text}"));
    let backward = inclusion::differences(old_writer, new_reader).into_iter().map(|text| format!("old files: {text}"));
    let fields = rules::broken(old_reader, new_reader, false).into_iter().map(|text| format!("reader: {text}"));
    let always = rules::broken(old_writer, new_writer, true).into_iter().map(|text| format!("writer: {text}"));
    forward.chain(backward).chain(fields).chain(always).collect()
}

fn manifest_of(folder: &Path) -> anyhow::Result<Option<Map<String, Value>>> {
    let path = folder.join(MANIFEST);
    if !path.exists() {
        return Ok(None);
    }
    Ok(read(&path)?.as_object().cloned())
}

fn read(path: &Path) -> anyhow::Result<Value> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is not JSON", path.display()))
}

/// Breaks that were accepted: `schemas/accepted.json`, a list of `{ line, decision }`, each decision a heading of
/// `docs/decisions.md`.
fn accepted(folder: &Path) -> anyhow::Result<Vec<String>> {
    let path = folder.join("accepted.json");
    if !path.exists() {
        return Ok(Vec::new());
    }
    let decisions = fs::read_to_string(root().join("docs/decisions.md")).unwrap_or_default();
    let headings: Vec<&str> = decisions
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| line.trim_start_matches('#').trim())
        .collect();
    let mut out = Vec::new();
    for entry in read(&path)?.as_array().into_iter().flatten() {
        let text =
            |key: &str| entry.get(key).and_then(Value::as_str).with_context(|| format!("accepted.json: no {key}"));
        let decision = text("decision")?;
        anyhow::ensure!(headings.contains(&decision), "accepted.json: docs/decisions.md has no heading {decision:?}");
        out.push(text("line")?.to_owned());
    }
    Ok(out)
}
