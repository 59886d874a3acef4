//! A Pi session's card: pi-king's view of what status v1 already says, plus the few fields it alone has.
//!
//! Pure: notes about prompts, subagents and onlookers go in, a document comes out. The state is status
//! v1's own, so that both files of a session never disagree.

use std::path::Path;

use jig_session_schema::king::{EpochMs, KingState, KingStatus, KingSubagent, SubagentState};
use jig_session_schema::limits::SHOWN_NAME_CHARS;
use jig_session_schema::status::{Reason, State, Status};

use crate::rules;

/// What the card of an ended session says.
const ENDED: &str = "Session ended.";

/// Longest prose in a card, in UTF-16 code units; a longer one ends in an ellipsis.
const PROSE_UNITS: usize = 140;
/// Longest description of a subagent, in UTF-16 code units.
const DESCRIPTION_UNITS: usize = 100;
/// How long a subagent stays on the card after its end, in milliseconds.
const SUBAGENT_KEPT_MS: i64 = 5 * 60 * 1000;

/// What status v1 does not know of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// When Pi's process was born, in milliseconds since the epoch; from the operating system.
    pub process_started_ms: i64,
    /// The user made the session visible. Anything listed may be started again by pi-king.
    pub visible: bool,
    /// The session was born by a fork.
    pub fork: bool,
    /// The startup fingerprint of Pi's process, where it could be computed.
    pub fingerprint: Option<String>,
}

/// What happened to a subagent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubagentPhase {
    /// It waits for its turn.
    Created,
    /// It runs.
    Started,
    /// It ended well.
    Completed,
    /// It ended badly.
    Failed,
}

impl SubagentPhase {
    /// The phase of pi's own event name, `subagents:created` and so on.
    #[must_use]
    pub fn of_event(name: &str) -> Option<Self> {
        match name.strip_prefix("subagents:")? {
            "created" => Some(Self::Created),
            "started" => Some(Self::Started),
            "completed" => Some(Self::Completed),
            "failed" => Some(Self::Failed),
            _ => None,
        }
    }

    fn state(self) -> SubagentState {
        match self {
            Self::Created => SubagentState::QUEUED,
            Self::Started => SubagentState::RUNNING,
            Self::Completed => SubagentState::COMPLETED,
            Self::Failed => SubagentState::FAILED,
        }
    }

    fn ended(self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }
}

/// The card of one session.
#[derive(Clone, Debug, Default)]
pub struct Card {
    facts: Facts,
    prompt: Option<String>,
    /// Why the last turn failed, if known.
    failure: Option<String>,
    /// A turn has begun since the session did.
    worked: bool,
    /// A result waits that nobody has looked at.
    unseen: bool,
    subagents: Vec<KingSubagent>,
    /// The prose of a continued card, until something newer happens.
    kept_activity: Option<String>,
}

impl Card {
    /// The card of a session that begins.
    #[must_use]
    pub fn new(facts: Facts) -> Self {
        Self { facts, ..Self::default() }
    }

    /// Goes on from the card that the same process left before a reload: what only the card remembers
    /// is taken over.
    pub fn resume(&mut self, old: &KingStatus) {
        self.facts.visible |= old.visible;
        self.facts.fork |= old.is_fork == Some(true);
        // A process has one birth: counted again from the clock, it may come out a millisecond apart.
        if let Some(EpochMs(born)) = old.started_at {
            self.facts.process_started_ms = born as i64;
        }
        if old.startup_fingerprint.is_some() {
            self.facts.fingerprint.clone_from(&old.startup_fingerprint);
        }
        self.subagents.clone_from(&old.subagents);
        self.unseen = old.status == KingState::ATTENTION;
        self.kept_activity = old.activity.clone().filter(|text| !text.starts_with("Ended.") && text != ENDED);
    }

    /// Inherits what outlives the dead process that owned the card before: that its user made it visible.
    pub fn inherit(&mut self, dead: &KingStatus) {
        self.facts.visible |= dead.visible;
        self.facts.fork |= dead.is_fork == Some(true);
    }

    /// The process was started with this fingerprint: a fork has that of the session it came from.
    pub fn stamp(&mut self, fingerprint: String) {
        self.facts.fingerprint = Some(fingerprint);
    }

    /// The person's prompt, whole or its beginning.
    pub fn prompt(&mut self, text: &str) {
        self.prompt = Some(cut(text.trim(), PROSE_UNITS)).filter(|text| !text.is_empty());
    }

    /// A turn begins: nothing of the one before waits any longer.
    pub fn started(&mut self) {
        self.worked = true;
        self.unseen = false;
        self.failure = None;
        self.kept_activity = None;
    }

    /// Why the turn failed.
    pub fn failed(&mut self, why: &str) {
        self.failure = Some(cut(why.trim(), PROSE_UNITS)).filter(|text| !text.is_empty());
    }

    /// The turn has settled; `attended`: whether somebody could see it.
    pub fn settled(&mut self, attended: bool) {
        self.worked = true;
        self.kept_activity = None;
        self.unseen = !attended && self.running_subagents() == 0;
    }

    /// Somebody looks at the session now.
    pub fn looked_at(&mut self) {
        self.unseen = false;
    }

    /// Something happened to a subagent. Its end is a result that waits, unless the main agent works.
    pub fn subagent(&mut self, phase: SubagentPhase, id: &str, kind: Option<&str>, about: Option<&str>, now: Now) {
        let at = EpochMs(now.ms as f64);
        if !self.subagents.iter().any(|known| known.id == id) {
            let about = about.map(str::trim).filter(|text| !text.is_empty()).unwrap_or("background agent");
            self.subagents.push(
                KingSubagent::new().id(id.to_owned()).description(cut(about, DESCRIPTION_UNITS)).started_at(Some(at)),
            );
        }
        for known in self.subagents.iter_mut().filter(|known| known.id == id) {
            known.status = phase.state();
            known.completed_at = phase.ended().then_some(at);
            if let Some(kind) = kind {
                known.agent_type = Some(kind.to_owned());
            }
        }
        if phase.ended() && !now.working {
            self.unseen = true;
        }
    }

    /// The document of a running session.
    #[must_use]
    pub fn document(&self, status: &Status, now_ms: i64) -> KingStatus {
        let state = self.state(status);
        let activity = self.activity(status, &state);
        self.fill(status, now_ms, state, activity)
    }

    /// The document that a listed session leaves behind.
    #[must_use]
    pub fn ended(&self, status: &Status, now_ms: i64) -> KingStatus {
        // pi-king's own writer leaves the beginning of the last prompt here, for a month. What a session was asked is
        // no longer needed when it has ended.
        self.fill(status, now_ms, KingState::EXITED, ENDED.to_owned())
    }

    fn running_subagents(&self) -> usize {
        self.subagents.iter().filter(|subagent| rules::runs(subagent)).count()
    }

    fn state(&self, status: &Status) -> KingState {
        if status.state == State::Busy {
            KingState::WORKING
        } else if status.attention.as_ref().is_some_and(|attention| attention.reason == Reason::ERROR) {
            KingState::ERROR
        } else if self.unseen {
            KingState::ATTENTION
        } else if self.running_subagents() > 0 {
            KingState::BACKGROUND
        } else {
            KingState::IDLE
        }
    }

    fn activity(&self, status: &Status, state: &KingState) -> String {
        if let Some(kept) = &self.kept_activity {
            return kept.clone();
        }
        if *state == KingState::ERROR {
            return self.failure.clone().unwrap_or_else(|| "The last turn failed.".into());
        }
        match (&self.prompt, status.state) {
            (Some(prompt), State::Busy) => prompt.clone(),
            (Some(prompt), _) if self.worked => format!("Done: {prompt}"),
            (None, State::Busy) => "Working.".into(),
            (None, _) if self.worked => "Waiting for input.".into(),
            _ => "Session started.".into(),
        }
    }

    fn fill(&self, status: &Status, now_ms: i64, state: KingState, activity: String) -> KingStatus {
        let project = Path::new(&status.cwd).file_name().map(|name| name.to_string_lossy().into_owned());
        let project = project.unwrap_or_else(|| status.cwd.clone());
        let shown = status.name.as_deref().filter(|name| !name.is_empty()).unwrap_or(&project);
        let shown: String = shown.chars().take(SHOWN_NAME_CHARS).collect();
        let subagents = self.subagents.iter().filter(|subagent| {
            subagent.completed_at.is_none_or(|ended| now_ms as f64 - ended.0 <= SUBAGENT_KEPT_MS as f64)
        });
        let mut document = KingStatus::new();
        document.id.clone_from(&status.session);
        document.name = status.name.clone().filter(|name| !name.is_empty());
        document.cwd.clone_from(&status.cwd);
        document.model = status.model.as_ref().and_then(rules::model_id);
        document.pid = status.pid;
        document.started_at = Some(EpochMs(self.facts.process_started_ms as f64));
        document.last_activity = Some(EpochMs(now_ms as f64));
        document.title = Some(format!("{} {shown}", rules::icon(&state)));
        document.status = state;
        document.activity = Some(activity);
        document.project = Some(project);
        document.session_file.clone_from(&status.transcript);
        document.subagents = subagents.cloned().collect();
        document.visible = self.facts.visible;
        document.context_pct = status.context.percent.map(|percent| percent.round().clamp(0.0, 100.0));
        document.startup_fingerprint.clone_from(&self.facts.fingerprint);
        document.is_fork = Some(self.facts.fork);
        document
    }
}

/// The moment of a note.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// Milliseconds since the epoch.
    pub ms: i64,
    /// The main agent works.
    pub working: bool,
}

/// At most `limit` UTF-16 code units; a longer text ends in an ellipsis, and no pair is torn.
fn cut(text: &str, limit: usize) -> String {
    if text.encode_utf16().count() <= limit {
        return text.to_owned();
    }
    let mut units = 0;
    let kept = text.chars().take_while(|c| {
        units += c.len_utf16();
        units < limit
    });
    let mut out: String = kept.collect();
    out.push('…');
    out
}

#[cfg(test)]
mod tests;
