//! SESSION arguments: [`jig_session_store::select`] with the words of a command line.

use jig_session_liveness::Machine;
use jig_session_schema::error::SessionMatch;
use jig_session_schema::row::ProblemReason;
use jig_session_store::Session;
use jig_session_store::select::{HERE, is_pane, is_too_short, select};
use jig_session_view::table::short_id;

use clap_complete::ArgValueCompleter;

use crate::app::App;
use crate::commands;
use crate::failure::{Code, Failure};
use crate::view::{self, View};

/// What the help of every command says of its SESSION argument.
pub(crate) const ARGUMENT: &str =
    "The session: its id or a part of it, its name, its terminal, a tmux pane (%3, SOCKET:%3), or `.` for this one";

/// What a shell completes it to.
pub(crate) fn completer() -> ArgValueCompleter {
    ArgValueCompleter::new(commands::completions::sessions)
}

/// The one session that the argument names, live or not; a live one goes before one that ended.
pub(crate) fn one(app: &App, wanted: &str) -> Result<Session, Failure> {
    let view = view::load(app)?;
    pick(app, &view, wanted).cloned()
}

/// The same in a view that is there already.
pub(crate) fn pick<'a>(app: &App, view: &'a View, wanted: &str) -> Result<&'a Session, Failure> {
    match select(&view.sessions, wanted, &app.environment(), &Machine::new()).as_slice() {
        [only] => Ok(only),
        [] if wanted == HERE => {
            let failure = Failure::new(Code::NotFound, "no live session is in this terminal or above this process");
            Err(failure.hint("name one: jig-session ls"))
        }
        [] => Err(unknown(view, wanted)),
        several => Err(ambiguous(wanted, several)),
    }
}

fn unknown(view: &View, wanted: &str) -> Failure {
    let failure = Failure::new(Code::NotFound, format!("no session is named {wanted:?}"));
    let short = is_too_short(wanted) && view.rows().any(|row| row.session.starts_with(wanted));
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
    let hint = match is_pane(wanted) {
        true => "name its tmux server: SOCKET:%N, or the id".to_owned(),
        false if ids.iter().all(|id| id.contains(wanted)) => "use more of the id".to_owned(),
        false => format!("use the id, or a part of it such as {}", short_id(ids[0], &ids)),
    };
    Failure::new(Code::Ambiguous, message).hint(hint).matches(matches.collect())
}
