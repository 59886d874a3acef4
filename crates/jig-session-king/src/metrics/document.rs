//! The metrics as the document that `king metrics --json` prints.

use std::path::Path;

use jig_session_schema::king_documents::{
    KingAverage, KingBand, KingDay, KingMetrics, KingModel, KingStreak, KingSums, KingTokens,
};
use jig_session_schema::time::Timestamp;

use super::{Band, Metrics, Sums, Tokens, Zone};

/// The document of what was measured below `logs`.
#[must_use]
pub fn document(metrics: &Metrics, now: Timestamp, zone: &Zone, logs: &Path) -> KingMetrics {
    let streak = metrics.streak();
    let day = |date: &dyn std::fmt::Display, sums: &Sums| KingDay::new().day(date.to_string()).sums(sums_of(sums));
    let week = metrics.seven_days();
    KingMetrics::new()
        .at(now)
        .zone(zone.name().to_owned())
        .logs(Some(logs.to_string_lossy().into_owned()))
        .day(Some(metrics.date.to_string()))
        .partial(metrics.partial())
        .band(metrics.band.as_ref().map(band_of))
        .seven_days(week.iter().map(|(date, sums)| day(date, &sums.unwrap_or_default())).collect())
        .average(metrics.average().map(|average| KingAverage::new().days(average.days).sums(sums_of(&average.sums))))
        .lifetime(Some(sums_of(&metrics.lifetime())))
        .streak(Some(KingStreak::new().current(streak.current).longest(streak.longest)))
        .days(metrics.days.iter().map(|(date, sums)| day(date, sums)).collect())
}

fn sums_of(sums: &Sums) -> KingSums {
    let tokens = KingTokens::new()
        .input(sums.tokens.input)
        .output(sums.tokens.output)
        .cache_read(sums.tokens.cache_read)
        .cache_write(sums.tokens.cache_write)
        .reasoning(sums.tokens.reasoning)
        .net(sums.tokens.net());
    let sum = KingSums::new().calls(sums.calls).errors(sums.errors).tokens(tokens);
    sum.partial(sums.unread > 0).unread(sums.unread)
}

fn band_of(band: &Band) -> KingBand {
    let models = band.models.iter().map(|(model, calls)| {
        KingModel::new().model(model.clone()).calls(*calls).percent(share(*calls, band.sums.calls))
    });
    KingBand::new()
        .sums(sums_of(&band.sums))
        .last_hour(band.last_hour)
        .models(models.collect())
        .cache_share_percent(cache_share(&band.sums.tokens))
        .p95_ms(band.p95_ms)
        .hourly(band.hourly.clone())
}

/// Percent of the whole, rounded.
pub(super) fn share(part: u64, whole: u64) -> u64 {
    if whole == 0 { 0 } else { (part as f64 * 100.0 / whole as f64).round() as u64 }
}

/// Cache reads are a part of the input: their share of it, where there was any.
pub(super) fn cache_share(tokens: &Tokens) -> Option<u64> {
    (tokens.input > 0).then(|| share(tokens.cache_read, tokens.input))
}
