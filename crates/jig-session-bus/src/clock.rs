//! The two clocks of the bus. Both are injected, never read here.

/// One moment as both clocks tell it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Moment {
    /// Milliseconds since 1970, the wall clock: for people and across boots.
    pub wall_ms: i64,
    /// Milliseconds of the monotonic clock, which stops while the machine sleeps.
    pub mono_ms: u64,
    /// The boot the monotonic clock belongs to.
    pub boot_id: Option<String>,
}

impl Moment {
    /// Milliseconds since something that was stamped with both clocks. A clock that went back gives 0.
    ///
    /// Within one boot only the monotonic clock counts: setting the wall clock or waking a laptop ages nobody.
    pub fn since(&self, wall_ms: i64, mono_ms: Option<u64>, boot_id: Option<&str>) -> u64 {
        match (mono_ms, boot_id, &self.boot_id) {
            (Some(then), Some(boot), Some(mine)) if boot == mine => self.mono_ms.saturating_sub(then),
            _ => u64::try_from(self.wall_ms.saturating_sub(wall_ms)).unwrap_or(0),
        }
    }
}

/// Whether something stamped `then` is older than `age_ms`. A stamp from the future is young.
pub(crate) fn older(now_ms: i64, then_ms: i64, age_ms: u64) -> bool {
    u64::try_from(now_ms.saturating_sub(then_ms)).is_ok_and(|age| age > age_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn age_follows_the_monotonic_clock_within_one_boot() {
        // Behaviours 44 and 45.
        let now = Moment { wall_ms: 10_000_000, mono_ms: 5_000, boot_id: Some("b1".into()) };
        assert_eq!(now.since(0, Some(4_000), Some("b1")), 1_000, "the wall clock was set forward");
        assert_eq!(now.since(99_000_000, Some(4_000), Some("b1")), 1_000, "the wall clock was set back");
        assert_eq!(now.since(0, Some(6_000), Some("b1")), 0, "never negative");
        assert_eq!(now.since(9_000_000, Some(4_000), Some("b0")), 1_000_000, "another boot: the wall clock");
        assert_eq!(now.since(99_000_000, None, None), 0);
    }
}
