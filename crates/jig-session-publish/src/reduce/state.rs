//! `state` and `attention`: the table of what each event makes of them.

use jig_session_schema::event::{AttentionEvent, TurnEvent, TurnOutcome, TurnPhase};
use jig_session_schema::status::{Attention, Reason, State};
use jig_session_schema::time::Timestamp;

use super::{Occurrence, Order, Session};

impl Session {
    pub(super) fn turn(&mut self, event: &TurnEvent, occurrence: &Occurrence<'_>) {
        match event.phase {
            TurnPhase::Start => self.set(occurrence, State::Busy, None, None),
            TurnPhase::Settled => {
                let error = event.outcome == Some(TurnOutcome::Error);
                // A settling that arrives after the next turn began ends only the calls of its own turn.
                let late = self.is_late(occurrence);
                self.abort_running(late.then_some(occurrence.at));
                if !late {
                    self.status.progress = None;
                }
                self.set(occurrence, State::Idle, error.then_some(Reason::ERROR), None);
            }
            _ => {}
        }
    }

    pub(super) fn attention(&mut self, event: &AttentionEvent, occurrence: &Occurrence<'_>) {
        let call = event.id.clone().filter(|_| event.reason.is_some());
        self.set(occurrence, self.status.state, event.reason.clone(), call);
    }

    /// A call that starts while nothing is known to run means that the agent works.
    pub(super) fn work_began(&mut self, occurrence: &Occurrence<'_>) {
        if self.status.state == State::Idle {
            self.set(occurrence, State::Busy, None, None);
        }
    }

    /// The end of the call that waits, or of any call if none was named, ends the wait.
    pub(super) fn wait_ended(&mut self, id: Option<&str>, occurrence: &Occurrence<'_>) {
        let Some(attention) = &self.status.attention else { return };
        // These two tell of a turn that is over; no call of it still waits.
        let of_a_call = attention.reason != Reason::ERROR && attention.reason != Reason::FINISHED;
        let this_one = self.memory.waiting.is_none() || self.memory.waiting.as_deref() == id;
        if of_a_call && this_one {
            self.set(occurrence, self.status.state, None, None);
        }
    }

    /// Whether a process that happened earlier has been overtaken by what set the state last. Only the boot clock can
    /// tell: two readings of a wall clock say nothing about what came first.
    fn is_late(&self, occurrence: &Occurrence<'_>) -> bool {
        match occurrence.order {
            Order::Arrival | Order::BootClock(None) => false,
            Order::BootClock(Some(clock)) => self.status.state_clock_ms.is_some_and(|last| clock < last),
        }
    }

    /// The one place where state and attention change, and where it is stamped what changed them and when. `call` is
    /// the call that waits: another call's wait is another wait, even for the same reason.
    fn set(&mut self, occurrence: &Occurrence<'_>, state: State, reason: Option<Reason>, call: Option<String>) {
        if self.is_late(occurrence) {
            return;
        }
        let status = &mut self.status;
        let same_wait = status.attention.as_ref().map(|attention| &attention.reason) == reason.as_ref()
            && (reason.is_none() || self.memory.waiting == call);
        self.memory.waiting = call;
        if status.state == state && same_wait {
            return;
        }
        if !same_wait {
            status.attention = reason.map(|reason| Attention::new().reason(reason).since(Some(occurrence.at)));
        }
        status.state = state;
        status.state_from = Some(occurrence.from.clone());
        status.state_at = Some(occurrence.at);
        status.state_clock_ms = match occurrence.order {
            Order::Arrival => None,
            Order::BootClock(clock) => clock,
        };
    }

    /// Brings what was stamped by a clock that has been set back since to now: a time that is yet to come would make
    /// every request look older than the session, and every evidence older than its state. True when there was any.
    pub fn heal(&mut self, now: Timestamp) -> bool {
        let status = &mut self.status;
        let since = status.attention.as_mut().map(|attention| &mut attention.since);
        let mut healed = false;
        for time in [Some(&mut status.started_at), Some(&mut status.state_at), since].into_iter().flatten() {
            if time.is_some_and(|time| time > now) {
                *time = Some(now);
                healed = true;
            }
        }
        healed
    }
}
