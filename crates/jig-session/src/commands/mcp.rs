//! `jig-session mcp`: the session bus as an MCP server on stdio, with the one tool `session`.

use crate::app::App;
use crate::failure::{Code, Exit, Failure, Outcome};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args, app: &App) -> Outcome {
    jig_session_mcp::serve(app.environment()).map_err(|error| {
        Failure::new(Code::Io, format!("the MCP connection failed: {error}")).errno(error.raw_os_error())
    })?;
    Ok(Exit::OK)
}
