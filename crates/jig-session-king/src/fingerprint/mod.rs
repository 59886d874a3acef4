//! `startupFingerprint`: one hash over everything a fresh Pi in a folder would load.
//!
//! A session carries the value its process was started with. Where a fresh value differs, a change
//! that only a restart applies has been made since. The value must equal pi-king's to the bit, so
//! the order, the separators and JavaScript's own JSON form are part of the contract.

mod json;

use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};

use jig_session_agents::pi::AGENT;
use jig_session_atomic::{list_folder, read_file};
use jig_session_schema::names;

use json::Value;

/// No file that Pi loads at start is near this; a larger one counts as unreadable.
const MAX_FILE: usize = 64 << 20;
/// Folders nested deeper than this are left out, so that a mount loop ends.
const MAX_DEPTH: usize = 64;

/// The four resource folders below the agent's folder or a project's `.pi`, with what counts in each.
const TREES: [(&str, Kind); 4] =
    [("extensions", Kind::Code), ("skills", Kind::Skill), ("prompts", Kind::Markdown), ("themes", Kind::All)];
/// The folders of a package referenced by path.
const PACKAGE_TREES: [(&str, Kind); 4] =
    [("src", Kind::Code), ("extensions", Kind::Code), ("skills", Kind::Skill), ("prompts", Kind::Markdown)];

/// Which files of a tree count.
#[derive(Clone, Copy)]
enum Kind {
    Code,
    Skill,
    Markdown,
    All,
}

impl Kind {
    fn counts(self, path: &str) -> bool {
        match self {
            Self::Code => [".ts", ".js", ".mjs", ".cjs"].iter().any(|end| path.ends_with(end)),
            Self::Skill => path.ends_with("/SKILL.md"),
            Self::Markdown => path.ends_with(".md"),
            Self::All => true,
        }
    }
}

/// The agent's folder as Pi finds it: the trimmed value of its variable, else `.pi/agent` in the home folder.
#[must_use]
pub fn agent_dir<'a>(variable: impl Fn(&str) -> Option<&'a str>, home: &Path) -> PathBuf {
    let name = AGENT.folder.and_then(|folder| folder.variable).map(|(name, _)| name);
    let given = name.and_then(variable).map(str::trim).filter(|dir| !dir.is_empty());
    given.map_or_else(|| home.join(".pi/agent"), PathBuf::from)
}

/// Fresh fingerprints for many folders, each computed once.
#[derive(Debug)]
pub struct Fresh {
    global: Option<Global>,
    folders: std::collections::HashMap<String, String>,
}

impl Fresh {
    /// Reads what a Pi with this folder loads in every working folder.
    #[must_use]
    pub fn new(agent_dir: &Path) -> Self {
        Self { global: Global::read(agent_dir), folders: std::collections::HashMap::new() }
    }

    /// The value of a fresh start in `cwd`; `None` where none can be computed.
    pub fn of(&mut self, cwd: &str) -> Option<&str> {
        let global = self.global.as_ref()?;
        if !self.folders.contains_key(cwd) {
            self.folders.insert(cwd.to_owned(), global.in_folder(Path::new(cwd)));
        }
        self.folders.get(cwd).map(String::as_str)
    }
}

/// The fingerprint of a fresh start in `cwd`: 16 hex digits, or `None` when it cannot be computed
/// because the agent's `settings.json` is missing or no JSON.
#[must_use]
pub fn compute(agent_dir: &Path, cwd: &Path) -> Option<String> {
    Global::read(agent_dir).map(|global| global.in_folder(cwd))
}

/// Under which path a file enters the hash: its own, or, in a test, as if the folder stood elsewhere.
#[derive(Clone, Debug, Default)]
struct Shown(Option<(String, String)>);

impl Shown {
    fn path(&self, path: &Path) -> String {
        let path = path.to_string_lossy();
        let moved = self.0.as_ref().and_then(|(from, to)| Some(format!("{to}{}", path.strip_prefix(from.as_str())?)));
        moved.unwrap_or_else(|| path.into_owned())
    }
}

/// The part that every folder shares: computed once, it serves a whole list of sessions.
#[derive(Clone, Debug)]
pub struct Global {
    /// What is hashed: a line for each thing that Pi loads.
    lines: String,
    shown: Shown,
}

impl Global {
    /// Hashes the agent's folder; `None` when its `settings.json` is missing or no JSON.
    #[must_use]
    pub fn read(agent_dir: &Path) -> Option<Self> {
        Self::read_as(agent_dir, Shown::default())
    }

    fn read_as(agent_dir: &Path, shown: Shown) -> Option<Self> {
        let text = read(&agent_dir.join("settings.json"))?;
        let settings = Value::parse(&String::from_utf8_lossy(&text))?;
        let mut lines = format!("settings:{}\n", settings.stringify());
        for name in ["trust.json", "keybindings.json"] {
            let path = agent_dir.join(name);
            if path.exists() {
                lines.push_str(&format!("{name}:{}\n", file_hex(&path).unwrap_or_default()));
            }
        }
        for (name, kind) in TREES {
            lines.push_str(&tree(&agent_dir.join(name), kind, &shown));
        }
        if let Some(Value::List(packages)) = settings.get("packages") {
            for package in packages {
                let source = package.to_js_string();
                if let Some(marker) = package_marker(agent_dir, &source, &shown) {
                    lines.push_str(&format!("pkg:{source}:{marker}\n"));
                }
            }
        }
        Some(Self { lines, shown })
    }

    /// Adds the project's part and gives the 16 hex digits.
    #[must_use]
    pub fn in_folder(&self, cwd: &Path) -> String {
        let mut lines = self.lines.clone();
        let project = cwd.join(".pi");
        if let Some(hex) = file_hex(&project.join("settings.json")) {
            lines.push_str(&format!("proj-settings:{hex}\n"));
        }
        for (name, kind) in TREES {
            lines.push_str(&tree(&project.join(name), kind, &self.shown));
        }
        names::hash16(&lines)
    }
}

/// What stands for one entry of `settings.packages`; `None` when nothing does.
fn package_marker(agent_dir: &Path, source: &str, shown: &Shown) -> Option<String> {
    if source.starts_with("npm:") {
        return file_hex(&agent_dir.join("npm/package-lock.json"));
    }
    if let Some(repo) = source.strip_prefix("git:") {
        let repo = match repo.rsplit_once('@') {
            Some((before, reference)) if !reference.contains('/') && !before.is_empty() => before,
            _ => repo,
        };
        let folder = join(&agent_dir.join("git"), repo);
        let mut parts = String::new();
        if let Some(hex) = file_hex(&folder.join(".git/HEAD")) {
            parts.push_str(&format!("head:{hex}\n"));
        }
        if let Some(hex) = file_hex(&folder.join("package.json")) {
            parts.push_str(&format!("pkg:{hex}\n"));
        }
        return Some(short(&parts));
    }
    let folder = join(agent_dir, source);
    if !folder.exists() {
        return None;
    }
    let mut parts = String::new();
    if let Some(hex) = file_hex(&folder.join("package.json")) {
        parts.push_str(&format!("pkg:{hex}\n"));
    }
    for (name, kind) in PACKAGE_TREES {
        parts.push_str(&tree(&folder.join(name), kind, shown));
    }
    Some(short(&parts))
}

/// One line a file, `<full path>:<hex>`, sorted by the UTF-16 code units of the path.
fn tree(root: &Path, kind: Kind, shown: &Shown) -> String {
    let mut files = Vec::new();
    collect(root, kind, 0, &mut files);
    let mut named: Vec<(String, PathBuf)> = files.into_iter().map(|file| (shown.path(&file), file)).collect();
    named.sort_by(|a, b| a.0.encode_utf16().cmp(b.0.encode_utf16()));
    let mut lines = String::new();
    for (name, file) in named {
        if let Some(hex) = file_hex(&file) {
            // Writing into a String cannot fail.
            let _ = writeln!(lines, "{name}:{hex}");
        }
    }
    lines
}

/// Links are skipped by their own type; the root may be one.
fn collect(folder: &Path, kind: Kind, depth: usize, files: &mut Vec<PathBuf>) {
    let Ok(entries) = list_folder(folder) else { return };
    for entry in entries.flatten() {
        if entry.name == ".git" || entry.name == "node_modules" {
            continue;
        }
        if entry.is_dir() && depth < MAX_DEPTH {
            collect(&entry.path, kind, depth + 1, files);
        } else if entry.is_file() && kind.counts(&entry.path.to_string_lossy()) {
            files.push(entry.path);
        }
    }
}

/// `path.join`: the second part is always put below the first, and `.` and `..` are resolved by name.
fn join(base: &Path, part: &str) -> PathBuf {
    let mut out = PathBuf::new();
    let joined = format!("{}/{part}", base.to_string_lossy());
    for component in Path::new(&joined).components() {
        match component {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

/// A regular file's bytes.
fn read(path: &Path) -> Option<Vec<u8>> {
    read_file(path, MAX_FILE).ok().map(|read| read.bytes)
}

fn file_hex(path: &Path) -> Option<String> {
    read(path).map(|bytes| names::sha256_hex(&bytes))
}

fn short(lines: &str) -> String {
    let mut text = names::hash16(lines);
    text.truncate(12);
    text
}

#[cfg(test)]
mod tests;
