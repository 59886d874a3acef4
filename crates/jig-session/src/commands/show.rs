//! `jig-session show`: one session with its whole file.

use jig_session_schema::documents::Show;
use jig_session_schema::row::Row;
use jig_session_schema::status::Status;
use jig_session_schema::time::Timestamp;

use crate::app::App;
use crate::failure::{Exit, Outcome};
use crate::{select, view};
use jig_session_view::sanitise::clean;
use jig_session_view::table::{Cell, Column, Table};
use jig_session_view::{ages, rows};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[arg(help = select::ARGUMENT)]
    session: String,
}

/// How many outputs and calls are shown to people; `--json` gives all.
const SHOWN: usize = 8;

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    view::note_ignored(app);
    let view = view::load(app)?;
    let session = select::pick(app, &view, &args.session)?;
    let document = view::document(&session.row)?;
    if app.json {
        let mut show = Show::new().session(session.row.clone()).document(document);
        show.at = view.at;
        app.print_json(&show)?;
    } else {
        let status = Status::read_value(document.into()).ok().map(|read| read.value);
        app.print(&text(app, &session.row, status.as_ref(), view.at))?;
    }
    Ok(Exit::OK)
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
    for output in status.outputs.iter().take(SHOWN) {
        let ago = ages::since(output.at, now);
        outputs.push(vec![Cell::path(&output.path), Cell::new(&*output.action), Cell::new(ago)]);
    }
    let mut calls = Table::new(&[column("CALL"), column("ACTION"), column("OUTCOME"), column("AGO")]);
    for call in status.recent.iter().take(SHOWN) {
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
