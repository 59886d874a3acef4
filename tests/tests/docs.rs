//! The documentation against the tree: variables, crates, links.
#![allow(clippy::disallowed_methods, reason = "tests read the files that they made")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests lies in the workspace").to_path_buf()
}

/// All files below a folder whose name ends so, build folders left out.
fn files(dir: &Path, ending: &str, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("the folder can be read") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && name != "target" && name != "node_modules" {
                files(&path, ending, all);
            }
        } else if name.ends_with(ending) {
            all.push(path);
        }
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The variables of the table in platform.md.
fn documented() -> BTreeSet<String> {
    let text = read(&root().join("docs/platform.md"));
    let rows = text.lines().filter(|line| line.starts_with("| `") && line.contains("` |"));
    let cells = rows.filter_map(|line| line.split('|').nth(1).map(str::to_owned));
    let names = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>());
    names.filter(|name| name.chars().all(|c| c.is_ascii_uppercase() || c == '_')).collect()
}

#[test]
fn every_variable_of_ours_in_the_code_is_in_platform_md() {
    let documented = documented();
    let mut sources = Vec::new();
    files(&root().join("crates"), ".rs", &mut sources);
    let mut missing = BTreeSet::new();
    for path in sources.iter().filter(|path| path.components().any(|part| part.as_os_str() == "src")) {
        for literal in read(path).split('"') {
            let ours =
                ["JIG_", "PI_KING_", "PI_CODING_", "PI_DISABLED_"].iter().any(|start| literal.starts_with(start));
            // What `watch --exec` sets for its command, and what tests set, is documented elsewhere.
            let set = literal.starts_with("JIG_FULL") || EXEC.contains(&literal);
            let name = literal.chars().all(|c| c.is_ascii_uppercase() || c == '_');
            if ours && name && !set && !documented.contains(literal) {
                missing.insert(format!("{literal} in {}", path.display()));
            }
        }
    }
    assert!(missing.is_empty(), "docs/platform.md lacks: {missing:#?}");
}

/// The environment of a command that `watch --exec` runs.
const EXEC: [&str; 13] = [
    "JIG_CHANGE",
    "JIG_SESSION",
    "JIG_AGENT",
    "JIG_NAME",
    "JIG_STATE",
    "JIG_REASON",
    "JIG_SINCE",
    "JIG_CWD",
    "JIG_PATH",
    "JIG_HOST",
    "JIG_TERMINAL",
    "JIG_TURN_SECONDS",
    "JIG_ESCALATED",
];

#[test]
fn every_documented_variable_of_ours_is_in_the_code() {
    let mut sources = Vec::new();
    for folder in ["crates", "xtask", "tests"] {
        for ending in [".rs", ".ts", ".py"] {
            files(&root().join(folder), ending, &mut sources);
        }
    }
    let text: String = sources.iter().map(|path| read(path)).collect::<Vec<_>>().concat();
    for name in documented().iter().filter(|name| name.starts_with("JIG_") || name.starts_with("PI_")) {
        assert!(text.contains(name.as_str()), "docs/platform.md names {name}, the code does not");
    }
}

#[test]
fn architecture_md_has_a_paragraph_for_every_crate() {
    let text = read(&root().join("docs/architecture.md"));
    for entry in fs::read_dir(root().join("crates")).expect("crates") {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        assert!(text.contains(&format!("\n**`{name}`**")), "docs/architecture.md has no paragraph for {name}");
    }
}

#[test]
fn every_crate_says_in_its_lib_rs_what_it_is_for() {
    for entry in fs::read_dir(root().join("crates")).expect("crates") {
        let path = entry.expect("an entry").path().join("src");
        let lib = if path.join("lib.rs").exists() { path.join("lib.rs") } else { path.join("main.rs") };
        assert!(read(&lib).starts_with("//! "), "{} does not begin with what it is for", lib.display());
    }
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut pages = Vec::new();
    files(&root(), ".md", &mut pages);
    for page in pages {
        let text = read(&page);
        for part in text.split("](").skip(1) {
            let link = part.split([')', '#', ' ']).next().unwrap_or_default();
            // Addresses, and code that only looks like a link, are no paths.
            let path = link.chars().all(|c| c.is_ascii_alphanumeric() || "./-_".contains(c));
            if link.is_empty() || !path {
                continue;
            }
            let to = page.parent().unwrap_or(Path::new("")).join(link);
            assert!(to.exists(), "{} links to {link}, which is not there", page.display());
        }
    }
}
