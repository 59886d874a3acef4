//! SESSION arguments: an id, a part of one, a name, a terminal, or `.` for the session of this terminal.
//!
//! The first rule that matches anything decides, so that an exact id is never made ambiguous by a longer one.

use jig_session_liveness::{Machine, Processes};
use jig_session_schema::row::{ProblemReason, Row};
use jig_session_store::{Session, is_live};

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
pub(crate) fn one(app: &App, wanted: &str) -> Result<Session, Failure> {
    let view = view::load(app)?;
    pick(app, &view, wanted).cloned()
}

/// The same in a view that is there already.
pub(crate) fn pick<'a>(app: &App, view: &'a View, wanted: &str) -> Result<&'a Session, Failure> {
    if wanted == "." {
        return here(app, view);
    }
    match choose(&view.sessions, wanted).as_slice() {
        [] => Err(unknown(view, wanted)),
        [only] => Ok(only),
        several => Err(ambiguous(wanted, several)),
    }
}

/// The sessions that the argument names, by the first rule that matches any. Live ones are asked first: a name that a
/// crashed session also had names the live one.
pub(crate) fn choose<'a>(sessions: &'a [Session], wanted: &str) -> Vec<&'a Session> {
    for live in [true, false] {
        for rule in RULES {
            let matches = |session: &&Session| is_live(&session.row) == live && rule(&session.row, wanted);
            let found: Vec<_> = sessions.iter().filter(matches).collect();
            if !found.is_empty() {
                return found;
            }
        }
    }
    Vec::new()
}

/// `.`: the session whose process this one descends from, else the session of this terminal.
fn here<'a>(app: &App, view: &'a View) -> Result<&'a Session, Failure> {
    let live: Vec<&Session> = view.sessions.iter().filter(|s| is_live(&s.row) && s.row.host.is_none()).collect();
    let of_pid = |pid: u32| live.iter().copied().filter(|s| s.row.pid == Some(pid)).collect::<Vec<_>>();
    let above = Machine::new()
        .ancestors(std::process::id())
        .into_iter()
        .map(|process| of_pid(process.pid))
        .find(|found| !found.is_empty());
    let found = above.unwrap_or_else(|| in_this_terminal(app, &live));
    match found.as_slice() {
        [] => {
            let failure = Failure::new(Code::NotFound, "no live session is in this terminal or above this process");
            Err(failure.hint("name one: jig-session ls"))
        }
        [only] => Ok(only),
        several => Err(ambiguous(".", several)),
    }
}

/// A pane number alone names nothing, since servers share numbers: the socket must be the same too. In the same way a
/// terminal's name counts only beside the variable that it came from.
fn in_this_terminal<'a>(app: &App, live: &[&'a Session]) -> Vec<&'a Session> {
    let socket = app.var("TMUX").and_then(|value| value.split(',').next());
    if let (Some(socket), Some(pane)) = (socket, app.var("TMUX_PANE")) {
        let same = |s: &&Session| s.row.tmux_pane.as_deref() == Some(pane) && s.tmux_socket.as_deref() == Some(socket);
        let found: Vec<_> = live.iter().copied().filter(same).collect();
        if !found.is_empty() {
            return found;
        }
    }
    for variable in ["HC_TERMINAL_ID", "WEZTERM_PANE", "KITTY_WINDOW_ID"] {
        let Some(terminal) = app.var(variable) else { continue };
        let same =
            |s: &&Session| s.row.terminal.as_deref() == Some(terminal) && s.terminal_from.as_deref() == Some(variable);
        let found: Vec<_> = live.iter().copied().filter(same).collect();
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

fn unknown(view: &View, wanted: &str) -> Failure {
    let failure = Failure::new(Code::NotFound, format!("no session is named {wanted:?}"));
    let short = wanted.len() < PART && view.rows().any(|row| row.session.starts_with(wanted));
    // The session that is meant may be the one whose file could not be read.
    let unread = view.problems.iter().find(|problem| problem.reason == ProblemReason::UNREADABLE);
    if let Some(path) = unread.and_then(|problem| problem.path.as_deref()) {
        let message = unread.map(|problem| problem.message.as_str()).unwrap_or_default();
        return failure.hint(format!("{path} could not be read: {message}")).path(path);
    }
    failure.hint(if short { "give at least 4 characters of the id" } else { "see jig-session ls --all" })
}

fn ambiguous(wanted: &str, found: &[&Session]) -> Failure {
    let mut candidates: Vec<_> = found.iter().map(|session| session.row.session.clone()).collect();
    candidates.sort_unstable();
    let message = format!("{wanted:?} names {} sessions", candidates.len());
    Failure::new(Code::Ambiguous, message).hint("use more of the id").candidates(candidates)
}
