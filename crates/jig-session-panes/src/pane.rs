//! One observed pane: its classification, its session's row, its row in `live`.

use jig_session_schema::live::{LiveRow, PaneStatus};
use jig_session_schema::row::{Detail, Row};
use jig_session_schema::status::AgentName;

use crate::classify::{Classification, PaneObservation, TerminalProcesses, classify};
use crate::project::Project;
use crate::text;
use crate::tmux::PaneFacts;

/// One pane at one moment.
#[derive(Clone, Debug)]
pub struct Pane {
    /// What tmux reports.
    pub facts: PaneFacts,
    /// Its project.
    pub project: Project,
    /// What runs on its terminal; none when that is not known.
    pub processes: Option<TerminalProcesses>,
    /// How many children the shell in its foreground has.
    pub shell_children: Option<usize>,
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
    /// Classifies a captured pane.
    pub fn new(
        facts: PaneFacts,
        project: Project,
        text: String,
        processes: Option<(TerminalProcesses, Option<usize>)>,
    ) -> Self {
        let (processes, shell_children) = processes.map_or((None, None), |(found, children)| (Some(found), children));
        let last_line = text::last_line(&text);
        let classification = Classification::default();
        let mut pane =
            Self { facts, project, processes, shell_children, classification, agent: None, last_line, text, row: None };
        pane.classification = classify(&pane.observation());
        pane.agent = pane.classification.agent.and_then(AgentName::new);
        pane
    }

    fn observation(&self) -> PaneObservation<'_> {
        PaneObservation {
            command: &self.facts.command,
            title: &self.facts.title,
            dead: self.facts.dead,
            alternate: self.facts.alternate,
            cursor: self.facts.cursor,
            shell_children: self.shell_children,
            processes: self.processes,
            text: &self.text,
        }
    }

    /// Joins the pane with the session whose process runs in it, and with the status that its file gives.
    ///
    /// The file outranks the screen, but never in the dangerous direction: a file that says idle does not make a pane
    /// idle that shows a dialog, work, or no composer, and one that says busy does not hide a dialog. An agent whose
    /// screens are not known is believed unless its pane asks a question. A dead pane and a stopped agent stay so.
    /// Without a status (nobody keeps the file up to date) the screen decides.
    pub fn join(&mut self, row: Row, status: Option<PaneStatus>) {
        let agent = row.agent_name();
        let stopped = row.detail.as_ref().is_some_and(|detail| *detail == Detail::STOPPED);
        self.row = Some(row);
        if self.facts.dead {
            return;
        }
        if stopped {
            self.classification = Classification::stopped();
            self.agent = Some(agent);
            return;
        }
        self.classification = self.classification.with_file(&self.observation(), &agent, status);
        self.agent = Some(agent);
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
