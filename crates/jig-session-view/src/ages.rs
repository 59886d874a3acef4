//! Ages and amounts as people read them.

use jig_session_schema::time::Timestamp;

/// The time since a moment, in its largest unit. A moment in the future is now: clocks differ.
pub fn since(moment: Option<Timestamp>, now: Timestamp) -> String {
    let Some(moment) = moment else { return String::new() };
    let seconds = now.since_ms(moment).max(0) / 1000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// US dollars.
pub fn dollars(cost: Option<f64>) -> String {
    cost.filter(|cost| cost.is_finite()).map_or(String::new(), |cost| format!("${cost:.2}"))
}

/// A share of a hundred, without a fraction.
pub fn percent(percent: Option<f64>) -> String {
    percent.filter(|percent| percent.is_finite()).map_or(String::new(), |percent| format!("{percent:.0}%"))
}

/// A count of tokens, in thousands or millions when it is large.
pub fn tokens(count: u64) -> String {
    match count {
        0..1000 => count.to_string(),
        1000..1_000_000 => format!("{:.1}k", count as f64 / 1e3),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_one_unit() {
        let now = Timestamp::from_epoch_ms(1_795_976_327_855);
        let ago = |ms: i64| since(Some(Timestamp::from_epoch_ms(1_795_976_327_855 - ms)), now);
        for (ms, text) in [
            (0, "0s"),
            (999, "0s"),
            (59_999, "59s"),
            (60_000, "1m"),
            (3_599_000, "59m"),
            (3_600_000, "1h"),
            (86_399_000, "23h"),
            (86_400_000, "1d"),
            (864_000_000, "10d"),
            (-5_000, "0s"),
        ] {
            assert_eq!(ago(ms), text);
        }
        assert_eq!(since(None, now), "");
    }

    #[test]
    fn amounts_are_short() {
        assert_eq!(
            (dollars(Some(1.239)), dollars(None), dollars(Some(f64::NAN))),
            ("$1.24".into(), String::new(), String::new())
        );
        assert_eq!((percent(Some(41.6)), percent(None)), ("42%".into(), String::new()));
        assert_eq!((tokens(999), tokens(1050), tokens(2_500_000)), ("999".into(), "1.1k".into(), "2.5M".into()));
    }
}
