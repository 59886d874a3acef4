//! What coding agents' hooks call: a payload comes in, a session's status file, a denial or a notice of mail goes out.
//!
//! An agent waits for its hooks, and some stop when one fails. So nothing here is an error to the caller: what goes wrong
//! is written to the log that `jig-session doctor` reads, every wait has an end, and in doubt nothing is denied.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read the files that they made"))]

mod caller;
mod guard;
mod notice;
mod payload;
mod publish;
mod stdin;

pub use guard::{Denial, guard, unheard};
pub use notice::notice;
pub use publish::{hook, payload, publish};
