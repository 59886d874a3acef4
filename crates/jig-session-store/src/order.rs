//! The order of a listing: who waits for a person comes first.

use std::collections::HashMap;

use jig_session_schema::row::Row;
use jig_session_schema::status::State;

/// The places of rows in the order of a listing: attention first, the longest wait before the others; then busy, then
/// idle; then by folder and session.
#[must_use]
pub fn by_urgency<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<usize> {
    let rows: Vec<&Row> = rows.collect();
    let shared = shared_beginning(&rows);
    let keys = rows.iter().zip(folders(&rows)).map(|(row, folder)| Key::of(row, folder, shared));
    let mut keys: Vec<(Key<'a>, usize)> = keys.zip(0..).collect();
    keys.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    keys.into_iter().map(|(_, place)| place).collect()
}

/// The place of each row's folder among all folders in their order: many sessions share few folders, which are compared
/// once and numbers from then on.
fn folders(rows: &[&Row]) -> impl Iterator<Item = usize> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let numbers: Vec<usize> = rows
        .iter()
        .map(|row| {
            let next = seen.len();
            *seen.entry(&row.cwd).or_insert(next)
        })
        .collect();
    let mut ordered: Vec<(&str, usize)> = seen.into_iter().collect();
    ordered.sort_unstable();
    let mut places = vec![0; ordered.len()];
    ordered.into_iter().zip(0..).for_each(|((_, number), place)| places[number] = place);
    numbers.into_iter().map(move |number| places[number])
}

/// How many bytes all sessions begin with alike: those of one program often share a long beginning.
fn shared_beginning(rows: &[&Row]) -> usize {
    let mut sessions = rows.iter().map(|row| row.session.as_bytes());
    let first = sessions.next().unwrap_or_default();
    sessions.fold(first.len(), |shared, session| {
        if session.get(..shared).is_some_and(|beginning| beginning == &first[..shared]) {
            return shared;
        }
        first.iter().zip(session).take_while(|(a, b)| a == b).count()
    })
}

/// What rows are compared by, in this order. Rows are large and lie apart; keys lie side by side.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key<'a> {
    group: u8,
    /// Milliseconds since 1970. A wait without a beginning is not known to be old: it comes after those that are.
    since: i64,
    folder: usize,
    /// The first bytes of the session in which sessions differ, as a number: it nearly always decides.
    differing: u128,
    session: &'a str,
    host: Option<&'a str>,
}

impl<'a> Key<'a> {
    fn of(row: &'a Row, folder: usize, shared: usize) -> Self {
        let (group, since) = match (&row.attention, row.state) {
            (Some(attention), _) => (0, attention.since.map_or(i64::MAX, |at| at.epoch_ms())),
            (None, State::Busy) => (1, 0),
            (None, _) => (2, 0),
        };
        let mut differing = [0; 16];
        let rest = row.session.as_bytes().get(shared..).unwrap_or_default();
        differing.iter_mut().zip(rest).for_each(|(place, byte)| *place = *byte);
        let differing = u128::from_be_bytes(differing);
        Self { group, since, folder, differing, session: &row.session, host: row.host.as_deref() }
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

    #[test]
    fn sessions_of_one_folder_are_in_the_order_of_their_ids() {
        let long = "0123456789abcdef".repeat(2);
        let ids = ["", "0", "00", "01", "a", "a\u{0}", "ab", "b", &long, &format!("{long}0"), &format!("{long}1"), "é"];
        for shared in ["", "x", "01a22868-0000-7000-8000-"] {
            let mut wanted: Vec<String> = ids.iter().map(|id| format!("{shared}{id}")).collect();
            wanted.sort();
            for turn in 0..wanted.len() {
                let mut turned = wanted.clone();
                turned.rotate_left(turn);
                let rows: Vec<Row> = turned.iter().map(|id| row(id, "/a", State::Idle, None)).collect();
                let sorted = by_urgency(rows.iter()).into_iter().map(|place| &rows[place].session);
                assert!(sorted.eq(wanted.iter()), "{shared:?} turned by {turn}");
            }
        }
        assert!(by_urgency(std::iter::empty()).is_empty());
    }
}
