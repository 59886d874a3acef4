//! The clock: the one place of the binary that reads it.

use std::sync::OnceLock;
use std::time::{Instant, SystemTime};

use jig_session_publish::Now;
use jig_session_schema::time::Timestamp;

/// The time of day, and the time since this process asked for the first time.
pub(crate) fn now() -> Now {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    Now { wall: wall(), mono: BEGAN.get_or_init(Instant::now).elapsed() }
}

/// The time of day.
#[allow(clippy::disallowed_methods, reason = "the one place where the binary reads the clock")]
pub(crate) fn wall() -> Timestamp {
    Timestamp::from_system(SystemTime::now())
}
