//! Tools and skills that requests have switched in this session: the stored set, and Pi's list of active tools that
//! follows from it.

use jig_session_schema::request::Switches;
use jig_session_schema::shape::Named;

/// Every switch of this session, by name; a later one replaces an earlier one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SwitchState {
    tools: Named<bool>,
    skills: Named<bool>,
}

/// Switches that are being applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SwitchChange {
    /// The id of the request; `None` when stored switches are applied again.
    request: Option<String>,
    tools: Named<bool>,
    skills: Named<bool>,
}

impl SwitchChange {
    pub(crate) fn requested(request: String, tools: Named<bool>, skills: Named<bool>) -> Self {
        Self { request: Some(request), tools, skills }
    }

    pub(crate) fn request(&self) -> Option<&str> {
        self.request.as_deref()
    }

    /// Checks Pi's list of active tools; the error names the first tool that is not as requested.
    pub(crate) fn verify(&self, active: &[String]) -> Result<(), String> {
        if self.request.is_none() {
            // A tool that is not there any more is no reason to give up the others.
            return Ok(());
        }
        match self.tools.iter().find(|(name, on)| active.iter().any(|tool| tool == name) != **on) {
            Some((name, on)) => Err(format!("Pi keeps tool {name} {}", if *on { "off" } else { "on" })),
            None => Ok(()),
        }
    }
}

impl SwitchState {
    /// From the entry in the session's transcript.
    pub(crate) fn of(entry: &Switches) -> Self {
        Self { tools: entry.tools.clone(), skills: entry.skills.clone() }
    }

    /// The entry for the session's transcript: the whole set.
    pub(crate) fn entry(&self) -> Switches {
        Switches::new().tools(self.tools.clone()).skills(self.skills.clone())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.skills.is_empty()
    }

    /// The stored switches as a change, to be applied again.
    pub(crate) fn reapply(&self) -> SwitchChange {
        SwitchChange { request: None, tools: self.tools.clone(), skills: self.skills.clone() }
    }

    /// Stores switches that were applied.
    pub(crate) fn apply(&mut self, change: &SwitchChange) {
        for (state, new) in [(&mut self.tools, &change.tools), (&mut self.skills, &change.skills)] {
            for (name, on) in new.iter() {
                state.insert(name, *on);
            }
        }
    }

    /// Skills that are left out of the prompt.
    pub(crate) fn hidden(&self) -> Vec<String> {
        self.skills.iter().filter(|(_, on)| !**on).map(|(name, _)| name.to_owned()).collect()
    }

    /// The active tools that Pi should have; `None` when it has them already. Tools that no request has switched stay as
    /// they are.
    pub(crate) fn wanted(&self, change: &SwitchChange, active: &[String]) -> Option<Vec<String>> {
        let mut all = self.clone();
        all.apply(change);
        let off = |name: &String| all.tools.get(name) == Some(&false);
        let mut wanted: Vec<String> = active.iter().filter(|name| !off(name)).cloned().collect();
        for (name, on) in all.tools.iter() {
            if *on && !wanted.iter().any(|tool| tool == name) {
                wanted.push(name.to_owned());
            }
        }
        (wanted != active).then_some(wanted)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn list(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn entry(state: &SwitchState) -> Value {
        json!(state.entry())
    }

    fn asked(tools: &[(&str, bool)], skills: &[(&str, bool)]) -> SwitchChange {
        let own = |list: &[(&str, bool)]| list.iter().map(|(name, on)| ((*name).to_owned(), *on)).collect();
        SwitchChange::requested("r".into(), own(tools), own(skills))
    }

    #[test]
    fn only_what_was_switched_changes() {
        let mut state = SwitchState::default();
        let off = asked(&[("bash", false)], &[("pdf-tools", false)]);
        assert_eq!(state.wanted(&off, &list(&["read", "bash", "edit"])), Some(vec!["read".into(), "edit".into()]));
        assert_eq!(state.wanted(&off, &list(&["read"])), None);
        state.apply(&off);
        assert_eq!(state.hidden(), ["pdf-tools"]);
        assert_eq!(entry(&state), json!({ "tools": { "bash": false }, "skills": { "pdf-tools": false } }));
        let on = asked(&[("bash", true), ("grep", true)], &[("pdf-tools", true)]);
        let wanted = state.wanted(&on, &list(&["read"])).unwrap();
        assert_eq!(wanted, ["read", "bash", "grep"]);
        state.apply(&on);
        assert!(state.hidden().is_empty());
        assert_eq!(entry(&state)["tools"], json!({ "bash": true, "grep": true }));
    }

    #[test]
    fn the_entry_is_read_back_and_applied_again() {
        let entry = json!({ "tools": { "bash": false, "odd": 3 }, "skills": {}, "later": 1 });
        let state = SwitchState::of(&Switches::read_value(entry).unwrap().value);
        let again = state.reapply();
        assert_eq!(again.request(), None);
        assert_eq!(state.wanted(&again, &list(&["bash", "read"])), Some(vec!["read".into()]));
        assert!(SwitchState::of(&Switches::new()).is_empty());
    }

    #[test]
    fn pi_has_the_last_word_on_what_was_asked() {
        let change = asked(&[("bash", false), ("grep", true)], &[]);
        assert_eq!(change.verify(&list(&["grep"])), Ok(()));
        assert_eq!(change.verify(&list(&["grep", "bash"])), Err("Pi keeps tool bash on".into()));
        assert_eq!(change.verify(&[]), Err("Pi keeps tool grep off".into()));
    }
}
