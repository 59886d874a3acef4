//! `jig-session mcp`: the session bus as an MCP server on stdio, with the one tool `session`.

mod rpc;
mod server;

use crate::app::App;
use crate::failure::Outcome;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args, app: &App) -> Outcome {
    server::run(app)
}
