//! Panes observed: listed, captured, classified, as rows of the contract.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use jig_session_schema::live::{LiveRow, PaneStatus, StatusSource};
use jig_session_schema::row::Row;
use jig_session_schema::status::AgentName;

use crate::classify::{Classification, PaneObservation, classify};
use crate::project::{Project, ProjectRule};
use crate::text;
use crate::tmux::{PaneFacts, Server, TmuxError, captures, list};

/// Which server is observed, and how its rows are made.
#[derive(Clone, Debug)]
pub struct ObserveOptions {
    /// The server.
    pub server: Server,
    /// This machine's name.
    pub machine: String,
    /// How a pane's project is derived.
    pub projects: ProjectRule,
    /// One row a target instead of one a pane.
    pub all_targets: bool,
}

/// One pane at one moment.
#[derive(Clone, Debug)]
pub struct Pane {
    /// What tmux reports.
    pub facts: PaneFacts,
    /// Its project.
    pub project: Project,
    /// Its status.
    pub classification: Classification,
    /// The agent, from the screen or from the status file.
    pub agent: Option<AgentName>,
    /// The last line that shows something, fit to be shown.
    pub last_line: Option<String>,
    /// The visible screen.
    pub text: String,
    /// The session whose process runs in the pane, when one publishes a status file.
    pub row: Option<Row>,
}

impl Pane {
    /// Takes the status of the live session's own file instead of the screen's. A dead pane stays dead.
    pub fn outrank(&mut self, status: PaneStatus, agent: Option<&str>) {
        if self.facts.dead {
            return;
        }
        self.classification.status = status;
        self.classification.reason = match status {
            PaneStatus::NeedsAttention => "the session's status file says that a person is waited for",
            PaneStatus::Active => "the session's status file says busy",
            _ => "the session's status file says idle",
        };
        self.classification.source = StatusSource::StatusFile;
        self.classification.rule = "status file";
        if let Some(agent) = agent.and_then(AgentName::new) {
            self.agent = Some(agent);
        }
    }

    /// The pane as a row of `live --json`.
    pub fn live_row(&self, machine: &str) -> LiveRow {
        let facts = &self.facts;
        let mut row = LiveRow::new();
        row.target = facts.target();
        row.session.clone_from(&facts.session);
        row.window_index.clone_from(&facts.window_index);
        row.pane_index.clone_from(&facts.pane_index);
        row.pane_id.clone_from(&facts.pane_id);
        row.command.clone_from(&facts.command);
        row.cwd = (!facts.path.trim().is_empty()).then(|| facts.path.clone());
        row.project_path.clone_from(&self.project.path);
        row.project_slug.clone_from(&self.project.slug);
        machine.clone_into(&mut row.machine);
        row.title = text::line(&facts.title);
        row.status = self.classification.status;
        self.classification.reason.clone_into(&mut row.status_reason);
        row.pane_dead = facts.dead;
        row.pane_active = facts.active;
        row.last_visible_line.clone_from(&self.last_line);
        row.is_open_session = self.project.open;
        row.status_source = self.classification.source;
        row.agent.clone_from(&self.agent);
        row.pane_pid = Some(facts.pid);
        row.pane_dead_status = facts.dead_status;
        row
    }
}

/// Lists and classifies the panes for which `keep` returns true; it is called before anything is captured.
pub fn observe(options: &ObserveOptions, keep: impl Fn(&PaneFacts, &Project) -> bool) -> Result<Vec<Pane>, TmuxError> {
    let mut listed = list(&options.server, options.all_targets)?;
    let mut kept = Vec::with_capacity(listed.len());
    for facts in listed.drain(..) {
        let project = options.projects.project(&facts.session, &facts.path);
        if keep(&facts, &project) {
            kept.push((facts, project));
        }
    }
    let mut once = HashSet::new();
    let ids = kept.iter().map(|(facts, _)| facts.pane_id.as_str()).filter(|id| once.insert(*id));
    let shots = captures(&options.server, &nonce(), ids)?;
    let mut panes = Vec::with_capacity(kept.len());
    for (mut facts, project) in kept {
        // No frame: the pane was closed between the two calls.
        let Some(shot) = shots.get(&facts.pane_id) else { continue };
        facts.dead = shot.dead;
        facts.alternate = shot.alternate;
        let text = String::from_utf8_lossy(shot.bytes).into_owned();
        let classification = classify(&PaneObservation {
            command: &facts.command,
            title: &facts.title,
            dead: facts.dead,
            alternate: facts.alternate,
            text: &text,
        });
        let agent = classification.agent.and_then(AgentName::new);
        panes.push(Pane { last_line: text::last_line(&text), facts, project, classification, agent, text, row: None });
    }
    Ok(panes)
}

/// 128 bits from the system's randomness.
fn nonce() -> String {
    let half = || RandomState::new().hash_one(0_u8);
    format!("{:016x}{:016x}", half(), half())
}

/// Which panes are selected.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only open sessions.
    pub open_only: bool,
    /// Part of the session, slug, project folder or folder.
    pub project: Option<String>,
    /// The machine's name.
    pub machine: Option<String>,
    /// Only these; none for all.
    pub statuses: Option<Vec<PaneStatus>>,
}

impl Filter {
    /// Whether a listed pane matches, as far as can be decided before it is captured.
    pub fn matches_listed(&self, rule: &ProjectRule, facts: &PaneFacts, project: &Project) -> bool {
        if self.open_only && !project.open {
            return false;
        }
        let Some(wanted) = self.project.as_deref().and_then(|wanted| rule.normalise(wanted)) else { return true };
        let wanted = wanted.to_lowercase();
        let within = |text: &str| text.to_lowercase().contains(&wanted);
        within(&facts.session)
            || within(&project.slug)
            || project.path.as_deref().is_some_and(within)
            || project.folder.as_deref().is_some_and(within)
    }

    /// Whether a classified pane matches.
    pub fn matches_classified(&self, machine: &str, status: PaneStatus) -> bool {
        self.machine.as_deref().is_none_or(|wanted| wanted.trim().eq_ignore_ascii_case(machine))
            && self.statuses.as_ref().is_none_or(|wanted| wanted.contains(&status))
    }
}

/// Reads `--status a,b`: blanks are skipped, nothing left means no filter. The error is the unknown word.
pub fn statuses(list: &str) -> Result<Option<Vec<PaneStatus>>, String> {
    let words = list.split(',').map(str::trim).filter(|word| !word.is_empty());
    let mut found = Vec::new();
    for word in words {
        let status = PaneStatus::parse(word).ok_or_else(|| word.to_owned())?;
        if !found.contains(&status) {
            found.push(status);
        }
    }
    Ok((!found.is_empty()).then_some(found))
}

/// Active first, then what waits, idle, dead.
pub fn rank(status: PaneStatus) -> u8 {
    match status {
        PaneStatus::Active => 0,
        PaneStatus::NeedsAttention => 1,
        PaneStatus::Idle => 2,
        PaneStatus::Dead => 3,
    }
}

/// By session, then by window and pane as numbers.
pub fn by_target(a: &PaneFacts, b: &PaneFacts) -> Ordering {
    let index = |text: &str| text.parse::<u64>().unwrap_or(u64::MAX);
    a.session
        .cmp(&b.session)
        .then_with(|| index(&a.window_index).cmp(&index(&b.window_index)))
        .then_with(|| index(&a.pane_index).cmp(&index(&b.pane_index)))
}

/// The order of rows: status, then target.
pub fn by_status(a: &Pane, b: &Pane) -> Ordering {
    rank(a.classification.status).cmp(&rank(b.classification.status)).then_with(|| by_target(&a.facts, &b.facts))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(session: &str, window: &str) -> PaneFacts {
        PaneFacts {
            session: session.into(),
            window_index: window.into(),
            pane_index: "0".into(),
            ..PaneFacts::default()
        }
    }

    #[test]
    fn targets_are_ordered_by_number() {
        let mut panes = [facts("s", "10"), facts("s", "2"), facts("r", "11")];
        panes.sort_by(by_target);
        assert_eq!(panes.map(|pane| pane.target()), ["r:11.0", "s:2.0", "s:10.0"]);
    }

    #[test]
    fn status_lists() {
        assert_eq!(statuses(" idle, ,dead,idle"), Ok(Some(vec![PaneStatus::Idle, PaneStatus::Dead])));
        assert_eq!(statuses(","), Ok(None));
        assert_eq!(statuses("idle,sleepy"), Err("sleepy".into()));
    }

    #[test]
    fn the_project_filter_is_part_of_any_name() {
        let rule = ProjectRule { home: Some("/home/dev".into()), ..ProjectRule::default() };
        let facts = facts("worker", "0");
        let project = rule.project("worker", "/home/dev/open-router/packages/api");
        for wanted in ["ROUTER", "~/open-router/", "packages/api", "work"] {
            let filter = Filter { project: Some(wanted.into()), ..Filter::default() };
            assert!(filter.matches_listed(&rule, &facts, &project), "{wanted}");
        }
        let filter = Filter { project: Some("other".into()), ..Filter::default() };
        assert!(!filter.matches_listed(&rule, &facts, &project));
        let open = Filter { open_only: true, ..Filter::default() };
        assert!(open.matches_listed(&rule, &facts, &project));
        assert!(!open.matches_listed(&rule, &facts, &rule.project("worker", "/srv/x")));
    }

    #[test]
    fn machine_and_status_filters() {
        let filter =
            Filter { machine: Some("Box".into()), statuses: Some(vec![PaneStatus::Idle]), ..Filter::default() };
        assert!(filter.matches_classified("box", PaneStatus::Idle));
        assert!(!filter.matches_classified("box2", PaneStatus::Idle));
        assert!(!filter.matches_classified("box", PaneStatus::Dead));
    }
}
