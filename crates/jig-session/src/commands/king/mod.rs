//! `jig-session king`: the cards of pi-king, its viewer's layout, its call-log metrics.

mod cards;
mod dismiss;
mod fingerprint;
pub(crate) mod layout;
mod ls;
pub(crate) mod metrics;

use clap::Subcommand;

use crate::app::App;
use crate::failure::Outcome;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
#[command(defer = true)]
enum Command {
    /// List the cards of Pi sessions that pi-king's folder holds
    Ls(ls::Args),
    /// Show the calls, tokens and models of a day, and of the days before
    Metrics(metrics::Args),
    /// Remove the card of a session that has ended
    Dismiss(dismiss::Args),
    /// Print the fingerprint of what a Pi started now in a folder would load
    Fingerprint(fingerprint::Args),
    /// Pin sessions to the top of pi-king's list
    Pin(layout::Ids),
    /// Unpin sessions
    Unpin(layout::Ids),
    /// Put sessions first in pi-king's list, in this order
    Order(layout::Ids),
    /// Name a session in pi-king's list
    Name(layout::Name),
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    match &args.command {
        Command::Ls(args) => ls::run(args, app),
        Command::Metrics(args) => metrics::run(args, app),
        Command::Dismiss(args) => dismiss::run(args, app),
        Command::Fingerprint(args) => fingerprint::run(args, app),
        Command::Pin(args) => layout::pin(args, app),
        Command::Unpin(args) => layout::unpin(args, app),
        Command::Order(args) => layout::order(args, app),
        Command::Name(args) => layout::name(args, app),
    }
}
