//! Many processes at once, some of them killed: nobody holds what another holds, and no message is lost.
//!
//! The workers are this test binary, started again with a job in the environment. `JIG_FULL=1` gives the long form.
#![allow(clippy::disallowed_methods, reason = "tests read the files that they made")]

mod claims;
mod lockless;
mod mail;
mod race;
mod shared;
mod worker;
