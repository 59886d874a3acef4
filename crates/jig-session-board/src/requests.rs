//! What can be asked of an opened session.

use jig_session_schema::status::{Accept, Status};

use crate::model::{Change, Opened};

/// A tool or a skill that can be switched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Switch {
    pub(crate) name: String,
    pub(crate) is_skill: bool,
    pub(crate) on: bool,
    /// Where it comes from.
    pub(crate) source: String,
}

impl Switch {
    /// The change that turns it over.
    pub(crate) fn change(&self) -> Change {
        let (name, on) = (self.name.clone(), !self.on);
        if self.is_skill { Change::Skill(name, on) } else { Change::Tool(name, on) }
    }
}

/// Tools and then skills, as far as the session tells them.
pub(crate) fn switches(opened: &Opened) -> Vec<Switch> {
    let Some(detail) = opened.status.as_ref().and_then(|status| status.context_detail.as_ref()) else {
        return Vec::new();
    };
    let tools = detail.tools.iter().map(|tool| Switch {
        name: tool.name.clone(),
        is_skill: false,
        on: tool.on,
        source: tool.source.clone().unwrap_or_default(),
    });
    let skills = detail.skills.iter().map(|skill| Switch {
        name: skill.name.clone(),
        is_skill: true,
        on: skill.on,
        source: String::new(),
    });
    tools.chain(skills).collect()
}

/// Why a session will not take this, as far as it tells beforehand.
pub(crate) fn refusal(opened: &Opened, change: &Change) -> Option<String> {
    let Some(status) = &opened.status else { return Some("this session takes no requests".to_owned()) };
    let (accept, words) = match change {
        Change::Tool(..) => (Accept::TOOLS, "switching of tools"),
        Change::Skill(..) => (Accept::SKILLS, "switching of skills"),
        Change::Reload => (Accept::RELOAD, "reload"),
    };
    accepts(status, &accept).then_some(()).map_or_else(|| Some(format!("this session takes no {words}")), |()| None)
}

/// Whether a session takes such a request; one that does not tell may.
fn accepts(status: &Status, wanted: &Accept) -> bool {
    status.accepts.as_ref().is_none_or(|accepts| accepts.contains(wanted))
}
