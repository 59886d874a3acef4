//! Points in time as the contract writes them: RFC 3339, UTC, exactly three fraction digits.

use std::cell::Cell;
use std::fmt;

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
        let bytes = text.as_bytes();
        let number = |from: usize, to: usize| -> Option<i64> {
            let digits = bytes.get(from..to)?;
            digits.iter().try_fold(0, |n, d| d.is_ascii_digit().then(|| n * 10 + i64::from(d - b'0')))
        };
        let is = |at: usize, marks: &[u8]| bytes.get(at).is_some_and(|b| marks.contains(b));
        let marks = is(4, b"-") && is(7, b"-") && is(10, b"Tt ") && is(13, b":") && is(16, b":");
        let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
        let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
        let in_range = (1..=12).contains(&month)
            && (1..=days_in_month(year, month)).contains(&day)
            && hour < 24
            && minute < 60
            && second <= 60;
        if !marks || !in_range {
            return None;
        }
        let mut at = 19;
        let mut ms = 0;
        if is(at, b".") {
            let digits = bytes[at + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
            if digits == 0 {
                return None;
            }
            for place in 0..3 {
                ms = ms * 10 + if place < digits { number(at + 1 + place, at + 2 + place)? } else { 0 };
            }
            at += 1 + digits;
        }
        let offset = if is(at, b"Zz") && bytes.len() == at + 1 {
            0
        } else if is(at, b"+-") && is(at + 3, b":") && bytes.len() == at + 6 {
            let (hours, minutes) = (number(at + 1, at + 3)?, number(at + 4, at + 6)?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            (hours * 60 + minutes) * if bytes[at] == b'-' { -1 } else { 1 }
        } else {
            return None;
        };
        let seconds = days_from_civil(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset * 60;
        let ms = seconds * 1000 + ms;
        (MIN_MS..=MAX_MS).contains(&ms).then_some(Self(ms))
    }
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 in the proleptic Gregorian calendar; the year is taken to begin in March.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The inverse of [`days_from_civil`], for the years that can be written: counted from the year -400, nothing is
/// negative, and small numbers divide faster.
fn civil_from_days(days: i64) -> (u32, u32, u32) {
    let days = (days + 719_468 + 146_097) as u32;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = (year_of_era + era * 400 + u32::from(month <= 2)) - 400;
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

impl Timestamp {
    /// The 24 characters. By hand: a status file holds dozens of times and is written on every change. They are put
    /// together as numbers, since bytes that are stored one by one are slow to be read as a whole.
    fn text(self) -> [u8; 24] {
        let minute = self.0.div_euclid(60_000);
        let ms = (self.0 - minute * 60_000) as u32;
        let (known, text) = MINUTE.get();
        let start = if known == minute { text } else { write_minute(minute) };
        let digit = |number: u32, place: u32| (u64::from(b'0') + u64::from(number % 10)) << (8 * place);
        let seconds = digit(ms / 10_000, 1) | digit(ms / 1000, 2);
        let fraction = digit(ms / 100, 4) | digit(ms / 10, 5) | digit(ms, 6);
        let end = u64::from_le_bytes(*b":\0\0.\0\0\0Z") | seconds | fraction;
        let mut text = [0; 24];
        text[..16].copy_from_slice(&start.to_le_bytes());
        text[16..].copy_from_slice(&end.to_le_bytes());
        text
    }
}

thread_local! {
    /// The minute that was written last, counted from 1970, and its sixteen characters: many times of a document are of
    /// one minute.
    static MINUTE: Cell<(i64, u128)> = const { Cell::new((0, u128::from_le_bytes(*b"1970-01-01T00:00"))) };
}

#[cold]
fn write_minute(minute: i64) -> u128 {
    let (year, month, day) = civil_from_days(minute.div_euclid(1440));
    let of_day = minute.rem_euclid(1440) as u32;
    let mut text = *b"0000-00-00T00:00";
    let pairs = [(0, year / 100), (2, year % 100), (5, month), (8, day), (11, of_day / 60), (14, of_day % 60)];
    for (from, number) in pairs {
        text[from] = b'0' + (number / 10) as u8;
        text[from + 1] = b'0' + (number % 10) as u8;
    }
    let text = u128::from_le_bytes(text);
    MINUTE.set((minute, text));
    text
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Digits and marks are ASCII.
        f.write_str(std::str::from_utf8(&self.text()).unwrap_or_default())
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
        serializer.serialize_str(std::str::from_utf8(&self.text()).unwrap_or_default())
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
