//! Spans of time as people type them.

use std::time::Duration;

/// Reads seconds, or a number with `ms`, `s`, `m` or `h`.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || "not a span of time, such as 30s, 5m or 1h".to_owned();
    let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let (number, unit) =
        units.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, *seconds))).unwrap_or((text, 1.0));
    let number: f64 = number.parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(number * unit).map_err(|_| wrong())
}

/// The same in milliseconds.
pub(crate) fn parse_ms(text: &str) -> Result<i64, String> {
    let span = parse(text)?;
    i64::try_from(span.as_millis()).map_err(|_| "longer than any session lives".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_has_a_unit_or_is_in_seconds() {
        for (text, ms) in [
            ("30", 30_000),
            ("30s", 30_000),
            ("0.5", 500),
            ("250ms", 250),
            ("5m", 300_000),
            ("1.5h", 5_400_000),
            ("0", 0),
        ] {
            assert_eq!(parse_ms(text), Ok(ms), "{text}");
        }
        for text in ["", "soon", "-1s", "5d", "1e300h", "nan", "m", "inf"] {
            assert!(parse_ms(text).is_err(), "{text}");
        }
    }
}
