//! An agent is a file: outside of the table of agents no crate names an agent's variable or compares its name.
#![allow(clippy::disallowed_methods, reason = "tests read files of the repository")]

use std::fs;
use std::path::{Path, PathBuf};

use jig_session_agents::ALL;

/// The sources of every crate but the table's own, without their tests.
fn sources() -> Vec<(PathBuf, String)> {
    fn walk(folder: &Path, out: &mut Vec<(PathBuf, String)>) {
        for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.expect("an entry").path();
            let is_test = path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("tests"));
            if is_test || path.ends_with("jig-session-agents") {
                continue;
            }
            if path.is_dir() {
                walk(&path, out);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("a source");
                let code = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
                out.push((path, code));
            }
        }
    }
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let mut out = Vec::new();
    for entry in fs::read_dir(crates).expect("the crates") {
        let folder = entry.expect("an entry").path();
        if !folder.ends_with("jig-session-agents") && folder.join("src").is_dir() {
            walk(&folder.join("src"), &mut out);
        }
    }
    assert!(out.len() > 100, "{} sources", out.len());
    out
}

#[test]
fn nobody_else_names_an_agents_variable() {
    let variables: Vec<&str> = ALL
        .into_iter()
        .flat_map(|agent| {
            let folder = agent.folder.and_then(|folder| folder.variable).map(|(name, _)| name);
            agent.session_variable.into_iter().chain(folder).chain(agent.child_markers.iter().copied())
        })
        // Not an agent's own.
        .filter(|name| !name.starts_with("XDG_"))
        .collect();
    for (path, code) in sources() {
        for name in &variables {
            assert!(!code.contains(&format!("\"{name}\"")), "{} names {name}", path.display());
        }
    }
}

#[test]
fn nobody_else_compares_an_agents_name() {
    for (path, code) in sources() {
        for agent in ALL {
            let name = agent.name;
            for form in [format!("== \"{name}\""), format!("\"{name}\" =>"), format!("!= \"{name}\"")] {
                assert!(!code.contains(&form), "{} has {form}", path.display());
            }
        }
    }
}
