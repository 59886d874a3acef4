//! `jig-session watch`: the sessions as they come, change and go.

mod exec;
mod lines;
mod program_status;

use std::time::{Duration, Instant};

use jig_session_export::notices::{Notices, Rules, Transition};
use jig_session_schema::row::{Problem, Row};
use jig_session_schema::time::Timestamp;
use jig_session_store::{Change, Tracker, Why};
use serde_json::{Map, Value};

use self::exec::Outlets;
use self::lines::OutputLine;
use self::program_status::ProgramStatus;
use super::filter::FilterArgs;
use crate::app::App;
use crate::broker::FleetArgs;
use crate::duration;
use crate::elsewhere::{Elsewhere, Followed};
use crate::failure::{Failure, Outcome};
use crate::follow::Follow;
use crate::on::OnArgs;
use crate::view::{self, Narrow, View};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Include ended sessions and hidden cards
    #[arg(long, short)]
    all: bool,
    /// Write the sessions as a terminal's program status (OSC 7501) instead of lines
    #[arg(long, conflicts_with_all = ["exec", "notify"])]
    program_status: bool,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    on: OnArgs,
    #[command(flatten)]
    fleet: FleetArgs,
    #[command(flatten)]
    notices: NoticeArgs,
}

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "What else to do")]
struct NoticeArgs {
    /// Run this shell command at every transition, described by JIG_CHANGE, JIG_SESSION, JIG_NAME, JIG_REASON and others
    #[arg(long, value_name = "CMD")]
    exec: Option<String>,
    /// Notify the desktop: notify-send, osascript, or the terminal itself (OSC 9 or 777) where there is no desktop
    #[arg(long)]
    notify: bool,
    /// At which transitions: attention, settled, gone, added
    #[arg(long = "for", value_name = "WHAT", value_delimiter = ',', default_value = "attention,settled,gone")]
    transitions: Vec<Transition>,
    /// Only of turns that took at least this long, such as 30s
    #[arg(long, value_name = "SPAN", value_parser = duration::parse_ms)]
    after: Option<i64>,
    /// Only of what has held for this long
    #[arg(long, value_name = "SPAN", default_value = "1s", value_parser = duration::parse_ms)]
    debounce: i64,
    /// Notify again of a wait that nobody has answered for this long, such as 10m
    #[arg(long, value_name = "SPAN", value_parser = duration::parse_ms)]
    escalate: Option<i64>,
    /// No notices about this session: its id or a part of it, its name, its terminal
    #[arg(long, value_name = "SESSION")]
    mute: Vec<String>,
}

impl NoticeArgs {
    fn rules(&self) -> Rules {
        Rules {
            transitions: self.transitions.iter().copied().collect(),
            after_ms: self.after,
            debounce_ms: self.debounce,
            escalate_ms: self.escalate,
            muted: self.mute.clone(),
        }
    }
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    let elsewhere = Elsewhere::open(Some(&args.on), &args.fleet, app)?;
    app.end_with_reader();
    view::note_ignored(app);
    let mut follow = Follow::new(app);
    let mut watch = Watch {
        app,
        all: args.all,
        narrow: args.filter.narrow(),
        tracker: Tracker::default(),
        status: args.program_status.then(ProgramStatus::start).transpose()?,
        outlets: Outlets::open(app, args.notices.exec.as_deref(), args.notices.notify)?,
        notices: Notices::new(args.notices.rules()),
        elsewhere: elsewhere.follow(app, args.all, &follow.nudge())?,
        ready: false,
    };
    let mut trouble = None;
    let mut at = {
        let first = follow.look()?;
        watch.look(&first)?;
        first.at
    };
    if let Some(elsewhere) = &watch.elsewhere {
        // What other machines have is reported before everything that was there counts as reported.
        elsewhere.settle();
        let again = follow.look()?;
        watch.look(&again)?;
        at = again.at;
    }
    watch.ready = true;
    if watch.status.is_none() {
        OutputLine::ready(at).print(app, &[])?;
    }
    loop {
        follow.wait(watch.due(app.now()));
        match follow.look() {
            Ok(view) => {
                trouble = None;
                watch.look(&view)?;
            }
            // A folder that cannot be read for a moment ends nothing; it is said once.
            Err(failure) => {
                let text = failure.to_string();
                if trouble.as_ref() != Some(&text) {
                    app.note(&text);
                    trouble = Some(text);
                }
            }
        }
    }
}

/// What a watch remembers between two looks.
struct Watch<'a> {
    app: &'a App,
    all: bool,
    narrow: Narrow,
    tracker: Tracker,
    status: Option<ProgramStatus>,
    outlets: Outlets,
    notices: Notices,
    elsewhere: Option<Followed>,
    /// Everything that was there has been reported.
    ready: bool,
}

impl Watch<'_> {
    fn look(&mut self, view: &View) -> Result<(), Failure> {
        let theirs = self.elsewhere.as_ref().map(Followed::look).unwrap_or_default();
        let listed = view.listed(self.all).map(|session| &session.row).chain(&theirs.rows);
        // A session that no longer matches is reported one last time, so that its line says what it does now.
        let (followed, matching): (Vec<Row>, Vec<bool>) = listed
            .map(|row| (row, self.narrow.takes(row)))
            .filter(|(row, matches)| *matches || self.tracker.follows(row))
            .map(|(row, matches)| (row.clone(), matches))
            .unzip();
        let others: Vec<Row> = view.rows().chain(&theirs.went).cloned().collect();
        let problems: Vec<Problem> = view.problems.iter().chain(&theirs.problems).cloned().collect();
        let changes = self.tracker.update(&followed, &others, &problems, beside);
        if self.outlets.are_open() {
            let went: Vec<(&Row, Why)> = changes.iter().filter_map(went).collect();
            let came = |row: &Row| match &row.host {
                Some(host) => !theirs.arriving.contains(host),
                None => self.ready,
            };
            for notice in self.notices.look(view.at, &followed.iter().collect::<Vec<_>>(), &went, came) {
                self.outlets.tell(notice, self.app);
            }
        }
        if let Some(status) = &mut self.status {
            status.show(followed.iter().zip(&matching).filter(|(_, matches)| **matches).map(|(row, _)| row))?;
        } else {
            for change in changes {
                OutputLine::change(change, view.at).print(self.app, &followed)?;
            }
        }
        for (row, _) in followed.iter().zip(matching).filter(|(_, matches)| !matches) {
            self.tracker.forget(row);
        }
        Ok(())
    }

    /// When to look again although nothing has changed.
    fn due(&self, now: Timestamp) -> Option<Instant> {
        let left = self.notices.next_ms()?.saturating_sub(now.epoch_ms()).max(0);
        Instant::now().checked_add(Duration::from_millis(left.unsigned_abs()))
    }
}

fn went(change: &Change) -> Option<(&Row, Why)> {
    match change {
        Change::Removed(row, why) => Some((row, *why)),
        _ => None,
    }
}

/// What is followed besides the row: what was switched in a session, and what became of a request.
fn beside(row: &Row) -> Option<Map<String, Value>> {
    if row.host.is_some() {
        // A path of another machine is none of this one.
        return None;
    }
    let document = view::document(row).ok()?;
    Some(document.into_iter().filter(|(name, _)| name == "tools" || name == "lastRequest").collect())
}
