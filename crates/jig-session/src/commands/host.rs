//! `jig-session host`: the other end of Pi's bridge, on stdio.

use super::board;
use crate::app::App;
use crate::failure::{Exit, Outcome};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args, app: &App) -> Outcome {
    jig_session_host::run(&app.environment(), board::eyes(app))?;
    Ok(Exit::OK)
}
