//! One local day in full: what the running sums of the archive do not hold.

use std::collections::HashMap;

use jiff::civil::Date;

use super::archive::Sums;
use super::record::Call;
use super::zone::Zone;

/// Milliseconds of an hour.
const HOUR_MS: i64 = 3_600_000;
/// More models than this in one day are an attack on memory, not a mix: the rest counts as `other`.
const MAX_MODELS: usize = 1000;

/// The figures of one local day.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    /// The day.
    pub date: Date,
    /// Calls, errors and tokens.
    pub sums: Sums,
    /// Calls in the hour before now; a stamp in the future does not count.
    pub last_hour: u64,
    /// Calls a model, most first, then by name.
    pub models: Vec<(String, u64)>,
    /// The 95th percentile of the durations in milliseconds, nearest rank.
    pub p95_ms: Option<f64>,
    /// Calls a local hour, from 0 to the latest hour with a call.
    pub hourly: Vec<u64>,
}

/// Collects a day's calls.
pub(crate) struct BandBuilder<'a> {
    zone: &'a Zone,
    date: Date,
    now_ms: i64,
    sums: Sums,
    last_hour: u64,
    models: HashMap<String, u64>,
    durations: Vec<f64>,
    hourly: [u64; 24],
}

impl<'a> BandBuilder<'a> {
    pub(crate) fn new(zone: &'a Zone, date: Date, now_ms: i64) -> Self {
        Self {
            zone,
            date,
            now_ms,
            sums: Sums::default(),
            last_hour: 0,
            models: HashMap::new(),
            durations: Vec::new(),
            hourly: [0; 24],
        }
    }

    /// Adds a call, if it is the day's.
    pub(crate) fn add(&mut self, at: i64, call: &Call<'_>) {
        let Some((date, hour)) = self.zone.local(at) else { return };
        if date != self.date {
            return;
        }
        self.sums.calls += 1;
        self.sums.errors += u64::from(call.error);
        self.sums.tokens.add(&call.tokens);
        self.sums.unread += u64::from(call.flawed);
        self.last_hour += u64::from((0..=HOUR_MS).contains(&self.now_ms.saturating_sub(at)));
        if let Some(count) = self.hourly.get_mut(hour) {
            *count += 1;
        }
        self.durations.extend(call.duration);
        if let Some(model) = call.model.as_deref().map(short_model) {
            match self.models.get_mut(model) {
                Some(count) => *count += 1,
                None => {
                    let key = if self.models.len() < MAX_MODELS { model } else { "other" };
                    *self.models.entry(key.to_owned()).or_default() += 1;
                }
            }
        }
    }

    /// The day's figures; `None` without a call, which is not the same as a day of zeros.
    pub(crate) fn finish(mut self) -> Option<Band> {
        if self.sums.calls == 0 {
            return None;
        }
        let mut models: Vec<(String, u64)> = self.models.into_iter().collect();
        models.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let hours = self.hourly.iter().rposition(|calls| *calls > 0).map_or(0, |last| last + 1);
        Some(Band {
            date: self.date,
            sums: self.sums,
            last_hour: self.last_hour,
            models,
            p95_ms: p95(&mut self.durations),
            hourly: self.hourly[..hours].to_vec(),
        })
    }
}

/// A model without the router's prefixes.
fn short_model(model: &str) -> &str {
    let model = model.strip_prefix("omni-").unwrap_or(model);
    let providers = ["anthropic/", "openai/", "codex/", "claude/"];
    providers.iter().find_map(|provider| model.strip_prefix(provider)).unwrap_or(model)
}

/// Nearest rank: the smallest value that at least 95 of 100 do not exceed.
fn p95(durations: &mut [f64]) -> Option<f64> {
    let rank = (durations.len() * 95).div_ceil(100).checked_sub(1)?;
    let (_, value, _) = durations.select_nth_unstable_by(rank, f64::total_cmp);
    Some(*value)
}

#[cfg(test)]
mod tests {
    use super::{p95, short_model};

    #[test]
    fn p95_is_the_nearest_rank() {
        let of = |count: u32| p95(&mut (1..=count).rev().map(f64::from).collect::<Vec<_>>());
        assert_eq!(of(0), None);
        assert_eq!(of(1), Some(1.0));
        assert_eq!(of(20), Some(19.0), "not the maximum");
        assert_eq!(of(21), Some(20.0));
        assert_eq!(of(100), Some(95.0));
    }

    #[test]
    fn a_model_loses_the_routers_prefix_and_one_provider() {
        for (given, short) in [
            ("omni-claude-x", "claude-x"),
            ("omni-anthropic/claude-x", "claude-x"),
            ("codex/openai/m", "openai/m"),
            ("m", "m"),
        ] {
            assert_eq!(short_model(given), short);
        }
    }
}
