//! The order of a listing: who waits for a person comes first.

use std::collections::BTreeSet;

use jig_session_schema::row::Row;
use jig_session_schema::status::State;

/// The places of rows in the order of a listing: attention first, the longest wait before the others; then busy, then
/// idle; then by folder and session.
#[must_use]
pub fn by_urgency<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<usize> {
    let rows: Vec<&Row> = rows.collect();
    // Many sessions share few folders: compared once, a folder is a number from then on.
    let folders: BTreeSet<&str> = rows.iter().map(|row| row.cwd.as_str()).collect();
    let folders: Vec<&str> = folders.into_iter().collect();
    let key = |row: &&'a Row| Key::of(row, folders.partition_point(|folder| *folder < row.cwd.as_str()));
    let mut keys: Vec<(Key<'a>, usize)> = rows.iter().map(key).zip(0..).collect();
    keys.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    keys.into_iter().map(|(_, place)| place).collect()
}

/// What rows are compared by, in this order. Rows are large and lie apart; keys lie side by side.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key<'a> {
    group: u8,
    /// Milliseconds since 1970. A wait without a beginning is not known to be old: it comes after those that are.
    since: i64,
    folder: usize,
    session: &'a str,
    host: Option<&'a str>,
}

impl<'a> Key<'a> {
    fn of(row: &'a Row, folder: usize) -> Self {
        let (group, since) = match (&row.attention, row.state) {
            (Some(attention), _) => (0, attention.since.map_or(i64::MAX, |at| at.epoch_ms())),
            (None, State::Busy) => (1, 0),
            (None, _) => (2, 0),
        };
        Self { group, since, folder, session: &row.session, host: row.host.as_deref() }
    }
}

#[cfg(test)]
mod tests {
    use jig_session_schema::status::{Attention, Reason};
    use jig_session_schema::time::Timestamp;

    use super::*;

    fn row(session: &str, cwd: &str, state: State, waits_since: Option<Option<i64>>) -> Row {
        let mut row = Row::new();
        row.session = session.into();
        row.cwd = cwd.into();
        row.state = state;
        row.attention = waits_since.map(|since| {
            let mut attention = Attention::new();
            attention.reason = Reason::QUESTION;
            attention.since = since.map(Timestamp::from_epoch_ms);
            attention
        });
        row
    }

    #[test]
    fn every_rule_in_turn() {
        let order = vec![
            row("longest", "/z", State::Idle, Some(Some(1))),
            row("longer-a", "/a", State::Busy, Some(Some(2))),
            row("longer-b", "/b", State::Busy, Some(Some(2))),
            row("unknown-wait", "/a", State::Busy, Some(None)),
            row("busy-a", "/a", State::Busy, None),
            row("busy-b1", "/b", State::Busy, None),
            row("busy-b2", "/b", State::Busy, None),
            row("idle-a", "/a", State::Idle, None),
            row("idle-b", "/b", State::Idle, None),
        ];
        for turn in 0..order.len() {
            let mut rows = order.clone();
            rows.rotate_left(turn);
            for rows in [rows.clone(), rows.into_iter().rev().collect()] {
                let sorted = by_urgency(rows.iter()).into_iter().map(|place| rows[place].session.as_str());
                assert!(sorted.eq(order.iter().map(|row| row.session.as_str())), "turned by {turn}");
            }
        }
    }
}
