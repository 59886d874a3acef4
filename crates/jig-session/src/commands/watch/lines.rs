//! The lines of `watch`: one a change, as a document or as text.

use jig_session_schema::documents::{
    RemovedWhy, WatchAdded, WatchChanged, WatchLine, WatchProblem, WatchReady, WatchRemoved,
};
use jig_session_schema::row::Row;
use jig_session_schema::time::Timestamp;
use jig_session_store::{Change, Why};
use serde_json::{Map, Value};

use crate::app::App;
use crate::failure::Failure;
use jig_session_view::rows;
use jig_session_view::sanitise::clean;

/// One line, and the row it is about.
pub(super) struct OutputLine {
    line: WatchLine,
    row: Option<Row>,
    /// What is followed besides the row.
    beside: Map<String, Value>,
    at: Timestamp,
}

impl OutputLine {
    pub(super) fn ready(at: Timestamp) -> Self {
        let mut ready = WatchReady::new();
        ready.at = at;
        Self { line: ready.into(), row: None, beside: Map::new(), at }
    }

    pub(super) fn change(change: Change, at: Timestamp) -> Self {
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

    /// Prints it: every change with `--json`, and what people want to read without.
    pub(super) fn print(&self, app: &App, listed: &[Row]) -> Result<(), Failure> {
        if app.json {
            app.print_json(&self.line)
        } else if let Some(text) = self.text(app, listed) {
            app.print(&text)
        } else {
            Ok(())
        }
    }

    fn text(&self, app: &App, listed: &[Row]) -> Option<String> {
        let time = self.at.to_string();
        let time = time.get(11..19).unwrap_or_default();
        let home = app.places().home;
        let about = |row: &Row| {
            let (agent, title) = (row.agent_name(), rows::title_among(row, listed));
            let (host, folder) = match &row.host {
                Some(host) => (format!("{host}: "), row.cwd.clone()),
                None => (String::new(), rows::folder(&row.cwd, &home)),
            };
            format!("{}  {}{}  {}", clean(&agent), clean(&host), clean(&title), clean(&folder))
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
                let path = problem.path.as_deref().or(problem.host.as_deref()).unwrap_or_default();
                Some(format!("{time}Z ! {}  {}  {}\n", clean(&problem.reason), clean(path), clean(&problem.message)))
            }
            _ => None,
        }
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
