//! The wake budget: two listeners that answer each other do not run for ever.

use crate::limits;

/// One turn that mail of a peer raised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wake {
    /// The peer's id.
    pub from: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}

/// Whether mail of these peers may raise a turn now: not when every one of them has used up its wakes.
pub fn may_wake(wakes: &[Wake], senders: &[&str], now_ms: i64) -> bool {
    senders.iter().any(|sender| {
        let used = recent(wakes, now_ms).filter(|wake| wake.from == *sender).count();
        used < limits::WAKES
    })
}

/// Whether mail of somebody raises no turn at present, because its wakes are used up.
pub fn is_throttled(wakes: &[Wake], now_ms: i64) -> bool {
    recent(wakes, now_ms).any(|wake| !may_wake(wakes, &[wake.from.as_str()], now_ms))
}

/// The wakes that still count, with one more for each of the senders.
pub fn with_wake(wakes: &[Wake], senders: &[&str], now_ms: i64) -> Vec<Wake> {
    let mut kept: Vec<Wake> = recent(wakes, now_ms).cloned().collect();
    let mut seen: Vec<&str> = Vec::new();
    for sender in senders {
        if !seen.contains(sender) {
            seen.push(sender);
            kept.push(Wake { from: (*sender).to_owned(), at_ms: now_ms });
        }
    }
    kept
}

/// A stamp from the future (the clock was set back) counts as now.
fn recent(wakes: &[Wake], now_ms: i64) -> impl Iterator<Item = &Wake> {
    let window = i64::try_from(limits::WAKE_WINDOW_MS).unwrap_or(i64::MAX);
    wakes.iter().filter(move |wake| now_ms.saturating_sub(wake.at_ms) < window)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seventh_wake_of_a_pair_within_ten_minutes_waits() {
        let mut wakes = Vec::new();
        for turn in 0..6 {
            assert!(may_wake(&wakes, &["a"], turn), "wake {turn}");
            wakes = with_wake(&wakes, &["a", "a"], turn);
        }
        assert_eq!(wakes.len(), 6, "one burst is one wake");
        assert!(!may_wake(&wakes, &["a"], 599_999));
        assert!(is_throttled(&wakes, 599_999) && !is_throttled(&wakes, 600_000) && !is_throttled(&wakes[1..], 10));
        assert!(may_wake(&wakes, &["a"], 600_000), "the first one has left the window");
        assert!(may_wake(&wakes, &["a", "b"], 10), "another peer has a budget of its own");
        assert!(!may_wake(&wakes, &[], 10), "no mail, no wake");
        assert_eq!(with_wake(&wakes, &["b"], 700_000).len(), 1);
    }
}
