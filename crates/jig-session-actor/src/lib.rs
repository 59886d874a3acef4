//! Who acts on the session bus, and where: the edge between a process and the bus.
//!
//! A command line, an MCP server, a hook and a board find the session, the process and the repository that they stand
//! for by one order ([`jig_session_bus::who`]). What that order asks for is gathered here: variables, the processes
//! above, the status files, the agent's own record, the members of the bus.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read the files that they made"))]

mod actor;
mod error;
mod fallback;
mod folder;
mod lookup;

pub use actor::{Actor, Options, Surface};
pub use error::Error;
