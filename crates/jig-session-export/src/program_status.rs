//! All sessions as records of a terminal's program status (OSC 7501): one root record, and a child a session.

use std::collections::{BTreeMap, BTreeSet};

use jig_session_schema::row::Row;
use jig_session_store::{Condition, by_urgency};
use jig_session_view::rows;
use jig_session_view::sanitise::clean;
use termstate_core::{Id, Kind, Report, State, Terminator, sanitize, write_clear};

/// The name of this program in its records.
const APP: &str = "jig-session";
/// A terminal keeps at least 64 records: the root and these.
const CHILDREN: usize = 63;
/// A title's bytes.
const TITLE: usize = 192;
/// What of an id names its record.
const SHORT: usize = 12;

/// The records as a terminal has them.
#[derive(Debug, Default)]
pub struct Records {
    /// By id; the root's is empty.
    shown: BTreeMap<String, String>,
}

impl Records {
    /// What to write so that the terminal shows these rows; empty when it does already.
    pub fn update<'a>(&mut self, rows: impl IntoIterator<Item = &'a Row>) -> String {
        let rows: Vec<&Row> = rows.into_iter().filter(|row| Condition::of(row) != Condition::Gone).collect();
        let mut wanted = BTreeMap::new();
        wanted.insert(String::new(), root(&rows));
        let mut ids = BTreeSet::new();
        for row in by_urgency(rows.iter().copied()).into_iter().map(|place| rows[place]).take(CHILDREN) {
            let id = short_id(row, &mut ids);
            let report = child(row, &id);
            wanted.insert(id, report);
        }
        let mut out = String::new();
        for id in self.shown.keys().filter(|id| !wanted.contains_key(*id)) {
            if let Ok(id) = Id::new(id) {
                // Writing to a String cannot fail.
                let _ = write_clear(&mut out, Some(id), Terminator::St);
            }
        }
        for (id, report) in &wanted {
            if self.shown.get(id) != Some(report) {
                out.push_str(report);
            }
        }
        self.shown = wanted;
        out
    }

    /// What removes every record.
    #[must_use]
    pub fn clear() -> String {
        let mut out = String::new();
        let _ = write_clear(&mut out, None, Terminator::St);
        out
    }
}

fn root(rows: &[&Row]) -> String {
    let conditions: Vec<Condition> = rows.iter().map(|row| Condition::of(row)).collect();
    let state = if conditions.iter().any(Condition::waits) {
        State::Blocked
    } else if conditions.contains(&Condition::Busy) {
        State::Working
    } else {
        State::Idle
    };
    written(Report::builder(state).app(APP))
}

fn child(row: &Row, id: &str) -> String {
    let (state, kind) = meaning(&Condition::of(row));
    let title = sanitize(&clean(&format!("{} {}", row.agent_name(), rows::title(row))), TITLE);
    let mut report = Report::builder(state).id(id).title(&title);
    if let Some(kind) = kind {
        report = report.kind(kind);
    }
    written(report)
}

/// A report that breaks a limit would be discarded by the terminal: it is not written.
fn written(report: termstate_core::ReportBuilder<'_>) -> String {
    report.build().map(|report| report.to_string()).unwrap_or_default()
}

fn meaning(condition: &Condition) -> (State, Option<Kind>) {
    let Condition::Attention(reason) = condition else {
        return (if *condition == Condition::Busy { State::Working } else { State::Idle }, None);
    };
    match reason.as_str() {
        "finished" => (State::Done, None),
        "error" => (State::Error, None),
        "approval" | "trust" => (State::Blocked, Some(Kind::Permission)),
        "question" => (State::Blocked, Some(Kind::Question)),
        "auth" => (State::Blocked, Some(Kind::Auth)),
        _ => (State::Blocked, None),
    }
}

/// The end of the session's id, where ids differ, in the characters that a record's id may have; made unique.
fn short_id(row: &Row, taken: &mut BTreeSet<String>) -> String {
    let safe = |text: &str| -> Vec<char> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '+' | '-');
        text.chars().map(|c| if fits(c) { c } else { '_' }).collect()
    };
    let id = safe(&row.session);
    let mut short: String = id[id.len().saturating_sub(SHORT)..].iter().collect();
    if short.is_empty() {
        short.push('_');
    }
    let base = short.clone();
    let mut number = 2_usize;
    while !taken.insert(short.clone()) {
        short = format!("{base}.{number}");
        number += 1;
    }
    short
}

#[cfg(test)]
mod tests {
    use jig_session_schema::row::Verdict;
    use jig_session_schema::status::{self, Attention};
    use proptest::prelude::*;
    use termstate_core::scan::{Event, Scanner};
    use termstate_store::Store;

    use jig_session_schema::status::Reason;

    use super::*;

    fn row(id: &str, state: status::State, reason: Option<Reason>) -> Row {
        let attention = reason.map(|reason| Attention::new().reason(reason));
        let row = Row::new().session(id.to_owned()).name(Some(format!("name of {id}"))).state(state);
        row.attention(attention).verdict(Verdict::Alive)
    }

    /// A terminal that reads what was written.
    fn show(store: &mut Store, text: &str) -> usize {
        let mut scanner = Scanner::new();
        let mut reports = 0;
        scanner.feed(text.as_bytes(), |event| {
            if let Event::Sequence { message, .. } = event {
                reports += 1;
                store.apply(&message.expect("a report that no terminal discards"));
            }
        });
        assert!(scanner.is_ground(), "{text:?}");
        reports
    }

    fn states(store: &Store) -> Vec<(Option<String>, State)> {
        store.iter().map(|(id, record)| (id.map(str::to_owned), record.state)).collect()
    }

    #[test]
    fn a_terminal_shows_every_session_and_what_the_person_is_wanted_for() {
        let mut records = Records::default();
        let mut store = Store::new();
        let (waits, works, rests) = (
            row("0001", status::State::Busy, Some(Reason::APPROVAL)),
            row("0002", status::State::Busy, None),
            row("0003", status::State::Idle, None),
        );
        assert_eq!(show(&mut store, &records.update([&waits, &works, &rests])), 4);
        let root = store.get(None).expect("a root record");
        assert_eq!((root.state, root.app.as_deref()), (State::Blocked, Some("jig-session")));
        let child = store.get(Some("0001")).expect("a record");
        assert_eq!((child.state, child.kind), (State::Blocked, Some(Kind::Permission)));
        assert_eq!(child.title.as_deref(), Some("pi name of 0001"));
        assert_eq!(child.msg, None);
        assert_eq!(store.effective_app(Some("0001")), Some("jig-session"));
        assert_eq!(records.update([&waits, &works, &rests]), "", "only changes are written");
        // The wait is over, and a session has gone.
        let answered = row("0001", status::State::Busy, None);
        assert_eq!(show(&mut store, &records.update([&answered, &works])), 3);
        let working = |id: &str| (Some(id.to_owned()), State::Working);
        let mut now = states(&store);
        now.sort();
        assert_eq!(now, [(None, State::Working), working("0001"), working("0002")]);
        show(&mut store, &Records::clear());
        assert!(store.is_empty());
    }

    #[test]
    fn each_condition_is_a_state_of_the_protocol() {
        for (reason, state, kind) in [
            (Reason::QUESTION, State::Blocked, Some(Kind::Question)),
            (Reason::AUTH, State::Blocked, Some(Kind::Auth)),
            (Reason::UNKNOWN, State::Blocked, None),
            (Reason::ERROR, State::Error, None),
            (Reason::FINISHED, State::Done, None),
        ] {
            assert_eq!(meaning(&Condition::Attention(reason)), (state, kind));
        }
        let gone = row("0001", status::State::Busy, None).verdict(Verdict::Gone);
        let mut store = Store::new();
        show(&mut store, &Records::default().update([&gone]));
        assert_eq!(states(&store), [(None, State::Idle)]);
    }

    proptest! {
        #[test]
        fn every_session_has_a_record_of_its_own_whatever_it_is_called(
            rows in prop::collection::vec((any::<String>(), any::<String>()), 0..100),
        ) {
            let rows: Vec<Row> = rows
                .into_iter()
                .map(|(id, name)| row(&id, status::State::Busy, None).name(Some(name)))
                .collect();
            let mut store = Store::with_capacity(64);
            let written = Records::default().update(&rows);
            show(&mut store, &written);
            prop_assert_eq!(store.len(), 1 + rows.len().min(CHILDREN));
        }
    }
}
