//! The files of the plugins that agents install with their own one command, made from the same table as what
//! `hooks install` writes. `cargo xtask plugins` puts them into the repository.

use std::path::Path;

use jig_session_agents::{Agent, CommandHooks, HookForm, Packaged, claude, codex, copilot, gemini};
use jig_session_settings::{ConfigFile, ElementValue, Entry, Format};
use serde_json::{Map, Value, json};

use crate::change::{Part, Target, entries};
use crate::plugin::plugin;

/// The name of the plugin and of its marketplace.
const NAME: &str = "jig-session";
const DESCRIPTION: &str = "Publishes what each session does and whether it waits for you, and lets sessions that share a repository send mail and claim paths.";
const REPOSITORY: &str = "https://github.com/jig-session/jig-session";
/// Both are in the repository's root; a plugin's manifest names them as cargo does.
const LICENCE: &str = "MIT OR Apache-2.0";

/// Where a plugin of ours stands in an agent, if it is installed there: the file that says so.
///
/// A file that cannot be read says nothing: the rows of `hooks status` name what is wrong with it.
pub(crate) fn packaged(agent: &Agent, target: &Target<'_>) -> Option<Packaged> {
    let packaged = agent.packaged?;
    let path = packaged.file.path(target.variable, target.home);
    let format =
        if path.extension().is_some_and(|extension| extension == "toml") { Format::Toml } else { Format::Json };
    let file = ConfigFile::read(&path).ok()?;
    let content = jig_session_settings::read(file.text()?, format).ok()?;
    let base = path.parent().unwrap_or(target.home);
    let from_folder =
        || packaged.form.folders(&content).iter().any(|(at, name)| is_package(target.home, base, at, name));
    (packaged.form.is_in(&content) || from_folder()).then_some(packaged)
}

/// Whether this path, which may be relative to the folder of the file that names it, is a package of that name: its folder
/// or its main file.
fn is_package(home: &Path, base: &Path, at: &str, name: &str) -> bool {
    let path = at.strip_prefix("~/").map_or_else(|| base.join(at), |below| home.join(below));
    let named = |folder: &Path| {
        let file = ConfigFile::read(&folder.join("package.json")).ok()?;
        let content = jig_session_settings::read(file.text()?, Format::Json).ok()?;
        Some(content["name"] == name)
    };
    [Some(path.as_path()), path.parent()].into_iter().flatten().any(|folder| named(folder) == Some(true))
}

/// Why a part is not installed beside the plugin: the plugin brings the session's events and the server. The other
/// parts are asked for beside it.
pub(crate) fn covered(part: Part, packaged: &Packaged) -> Option<String> {
    matches!(part, Part::Session | Part::Mcp).then(|| {
        format!(
            "the plugin jig-session does the same, and both would tell everything twice; keep one: {}",
            packaged.remove
        )
    })
}

/// Every file of the plugins by its path below the repository's root; `bridge` is Pi's extension, `skill` what a model
/// reads about working beside other sessions.
#[must_use]
pub fn plugin_files(bridge: &str, skill: &str) -> Vec<(String, String)> {
    let mut files = vec![("plugins/README.md".to_owned(), index())];
    // `OWNER/REPO` is looked up in the root, a clone's `plugins` may be named as well.
    for (root, plugin) in [("", "./plugins/jig-session"), ("plugins/", "./jig-session")] {
        files.extend(marketplaces(root, plugin));
    }
    let shared = "plugins/jig-session";
    for (agent, folder, hooks) in [
        (&claude::AGENT, ".claude-plugin", None),
        (&codex::AGENT, ".codex-plugin", Some("codex.json")),
        // Copilot would also take Claude's manifest, and with it Claude's hooks; it looks here first.
        (&copilot::AGENT, ".github/plugin", Some("copilot.json")),
    ] {
        let mut about = manifest();
        if let Some(name) = hooks {
            about["hooks"] = format!("./hooks/{name}").into();
            about["skills"] = "./skills/".into();
            about["mcpServers"] = "./.mcp.json".into();
        }
        files.push(json_file(format!("{shared}/{folder}/plugin.json"), &about));
        let name = hooks.unwrap_or("hooks.json");
        files.push(json_file(format!("{shared}/hooks/{name}"), &hooks_document(agent)));
    }
    files.push(json_file(format!("{shared}/.mcp.json"), &json!({ "mcpServers": server() })));
    files.push((format!("{shared}/skills/sessions/SKILL.md"), format!("{SKILL_HEAD}{skill}")));
    files.push((format!("{shared}/README.md"), README.to_owned()));

    let mut extension = json!({ "name": NAME, "version": VERSION, "description": DESCRIPTION });
    extension["mcpServers"] = server();
    files.push(json_file("plugins/gemini/gemini-extension.json".to_owned(), &extension));
    files.push(json_file("plugins/gemini/hooks/hooks.json".to_owned(), &hooks_document(&gemini::AGENT)));
    files.push(("plugins/gemini/README.md".to_owned(), README.to_owned()));

    let opencode = plugin("opencode", NAME).unwrap_or_default();
    files.extend(npm("opencode", "index.js", &opencode, json!({ "type": "module", "main": "index.js" })));
    let pi = json!({ "pi": { "extensions": ["./index.ts"] }, "keywords": ["pi-package"] });
    files.extend(npm("pi", "index.ts", bridge, pi));
    files
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What every plugin says of itself.
const README: &str = "\
# jig-session

Tells which coding-agent sessions live, what they do, and which one waits for you. The plugin calls the program
`jig-session` at the agent's events; without the program it does nothing and says nothing.

Install the program first: `cargo install jig-session`. Then, in Claude Code:
`/plugin install jig-session --marketplace jig-session/jig-session`; in another agent, its own plugin command.
`jig-session ls` lists the sessions, `jig-session watch`
tells what changes, and `jig-session doctor` says what is wrong.

No prompt, argument or output is stored: names of tools, paths of files and counts. Everything stays on this machine,
in files below `~/.local/state/jig`.

Use the plugin or `jig-session hooks install`, not both.
";

/// What agents find a skill by.
const SKILL_HEAD: &str = "\
---
name: sessions
description: Work beside other coding-agent sessions in the same repository. Use when another session may edit the same files, when mail of the session bus arrives, or before claiming paths.
---

";

/// The page of all plugins.
fn index() -> String {
    let rows: String = jig_session_agents::ALL
        .iter()
        .filter_map(|agent| {
            let Packaged { install, remove, .. } = agent.packaged?;
            let trust = agent.hooks.commands().and_then(|commands| commands.trust);
            let then = trust.map_or_else(String::new, |trust| format!("; {trust}"));
            Some(format!("| {} | `{install}`{then} | `{remove}` |\n", agent.title))
        })
        .collect();
    INDEX.replace("ROWS\n", &rows)
}

const INDEX: &str = "\
# Plugins

For readers who want an agent to publish its sessions by the agent's own plugin command.
Everything here is made by `cargo xtask plugins` from the table of agents that `jig-session hooks install` uses; change the table, not the files.

A plugin calls the program `jig-session` and is silent without it: install that first, `cargo install jig-session`.
An agent has the plugin or what `jig-session hooks install` writes, not both; `jig-session hooks status` says which, and refuses the second.

| agent | install | remove |
|---|---|---|
ROWS

From a clone, `PATH` or `PATH/plugins` takes the place of `jig-session/jig-session`.

What each brings: the hooks that publish the session, the MCP server of the session bus (but OpenCode, which gets it by `jig-session hooks install opencode --mcp`), and the skill `sessions` where the agent has skills.
Guard, mail notices and the status line are added by `jig-session hooks install AGENT --guard --bus --statusline`.

No `plugin.json` stands at a plugin's root: with one, Codex would ignore its own manifest and run no hook.
Copilot has a manifest of its own in `.github/plugin`, since it would take Claude Code's, and call itself Claude.
Droid is said to load Claude Code's plugins too; its sessions would then be listed as Claude Code's. Use `jig-session hooks install droid` there.
";

fn manifest() -> Value {
    json!({
        "name": NAME,
        "version": VERSION,
        "description": DESCRIPTION,
        "author": { "name": "the jig-session developers" },
        "homepage": REPOSITORY,
        "repository": REPOSITORY,
        "license": LICENCE,
        "keywords": ["sessions", "status", "monitor", "mcp"],
    })
}

/// What Claude Code, Copilot and Codex look for in a repository.
fn marketplaces(root: &str, plugin: &str) -> Vec<(String, String)> {
    let entry = json!({ "name": NAME, "source": plugin, "description": DESCRIPTION });
    let market = json!({
        "name": NAME,
        "description": DESCRIPTION,
        "owner": { "name": "the jig-session developers" },
        "plugins": [entry],
    });
    let codex = json!({
        "name": NAME,
        "interface": { "displayName": NAME },
        "plugins": [{
            "name": NAME,
            "source": { "source": "local", "path": plugin },
            "policy": { "installation": "AVAILABLE", "authentication": "ON_INSTALL" },
            "category": "Productivity",
        }],
    });
    vec![
        json_file(format!("{root}.claude-plugin/marketplace.json"), &market),
        json_file(format!("{root}.github/plugin/marketplace.json"), &market),
        json_file(format!("{root}.agents/plugins/marketplace.json"), &codex),
    ]
}

fn server() -> Value {
    json!({ NAME: { "command": NAME, "args": ["mcp"] } })
}

/// The hooks of an agent's session as a file of their own, each a line for the shell that is silent where the program
/// is not installed.
fn hooks_document(agent: &Agent) -> Value {
    let Some(commands) = agent.hooks.commands() else { return Value::Null };
    let in_shell = CommandHooks { form: HookForm { args: false, fixed: &[], ..commands.form }, ..*commands };
    let mut events = Map::new();
    for entry in entries(agent, Part::Session, &in_shell, NAME) {
        let Entry::Element { list, value: ElementValue::Grouped { matcher, mut hook }, .. } = entry else { continue };
        if let Some(line) = hook["command"].as_str() {
            hook["command"] = format!("command -v {NAME} >/dev/null || exit 0; exec {line}").into();
        }
        let mut group = json!({ "hooks": [hook] });
        if let Some(matcher) = matcher {
            group["matcher"] = matcher.into();
        }
        let event = list.last().cloned().unwrap_or_default();
        events.insert(event, json!([group]));
    }
    json!({ "hooks": events })
}

/// A package for npm with one file that the agent loads.
fn npm(agent: &str, file: &str, text: &str, more: Value) -> Vec<(String, String)> {
    let mut package = json!({
        "name": format!("{NAME}-{agent}"),
        "version": VERSION,
        "description": DESCRIPTION,
        "license": LICENCE,
        "repository": { "type": "git", "url": format!("git+{REPOSITORY}.git"), "directory": format!("plugins/{agent}") },
        "files": [file],
    });
    if let (Value::Object(package), Value::Object(more)) = (&mut package, more) {
        package.extend(more);
    }
    vec![
        json_file(format!("plugins/{agent}/package.json"), &package),
        (format!("plugins/{agent}/{file}"), text.to_owned()),
        (format!("plugins/{agent}/README.md"), README.to_owned()),
    ]
}

fn json_file(path: String, value: &Value) -> (String, String) {
    (path, format!("{value:#}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> Vec<(String, String)> {
        plugin_files("bridge", "skill")
    }

    fn json_of(path: &str) -> Value {
        let files = files();
        let (_, text) = files.iter().find(|(name, _)| name == path).unwrap_or_else(|| panic!("no {path}"));
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn each_agent_of_the_shared_plugin_calls_its_own_name() {
        for (agent, file) in [("claude", "hooks.json"), ("codex", "codex.json"), ("copilot", "copilot.json")] {
            let document = json_of(&format!("plugins/jig-session/hooks/{file}"));
            let events = document["hooks"].as_object().unwrap();
            let table = jig_session_agents::named(agent).unwrap().hooks.commands().unwrap().events;
            assert_eq!(events.keys().map(String::as_str).collect::<Vec<_>>(), table, "{agent}");
            for (event, groups) in events {
                let hook = &groups[0]["hooks"][0];
                let line = hook["command"].as_str().unwrap();
                let start = format!("command -v jig-session >/dev/null || exit 0; exec jig-session hook {agent}");
                assert!(line.starts_with(&start), "{event}: {line}");
                assert!(hook["args"].is_null(), "{event}: a line for the shell has no args");
            }
        }
    }

    #[test]
    fn no_manifest_of_the_agent_plugins_standard_stands_at_a_plugins_root() {
        // With one there, Codex reads nothing else and runs no hook, without a word.
        let at_root = |path: &str| path.ends_with("/jig-session/plugin.json") || path.ends_with("plugins/plugin.json");
        assert!(!files().iter().any(|(path, _)| at_root(path) || path == "plugin.json"));
    }

    #[test]
    fn an_installed_plugin_is_seen_in_each_agents_own_file() {
        let is_in = |name: &str, content: Value| {
            jig_session_agents::named(name).unwrap().packaged.unwrap().form.is_in(&content)
        };
        for name in ["claude", "copilot"] {
            assert!(is_in(name, json!({ "enabledPlugins": { "jig-session@jig-session": true } })), "{name}");
            assert!(!is_in(name, json!({ "enabledPlugins": { "jig-session@jig-session": false } })), "{name}");
            assert!(!is_in(name, json!({ "enabledPlugins": { "jig-session-2@x": true } })), "{name}");
            assert!(!is_in(name, json!({ "enabledPlugins": [] })), "{name}");
        }
        assert!(is_in("codex", json!({ "plugins": { "jig-session@mine": { "enabled": true } } })));
        assert!(!is_in("codex", json!({ "plugins": { "jig-session@mine": { "enabled": false } } })));
        assert!(is_in("opencode", json!({ "plugin": ["other", "jig-session-opencode@0.1.0"] })));
        assert!(!is_in("opencode", json!({ "plugin": ["jig-session-opencode-fork"] })));
        assert!(is_in("pi", json!({ "packages": ["npm:jig-session-pi"] })));
        assert!(is_in("pi", json!({ "packages": [{ "source": "npm:jig-session-pi@0.1.0", "extensions": [] }] })));
        assert!(!is_in("pi", json!({})));
    }
}
