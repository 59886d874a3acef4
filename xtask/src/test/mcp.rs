//! The MCP server under the official inspector: it lists the tool, calls it, and refuses what there is not.

use std::path::Path;
use std::process::Command;

use anyhow::Context;
use serde_json::Value;

use super::{Tally, missing};
use crate::run::{cargo, root, run, target};
use crate::tools::{NODE, npm};

pub(crate) fn check() -> anyhow::Result<Tally> {
    let mut found = Tally::default();
    registry(&mut found)?;
    let modules = match npm(NODE) {
        Ok(modules) => modules,
        Err(error) => {
            missing(&mut found, format!("the MCP inspector: {error:#}"));
            return Ok(found);
        }
    };
    let built = run(&mut cargo(&["build", "--quiet", "-p", "jig-session"]), |_| true)?;
    anyhow::ensure!(built.status.success(), "the program does not build");
    let home = target().join("inspector-home");
    std::fs::create_dir_all(&home).with_context(|| format!("cannot make {}", home.display()))?;
    let inspect = |args: &[&str]| inspect(&modules, &home, args);

    let tools = inspect(&["--method", "tools/list"])?;
    let names: Vec<&str> =
        tools["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str()).collect();
    found.check(names == ["session"], format!("the inspector sees the tool session: {names:?}"));
    let status = inspect(&["--method", "tools/call", "--tool-name", "session", "--tool-arg", "action=status"])?;
    found.check(status["structuredContent"]["ok"] == true, format!("the inspector calls status: {status}"));
    let unknown = inspect(&["--method", "tools/call", "--tool-name", "session", "--tool-arg", "action=approve"])?;
    found.check(
        !unknown["structuredContent"]["ok"].as_bool().unwrap_or(false),
        "an action that there is not is refused",
    );
    Ok(found)
}

/// One run of the inspector; the document it prints.
fn inspect(modules: &Path, home: &Path, args: &[&str]) -> anyhow::Result<Value> {
    let mut command = Command::new(modules.join(".bin/mcp-inspector"));
    command.arg("--cli").arg(target().join("debug/jig-session")).arg("mcp").args(args);
    command.current_dir(home).env("HOME", home).env_remove("JIG_STATE_DIR").env_remove("XDG_STATE_HOME");
    let ran = run(&mut command, |_| false)?;
    let text = ran.lines.join("\n");
    let from = text.find('{').with_context(|| format!("the inspector printed no document: {text}"))?;
    let mut documents = serde_json::Deserializer::from_str(&text[from..]).into_iter::<Value>();
    documents.next().context("no document")?.with_context(|| format!("the inspector printed: {text}"))
}

/// What the registry of MCP servers is told names this version and this repository.
fn registry(found: &mut Tally) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(root().join("server.json")).context("cannot read server.json")?;
    let manifest: Value = serde_json::from_str(&text).context("server.json is no JSON")?;
    let version = env!("CARGO_PKG_VERSION");
    let package = &manifest["packages"][0];
    found.check(manifest["version"] == version && package["version"] == version, "server.json names this version");
    found.check(manifest["description"].as_str().is_some_and(|text| text.len() <= 100), "its description is short");
    Ok(())
}
