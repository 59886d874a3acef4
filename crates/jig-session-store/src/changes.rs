//! What changed between two looks: a pure function of the rows before and after.

use std::collections::{BTreeMap, BTreeSet};

use jig_session_schema::row::{Problem, Row, Verdict};
use serde_json::{Map, Value};

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// A session is listed now.
    Added(Row),
    /// A listed session has other values in these fields; what is followed besides its row.
    Changed(Row, Vec<String>, Map<String, Value>),
    /// A session is no longer listed: its row as it was last, and why.
    Removed(Row, Why),
    /// An entry gives no session.
    Problem(Problem),
}

/// Why a session is no longer listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Its file is gone, or is marked as not listed.
    Ended,
    /// Its process is gone.
    Gone,
    /// Its process id belongs to another process.
    Reused,
}

/// Remembers the last look. A session is identified by its id and host, a problem by its file and reason.
#[derive(Debug, Default)]
pub struct Tracker {
    rows: BTreeMap<Key, Known>,
    problems: BTreeSet<(Option<String>, Option<String>, String)>,
}

type Key = (Option<String>, String);

/// A listed session as it was last.
#[derive(Debug)]
struct Known {
    row: Row,
    beside: Map<String, Value>,
}

impl Tracker {
    /// Whether a session was listed at the last look.
    #[must_use]
    pub fn follows(&self, row: &Row) -> bool {
        self.rows.contains_key(&key(row))
    }

    /// Forgets a session: it is none that went, and comes anew when it is listed again.
    pub fn forget(&mut self, row: &Row) {
        self.rows.remove(&key(row));
    }

    /// Takes the rows of a new look, in their order: the listed ones, those that are not, and the problems. Gives what
    /// changed: first what went, then what came and changed, then new problems.
    ///
    /// `beside` gives the fields of a session's file that are followed besides its row. It is asked when a session
    /// appears and when its row says that its file was written; with `None` they count as unchanged.
    pub fn update(
        &mut self,
        listed: &[Row],
        others: &[Row],
        problems: &[Problem],
        beside: impl Fn(&Row) -> Option<Map<String, Value>>,
    ) -> Vec<Change> {
        let mut changes = Vec::new();
        let mut rows = BTreeMap::new();
        let mut arrived = Vec::new();
        for row in listed {
            match self.rows.remove(&key(row)) {
                None => {
                    arrived.push(Change::Added(row.clone()));
                    rows.insert(key(row), Known { row: row.clone(), beside: beside(row).unwrap_or_default() });
                }
                Some(mut known) if known.row != *row => {
                    let mut fields = differing(&known.row.to_document(), &row.to_document());
                    known.row = row.clone();
                    if let Some(now) = beside(row) {
                        fields.extend(differing(&known.beside, &now));
                        known.beside = now;
                    }
                    if fields.iter().any(|field| field != "updatedAt") {
                        arrived.push(Change::Changed(row.clone(), fields, known.beside.clone()));
                    }
                    rows.insert(key(row), known);
                }
                Some(known) => drop(rows.insert(key(row), known)),
            }
        }
        for (gone, Known { row, .. }) in std::mem::replace(&mut self.rows, rows) {
            let now = others.iter().find(|other| key(other) == gone);
            changes.push(Change::Removed(row, now.map_or(Why::Ended, why)));
        }
        changes.append(&mut arrived);
        let mut seen = BTreeSet::new();
        for problem in problems {
            let key = (problem.host.clone(), problem.path.clone(), problem.reason.to_string());
            if !self.problems.contains(&key) {
                changes.push(Change::Problem(problem.clone()));
            }
            seen.insert(key);
        }
        self.problems = seen;
        changes
    }
}

fn key(row: &Row) -> Key {
    (row.host.clone(), row.session.clone())
}

fn why(row: &Row) -> Why {
    match row.verdict {
        Verdict::Gone => Why::Gone,
        Verdict::Reused => Why::Reused,
        _ => Why::Ended,
    }
}

/// The names of the fields that differ, in the order of the later document.
fn differing(before: &Map<String, Value>, after: &Map<String, Value>) -> Vec<String> {
    let differs =
        |name: &&String| before.get(*name).unwrap_or(&Value::Null) != after.get(*name).unwrap_or(&Value::Null);
    after.keys().filter(differs).cloned().collect()
}

#[cfg(test)]
mod tests {
    use jig_session_schema::row::ProblemReason;
    use jig_session_schema::status::State;
    use jig_session_schema::time::Timestamp;

    use super::*;

    fn row(session: &str) -> Row {
        let mut row = Row::new();
        row.session = session.into();
        row.verdict = Verdict::Alive;
        row.updated_at = Some(Timestamp::from_epoch_ms(1));
        row
    }

    /// A look at files that hold nothing besides their rows.
    fn update(tracker: &mut Tracker, listed: &[Row], others: &[Row], problems: &[Problem]) -> Vec<Change> {
        tracker.update(listed, others, problems, |_| None)
    }

    #[test]
    fn what_is_followed_besides_a_row_is_told_like_its_fields() {
        let mut tracker = Tracker::default();
        let tools = |active: u64| serde_json::json!({ "tools": { "active": active } }).as_object().cloned();
        let at = |ms| {
            let mut row = row("a");
            row.updated_at = Some(Timestamp::from_epoch_ms(ms));
            row
        };
        tracker.update(&[at(1)], &[], &[], |_| tools(4));
        let fields = vec!["updatedAt".to_owned(), "tools".to_owned()];
        let told = [Change::Changed(at(2), fields, tools(3).unwrap())];
        assert_eq!(tracker.update(&[at(2)], &[], &[], |_| tools(3)), told);
        // As before, not to be read, and not written: nothing.
        assert_eq!(tracker.update(&[at(3)], &[], &[], |_| tools(3)), []);
        assert_eq!(tracker.update(&[at(4)], &[], &[], |_| None), []);
        assert_eq!(tracker.update(&[at(4)], &[], &[], |_| panic!("it was not written")), []);
        assert_eq!(tracker.update(&[at(5)], &[], &[], |_| tools(3)), []);
    }

    #[test]
    fn what_came_changed_and_went_is_told_once() {
        let mut tracker = Tracker::default();
        assert_eq!(
            update(&mut tracker, &[row("a"), row("b")], &[], &[]),
            [Change::Added(row("a")), Change::Added(row("b"))]
        );
        assert_eq!(update(&mut tracker, &[row("b"), row("a")], &[], &[]), []);
        let mut busy = row("a");
        busy.state = State::Busy;
        busy.updated_at = Some(Timestamp::from_epoch_ms(2));
        let fields = vec!["state".to_owned(), "updatedAt".to_owned()];
        assert_eq!(
            update(&mut tracker, &[busy.clone()], &[], &[]),
            [Change::Removed(row("b"), Why::Ended), Change::Changed(busy, fields, Map::new())]
        );
    }

    #[test]
    fn a_stamp_alone_is_nothing() {
        let mut tracker = Tracker::default();
        update(&mut tracker, &[row("a")], &[], &[]);
        let mut later = row("a");
        later.updated_at = Some(Timestamp::from_epoch_ms(2));
        assert_eq!(update(&mut tracker, &[later], &[], &[]), []);
    }

    #[test]
    fn an_end_has_a_reason() {
        for (verdict, why) in [
            (Verdict::Gone, Why::Gone),
            (Verdict::Reused, Why::Reused),
            (Verdict::Alive, Why::Ended),
            (Verdict::Unknown, Why::Ended),
        ] {
            let mut tracker = Tracker::default();
            update(&mut tracker, &[row("a")], &[], &[]);
            let mut over = row("a");
            over.verdict = verdict;
            assert_eq!(update(&mut tracker, &[], &[over], &[]), [Change::Removed(row("a"), why)]);
        }
    }

    #[test]
    fn hosts_keep_their_sessions_apart() {
        let mut there = row("a");
        there.host = Some("build-1".into());
        let mut tracker = Tracker::default();
        assert_eq!(update(&mut tracker, &[row("a"), there.clone()], &[], &[]).len(), 2);
        assert_eq!(update(&mut tracker, &[there], &[], &[]), [Change::Removed(row("a"), Why::Ended)]);
    }

    #[test]
    fn a_problem_is_told_when_it_comes_and_when_it_comes_back() {
        let bad =
            Problem::new().path(Some("/s/x.json".into())).reason(ProblemReason::EMPTY).message("it is empty".into());
        let mut tracker = Tracker::default();
        assert_eq!(update(&mut tracker, &[], &[], std::slice::from_ref(&bad)), [Change::Problem(bad.clone())]);
        assert_eq!(update(&mut tracker, &[], &[], std::slice::from_ref(&bad)), []);
        assert_eq!(update(&mut tracker, &[], &[], &[]), []);
        assert_eq!(update(&mut tracker, &[], &[], std::slice::from_ref(&bad)), [Change::Problem(bad)]);
    }
}
