//! `jig-session king metrics`: the figures of the call logs, each with its window.

use std::path::{Path, PathBuf};

use jig_session_atomic::{Content, PrivateDir};
use jig_session_king::metrics::{self, Archive, Band, Metrics, Sums, Tokens, Zone};
use jig_session_schema::king_documents::{
    KingAverage, KingBand, KingDay, KingMetrics, KingModel, KingStreak, KingSums, KingTokens,
};
use jig_session_schema::time::Timestamp;

use crate::app::App;
use crate::failure::{Code, Exit, Failure, Outcome};
use jig_session_view::ages;
use jig_session_view::sanitise;

/// The archive is small: a day is at most 96 quarters.
const ARCHIVE_BYTES: usize = 64 << 20;
/// The variable that names the folder of the logs.
const LOGS: &str = "PI_KING_CALL_LOGS";
/// Models named in the text; all of them are in the document.
const MODELS_SHOWN: usize = 3;
/// A sparkline over fewer days with calls says nothing.
const LEAST_DAYS: usize = 3;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The local day, YYYY-MM-DD; today if omitted
    #[arg(long, value_name = "DAY")]
    day: Option<String>,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    let now = app.now();
    let zone = app.var("TZ");
    let zone = Zone::of(zone).ok_or_else(|| {
        let message = format!("TZ names no time zone: {:?}", zone.unwrap_or_default());
        Failure::new(Code::Usage, message).hint("use a name such as Europe/Berlin, or a POSIX rule")
    })?;
    let day = match &args.day {
        None => None,
        Some(day) => Some(metrics::parse_day(day).ok_or_else(|| {
            Failure::new(Code::Usage, format!("{day:?} is not a day")).hint("write it as 2026-11-29")
        })?),
    };
    let Some(logs) = app.var(LOGS).map(str::trim).filter(|logs| !logs.is_empty()).map(PathBuf::from) else {
        return without_logs(app, now, &zone);
    };
    let places = app.places();
    let (mut archive, writable) = read_archive(&|text| app.note(text), &places.king_archive);
    let measured = metrics::measure(&logs, &mut archive, &zone, now.epoch_ms(), day).map_err(|error| {
        let errno = error.source.raw_os_error();
        Failure::new(Code::Io, error.to_string())
            .hint(format!("{LOGS} names the folder that holds one folder a day"))
            .path(error.path)
            .errno(errno)
    })?;
    if archive.changed() && writable {
        write_archive(app, &places.king_archive, &archive);
    }
    if app.json {
        app.print_json(&document(&measured, now, &zone, &logs))?;
    } else {
        app.print(&text(&measured, &zone))?;
    }
    Ok(Exit::OK)
}

/// The figures of today in lines, for a place that shows them beside other things; none where no logs are named or they
/// cannot be read.
pub(crate) fn band(app: &App) -> Vec<String> {
    let logs = app.var(LOGS).map(str::trim).filter(|logs| !logs.is_empty()).map(PathBuf::from);
    let Some((logs, zone)) = logs.zip(Zone::of(app.var("TZ"))) else { return Vec::new() };
    let (mut archive, _) = read_archive(&|_| {}, &app.places().king_archive);
    let measured = metrics::measure(&logs, &mut archive, &zone, app.now().epoch_ms(), None);
    measured.map(|metrics| text(&metrics, &zone).lines().map(str::to_owned).collect()).unwrap_or_default()
}

/// No folder is named, so there is nothing to measure; guessing one would name one vendor's tool.
fn without_logs(app: &App, now: Timestamp, zone: &Zone) -> Outcome {
    if app.json {
        app.print_json(&KingMetrics::new().at(now).zone(zone.name().to_owned()))?;
    } else {
        app.print(&format!("no call logs: {LOGS} is not set\n"))?;
    }
    Ok(Exit::OK)
}

/// The archive, and whether it may be written: one that is not understood is left as it is.
fn read_archive(note: &dyn Fn(&str), folder: &Path) -> (Archive, bool) {
    let path = folder.join(Archive::FILE);
    let dir = match PrivateDir::open_own_existing(folder) {
        Ok(Some(dir)) => dir,
        Ok(None) => return (Archive::default(), true),
        Err(error) => {
            note(&format!("warning: {error}; figures of rotated logs are left out"));
            return (Archive::default(), false);
        }
    };
    match dir.read(Archive::FILE, ARCHIVE_BYTES) {
        Ok(file) => match Archive::parse(&file.bytes) {
            Some(archive) => (archive, true),
            None => {
                note(&format!(
                    "warning: {} is not an archive of this version; figures of rotated logs are left out, \
                     and it is not written over: move it away to begin a new one",
                    path.display()
                ));
                (Archive::default(), false)
            }
        },
        Err(problem)
            if matches!(problem.reason, jig_session_atomic::Reason::Missing | jig_session_atomic::Reason::Empty) =>
        {
            (Archive::default(), true)
        }
        Err(problem) => {
            note(&format!("warning: cannot read {}: {problem}; figures of rotated logs are left out", path.display()));
            (Archive::default(), false)
        }
    }
}

/// What belongs into the archive's folder.
fn in_archive(name: &std::ffi::OsStr, content: Content<'_>) -> bool {
    name == Archive::FILE && matches!(content, Content::File(_) | Content::Other)
}

/// The figures are right without the archive, so a failure is a warning.
fn write_archive(app: &App, folder: &Path, archive: &Archive) {
    let written =
        PrivateDir::open_own(folder, in_archive).and_then(|dir| dir.write(Archive::FILE, &archive.to_bytes()));
    if let Err(error) = written {
        app.note(&format!("warning: {error}; these days count only as long as their logs are there"));
    }
}

fn document(metrics: &Metrics, now: Timestamp, zone: &Zone, logs: &Path) -> KingMetrics {
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
fn share(part: u64, whole: u64) -> u64 {
    if whole == 0 { 0 } else { (part as f64 * 100.0 / whole as f64).round() as u64 }
}

/// Cache reads are a part of the input: their share of it, where there was any.
fn cache_share(tokens: &Tokens) -> Option<u64> {
    (tokens.input > 0).then(|| share(tokens.cache_read, tokens.input))
}

fn text(metrics: &Metrics, zone: &Zone) -> String {
    let today = metrics.date == metrics.today;
    let word = if today { "today".to_owned() } else { metrics.date.to_string() };
    let mut lines = Vec::new();
    match &metrics.band {
        None if today => lines.push(format!("today {} ({}): no calls yet", metrics.date, zone.name())),
        None => lines.push(format!("{word} ({}): no calls", zone.name())),
        Some(band) => band_lines(&word, band, metrics, zone, &mut lines),
    }
    if metrics.partial() {
        let unread = metrics.days.get(&metrics.date).map_or(0, |sums| sums.unread);
        lines.push(format!(
            "{word} is partial: {}",
            counted(unread, "record or field", "records or fields") + " not readable"
        ));
    }
    let week = metrics.seven_days();
    if week.iter().filter(|(_, sums)| sums.is_some_and(|sums| sums.calls > 0)).count() >= LEAST_DAYS {
        let input: Vec<u64> = week.iter().map(|(_, sums)| sums.map_or(0, |sums| sums.tokens.input)).collect();
        lines.push(format!(
            "7d in: {}  {}",
            sparkline(&input),
            ages::tokens(input.iter().fold(0, |sum, tokens| sum.saturating_add(*tokens)))
        ));
    }
    if let Some(average) = metrics.average() {
        let tokens = &average.sums.tokens;
        lines.push(format!(
            "avg ({} days): in {} out {} net {} a day",
            average.days,
            ages::tokens(tokens.input),
            ages::tokens(tokens.output),
            ages::tokens(tokens.net())
        ));
    }
    let streak = metrics.streak();
    if streak.longest > 1 {
        lines.push(format!("streak: {}, longest {}", counted(streak.current, "day", "days"), streak.longest));
    }
    lines.join("\n") + "\n"
}

fn band_lines(word: &str, band: &Band, metrics: &Metrics, zone: &Zone, lines: &mut Vec<String>) {
    let mut head = format!(
        "{}: {}, {}",
        if metrics.date == metrics.today {
            format!("today {} ({})", band.date, zone.name())
        } else {
            format!("{word} ({})", zone.name())
        },
        counted(band.sums.calls, "call", "calls"),
        counted(band.sums.errors, "error", "errors"),
    );
    if let Some(p95) = band.p95_ms {
        head.push_str(&format!(", p95 {}", duration(p95)));
    }
    if metrics.date == metrics.today {
        head.push_str(&format!(", last hour {}", counted(band.last_hour, "call", "calls")));
    }
    lines.push(head);
    let tokens = &band.sums.tokens;
    let cache = cache_share(tokens).map_or_else(String::new, |share| format!(" cache {share} %"));
    lines.push(format!(
        "tok {word}: in {} out {} net {}{cache}",
        ages::tokens(tokens.input),
        ages::tokens(tokens.output),
        ages::tokens(tokens.net())
    ));
    let models: Vec<String> = band
        .models
        .iter()
        .take(MODELS_SHOWN)
        .map(|(model, calls)| format!("{} {} %", sanitise::clean(model), share(*calls, band.sums.calls)))
        .collect();
    if !models.is_empty() {
        lines.push(format!("models {word}: {}", models.join(", ")));
    }
    lines.push(format!("calls {word} by hour: {}", sparkline(&band.hourly)));
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Eight heights; nothing is a blank.
fn sparkline(values: &[u64]) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = values.iter().copied().max().unwrap_or(0);
    let block = |value: u64| match value {
        0 => ' ',
        _ => BLOCKS[usize::try_from(u128::from(value) * 7 / u128::from(most)).unwrap_or(0).min(7)],
    };
    values.iter().map(|value| block(*value)).collect()
}

fn duration(ms: f64) -> String {
    if ms < 1000.0 { format!("{ms:.0} ms") } else { format!("{:.1} s", ms / 1000.0) }
}

#[cfg(test)]
mod tests {
    use super::{duration, share, sparkline};

    #[test]
    fn figures_as_people_read_them() {
        assert_eq!([duration(950.4), duration(12_340.0)], ["950 ms", "12.3 s"]);
        assert_eq!((share(1, 3), share(2, 3), share(0, 0)), (33, 67, 0));
    }

    #[test]
    fn a_sparkline_has_a_blank_for_nothing_and_its_height_for_the_most() {
        assert_eq!(sparkline(&[0, 1, 4, 8]), " ▁▄█");
        assert_eq!(sparkline(&[0, 0]), "  ");
        assert_eq!(sparkline(&[]), "");
    }
}
