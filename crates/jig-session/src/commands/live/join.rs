//! Panes joined with the status files of the sessions that live in them.
//!
//! A file counts for a pane when the identity of its process was proved, that process is the pane's first process or
//! a descendant of it, and has the pane's terminal. A pane number alone decides nothing: tmux servers share numbers.

use std::collections::HashMap;

use jig_session_liveness::{Machine, Processes, shows_in_last};
use jig_session_panes::pane::Pane;
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
        let Some(process) = row.pid.and_then(|pid| machine.process(pid).ok()) else { continue };
        let mut chain = vec![process];
        chain.extend(machine.ancestors(chain[0].pid));
        let Some(at) = chain.iter().position(|process| by_pid.contains_key(&process.pid)) else { continue };
        if !shows_in_last(&machine, &chain[..=at]) {
            continue;
        }
        for &index in by_pid.get(&chain[at].pid).into_iter().flatten() {
            let pane = &mut panes[index];
            if pane.row.is_none() {
                pane.join(row.clone(), status(row));
            }
        }
    }
    Ok(())
}

/// Whether both folders of status files are missing or empty: then there is nothing to look at.
fn nothing_published(app: &App) -> bool {
    let places = app.places();
    [places.sessions, places.king].iter().all(|folder| match jig_session_atomic::list_folder(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    })
}

/// Whether a row identifies the session in a pane: its agent's process is proved to live.
fn counts(row: &Row) -> bool {
    row.verdict == Verdict::Alive || unpublished(row)
}

/// The agent lives, and nobody keeps its file up to date: the file names the agent, its state is an old one.
fn unpublished(row: &Row) -> bool {
    row.verdict == Verdict::Unknown && row.detail.as_ref().is_some_and(|detail| *detail == Detail::NO_PUBLISHER)
}

/// What a status file says in the words of a pane; none when its state is an old one.
fn status(row: &Row) -> Option<PaneStatus> {
    if unpublished(row) {
        return None;
    }
    let waits = [Reason::APPROVAL, Reason::QUESTION, Reason::TRUST, Reason::UNKNOWN];
    Some(match (&row.attention, row.state) {
        (Some(attention), _) if waits.contains(&attention.reason) => PaneStatus::NeedsAttention,
        (_, State::Busy) => PaneStatus::Active,
        _ => PaneStatus::Idle,
    })
}
