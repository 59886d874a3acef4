//! `jig-session king ls`: pi-king's cards, with what only they hold.

use std::cmp::Ordering;

use super::cards;
use super::fingerprint::agent_dir;
use super::layout;
use crate::app::App;
use crate::failure::{Exit, Failure, Outcome};
use crate::view::{self, View};
use jig_session_king::fingerprint::Fresh;
use jig_session_king::layout::Layout;
use jig_session_king::rules;
use jig_session_liveness::{Machine, Probes};
use jig_session_schema::documents::KingLs;
use jig_session_schema::json;
use jig_session_schema::king::{KingState, KingStatus};
use jig_session_schema::limits::STATUS_BYTES;
use jig_session_schema::row::{Problem, Row, Source};
use jig_session_schema::status::State;
use jig_session_schema::time::Timestamp;
use jig_session_schema::{Map, Value};
use jig_session_store::Marks;
use jig_session_view::ages;
use jig_session_view::table::{Cell, Column, Style, Table};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Include hidden cards, and those of ended sessions
    #[arg(long)]
    all: bool,
}

/// A card in the listing.
struct Listed {
    row: Row,
    card: KingStatus,
    /// The file as it was read.
    record: Value,
    restart: Option<bool>,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    let now = app.now();
    let places = app.places();
    let view = view(app)?;
    let rows: Vec<Row> = view.listed(args.all).map(|session| session.row.clone()).collect();
    let problems: Vec<Problem> = view
        .problems
        .into_iter()
        .filter(|problem| problem.path.as_ref().is_some_and(|path| places.is_kings(path.as_ref())))
        .collect();
    let listed = with_records(app, rows)?;
    if app.json {
        app.print_json(&document(listed, problems, now))?;
    } else {
        app.print(&text(app, listed, &problems, args.all, now))?;
    }
    Ok(Exit::OK)
}

/// The cards alone: one that status v1 shows too is listed here all the same.
fn view(app: &App) -> Result<View, Failure> {
    let machine = Machine::new();
    let mut look = view::store(app).look(&Probes::new(&machine))?;
    look.sessions.retain(|session| session.row.source == Source::PiKing);
    Ok(View::of(look, app.now(), &Marks::default()))
}

/// Reads each listed file once more, whole: a row is only a summary.
fn with_records(app: &App, rows: Vec<Row>) -> Result<Vec<Listed>, Failure> {
    let Some(dir) = cards::open(app)? else {
        return Ok(Vec::new());
    };
    let mut fresh = Fresh::new(&agent_dir(app));
    let mut listed = Vec::with_capacity(rows.len());
    for row in rows {
        // A card that went since the first look is not there any more.
        let Ok(file) = dir.read(format!("{}.json", row.session), STATUS_BYTES) else { continue };
        let Ok(record) = json::parse(&file.bytes) else { continue };
        let Ok(read) = KingStatus::read_value(record.clone()) else { continue };
        let card = read.value;
        let restart = rules::restart_needed(&card, fresh.of(&card.cwd));
        listed.push(Listed { row, card, record, restart });
    }
    Ok(listed)
}

fn document(listed: Vec<Listed>, problems: Vec<Problem>, now: Timestamp) -> KingLs {
    let sessions: Vec<Map<String, Value>> = listed
        .into_iter()
        .map(|entry| {
            let mut row = entry.row.to_document();
            row.insert("restartNeeded".into(), entry.restart.map_or(Value::Null, Value::Bool));
            row.insert("record".into(), entry.record);
            row
        })
        .collect();
    KingLs::new().at(now).sessions(sessions).problems(problems)
}

const COLUMNS: [Column; 8] = [
    Column::new("STATE", 6, 0),
    Column::new("NAME", 8, 0),
    Column::new("ACTIVITY", 10, 1).yields(),
    Column::new("AGENTS", 3, 5).right(),
    Column::new("CTX", 4, 3).right(),
    Column::new("NOTE", 4, 4),
    Column::new("AGE", 3, 2).right(),
    Column::new("ID", 8, 6),
];

fn text(app: &App, mut listed: Vec<Listed>, problems: &[Problem], all: bool, now: Timestamp) -> String {
    let layout = layout::shown(app);
    listed.sort_by(|a, b| by_layout(&layout, &a.row, &b.row));
    let mut table = Table::new(&COLUMNS);
    for entry in &listed {
        table.push(cells(&layout, entry, now));
    }
    let mut out = if table.is_empty() {
        format!("no pi-king sessions{}\n", if all { "" } else { " (see --all)" })
    } else {
        table.render(app.width(), app.color)
    };
    if all {
        for problem in problems {
            let path = problem.path.as_deref().unwrap_or_default();
            out.push_str(&format!(
                "{}: {} ({})\n",
                jig_session_view::sanitise::clean(path),
                jig_session_view::sanitise::clean(&problem.message),
                jig_session_view::sanitise::clean(problem.reason.as_str()),
            ));
        }
    } else if !problems.is_empty() {
        out.push_str(&format!("{} of pi-king's files not readable (see --all)\n", problems.len()));
    }
    out
}

/// Pins first, as they were pinned; then the manual order; the others stay as they were.
fn by_layout(layout: &Layout, a: &Row, b: &Row) -> Ordering {
    let place = |list: Vec<&str>, row: &Row| list.iter().position(|id| *id == row.session).unwrap_or(usize::MAX);
    let of = |row: &Row| (place(layout.pinned(), row), place(layout.order(), row));
    of(a).cmp(&of(b))
}

fn cells(layout: &Layout, entry: &Listed, now: Timestamp) -> Vec<Cell> {
    let Listed { row, card, restart, .. } = entry;
    let over = row.verdict.is_over();
    let word = if over { row.verdict.as_str() } else { card.status.as_str() };
    let style = match (over || card.status == KingState::EXITED, &row.attention, row.state) {
        (true, ..) => Style::Dim,
        (_, Some(_), _) => Style::Red,
        (_, None, State::Busy) => Style::Green,
        _ => Style::Plain,
    };
    let name = layout.name(&row.session).or(row.name.as_deref()).or(card.project.as_deref()).unwrap_or(&row.cwd);
    let pinned = layout.pinned().contains(&row.session.as_str());
    let notes: Vec<&str> =
        [(!card.visible, "hidden"), (card.is_fork == Some(true), "fork"), (*restart == Some(true) && !over, "restart")]
            .iter()
            .filter_map(|(holds, word)| holds.then_some(*word))
            .collect();
    let running = row.background.filter(|count| *count > 0);
    vec![
        Cell::new(word).style(style),
        Cell::new(if pinned { format!("* {name}") } else { name.to_owned() }).of(&row.session).style(Style::Bold),
        Cell::new(card.activity.as_deref().unwrap_or_default()),
        Cell::new(running.map(|count| count.to_string()).unwrap_or_default()),
        Cell::new(ages::percent(row.context.percent)),
        Cell::new(notes.join(" ")),
        Cell::new(ages::since(row.updated_at, now)),
        Cell::path(&row.session).style(Style::Dim),
    ]
}
