//! Turns: when Pi works, and how a turn settled.

use jig_session_schema::bridge::BridgeEvent;
use jig_session_schema::event::{Event, ToolEvent, ToolOutcome, ToolPhase, TurnEvent, TurnOutcome, TurnPhase};
use jig_session_schema::time::Timestamp;

use super::{Bridge, Told};

/// The first Pi that tells when it has settled.
const SETTLES: [u32; 3] = [0, 80, 4];

/// When `ctx.isIdle` is to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskIdle {
    /// At once.
    Now,
    /// In a moment, about a fifth of a second: Pi may still be ending the turn.
    Soon,
}

/// What an answer to `ctx.isIdle` is about.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Asked {
    /// The turn that was open when it was asked.
    turn: u64,
    /// It was asked because of what the document had kept.
    kept: bool,
}

impl Bridge {
    pub(super) fn turn_began(&mut self, at: Option<Timestamp>) -> Vec<Event> {
        self.open = true;
        self.turn += 1;
        self.stop = None;
        self.errors.clear();
        vec![TurnEvent::new().at(at).phase(TurnPhase::Start).into()]
    }

    /// On a Pi that does not tell when it has settled, the end of the run and an idle Pi after it mean the same.
    pub(super) fn agent_ended(&mut self, line: &BridgeEvent, at: Option<Timestamp>) -> Told {
        if self.settles || self.version.is_some_and(|version| version >= SETTLES) || !self.open {
            return Told::default();
        }
        if line.idle == Some(true) {
            return Told { events: self.settled(at, None), ask_idle: None };
        }
        Told { events: Vec::new(), ask_idle: Some(self.ask(AskIdle::Soon, false)) }
    }

    pub(super) fn ask(&mut self, when: AskIdle, kept: bool) -> AskIdle {
        self.asked.push_back(Asked { turn: self.turn, kept });
        when
    }

    /// Pi's answer to `ctx.isIdle`; answers come in the order of the questions. `None` when it gave none.
    pub fn idle(&mut self, idle: Option<bool>) -> Told {
        let Some(asked) = self.asked.pop_front() else { return Told::default() };
        // Since then a turn has begun, or this one has settled by itself.
        if asked.turn != self.turn || (asked.kept == self.open) {
            return Told::default();
        }
        match idle {
            Some(true) if asked.kept => Told { events: vec![settled(None, TurnOutcome::Aborted)], ask_idle: None },
            Some(true) => Told { events: self.settled(None, None), ask_idle: None },
            Some(false) if !asked.kept => Told { events: Vec::new(), ask_idle: Some(self.ask(AskIdle::Soon, false)) },
            // The host began anew in the middle of a turn.
            Some(false) => {
                self.open = true;
                Told::default()
            }
            None => Told::default(),
        }
    }

    /// The turn has settled. Without Pi's own word, the last message tells whether it was broken off.
    pub(super) fn settled(&mut self, at: Option<Timestamp>, aborted: Option<bool>) -> Vec<Event> {
        self.open = false;
        self.prompted = false;
        self.calls.clear();
        let stop = self.stop.take();
        let aborted = aborted.unwrap_or(stop.as_deref() == Some("aborted"));
        let errors = std::mem::take(&mut self.errors);
        if !aborted {
            let outcome = if stop.as_deref() == Some("error") { TurnOutcome::Error } else { TurnOutcome::Ok };
            return vec![settled(at, outcome)];
        }
        // Pi ends the calls of a broken-off run as errors, before it says that it was broken off.
        let ends = errors.into_iter().map(|id| {
            let end = ToolEvent::new().at(at).phase(ToolPhase::End).id(Some(id));
            Event::from(end.outcome(Some(ToolOutcome::Aborted)))
        });
        ends.chain([settled(at, TurnOutcome::Aborted)]).collect()
    }
}

fn settled(at: Option<Timestamp>, outcome: TurnOutcome) -> Event {
    TurnEvent::new().at(at).phase(TurnPhase::Settled).outcome(Some(outcome)).into()
}
