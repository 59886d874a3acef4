//! Points in time as the contract writes them: RFC 3339, UTC, exactly three fraction digits.

use std::fmt;

use jiff::SignedDuration;
use jiff::civil::DateTime;
use serde_json::Value;

use crate::read::Reading;
use crate::shape::{SchemaCx, Shape, Side};

/// A point in time with millisecond precision, written like `2026-11-29T18:18:47.855Z`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

/// What the contract can write: the years 0000 to 9999.
const MIN_MS: i64 = -62_167_219_200_000;
const MAX_MS: i64 = 253_402_300_799_999;

impl Timestamp {
    /// From milliseconds since 1970; a time outside the years 0 to 9999 becomes the nearest one inside.
    #[must_use]
    pub const fn from_epoch_ms(ms: i64) -> Self {
        Self(if ms < MIN_MS {
            MIN_MS
        } else if ms > MAX_MS {
            MAX_MS
        } else {
            ms
        })
    }

    /// Milliseconds since 1970.
    #[must_use]
    pub const fn epoch_ms(self) -> i64 {
        self.0
    }

    /// From the system's clock, which the caller reads.
    #[must_use]
    pub fn from_system(time: std::time::SystemTime) -> Self {
        let ms = match time.duration_since(std::time::UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_millis()).unwrap_or(MAX_MS),
            Err(before) => i64::try_from(before.duration().as_millis()).map_or(MIN_MS, |ms| -ms),
        };
        Self::from_epoch_ms(ms)
    }

    /// Milliseconds from `earlier` to this time; negative when `earlier` is later.
    #[must_use]
    pub const fn since_ms(self, earlier: Self) -> i64 {
        self.0 - earlier.0
    }

    /// Reads RFC 3339 with any offset and any number of fraction digits (further ones are cut off).
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (local, offset_minutes) = parts(text)?;
        // A leap second is the second after the one before it.
        let (local, leap) = match local.get(17..19)? {
            "60" => (std::borrow::Cow::Owned(format!("{}59{}", &local[..17], &local[19..])), 1000),
            _ => (std::borrow::Cow::Borrowed(local), 0),
        };
        let since = local.parse::<DateTime>().ok()?.duration_since(EPOCH);
        // Below zero, what is cut off makes the time an earlier one.
        let ms = i64::try_from(since.as_nanos().div_euclid(1_000_000)).ok()? + leap - offset_minutes * 60_000;
        (MIN_MS..=MAX_MS).contains(&ms).then_some(Self(ms))
    }
}

const EPOCH: DateTime = jiff::civil::datetime(1970, 1, 1, 0, 0, 0, 0);

/// The local time and the offset in minutes, if the text has the form of RFC 3339: the calendar takes more forms.
fn parts(text: &str) -> Option<(&str, i64)> {
    let form = |text: &str, form: &str| {
        text.len() == form.len()
            && text.bytes().zip(form.bytes()).all(|(byte, wanted)| match wanted {
                b'0' => byte.is_ascii_digit(),
                b'T' => b"Tt ".contains(&byte),
                b'+' => b"+-".contains(&byte),
                _ => byte == wanted,
            })
    };
    let (local, offset) = match text.strip_suffix(['Z', 'z']) {
        Some(local) => (local, 0),
        None => {
            let (local, offset) = text.split_at_checked(text.len().checked_sub(6)?)?;
            let (hours, minutes) = (offset.get(1..3)?.parse::<i64>().ok()?, offset.get(4..6)?.parse::<i64>().ok()?);
            let minutes = (form(offset, "+00:00") && hours < 24 && minutes < 60).then_some(hours * 60 + minutes)?;
            (local, if offset.starts_with('-') { -minutes } else { minutes })
        }
    };
    let (seconds, fraction) = local.split_at_checked(19)?;
    let is_fraction = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let whole = fraction.is_empty() || fraction.strip_prefix('.').is_some_and(is_fraction);
    // The calendar counts nanoseconds and refuses more digits.
    let end = 19 + fraction.len().min(10);
    (form(seconds, "0000-00-00T00:00:00") && whole).then(|| (&local[..end], offset))
}

/// `0000-00-00T00:00:00.000Z`, filled in: a status file holds thirty of them, and the machinery of `write!` would take most
/// of the time of writing one.
#[derive(Clone, Copy)]
struct Written([u8; 24]);

impl Written {
    fn of(time: Timestamp) -> Option<Self> {
        let time = EPOCH.checked_add(SignedDuration::from_millis(time.0)).ok()?;
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let mut put = |from: usize, digits: usize, number: u32| {
            let mut rest = number;
            for place in (from..from + digits).rev() {
                text[place] = b'0' + (rest % 10) as u8;
                rest /= 10;
            }
        };
        put(0, 4, time.year().unsigned_abs().into());
        put(5, 2, time.month().unsigned_abs().into());
        put(8, 2, time.day().unsigned_abs().into());
        put(11, 2, time.hour().unsigned_abs().into());
        put(14, 2, time.minute().unsigned_abs().into());
        put(17, 2, time.second().unsigned_abs().into());
        put(20, 3, time.subsec_nanosecond().unsigned_abs() / 1_000_000);
        Some(Self(text))
    }

    fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(Written::of(*self).as_ref().and_then(Written::text).ok_or(fmt::Error)?)
    }
}

impl Shape for Timestamp {
    fn read(value: Value, cx: &mut Reading) -> Option<Self> {
        let time = value.as_str().and_then(Self::parse);
        if time.is_none() {
            cx.problem("is not an RFC 3339 time");
        }
        time
    }

    fn schema(cx: &mut SchemaCx) -> Value {
        match cx.side() {
            Side::Writer => serde_json::json!({
                "type": "string", "format": "date-time",
                "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$",
            }),
            Side::Reader => serde_json::json!({ "type": "string", "format": "date-time" }),
        }
    }
}

impl serde::Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written = Written::of(*self);
        match written.as_ref().and_then(Written::text) {
            Some(text) => serializer.serialize_str(text),
            None => Err(serde::ser::Error::custom("a time outside the calendar")),
        }
    }
}

impl<'de> serde::Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl serde::de::Visitor<'_> for Text {
            type Value = Timestamp;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an RFC 3339 time")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Timestamp, E> {
                Timestamp::parse(text).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::Timestamp;

    #[test]
    fn written_with_three_digits_and_read_back() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (1_795_976_327_855, "2026-11-29T18:18:47.855Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(Timestamp::from_epoch_ms(ms).to_string(), text);
            assert_eq!(Timestamp::parse(text).map(Timestamp::epoch_ms), Some(ms), "{text}");
        }
    }

    #[test]
    fn other_spellings_of_rfc_3339_are_read() {
        let ms = |text: &str| Timestamp::parse(text).map(Timestamp::epoch_ms);
        assert_eq!(ms("1970-01-01T01:00:00+01:00"), Some(0));
        assert_eq!(ms("1969-12-31T22:30:00.5-01:30"), Some(500));
        assert_eq!(ms("1970-01-01t00:00:00.123456789z"), Some(123));
        assert_eq!(ms("2016-12-31T23:59:60Z"), Some(1_483_228_800_000));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "2026",
            "2026-11-29",
            "2026-13-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:00",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00Zx",
            "2026-01-01T00:00:00+1:00",
            "+026-01-01T00:00:00Z",
            "2026-01-01T00:00:0éZ",
            "0000-01-01T00:00:00+01:00",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn every_day_of_eight_centuries_survives_the_calendar() {
        for day in -146_097..146_097 {
            let time = Timestamp::from_epoch_ms(day * 86_400_000);
            assert_eq!(Timestamp::parse(&time.to_string()), Some(time));
        }
    }
}
