//! The archive of measured days: what counts towards the long figures after its logs are rotated away.
//!
//! It is stored by UTC hour, and inside an hour by quarter, because a local day begins at a quarter of a
//! UTC hour in every zone of the world. So a later change of the time zone splits old days rightly.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jig_session_schema::shape::Named;
use jig_session_schema::state_files::{ArchivedDay, ArchivedSums, UsageArchive};
use serde_json::{Map, Value};

use super::record::Tokens;

/// Length of a quarter of an hour in milliseconds.
const QUARTER_MS: i64 = 15 * 60 * 1000;

/// What many calls add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Calls counted.
    pub calls: u64,
    /// Those of them with an HTTP status of 400 or above.
    pub errors: u64,
    /// Their tokens.
    pub tokens: Tokens,
    /// Records, or fields of counted records, that could not be read. Above zero: the sums are partial.
    pub unread: u64,
}

impl Sums {
    /// Adds other sums.
    pub fn add(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.errors = self.errors.saturating_add(other.errors);
        self.tokens.add(&other.tokens);
        self.unread = self.unread.saturating_add(other.unread);
    }

    fn read(sums: &ArchivedSums) -> Self {
        Self {
            calls: sums.calls,
            errors: sums.errors,
            tokens: Tokens {
                input: sums.tokens_in,
                output: sums.tokens_out,
                cache_read: sums.tokens_cache_read,
                cache_write: sums.tokens_cache_write,
                reasoning: sums.tokens_reasoning,
            },
            unread: sums.unread,
        }
    }

    fn document(self) -> ArchivedSums {
        ArchivedSums::new()
            .calls(self.calls)
            .errors(self.errors)
            .tokens_in(self.tokens.input)
            .tokens_out(self.tokens.output)
            .tokens_cache_read(self.tokens.cache_read)
            .tokens_cache_write(self.tokens.cache_write)
            .tokens_reasoning(self.tokens.reasoning)
            .unread(self.unread)
    }
}

/// One quarter of a UTC hour, counted from the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quarter(i64);

impl Quarter {
    /// The quarter an instant lies in.
    #[must_use]
    pub fn of(epoch_ms: i64) -> Self {
        Self(epoch_ms.div_euclid(QUARTER_MS))
    }

    /// Its first millisecond.
    #[must_use]
    pub fn start_ms(self) -> i64 {
        self.0.saturating_mul(QUARTER_MS)
    }

    /// The hour's key and the minute's key in the archive: `2026-11-29T13` and `15`.
    fn keys(self) -> Option<(String, String)> {
        let text = Timestamp::from_millisecond(self.start_ms()).ok()?.to_string();
        Some((text.get(..13)?.to_owned(), text.get(14..16)?.to_owned()))
    }

    fn parse(hour: &str, minute: &str) -> Option<Self> {
        let instant: Timestamp = format!("{hour}:{minute}:00Z").parse().ok()?;
        let quarter = Self::of(instant.as_millisecond());
        (quarter.start_ms() == instant.as_millisecond()).then_some(quarter)
    }
}

/// What one folder of the logs, that is one UTC day, was measured to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folder {
    /// When the folder last changed, in milliseconds; a changed folder is measured again.
    pub modified_ms: i64,
    /// Records that could not be read and whose quarter is not known.
    pub unplaced: u64,
    /// The sums of each quarter with calls, by the calls' own stamps.
    pub quarters: BTreeMap<Quarter, Sums>,
}

impl Folder {
    /// Calls in the folder.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.quarters.values().map(|sums| sums.calls).fold(0, u64::saturating_add)
    }

    /// A day that says everything; one of which a part is missing is incomplete.
    fn read(value: &Value) -> Option<Self> {
        let read = ArchivedDay::read_value(value.clone()).ok().filter(|read| read.problems.is_empty())?;
        let day = read.value;
        let mut quarters = BTreeMap::new();
        for (hour, minutes) in day.hours.iter() {
            for (minute, sums) in minutes.iter() {
                quarters.insert(Quarter::parse(hour, minute)?, Sums::read(sums));
            }
        }
        Some(Self { modified_ms: day.modified_ms, unplaced: day.unplaced, quarters })
    }

    fn document(&self) -> Value {
        let mut hours: Named<Named<ArchivedSums>> = Named::default();
        for (quarter, sums) in &self.quarters {
            if let Some((hour, minute)) = quarter.keys() {
                let mut minutes = hours.get(&hour).cloned().unwrap_or_default();
                minutes.insert(&minute, sums.document());
                hours.insert(&hour, minutes);
            }
        }
        let day = ArchivedDay::new().modified_ms(self.modified_ms).unplaced(self.unplaced).hours(hours);
        Value::Object(day.to_document())
    }
}

/// An archived day: what it was measured to hold, unless a field is missing, and the day as it stands in the file, with
/// what other versions put into it.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    folder: Option<Folder>,
    document: Value,
}

impl Entry {
    fn read(document: &Value) -> Self {
        Self { folder: Folder::read(document), document: document.clone() }
    }

    /// The day after a measure: its quarters are those that were measured, each with what stood beside its numbers.
    fn measured(before: Option<&Self>, folder: Folder) -> Self {
        let mut document = before.map_or(Value::Null, |entry| entry.document.clone());
        let hours_before = document.get_mut("hours").map(Value::take).unwrap_or_default();
        put(&mut document, folder.document());
        for (hour, minutes) in document["hours"].as_object_mut().into_iter().flatten() {
            for (minute, sums) in minutes.as_object_mut().into_iter().flatten() {
                let mut whole = hours_before[hour][minute].clone();
                put(&mut whole, sums.take());
                *sums = whole;
            }
        }
        Self { folder: Some(folder), document }
    }
}

/// Puts the fields of one object over those of another.
fn put(over: &mut Value, fields: Value) {
    match (over.as_object_mut(), fields) {
        (Some(over), Value::Object(fields)) => over.extend(fields),
        (_, fields) => *over = fields,
    }
}

/// Every day that was ever measured, by the name of its folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Archive {
    days: BTreeMap<String, Entry>,
    /// What other versions put beside the days.
    unknown: Map<String, Value>,
    changed: bool,
}

impl Archive {
    /// The file's name in `<state>/king/`.
    pub const FILE: &'static str = "usage.json";

    /// Reads the archive; `None` when the bytes are none of ours, so that they are not written over.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let Value::Object(mut document) = serde_json::from_slice(bytes).ok()? else { return None };
        let archive = UsageArchive::read_value(Value::Object(document.clone())).ok()?.value;
        document.remove("schema");
        document.remove("days");
        let days = archive.days.iter().map(|(name, day)| (name.to_owned(), Entry::read(day))).collect();
        Some(Self { days, unknown: document, changed: false })
    }

    /// The archive's text.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let days = self.days.iter().map(|(name, entry)| (name.clone(), entry.document.clone()));
        let mut document = Value::Object(UsageArchive::new().days(days.collect()).to_document());
        put(&mut document, Value::Object(self.unknown.clone()));
        let mut bytes = serde_json::to_vec(&document).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    /// True when something was recorded that is not on disk yet.
    #[must_use]
    pub fn changed(&self) -> bool {
        self.changed
    }

    /// The complete measure of a folder.
    #[must_use]
    pub fn folder(&self, name: &str) -> Option<&Folder> {
        self.days.get(name)?.folder.as_ref()
    }

    /// Records a measure. One with fewer calls than the archive holds is what a rotation left over:
    /// the archive's counts on.
    pub fn record(&mut self, name: &str, folder: Folder) {
        if self.folder(name).is_some_and(|old| *old == folder || old.calls() > folder.calls()) {
            return;
        }
        let entry = Entry::measured(self.days.get(name), folder);
        self.days.insert(name.to_owned(), entry);
        self.changed = true;
    }

    /// The complete days; the others stay in the file and are excluded from every figure.
    pub fn complete(&self) -> impl Iterator<Item = (&str, &Folder)> {
        self.days.iter().filter_map(|(name, entry)| Some((name.as_str(), entry.folder.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Archive, Folder, Quarter, Sums};
    use serde_json::{Value, json};

    fn folder(calls: u64) -> Folder {
        let mut folder = Folder { modified_ms: 5, unplaced: 1, ..Folder::default() };
        let sums = Sums { calls, errors: 1, unread: 2, ..Sums::default() };
        folder.quarters.insert(Quarter::of(1_795_946_400_000 + 16 * 60 * 1000), sums);
        folder
    }

    #[test]
    fn survives_a_round_trip_and_is_keyed_by_utc_hour_and_quarter() {
        let mut archive = Archive::default();
        archive.record("2026-11-29", folder(3));
        assert!(archive.changed());
        let text: Value = serde_json::from_slice(&archive.to_bytes()).unwrap();
        assert_eq!(text["days"]["2026-11-29"]["hours"]["2026-11-29T10"]["15"]["calls"], json!(3));
        let read = Archive::parse(&archive.to_bytes()).unwrap();
        assert_eq!(read.folder("2026-11-29"), Some(&folder(3)));
        assert!(!read.changed());
    }

    #[test]
    fn a_rotation_takes_nothing_away() {
        let mut archive = Archive::default();
        archive.record("2026-11-29", folder(3));
        archive.record("2026-11-29", folder(2));
        assert_eq!(archive.folder("2026-11-29").map(Folder::calls), Some(3));
        archive.record("2026-11-29", folder(4));
        assert_eq!(archive.folder("2026-11-29").map(Folder::calls), Some(4));
    }

    #[test]
    fn an_incomplete_day_is_kept_and_counts_nowhere() {
        let mut document: Value = {
            let mut archive = Archive::default();
            archive.record("2026-11-28", folder(3));
            archive.record("2026-11-29", folder(3));
            serde_json::from_slice(&archive.to_bytes()).unwrap()
        };
        document["days"]["2026-11-28"]["hours"]["2026-11-29T10"]["15"]
            .as_object_mut()
            .unwrap()
            .remove("tokensCacheRead");
        let mut archive = Archive::parse(&serde_json::to_vec(&document).unwrap()).unwrap();
        assert_eq!(archive.complete().map(|(name, _)| name).collect::<Vec<_>>(), ["2026-11-29"]);
        let again: Value = serde_json::from_slice(&archive.to_bytes()).unwrap();
        assert_eq!(again["days"]["2026-11-28"], document["days"]["2026-11-28"]);
        // Its logs are still there: measured again, it is complete.
        archive.record("2026-11-28", folder(1));
        assert_eq!(archive.complete().count(), 2);
    }

    #[test]
    fn what_another_version_put_beside_is_kept_wherever_it_stands() {
        let mut archive = Archive::default();
        archive.record("2026-11-28", folder(3));
        archive.record("2026-11-29", folder(3));
        let mut document: Value = serde_json::from_slice(&archive.to_bytes()).unwrap();
        let hour = |document: &mut Value, day: &str| document["days"][day]["hours"]["2026-11-29T10"]["15"].take();
        document["zone"] = json!("UTC");
        for day in ["2026-11-28", "2026-11-29"] {
            document["days"][day]["source"] = json!({ "a": [1] });
            document["days"][day]["hours"]["2026-11-29T10"]["15"]["cost"] = json!(0.5);
        }
        let mut archive = Archive::parse(&serde_json::to_vec(&document).unwrap()).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&archive.to_bytes()).unwrap(), document);
        archive.record("2026-11-29", folder(4));
        let mut again: Value = serde_json::from_slice(&archive.to_bytes()).unwrap();
        assert_eq!(again["zone"], "UTC");
        assert_eq!(again["days"]["2026-11-28"], document["days"]["2026-11-28"]);
        assert_eq!(again["days"]["2026-11-29"]["source"], json!({ "a": [1] }));
        let (mut before, after) = (hour(&mut document, "2026-11-29"), hour(&mut again, "2026-11-29"));
        before["calls"] = json!(4);
        assert_eq!(after, before);
    }

    #[test]
    fn what_is_none_of_ours_is_not_read() {
        for bytes in [&b""[..], b"[]", b"{}", br#"{"schema":2,"days":{}}"#, br#"{"2026-11-29":{"2026-11-29":{}}}"#] {
            assert_eq!(Archive::parse(bytes), None);
        }
    }
}
