//! `jig-session wait`: until a session settles, or whatever else is waited for.

use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use jig_session_schema::documents::Wait;
use jig_session_schema::limits::{POLL_INTERVAL, RESTORE_INTERVAL};
use jig_session_schema::row::{Detail, Row, Verdict};
use jig_session_schema::status::State;
use jig_session_schema::time::Timestamp;
use jig_session_store::is_live;

use super::filter::FilterArgs;
use crate::app::App;
use crate::broker::FleetArgs;
use crate::elsewhere::Elsewhere;
use crate::failure::{Code, Exit, Failure, Outcome};
use crate::follow::Follow;
use crate::select;
use crate::view::{self, View};
use jig_session_view::rows;
use jig_session_view::sanitise::clean;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[arg(help = select::ARGUMENT, add = select::completer(), required_unless_present_any = ["state", "agent", "repo", "here"])]
    session: Option<String>,
    /// What to wait for; settled is idle or attention, appear is a session that need not be there yet
    #[arg(long = "for", value_name = "WHAT", default_value = "settled", value_parser = ["settled", "idle", "attention", "busy", "gone", "appear"])]
    what: String,
    /// Give up after this many seconds
    #[arg(long, value_name = "S", value_parser = seconds)]
    timeout: Option<Duration>,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    fleet: FleetArgs,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|_| "not a number of seconds".to_owned())
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    let deadline = args.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    view::note_ignored(app);
    let mut follow = Follow::new(app).with(Elsewhere::open(None, &args.fleet, app)?, false)?;
    let (mut at, mut looked_in);
    let mut rows = loop {
        // Asked before the look: a folder that is moved between the two counts as moved.
        looked_in = sessions_folder(app);
        let view = follow.look()?;
        at = view.at;
        match (wanted(args, app, &view), args.what.as_str()) {
            (Ok(rows), "appear") if !rows.iter().any(is_live) => {}
            (Ok(rows), _) => break rows,
            (Err(failure), "appear") if failure.code == Code::NotFound => {}
            (Err(failure), "gone") if failure.code == Code::NotFound && args.session.is_some() => {
                app.note(&format!("{}: it counts as gone", failure.message));
                return end(app, gone(args.session.as_deref().unwrap_or_default()), at);
            }
            (Err(failure), _) => return Err(failure),
        }
        if is_over(deadline) {
            let message = match &args.session {
                Some(session) => format!("no live session is named {session:?} when the time is up"),
                None => "no live session matches the filter when the time is up".to_owned(),
            };
            return Err(Failure::new(Code::Timeout, message));
        }
        follow.wait(deadline);
    };
    let mut moved = Moved { known: looked_in, since: None };
    loop {
        let counts = |row: &Row| args.what == "appear" || !(is_live(row) && rows::is_stopped(row));
        if let Some(row) = rows.iter().find(|row| is_reached(&args.what, row, is_live(row)) && counts(row)) {
            return end(app, row.clone(), at);
        }
        let last = rows.first().cloned().unwrap_or_default();
        rows.retain(is_live);
        if rows.is_empty() {
            let failure = Failure::new(Code::Gone, format!("session {} ended first", last.session));
            return Err(failure.path(&last.path));
        }
        if let Some(row) = rows.first().filter(|_| args.what != "gone" && rows.iter().all(rows::is_stopped)) {
            return Err(stopped(row));
        }
        if is_over(deadline) {
            return Err(timed_out(&rows, &args.what));
        }
        follow.wait(deadline);
        looked_in = sessions_folder(app);
        let view = follow.look()?;
        at = view.at;
        let found = |row: &Row| view.rows().find(|now| now.session == row.session && now.host == row.host).cloned();
        let now: Vec<Option<Row>> = rows.iter().map(found).collect();
        // A folder that moved away takes every file with it, and may come back.
        let may_come_back = if now.iter().any(Option::is_some) {
            moved = Moved { known: looked_in, since: None };
            false
        } else {
            moved.may_come_back(sessions_folder(app), Instant::now())
        };
        for (row, now) in rows.iter_mut().zip(now) {
            match now {
                Some(now) => *row = now,
                None if may_come_back => {}
                // Its file is gone, and with it all that says otherwise.
                None => row.verdict = Verdict::Gone,
            }
        }
    }
}

/// Which folder the path of the status files leads to.
fn sessions_folder(app: &App) -> Option<(u64, u64)> {
    let found = std::fs::metadata(&app.places().sessions).ok()?;
    Some((found.dev(), found.ino()))
}

/// A folder that was moved away, by a backup say, takes no session with it: its publisher follows the path.
struct Moved {
    /// The folder in which the session was seen last.
    known: Option<(u64, u64)>,
    /// Since when the path leads elsewhere.
    since: Option<Instant>,
}

impl Moved {
    /// How soon a publisher has put its file where the path leads, and we have looked there.
    const FOLLOWED: Duration = RESTORE_INTERVAL.saturating_add(POLL_INTERVAL);

    /// Whether the session's file is only not there yet.
    fn may_come_back(&mut self, folder: Option<(u64, u64)>, now: Instant) -> bool {
        if folder != self.known {
            self.since.get_or_insert(now);
        }
        // A folder that is back may lack the file too, until its publisher has looked.
        self.since.is_some_and(|since| now.saturating_duration_since(since) < Self::FOLLOWED)
    }
}

fn is_over(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| Instant::now() >= deadline)
}

/// A session that has no file any more: all that is known of it is that it is over.
fn gone(session: &str) -> Row {
    Row::new().session(session.to_owned()).verdict(Verdict::Gone)
}

/// The sessions of which one is waited for: the one that is named, or the live ones that the filter takes now.
fn wanted(args: &Args, app: &App, view: &View) -> Result<Vec<Row>, Failure> {
    let mut narrow = args.filter.narrow();
    let Some(session) = &args.session else {
        let rows = view.listed(false).map(|session| &session.row);
        let rows: Vec<Row> = rows.filter(|row| narrow.takes(row)).cloned().collect();
        if rows.is_empty() {
            let failure = Failure::new(Code::NotFound, "no live session matches the filter");
            return Err(failure.hint("see jig-session ls"));
        }
        return Ok(rows);
    };
    let row = select::pick(app, view, session)?.row.clone();
    if narrow.takes(&row) {
        return Ok(vec![row]);
    }
    let failure = Failure::new(Code::NotFound, format!("session {} does not match the filter", row.session));
    Err(failure.hint("name the session or filter, not both").path(&row.path))
}

fn stopped(row: &Row) -> Failure {
    let pid = row.pid.map_or_else(String::new, |pid| format!(": kill -CONT {pid}, or fg in its terminal"));
    let failure = Failure::new(Code::Stopped, format!("session {} is stopped", row.session));
    failure.hint(format!("let it go on{pid}")).path(&row.path)
}

fn timed_out(rows: &[Row], what: &str) -> Failure {
    let message = match rows {
        [row] => format!("session {} is {}, not {what}, when the time is up", row.session, rows::state(row).0),
        _ => format!("none of {} sessions is {what} when the time is up", rows.len()),
    };
    Failure::new(Code::Timeout, message)
}

fn is_reached(what: &str, row: &Row, live: bool) -> bool {
    let (waits, state) = (row.attention.is_some(), row.state);
    match what {
        "gone" => !live,
        "appear" => live,
        // What nobody keeps up to date may have ended long ago, or not.
        _ if !live || row.detail == Some(Detail::NO_PUBLISHER) => false,
        "idle" => state == State::Idle,
        "busy" => state == State::Busy,
        "attention" => waits,
        _ => waits || state == State::Idle,
    }
}

fn end(app: &App, row: Row, at: Timestamp) -> Outcome {
    if app.json {
        let mut wait = Wait::new().session(row);
        wait.at = at;
        app.print_json(&wait)?;
    } else {
        let state = rows::state(&row).0;
        app.print(&format!("{} {}\n", clean(&rows::title(&row)), clean(&state)))?;
    }
    Ok(Exit::OK)
}
