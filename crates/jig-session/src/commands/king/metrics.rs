//! `jig-session king metrics`: the figures of the call logs, each with its window.

use std::path::PathBuf;

use jig_session_king::metrics::{self, Zone};
use jig_session_schema::king_documents::KingMetrics;
use jig_session_schema::time::Timestamp;

use crate::app::App;
use crate::failure::{Code, Exit, Failure, Outcome};

/// The variable that names the folder of the logs.
const LOGS: &str = "PI_KING_CALL_LOGS";

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
    let (mut archive, writable) = metrics::read_archive(&places.king_archive, &|text| app.note(text));
    let measured = metrics::measure(&logs, &mut archive, &zone, now.epoch_ms(), day).map_err(|error| {
        let errno = error.source.raw_os_error();
        Failure::new(Code::Io, error.to_string())
            .hint(format!("{LOGS} names the folder that holds one folder a day"))
            .path(error.path)
            .errno(errno)
    })?;
    if archive.changed() && writable {
        metrics::write_archive(&places.king_archive, &archive, &|text| app.note(text));
    }
    if app.json {
        app.print_json(&metrics::document(&measured, now, &zone, &logs))?;
    } else {
        app.print(&metrics::text(&measured, &zone))?;
    }
    Ok(Exit::OK)
}

/// The figures of today in lines, for a place that shows them beside other things; none where no logs are named or they
/// cannot be read.
pub(crate) fn band(app: &App) -> Vec<String> {
    let logs = app.var(LOGS).map(str::trim).filter(|logs| !logs.is_empty()).map(PathBuf::from);
    let Some((logs, zone)) = logs.zip(Zone::of(app.var("TZ"))) else { return Vec::new() };
    let (mut archive, _) = metrics::read_archive(&app.places().king_archive, &|_| {});
    let measured = metrics::measure(&logs, &mut archive, &zone, app.now().epoch_ms(), None);
    measured.map(|measured| metrics::text(&measured, &zone).lines().map(str::to_owned).collect()).unwrap_or_default()
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
