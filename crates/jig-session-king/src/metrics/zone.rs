//! Local calendar days. The zone is passed in; nothing here reads the environment.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jig_session_atomic::read_file;

/// The largest zone file of the world is a few thousand bytes.
const ZONE_BYTES: usize = 1 << 20;

/// A time zone with the name it is shown under.
#[derive(Clone, Debug)]
pub struct Zone {
    tz: TimeZone,
    name: String,
}

impl Zone {
    /// The zone of a `TZ` value: a name of the zone database, the path of a zone file, or a POSIX rule
    /// such as `PST8PDT,M3.2.0,M11.1.0`. Without a value it is the system's. `None` when the value names no
    /// zone: guessing one would put calls on the wrong day.
    #[must_use]
    pub fn of(tz: Option<&str>) -> Option<Self> {
        let Some(text) = tz.map(|tz| tz.trim_start_matches(':')).filter(|tz| !tz.is_empty()) else {
            return Some(Self::system());
        };
        let tz = if text.starts_with('/') {
            TimeZone::tzif(text, &read_file(text, ZONE_BYTES).ok()?.bytes).ok()?
        } else {
            TimeZone::get(text).or_else(|_| TimeZone::posix(text)).ok()?
        };
        Some(Self { tz, name: text.to_owned() })
    }

    /// UTC.
    #[must_use]
    pub fn utc() -> Self {
        Self { tz: TimeZone::UTC, name: "UTC".into() }
    }

    fn system() -> Self {
        let tz = TimeZone::try_system().unwrap_or(TimeZone::UTC);
        let name = tz.iana_name().unwrap_or("local time").to_owned();
        Self { tz, name }
    }

    /// What the zone is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The local date and hour of an instant in milliseconds since the epoch.
    pub(crate) fn local(&self, epoch_ms: i64) -> Option<(Date, usize)> {
        let instant = Timestamp::from_millisecond(epoch_ms).ok()?;
        let local = self.tz.to_datetime(instant);
        Some((local.date(), usize::try_from(local.hour()).ok()?))
    }
}
