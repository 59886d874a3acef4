//! `jig-session wait`: until a session settles, or whatever else is waited for.

use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use jig_session_schema::documents::Wait;
use jig_session_schema::limits::{POLL_INTERVAL, RESTORE_INTERVAL};
use jig_session_schema::row::{Detail, Row, Verdict};
use jig_session_schema::status::State;
use jig_session_schema::time::Timestamp;
use jig_session_store::is_live;

use crate::app::App;
use crate::failure::{Code, Exit, Failure, Outcome};
use crate::follow::Follow;
use crate::{select, view};
use jig_session_view::rows;
use jig_session_view::sanitise::clean;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[arg(help = select::ARGUMENT)]
    session: String,
    /// What to wait for; settled is idle or attention, appear is a session that need not be there yet
    #[arg(long = "for", value_name = "WHAT", default_value = "settled", value_parser = ["settled", "idle", "attention", "busy", "gone", "appear"])]
    what: String,
    /// Give up after this many seconds
    #[arg(long, value_name = "S", value_parser = seconds)]
    timeout: Option<Duration>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|_| "not a number of seconds".to_owned())
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    let deadline = args.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    view::note_ignored(app);
    let mut follow = Follow::new(app);
    let mut at;
    let mut row = loop {
        let view = follow.look()?;
        at = view.at;
        match (select::pick(app, &view, &args.session), args.what.as_str()) {
            (Ok(session), "appear") if !is_live(&session.row) => {}
            (Ok(session), _) => break session.row.clone(),
            (Err(failure), "appear") if failure.code == Code::NotFound => {}
            (Err(failure), "gone") if failure.code == Code::NotFound => {
                app.note(&format!("{}: it counts as gone", failure.message));
                return end(app, gone(&args.session), at);
            }
            (Err(failure), _) => return Err(failure),
        }
        if is_over(deadline) {
            let message = format!("no live session is named {:?} when the time is up", args.session);
            return Err(Failure::new(Code::Timeout, message));
        }
        follow.wait(deadline);
    };
    let mut there = true;
    let mut moved = Moved { known: sessions_folder(app), since: None };
    loop {
        let live = there && is_live(&row);
        if is_reached(&args.what, &row, live) && (args.what == "appear" || !(live && rows::is_stopped(&row))) {
            return end(app, row, at);
        }
        if !live {
            let failure = Failure::new(Code::Gone, format!("session {} ended first", row.session));
            return Err(failure.path(&row.path));
        }
        if rows::is_stopped(&row) && args.what != "gone" {
            let pid = row.pid.map_or_else(String::new, |pid| format!(": kill -CONT {pid}, or fg in its terminal"));
            let failure = Failure::new(Code::Stopped, format!("session {} is stopped", row.session));
            return Err(failure.hint(format!("let it go on{pid}")).path(&row.path));
        }
        if is_over(deadline) {
            let state = rows::state(&row).0;
            let message = format!("session {} is {state}, not {}, when the time is up", row.session, args.what);
            return Err(Failure::new(Code::Timeout, message));
        }
        follow.wait(deadline);
        let view = follow.look()?;
        at = view.at;
        match view.rows().find(|now| now.session == row.session && now.host == row.host) {
            Some(now) => {
                row = now.clone();
                moved = Moved { known: sessions_folder(app), since: None };
            }
            None => there = moved.may_come_back(sessions_folder(app), Instant::now()),
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
        folder != self.known && now.saturating_duration_since(*self.since.get_or_insert(now)) < Self::FOLLOWED
    }
}

fn is_over(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| Instant::now() >= deadline)
}

/// A session that has no file any more: all that is known of it is that it is over.
fn gone(session: &str) -> Row {
    Row::new().session(session.to_owned()).verdict(Verdict::Gone)
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
