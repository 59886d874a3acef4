//! The checks of docs/drift.md in a scratch repository: green, and red after one changed field.

use std::fs;
use std::path::Path;
use std::process::Command;

/// The `run` lines and `entry` lines of the page, as a workflow or a hook would run them.
fn checks() -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/drift.md");
    let text = fs::read_to_string(page).expect("the page");
    let mut all = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line == "- run: |" {
            let mut script = String::new();
            while let Some(more) = lines.next_if(|line| line.starts_with("    ")) {
                script.push_str(more.trim());
                script.push('\n');
            }
            all.push(script);
        } else if let Some(command) = line.strip_prefix("- run: ").or_else(|| line.trim().strip_prefix("entry: ")) {
            // A hook is given the files that changed.
            let files = if line.contains("entry: jig-session validate") { " tests/written/*.json" } else { "" };
            all.push(format!("{command}{files}"));
        }
    }
    all.retain(|command| !command.contains("cargo install"));
    all
}

fn passes(folder: &Path, command: &str) -> bool {
    let program = Path::new(env!("CARGO_BIN_EXE_jig-session")).parent().expect("a folder");
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", program.display());
    let mut shell = Command::new("bash");
    shell.args(["-e", "-c", command]).current_dir(folder).env_clear().env("PATH", path).env("HOME", folder);
    shell.output().expect("bash runs").status.success()
}

#[test]
fn the_checks_of_the_page_are_green_and_then_red() {
    let checks = checks();
    assert_eq!(checks.len(), 4, "{checks:?}");
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path();
    let git = "git init -q . && git add -A && git -c user.name=x -c user.email=x@x commit -q -m x";
    fs::create_dir_all(folder.join("tests/written")).expect("a folder");
    let document =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/examples/status/v1/valid/every-field.json");
    let written = folder.join("tests/written/status.json");
    fs::copy(document, &written).expect("the example");
    assert!(passes(folder, "jig-session schema --all vendored/jig"));
    assert!(passes(folder, git), "git");
    for check in &checks {
        assert!(passes(folder, check), "green: {check}");
    }

    // The writer drifts: a field changes its type. The reader's copy drifts: it lacks a field of today.
    let text = fs::read_to_string(&written).expect("the document");
    let drifted = text.replacen("\"state\": \"", "\"state\": 7, \"was\": \"", 1);
    assert_ne!(text, drifted);
    fs::write(&written, drifted).expect("the document");
    let vendored = folder.join("vendored/jig/status.v1.schema.json");
    let schema = fs::read_to_string(&vendored).expect("the schema");
    fs::write(&vendored, schema.replacen("\"stateAt\"", "\"stateSince\"", 1)).expect("the schema");
    assert!(passes(folder, "git -c user.name=x -c user.email=x@x commit -q -a -m drifted"), "git");
    for check in &checks {
        assert!(!passes(folder, check), "red: {check}");
    }
}
