//! The bus from outside: the program's commands, its hook entries and its MCP server, with real processes. A number in
//! a comment is the behaviour's in docs/contract/bus-v1.md.

mod crowds;
mod docs;
mod hindered;
mod hooks;
mod identity;
mod mcp;
mod members;
mod output;
mod places;
mod town;
