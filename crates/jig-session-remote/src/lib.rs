//! Sessions of other machines, through the system's ssh and the `jig-session` that is installed there.
//!
//! Nothing of a machine's files is read here: its own program judges and says what it finds, and this crate passes that
//! on with the host's name in each row. [`ask`] asks some hosts once, at the same time and with a limit; a [`Fleet`]
//! follows them, one lasting connection a host, and keeps what a host said last when the connection is lost.
//!
//! No question of ssh ever comes up: a host that wants a password, or whose key is not known, is unreachable.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read the files that they made"))]

mod ask;
mod fleet;
mod host;
mod ssh;

pub use ask::{Answer, NoAnswer, ask};
pub use fleet::{Fleet, FleetLook, Followed};
pub use host::{Host, HostError, hosts};
pub use ssh::Ssh;
