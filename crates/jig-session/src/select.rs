//! SESSION arguments: an id, a part of one, a name, a terminal, or `.` for the session of this terminal.
//!
//! The first rule that matches anything decides, so that an exact id is never made ambiguous by a longer one.
//!
//! A pane's number is one of one tmux server: `%3` means the server of this terminal, `SOCKET:%3` another one.

use std::ffi::OsStr;
use std::path::Path;

use jig_session_liveness::{Machine, Processes};
use jig_session_schema::error::SessionMatch;
use jig_session_schema::row::ProblemReason;
use jig_session_store::{Session, is_live};

use clap_complete::ArgValueCompleter;

use crate::app::App;
use crate::commands;
use crate::failure::{Code, Failure};
use crate::view::{self, View};
use jig_session_view::table::short_id;

/// What the help of every command says of its SESSION argument.
pub(crate) const ARGUMENT: &str =
    "The session: its id or a part of it, its name, its terminal, a tmux pane (%3, SOCKET:%3), or `.` for this one";

/// What a shell completes it to.
pub(crate) fn completer() -> ArgValueCompleter {
    ArgValueCompleter::new(commands::completions::sessions)
}

/// A part of an id must be at least this long.
const PART: usize = 4;

/// The rules in the order in which they are tried.
const RULES: [fn(&Session, &Wanted<'_>) -> bool; 4] = [
    |session, wanted| session.row.session == wanted.text,
    |session, wanted| match &wanted.pane {
        Some(pane) => pane.is_of(session),
        None => session.row.terminal.as_deref() == Some(wanted.text),
    },
    |session, wanted| session.row.name.as_deref() == Some(wanted.text),
    |session, wanted| {
        let (id, part) = (&session.row.session, wanted.text);
        part.len() >= PART && (id.starts_with(part) || id.ends_with(part))
    },
];

/// What a SESSION argument can mean.
pub(crate) struct Wanted<'a> {
    text: &'a str,
    pane: Option<Pane<'a>>,
}

/// A pane of one tmux server, or of any when the terminal is in none.
struct Pane<'a> {
    number: &'a str,
    socket: Option<&'a str>,
}

impl<'a> Wanted<'a> {
    /// The argument, in a terminal whose `TMUX` is this.
    pub(crate) fn of(text: &'a str, tmux: Option<&'a str>) -> Self {
        let is_number = |text: &str| {
            text.strip_prefix('%')
                .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
        };
        let pane = match text.rsplit_once(':') {
            Some((socket, number)) if is_number(number) => Some(Pane { number, socket: Some(socket) }),
            _ if is_number(text) => Some(Pane { number: text, socket: tmux.and_then(socket_of) }),
            _ => None,
        };
        Self { text, pane }
    }
}

impl Pane<'_> {
    /// Whether a session recorded this pane.
    fn is_of(&self, session: &Session) -> bool {
        let recorded = session.row.tmux_pane.as_deref().or(session.row.terminal.as_deref());
        recorded == Some(self.number)
            && self.socket.is_none_or(|socket| is_socket(session.tmux_socket.as_deref(), socket))
    }
}

/// The socket in the value of `TMUX`.
fn socket_of(tmux: &str) -> Option<&str> {
    tmux.split(',').next().filter(|socket| !socket.is_empty())
}

/// Whether a recorded socket is the one that is meant: its path, or the name that `tmux -L` takes.
fn is_socket(recorded: Option<&str>, meant: &str) -> bool {
    let Some(recorded) = recorded.map(Path::new) else { return false };
    let one_file = || Some(std::fs::canonicalize(recorded).ok()? == std::fs::canonicalize(meant).ok()?);
    recorded == Path::new(meant) || recorded.file_name() == Some(OsStr::new(meant)) || one_file() == Some(true)
}

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
    match choose(&view.sessions, &Wanted::of(wanted, app.var("TMUX"))).as_slice() {
        [] => Err(unknown(view, wanted)),
        [only] => Ok(only),
        several => Err(ambiguous(wanted, several)),
    }
}

/// The sessions that the argument names, by the first rule that matches any. Live ones are matched first: a name that a
/// crashed session also had names the live one.
pub(crate) fn choose<'a>(sessions: &'a [Session], wanted: &Wanted<'_>) -> Vec<&'a Session> {
    for live in [true, false] {
        for rule in RULES {
            let matches = |session: &&Session| is_live(&session.row) == live && rule(session, wanted);
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
    let socket = app.var("TMUX").and_then(socket_of);
    if let (Some(socket), Some(pane)) = (socket, app.var("TMUX_PANE")) {
        let same =
            |s: &&Session| s.row.tmux_pane.as_deref() == Some(pane) && is_socket(s.tmux_socket.as_deref(), socket);
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
    let mut found = found.to_vec();
    found.sort_unstable_by(|a, b| a.row.session.cmp(&b.row.session));
    let matches = found.iter().map(|session| {
        let row = &session.row;
        let agent = row.agent_name();
        SessionMatch::new().session(row.session.clone()).agent(agent).state(row.state).cwd(row.cwd.clone())
    });
    let message = format!("{wanted:?} names {} sessions", found.len());
    let ids: Vec<&str> = found.iter().map(|session| session.row.session.as_str()).collect();
    let hint = match Wanted::of(wanted, None).pane {
        Some(_) => "name its tmux server: SOCKET:%N, or the id".to_owned(),
        None if ids.iter().all(|id| id.contains(wanted)) => "use more of the id".to_owned(),
        None => format!("use the id, or a part of it such as {}", short_id(ids[0], &ids)),
    };
    Failure::new(Code::Ambiguous, message).hint(hint).matches(matches.collect())
}
