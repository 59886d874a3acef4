//! OpenCode's plugin, run by Node over a recorded run: what leaves it, and what never does.
#![allow(clippy::disallowed_methods, reason = "tests read the files that they made")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests lies in the workspace").to_path_buf()
}

/// Feeds a trace of OpenCode's own events to the plugin and prints what it would send, one a line.
const DRIVER: &str = r#"
import fs from "node:fs";
const [, , plugin, trace] = process.argv;
const { default: made } = await import(plugin);
if (typeof made !== "function" || made.id !== "jig-session" || typeof made.setup !== "function") throw new Error("no plugin");
const translate = made.translator((line) => console.log(JSON.stringify(line)));
for (const text of fs.readFileSync(trace, "utf8").split("\n").filter(Boolean)) {
  const line = JSON.parse(text);
  if (line.hook === "event") translate.event(line.event.type, line.event.properties);
  else if (line.hook.startsWith("tool.")) translate.tool(line.hook, line.input, line.output);
}
"#;

/// Every text of a value, with its key.
fn texts<'a>(value: &'a Value, key: &'a str, all: &mut Vec<(&'a str, &'a str)>) {
    match value {
        Value::String(text) => all.push((key, text)),
        Value::Array(list) => list.iter().for_each(|value| texts(value, key, all)),
        Value::Object(fields) => fields.iter().for_each(|(key, value)| texts(value, key, all)),
        _ => {}
    }
}

#[test]
fn only_what_is_shown_leaves_the_plugin() {
    let folder = std::env::temp_dir().join(format!("jig-opencode-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let plugin = folder.join("plugin.mjs");
    fs::copy(root().join("crates/jig-session-hooks/assets/opencode.js"), &plugin).expect("copied");
    fs::write(folder.join("driver.mjs"), DRIVER).expect("written");
    let trace = root().join("crates/jig-session-publish/tests/fixtures/hooks/opencode/trace-opencode-1.jsonl");
    let ran = Command::new("node").arg(folder.join("driver.mjs")).arg(&plugin).arg(&trace).output();
    fs::remove_dir_all(&folder).expect("removed");
    let Ok(output) = ran else {
        let _ = writeln!(std::io::stderr(), "SKIPPED only_what_is_shown_leaves_the_plugin: node is not there");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let sent: Vec<Value> =
        output.stdout.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    assert!(sent.len() > 50, "{} lines", sent.len());
    let keys =
        ["hook", "type", "sessionID", "id", "directory", "version", "providerID", "name", "tool", "callID", "filePath"];
    let mut subagents = Vec::new();
    for line in &sent {
        let mut all = Vec::new();
        texts(line, "", &mut all);
        for (key, text) in all {
            assert!(keys.contains(&key), "{key}: {text} in {line}");
        }
        assert_eq!(line.pointer("/event/properties/info/parentID"), None, "a subagent's session: {line}");
        subagents.extend(line["event"]["type"].as_str().filter(|word| word.starts_with("subagent.")));
    }
    assert_eq!(subagents, ["subagent.started", "subagent.ended"]);
}
