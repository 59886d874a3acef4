//! The metrics over real folders of call logs, in several time zones.
#![allow(clippy::disallowed_methods, reason = "tests read the files that they made")]
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

use std::fs;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use jig_session_king::metrics::{Archive, Metrics, Zone, measure, parse_day};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Rules of the zones, so that no zone database is needed.
const BANGKOK: &str = "<+07>-7";
const PACIFIC: &str = "PST8PDT,M3.2.0,M11.1.0";
const KOLKATA: &str = "IST-5:30";
const BERLIN: &str = "CET-1CEST,M3.5.0,M10.5.0/3";

struct Logs {
    dir: TempDir,
    count: std::cell::Cell<u32>,
}

impl Logs {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), count: std::cell::Cell::new(0) }
    }

    fn root(&self) -> &Path {
        self.dir.path()
    }

    /// A file of a time that is on no day of these tests.
    fn raw(&self, day: &str, bytes: &[u8]) {
        self.written_at(day, bytes, "2001-01-01T00:00:00Z");
    }

    fn written_at(&self, day: &str, bytes: &[u8], stamp: &str) {
        let folder = self.root().join(day);
        fs::create_dir_all(&folder).unwrap();
        self.count.set(self.count.get() + 1);
        let path = folder.join(format!("call-{}.json", self.count.get()));
        fs::write(&path, bytes).unwrap();
        let time = UNIX_EPOCH + Duration::from_millis(u64::try_from(ms(stamp)).unwrap());
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    }

    /// A call in the folder of its own UTC day.
    fn call(&self, stamp: &str, change: impl FnOnce(&mut Value)) {
        let mut summary = json!({
            "status": 200, "model": "omni-anthropic/m-1", "timestamp": stamp, "duration": 1000,
            "tokens": { "in": 1000, "out": 10, "cacheRead": 900 },
        });
        change(&mut summary);
        self.raw(&stamp[..10], json!({ "summary": summary }).to_string().as_bytes());
    }

    fn calls(&self, stamps: &[&str]) {
        for stamp in stamps {
            self.call(stamp, |_| {});
        }
    }

    fn measure(&self, archive: &mut Archive, zone: &str, now: &str, day: Option<&str>) -> Metrics {
        let zone = Zone::of(Some(zone)).expect("the rule is a zone");
        let day = day.map(|day| parse_day(day).expect("a date"));
        measure(self.root(), archive, &zone, ms(now), day).expect("the logs can be listed")
    }

    fn fresh(&self, zone: &str, now: &str, day: Option<&str>) -> Metrics {
        self.measure(&mut Archive::default(), zone, now, day)
    }
}

fn ms(stamp: &str) -> i64 {
    stamp.parse::<jiff::Timestamp>().unwrap().as_millisecond()
}

/// Every local day with its calls.
fn days(metrics: &Metrics) -> Vec<(String, u64)> {
    metrics.days.iter().map(|(date, sums)| (date.to_string(), sums.calls)).collect()
}

fn day(name: &str, calls: u64) -> (String, u64) {
    (name.to_owned(), calls)
}

#[test]
fn the_band_of_a_day() {
    let logs = Logs::new();
    logs.call("2026-11-29T09:00:00Z", |call| {
        call["duration"] = json!(3000);
        call["status"] = json!(503);
    });
    logs.call("2026-11-29T10:15:00.250Z", |call| call["model"] = json!("codex/m-2"));
    logs.call("2026-11-29T10:20:00Z", |call| call["tokens"]["cacheRead"] = json!(0));
    logs.call("2026-11-29T10:59:00Z", |call| {
        call["duration"] = json!(0);
    });
    let metrics = logs.fresh("UTC", "2026-11-29T10:30:00Z", None);
    let band = metrics.band.as_ref().unwrap();
    assert_eq!((band.sums.calls, band.sums.errors), (4, 1));
    assert_eq!(band.last_hour, 2, "one is older than an hour, one is in the future");
    assert_eq!(band.models, [("m-1".to_owned(), 3), ("m-2".to_owned(), 1)]);
    assert_eq!((band.sums.tokens.input, band.sums.tokens.output, band.sums.tokens.cache_read), (4000, 40, 2700));
    assert_eq!(band.sums.tokens.net(), 1300);
    assert_eq!(band.p95_ms, Some(3000.0));
    assert_eq!(band.hourly, [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 3]);
    assert!(!metrics.partial());
    assert_eq!(metrics.average(), None, "no day is completed yet");
}

#[test]
fn a_day_without_a_call_is_not_a_day_of_zeros() {
    let logs = Logs::new();
    logs.calls(&["2026-11-28T12:00:00Z"]);
    assert!(logs.fresh("UTC", "2026-11-29T10:00:00Z", None).band.is_none());
    assert!(logs.fresh("UTC", "2026-11-29T10:00:00Z", Some("2026-11-28")).band.is_some());
}

#[test]
fn at_utc_plus_7_the_first_seven_hours_are_counted() {
    let logs = Logs::new();
    // 00:30, 06:59 and 07:01 of the 30th in Bangkok; 23:59 of the 29th.
    logs.calls(&["2026-11-29T17:30:00Z", "2026-11-29T23:59:00Z", "2026-11-30T00:01:00Z", "2026-11-29T16:59:59.999Z"]);
    let metrics = logs.fresh(BANGKOK, "2026-11-29T23:59:30Z", None);
    assert_eq!(metrics.today.to_string(), "2026-11-30");
    assert_eq!(days(&metrics), [day("2026-11-29", 1), day("2026-11-30", 3)]);
    let band = metrics.band.unwrap();
    assert_eq!((band.sums.calls, &band.hourly[..]), (3, &[1, 0, 0, 0, 0, 0, 1, 1][..]));
}

#[test]
fn at_utc_minus_8_the_evening_lies_in_tomorrows_folder() {
    let logs = Logs::new();
    // 16:01 and 23:59 of the 29th, 00:00 of the 30th in Los Angeles.
    logs.calls(&["2026-11-30T00:01:00Z", "2026-11-30T07:59:00Z", "2026-11-30T08:00:00Z"]);
    let metrics = logs.fresh(PACIFIC, "2026-11-30T07:59:59Z", None);
    assert_eq!(metrics.today.to_string(), "2026-11-29");
    assert_eq!(days(&metrics), [day("2026-11-29", 2), day("2026-11-30", 1)]);
    assert_eq!(metrics.band.unwrap().sums.calls, 2);
}

#[test]
fn at_utc_plus_5_30_midnight_lies_within_a_utc_hour_also_in_the_archive() {
    let logs = Logs::new();
    // Midnight in Kolkata is 18:30 UTC.
    logs.calls(&["2026-11-20T18:29:59Z", "2026-11-20T18:30:00Z"]);
    let mut archive = Archive::default();
    let expected = [day("2026-11-20", 1), day("2026-11-21", 1)];
    assert_eq!(days(&logs.measure(&mut archive, KOLKATA, "2026-11-29T10:00:00Z", None)), expected);
    fs::remove_dir_all(logs.root().join("2026-11-20")).unwrap();
    let mut archive = Archive::parse(&archive.to_bytes()).unwrap();
    assert_eq!(days(&logs.measure(&mut archive, KOLKATA, "2026-11-29T10:00:00Z", None)), expected);
    // The same archive read in another zone gives that zone's days.
    assert_eq!(days(&logs.measure(&mut archive, "UTC", "2026-11-29T10:00:00Z", None)), [day("2026-11-20", 2)]);
}

#[test]
fn a_change_to_or_from_summer_time_ends_no_streak_and_loses_no_call() {
    let logs = Logs::new();
    // Noon of each day around 25 October 2026, which has 25 hours in Berlin.
    logs.calls(&["2026-10-23T10:00:00Z", "2026-10-24T10:00:00Z", "2026-10-26T11:00:00Z", "2026-10-27T11:00:00Z"]);
    // 02:30 comes twice on the 25th.
    logs.calls(&["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"]);
    let metrics = logs.fresh(BERLIN, "2026-10-27T12:00:00Z", Some("2026-10-25"));
    assert_eq!(metrics.streak().current, 5);
    assert_eq!(metrics.band.as_ref().unwrap().hourly, [0, 0, 2]);
    // 29 March 2026 has 23 hours; 01:59 is followed by 03:00.
    logs.calls(&["2026-03-28T12:00:00Z", "2026-03-29T00:59:00Z", "2026-03-29T01:00:00Z", "2026-03-30T12:00:00Z"]);
    let metrics = logs.fresh(BERLIN, "2026-10-27T12:00:00Z", Some("2026-03-29"));
    assert_eq!(metrics.band.as_ref().unwrap().hourly, [0, 1, 0, 1]);
    assert_eq!((metrics.streak().current, metrics.streak().longest), (5, 5));
}

#[test]
fn streaks_go_by_calendar_dates_and_today_may_still_come() {
    let logs = Logs::new();
    logs.calls(&["2026-11-20T12:00:00Z", "2026-11-21T12:00:00Z", "2026-11-22T12:00:00Z", "2026-11-28T12:00:00Z"]);
    let at = |now: &str| logs.fresh("UTC", now, None).streak();
    assert_eq!((at("2026-11-28T13:00:00Z").current, at("2026-11-28T13:00:00Z").longest), (1, 3));
    assert_eq!(at("2026-11-29T01:00:00Z").current, 1);
    assert_eq!(at("2026-11-30T01:00:00Z").current, 0);
}

#[test]
fn bad_stamps_and_strings_for_numbers_make_the_day_partial_and_count_as_nothing() {
    let logs = Logs::new();
    logs.calls(&["2026-11-29T10:00:00Z"]);
    for stamp in
        [json!("not a time, though long"), json!(1_795_946_400_000_u64), json!(null), json!("2026-13-40T10:00:00Z")]
    {
        logs.call("2026-11-29T11:00:00Z", |call| call["timestamp"] = stamp);
    }
    let metrics = logs.fresh("UTC", "2026-11-29T12:00:00Z", None);
    assert_eq!(days(&metrics), [day("2026-11-29", 1)], "no day of its own for a bad stamp");
    assert_eq!(metrics.days[&metrics.today].unread, 4);
    assert!(metrics.partial());

    let logs = Logs::new();
    logs.call("2026-11-29T11:00:00Z", |call| {
        call["status"] = json!("500");
        call["tokens"]["in"] = json!("1000");
    });
    let metrics = logs.fresh("UTC", "2026-11-29T12:00:00Z", None);
    let sums = metrics.band.as_ref().unwrap().sums;
    assert_eq!((sums.calls, sums.errors, sums.tokens.input, sums.tokens.output), (1, 0, 0, 10));
    assert!(metrics.partial());
}

#[test]
fn a_file_that_does_not_parse_marks_its_own_day_only() {
    let logs = Logs::new();
    logs.calls(&["2026-11-27T10:00:00Z", "2026-11-28T10:00:00Z", "2026-11-29T10:00:00Z"]);
    for bad in ["", "{\"summary\":", "[]", "{\"nothing\":1}"] {
        logs.raw("2026-11-28", bad.as_bytes());
    }
    let partial = |day: &str| logs.fresh("UTC", "2026-11-29T12:00:00Z", Some(day)).partial();
    assert_eq!((partial("2026-11-27"), partial("2026-11-28"), partial("2026-11-29")), (false, true, false));
    // The file's own time is not on the folder's day, so either local day that the folder touches may lack it.
    let zone = Zone::of(Some(BANGKOK)).unwrap();
    let metrics = measure(logs.root(), &mut Archive::default(), &zone, ms("2026-11-29T12:00:00Z"), None).unwrap();
    let unread: Vec<u64> = metrics.days.values().map(|sums| sums.unread).collect();
    assert_eq!(unread, [0, 4, 4]);
    // Written at 08:00 of the 28th in Bangkok: it is that day that lacks it.
    let logs = Logs::new();
    logs.calls(&["2026-11-28T10:00:00Z", "2026-11-29T10:00:00Z"]);
    logs.written_at("2026-11-28", b"{", "2026-11-28T01:00:00Z");
    let metrics = measure(logs.root(), &mut Archive::default(), &zone, ms("2026-11-29T12:00:00Z"), None).unwrap();
    let unread: Vec<u64> = metrics.days.values().map(|sums| sums.unread).collect();
    assert_eq!(unread, [1, 0]);
}

#[test]
fn rotated_logs_still_count_with_their_partial_mark() {
    let logs = Logs::new();
    logs.calls(&["2026-11-20T10:00:00Z", "2026-11-20T11:00:00Z", "2026-11-28T10:00:00Z", "2026-11-29T10:00:00Z"]);
    logs.raw("2026-11-20", b"{");
    let mut archive = Archive::default();
    let before = logs.measure(&mut archive, "UTC", "2026-11-29T12:00:00Z", None);
    assert!(archive.changed());
    let mut archive = Archive::parse(&archive.to_bytes()).unwrap();
    fs::remove_file(logs.root().join("2026-11-20/call-1.json")).unwrap();
    let half = logs.measure(&mut archive, "UTC", "2026-11-29T12:00:00Z", None);
    assert_eq!(days(&half), days(&before), "a rotation under way takes nothing away");
    fs::remove_dir_all(logs.root().join("2026-11-20")).unwrap();
    let after = logs.measure(&mut archive, "UTC", "2026-11-29T12:00:00Z", None);
    assert_eq!(days(&after), days(&before));
    assert_eq!(after.days[&parse_day("2026-11-20").unwrap()].unread, 1);
    assert_eq!(after.lifetime().calls, 4);
    assert!(!archive.changed(), "nothing new was measured");
}

#[test]
fn an_archived_day_with_a_missing_field_is_measured_again_or_left_out() {
    let logs = Logs::new();
    logs.calls(&["2026-11-20T10:00:00Z", "2026-11-28T10:00:00Z", "2026-11-29T10:00:00Z"]);
    let mut archive = Archive::default();
    let _ = logs.measure(&mut archive, "UTC", "2026-11-29T12:00:00Z", None);
    let mut document: Value = serde_json::from_slice(&archive.to_bytes()).unwrap();
    let sums = &mut document["days"]["2026-11-20"]["hours"]["2026-11-20T10"]["00"];
    sums.as_object_mut().unwrap().remove("tokensReasoning").expect("the field was there");
    let incomplete = document["days"]["2026-11-20"].clone();
    let bytes = serde_json::to_vec(&document).unwrap();

    let mut archive = Archive::parse(&bytes).unwrap();
    assert_eq!(days(&logs.measure(&mut archive, "UTC", "2026-11-29T12:00:00Z", None)).len(), 3);

    fs::remove_dir_all(logs.root().join("2026-11-20")).unwrap();
    let mut archive = Archive::parse(&bytes).unwrap();
    let metrics = logs.measure(&mut archive, "UTC", "2026-11-29T12:00:00Z", None);
    assert_eq!(days(&metrics), [day("2026-11-28", 1), day("2026-11-29", 1)]);
    let kept: Value = serde_json::from_slice(&archive.to_bytes()).unwrap();
    assert_eq!(kept["days"]["2026-11-20"], incomplete, "it stays in the file as it was");
}

#[test]
fn the_averages_are_over_completed_days_and_the_week_ends_with_the_day() {
    let logs = Logs::new();
    logs.calls(&["2026-11-25T10:00:00Z", "2026-11-27T10:00:00Z", "2026-11-27T11:00:00Z", "2026-11-29T10:00:00Z"]);
    let metrics = logs.fresh("UTC", "2026-11-29T12:00:00Z", None);
    let average = metrics.average().unwrap();
    assert_eq!((average.days, average.sums.tokens.input, average.sums.calls), (2, 1500, 2));
    let week: Vec<Option<u64>> = metrics.seven_days().iter().map(|(_, sums)| sums.map(|sums| sums.calls)).collect();
    assert_eq!(week, [None, None, Some(1), None, Some(2), None, Some(1)]);
    assert_eq!(metrics.lifetime().tokens.input, 4000);
}

#[test]
fn other_folders_and_files_are_not_the_logs() {
    let logs = Logs::new();
    logs.calls(&["2026-11-29T10:00:00Z"]);
    for name in ["2026-11-2", "2026-11-31", "notes", "2026-11-29T10", "20261129"] {
        logs.raw(name, br#"{"summary":{"timestamp":"2026-11-29T10:00:00Z"}}"#);
    }
    fs::write(logs.root().join("2026-11-28"), "a file").unwrap();
    fs::write(logs.root().join("2026-11-29/readme.txt"), "no record").unwrap();
    fs::write(logs.root().join("2026-11-29/.half.json"), "{").unwrap();
    let metrics = logs.fresh("UTC", "2026-11-29T12:00:00Z", None);
    assert_eq!((days(&metrics), metrics.partial()), (vec![day("2026-11-29", 1)], false));
}

#[test]
#[cfg(unix)]
fn a_link_or_a_pipe_among_the_records_is_unread_and_stops_nothing() {
    let logs = Logs::new();
    logs.calls(&["2026-11-29T10:00:00Z"]);
    let folder = logs.root().join("2026-11-29");
    std::os::unix::fs::symlink("call-1.json", folder.join("link.json")).unwrap();
    fs::create_dir(folder.join("folder.json")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        folder.join("pipe.json"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let metrics = logs.fresh("UTC", "2026-11-29T12:00:00Z", None);
    assert_eq!((days(&metrics), metrics.days[&metrics.today].unread), (vec![day("2026-11-29", 1)], 3));
}

#[test]
fn logs_that_cannot_be_listed_are_an_error_and_not_an_empty_day() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("no-such-folder");
    let error = measure(&missing, &mut Archive::default(), &Zone::utc(), 0, None).unwrap_err();
    assert!(error.to_string().contains("no-such-folder"), "{error}");
}

#[test]
fn a_zone_is_a_name_a_rule_or_nothing() {
    assert_eq!(Zone::of(Some("UTC")).unwrap().name(), "UTC");
    assert!(Zone::of(Some("Neverland/Nowhere")).is_none());
    assert!(Zone::of(None).is_some());
    assert!(Zone::of(Some("")).is_some());
    assert!(Zone::of(Some(KOLKATA)).is_some());
    assert!(Zone::of(Some("/no/such/zone-file")).is_none());
    assert!(Zone::of(Some("/dev/null")).is_none(), "an empty file is no zone");
}
