//! The session bus as an MCP server on stdio, with the one tool `session`.
//!
//! What a client may say is read leniently and answered strictly ([`rpc`]); what it asks for is done by the same actions
//! as those of the command line.

mod rpc;
mod server;

pub use server::serve;
