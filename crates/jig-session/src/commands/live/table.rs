//! Panes as people read them.

use jig_session_panes::classify::STOPPED;
use jig_session_schema::live::{LiveRow, PaneStatus};

use crate::app::App;
use jig_session_view::table::{Cell, Column, Style, Table};

const COLUMNS: [Column; 7] = [
    Column::new("STATUS", 6, 0),
    Column::new("AGENT", 4, 4),
    Column::new("TARGET", 8, 0),
    Column::new("PROJECT", 6, 3),
    Column::new("MACHINE", 6, 5),
    Column::new("CMD", 4, 2),
    Column::new("LAST", 8, 1).yields(),
];

/// The heading and the table, or one line when there is no pane.
pub(super) fn text(app: &App, rows: &[LiveRow]) -> String {
    if rows.is_empty() {
        return "No live tmux panes found.\n".to_owned();
    }
    let mut table = Table::new(&COLUMNS);
    for row in rows {
        table.push(vec![
            Cell::new(word(row)).style(style(row.status)),
            Cell::new(row.agent.as_deref().unwrap_or_default()),
            Cell::path(&row.target).of(&row.pane_id),
            Cell::new(&row.project_slug),
            Cell::new(&row.machine),
            Cell::new(&row.command),
            Cell::new(row.last_visible_line.as_deref().unwrap_or_default()),
        ]);
    }
    format!("sessions live ({})\n\n{}", app.now(), table.render(app.width(), app.color))
}

/// The status; of a stopped agent that word, because nothing goes on until somebody continues it.
fn word(row: &LiveRow) -> &'static str {
    if row.status_reason == STOPPED { "stopped" } else { row.status.as_str() }
}

/// How a status is coloured.
pub(crate) fn style(status: PaneStatus) -> Style {
    match status {
        PaneStatus::NeedsAttention => Style::Red,
        PaneStatus::Active => Style::Green,
        PaneStatus::Dead => Style::Dim,
        _ => Style::Plain,
    }
}
