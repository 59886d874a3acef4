//! What a row comes to for a person: one of few conditions, of which exactly one holds.

use std::fmt;

use jig_session_schema::row::{Detail, Row};
use jig_session_schema::status::{Reason, State};

use crate::join::is_live;

/// The one condition of a session. A stopped process neither works nor answers, whatever its file says; a person who is
/// waited for outweighs work that goes on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Condition {
    /// A person is waited for, and why.
    Attention(Reason),
    /// The process is stopped, by Ctrl-Z or a signal.
    Stopped,
    /// The agent works.
    Busy,
    /// The agent waits for its next prompt.
    Idle,
    /// The session is over.
    Gone,
}

impl Condition {
    /// The condition of a row.
    #[must_use]
    pub fn of(row: &Row) -> Self {
        match (&row.attention, row.state) {
            _ if !is_live(row) => Self::Gone,
            _ if row.verdict.is_alive() && row.detail == Some(Detail::STOPPED) => Self::Stopped,
            (Some(attention), _) => Self::Attention(attention.reason.clone()),
            (None, State::Busy) => Self::Busy,
            (None, _) => Self::Idle,
        }
    }

    /// Whether a person is held up: a turn that is over and was not seen yet holds nobody up.
    #[must_use]
    pub fn waits(&self) -> bool {
        matches!(self, Self::Attention(reason) if *reason != Reason::FINISHED)
    }

    /// Its word: `attention`, `stopped`, `busy`, `idle` or `gone`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Attention(_) => "attention",
            Self::Stopped => "stopped",
            Self::Busy => "busy",
            Self::Idle => "idle",
            Self::Gone => "gone",
        }
    }
}

/// The word, and for attention its reason.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Attention(reason) => f.pad(reason),
            other => f.pad(other.word()),
        }
    }
}

#[cfg(test)]
mod tests {
    use jig_session_schema::row::Verdict;
    use jig_session_schema::status::Attention;

    use super::*;

    #[test]
    fn exactly_one_holds() {
        let approval = || Some(Attention::new().reason(Reason::APPROVAL));
        for (state, attention, verdict, detail, shown) in [
            (State::Busy, None, Verdict::Alive, None, "busy"),
            (State::Idle, None, Verdict::Unknown, None, "idle"),
            (State::Busy, approval(), Verdict::Alive, None, "approval"),
            (State::Busy, approval(), Verdict::Alive, Some(Detail::STOPPED), "stopped"),
            (State::Busy, approval(), Verdict::Gone, None, "gone"),
            (State::Idle, None, Verdict::Unverified, Some(Detail::EXITED), "gone"),
        ] {
            let row = Row::new().state(state).attention(attention).verdict(verdict).detail(detail);
            assert_eq!(Condition::of(&row).to_string(), shown);
        }
    }
}
