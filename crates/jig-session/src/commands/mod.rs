//! One module a command.

pub(crate) mod board;
pub(crate) mod bulk;
pub(crate) mod bus;
pub(crate) mod context;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod hook;
pub(crate) mod hooks;
pub(crate) mod host;
pub(crate) mod king;
pub(crate) mod live;
pub(crate) mod ls;
pub(crate) mod mcp;
pub(crate) mod paths;
pub(crate) mod prune;
pub(crate) mod publish;
pub(crate) mod request;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod sessions;
pub(crate) mod show;
pub(crate) mod validate;
pub(crate) mod wait;
pub(crate) mod watch;
