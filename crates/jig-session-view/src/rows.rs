//! Rows as people read them: a table whose first line is the session that waits longest.

use std::path::Path;

use jig_session_schema::limits::SHOWN_NAME_CHARS;
use jig_session_schema::row::{Detail, Problem, Row, Verdict};
use jig_session_schema::status::{Reason, State};
use jig_session_schema::time::Timestamp;

use crate::ages;
use crate::sanitise::clean;
use crate::table::{Cell, Column, Style, Table, short_id};

const COLUMNS: [Column; 10] = [
    Column::new("STATE", 8, 0),
    Column::new("FOR", 3, 2).right(),
    Column::new("AGENT", 4, 3),
    Column::new("HOST", 4, 1),
    Column::new("SESSION", 12, 0),
    Column::new("FOLDER", 8, 5),
    Column::new("MODEL", 6, 7).yields(),
    Column::new("CTX", 4, 4).right(),
    Column::new("COST", 5, 6).right(),
    Column::new("TERMINAL", 3, 8),
];

/// The table of rows: attention, busy, idle, and last the ones whose process could not be proved.
pub fn table<'a>(rows: impl IntoIterator<Item = &'a Row>, now: Timestamp, home: &Path) -> Table {
    let mut rows: Vec<&Row> = rows.into_iter().collect();
    // The sort is stable within each group.
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
            Cell::new(row.host.as_deref().unwrap_or_default()),
            title_cell(row).style(if is_doubtful(row) { Style::Dim } else { Style::Bold }),
            // Another machine's home is not this one's.
            Cell::path(if row.host.is_some() { row.cwd.clone() } else { folder(&row.cwd, home) }),
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
    let mut table = Table::new(&[Column::new("PROBLEM", 8, 0), Column::new("FILE", 8, 0), Column::new("", 8, 0)]);
    for problem in problems {
        table.push(vec![
            Cell::new(&*problem.reason).style(Style::Yellow),
            Cell::path(place(problem)),
            Cell::new(&problem.message),
        ]);
    }
    table
}

/// Where a problem is: a file, a host, or a file of a host.
fn place(problem: &Problem) -> String {
    match (&problem.host, &problem.path) {
        (Some(host), Some(path)) => format!("{host}:{path}"),
        (host, path) => path.as_ref().or(host.as_ref()).cloned().unwrap_or_default(),
    }
}

/// How many sessions need a person, work and wait, in words; empty when there is none.
pub fn counts<'a>(rows: impl IntoIterator<Item = &'a Row>) -> String {
    let (mut waiting, mut done, mut busy, mut idle, mut stopped) = (0_usize, 0_usize, 0_usize, 0_usize, 0_usize);
    for row in rows {
        match (&row.attention, row.state) {
            _ if is_stopped(row) => stopped += 1,
            (Some(attention), _) if attention.reason == Reason::FINISHED => done += 1,
            (Some(_), _) => waiting += 1,
            (None, State::Busy) => busy += 1,
            (None, _) => idle += 1,
        }
    }
    let needs = if waiting == 1 { "needs you" } else { "need you" };
    let parts = [(waiting, needs), (stopped, "stopped"), (done, "done"), (busy, "busy"), (idle, "idle")];
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
        // Nobody is held up by a turn that is over.
        (Some(attention), _) if attention.reason == Reason::FINISHED => ("finished".to_owned(), Style::Color(36)),
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

/// Nothing proves that the session's process is the one that runs. Of a machine that is connected its own proof counts.
fn is_doubtful(row: &Row) -> bool {
    let verdict = match &row.reported {
        Some(reported) if row.detail == Some(Detail::REPORTED) => reported.verdict,
        _ => row.verdict,
    };
    !matches!(verdict, Verdict::Alive)
}

/// Since when the row's state is what it is.
pub fn in_state_since(row: &Row) -> Option<Timestamp> {
    row.attention.as_ref().and_then(|attention| attention.since).or(row.state_at).or(row.updated_at)
}

/// What the user calls the session: its name, else the end of its id, where ids differ.
pub fn title(row: &Row) -> String {
    const SHOWN: usize = 24;
    match row.name.as_deref().filter(|name| !name.trim().is_empty()) {
        Some(name) => name.chars().take(SHOWN_NAME_CHARS).collect(),
        None if row.session.chars().count() <= SHOWN => row.session.clone(),
        None => {
            let tail: Vec<char> = row.session.chars().rev().take(12).collect();
            tail.into_iter().rev().collect()
        }
    }
}

/// The same in a table: an id keeps its end, and two that would print alike are disambiguated.
fn title_cell(row: &Row) -> Cell {
    let named = row.name.as_deref().is_some_and(|name| !name.trim().is_empty());
    let cell = if named { Cell::new(title(row)) } else { Cell::path(title(row)) };
    cell.of(&row.session)
}

/// The same in a line of text, beside these sessions.
pub fn title_among(row: &Row, others: &[Row]) -> String {
    let own = title(row);
    let alike = |other: &&Row| clean(&title(other)) == clean(&own);
    if others.iter().filter(alike).all(|other| other.session == row.session) {
        return own;
    }
    let ids: Vec<&str> = others.iter().map(|other| other.session.as_str()).collect();
    format!("{own} ({})", short_id(&row.session, &ids))
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
