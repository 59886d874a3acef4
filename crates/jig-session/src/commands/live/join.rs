//! Panes joined with the status files of the sessions that live in them.
//!
//! A file counts for a pane when the identity of its process was proved and that process is the pane's first
//! process or a descendant of it. A pane number alone decides nothing: tmux servers share numbers.

use std::collections::HashMap;

use jig_session_liveness::{Machine, Processes};
use jig_session_panes::observe::Pane;
use jig_session_schema::live::PaneStatus;
use jig_session_schema::row::{Detail, Row, Verdict};
use jig_session_schema::status::{Reason, State};

use crate::app::App;
use crate::failure::Failure;
use crate::view;

/// Gives each pane the row of the session that runs in it, where there is one, and that session's status.
pub(crate) fn join(app: &App, panes: &mut [Pane]) -> Result<(), Failure> {
    if panes.is_empty() || nothing_published(app) {
        return Ok(());
    }
    let view = view::load(app)?;
    let mut by_pid: HashMap<u32, Vec<usize>> = HashMap::new();
    for (index, pane) in panes.iter().enumerate().filter(|(_, pane)| !pane.facts.dead) {
        by_pid.entry(pane.facts.pid).or_default().push(index);
    }
    let machine = Machine::new();
    // The session that needs a person comes first in the view, so it is the one its pane shows.
    for row in view.rows().filter(|row| counts(row)) {
        let Some(pid) = row.pid else { continue };
        let ancestors = || machine.ancestors(pid).into_iter().map(|process| process.pid);
        let Some(indexes) = std::iter::once(pid).chain(ancestors()).find_map(|pid| by_pid.get(&pid)) else { continue };
        for &index in indexes {
            if panes[index].row.is_none() {
                panes[index].row = Some(row.clone());
            }
        }
    }
    for pane in panes.iter_mut() {
        if let Some(row) = &pane.row {
            let (status, agent) = (status(row), row.agent_name());
            pane.outrank(status, Some(&agent));
        }
    }
    Ok(())
}

/// Whether both folders of status files are missing or empty: then there is nothing to look at.
fn nothing_published(app: &App) -> bool {
    let places = app.places();
    [places.sessions, places.king].iter().all(|folder| match std::fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    })
}

/// Whether a row's file may speak for a pane. A stopped process left its terminal to the shell.
fn counts(row: &Row) -> bool {
    row.verdict == Verdict::Alive && row.detail.as_ref().is_none_or(|detail| *detail != Detail::STOPPED)
}

/// What a status file says in the words of a pane.
pub(crate) fn status(row: &Row) -> PaneStatus {
    let waits = [Reason::APPROVAL, Reason::QUESTION, Reason::TRUST, Reason::UNKNOWN];
    match (&row.attention, row.state) {
        (Some(attention), _) if waits.contains(&attention.reason) => PaneStatus::NeedsAttention,
        (_, State::Busy) => PaneStatus::Active,
        (_, State::Idle) => PaneStatus::Idle,
    }
}
