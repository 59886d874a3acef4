//! tmux panes and what they are taken for, with the evidence.

use jig_session_schema::live::{LiveRow, PaneStatus};
use jig_session_view::line::Line;
use jig_session_view::rows;
use jig_session_view::table::{Cell, Column, Style, Table, wrap};

use super::bus::gone;
use super::{Body, fact, marked};
use crate::board::Board;

const COLUMNS: [Column; 6] = [
    Column::new("STATUS", 6, 0),
    Column::new("AGENT", 4, 4),
    Column::new("TARGET", 8, 0),
    Column::new("PROJECT", 6, 3),
    Column::new("COMMAND", 4, 2),
    Column::new("LAST LINE", 8, 1),
];

pub(super) fn body(board: &Board, width: usize) -> Body {
    let panes = &board.panes;
    if board.shown.panes.is_empty() {
        let line = match &panes.trouble {
            Some(trouble) => Line::of(format!("  {trouble}"), Style::Yellow),
            None if panes.at.is_none() => Line::of("  looking …", Style::Dim),
            None if panes.rows.is_empty() => Line::plain("  no tmux pane"),
            None => Line::plain(format!("  none of {} panes matches the filter; Esc takes it away", panes.rows.len())),
        };
        return Body::text(vec![Line::new(), line]);
    }
    let mut table = Table::new(&COLUMNS);
    for place in &board.shown.panes {
        let pane = &panes.rows[*place];
        table.push(vec![
            Cell::new(word(pane)).style(style(pane.status)),
            Cell::new(pane.agent.as_deref().unwrap_or_default()),
            Cell::new(&pane.target).style(Style::Bold),
            Cell::new(&pane.project_slug),
            Cell::new(&pane.command),
            Cell::new(pane.last_visible_line.as_deref().unwrap_or_default()).style(Style::Dim),
        ]);
    }
    let focus = board.list().focus();
    let (titles, lines) = marked(table.lines(Some(width.saturating_sub(2))), focus);
    let foot = panes.trouble.iter().map(|trouble| Line::of(trouble, Style::Yellow)).collect();
    Body { head: vec![titles], lines, focus: Some(focus), foot }
}

/// A pane in full: what it is taken for, and why.
pub(super) fn pane(board: &Board, key: &str, width: usize) -> Vec<Line> {
    let Some(pane) = board.panes.rows.iter().find(|pane| pane.pane_id == key) else {
        return gone("the pane is closed");
    };
    let mut lines = vec![
        Line::new(),
        fact("status", "").with(word(pane), style(pane.status)),
        fact("because", &pane.status_reason),
        fact("told by", pane.status_source.as_str()),
        fact("rule", board.panes.rules.get(key).map_or("", String::as_str)),
        Line::new(),
        fact("pane", format!("{}  {}", pane.pane_id, pane.target)),
        fact("agent", pane.agent.as_deref().unwrap_or("none")),
        fact("command", &pane.command),
        fact("title", &pane.title),
        fact("folder", rows::folder(pane.cwd.as_deref().unwrap_or_default(), &board.home)),
        fact("project", &pane.project_slug),
        fact("pid", pane.pane_pid.map(|pid| pid.to_string()).unwrap_or_default()),
    ];
    let last = pane.last_visible_line.as_deref().unwrap_or_default();
    for (place, part) in wrap(last, width.saturating_sub(13)).iter().enumerate() {
        lines.push(fact(if place == 0 { "last line" } else { "" }, part));
    }
    lines
}

/// The status; of a stopped agent that word, because nothing goes on until somebody continues it.
fn word(pane: &LiveRow) -> &'static str {
    match pane.status {
        PaneStatus::NeedsAttention => "needs you",
        PaneStatus::Active if pane.status_reason.contains("stopped") => "stopped",
        status => status.as_str(),
    }
}

fn style(status: PaneStatus) -> Style {
    match status {
        PaneStatus::NeedsAttention => Style::Red,
        PaneStatus::Active => Style::Green,
        PaneStatus::Dead => Style::Dim,
        _ => Style::Plain,
    }
}
