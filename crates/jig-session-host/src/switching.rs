//! Requests that were accepted: switches and reloads are carried out by Pi's own functions, and Pi's own list of active
//! tools decides whether they were.

use jig_session_publish::Now;
use jig_session_schema::bridge::Return;
use jig_session_schema::request::Order;
use serde_json::{Value, json};

use crate::Error;
use crate::host::{Host, Stage};
use crate::link::Pending;
use crate::switches::{SwitchChange, SwitchState};

impl Host {
    /// After a start, a reload or a resume: applies the session's stored switches again.
    pub(crate) fn restore(&mut self) -> Result<(), Error> {
        if let Some(stored) = self.bridge.switches() {
            self.switches = SwitchState::of(stored);
        }
        if self.switches.is_empty() {
            return self.restored();
        }
        self.stage = Stage::Restoring;
        let change = self.switches.reapply();
        self.switch(change)
    }

    fn restored(&mut self) -> Result<(), Error> {
        self.stage = Stage::Ready;
        // The previous host may have sent a set that was never stored, or have died before it sent one.
        self.link.skills(self.switches.hidden())?;
        self.quiet.look_again();
        self.answer_prompts()
    }

    pub(crate) fn order(&mut self, order: Order) -> Result<(), Error> {
        match order {
            Order::Switch(order) => self.switch(SwitchChange::requested(order.id, order.tools, order.skills)),
            // Only a command can reload: Pi runs it as if the user had typed it.
            Order::Reload(_) => self.link.call(
                "pi.sendUserMessage",
                vec![json!("/session-reload"), json!({ "expandPromptTemplates": true })],
                Pending::Nothing,
            ),
            _ => Ok(()),
        }
    }

    fn switch(&mut self, change: SwitchChange) -> Result<(), Error> {
        self.link.call("pi.getActiveTools", Vec::new(), Pending::Active(change))
    }

    pub(crate) fn returned(&mut self, outcome: &Return, now: Now) -> Result<(), Error> {
        let Some(then) = self.link.returned(&outcome.id) else { return Ok(()) };
        let result = &outcome.result;
        let error = outcome.error.as_deref();
        match then {
            Pending::Nothing => Ok(()),
            Pending::Idle => {
                let effects = self.bridge.idle(result.as_bool().filter(|_| error.is_none()));
                self.apply(effects, now)
            }
            Pending::Active(change) => match error {
                Some(why) => self.switched(&change, Err(why.to_owned()), now),
                None => self.set_active(change, names(result), now),
            },
            Pending::Set(change) => match error {
                Some(why) => self.switched(&change, Err(why.to_owned()), now),
                None => self.link.call("pi.getActiveTools", Vec::new(), Pending::Verify(change)),
            },
            Pending::Verify(change) => self.verify(change, &names(result), now),
            Pending::Stored(change) => {
                let outcome = error.map_or(Ok(()), |why| Err(why.to_owned()));
                self.switched(&change, outcome, now)
            }
        }
    }

    fn set_active(&mut self, change: SwitchChange, active: Vec<String>, now: Now) -> Result<(), Error> {
        match self.switches.wanted(&change, &active) {
            Some(wanted) => self.link.call("pi.setActiveTools", vec![json!(wanted)], Pending::Set(change)),
            None => self.verify(change, &active, now),
        }
    }

    /// Pi's own list decides whether the tools were switched; skills are left out of the prompt by the bridge.
    fn verify(&mut self, change: SwitchChange, active: &[String], now: Now) -> Result<(), Error> {
        if let Err(why) = change.verify(active) {
            return self.switched(&change, Err(why), now);
        }
        self.switches.apply(&change);
        let hidden = self.switches.hidden();
        for event in self.bridge.switched(active, &hidden) {
            let _ = self.publisher.feed(&event, now);
        }
        self.link.skills(hidden)?;
        if change.request().is_none() {
            return self.switched(&change, Ok(()), now);
        }
        let entry = vec![json!(jig_session_schema::request::SWITCHES_ENTRY), json!(self.switches.entry())];
        self.link.call("pi.appendEntry", entry, Pending::Stored(change))
    }

    fn switched(&mut self, change: &SwitchChange, outcome: Result<(), String>, now: Now) -> Result<(), Error> {
        match change.request() {
            Some(id) => self.requests.applied(id, outcome, &mut self.publisher, now),
            None => {
                if let Err(why) = outcome {
                    self.log.write("io", &format!("the session's switches were not applied again: {why}"));
                }
                return self.restored();
            }
        }
        Ok(())
    }
}

/// The strings of a JSON list; anything else in it is skipped.
fn names(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
