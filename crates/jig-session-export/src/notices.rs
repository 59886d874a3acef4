//! The transitions of sessions that a person cares about, out of looks at all rows.
//!
//! What was there before the first look is never reported. A transition is reported once it has held for the debounce
//! time, so that a state that is passed through, an approval that is answered at once or a session that is only reloaded
//! says nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use jig_session_schema::row::Row;
use jig_session_schema::status::{Reason, State};
use jig_session_schema::time::Timestamp;
use jig_session_store::{Condition, Why};

/// The shortest part of an id that names a session.
const PART: usize = 4;

/// What happened to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transition {
    /// A person is waited for.
    Attention,
    /// A turn is over.
    Settled,
    /// The session went.
    Gone,
    /// A session came.
    Added,
}

impl Transition {
    /// Every transition, in the order of their weight.
    pub const ALL: [Self; 4] = [Self::Attention, Self::Settled, Self::Gone, Self::Added];

    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Attention => "attention",
            Self::Settled => "settled",
            Self::Gone => "gone",
            Self::Added => "added",
        }
    }
}

impl FromStr for Transition {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|transition| transition.word() == word);
        found.ok_or_else(|| format!("none of {}", Self::ALL.map(Self::word).join(", ")))
    }
}

/// What is to be reported.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// These transitions.
    pub transitions: BTreeSet<Transition>,
    /// Only of turns that took at least this long, in milliseconds.
    pub after_ms: Option<i64>,
    /// How long a transition must hold, in milliseconds.
    pub debounce_ms: i64,
    /// After this many milliseconds of one wait it is reported once more, as escalated.
    pub escalate_ms: Option<i64>,
    /// Sessions of which nothing is reported: an id, its beginning or end, a name, a terminal or a pane.
    pub muted: Vec<String>,
}

/// One transition that is reported.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// Which.
    pub transition: Transition,
    /// The session, as it was when that was seen.
    pub row: Row,
    /// Why a person is waited for, or how the session went: `ended`, `gone`, `reused`.
    pub reason: Option<String>,
    /// When it was seen.
    pub at: Timestamp,
    /// How long the turn took so far, in milliseconds, where its beginning is known.
    pub turn_ms: Option<i64>,
    /// The wait was reported before, and goes on.
    pub escalated: bool,
}

/// A session's id and host.
type Key = (Option<String>, String);

/// What is remembered of a session.
#[derive(Debug)]
struct Known {
    condition: Condition,
    /// What tells one wait from the next.
    wait: Option<Wait>,
    turn_since: Option<Timestamp>,
    pending: Option<Pending>,
    /// When a wait that was reported is reported again.
    escalates: Option<(i64, Notice)>,
}

/// A wait of one session: its reason, and since when.
type Wait = (Reason, Option<Timestamp>);

#[derive(Clone, Debug)]
struct Pending {
    due_ms: i64,
    notice: Notice,
}

/// The engine. It knows no clock: each look brings its time.
#[derive(Debug)]
pub struct Notices {
    rules: Rules,
    known: BTreeMap<Key, Known>,
    /// Sessions that went, until that has held for the debounce time.
    going: BTreeMap<Key, Pending>,
}

impl Notices {
    /// An engine that has seen nothing yet.
    #[must_use]
    pub fn new(rules: Rules) -> Self {
        Self { rules, known: BTreeMap::new(), going: BTreeMap::new() }
    }

    /// Takes the rows of a look, and how those went that went since the last one. `came` says of a row that is new here
    /// whether it has come since; else it was there before. Gives what is to be reported now.
    pub fn look(
        &mut self,
        now: Timestamp,
        rows: &[&Row],
        went: &[(&Row, Why)],
        came: impl Fn(&Row) -> bool,
    ) -> Vec<Notice> {
        for (row, why) in went {
            self.went(row, *why, now);
        }
        for row in rows {
            self.seen(row, now, &came);
        }
        self.due(now)
    }

    /// When the next transition is due to be reported, in milliseconds since 1970.
    #[must_use]
    pub fn next_ms(&self) -> Option<i64> {
        let pending = self.known.values().filter_map(|known| known.pending.as_ref()).map(|pending| pending.due_ms);
        let escalations = self.known.values().filter_map(|known| known.escalates.as_ref()).map(|(due, _)| *due);
        pending.chain(escalations).chain(self.going.values().map(|pending| pending.due_ms)).min()
    }

    fn went(&mut self, row: &Row, why: Why, now: Timestamp) {
        let Some(known) = self.known.remove(&key(row)) else { return };
        // What came and went within the debounce time was never reported, and is not reported now.
        if known.pending.is_some_and(|pending| pending.notice.transition == Transition::Added) {
            return;
        }
        let word = match why {
            Why::Ended => "ended",
            Why::Gone => "gone",
            Why::Reused => "reused",
        };
        if let Some(pending) = self.pending(Transition::Gone, row, Some(word.to_owned()), now, None) {
            self.going.insert(key(row), pending);
        }
    }

    fn seen(&mut self, row: &Row, now: Timestamp, came: &impl Fn(&Row) -> bool) {
        let key = key(row);
        let condition = Condition::of(row);
        let wait = match &condition {
            Condition::Attention(reason) if *reason != Reason::FINISHED => {
                Some((reason.clone(), row.attention.as_ref().and_then(|attention| attention.since)))
            }
            _ => None,
        };
        let in_turn = is_in_turn(&condition, row);
        let Some(mut known) = self.known.remove(&key) else {
            let came_back = self.going.remove(&key).is_some();
            let told = came(row) && !came_back;
            let added = if told { self.pending(Transition::Added, row, None, now, None) } else { None };
            // A session that comes and waits already is reported as one that waits.
            let waits = wait.as_ref().filter(|_| told).map(|(reason, _)| reason.to_string());
            let waits = waits.and_then(|reason| self.pending(Transition::Attention, row, Some(reason), now, None));
            let turn_since = in_turn.then_some(row.state_at).flatten();
            let known = Known { condition, wait, turn_since, pending: waits.or(added), escalates: None };
            self.known.insert(key, known);
            return;
        };
        if in_turn && known.turn_since.is_none() {
            known.turn_since = row.state_at.or(Some(now));
        }
        if known.wait != wait {
            known.escalates = None;
        }
        if known.condition != condition || known.wait != wait {
            let turn_ms = known.turn_since.map(|since| now.since_ms(since).max(0));
            known.pending = match &wait {
                Some((reason, _)) => self.pending(Transition::Attention, row, Some(reason.to_string()), now, turn_ms),
                None if is_settled(&condition) && known.turn_since.is_some() => {
                    self.pending(Transition::Settled, row, None, now, turn_ms)
                }
                // It was at rest, and somebody has looked at it since, or not yet.
                None if condition == Condition::Attention(Reason::FINISHED) => known.pending.take(),
                None => None,
            };
        } else if let Some(pending) = &mut known.pending {
            // The row is reported as it is then.
            pending.notice.row = row.clone();
        }
        // A stopped process is in the middle of whatever it did.
        if !in_turn && condition != Condition::Stopped {
            known.turn_since = None;
        }
        (known.condition, known.wait) = (condition, wait);
        self.known.insert(key, known);
    }

    fn pending(
        &self,
        transition: Transition,
        row: &Row,
        reason: Option<String>,
        now: Timestamp,
        turn_ms: Option<i64>,
    ) -> Option<Pending> {
        let of_a_turn = matches!(transition, Transition::Attention | Transition::Settled);
        let too_short = match (self.rules.after_ms, turn_ms) {
            (Some(after), Some(took)) => took < after,
            // Who waits without a turn, such as for trust at the start, does not wait for its end.
            (Some(_), None) => transition == Transition::Settled,
            (None, _) => false,
        };
        if !self.rules.transitions.contains(&transition) || self.is_muted(row) || (of_a_turn && too_short) {
            return None;
        }
        let notice = Notice { transition, row: row.clone(), reason, at: now, turn_ms, escalated: false };
        Some(Pending { due_ms: now.epoch_ms().saturating_add(self.rules.debounce_ms), notice })
    }

    fn due(&mut self, now: Timestamp) -> Vec<Notice> {
        let now_ms = now.epoch_ms();
        let mut notices = Vec::new();
        self.going.retain(|_, pending| {
            let waits = pending.due_ms > now_ms;
            if !waits {
                notices.push(pending.notice.clone());
            }
            waits
        });
        for known in self.known.values_mut() {
            if let Some(pending) = known.pending.take_if(|pending| pending.due_ms <= now_ms) {
                if let Some(after) =
                    self.rules.escalate_ms.filter(|_| pending.notice.transition == Transition::Attention)
                {
                    let again = Notice { escalated: true, ..pending.notice.clone() };
                    known.escalates = Some((pending.notice.at.epoch_ms().saturating_add(after), again));
                }
                notices.push(pending.notice);
            }
            if let Some((_, notice)) = known.escalates.take_if(|(due, _)| *due <= now_ms) {
                notices.push(Notice { at: now, ..notice });
            }
        }
        notices.sort_by_key(|notice| notice.transition);
        notices
    }

    fn is_muted(&self, row: &Row) -> bool {
        self.rules.muted.iter().any(|muted| {
            let text = Some(muted.as_str());
            let part = muted.len() >= PART && (row.session.starts_with(muted) || row.session.ends_with(muted));
            row.session == *muted
                || part
                || row.name.as_deref() == text
                || row.terminal.as_deref() == text
                || row.tmux_pane.as_deref() == text
        })
    }
}

fn key(row: &Row) -> Key {
    (row.host.clone(), row.session.clone())
}

/// Whether a turn is under way: an agent that works, and one whose call waits for a person.
fn is_in_turn(condition: &Condition, row: &Row) -> bool {
    match condition {
        Condition::Busy => true,
        Condition::Attention(_) => row.state == State::Busy,
        _ => false,
    }
}

/// Whether a session is at rest, seen or not.
fn is_settled(condition: &Condition) -> bool {
    *condition == Condition::Idle || *condition == Condition::Attention(Reason::FINISHED)
}

#[cfg(test)]
mod tests {
    use jig_session_schema::row::Verdict;
    use jig_session_schema::status::Attention;

    use super::*;

    /// The debounce time of the tests.
    const HOLD: i64 = 1000;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_epoch_ms(ms)
    }

    fn row(state: State, reason: Option<Reason>, since: i64) -> Row {
        let attention = reason.map(|reason| Attention::new().reason(reason).since(Some(at(since))));
        let row = Row::new()
            .session("01a22868".to_owned())
            .name(Some("billing".into()))
            .state(state)
            .state_at(Some(at(since)));
        row.attention(attention).verdict(Verdict::Alive)
    }

    fn idle(since: i64) -> Row {
        row(State::Idle, None, since)
    }

    fn busy(since: i64) -> Row {
        row(State::Busy, None, since)
    }

    fn asks(since: i64) -> Row {
        row(State::Busy, Some(Reason::APPROVAL), since)
    }

    fn rules() -> Rules {
        Rules { transitions: Transition::ALL.into(), debounce_ms: HOLD, ..Rules::default() }
    }

    /// Looks, each a time and the session as it is then, or that it went. What was reported, with the time.
    fn told(rules: Rules, looks: &[(i64, Option<Row>)]) -> Vec<(i64, String)> {
        let mut notices = Notices::new(rules);
        let mut told = Vec::new();
        let mut last: Option<Row> = None;
        for (number, (ms, row)) in looks.iter().enumerate() {
            let went: Vec<(&Row, Why)> = match (&last, row) {
                (Some(last), None) => vec![(last, Why::Gone)],
                _ => Vec::new(),
            };
            let rows: Vec<&Row> = row.iter().collect();
            for notice in notices.look(at(*ms), &rows, &went, |_| number > 0) {
                let reason = notice.reason.map(|reason| format!(" {reason}")).unwrap_or_default();
                let again = if notice.escalated { " again" } else { "" };
                told.push((*ms, format!("{}{reason}{again}", notice.transition.word())));
            }
            last.clone_from(row);
        }
        told
    }

    #[test]
    fn each_transition_is_told_once_when_it_has_held() {
        let looks = [
            (0, Some(idle(0))),
            (5000, Some(busy(5000))),
            (7000, Some(asks(7000))),
            (7999, Some(asks(7000))),
            (8000, Some(asks(7000))),
            (9000, Some(asks(7000))),
            (9100, Some(busy(9100))),
            (20_000, Some(idle(20_000))),
            (21_000, Some(idle(20_000))),
            (22_000, None),
            (23_000, None),
            (24_000, Some(idle(24_000))),
            (25_000, Some(idle(24_000))),
        ];
        let expected = [(8000, "attention approval"), (21_000, "settled"), (23_000, "gone gone"), (25_000, "added")];
        assert_eq!(told(rules(), &looks), expected.map(|(ms, text)| (ms, text.to_owned())));
    }

    #[test]
    fn what_was_there_before_and_what_is_passed_through_says_nothing() {
        for looks in [
            // There at the first look.
            vec![(0, Some(asks(0))), (60_000, Some(asks(0)))],
            // Answered at once; the turn goes on.
            vec![(0, Some(busy(0))), (100, Some(asks(100))), (900, Some(busy(900))), (60_000, Some(busy(900)))],
            // Two turns right after each other.
            vec![(0, Some(busy(0))), (100, Some(idle(100))), (200, Some(busy(200))), (60_000, Some(busy(200)))],
            // Reloaded: its file was away for a moment.
            vec![(0, Some(idle(0))), (100, None), (200, Some(idle(0))), (60_000, Some(idle(0)))],
            // Came and went.
            vec![(0, None), (100, Some(idle(100))), (200, None), (60_000, None)],
            // An error that is dismissed is no turn that ends.
            vec![
                (0, Some(row(State::Idle, Some(Reason::ERROR), 0))),
                (100, Some(idle(100))),
                (60_000, Some(idle(100))),
            ],
            // Done, and seen.
            vec![(0, Some(idle(0))), (100, Some(row(State::Idle, Some(Reason::FINISHED), 0))), (60_000, Some(idle(0)))],
        ] {
            assert_eq!(told(rules(), &looks), [], "{looks:?}");
        }
    }

    #[test]
    fn a_turn_that_nobody_has_seen_yet_is_settled() {
        let done = row(State::Idle, Some(Reason::FINISHED), 9000);
        let looks = [(0, Some(busy(0))), (9000, Some(done.clone())), (10_000, Some(done))];
        assert_eq!(told(rules(), &looks), [(10_000, "settled".to_owned())]);
        // Between two looks it was approved and ended.
        let looks = [(0, Some(asks(0))), (9000, Some(idle(9000))), (10_000, Some(idle(9000)))];
        assert_eq!(told(rules(), &looks), [(10_000, "settled".to_owned())]);
    }

    #[test]
    fn each_wait_is_one_of_its_own() {
        let looks = [
            (0, Some(busy(0))),
            (1000, Some(asks(1000))),
            (3000, Some(asks(1000))),
            (4000, Some(asks(4000))),
            (6000, Some(asks(4000))),
        ];
        let twice = [(3000, "attention approval".to_owned()), (6000, "attention approval".to_owned())];
        assert_eq!(told(rules(), &looks), twice);
    }

    #[test]
    fn only_long_turns_with_after() {
        let rules = || Rules { after_ms: Some(30_000), ..rules() };
        let turn = |ms: i64| {
            [
                (0, Some(idle(0))),
                (1000, Some(busy(1000))),
                (1000 + ms, Some(idle(1000 + ms))),
                (90_000, Some(idle(1000 + ms))),
            ]
        };
        assert_eq!(told(rules(), &turn(29_000)), []);
        assert_eq!(told(rules(), &turn(31_000)), [(90_000, "settled".to_owned())]);
        // The wait is part of the turn that it interrupts.
        let asked = |ms: i64| [(0, Some(busy(0))), (ms, Some(asks(ms))), (90_000, Some(asks(ms)))];
        assert_eq!(told(rules(), &asked(2000)), []);
        assert_eq!(told(rules(), &asked(40_000)), [(90_000, "attention approval".to_owned())]);
        // A turn that was under way at the first look began when its file says.
        let looks = [(50_000, Some(busy(0))), (51_000, Some(idle(51_000))), (90_000, Some(idle(51_000)))];
        assert_eq!(told(rules(), &looks), [(90_000, "settled".to_owned())]);
        // No turn at all.
        let trust = row(State::Idle, Some(Reason::TRUST), 1000);
        let looks = [(0, Some(idle(0))), (1000, Some(trust.clone())), (90_000, Some(trust))];
        assert_eq!(told(rules(), &looks), [(90_000, "attention trust".to_owned())]);
    }

    #[test]
    fn a_long_wait_is_told_once_more() {
        let rules = Rules { escalate_ms: Some(60_000), ..rules() };
        let looks = [
            (0, Some(busy(0))),
            (1000, Some(asks(1000))),
            (2000, Some(asks(1000))),
            (60_999, Some(asks(1000))),
            (61_000, Some(asks(1000))),
            (300_000, Some(asks(1000))),
        ];
        let expected = [(2000, "attention approval".to_owned()), (61_000, "attention approval again".to_owned())];
        assert_eq!(told(rules.clone(), &looks), expected);
        let answered = [
            looks[0].clone(),
            looks[1].clone(),
            looks[2].clone(),
            (30_000, Some(busy(30_000))),
            (90_000, Some(busy(30_000))),
        ];
        assert_eq!(told(rules, &answered), [(2000, "attention approval".to_owned())]);
    }

    #[test]
    fn the_muted_and_the_unwanted_say_nothing() {
        let looks = [(0, Some(busy(0))), (1000, Some(asks(1000))), (3000, Some(asks(1000)))];
        for muted in ["01a22868", "01a2", "2868", "billing"] {
            assert_eq!(told(Rules { muted: vec![muted.into()], ..rules() }, &looks), [], "{muted}");
        }
        for other in ["01a", "bill", "x"] {
            assert_eq!(told(Rules { muted: vec![other.into()], ..rules() }, &looks).len(), 1, "{other}");
        }
        assert_eq!(told(Rules { transitions: [Transition::Settled].into(), ..rules() }, &looks), []);
    }

    #[test]
    fn it_says_when_to_look_again() {
        let mut notices = Notices::new(Rules { escalate_ms: Some(60_000), ..rules() });
        notices.look(at(0), &[&busy(0)], &[], |_| false);
        assert_eq!(notices.next_ms(), None);
        notices.look(at(5000), &[&asks(5000)], &[], |_| true);
        assert_eq!(notices.next_ms(), Some(5000 + HOLD));
        assert_eq!(notices.look(at(6000), &[&asks(5000)], &[], |_| true).len(), 1);
        assert_eq!(notices.next_ms(), Some(65_000));
    }
}
