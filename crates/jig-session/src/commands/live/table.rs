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
    format!("sessions live ({})\n\n{}", app.now(), table(rows).render(app.width(), app.color))
}

fn table(rows: &[LiveRow]) -> Table {
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
    table
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

#[cfg(test)]
mod tests {
    use jig_session_schema::status::AgentName;

    use super::*;

    fn row(pane: u32, status: PaneStatus, command: &str, last: &str) -> LiveRow {
        LiveRow::new()
            .target(format!("open-checkout:{pane}.0"))
            .pane_id(format!("%{pane}"))
            .command(command.into())
            .project_slug("checkout-service".into())
            .machine("build-7".into())
            .status(status)
            .last_visible_line(Some(last.into()))
    }

    #[test]
    fn panes_at_three_widths() {
        let rows = [
            row(
                1,
                PaneStatus::Active,
                "claude",
                "✻ Writing the migration of the orders table… (42s · esc to interrupt)",
            )
            .agent(Some(AgentName::CLAUDE)),
            row(2, PaneStatus::NeedsAttention, "codex", "Allow `rm -rf build` to run? [y/N]")
                .agent(Some(AgentName::CODEX)),
            row(3, PaneStatus::Active, "pi", "").agent(Some(AgentName::PI)).status_reason(STOPPED.into()),
            row(4, PaneStatus::Idle, "zsh", "日本語の行と長い文字列がここに続きます、幅を超えるまで"),
            row(5, PaneStatus::Dead, "node", "\u{1b}[31mexit 1\u{1b}[0m"),
        ];
        for width in [80, 120, 200] {
            insta::assert_snapshot!(format!("live_{width}"), table(&rows).render(Some(width), false));
        }
    }
}
