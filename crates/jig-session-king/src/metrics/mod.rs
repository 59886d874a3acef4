//! Call-log metrics: today's calls and tokens, the last days, the archive of days whose logs are gone.
//!
//! A day is always a local calendar day, computed from each record's own stamp, never from the name
//! of the folder it lies in. Memory does not grow with the records: a file is read into one buffer,
//! counted and forgotten.

mod archive;
mod band;
mod document;
mod file;
mod logs;
mod record;
mod text;
mod zone;

use std::collections::BTreeMap;
use std::path::Path;

use jiff::civil::Date;

pub use archive::{Archive, Folder, Quarter, Sums};
pub use band::Band;
pub use document::document;
pub use file::{read_archive, write_archive};
pub use logs::LogsError;
pub use record::Tokens;
pub use text::text;
pub use zone::Zone;

use band::BandBuilder;

/// The newest folders by name are always measured again: records still arrive there.
const LIVE_FOLDERS: usize = 2;

/// Everything that was measured.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// The day the band is about.
    pub date: Date,
    /// The local day now.
    pub today: Date,
    /// The band of `date`; `None` when it had no call.
    pub band: Option<Band>,
    /// Every local day with a call or with unread records, oldest first.
    pub days: BTreeMap<Date, Sums>,
}

/// A day by its name, `YYYY-MM-DD`.
#[must_use]
pub fn parse_day(name: &str) -> Option<Date> {
    logs::day(name)
}

/// Measures the logs below `root`: the band of `day` (left out: today) and the series of all days.
/// What was measured goes into the archive; folders it already holds unchanged are not read again.
///
/// # Errors
/// When a folder of the logs cannot be listed.
pub fn measure(
    root: &Path,
    archive: &mut Archive,
    zone: &Zone,
    now_ms: i64,
    day: Option<Date>,
) -> Result<Metrics, LogsError> {
    let today = zone.local(now_ms).map_or(Date::ZERO, |(date, _)| date);
    let date = day.unwrap_or(today);
    let mut band = BandBuilder::new(zone, date, now_ms);
    let folders = logs::folders(root)?;
    let first_live = folders.len().saturating_sub(LIVE_FOLDERS);
    let mut buffer = Vec::new();
    for (at, folder) in folders.iter().enumerate() {
        // A local day lies within the UTC days around it.
        let near = near(folder.date, date);
        let known = archive.folder(&folder.name).is_some_and(|known| known.modified_ms == folder.modified_ms);
        if near || at >= first_live || !known {
            let measured = logs::measure(folder, &mut buffer, near.then_some(&mut band))?;
            archive.record(&folder.name, measured);
        }
    }
    Ok(Metrics { date, today, band: band.finish(), days: local_days(archive, zone) })
}

fn near(folder: Date, day: Date) -> bool {
    (logs::utc_start_ms(folder) - logs::utc_start_ms(day)).abs() <= 86_400_000
}

/// The archive's quarters as local days. Unread records of unknown time count on every local day that
/// their UTC day touches.
fn local_days(archive: &Archive, zone: &Zone) -> BTreeMap<Date, Sums> {
    let mut days: BTreeMap<Date, Sums> = BTreeMap::new();
    for (name, folder) in archive.complete() {
        for (quarter, sums) in &folder.quarters {
            if let Some((date, _)) = zone.local(quarter.start_ms()) {
                days.entry(date).or_default().add(sums);
            }
        }
        if folder.unplaced > 0
            && let Some(date) = logs::day(name)
        {
            let start = logs::utc_start_ms(date);
            let mut touched = [start, start + 86_400_000 - 1].map(|ms| zone.local(ms).map(|(date, _)| date));
            if touched[0] == touched[1] {
                touched[1] = None;
            }
            for date in touched.into_iter().flatten() {
                let unread = &mut days.entry(date).or_default().unread;
                *unread = unread.saturating_add(folder.unplaced);
            }
        }
    }
    days
}

/// Consecutive days with calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streak {
    /// Up to today; a today without calls yet does not end it.
    pub current: u64,
    /// The longest there was.
    pub longest: u64,
}

/// A mean over completed days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Average {
    /// How many days it is over.
    pub days: u64,
    /// The mean of each sum.
    pub sums: Sums,
}

impl Metrics {
    /// True when something of the band's day could not be read.
    #[must_use]
    pub fn partial(&self) -> bool {
        self.days.get(&self.date).is_some_and(|sums| sums.unread > 0)
    }

    /// The seven days that end with the band's, a day without calls as `None`.
    #[must_use]
    pub fn seven_days(&self) -> Vec<(Date, Option<Sums>)> {
        let mut days = Vec::with_capacity(7);
        let mut date = self.date;
        for _ in 0..7 {
            days.push((date, self.days.get(&date).copied()));
            let Ok(before) = date.yesterday() else { break };
            date = before;
        }
        days.reverse();
        days
    }

    /// The mean over the completed days; `None` below two of them.
    #[must_use]
    pub fn average(&self) -> Option<Average> {
        let mut total = Sums::default();
        let mut days = 0;
        for sums in self.days.range(..self.today).map(|(_, sums)| sums).filter(|sums| sums.calls > 0) {
            total.add(sums);
            days += 1;
        }
        if days < 2 {
            return None;
        }
        let mean = |sum: u64| sum.saturating_add(days / 2) / days;
        let tokens = Tokens {
            input: mean(total.tokens.input),
            output: mean(total.tokens.output),
            cache_read: mean(total.tokens.cache_read),
            cache_write: mean(total.tokens.cache_write),
            reasoning: mean(total.tokens.reasoning),
        };
        Some(Average {
            days,
            sums: Sums { calls: mean(total.calls), errors: mean(total.errors), tokens, unread: total.unread },
        })
    }

    /// Everything that was ever measured.
    #[must_use]
    pub fn lifetime(&self) -> Sums {
        let mut total = Sums::default();
        for sums in self.days.values() {
            total.add(sums);
        }
        total
    }

    /// Streaks by calendar date: a day of 23 or 25 hours is a day.
    #[must_use]
    pub fn streak(&self) -> Streak {
        let mut streak = Streak { current: 0, longest: 0 };
        let (mut run, mut expected) = (0, None);
        for date in self.days.iter().filter(|(_, sums)| sums.calls > 0).map(|(date, _)| *date) {
            run = if expected == Some(date) { run + 1 } else { 1 };
            expected = date.tomorrow().ok();
            streak.longest = streak.longest.max(run);
            let goes_on = date == self.today || expected == Some(self.today);
            streak.current = if goes_on { run } else { 0 };
        }
        streak
    }
}
