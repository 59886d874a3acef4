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
    page(envelope, app.width(), app.color)
}

fn page(envelope: &Envelope, width: Option<usize>, color: bool) -> String {
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
    out.push_str(&table.render(width, color));
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

#[cfg(test)]
mod tests {
    use jig_session_schema::bulk::{Action, EntryCheck, EntryDecision, EntryResult, Guard, Hints, Summary};
    use jig_session_schema::live::PaneStatus;

    use super::*;

    fn entry(pane: u32, decision: EntryDecision, status: PaneStatus, reason: &str) -> Entry {
        Entry::new()
            .decision(decision)
            .status(status)
            .machine("build-7".into())
            .target(format!("open-checkout:{pane}.0"))
            .pane_id(Some(format!("%{pane}")))
            .project_slug("checkout-service".into())
            .reason(reason.into())
    }

    #[test]
    fn a_plan_at_three_widths() {
        let done = EntryResult::new().outcome(EntryOutcome::Done).message("restarted".into());
        let failed = EntryResult::new().outcome(EntryOutcome::Failed).message("can't find pane: %4".into());
        let envelope = Envelope::new()
            .action(Action::Restart)
            .guard(
                Guard::new()
                    .ok(false)
                    .reasons(vec!["13 panes are active, more than 12".into()])
                    .hints(Hints::new().active_agent_count(13).load1(2.5).load_per_core(1.25).selected_count(4)),
            )
            .summary(Summary::new().total_panes(9).selected(4).planned(2).skipped(1).refused(1).done(Some(1)))
            .entries(vec![
                entry(1, EntryDecision::Planned, PaneStatus::Idle, "").result(Some(done)).scheduled_delay_ms(250),
                entry(2, EntryDecision::Refused, PaneStatus::NeedsAttention, "waits for a person: it is left alone"),
                entry(3, EntryDecision::Skipped, PaneStatus::Active, "is at work"),
                entry(4, EntryDecision::Planned, PaneStatus::Dead, "")
                    .result(Some(failed))
                    .checks(Some(vec![EntryCheck::new().check("cwd".into()).message("the folder is gone".into())])),
            ]);
        for width in [80, 120, 200] {
            insta::assert_snapshot!(format!("bulk_{width}"), page(&envelope, Some(width), false));
        }
    }
}
