//! `jig-session mcp`: the session bus as an MCP server on stdio, with the one tool `session`.

#[cfg(feature = "mcp")]
mod delivery;
#[cfg(feature = "mcp")]
mod server;

use crate::app::App;
use crate::failure::Outcome;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {}

#[cfg(feature = "mcp")]
pub(crate) fn run(_args: &Args, app: &App) -> Outcome {
    server::run(app)
}

#[cfg(not(feature = "mcp"))]
pub(crate) fn run(_args: &Args, _app: &App) -> Outcome {
    use crate::failure::{Code, Failure};
    Err(Failure::new(Code::Unsupported, "this program was built without its MCP server")
        .hint("install it with its default features"))
}
