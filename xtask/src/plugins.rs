//! `cargo xtask plugins [--check]`: the plugins that agents install with their own command, made from the table of
//! agents.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;

use crate::run::{cargo, root, run, say};

/// Pi's extension, which its plugin carries.
const BRIDGE: &str = "crates/jig-session-host/assets/index.ts";
/// What the plugins tell a model of working beside other sessions.
const SKILL: &str = "docs/skill.md";
/// Folders that hold nothing but what is made here.
const FOLDERS: [&str; 4] = [".claude-plugin", ".github/plugin", ".agents/plugins", "plugins"];

/// Writes the files, or with `--check` says whether they are what the table gives.
pub(crate) fn run_all(args: &[String]) -> anyhow::Result<ExitCode> {
    let check = match args {
        [] => false,
        [flag] if flag == "--check" => true,
        _ => anyhow::bail!("unknown arguments {args:?}; known: --check"),
    };
    let made = made()?;
    let mut stale: Vec<String> = Vec::new();
    for (path, text) in &made {
        let file = root().join(path);
        if fs::read_to_string(&file).is_ok_and(|found| found == *text) {
            continue;
        }
        stale.push(path.clone());
        if !check {
            let folder = file.parent().context("a file lies in a folder")?;
            fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
            fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        }
    }
    for folder in FOLDERS {
        for path in files_below(&root().join(folder))? {
            if !made.contains_key(&path) {
                stale.push(format!("{path} (nothing makes it)"));
            }
        }
    }
    if check && !stale.is_empty() {
        stale.iter().for_each(|path| say(&format!("stale: {path}")));
        say("mend it with: cargo xtask plugins");
        return Ok(ExitCode::FAILURE);
    }
    say(&format!("plugins: {} files as the table of agents gives them", made.len()));
    Ok(ExitCode::SUCCESS)
}

/// Every file by its path below the root.
fn made() -> anyhow::Result<BTreeMap<String, String>> {
    let args = ["run", "--quiet", "--package", "jig-session-hooks", "--example", "plugins", "--"];
    let ran = run(cargo(&args).arg(root().join(BRIDGE)).arg(root().join(SKILL)), |_| false)?;
    let text = ran.lines.iter().find(|line| line.starts_with('{'));
    let text = text.with_context(|| format!("nothing was made: {}", ran.lines.join("\n")))?;
    serde_json::from_str(text).context("what was made is no object of texts")
}

fn files_below(folder: &Path) -> anyhow::Result<Vec<String>> {
    let mut all = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else { return Ok(all) };
    for entry in entries {
        let path = entry.context("cannot list a folder")?.path();
        if path.is_dir() {
            all.extend(files_below(&path)?);
        } else if let Ok(below) = path.strip_prefix(root()) {
            all.push(below.to_string_lossy().into_owned());
        }
    }
    Ok(all)
}
