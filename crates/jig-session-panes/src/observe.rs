//! Panes observed: listed, captured, classified, as rows of the contract.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use jig_session_liveness::TerminalProcess;
use jig_session_schema::live::PaneStatus;

use crate::classify::TerminalProcesses;
use crate::nested::look_through;
use crate::pane::Pane;
use crate::processes::on_terminal;
use crate::project::{Project, ProjectRule};
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

/// The processes of this machine, as far as panes need them.
pub trait Terminals {
    /// Every process that has a controlling terminal; empty where the system does not list them.
    fn processes(&self) -> Vec<TerminalProcess>;
    /// The agent that a process is, by its short name and the words it was started with.
    fn agent(&self, name: &str, command: &[String]) -> Option<&'static str>;
    /// A variable of a process's environment, when it can be read.
    fn variable(&self, pid: u32, name: &str) -> Option<String>;
    /// The user whose processes these are.
    fn user(&self) -> u32;
    /// Whether a line editor reads this terminal key by key; none when that cannot be read.
    fn line_editor(&self, tty: &str) -> Option<bool>;
}

/// Lists and classifies the panes for which `keep` returns true; it is called before anything is captured.
pub fn observe(
    options: &ObserveOptions,
    terminals: &dyn Terminals,
    keep: impl Fn(&PaneFacts, &Project) -> bool,
) -> Result<Vec<Pane>, TmuxError> {
    observe_panes(options, terminals, &terminals.processes(), 0, &keep)
}

/// The same with a table of processes; `depth` counts the servers that were looked through.
pub(crate) fn observe_panes(
    options: &ObserveOptions,
    terminals: &dyn Terminals,
    table: &[TerminalProcess],
    depth: usize,
    keep: &dyn Fn(&PaneFacts, &Project) -> bool,
) -> Result<Vec<Pane>, TmuxError> {
    let mut listed = list(&options.server, options.all_targets)?;
    let mut selected = Vec::with_capacity(listed.len());
    for facts in listed.drain(..) {
        let project = options.projects.project(&facts.session, &facts.path);
        if keep(&facts, &project) {
            selected.push((facts, project));
        }
    }
    let mut once = HashSet::new();
    let ids = selected.iter().map(|(facts, _)| facts.pane_id.as_str()).filter(|id| once.insert(*id));
    let captured = captures(&options.server, &nonce(), ids)?;
    let mut panes = Vec::with_capacity(selected.len());
    for (mut facts, project) in selected {
        // No frame: the pane was closed between the two calls.
        let Some(frame) = captured.get(&facts.pane_id) else { continue };
        facts.dead = frame.dead;
        facts.alternate = frame.alternate;
        facts.cursor = frame.cursor;
        let text = String::from_utf8_lossy(frame.bytes).into_owned();
        let processes = if facts.dead { None } else { processes(&facts, table, terminals) };
        panes.push(Pane::new(facts, project, text, processes));
    }
    look_through(options, terminals, table, &mut panes, depth);
    Ok(panes)
}

/// What runs on a pane's terminal, and how many children the shell in its foreground has.
fn processes(
    facts: &PaneFacts,
    table: &[TerminalProcess],
    terminals: &dyn Terminals,
) -> Option<(TerminalProcesses, Option<usize>)> {
    let agent_of = |name: &str, command: &[String]| terminals.agent(name, command);
    let (mut found, children) = on_terminal(facts.pid, table, &agent_of)?;
    if !found.others && found.agent.is_none() {
        found.line_editor = terminals.line_editor(&facts.tty);
    }
    Some((found, children))
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
        _ => 3,
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
