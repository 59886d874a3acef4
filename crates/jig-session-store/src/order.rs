//! The order of a listing: who waits for a person comes first.

use jig_session_schema::row::Row;
use jig_session_schema::status::State;

/// The places of rows in the order of a listing: attention first, the longest wait before the others; then busy, then
/// idle; then by folder and session.
#[must_use]
pub fn by_urgency<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<usize> {
    let rows: Vec<&Row> = rows.collect();
    let mut places: Vec<usize> = (0..rows.len()).collect();
    places.sort_unstable_by_key(|place| key(rows[*place]));
    places
}

/// What rows are compared by, in this order. A wait without a beginning is not known to be old: it comes after those
/// that are.
fn key(row: &Row) -> (u8, i64, &str, &str, Option<&str>) {
    let (group, since) = match (&row.attention, row.state) {
        (Some(attention), _) => (0, attention.since.map_or(i64::MAX, |at| at.epoch_ms())),
        (None, State::Busy) => (1, 0),
        (None, _) => (2, 0),
    };
    (group, since, &row.cwd, &row.session, row.host.as_deref())
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
