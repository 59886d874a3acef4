//! The files that a tool's call writes, taken from its name and its arguments.
//!
//! An agent's own tools stand in its table. Another tool, such as one of an MCP server, writes what its arguments name
//! when its name says so. What a command of the shell writes is not known, but for a patch that the agent applies itself.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::agent::Agent;
use crate::payload::{LONGEST, passed_over};

/// A file that a call writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Its path, as the agent wrote it.
    pub path: String,
    /// `written`, `edited` or `removed`.
    pub action: &'static str,
}

/// Arguments that hold the path of a file, or a list of them, compared without case, `_` and `-`.
const PATH_KEYS: [&str; 27] = [
    "filepath",
    "filepaths",
    "notebookpath",
    "path",
    "paths",
    "absolutepath",
    "relativepath",
    "filename",
    "file",
    "files",
    "targetfile",
    "targetpath",
    "source",
    "sourcepath",
    "destination",
    "destinationpath",
    "oldpath",
    "newpath",
    "frompath",
    "topath",
    "uri",
    "fileuri",
    "textdocument",
    "outputpath",
    "outputfile",
    "dirpath",
    "directorypath",
];

/// Arguments that hold a patch with file headers.
const PATCH_KEYS: [&str; 6] = ["patch", "patchtext", "input", "command", "cmd", "diff"];

/// The argument that says how an entry of a list stands.
const STEP_KEY: &str = "status";

/// What a shell of an agent does that applies patches by itself: it writes what a patch in its command names.
pub(crate) const PATCHES: &str = "patches";

/// The command that such a shell takes for a patch.
const PATCH_COMMANDS: [&str; 2] = ["apply_patch", "applypatch"];

/// What follows the stars in a line of a patch that names a file, and what is done to it.
const PATCH_HEADERS: [(&str, &str); 5] = [
    ("add file:", "written"),
    ("update file:", "edited"),
    ("delete file:", "removed"),
    ("move to:", "written"),
    ("rename to:", "written"),
];

/// Words in the name of a tool that is not known, and what such a tool does to the files in its arguments.
const VERBS: [(&str, &str); 12] = [
    ("write", "written"),
    ("create", "written"),
    ("append", "edited"),
    ("edit", "edited"),
    ("replace", "edited"),
    ("insert", "edited"),
    ("patch", "edited"),
    ("overwrite", "written"),
    ("delete", "removed"),
    ("remove", "removed"),
    ("move", "removed"),
    ("rename", "removed"),
];

/// What a tool does to the files that its arguments name; none for a tool that writes none.
pub(crate) fn action(agent: &Agent, tool: &str) -> Option<&'static str> {
    let own = agent.editors.iter().find(|(name, _)| name.eq_ignore_ascii_case(tool)).map(|(_, action)| *action);
    own.or_else(|| words(tool).find_map(|word| verb(&word)))
}

fn verb(word: &str) -> Option<&'static str> {
    let says = |verb: &str| word.strip_prefix(verb).is_some_and(|rest| matches!(rest, "" | "file" | "files"));
    VERBS.iter().find(|(verb, _)| says(verb)).map(|(_, action)| *action)
}

/// The words of a name such as `mcp__fs__write_file` or `replaceText`, in lower case.
fn words(name: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && lower) {
            words.push(String::new());
        }
        lower = c.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    words.into_iter().filter(|word| !word.is_empty())
}

/// The files that a call of `tool` with these arguments, as JSON, is about to write.
#[must_use]
pub fn written(agent: &Agent, tool: &str, arguments: &[u8]) -> Vec<Edit> {
    let mut raw = Vec::new();
    let Some(action) = action(agent, tool) else { return Vec::new() };
    let mut reader = serde_json::Deserializer::from_slice(arguments);
    // Arguments that cannot be read name no file.
    let _ = Arguments::new(&mut raw).deserialize(&mut reader);
    edits(raw, action)
}

/// What was found in the arguments of a call.
pub(crate) enum Argument {
    /// A path under one of the known keys.
    Path(String),
    /// A file named by the header of a patch.
    Header(String, &'static str),
    /// The tool only looks.
    Looks,
    /// A command that applies a patch.
    Applies,
    /// An entry with a status, and whether it is done. Only a tool that writes lists means that by it.
    Step(bool),
}

/// How much of a list is done, 0 to 100; none for an empty one.
pub(crate) fn progress(raw: &[Argument]) -> Option<u8> {
    let steps = raw.iter().filter_map(|argument| match argument {
        Argument::Step(done) => Some(*done),
        _ => None,
    });
    let all = steps.clone().count();
    let done = steps.filter(|done| *done).count();
    u8::try_from((done * 100).checked_div(all)?).ok()
}

pub(crate) fn edits(raw: Vec<Argument>, action: &'static str) -> Vec<Edit> {
    let mut edits: Vec<Edit> = Vec::new();
    let is_shell = action == PATCHES;
    if is_shell && !raw.iter().any(|argument| matches!(argument, Argument::Applies)) {
        return edits;
    }
    for argument in raw {
        let edit = match argument {
            Argument::Looks => return Vec::new(),
            Argument::Applies | Argument::Step(_) => continue,
            Argument::Path(_) if is_shell => continue,
            Argument::Path(path) => Edit { path, action },
            Argument::Header(path, action) => Edit { path, action },
        };
        if !edits.iter().any(|known| known.path == edit.path) {
            edits.push(edit);
        }
    }
    edits
}

/// Where in the arguments of a call a value stands.
#[derive(Clone, Copy, PartialEq)]
enum Under {
    /// It is all of them: an object, the text of one, or a patch as bare text.
    Nothing,
    /// Under a key for paths.
    Path,
    /// Under a key for patches: a text, or the words of a command line.
    Patch,
    /// Under the key that says how an entry of a list stands.
    Step,
    /// Under another key: only what stands deeper counts.
    Other,
}

/// The arguments of a call.
pub(crate) struct Arguments<'r> {
    raw: &'r mut Vec<Argument>,
    under: Under,
}

impl<'r> Arguments<'r> {
    pub(crate) fn new(raw: &'r mut Vec<Argument>) -> Self {
        Self { raw, under: Under::Nothing }
    }
}

impl<'de> DeserializeSeed<'de> for Arguments<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Arguments<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            let key: String = key.chars().filter(|c| !matches!(c, '_' | '-')).collect::<String>().to_ascii_lowercase();
            let under = if PATH_KEYS.contains(&key.as_str()) {
                Under::Path
            } else if PATCH_KEYS.contains(&key.as_str()) {
                Under::Patch
            } else if key == STEP_KEY {
                Under::Step
            } else {
                Under::Other
            };
            map.next_value_seed(Arguments { raw: &mut *self.raw, under })?;
        }
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        match self.under {
            Under::Path if text.len() <= LONGEST => self.raw.push(Argument::Path(text.to_owned())),
            // What was given up is neither done nor to be done.
            Under::Step if text == "cancelled" => {}
            Under::Step => self.raw.push(Argument::Step(text == "completed")),
            Under::Path | Under::Other => {}
            // An editor that also shows files.
            Under::Patch if text == "view" => self.raw.push(Argument::Looks),
            Under::Nothing if text.trim_start().starts_with('{') => {
                let mut reader = serde_json::Deserializer::from_str(text);
                // Arguments that cannot be read name no file.
                let _ = Arguments::new(self.raw).deserialize(&mut reader);
            }
            Under::Nothing | Under::Patch => {
                if PATCH_COMMANDS.iter().any(|command| text.contains(command)) {
                    self.raw.push(Argument::Applies);
                }
                patched(text, self.raw);
            }
        }
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let under = if self.under == Under::Nothing { Under::Patch } else { self.under };
        while list.next_element_seed(Arguments { raw: &mut *self.raw, under })?.is_some() {}
        Ok(())
    }

    passed_over!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64);
}

/// The files named by a patch: by its headers of three stars, else by those of a unified diff.
fn patched(patch: &str, raw: &mut Vec<Argument>) {
    let starred = |line: &str| {
        let header = line.trim_start().strip_prefix("***")?.trim_start();
        PATCH_HEADERS.iter().find_map(|(word, action)| {
            let path = header.get(word.len()..).filter(|_| header[..word.len()].eq_ignore_ascii_case(word))?;
            Some(Argument::Header(path.trim().to_owned(), action))
        })
    };
    let before = raw.len();
    raw.extend(patch.lines().filter(|line| line.len() <= LONGEST).filter_map(starred));
    if raw.len() == before && patch.lines().any(|line| line.starts_with("@@")) {
        let unified = |line: &str| {
            let path = line.strip_prefix("+++ ").or_else(|| line.strip_prefix("--- "))?.split('\t').next()?.trim();
            let path = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path);
            (path != "/dev/null").then(|| Argument::Header(path.to_owned(), "edited"))
        };
        raw.extend(patch.lines().filter(|line| line.len() <= LONGEST).filter_map(unified));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::{claude, codex, named};

    fn paths(tool: &str, arguments: &Json) -> Vec<String> {
        let edits = written(&claude::AGENT, tool, arguments.to_string().as_bytes());
        edits.into_iter().map(|edit| edit.path).collect()
    }

    #[test]
    fn a_tool_that_nobody_knows_writes_what_it_names_when_its_name_says_so() {
        let table: [(&str, Json, &[&str]); 17] = [
            ("mcp__filesystem__write_file", json!({ "path": "a" }), &["a"]),
            ("mcp__filesystem__edit_file", json!({ "path": "a", "edits": [{ "oldText": "x" }] }), &["a"]),
            ("mcp__filesystem__move_file", json!({ "source": "a", "destination": "b" }), &["a", "b"]),
            ("mcp__serena__replace_symbol_body", json!({ "relative_path": "a", "body": "b" }), &["a"]),
            ("mcp__ide__insertText", json!({ "uri": "file:///r/a" }), &["file:///r/a"]),
            ("deleteFiles", json!({ "filePaths": ["a", "b"] }), &["a", "b"]),
            ("WriteFile", json!({ "File-Path": "a" }), &["a"]),
            ("MultiEdit", json!({ "edits": [{ "file_path": "a" }, { "file_path": "b" }] }), &["a", "b"]),
            ("apply_patch", json!({ "patch": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b" }), &["x"]),
            ("mcp__git__patch", json!({ "diff": "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+b" }), &["new"]),
            ("rename_symbol", json!({ "textDocument": { "uri": "a" }, "newName": "x" }), &["a"]),
            ("mcp__filesystem__read_file", json!({ "path": "a" }), &[]),
            ("mcp__credit__check", json!({ "path": "a" }), &[]),
            ("list_created", json!({ "path": "a" }), &[]),
            ("Bash", json!({ "command": "rm a", "path": "a" }), &[]),
            ("write_note", json!({ "text": "path", "title": "a" }), &[]),
            ("Grep", json!({ "path": "a" }), &[]),
        ];
        for (tool, arguments, expected) in table {
            assert_eq!(paths(tool, &arguments), expected, "{tool} {arguments}");
        }
    }

    #[test]
    fn headers_of_a_patch_are_found_however_they_are_set() {
        for header in [
            "*** Update File: a",
            " *** Update File: a",
            "***Update File: a",
            "***  update file:  a \r",
            "\t*** Move to: a",
        ] {
            let patch = format!("*** Begin Patch\n{header}\n@@\n-a\n+b\n*** End Patch");
            assert_eq!(paths("apply_patch", &json!({ "input": patch })), ["a"], "{header:?}");
        }
    }

    #[test]
    fn a_patch_says_what_is_done_to_each_file() {
        let patch = "*** Add File: a\n*** Update File: b\n*** Move to: c\n*** Delete File: d";
        let edits = written(&codex::AGENT, "apply_patch", json!({ "input": patch }).to_string().as_bytes());
        let pairs: Vec<_> = edits.iter().map(|edit| (edit.path.as_str(), edit.action)).collect();
        assert_eq!(pairs, [("a", "written"), ("b", "edited"), ("c", "written"), ("d", "removed")]);
    }

    #[test]
    fn a_shell_that_applies_patches_writes_what_a_patch_in_its_command_names() {
        let patch = "*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n*** End Patch\n";
        let heredoc = format!("cd /r && apply_patch <<'EOF'\n{patch}EOF\n");
        let table: [(&str, Json, &[&str]); 6] = [
            ("Bash", json!({ "command": heredoc, "workdir": "/r", "path": "c" }), &["a", "b"]),
            ("exec_command", json!({ "cmd": heredoc }), &["a", "b"]),
            ("shell", json!({ "command": ["apply_patch", patch] }), &["a", "b"]),
            ("Bash", json!({ "command": format!("cat <<'EOF'\n{patch}EOF\n") }), &[]),
            ("Bash", json!({ "command": "apply_patch --help" }), &[]),
            ("Bash", json!({ "command": "rm a", "path": "a" }), &[]),
        ];
        for (tool, arguments, expected) in table {
            let edits = written(&codex::AGENT, tool, arguments.to_string().as_bytes());
            assert_eq!(edits.into_iter().map(|edit| edit.path).collect::<Vec<_>>(), expected, "{tool} {arguments}");
        }
        // Another agent's shell takes no patch for itself.
        assert_eq!(paths("Bash", &json!({ "command": heredoc })), [""; 0]);
    }

    #[test]
    fn an_editor_that_only_shows_a_file_writes_none() {
        let Some(goose) = named("goose") else { panic!("no goose") };
        let call = |command: &str| json!({ "command": command, "path": "/r/x" }).to_string();
        assert_eq!(written(goose, "developer__text_editor", call("view").as_bytes()), []);
        assert_eq!(written(goose, "developer__text_editor", call("str_replace").as_bytes()).len(), 1);
    }
}
