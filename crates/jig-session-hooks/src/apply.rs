//! Installs changes, takes them out, or says what is there.

use std::path::Path;

use jig_session_agents::Agent;
use jig_session_schema::hooks::{HooksEntry, HooksState};
use jig_session_settings::{
    ConfigFile, Entry, FileError, Format, Presence, Refusal, current, install, status, uninstall,
};
use serde_json::Value;

use crate::change::{Change, Content, Part, Target, changes};
use crate::command::{is_hook, program_of, unwrap_statusline};
use crate::package::{covered, packaged};

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Put the entries in, or bring them up to date.
    Install,
    /// Take them out and nothing else.
    Uninstall,
    /// Say what is there.
    Status,
}

/// Why a change was not made.
enum Problem {
    File(FileError),
    Refusal(Refusal),
    Foreign,
}

impl From<FileError> for Problem {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Self::Refusal(refusal)
    }
}

/// Does it for the parts of an agent; a row a part. One file that is refused does not keep the others from being done.
pub fn apply(deed: Deed, agent: &Agent, parts: &[Part], target: &Target<'_>) -> Vec<HooksEntry> {
    let mut all: Vec<Change> = parts.iter().flat_map(|part| changes(agent, *part, target)).collect();
    if deed == Deed::Uninstall {
        // A file that the agent wants beside its hooks serves all parts: it goes with the session's.
        all.retain(|change| change.part == Part::Session || matches!(change.content, Content::Entries(..)));
    }
    let mut rows: Vec<HooksEntry> = Vec::new();
    let keep = target.project.unwrap_or(target.home);
    let states: Vec<_> = all.iter().map(state).collect();
    let plugin = packaged(agent, target).filter(|_| deed != Deed::Uninstall);
    for (index, (change, before)) in all.iter().zip(states).enumerate() {
        // Entries that go from one file go together, so that a file made for them is known as such.
        let first = all.iter().position(|other| other.path == change.path) == Some(index);
        let together: Vec<&Change> = match deed {
            Deed::Uninstall => all.iter().filter(|other| other.path == change.path).collect(),
            Deed::Install | Deed::Status => vec![change],
        };
        let by_plugin = plugin.as_ref().and_then(|plugin| covered(change.part, plugin));
        let outcome = match deed {
            Deed::Status => before,
            Deed::Install if by_plugin.is_some() => before,
            Deed::Install => before.and_then(|state| installed(change, state)),
            Deed::Uninstall => before.and_then(|state| {
                let removed = if first { removed(&together, keep) } else { Ok(()) };
                removed.map(|()| if state == HooksState::ABSENT { state } else { HooksState::REMOVED })
            }),
        };
        rows.push(beside_plugin(deed, row(change, outcome), by_plugin));
    }
    summed(rows)
}

/// One row a part: several files of one part are as good as the worst of them.
fn summed(rows: Vec<HooksEntry>) -> Vec<HooksEntry> {
    let mut out: Vec<HooksEntry> = Vec::new();
    for row in rows {
        match out.iter_mut().find(|other| other.part == row.part) {
            Some(other) if row.state == other.state => {
                *other = row;
            }
            Some(other) => {
                let worse = [HooksState::REFUSED, HooksState::FOREIGN, HooksState::OUTDATED];
                let rank = |state: &HooksState| worse.iter().position(|word| word == state).unwrap_or(worse.len());
                let mixed = rank(&row.state) == worse.len() && rank(&other.state) == worse.len();
                if rank(&row.state) < rank(&other.state) {
                    *other = row;
                } else if mixed
                    && [&row.state, &other.state].contains(&&HooksState::ABSENT)
                    && row.state != HooksState::REMOVED
                {
                    *other = row.state(HooksState::OUTDATED);
                } else if mixed {
                    *other = row;
                }
            }
            None => out.push(row),
        }
    }
    out
}

/// The row of a part that the agent's own plugin brings already.
fn beside_plugin(deed: Deed, mut row: HooksEntry, by_plugin: Option<String>) -> HooksEntry {
    let Some(why) = by_plugin.filter(|_| row.problem.is_none()) else { return row };
    let stands = row.state == HooksState::INSTALLED || row.state == HooksState::OUTDATED;
    match deed {
        Deed::Install | Deed::Status if !stands => row.state = HooksState::PLUGIN,
        Deed::Install => row.state = HooksState::UNCHANGED,
        Deed::Status | Deed::Uninstall => {}
    }
    // Where both stand, every event comes twice.
    if deed == Deed::Install || stands {
        row.problem = Some(why);
    }
    row
}

fn row(change: &Change, outcome: Result<HooksState, Problem>) -> HooksEntry {
    let mut row = HooksEntry::new().part(change.part.word()).path(change.path.to_string_lossy().into_owned());
    match outcome {
        Ok(state) => row.state = state,
        Err(Problem::Foreign) => row.state = HooksState::FOREIGN,
        Err(Problem::Refusal(refusal @ Refusal::Foreign(_))) => {
            row.state = HooksState::FOREIGN;
            row.problem = Some(refusal.to_string());
        }
        Err(Problem::Refusal(refusal)) => {
            row.state = HooksState::REFUSED;
            row.problem = Some(refusal.to_string());
        }
        Err(Problem::File(error)) => {
            row.state = HooksState::REFUSED;
            row.problem = Some(error.to_string());
        }
    }
    row.program = program(change);
    row
}

fn state(change: &Change) -> Result<HooksState, Problem> {
    let file = ConfigFile::read(&change.path)?;
    match &change.content {
        Content::Entries(format, entries) => Ok(match status(file.text(), *format, entries)? {
            Presence::Absent => {
                // Somebody's own entry in the place of ours is found by trying.
                install(file.text(), *format, entries)?;
                HooksState::ABSENT
            }
            Presence::Installed => HooksState::INSTALLED,
            Presence::Outdated => HooksState::OUTDATED,
        }),
        Content::File { text, mark } => match file.text() {
            None => Ok(HooksState::ABSENT),
            Some(found) if found == text => Ok(HooksState::INSTALLED),
            Some(found) if found.contains(mark.as_str()) => Ok(HooksState::OUTDATED),
            Some(_) => Err(Problem::Foreign),
        },
    }
}

fn installed(change: &Change, before: HooksState) -> Result<HooksState, Problem> {
    if before == HooksState::INSTALLED {
        return Ok(HooksState::UNCHANGED);
    }
    let file = ConfigFile::read(&change.path)?;
    match &change.content {
        Content::Entries(format, entries) => file.replace(&install(file.text(), *format, entries)?)?,
        Content::File { text, .. } => file.replace(text)?,
    }
    Ok(if before == HooksState::OUTDATED { HooksState::UPDATED } else { HooksState::INSTALLED })
}

/// Takes what is ours out of one file.
fn removed(together: &[&Change], keep: &Path) -> Result<(), Problem> {
    let Some(first) = together.first() else { return Ok(()) };
    let file = ConfigFile::read(&first.path)?;
    let Some(text) = file.text() else { return Ok(()) };
    let mut format = Format::Json;
    let mut entries: Vec<Entry> = Vec::new();
    for change in together {
        match &change.content {
            Content::Entries(its, more) => {
                format = *its;
                entries.extend(more.iter().cloned());
            }
            Content::File { text: ours, mark } if text == ours || text.contains(mark.as_str()) => {
                return Ok(file.remove(keep)?);
            }
            Content::File { .. } => return Err(Problem::Foreign),
        }
    }
    match uninstall(text, format, &entries)? {
        None => file.remove(keep)?,
        Some(left) if left != text => file.replace(&left)?,
        Some(_) => {}
    }
    Ok(())
}

/// The program that an installed entry runs.
fn program(change: &Change) -> Option<String> {
    let file = ConfigFile::read(&change.path).ok()?;
    match &change.content {
        Content::Entries(format, entries) => {
            let value = current(file.text()?, *format, entries).ok()??;
            entries.iter().find_map(|entry| program_in(entry, &value))
        }
        Content::File { mark, .. } => program_line(file.text().filter(|text| text.contains(mark.as_str()))?),
    }
}

/// The program in a file that an agent loads: it stands in a line of its own, as a JSON text.
fn program_line(text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix("const INSTALLED = "))?;
    let value = &line[..line.rfind("\";")? + 1];
    serde_json::from_str(value).ok().filter(|program: &String| !program.is_empty())
}

fn program_in(entry: &Entry, value: &Value) -> Option<String> {
    match entry {
        Entry::Element { mark, .. } => is_hook(value, mark).then(|| program_of(value, mark)).flatten(),
        Entry::Member { .. } => program_of(value, " mcp"),
        Entry::Wrapped { .. } => {
            let command = value.as_str()?;
            let inner = unwrap_statusline(command)?;
            let line = serde_json::json!({ "command": command });
            let rest = crate::command::wrap_statusline("", &inner);
            program_of(&line, rest.strip_prefix("''")?)
        }
        Entry::Setting { .. } => None,
    }
}
