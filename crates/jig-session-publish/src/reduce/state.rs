//! `state` and `attention`: the table of what each event makes of them.

use jig_session_schema::event::{AttentionEvent, TurnEvent, TurnOutcome, TurnPhase};
use jig_session_schema::limits;
use jig_session_schema::status::{Attention, Reason, State};

use super::{Given, Session};

impl Session {
    pub(super) fn turn(&mut self, event: &TurnEvent, given: &Given<'_>) {
        match event.phase {
            TurnPhase::Start => self.set(given, State::Busy, None),
            TurnPhase::Settled => {
                let error = event.outcome == Some(TurnOutcome::Error);
                let late = self.is_late(given);
                // A settling that arrives after the next turn began ends only the calls of its own turn.
                self.abort_running(late.then_some(given.at));
                let attention = error.then(|| Attention::new().reason(Reason::ERROR).since(Some(given.at)));
                self.set(given, State::Idle, attention);
            }
        }
    }

    pub(super) fn attention(&mut self, event: &AttentionEvent, given: &Given<'_>) {
        if self.is_late(given) {
            return;
        }
        let waiting = event.reason.as_ref().and_then(|_| event.id.clone());
        if waiting != self.memory.waiting {
            // Another call waits: that is another wait, even for the same reason.
            self.status.attention = None;
        }
        self.memory.waiting = waiting;
        let attention = event.reason.clone().map(|reason| Attention::new().reason(reason).since(Some(given.at)));
        self.set(given, self.status.state, attention);
    }

    /// A call that starts while nothing is known to run means that the agent works.
    pub(super) fn work_began(&mut self, given: &Given<'_>) {
        if self.status.state == State::Idle {
            self.set(given, State::Busy, None);
        }
    }

    /// The end of the call that waits, or of any call if none was named, ends the wait.
    pub(super) fn wait_ended(&mut self, id: Option<&str>, given: &Given<'_>) {
        let Some(attention) = &self.status.attention else { return };
        // These two tell of a turn that is over; no call of it still waits.
        let of_a_call = attention.reason != Reason::ERROR && attention.reason != Reason::FINISHED;
        let this_one = self.memory.waiting.is_none() || self.memory.waiting.as_deref() == id;
        if of_a_call && this_one {
            self.set(given, self.status.state, None);
        }
    }

    /// Hooks run side by side, so an event may arrive after a later one. One that is a few seconds older than what the
    /// state was last set by no longer changes it; one that is older still tells of a clock that was set back.
    fn is_late(&self, given: &Given<'_>) -> bool {
        let Some(last) = self.status.state_at else { return false };
        // What the beginning set is no evidence: the clock of whoever tells the events may be read a little earlier.
        if Some(last) == self.status.started_at {
            return false;
        }
        let late = last.since_ms(given.at);
        late > 0 && late <= i64::try_from(limits::LATE_EVENT.as_millis()).unwrap_or(i64::MAX)
    }

    fn set(&mut self, given: &Given<'_>, state: State, attention: Option<Attention>) {
        if self.is_late(given) {
            return;
        }
        if attention.is_none() {
            self.memory.waiting = None;
        }
        let status = &mut self.status;
        let same = status.state == state
            && match (&status.attention, &attention) {
                (None, None) => true,
                (Some(now), Some(new)) => now.reason == new.reason,
                _ => false,
            };
        if same {
            return;
        }
        status.state = state;
        status.attention = attention;
        status.state_from = Some(given.from.clone());
        status.state_at = Some(given.at);
    }
}
