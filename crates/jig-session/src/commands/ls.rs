//! `jig-session ls`: the live sessions, the ones that wait for a person first.

use jig_session_schema::documents::Ls;
use jig_session_schema::row::{Problem, Row};
use jig_session_schema::time::Timestamp;
use jig_session_store::by_urgency;

use super::filter::FilterArgs;
use crate::app::App;
use crate::broker::FleetArgs;
use crate::elsewhere::Elsewhere;
use crate::failure::{Exit, Failure, Outcome};
use crate::on::{self, OnArgs};
use crate::view;
use jig_session_view::{rows, sanitise};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Include ended sessions, hidden cards and unreadable files
    #[arg(long, short)]
    all: bool,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    on: OnArgs,
    #[command(flatten)]
    fleet: FleetArgs,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    view::note_ignored(app);
    let on = args.on.open(app)?;
    // A broker has sent its part in one answer, as the folder has.
    let elsewhere = Elsewhere::open(None, &args.fleet, app)?;
    let view = view::load_with(app, elsewhere)?;
    let at = view.at;
    let (mut rows, mut problems) = view.into_listed(args.all);
    if let Some(on) = on {
        let (theirs, wrong) = on.ls(args.all);
        rows.extend(theirs);
        problems.extend(wrong);
        rows = ordered(rows);
    }
    let everything = rows.len();
    let mut narrow = args.filter.narrow();
    rows.retain(|row| narrow.takes(row));
    if app.json {
        app.print_json(&Ls::new().at(at).sessions(rows).problems(problems))?;
    } else if rows.is_empty() && everything > 0 {
        let sessions = if everything == 1 { "session" } else { "sessions" };
        let nothing = format!("no session matches: {everything} live {sessions} without the filter\n");
        app.print(&(nothing + &on::lines(&problems)))?;
    } else {
        text(app, at, &rows, &problems, args.all)?;
    }
    Ok(Exit::OK)
}

fn ordered(rows: Vec<Row>) -> Vec<Row> {
    let order = by_urgency(rows.iter());
    let mut rows: Vec<Option<Row>> = rows.into_iter().map(Some).collect();
    order.into_iter().filter_map(|place| rows[place].take()).collect()
}

fn text(app: &App, at: Timestamp, rows: &[Row], problems: &[Problem], all: bool) -> Result<(), Failure> {
    let places = app.places();
    let width = app.width();
    let mut out = String::new();
    if rows.is_empty() {
        let folder = places.sessions.display().to_string();
        out.push_str(&format!("no live sessions in {}\n", sanitise::clean(&folder)));
        out.push_str(&super::hooks::next_steps(app));
    } else {
        let table = rows::table(rows, at, &places.home);
        out.push_str(&table.render(width, app.color));
        if width.is_some() {
            out.push_str(&format!("\n{}\n", rows::counts(rows)));
        }
    }
    out.push_str(&on::lines(problems));
    let (_, of_files): (Vec<&Problem>, Vec<&Problem>) = problems.iter().partition(|problem| problem.path.is_none());
    if all && !of_files.is_empty() {
        out.push('\n');
        let of_files: Vec<Problem> = of_files.iter().map(|problem| (*problem).clone()).collect();
        out.push_str(&rows::problems(&of_files).render(width, app.color));
    }
    app.print(&out)?;
    if !all && !of_files.is_empty() {
        let count = of_files.len();
        let files = if count == 1 { "1 entry gives".to_owned() } else { format!("{count} entries give") };
        app.note(&format!("{files} no session: see jig-session ls --all or jig-session doctor"));
    }
    Ok(())
}
