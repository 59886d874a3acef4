//! `jig-session statusline`: one line for a status bar.

use jig_session_export::statusline::{Host, line, summary};

use super::filter::FilterArgs;
use crate::app::App;
use crate::broker::FleetArgs;
use crate::elsewhere::Elsewhere;
use crate::failure::{Exit, Outcome};
use crate::view;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Who shows the line: tmux, waybar, sketchybar, starship, i3status, plain or json
    #[arg(long, short, value_name = "HOST", default_value = "plain")]
    format: Host,
    /// Print only how many sessions wait for you
    #[arg(long, short, conflicts_with = "format")]
    quiet: bool,
    /// Name at most this many of the sessions that wait, the longest wait first
    #[arg(long, value_name = "N", default_value = "1")]
    names: usize,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    fleet: FleetArgs,
}

/// A status bar shows what it gets, and nothing is wrong with it when a file is: a failure is a note on stderr.
pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    let elsewhere = Elsewhere::open(None, &args.fleet, app);
    let view = match elsewhere.and_then(|elsewhere| view::load_with(app, elsewhere)) {
        Ok(view) => view,
        Err(failure) => {
            app.note(&failure.to_string());
            return Ok(Exit::OK);
        }
    };
    let mut narrow = args.filter.narrow();
    let rows = view.listed(false).map(|session| &session.row).filter(|row| narrow.takes(row));
    let document = summary(rows, view.at);
    if args.quiet {
        app.print(&format!("{}\n", document.attention))?;
    } else if app.json {
        app.print_json(&document)?;
    } else if let Some(line) = line(&document, args.format, args.names) {
        match args.format {
            Host::Json => app.print_json(&document)?,
            _ => app.print(&format!("{line}\n"))?,
        }
    }
    Ok(Exit::OK)
}
