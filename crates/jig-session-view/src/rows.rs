//! Rows as people read them: a table whose first line is the session that waits longest.

use std::path::Path;

use jig_session_schema::row::{Detail, Problem, Row, Verdict};
use jig_session_schema::status::State;
use jig_session_schema::time::Timestamp;

use crate::ages;
use crate::table::{Cell, Column, Style, Table};

const COLUMNS: [Column; 9] = [
    column("STATE", 8, false, 0),
    column("FOR", 3, true, 2),
    column("AGENT", 4, false, 3),
    column("SESSION", 8, false, 0),
    column("FOLDER", 8, false, 5),
    column("MODEL", 6, false, 6),
    column("CTX", 4, true, 4),
    column("COST", 5, true, 7),
    column("TERMINAL", 3, false, 8),
];

const fn column(title: &'static str, least: usize, right: bool, drop: u8) -> Column {
    Column { title, right, least, drop }
}

/// The table of rows: attention, busy, idle, and last the ones whose process could not be proved.
pub fn table<'a>(rows: impl IntoIterator<Item = &'a Row>, now: Timestamp, home: &Path) -> Table {
    let mut rows: Vec<&Row> = rows.into_iter().collect();
    // The order is kept within each group.
    rows.sort_by_key(|row| row.attention.is_none() && is_doubtful(row));
    let mut table = Table::new(&COLUMNS);
    for row in rows {
        let (state, style) = state(row);
        table.push(vec![
            Cell::new(state).style(style),
            Cell::new(ages::since(in_state_since(row), now)).style(if style == Style::Red {
                Style::Red
            } else {
                Style::Plain
            }),
            Cell::new(&*row.agent_name()),
            Cell::new(title(row)).style(if is_doubtful(row) { Style::Dim } else { Style::Bold }),
            Cell::new(folder(&row.cwd, home)),
            Cell::new(model(row)),
            Cell::new(ages::percent(row.context.percent)).style(fullness(row.context.percent)),
            Cell::new(ages::dollars(row.usage.as_ref().and_then(|usage| usage.cost))),
            Cell::new(row.terminal.as_deref().or(row.tmux_pane.as_deref()).unwrap_or_default()),
        ]);
    }
    table
}

/// Problems, one a line: reason, file, what is wrong.
pub fn problems(problems: &[Problem]) -> Table {
    let mut table = Table::new(&[column("PROBLEM", 8, false, 0), column("FILE", 8, false, 0), column("", 8, false, 0)]);
    for problem in problems {
        table.push(vec![
            Cell::new(&*problem.reason).style(Style::Yellow),
            Cell::new(problem.path.as_deref().or(problem.host.as_deref()).unwrap_or_default()),
            Cell::new(&problem.message),
        ]);
    }
    table
}

/// How many sessions need a person, work and wait, in words; empty when there is none.
pub fn counts<'a>(rows: impl IntoIterator<Item = &'a Row>) -> String {
    let (mut waiting, mut busy, mut idle, mut stopped) = (0_usize, 0_usize, 0_usize, 0_usize);
    for row in rows {
        match (&row.attention, row.state) {
            _ if is_stopped(row) => stopped += 1,
            (Some(_), _) => waiting += 1,
            (None, State::Busy) => busy += 1,
            (None, _) => idle += 1,
        }
    }
    let needs = if waiting == 1 { "needs you" } else { "need you" };
    let parts = [(waiting, needs), (stopped, "stopped"), (busy, "busy"), (idle, "idle")];
    let parts: Vec<_> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    parts.join(", ")
}

/// The state in one or two words, and how it is shown.
pub fn state(row: &Row) -> (String, Style) {
    if let Verdict::Gone | Verdict::Reused = row.verdict {
        return (row.verdict.to_string(), Style::Dim);
    }
    // It neither works nor answers until somebody lets it go on, whatever it wrote last.
    if is_stopped(row) {
        return ("stopped".to_owned(), Style::Yellow);
    }
    let (word, style) = match (&row.attention, row.state) {
        (Some(attention), _) => (attention.reason.to_string(), Style::Red),
        (None, State::Busy) => ("busy".to_owned(), Style::Green),
        (None, _) if row.detail.as_deref() == Some("exited") => ("exited".to_owned(), Style::Dim),
        (None, _) => ("idle".to_owned(), Style::Plain),
    };
    // A doubt is said in the word itself: colour alone would not reach everybody.
    if is_doubtful(row) && row.detail.as_deref() != Some("exited") {
        return (format!("{word}?"), if style == Style::Red { style } else { Style::Dim });
    }
    if row.detail == Some(Detail::TWO_PROCESSES) {
        return (format!("{word} (2)"), style);
    }
    (word, style)
}

/// Whether the session's process is stopped, by Ctrl-Z or a signal.
pub fn is_stopped(row: &Row) -> bool {
    row.verdict.is_alive() && row.detail == Some(Detail::STOPPED)
}

/// Nothing proves that the session's process is the one that runs.
fn is_doubtful(row: &Row) -> bool {
    !matches!(row.verdict, Verdict::Alive)
}

/// Since when the row's state is what it is.
pub fn in_state_since(row: &Row) -> Option<Timestamp> {
    row.attention.as_ref().and_then(|attention| attention.since).or(row.state_at).or(row.updated_at)
}

/// What the user calls the session: its name, else the end of its id, where ids differ.
pub fn title(row: &Row) -> String {
    const SHOWN: usize = 24;
    match row.name.as_deref().filter(|name| !name.trim().is_empty()) {
        Some(name) => name.to_owned(),
        None if row.session.chars().count() <= SHOWN => row.session.clone(),
        None => {
            let tail: Vec<char> = row.session.chars().rev().take(12).collect();
            tail.into_iter().rev().collect()
        }
    }
}

/// The folder, with the home folder as `~`.
pub fn folder(cwd: &str, home: &Path) -> String {
    match Path::new(cwd).strip_prefix(home) {
        Ok(rest) if rest.as_os_str().is_empty() => "~".into(),
        Ok(rest) if home != Path::new("/") => format!("~/{}", rest.display()),
        _ => cwd.to_owned(),
    }
}

fn model(row: &Row) -> &str {
    row.model.as_ref().map_or("", |model| model.name.as_deref().unwrap_or(&model.id))
}

/// A context that is nearly full is worth a look.
fn fullness(percent: Option<f64>) -> Style {
    match percent {
        Some(percent) if percent >= 85.0 => Style::Red,
        Some(percent) if percent >= 65.0 => Style::Yellow,
        _ => Style::Plain,
    }
}
