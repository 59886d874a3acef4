//! The numbered behaviours of the bus, as far as they can be shown without a process: clocks and processes are given,
//! the file system is real. A number in a comment is the behaviour's in docs/contract/bus-v1.md.
#![allow(clippy::disallowed_methods, reason = "tests read the files that they made")]

mod claims;
mod fallback;
mod inbox;
mod labels;
mod liveness;
mod membership;
mod messages;
mod notices;
mod prune;
mod town;
