//! Recent tool calls: a call's start, its end and the decision on it, joined by the call's id in any order.

use jig_session_schema::event::{DecisionEvent, ToolEvent, ToolOutcome, ToolPhase};
use jig_session_schema::limits;
use jig_session_schema::status::{AnswerWord, Decision, Outcome, Recent};
use jig_session_schema::time::Timestamp;

use super::{Occurrence, Order, Session};

/// A decision that came before its call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Early {
    id: String,
    decision: Decision,
    answer: Option<AnswerWord>,
}

impl Session {
    pub(super) fn tool(&mut self, event: &ToolEvent, occurrence: &Occurrence<'_>) {
        match event.phase {
            ToolPhase::Start => self.call_started(event, occurrence),
            ToolPhase::End => self.call_ended(event, occurrence),
            _ => {}
        }
    }

    fn call_started(&mut self, event: &ToolEvent, occurrence: &Occurrence<'_>) {
        let Some(tool) = event.tool.clone() else { return };
        if let Some(id) = &event.id
            && self.row(id).is_some()
        {
            // It is known already, and may have ended: hooks overtake each other.
            return;
        }
        let mut call = Recent::new().at(Some(occurrence.at)).tool(tool).outcome(Outcome::Running);
        call.id.clone_from(&event.id);
        call.action.clone_from(&event.action);
        self.insert(call, occurrence.order);
        self.work_began(occurrence);
    }

    fn call_ended(&mut self, event: &ToolEvent, occurrence: &Occurrence<'_>) {
        let known = match (&event.id, &event.tool) {
            (Some(id), _) => self.row(id),
            (None, Some(tool)) => {
                self.status.recent.iter().position(|call| call.outcome == Outcome::Running && call.tool == *tool)
            }
            (None, None) => return,
        };
        let ended = event.outcome.map(outcome_of);
        match known {
            Some(at) => {
                let call = &mut self.status.recent[at];
                if call.outcome == Outcome::Running || ended.is_some() {
                    call.outcome = kept(ended.unwrap_or(Outcome::Ok), call.decision);
                }
            }
            None => {
                if let Some(tool) = event.tool.clone() {
                    let mut call =
                        Recent::new().at(Some(occurrence.at)).tool(tool).outcome(ended.unwrap_or(Outcome::Ok));
                    call.id.clone_from(&event.id);
                    call.action.clone_from(&event.action);
                    self.insert(call, occurrence.order);
                }
            }
        }
        self.wait_ended(event.id.as_deref(), occurrence);
    }

    /// Puts a call in its place, newest first, with the decision that may have come before it.
    fn insert(&mut self, mut call: Recent, order: Order) {
        if let Some(id) = &call.id
            && let Some(at) = self.memory.decisions.iter().position(|early| early.id == *id)
            && let Some(early) = self.memory.decisions.remove(at)
        {
            call.decision = Some(early.decision);
            call.answer = early.answer;
            call.outcome = kept(call.outcome, call.decision);
        }
        let recent = &mut self.status.recent;
        let place = match order {
            Order::Arrival => 0,
            Order::BootClock(_) => recent.iter().position(|known| known.at <= call.at).unwrap_or(recent.len()),
        };
        recent.insert(place, call);
        recent.truncate(limits::RECENT);
    }

    pub(super) fn decision(&mut self, event: &DecisionEvent) {
        if let Some(at) = self.row(&event.id) {
            let call = &mut self.status.recent[at];
            call.decision = Some(event.decision);
            if event.answer.is_some() {
                call.answer.clone_from(&event.answer);
            }
            call.outcome = kept(call.outcome, call.decision);
            return;
        }
        let decisions = &mut self.memory.decisions;
        decisions.retain(|early| early.id != event.id);
        decisions.push_back(Early { id: event.id.clone(), decision: event.decision, answer: event.answer.clone() });
        if decisions.len() > limits::PENDING_DECISIONS {
            decisions.pop_front();
        }
    }

    /// Calls still running when a turn settles have been aborted. `until` leaves alone what began later.
    pub(super) fn abort_running(&mut self, until: Option<Timestamp>) {
        for call in &mut self.status.recent {
            if call.outcome == Outcome::Running && until.is_none_or(|until| call.at.is_none_or(|at| at <= until)) {
                call.outcome = Outcome::Aborted;
            }
        }
    }

    fn row(&self, id: &str) -> Option<usize> {
        self.status.recent.iter().position(|call| call.id.as_deref() == Some(id))
    }
}

fn outcome_of(outcome: ToolOutcome) -> Outcome {
    match outcome {
        ToolOutcome::Ok => Outcome::Ok,
        ToolOutcome::Denied => Outcome::Denied,
        ToolOutcome::Aborted => Outcome::Aborted,
        _ => Outcome::Error,
    }
}

/// An error of a call that was decided `deny` is the denial.
fn kept(outcome: Outcome, decision: Option<Decision>) -> Outcome {
    if outcome == Outcome::Error && decision == Some(Decision::Deny) { Outcome::Denied } else { outcome }
}
