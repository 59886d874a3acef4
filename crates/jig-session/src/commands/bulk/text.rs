//! A plan or a run as people read it.

use jig_session_schema::bulk::{Entry, EntryOutcome, Envelope};

use crate::app::App;
use crate::commands::live::style;
use jig_session_view::sanitise;
use jig_session_view::table::{Cell, Column, Style, Table};

const COLUMNS: [Column; 8] = [
    Column::new("DECISION", 8, 0),
    Column::new("STATUS", 6, 0),
    Column::new("MACHINE", 6, 5),
    Column::new("TARGET", 8, 0),
    Column::new("PROJECT", 6, 4),
    Column::new("DELAY", 5, 3).right(),
    Column::new("RESULT", 6, 0),
    Column::new("REASON", 8, 1),
];

/// Heading, guard, summary, then the entries.
pub(super) fn text(app: &App, envelope: &Envelope) -> String {
    let hints = &envelope.guard.hints;
    let summary = &envelope.summary;
    let guard = if envelope.guard.ok { "ok" } else { "refused" };
    let mut out = format!(
        "sessions bulk {} ({})\nguard: {guard}  active={} load1={:.2} load/core={:.2} selected={}\n",
        envelope.action,
        envelope.observed_at,
        hints.active_agent_count,
        hints.load1,
        hints.load_per_core,
        hints.selected_count,
    );
    for reason in &envelope.guard.reasons {
        out.push_str(&format!("refusal: {reason}\n"));
    }
    out.push_str(&format!(
        "summary: total={} selected={} planned={} queued={} skipped={} refused={} done={} failed={}\n\n",
        summary.total_panes,
        summary.selected,
        summary.planned,
        summary.queued,
        summary.skipped,
        summary.refused,
        summary.done.unwrap_or_default(),
        summary.failed.unwrap_or_default(),
    ));
    if envelope.entries.is_empty() {
        out.push_str("No matching live panes.\n");
        return out;
    }
    let mut table = Table::new(&COLUMNS);
    for entry in &envelope.entries {
        table.push(row(entry));
    }
    out.push_str(&table.render(app.width(), app.color));
    for entry in &envelope.entries {
        details(entry, &mut out);
    }
    out
}

fn row(entry: &Entry) -> Vec<Cell> {
    let delay = if entry.scheduled_delay_ms == 0 { String::new() } else { format!("{}ms", entry.scheduled_delay_ms) };
    let (result, message) =
        entry.result.as_ref().map_or(("", ""), |result| (result.outcome.as_str(), &*result.message));
    let well = entry.result.as_ref().is_some_and(|result| result.outcome == EntryOutcome::Done);
    vec![
        Cell::new(entry.decision.as_str()),
        Cell::new(entry.status.as_str()).style(style(entry.status)),
        Cell::new(&entry.machine),
        Cell::path(&entry.target).of(entry.pane_id.as_deref().unwrap_or(&entry.target)),
        Cell::new(&entry.project_slug),
        Cell::new(delay),
        Cell::new(result).style(if well { Style::Green } else { Style::Red }),
        Cell::new(if message.is_empty() { &entry.reason } else { message }),
    ]
}

/// What `capture` and `doctor` found, below the table.
fn details(entry: &Entry, out: &mut String) {
    if let Some(text) = &entry.captured_text {
        out.push_str(&format!("\n== {}\n", sanitise::clean(&entry.target)));
        for line in text.lines() {
            out.push_str(&sanitise::clean(line));
            out.push('\n');
        }
    }
    for check in entry.checks.iter().flatten() {
        let mark = if check.ok { "ok  " } else { "FAIL" };
        let line = format!("{mark} {} {}: {}", entry.target, check.check, check.message);
        out.push_str(&sanitise::clean(&line));
        out.push('\n');
    }
}
