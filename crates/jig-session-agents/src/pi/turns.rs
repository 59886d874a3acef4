//! Turns: when Pi works, and how a turn settled.

use jig_session_schema::bridge::BridgeEvent;
use jig_session_schema::event::{Event, ToolEvent, ToolOutcome, ToolPhase, TurnEvent, TurnOutcome, TurnPhase};
use jig_session_schema::time::Timestamp;

use super::{Bridge, Effects};

/// The first Pi version that reports when it has settled.
const SETTLES: [u32; 3] = [0, 80, 4];

/// When to query `ctx.isIdle`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskIdle {
    /// At once.
    Now,
    /// In a moment, about a fifth of a second: Pi may still be ending the turn.
    Soon,
}

/// Why `ctx.isIdle` is queried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// The preserved document may say that Pi works.
    Kept,
    /// The run has ended, on a Pi that does not say when it has settled.
    Ended,
    /// Lines were lost: the state may be another one than the last line said.
    Lost,
}

/// A question that Pi has not answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct IdleQuestion {
    /// The turn that was open at the time of the query.
    turn: u64,
    reason: Reason,
}

impl Bridge {
    pub(super) fn turn_began(&mut self, at: Option<Timestamp>) -> Vec<Event> {
        self.open = true;
        self.turn += 1;
        self.stop = None;
        self.errors.clear();
        self.busy(at)
    }

    /// On a Pi that does not tell when it has settled, the end of the run and an idle Pi after it mean the same.
    pub(super) fn agent_ended(&mut self, line: &BridgeEvent, at: Option<Timestamp>) -> Effects {
        if self.settles || self.version.is_some_and(|version| version >= SETTLES) || !self.open {
            return Effects::default();
        }
        if line.idle == Some(true) {
            return Effects { events: self.settled(at, None), ask_idle: None };
        }
        Effects { events: Vec::new(), ask_idle: Some(self.ask(AskIdle::Soon, Reason::Ended)) }
    }

    pub(super) fn ask(&mut self, when: AskIdle, reason: Reason) -> AskIdle {
        self.asked.push_back(IdleQuestion { turn: self.turn, reason });
        when
    }

    /// Pi's answer to `ctx.isIdle`; answers come in the order of the questions. `None` when it gave none.
    pub fn idle(&mut self, idle: Option<bool>) -> Effects {
        let Some(asked) = self.asked.pop_front() else { return Effects::default() };
        // Since then a turn has begun.
        if asked.turn != self.turn {
            return Effects::default();
        }
        let events = match (asked.reason, idle, self.open) {
            (Reason::Kept, Some(true), false) => {
                [settled(None, TurnOutcome::Aborted)].into_iter().chain(self.goes_on(None)).collect()
            }
            // The host began anew in the middle of a turn.
            (Reason::Kept, Some(false), false) => {
                self.open = true;
                Vec::new()
            }
            (Reason::Ended | Reason::Lost, Some(true), true) => self.settled(None, None),
            (Reason::Ended, Some(false), true) => {
                return Effects { events: Vec::new(), ask_idle: Some(self.ask(AskIdle::Soon, Reason::Ended)) };
            }
            (Reason::Lost, Some(false), false) => self.turn_began(None),
            _ => Vec::new(),
        };
        Effects { events, ask_idle: None }
    }

    /// The turn has settled. Without Pi's own report, the last message shows whether it was interrupted.
    pub(super) fn settled(&mut self, at: Option<Timestamp>, aborted: Option<bool>) -> Vec<Event> {
        self.open = false;
        self.calls.clear();
        let stop = self.stop.take();
        let aborted = aborted.unwrap_or(stop.as_deref() == Some("aborted"));
        let errors = std::mem::take(&mut self.errors);
        let mut events = Vec::new();
        if aborted {
            // Pi ends the calls of a broken-off run as errors, before it says that it was broken off.
            events.extend(errors.into_iter().map(|id| {
                let end = ToolEvent::new().at(at).phase(ToolPhase::End).id(Some(id));
                Event::from(end.outcome(Some(ToolOutcome::Aborted)))
            }));
        }
        let outcome = match stop.as_deref() {
            _ if aborted => TurnOutcome::Aborted,
            Some("error") => TurnOutcome::Error,
            _ => TurnOutcome::Ok,
        };
        events.push(settled(at, outcome));
        events.extend(self.goes_on(at));
        events
    }

    /// What Pi does besides a turn, such as a compaction or a command of the user's, begins.
    pub(super) fn work_began(&mut self, work: Work, at: Option<Timestamp>) -> Vec<Event> {
        let worked = self.works();
        self.work.insert(work);
        if worked { Vec::new() } else { self.busy(at) }
    }

    /// It has ended.
    pub(super) fn work_ended(&mut self, work: Work, outcome: TurnOutcome, at: Option<Timestamp>) -> Vec<Event> {
        if !self.work.remove(&work) || self.works() {
            return Vec::new();
        }
        [settled(at, outcome)].into_iter().chain(self.asks_again(at)).collect()
    }

    fn works(&self) -> bool {
        self.open || !self.work.is_empty()
    }

    /// After a turn has settled: what still runs keeps the session busy, and a dialog that is open still waits.
    fn goes_on(&self, at: Option<Timestamp>) -> Vec<Event> {
        if self.work.is_empty() { self.asks_again(at).into_iter().collect() } else { self.busy(at) }
    }

    /// Pi is at work. A dialog that was there before still waits.
    fn busy(&self, at: Option<Timestamp>) -> Vec<Event> {
        let start = TurnEvent::new().at(at).phase(TurnPhase::Start).into();
        [start].into_iter().chain(self.asks_again(at)).collect()
    }
}

/// What keeps Pi at work outside of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Work {
    /// The conversation is being summarized.
    Compaction,
    /// A command that the user typed runs.
    Command,
    /// A component that waits for nobody, such as a loader, has the screen.
    Component,
}

fn settled(at: Option<Timestamp>, outcome: TurnOutcome) -> Event {
    TurnEvent::new().at(at).phase(TurnPhase::Settled).outcome(Some(outcome)).into()
}
