//! `jig-session metrics`: a document for Prometheus' textfile collector.

use jig_session_export::metrics;
use jig_session_schema::row::Row;

use super::filter::FilterArgs;
use crate::app::App;
use crate::broker::FleetArgs;
use crate::elsewhere::Elsewhere;
use crate::failure::{Exit, Outcome};
use crate::view;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// What rows of this machine have as `machine`; its host name when left out
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    fleet: FleetArgs,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    let view = view::load_with(app, Elsewhere::open(None, &args.fleet, app)?)?;
    let mut narrow = args.filter.narrow();
    let rows: Vec<&Row> = view.listed(false).map(|session| &session.row).filter(|row| narrow.takes(row)).collect();
    let own = || rustix::system::uname().nodename().to_string_lossy().into_owned();
    let machine = args.machine.clone().unwrap_or_else(own);
    app.print(&metrics::document(rows, &view.problems, &machine, view.at))?;
    Ok(Exit::OK)
}
