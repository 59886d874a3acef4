//! The other end of Pi's bridge: one process a session, started by the bridge, which speaks with it over stdio.
//!
//! Lines of Pi become events for the publisher; requests become calls of Pi's own functions; the session bus is offered
//! as a tool, as notices and as a panel. The host ends when Pi ends, however that happens, because its input ends then.
//!
//! What is installed into Pi, [`bridge::text`], stands here too: the two speak one protocol, `bridge.v1`.

pub mod bridge;
mod bus;
mod commands;
mod context_panel;
mod error;
mod host;
mod king;
mod link;
mod quiet;
mod sessions_panel;
mod show;
mod switches;
mod switching;

pub use error::Error;
pub use host::run;
pub use sessions_panel::{Eyes, OpenEyes};
