//! Ticket folders: which one is active, and which of its files a person would want to see.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use jig_session_atomic::{list_folder, read_file};
use jig_session_schema::time::Timestamp;
use serde_json::Value;

/// No more entries than this are looked at below one ticket's folder; a folder this large is no ticket's.
const MOST_ENTRIES: usize = 10_000;
/// The largest `ticket.json` or `workflow.json` that is read, in bytes.
const LARGEST: usize = 256 * 1024;

/// The folder of a ticket, if there is one of that name. A key that is not one plain name has none.
pub(crate) fn folder(tickets: &Path, key: &str) -> Option<PathBuf> {
    let plain = !key.is_empty() && !key.starts_with('.') && !key.contains(['/', '\\', '\0']);
    let folder = plain.then(|| tickets.join(key))?;
    folder.is_dir().then_some(folder)
}

/// The key of the ticket folder that occurs in a branch's name; the longest when several do.
pub(crate) fn of_branch(tickets: &Path, branch: &str) -> Option<String> {
    let mut found: Option<String> = None;
    for entry in list_folder(tickets).ok()?.flatten().take(MOST_ENTRIES) {
        let Ok(name) = entry.name.into_string() else { continue };
        let longer = found.as_ref().is_none_or(|found| name.len() > found.len());
        if longer && occurs(&name, branch) && is_ticket(&entry.path, &name) {
            found = Some(name);
        }
    }
    found
}

/// Whether a folder below the tickets' folder is a ticket's: it says so, or it is named like one (`ABC-12`).
fn is_ticket(path: &Path, name: &str) -> bool {
    let like_a_key = name.rsplit_once('-').is_some_and(|(project, number)| {
        project.starts_with(|c: char| c.is_ascii_alphabetic())
            && project.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !number.is_empty()
            && number.bytes().all(|b| b.is_ascii_digit())
    });
    path.is_dir() && (like_a_key || path.join("ticket.json").is_file())
}

/// Whether a key occurs in a branch name as a word of its own: `abc-1` occurs in `fix/ABC-1-login`, not in `abc-12`.
fn occurs(key: &str, branch: &str) -> bool {
    if key.is_empty() {
        return false;
    }
    let (key, branch) = (key.to_ascii_lowercase(), branch.to_ascii_lowercase());
    let mut from = 0;
    while let Some(at) = branch[from..].find(&key).map(|at| at + from) {
        let before = branch[..at].chars().next_back();
        let after = branch[at + key.len()..].chars().next();
        if !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric) {
            return true;
        }
        from = at + branch[at..].chars().next().map_or(1, char::len_utf8);
    }
    false
}

/// What a ticket's folder says about it in `ticket.json`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Described {
    pub(crate) title: Option<String>,
    pub(crate) url: Option<String>,
}

/// Reads `ticket.json`; what is not there or does not parse describes nothing.
pub(crate) fn described(folder: &Path) -> Described {
    let document = bounded(&folder.join("ticket.json")).and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    let text = |names: &[&str]| {
        let document = document.as_ref()?;
        names.iter().find_map(|name| document[*name].as_str()).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    Described { title: text(&["title", "summary"]), url: text(&["url"]) }
}

/// A small regular file's bytes; anything else is not there.
pub(crate) fn bounded(path: &Path) -> Option<Vec<u8>> {
    read_file(path, LARGEST).ok().map(|read| read.bytes)
}

/// A file of the ticket that a person would want to see, with its modification time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TicketFile {
    pub(crate) path: PathBuf,
    pub(crate) at: Timestamp,
}

/// The ticket's user-facing files, newest first: reports at most two levels below the folder, everything in
/// `evidence/` but the tool outputs that are saved there by themselves.
pub(crate) fn files(folder: &Path) -> Vec<TicketFile> {
    let mut walk = Walk { found: Vec::new(), left: MOST_ENTRIES };
    walk.folder(folder, 1, false);
    walk.found.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| a.path.cmp(&b.path)));
    walk.found
}

struct Walk {
    found: Vec<TicketFile>,
    left: usize,
}

impl Walk {
    fn folder(&mut self, folder: &Path, level: u8, evidence: bool) {
        let Ok(entries) = list_folder(folder) else { return };
        for entry in entries.flatten() {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            let Some(name) = entry.name.to_str() else { continue };
            if name.starts_with('.') {
                continue;
            }
            // A link is followed nowhere: it could lead anywhere, and round in a circle.
            if entry.is_dir() {
                let outputs_of_tools = evidence && level == 2 && name == "tools";
                if name == "history" || outputs_of_tools {
                    continue;
                }
                let evidence = evidence || (level == 1 && name == "evidence");
                if level < if evidence { 3 } else { 2 } {
                    self.folder(&entry.path, level + 1, evidence);
                }
            } else if entry.is_file() && wanted(name, evidence) {
                self.found.extend(modified(&entry.path).map(|at| TicketFile { path: entry.path, at }));
            }
        }
    }
}

fn wanted(name: &str, evidence: bool) -> bool {
    let kept_for_programs = matches!(name, "ticket.json" | "workflow.json");
    let report = [".md", ".txt", ".json"].iter().any(|end| name.ends_with(end));
    !kept_for_programs && (evidence || report)
}

fn modified(path: &Path) -> Option<Timestamp> {
    let modified = fs::symlink_metadata(path).ok()?.modified().ok()?;
    let since = modified.duration_since(UNIX_EPOCH).ok()?;
    Some(Timestamp::from_epoch_ms(i64::try_from(since.as_millis()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, paths: &[&str]) {
        for path in paths {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
    }

    #[test]
    fn a_key_occurs_only_as_a_word_of_its_own() {
        for (key, branch, right) in [
            ("ABC-1", "abc-1", true),
            ("ABC-1", "fix/ABC-1-login", true),
            ("ABC-1", "fix/abc-12", false),
            ("ABC-1", "xabc-1", false),
            ("ABC-1", "abc-12-and-abc-1", true),
            ("ABC-1", "é-abc-1é", false),
            ("", "abc", false),
        ] {
            assert_eq!(occurs(key, branch), right, "{key} in {branch}");
        }
    }

    #[test]
    fn the_branch_names_the_ticket_and_the_longest_key_wins() {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path(), &["ABC-1/x.md", "ABC-12/x.md", "login/x.md", "api/ticket.json"]);
        assert_eq!(of_branch(dir.path(), "fix/ABC-12").as_deref(), Some("ABC-12"));
        assert_eq!(of_branch(dir.path(), "feature/login").as_deref(), None, "a folder of another kind");
        assert_eq!(of_branch(dir.path(), "feature/api").as_deref(), Some("api"), "its ticket.json makes it one");
        assert_eq!(of_branch(&dir.path().join("absent"), "x"), None);
    }

    #[test]
    fn a_key_that_is_no_plain_name_has_no_folder() {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path(), &["ABC-1/x.md"]);
        assert!(folder(dir.path(), "ABC-1").is_some());
        for key in ["", ".", "..", "ABC-1/..", "../x", "ABC-2", "a\0b"] {
            assert_eq!(folder(dir.path(), key), None, "{key:?}");
        }
    }

    #[test]
    fn the_files_that_a_person_would_want_to_see() {
        let dir = tempfile::tempdir().unwrap();
        put(
            dir.path(),
            &[
                "notes.md",
                "plan.txt",
                "report.json",
                "picture.png",
                "ticket.json",
                "workflow.json",
                "reviews/one.md",
                "reviews/deep/two.md",
                "reviews/workflow.json",
                "history/old.md",
                "evidence/screen.png",
                "evidence/run/log.out",
                "evidence/tools/raw.txt",
                ".hidden.md",
                ".git/x.md",
            ],
        );
        #[cfg(unix)]
        std::os::unix::fs::symlink(dir.path().join("notes.md"), dir.path().join("link.md")).unwrap();
        let mut seen: Vec<_> = files(dir.path())
            .into_iter()
            .map(|file| file.path.strip_prefix(dir.path()).unwrap().to_str().unwrap().to_owned())
            .collect();
        seen.sort();
        let right =
            ["evidence/run/log.out", "evidence/screen.png", "notes.md", "plan.txt", "report.json", "reviews/one.md"];
        assert_eq!(seen, right);
    }

    #[test]
    fn a_tickets_title_and_link() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(described(dir.path()), Described::default());
        fs::write(dir.path().join("ticket.json"), r#"{"summary":"Log in","url":7}"#).unwrap();
        assert_eq!(described(dir.path()), Described { title: Some("Log in".into()), url: None });
        fs::write(dir.path().join("ticket.json"), "{").unwrap();
        assert_eq!(described(dir.path()), Described::default());
    }
}
