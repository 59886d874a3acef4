//! Tools and skills that requests have switched in this session: what is kept, and what follows for Pi.

use jig_session_schema::request::Switches;
use jig_session_schema::shape::Named;

/// Every switch of this session, by name; the last one counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    tools: Named<bool>,
    skills: Named<bool>,
}

/// Switches on their way to Pi.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Switching {
    /// The request they come from; none: what was kept is applied again.
    request: Option<String>,
    tools: Named<bool>,
    skills: Named<bool>,
}

impl Switching {
    pub(crate) fn asked(request: String, tools: Named<bool>, skills: Named<bool>) -> Self {
        Self { request: Some(request), tools, skills }
    }

    pub(crate) fn request(&self) -> Option<&str> {
        self.request.as_deref()
    }

    /// Whether Pi's list of active tools shows what was asked.
    pub(crate) fn holds_in(&self, active: &[String]) -> Result<(), String> {
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

impl Kept {
    /// From the session's entry.
    pub(crate) fn of(entry: &Switches) -> Self {
        Self { tools: entry.tools.clone(), skills: entry.skills.clone() }
    }

    /// The session's entry: the whole set.
    pub(crate) fn entry(&self) -> Switches {
        Switches::new().tools(self.tools.clone()).skills(self.skills.clone())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.skills.is_empty()
    }

    /// What was kept, to be applied again.
    pub(crate) fn again(&self) -> Switching {
        Switching { request: None, tools: self.tools.clone(), skills: self.skills.clone() }
    }

    /// Takes switches that were applied.
    pub(crate) fn take(&mut self, switching: &Switching) {
        for (kept, new) in [(&mut self.tools, &switching.tools), (&mut self.skills, &switching.skills)] {
            for (name, on) in new.iter() {
                kept.insert(name, *on);
            }
        }
    }

    /// Skills that are left out of the prompt.
    pub(crate) fn hidden(&self) -> Vec<String> {
        self.skills.iter().filter(|(_, on)| !**on).map(|(name, _)| name.to_owned()).collect()
    }

    /// The list of active tools that Pi is to have; `None` when it has it already. Tools nobody switched stay as
    /// they are, whatever else turned them on or off.
    pub(crate) fn wanted(&self, switching: &Switching, active: &[String]) -> Option<Vec<String>> {
        let mut all = self.clone();
        all.take(switching);
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

    fn entry(kept: &Kept) -> Value {
        json!(kept.entry())
    }

    fn asked(tools: &[(&str, bool)], skills: &[(&str, bool)]) -> Switching {
        let own = |list: &[(&str, bool)]| list.iter().map(|(name, on)| ((*name).to_owned(), *on)).collect();
        Switching::asked("r".into(), own(tools), own(skills))
    }

    #[test]
    fn only_what_was_switched_changes() {
        let mut kept = Kept::default();
        let off = asked(&[("bash", false)], &[("pdf-tools", false)]);
        assert_eq!(kept.wanted(&off, &list(&["read", "bash", "edit"])), Some(vec!["read".into(), "edit".into()]));
        assert_eq!(kept.wanted(&off, &list(&["read"])), None);
        kept.take(&off);
        assert_eq!(kept.hidden(), ["pdf-tools"]);
        assert_eq!(entry(&kept), json!({ "tools": { "bash": false }, "skills": { "pdf-tools": false } }));
        let on = asked(&[("bash", true), ("grep", true)], &[("pdf-tools", true)]);
        let wanted = kept.wanted(&on, &list(&["read"])).unwrap();
        assert_eq!(wanted, ["read", "bash", "grep"]);
        kept.take(&on);
        assert!(kept.hidden().is_empty());
        assert_eq!(entry(&kept)["tools"], json!({ "bash": true, "grep": true }));
    }

    #[test]
    fn the_entry_is_read_back_and_applied_again() {
        let entry = json!({ "tools": { "bash": false, "odd": 3 }, "skills": {}, "later": 1 });
        let kept = Kept::of(&Switches::read_value(entry).unwrap().value);
        let again = kept.again();
        assert_eq!(again.request(), None);
        assert_eq!(kept.wanted(&again, &list(&["bash", "read"])), Some(vec!["read".into()]));
        assert!(Kept::of(&Switches::new()).is_empty());
    }

    #[test]
    fn pi_has_the_last_word_on_what_was_asked() {
        let switching = asked(&[("bash", false), ("grep", true)], &[]);
        assert_eq!(switching.holds_in(&list(&["grep"])), Ok(()));
        assert_eq!(switching.holds_in(&list(&["grep", "bash"])), Err("Pi keeps tool bash on".into()));
        assert_eq!(switching.holds_in(&[]), Err("Pi keeps tool grep off".into()));
    }
}
