//! `jig-session ls`: the live sessions, the ones that wait for a person first.

use jig_session_schema::documents::Ls;
use jig_session_schema::row::Row;

use crate::app::App;
use crate::failure::{Exit, Outcome};
use crate::view::{self, View};
use jig_session_view::{rows, sanitise};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Include ended sessions, hidden cards and unreadable files
    #[arg(long, short)]
    all: bool,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    view::note_ignored(app);
    let view = view::load(app)?;
    if app.json {
        let at = view.at;
        let (sessions, problems) = view.into_listed(args.all);
        app.print_json(&Ls::new().at(at).sessions(sessions).problems(problems))?;
    } else {
        let listed: Vec<&Row> = view.listed(args.all).map(|session| &session.row).collect();
        text(app, &view, &listed, args.all)?;
    }
    Ok(Exit::OK)
}

fn text(app: &App, view: &View, listed: &[&Row], all: bool) -> Result<(), crate::failure::Failure> {
    let places = app.places();
    let width = app.width();
    let mut out = String::new();
    if listed.is_empty() {
        let folder = places.sessions.display().to_string();
        out.push_str(&format!("no live sessions in {}\n", sanitise::clean(&folder)));
        out.push_str(&super::hooks::next_steps(app));
    } else {
        let table = rows::table(listed.iter().copied(), view.at, &places.home);
        out.push_str(&table.render(width, app.color));
        if width.is_some() {
            out.push_str(&format!("\n{}\n", rows::counts(listed.iter().copied())));
        }
    }
    if all && !view.problems.is_empty() {
        out.push('\n');
        out.push_str(&rows::problems(&view.problems).render(width, app.color));
    }
    app.print(&out)?;
    if !all && !view.problems.is_empty() {
        let count = view.problems.len();
        let files = if count == 1 { "1 entry gives".to_owned() } else { format!("{count} entries give") };
        app.note(&format!("{files} no session: see jig-session ls --all or jig-session doctor"));
    }
    Ok(())
}
