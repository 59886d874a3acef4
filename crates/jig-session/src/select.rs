//! SESSION arguments: an id, a part of one, a name, a terminal, or `.` for the session of this terminal.
//!
//! The first rule that matches anything decides, so that an exact id is never made ambiguous by a longer one.

use jig_session_liveness::ancestors;
use jig_session_schema::row::{Row, Verdict};
use jig_session_schema::status::Status;

use crate::app::App;
use crate::failure::{Code, Failure};
use crate::view::{self, View};

/// A part of an id must be at least this long.
const PART: usize = 4;

/// The rules in the order in which they are tried.
const RULES: [fn(&Row, &str) -> bool; 4] = [
    |row, wanted| row.session == wanted,
    |row, wanted| row.tmux_pane.as_deref() == Some(wanted) || row.terminal.as_deref() == Some(wanted),
    |row, wanted| row.name.as_deref() == Some(wanted),
    |row, wanted| wanted.len() >= PART && (row.session.starts_with(wanted) || row.session.ends_with(wanted)),
];

/// The one session that the argument names, live or not; a live one goes before one that ended.
pub(crate) fn one(app: &App, wanted: &str) -> Result<Row, Failure> {
    let view = view::load(app)?;
    pick(app, view, wanted)
}

/// The same in a view that is there already.
pub(crate) fn pick(app: &App, view: View, wanted: &str) -> Result<Row, Failure> {
    if wanted == "." {
        return here(app, &view);
    }
    let found = choose(&view.rows, wanted);
    match found.as_slice() {
        [] => Err(unknown(&view, wanted)),
        [only] => Ok((*only).clone()),
        several => Err(ambiguous(wanted, several)),
    }
}

/// The rows that the argument names, by the first rule that matches any. Live rows are asked first: a name that a
/// crashed session also had names the live one.
pub(crate) fn choose<'a>(rows: &'a [Row], wanted: &str) -> Vec<&'a Row> {
    for live in [true, false] {
        for rule in RULES {
            let found: Vec<_> = rows.iter().filter(|row| is_live(row) == live && rule(row, wanted)).collect();
            if !found.is_empty() {
                return found;
            }
        }
    }
    Vec::new()
}

fn is_live(row: &Row) -> bool {
    !matches!(row.verdict, Verdict::Gone | Verdict::Reused) && row.detail.as_deref() != Some("exited")
}

/// `.`: the session whose process this one descends from, else the session of this terminal.
fn here(app: &App, view: &View) -> Result<Row, Failure> {
    let live: Vec<&Row> = view.rows.iter().filter(|row| is_live(row) && row.host.is_none()).collect();
    for ancestor in ancestors(std::process::id()) {
        let found: Vec<&Row> = live.iter().copied().filter(|row| row.pid == Some(ancestor.pid)).collect();
        if !found.is_empty() {
            return only(&found);
        }
    }
    let found = in_this_terminal(app, &live);
    if found.is_empty() {
        let failure = Failure::new(Code::NotFound, "no live session is in this terminal or above this process");
        return Err(failure.hint("name one: jig-session ls"));
    }
    only(&found)
}

fn only(found: &[&Row]) -> Result<Row, Failure> {
    match found {
        [only] => Ok((*only).clone()),
        several => Err(ambiguous(".", several)),
    }
}

/// A pane number alone names nothing, since servers share numbers: the socket must be the same too. It stands in the
/// document, not in the row.
fn in_this_terminal<'a>(app: &App, live: &[&'a Row]) -> Vec<&'a Row> {
    let socket = app.var("TMUX").and_then(|value| value.split(',').next());
    if let (Some(socket), Some(pane)) = (socket, app.var("TMUX_PANE")) {
        let same_socket = |row: &Row| view::document(app, row).is_ok_and(|status: Status| status.tmux_socket.as_deref() == Some(socket));
        let in_pane = live.iter().copied().filter(|row| row.tmux_pane.as_deref() == Some(pane));
        let found: Vec<_> = in_pane.filter(|row| same_socket(row)).collect();
        if !found.is_empty() {
            return found;
        }
    }
    for variable in ["HC_TERMINAL_ID", "WEZTERM_PANE", "KITTY_WINDOW_ID"] {
        let Some(terminal) = app.var(variable) else { continue };
        let from = |row: &Row| view::document(app, row).is_ok_and(|status: Status| status.terminal_from.as_deref() == Some(variable));
        let in_terminal = live.iter().copied().filter(|row| row.terminal.as_deref() == Some(terminal));
        let found: Vec<_> = in_terminal.filter(|row| from(row)).collect();
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

fn unknown(view: &View, wanted: &str) -> Failure {
    let failure = Failure::new(Code::NotFound, format!("no session is named {wanted:?}"));
    let part = wanted.len() < PART && view.rows.iter().any(|row| row.session.starts_with(wanted));
    if part { failure.hint("give at least 4 characters of the id") } else { failure.hint("see jig-session ls --all") }
}

fn ambiguous(wanted: &str, found: &[&Row]) -> Failure {
    let mut candidates: Vec<_> = found.iter().map(|row| row.session.clone()).collect();
    candidates.sort_unstable();
    let message = format!("{wanted:?} names {} sessions", candidates.len());
    Failure::new(Code::Ambiguous, message).hint("use more of the id").candidates(candidates)
}
