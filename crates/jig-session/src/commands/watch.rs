//! `jig-session watch`: the sessions as they come, change and go.

use std::io;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Sender, channel};

use jig_session_schema::documents::{
    RemovedWhy, WatchAdded, WatchChanged, WatchLine, WatchProblem, WatchReady, WatchRemoved,
};
use jig_session_schema::row::Row;
use jig_session_schema::time::Timestamp;
use jig_session_store::{Change, Tracker, Why};
use serde_json::{Map, Value};

use crate::app::App;
use crate::failure::{Failure, Outcome};
use crate::follow::Follow;
use crate::view::{self, View};
use jig_session_view::rows;
use jig_session_view::sanitise::clean;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Include ended sessions and hidden cards
    #[arg(long, short)]
    all: bool,
    /// Run this shell command for every line, one after another, with JIG_CHANGE JIG_SESSION JIG_AGENT JIG_NAME
    /// JIG_STATE JIG_REASON JIG_SINCE JIG_CWD JIG_PATH in its environment
    #[arg(long, value_name = "CMD")]
    exec: Option<String>,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    let runner = args.exec.as_deref().map(|command| Runner::start(command, app.json));
    app.end_with_reader();
    view::note_ignored(app);
    let mut follow = Follow::new(app);
    let mut tracker = Tracker::default();
    let mut trouble = None;
    let first = follow.look()?;
    tell(app, runner.as_ref(), &mut tracker, &first, args.all)?;
    line(app, runner.as_ref(), &OutputLine::ready(first.at), &[])?;
    loop {
        follow.wait(None);
        match follow.look() {
            Ok(view) => {
                trouble = None;
                tell(app, runner.as_ref(), &mut tracker, &view, args.all)?;
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

fn tell(app: &App, runner: Option<&Runner>, tracker: &mut Tracker, view: &View, all: bool) -> Result<(), Failure> {
    let listed: Vec<Row> = view.listed(all).map(|session| session.row.clone()).collect();
    let others: Vec<Row> = view.rows().cloned().collect();
    for change in tracker.update(&listed, &others, &view.problems, beside) {
        line(app, runner, &OutputLine::change(change, view.at), &listed)?;
    }
    Ok(())
}

/// What is followed besides the row: what was switched in a session, and what became of a request.
fn beside(row: &Row) -> Option<Map<String, Value>> {
    let document = view::document(row).ok()?;
    Some(document.into_iter().filter(|(name, _)| name == "tools" || name == "lastRequest").collect())
}

fn line(app: &App, runner: Option<&Runner>, told: &OutputLine, listed: &[Row]) -> Result<(), Failure> {
    if app.json {
        app.print_json(&told.line)?;
    } else if let Some(text) = told.text(app, listed) {
        app.print(&text)?;
    }
    if let Some(runner) = runner {
        runner.run(told.variables());
    }
    Ok(())
}

/// One line, and the row it is about.
struct OutputLine {
    line: WatchLine,
    row: Option<Row>,
    /// What is followed besides the row.
    beside: Map<String, Value>,
    at: Timestamp,
}

impl OutputLine {
    fn ready(at: Timestamp) -> Self {
        let mut ready = WatchReady::new();
        ready.at = at;
        Self { line: ready.into(), row: None, beside: Map::new(), at }
    }

    fn change(change: Change, at: Timestamp) -> Self {
        let mut beside = Map::new();
        let (line, row) = match change {
            Change::Added(row) => {
                let mut added = WatchAdded::new().session(row.clone());
                added.at = at;
                (added.into(), Some(row))
            }
            Change::Changed(row, fields, followed) => {
                beside = followed;
                let mut changed = WatchChanged::new().session(row.clone()).fields(fields);
                changed.at = at;
                (changed.into(), Some(row))
            }
            Change::Removed(row, why) => {
                let mut removed = WatchRemoved::new().session(row.clone());
                removed.at = at;
                removed.why = match why {
                    Why::Ended => RemovedWhy::Ended,
                    Why::Gone => RemovedWhy::Gone,
                    Why::Reused => RemovedWhy::Reused,
                };
                (removed.into(), Some(row))
            }
            Change::Problem(problem) => {
                let mut told = WatchProblem::new().problem(problem);
                told.at = at;
                (told.into(), None)
            }
        };
        Self { line, row, beside, at }
    }

    /// The line for people, beside the sessions that are listed.
    fn text(&self, app: &App, listed: &[Row]) -> Option<String> {
        let time = self.at.to_string();
        let time = time.get(11..19).unwrap_or_default();
        let home = app.places().home;
        let about = |row: &Row| {
            let (agent, title) = (row.agent_name(), rows::title_among(row, listed));
            format!("{}  {}  {}", clean(&agent), clean(&title), clean(&rows::folder(&row.cwd, &home)))
        };
        match (&self.line, &self.row) {
            (WatchLine::Added(_), Some(row)) => {
                Some(format!("{time}Z + {:<10} {}\n", clean(&rows::state(row).0), about(row)))
            }
            (WatchLine::Changed(changed), Some(row)) => {
                let fields =
                    changed.fields.iter().filter(|field| *field != "updatedAt").map(|field| said(field, &self.beside));
                let fields = fields.collect::<Vec<_>>().join(" ");
                Some(format!("{time}Z ~ {:<10} {}  ({fields})\n", clean(&rows::state(row).0), about(row)))
            }
            (WatchLine::Removed(removed), Some(row)) => Some(format!("{time}Z - {:<10} {}\n", removed.why, about(row))),
            (WatchLine::Problem(told), _) => {
                let problem = &told.problem;
                let path = problem.path.as_deref().unwrap_or_default();
                Some(format!("{time}Z ! {}  {}  {}\n", clean(&problem.reason), clean(path), clean(&problem.message)))
            }
            _ => None,
        }
    }

    /// The command's environment; unknown values are empty.
    fn variables(&self) -> Vec<(&'static str, String)> {
        let mut variables = vec![("JIG_CHANGE", self.line.word().to_owned())];
        let (mut reason, mut path) = (String::new(), String::new());
        match &self.line {
            WatchLine::Removed(removed) => reason = removed.why.to_string(),
            WatchLine::Problem(told) => {
                reason = told.problem.reason.to_string();
                path = told.problem.path.clone().unwrap_or_default();
            }
            _ => {}
        }
        let row = self.row.as_ref();
        let attention = row.and_then(|row| row.attention.as_ref());
        if let (Some(attention), true) = (attention, reason.is_empty()) {
            reason = attention.reason.to_string();
        }
        let of = |take: fn(&Row) -> String| row.map(take).unwrap_or_default();
        variables.extend([
            ("JIG_SESSION", of(|row| row.session.clone())),
            ("JIG_AGENT", of(|row| row.agent_name().to_string())),
            ("JIG_NAME", of(|row| row.name.clone().unwrap_or_default())),
            ("JIG_STATE", of(|row| row.state.to_string())),
            ("JIG_REASON", reason),
            ("JIG_SINCE", of(|row| rows::in_state_since(row).map(|at| at.to_string()).unwrap_or_default())),
            ("JIG_CWD", of(|row| row.cwd.clone())),
            ("JIG_PATH", row.map_or(path, |row| row.path.clone())),
        ]);
        variables
    }
}

/// A changed field for people: its name, and what is in it where that is not in the row.
fn said(field: &str, beside: &Map<String, Value>) -> String {
    let value = beside.get(field);
    let part = |name: &str| value.and_then(|value| value.get(name));
    let count = |name: &str| part(name).and_then(Value::as_u64);
    let text = |name: &str| part(name).and_then(Value::as_str).map(clean);
    match (field, count("active"), count("total"), text("message"), text("reload")) {
        ("tools", Some(active), Some(total), ..) => format!("tools: {active} of {total}"),
        ("lastRequest", _, _, Some(message), Some(reload)) => format!("lastRequest: {message}, reload {reload}"),
        ("lastRequest", _, _, Some(message), None) => format!("lastRequest: {message}"),
        _ => field.to_owned(),
    }
}

/// Runs the command for one change after another, so that a slow one delays no line.
struct Runner {
    queue: Sender<Vec<(&'static str, String)>>,
}

impl Runner {
    fn start(command: &str, json: bool) -> Self {
        let (queue, changes) = channel();
        let command = command.to_owned();
        std::thread::spawn(move || {
            for variables in changes {
                run_one(&command, variables, json);
            }
        });
        Self { queue }
    }

    fn run(&self, variables: Vec<(&'static str, String)>) {
        // The thread ends only with this value.
        let _ = self.queue.send(variables);
    }
}

/// The command's failure is its own affair: it says so on stderr itself.
fn run_one(command: &str, variables: Vec<(&'static str, String)>, json: bool) {
    let mut shell = Command::new("/bin/sh");
    // NUL cannot stand in a variable, and a file can hold it.
    let variables = variables.into_iter().map(|(name, value)| (name, value.replace('\0', "\u{fffd}")));
    shell.arg("-c").arg(command).envs(variables).stdin(Stdio::null());
    if json {
        // Stdout holds documents only.
        let Ok(stderr) = io::stderr().as_fd().try_clone_to_owned() else { return };
        shell.stdout(stderr);
    }
    let _ = shell.status();
}
