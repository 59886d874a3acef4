//! Pi: the bridge's lines turned into events.
//!
//! [`Bridge`] is a pure function with a memory: a line in, the events it stands for out. It keeps what joins one line
//! to another: the calls that run, how the last message ended, what fills the context.

mod agent;
mod breakdown;
mod calls;
mod entries;
mod turns;
mod usage;

use std::collections::{HashMap, HashSet, VecDeque};

use jig_session_schema::bridge::{BridgeEvent, BridgeModel, BridgeTool, BusEvent, Hello, OffersChanged, ToHost};
use jig_session_schema::event::{
    AttentionEvent, BackgroundEvent, CapabilitiesEvent, CapabilitySkill, CapabilityTool, ContextEvent, EndEvent, Event,
    ModelEvent, SessionEvent, TurnOutcome,
};
use jig_session_schema::king::EpochMs;
use jig_session_schema::request::Switches;
use jig_session_schema::shape::Patch;
use jig_session_schema::status::{Accept, ContextDetail, Model, Reason};
use jig_session_schema::time::Timestamp;

pub use agent::AGENT;
use breakdown::Breakdown;
use calls::Call;
use entries::Reading;
pub use turns::AskIdle;
use turns::{IdleQuestion, Reason as IdleReason, Work};

/// The first Pi that is known to say so when a compaction has failed; without that word one would never end.
const TELLS_FAILED_COMPACTIONS: [u32; 3] = [1, 3, 0];

/// The events of a line, and what the host must ask Pi to know more.
#[derive(Debug, Default, PartialEq)]
pub struct Effects {
    /// In the order in which they are to be applied.
    pub events: Vec<Event>,
    /// Pi is to be asked `ctx.isIdle`; the answer goes into [`Bridge::idle`].
    pub ask_idle: Option<AskIdle>,
}

/// What is remembered of the session that a bridge serves.
#[derive(Debug, Default)]
pub struct Bridge {
    session: String,
    /// Pi's version as numbers, if the bridge sends it.
    version: Option<[u32; 3]>,
    /// The model's window, from the last line that carried it.
    window: Option<u64>,
    /// The last real count of tokens in the context.
    tokens: Option<u64>,
    breakdown: Breakdown,
    offers: Offers,
    hidden: HashSet<String>,
    calls: HashMap<String, Call>,
    /// Calls that ended in error since the last message of the model.
    errors: Vec<String>,
    stop: Option<String>,
    /// A turn is open; turns are counted to distinguish a late answer from one about this turn.
    open: bool,
    turn: u64,
    asked: VecDeque<IdleQuestion>,
    settles: bool,
    /// What runs besides a turn.
    work: HashSet<Work>,
    /// A dialog that is not ours waits for a person: its reason, and the call that it is most likely about.
    dialog: Option<(Reason, Option<String>)>,
    subagents: HashSet<String>,
    reading: Option<Reading>,
    /// All entries have come: what is used is known.
    counted: bool,
    /// How many entries came of how many, when the last answer did not hold them all.
    missing: Option<(u64, u64)>,
    switches: Option<Switches>,
}

/// The tools and skills there are.
#[derive(Debug, Default)]
struct Offers {
    tools: Vec<BridgeTool>,
    active: Vec<String>,
    skills: Vec<String>,
}

impl Bridge {
    /// A bridge that has said nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The events that a line stands for. A line that is not known, or not of this use, stands for none.
    pub fn line(&mut self, line: &ToHost) -> Effects {
        let events = match line {
            ToHost::Hello(hello) => return self.hello(hello),
            ToHost::Event(event) => return self.event(event),
            ToHost::Tools(OffersChanged { tools, active, skills, .. }) => self.offers(tools, active, skills),
            ToHost::Bus(said) => self.bus(said),
            ToHost::Entries(page) => self.entries(page),
            ToHost::Prompt(prompt) => {
                self.breakdown.prompt(prompt);
                Vec::new()
            }
            ToHost::Lost(_) => {
                (self.counted, self.reading) = (false, None);
                return Effects { events: Vec::new(), ask_idle: Some(self.ask(AskIdle::Now, IdleReason::Lost)) };
            }
            ToHost::Bye(bye) => vec![EndEvent::new().keep(Some(bye.reason.as_deref() == Some("reload"))).into()],
            _ => Vec::new(),
        };
        Effects { events, ask_idle: None }
    }

    /// The session's id.
    #[must_use]
    pub fn session(&self) -> &str {
        &self.session
    }

    /// The last set of switches among the session's entries, whatever its branch.
    #[must_use]
    pub fn switches(&self) -> Option<&Switches> {
        self.switches.as_ref()
    }

    /// How many entries came of how many, when the last answer did not hold them all: then nothing is known of what
    /// was used.
    pub fn missing(&mut self) -> Option<(u64, u64)> {
        self.missing.take()
    }

    /// What the document that this session goes on from says of what fills its context, to be published after `hello`.
    pub fn kept(&mut self, detail: &ContextDetail) {
        self.breakdown.kept(detail);
    }

    /// Switches were applied: `active` is Pi's list of active tools, `hidden` the skills that are left out.
    pub fn switched(&mut self, active: &[String], hidden: &[String]) -> Vec<Event> {
        self.offers.active = active.to_vec();
        self.breakdown.active(active);
        self.hidden = hidden.iter().cloned().collect();
        self.breakdown.hidden(hidden);
        // What fills the context says of each tool and skill whether it is on.
        vec![self.capabilities(), self.context(None)]
    }

    fn hello(&mut self, line: &Hello) -> Effects {
        *self = Self { session: line.session.clone(), ..Self::default() };
        self.version = line.pi.as_deref().and_then(version);
        self.see_window(line.model.as_ref().and_then(|model| model.context_window));
        self.see_window(line.usage.as_ref().and_then(|usage| usage.context_window));
        let file = said(line.file.as_ref());
        let agent_dir = said(line.agent_dir.as_ref()).or_else(|| {
            let (before, _) = file.as_deref()?.rsplit_once("/sessions/")?;
            Some(before.to_owned())
        });
        let mut session = SessionEvent::new().session(self.session.clone()).name(said(line.name.as_ref()).into());
        session.pid = Some(line.pid);
        session.cwd = Some(line.cwd.clone()).filter(|cwd| !cwd.is_empty());
        session.transcript = file.into();
        session.agent_dir = agent_dir.map_or(Patch::Keep, Patch::Set);
        session.version = said(line.pi.as_ref()).map_or(Patch::Keep, Patch::Set);
        let model =
            ModelEvent::new().model(model(line.model.as_ref()).into()).thinking(said(line.thinking.as_ref()).into());
        let mut events = vec![session.into(), model.into()];
        events.extend(self.offers(&line.tools, &line.active, &line.skills));
        // State preserved over a reload or a crash of the host may say that Pi works, while it waits.
        Effects { events, ask_idle: Some(self.ask(AskIdle::Now, IdleReason::Kept)) }
    }

    /// The tools and skills there are.
    fn offers(&mut self, tools: &[BridgeTool], active: &[String], skills: &[String]) -> Vec<Event> {
        self.breakdown.offers(tools, active, skills);
        self.offers = Offers { tools: tools.to_vec(), active: active.to_vec(), skills: skills.to_vec() };
        vec![self.capabilities()]
    }

    fn capabilities(&self) -> Event {
        let Offers { tools, active, skills } = &self.offers;
        let tools = tools.iter().filter(|tool| !tool.name.is_empty()).map(|tool| {
            let hidden = (tool.exposure.as_deref() == Some("hidden")).then_some(true);
            CapabilityTool::new().name(tool.name.clone()).on(active.contains(&tool.name)).hidden(hidden)
        });
        let skills = skills.iter().filter(|skill| !skill.is_empty());
        let skills = skills.map(|skill| CapabilitySkill::new().name(skill.clone()).on(!self.hidden.contains(skill)));
        let accepts = vec![Accept::TOOLS, Accept::SKILLS, Accept::RELOAD];
        CapabilitiesEvent::new().tools(tools.collect()).skills(skills.collect()).accepts(accepts).into()
    }

    fn event(&mut self, line: &BridgeEvent) -> Effects {
        let (data, at) = (&line.data, moment(line.at));
        // A change of the model carries its window, and is compared with the one before.
        if line.event != "model_select" {
            self.see_window(line.usage.as_ref().and_then(|usage| usage.context_window));
        }
        let events = match line.event.as_str() {
            "session_info_changed" => {
                let session = SessionEvent::new().at(at).session(self.session.clone());
                vec![session.name(said(data.name.as_ref()).into()).into()]
            }
            "agent_start" => self.turn_began(at),
            "agent_end" => return self.agent_ended(line, at),
            "agent_settled" => {
                self.settles = true;
                self.settled(at, data.aborted)
            }
            "tool_execution_start" => self.call_began(data, at),
            "tool_execution_end" => self.call_ended(data, at),
            "message_end" => self.message_ended(line, at),
            "session_before_compact" => self.compaction_began(at),
            "session_compact" => {
                let mut events = self.compacted(data, at);
                events.extend(self.work_ended(Work::Compaction, TurnOutcome::Ok, at));
                events
            }
            "session_compact_failed" => {
                let outcome = if data.aborted == Some(true) { TurnOutcome::Aborted } else { TurnOutcome::Error };
                self.work_ended(Work::Compaction, outcome, at)
            }
            "user_bash" => self.work_began(Work::Command, at),
            "user_bash_end" => self.work_ended(Work::Command, TurnOutcome::Ok, at),
            "model_select" => self.model_selected(data.model.as_ref(), at),
            "thinking_level_select" => vec![ModelEvent::new().at(at).thinking(said(data.level.as_ref()).into()).into()],
            "ui_prompt_start" => self.prompt_began(line, at),
            "ui_prompt_end" => self.prompt_ended(at),
            _ => Vec::new(),
        };
        Effects { events, ask_idle: None }
    }

    fn model_selected(&mut self, told: Option<&BridgeModel>, at: Option<Timestamp>) -> Vec<Event> {
        let before = self.window;
        self.see_window(told.and_then(|model| model.context_window));
        let mut events = vec![ModelEvent::new().at(at).model(model(told).into()).into()];
        if self.window != before && self.tokens.is_some() {
            events.push(ContextEvent::new().at(at).tokens(self.tokens).window(self.window).into());
        }
        events
    }

    /// Only a Pi that also reports failed compactions.
    fn compaction_began(&mut self, at: Option<Timestamp>) -> Vec<Event> {
        if self.version.is_some_and(|version| version < TELLS_FAILED_COMPACTIONS) {
            return Vec::new();
        }
        self.work_began(Work::Compaction, at)
    }

    /// A person is asked something, in a turn or not: an approval if a running call was decided `ask`, or if the dialog
    /// says so itself, else a question.
    fn prompt_began(&mut self, line: &BridgeEvent, at: Option<Timestamp>) -> Vec<Event> {
        if line.own == Some(true) {
            return Vec::new();
        }
        if line.blocked == Patch::Clear {
            return self.work_began(Work::Component, at);
        }
        let asked = self.calls.iter().find(|(_, call)| call.asked).map(|(id, _)| id.clone());
        let permission = line.blocked.set().is_some_and(|kind| kind == "permission");
        let reason = if asked.is_some() || permission { Reason::APPROVAL } else { Reason::QUESTION };
        // A question is most likely the last call's own; another call's end must not end the wait for it.
        let call = asked.or_else(|| {
            let newest = self.calls.iter().max_by_key(|(_, call)| call.number)?;
            Some(newest.0.clone())
        });
        self.dialog = Some((reason, call));
        self.asks_again(at).into_iter().collect()
    }

    /// The dialog that waits, if there is one: what a turn does to the attention does not end it.
    fn asks_again(&self, at: Option<Timestamp>) -> Option<Event> {
        let (reason, call) = self.dialog.clone()?;
        Some(AttentionEvent::new().at(at).reason(Some(reason)).id(call).into())
    }

    fn prompt_ended(&mut self, at: Option<Timestamp>) -> Vec<Event> {
        let mut events = self.work_ended(Work::Component, TurnOutcome::Ok, at);
        if self.dialog.take().is_some() {
            events.push(AttentionEvent::new().at(at).into());
        }
        events
    }

    fn bus(&mut self, line: &BusEvent) -> Vec<Event> {
        let (data, at, name) = (&line.data, moment(line.at), line.event.as_str());
        if name == "jig:decision" {
            return self.decided(data, at);
        }
        let Some(id) = said(data.id.as_ref()) else { return Vec::new() };
        let changed = match name {
            "subagents:created" | "subagents:started" => self.subagents.insert(id),
            "subagents:completed" | "subagents:failed" => self.subagents.remove(&id),
            _ => false,
        };
        if !changed {
            return Vec::new();
        }
        vec![BackgroundEvent::new().at(at).count(self.subagents.len() as u64).into()]
    }

    fn see_window(&mut self, window: Option<u64>) {
        self.window = window.filter(|window| *window > 0).or(self.window);
    }
}

fn model(told: Option<&BridgeModel>) -> Option<Model> {
    let BridgeModel { id, provider, name, .. } = told?;
    let id = said(Some(id))?;
    Some(Model::new().id(id).provider(said(provider.as_ref())).name(said(name.as_ref())))
}

/// A text that says something.
fn said(text: Option<&String>) -> Option<String> {
    text.filter(|text| !text.is_empty()).cloned()
}

/// When a line was sent.
fn moment(at: Option<EpochMs>) -> Option<Timestamp> {
    at.map(EpochMs::timestamp)
}

/// `1.6.0` as three numbers; what follows them counts for nothing.
fn version(text: &str) -> Option<[u32; 3]> {
    let mut numbers = text.split(['.', '-', '+']).map(|part| part.parse().ok());
    Some([numbers.next()??, numbers.next()??, numbers.next().flatten().unwrap_or_default()])
}

#[cfg(test)]
mod tests;
