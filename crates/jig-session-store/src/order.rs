//! The order of a listing: who waits for a person comes first.

use std::cmp::Ordering;

use jig_session_schema::row::Row;
use jig_session_schema::status::State;

/// Attention first, the longest wait before the others; then busy, then idle; then by folder and session.
#[must_use]
pub fn by_urgency(a: &Row, b: &Row) -> Ordering {
    let group = |row: &Row| match (&row.attention, row.state) {
        (Some(_), _) => 0,
        (None, State::Busy) => 1,
        (None, _) => 2,
    };
    // A wait without a beginning is not known to be old: it comes after those that are.
    let since =
        |row: &Row| row.attention.as_ref().map(|attention| attention.since.map_or(i64::MAX, |at| at.epoch_ms()));
    group(a)
        .cmp(&group(b))
        .then_with(|| since(a).cmp(&since(b)))
        .then_with(|| a.cwd.cmp(&b.cwd))
        .then_with(|| a.session.cmp(&b.session))
        .then_with(|| a.host.cmp(&b.host))
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
        let order = [
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
        for (i, a) in order.iter().enumerate() {
            for (j, b) in order.iter().enumerate() {
                assert_eq!(by_urgency(a, b), i.cmp(&j), "{} and {}", a.session, b.session);
            }
        }
    }
}
