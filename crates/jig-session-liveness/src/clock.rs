//! This machine's clocks: the one place that reads the time of day.

use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

use jig_session_schema::time::Timestamp;

/// The time of day.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
pub fn wall() -> Timestamp {
    Timestamp::from_system(SystemTime::now())
}

/// Milliseconds since the machine was started, time asleep included: it goes on evenly whatever is done to the time of
/// day, and is the same for all processes. `None` where the system has no such clock.
pub fn boot_ms() -> Option<u64> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let seconds = u64::try_from(time.tv_sec).ok()?;
        Some(seconds * 1000 + u64::try_from(time.tv_nsec).ok()? / 1_000_000)
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    None
}

/// The time since the first call in this process; it never goes back.
pub fn monotonic() -> Duration {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    BEGAN.get_or_init(Instant::now).elapsed()
}
