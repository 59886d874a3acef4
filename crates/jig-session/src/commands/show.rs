//! `jig-session show`: one session with its whole file.

use jig_session_schema::documents::Show;
use jig_session_schema::row::{Problem, Row};
use jig_session_schema::status::Status;
use jig_session_schema::time::Timestamp;
use serde_json::{Map, Value};

use crate::app::App;
use crate::broker::FleetArgs;
use crate::elsewhere::Elsewhere;
use crate::failure::{Code, Exit, Failure, Outcome};
use crate::on::{self, On, OnArgs};
use crate::{select, view};
use jig_session_view::sanitise::clean;
use jig_session_view::table::{Cell, Column, Table};
use jig_session_view::{ages, rows};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[arg(help = select::ARGUMENT, add = select::completer())]
    session: String,
    #[command(flatten)]
    on: OnArgs,
    #[command(flatten)]
    fleet: FleetArgs,
}

/// What of the file stands among the facts or in the tables; `*` is any index of a list. The rest is printed below.
#[rustfmt::skip]
const ELSEWHERE: &[&str] = &[
    "schema", "session", "name", "agent.name", "agent.version", "state", "cwd", "model.name", "context.percent",
    "context.tokens", "context.window", "usage.cost", "background", "terminal", "pid", "startedAt", "ticket.key",
    "ticket.title", "workflow.current", "outputs.*.path", "outputs.*.action", "outputs.*.at", "recent.*.tool",
    "recent.*.action", "recent.*.outcome", "recent.*.at",
];
/// What has a command of its own.
const DETAIL: &str = "contextDetail";

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    view::note_ignored(app);
    let on = args.on.open(app)?;
    let elsewhere = Elsewhere::open(None, &args.fleet, app)?;
    let view = view::load_with(app, elsewhere)?;
    let own = select::pick(app, &view, &args.session);
    let show = match on {
        None => Ok((own?.row.clone(), None)),
        Some(on) => one_of(own.map(|session| session.row.clone()), theirs(&on, &args.session)?, &args.session),
    }?;
    let (row, document) = match show {
        (row, Some(document)) => (row, document),
        // Of a session that came through a broker the row is all there is.
        (row, None) if row.host.is_some() => {
            let document = row.to_document();
            (row, document)
        }
        (row, None) => {
            let document = view::document(&row)?;
            (row, document)
        }
    };
    if app.json {
        let mut show = Show::new().session(row).document(document);
        show.at = view.at;
        app.print_json(&show)?;
    } else {
        let rest = rest(&document);
        let status = Status::read_value(document.into()).ok().map(|read| read.value);
        app.print(&(text(app, &row, status.as_ref(), view.at) + &rest))?;
    }
    Ok(Exit::OK)
}

/// A session of another machine, with its document.
type Theirs = (Row, Map<String, Value>);

/// The sessions that other machines know by this name.
fn theirs(on: &On, session: &str) -> Result<Vec<Theirs>, Failure> {
    if session == "." {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for (host, answer) in on.ask(&["show", "--json", "--", session]) {
        match answer {
            Ok(bytes) => {
                let read = Show::read(&bytes)
                    .map_err(|error| failed(&on::unreadable(host, error.reason(), &error.to_string())))?;
                found.push((read.value.session.host(Some(host.name().to_owned())), read.value.document));
            }
            // It has no such session, or several: it says so by its exit code.
            Err(none) if none.exit == Some(Code::NotFound.exit().into()) => {}
            Err(none) => return Err(failed(&none.problem)),
        }
    }
    Ok(found)
}

fn failed(problem: &Problem) -> Failure {
    let host = problem.host.as_deref().unwrap_or_default();
    Failure::new(Code::Io, format!("{host}: {}", problem.message))
        .hint("leave this host out, or see to it that ssh reaches it without a question")
}

/// The one session of this machine or another that is meant.
fn one_of(
    own: Result<Row, Failure>,
    mut theirs: Vec<Theirs>,
    wanted: &str,
) -> Result<(Row, Option<Map<String, Value>>), Failure> {
    let own = match own {
        Err(failure) if failure.code == Code::NotFound && !theirs.is_empty() => None,
        own => Some(own?),
    };
    match (own, theirs.len()) {
        (Some(row), 0) => Ok((row, None)),
        (None, 1) => {
            let (row, document) = theirs.remove(0);
            Ok((row, Some(document)))
        }
        (own, _) => {
            let here = own.map(|row| row.session).into_iter();
            let there =
                theirs.iter().map(|(row, _)| format!("{} on {}", row.session, row.host.as_deref().unwrap_or_default()));
            let candidates: Vec<String> = here.chain(there).collect();
            let message = format!("{wanted:?} names sessions of {} machines", candidates.len());
            Err(Failure::new(Code::Ambiguous, message).hint("use more of the id").candidates(candidates))
        }
    }
}

fn text(app: &App, row: &Row, status: Option<&Status>, now: Timestamp) -> String {
    let home = app.places().home;
    let (state, _) = rows::state(row);
    let age = |at| Some(ages::since(at, now)).filter(|age| !age.is_empty());
    let since = age(rows::in_state_since(row)).map_or(String::new(), |age| format!(" for {age}"));
    let detail = row.detail.as_ref().map_or(String::new(), |detail| format!(" ({detail})"));
    let version = row.agent.as_ref().and_then(|agent| agent.version.clone()).unwrap_or_default();
    let context = context(row);
    let mut facts = vec![
        ("session", row.session.clone()),
        ("name", row.name.clone().unwrap_or_default()),
        ("agent", format!("{} {version}", row.agent_name())),
        ("state", format!("{state}{since}")),
        ("verdict", format!("{}{detail}", row.verdict)),
        ("folder", rows::folder(&row.cwd, &home)),
        (
            "model",
            row.model.as_ref().map_or(String::new(), |model| model.name.clone().unwrap_or_else(|| model.id.clone())),
        ),
        ("context", context),
        ("cost", ages::dollars(row.usage.as_ref().and_then(|usage| usage.cost))),
        ("background", row.background.filter(|count| *count > 0).map_or(String::new(), |count| count.to_string())),
        ("terminal", row.terminal.clone().or_else(|| row.tmux_pane.clone()).unwrap_or_default()),
        ("pid", row.pid.map_or(String::new(), |pid| pid.to_string())),
        ("started", age(row.started_at).map_or(String::new(), |age| format!("{age} ago"))),
        ("file", row.path.clone()),
        ("host", row.host.clone().unwrap_or_default()),
    ];
    let mut out = String::new();
    let mut lists = String::new();
    if let Some(status) = status {
        let ticket = status.ticket.as_ref();
        facts.push((
            "ticket",
            ticket.map_or(String::new(), |ticket| {
                format!("{} {}", ticket.key, ticket.title.as_deref().unwrap_or_default())
            }),
        ));
        let stage = status.workflow.as_ref().and_then(|workflow| workflow.current.clone());
        facts.push(("stage", stage.unwrap_or_default()));
        lists = lists_of(app, status, now);
    }
    for (name, value) in facts {
        let value = clean(value.trim());
        if !value.is_empty() {
            out.push_str(&format!("{name:<11}{value}\n"));
        }
    }
    out + &lists
}

/// Everything else that the file says, fields of later versions included: a line each, with the way to it.
fn rest(document: &Map<String, Value>) -> String {
    let mut lines = Vec::new();
    for (key, value) in document.iter().filter(|(key, _)| *key != DETAIL) {
        leaves(key, key, value, &mut lines);
    }
    if document.get(DETAIL).is_some_and(Value::is_object) {
        lines.push((DETAIL.to_owned(), "see jig-session context".to_owned()));
    }
    let width = lines.iter().map(|(way, _)| way.chars().count()).max().unwrap_or_default();
    let text: String = lines.iter().map(|(way, value)| format!("{:<width$}  {}\n", clean(way), clean(value))).collect();
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// The values below a field that are shown nowhere else; null is unknown, and is not shown. `kind` is the way
/// with `*` for any place of a list.
fn leaves(way: &str, kind: &str, value: &Value, lines: &mut Vec<(String, String)>) {
    match value {
        Value::Null => {}
        Value::String(text) if text.is_empty() => {}
        Value::Object(fields) => {
            for (key, value) in fields {
                leaves(&format!("{way}.{key}"), &format!("{kind}.{key}"), value, lines);
            }
        }
        Value::Array(values) if values.iter().any(|value| value.is_object() || value.is_array()) => {
            for (place, value) in values.iter().enumerate() {
                leaves(&format!("{way}.{place}"), &format!("{kind}.*"), value, lines);
            }
        }
        Value::Array(values) if values.is_empty() => {}
        _ if ELSEWHERE.contains(&kind) => {}
        Value::Array(values) => lines.push((way.to_owned(), values.iter().map(word).collect::<Vec<_>>().join(" "))),
        value => lines.push((way.to_owned(), word(value))),
    }
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn context(row: &Row) -> String {
    match (row.context.tokens, row.context.window) {
        (Some(tokens), Some(window)) => {
            let percent = ages::percent(row.context.percent);
            format!("{percent} ({} of {} tokens)", ages::tokens(tokens), ages::tokens(window))
        }
        _ => ages::percent(row.context.percent),
    }
}

fn lists_of(app: &App, status: &Status, now: Timestamp) -> String {
    let column = |title| Column::new(title, 6, 0);
    let mut outputs = Table::new(&[column("OUTPUT"), column("ACTION"), column("AGO")]);
    for output in &status.outputs {
        let ago = ages::since(output.at, now);
        outputs.push(vec![Cell::path(&output.path), Cell::new(&*output.action), Cell::new(ago)]);
    }
    let mut calls = Table::new(&[column("CALL"), column("ACTION"), column("OUTCOME"), column("AGO")]);
    for call in &status.recent {
        calls.push(vec![
            Cell::new(&*call.tool),
            Cell::new(call.action.as_deref().unwrap_or_default()),
            Cell::new(call.outcome.as_str()),
            Cell::new(ages::since(call.at, now)),
        ]);
    }
    let mut out = String::new();
    for table in [outputs, calls] {
        if !table.is_empty() {
            out.push('\n');
            out.push_str(&table.render(app.width(), app.color));
        }
    }
    out
}
