//! This machine's clocks: the one place that reads the time of day.

use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

use jig_session_schema::time::Timestamp;

/// The time of day.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
pub fn wall() -> Timestamp {
    Timestamp::from_system(SystemTime::now())
}

/// The time since the first call in this process; it never goes back.
pub fn monotonic() -> Duration {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    BEGAN.get_or_init(Instant::now).elapsed()
}
