//! Every agent of the table: what is installed comes out again without a trace, and nothing else is touched.

#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "the test made the files it reads")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use jig_session_agents::{ALL, Agent};
use jig_session_hooks::{Deed, Part, Target, apply, changes, parts_of};
use jig_session_schema::hooks::{HooksEntry, HooksState};
use serde_json::json;

const PROGRAM: &str = "/usr/bin/jig-session";

fn no_variable<'a>(_: &str) -> Option<&'a str> {
    None
}

fn plugin(agent: &Agent, program: &str) -> Option<String> {
    let mark = match &agent.hooks {
        jig_session_agents::Hooks::Plugin(plugin) => plugin.mark,
        _ => "",
    };
    Some(format!("// {mark}\nconst INSTALLED = {};\n", serde_json::Value::from(program)))
}

fn target<'a>(home: &'a Path, program: &'a str) -> Target<'a> {
    Target { variable: &(no_variable as fn(&str) -> Option<&'a str>), home, project: None, program, plugin: &plugin }
}

/// Every file below a folder, with its bytes.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(tree(&path));
        } else {
            all.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    all
}

fn states(rows: &[HooksEntry]) -> Vec<&str> {
    rows.iter().map(|row| row.state.as_str()).collect()
}

fn with_parts() -> impl Iterator<Item = (&'static Agent, Vec<Part>)> {
    ALL.into_iter().map(|agent| (agent, parts_of(agent))).filter(|(_, parts)| !parts.is_empty())
}

#[test]
fn beside_the_agents_own_plugin_nothing_is_installed_twice() {
    let claude = jig_session_agents::named("claude").unwrap();
    let home = tempfile::tempdir().unwrap();
    let target = target(home.path(), PROGRAM);
    let settings = home.path().join(".claude/settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let text = "{\n  // mine\n  \"enabledPlugins\": { \"jig-session@jig-session\": true }\n}\n";
    fs::write(&settings, text).unwrap();
    let parts = [Part::Session, Part::Guard];
    assert_eq!(states(&apply(Deed::Status, claude, &parts, &target)), ["plugin", "absent"]);
    let rows = apply(Deed::Install, claude, &parts, &target);
    // The guard is no part of the plugin.
    assert_eq!(states(&rows), ["plugin", "installed"]);
    assert!(rows[0].problem.as_ref().unwrap().contains("claude plugin uninstall jig-session@jig-session"));
    assert_eq!(states(&apply(Deed::Uninstall, claude, &parts, &target)), ["absent", "removed"]);
    assert_eq!(fs::read_to_string(&settings).unwrap(), text);

    // The hooks were there first: both are named.
    fs::write(&settings, "{}").unwrap();
    apply(Deed::Install, claude, &[Part::Session], &target);
    let with_hooks = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, with_hooks.replacen('{', "{ \"enabledPlugins\": { \"jig-session@x\": true },", 1)).unwrap();
    let rows = apply(Deed::Status, claude, &[Part::Session], &target);
    assert_eq!(states(&rows), ["installed"]);
    assert!(rows[0].problem.as_ref().unwrap().contains("twice"));
    let rows = apply(Deed::Install, claude, &[Part::Session], &target);
    assert_eq!(states(&rows), ["unchanged"]);
    assert!(rows[0].problem.as_ref().unwrap().contains("twice"));
}

/// An agent's own command takes a clone's folder in place of the package's name.
#[test]
fn a_plugin_from_a_folder_is_the_plugin_too() {
    for (agent, file, entry) in [
        ("pi", ".pi/agent/settings.json", json!({ "packages": ["../../clone/plugins/pi"] })),
        ("pi", ".pi/agent/settings.json", json!({ "packages": [{ "source": "~/clone/plugins/pi" }] })),
        (
            "opencode",
            ".config/opencode/opencode.json",
            json!({ "plugin": ["file://HOME/clone/plugins/opencode/index.js"] }),
        ),
    ] {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("clone/plugins").join(agent);
        fs::create_dir_all(&folder).unwrap();
        let file = home.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, entry.to_string().replace("HOME", home.path().to_str().unwrap())).unwrap();
        let agent = jig_session_agents::named(agent).unwrap();
        let state = || apply(Deed::Status, agent, &[Part::Session], &target(home.path(), PROGRAM))[0].state.clone();
        for (package, expected) in [("another", HooksState::ABSENT), (agent.name, HooksState::PLUGIN)] {
            let package = json!({ "name": format!("jig-session-{package}") }).to_string();
            fs::write(folder.join("package.json"), package).unwrap();
            assert_eq!(state(), expected, "{} {entry}", agent.name);
        }
    }
}

#[test]
fn every_agent_is_installed_once_and_leaves_nothing() {
    for (agent, parts) in with_parts() {
        let home = tempfile::tempdir().unwrap();
        let target = target(home.path(), PROGRAM);
        let all = |word: &'static str| vec![word; parts.len()];
        assert_eq!(states(&apply(Deed::Status, agent, &parts, &target)), all("absent"), "{}", agent.name);
        assert_eq!(states(&apply(Deed::Install, agent, &parts, &target)), all("installed"), "{}", agent.name);
        let installed = tree(home.path());
        assert_eq!(states(&apply(Deed::Install, agent, &parts, &target)), all("unchanged"), "{}", agent.name);
        assert_eq!(tree(home.path()), installed);
        for row in apply(Deed::Status, agent, &parts, &target) {
            assert_eq!(row.state, HooksState::INSTALLED, "{} {}", agent.name, row.part);
            assert_eq!(row.program.as_deref(), Some(PROGRAM), "{} {}", agent.name, row.part);
        }
        assert_eq!(states(&apply(Deed::Uninstall, agent, &parts, &target)), all("removed"), "{}", agent.name);
        assert_eq!(tree(home.path()), BTreeMap::new(), "{}", agent.name);
        assert_eq!(states(&apply(Deed::Uninstall, agent, &parts, &target)), all("absent"), "{}", agent.name);
    }
}

#[test]
fn what_others_wrote_comes_back_byte_for_byte() {
    let theirs = "{\n  // mine\n  \"theme\": \"dark\",\n  \"hooks\": {\n    \"Stop\": [ { \"hooks\": [ { \"type\": \"command\", \"command\": \"notify-send done\" } ] } ]\n  },\n  \"statusLine\": { \"type\": \"command\", \"command\": \"~/line.sh 'a b'\", \"padding\": 0 }\n}\n";
    for (agent, parts) in with_parts() {
        let home = tempfile::tempdir().unwrap();
        let target = target(home.path(), PROGRAM);
        let files: Vec<PathBuf> = parts
            .iter()
            .flat_map(|part| changes(agent, *part, &target))
            .filter(|change| {
                matches!(&change.content, jig_session_hooks::Content::Entries(jig_session_settings::Format::Json, _))
            })
            .map(|change| change.path)
            .collect();
        for path in &files {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, theirs).unwrap();
        }
        let before: Vec<_> = tree(home.path()).into_iter().collect();
        apply(Deed::Install, agent, &parts, &target);
        assert!(
            apply(Deed::Status, agent, &parts, &target).iter().all(|row| row.state == HooksState::INSTALLED),
            "{}",
            agent.name
        );
        apply(Deed::Uninstall, agent, &parts, &target);
        let after: Vec<_> = tree(home.path()).into_iter().collect();
        for ((path, before), (_, after)) in before.iter().zip(&after) {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            // A switch that an agent needs and that is not ours alone stays.
            let after = text(after)
                .replace(",\n  \"hooksConfig\": {\n    \"enabled\": true\n  }", "")
                .replace(",\n  \"version\": 1", "");
            assert_eq!(after, text(before), "{} {}", agent.name, path.display());
        }
        assert_eq!(before.len(), after.len(), "{}", agent.name);
    }
}

#[test]
fn a_person_s_status_line_is_wrapped_and_given_back() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(".claude/settings.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, r#"{"statusLine":{"type":"command","command":"~/line.sh","padding":0}}"#).unwrap();
    let claude = jig_session_agents::named("claude").unwrap();
    apply(Deed::Install, claude, &[Part::Statusline], &target(home.path(), PROGRAM));
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        r#"{"statusLine":{"type":"command","command":"/usr/bin/jig-session hook claude --statusline --then '~/line.sh'","padding":0}}"#
    );
    let rows = apply(Deed::Install, claude, &[Part::Statusline], &target(home.path(), "jig-session"));
    assert_eq!(states(&rows), ["updated"]);
    apply(Deed::Uninstall, claude, &[Part::Statusline], &target(home.path(), "jig-session"));
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        r#"{"statusLine":{"type":"command","command":"~/line.sh","padding":0}}"#
    );
}

#[test]
fn another_program_s_path_is_brought_up_to_date() {
    for (agent, parts) in with_parts() {
        let home = tempfile::tempdir().unwrap();
        apply(Deed::Install, agent, &parts, &target(home.path(), "/old/jig-session"));
        let now = target(home.path(), PROGRAM);
        let rows = apply(Deed::Status, agent, &parts, &now);
        assert!(rows.iter().all(|row| row.state == HooksState::OUTDATED), "{} {:?}", agent.name, states(&rows));
        apply(Deed::Install, agent, &parts, &now);
        for (path, bytes) in tree(home.path()) {
            assert!(!String::from_utf8_lossy(&bytes).contains("/old/"), "{}", path.display());
        }
    }
}

#[test]
fn a_file_that_is_not_understood_is_refused_and_the_others_are_done() {
    let claude = jig_session_agents::named("claude").unwrap();
    for text in ["{\"hooks\":null}", "[]", "\"x\"", "{", "{\"hooks\":{\"PreToolUse\":{}}}"] {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(".claude/settings.json");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        for deed in [Deed::Install, Deed::Status] {
            let rows = apply(deed, claude, &[Part::Guard, Part::Mcp], &target(home.path(), PROGRAM));
            assert_eq!(rows[0].state, HooksState::REFUSED, "{text}");
            assert!(rows[0].problem.is_some());
            assert_ne!(rows[1].state, HooksState::REFUSED);
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn a_project_s_own_files_are_edited_below_its_folder() {
    for (agent, parts) in with_parts() {
        let (home, project) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let target = Target { project: Some(project.path()), ..target(home.path(), PROGRAM) };
        apply(Deed::Install, agent, &parts, &target);
        assert_eq!(tree(home.path()), BTreeMap::new(), "{}", agent.name);
        apply(Deed::Uninstall, agent, &parts, &target);
        assert_eq!(tree(project.path()), BTreeMap::new(), "{}", agent.name);
    }
}
