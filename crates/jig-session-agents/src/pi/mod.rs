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

use jig_session_schema::event::{
    AttentionEvent, BackgroundEvent, CapabilitiesEvent, CapabilitySkill, CapabilityTool, ContextEvent, EndEvent, Event,
    ModelEvent, SessionEvent,
};
use jig_session_schema::shape::Patch;
use jig_session_schema::status::{Accept, ContextDetail, Model, Reason};
use jig_session_schema::time::Timestamp;
use serde_json::Value;

pub use agent::AGENT;
use breakdown::Breakdown;
use calls::Call;
use entries::Reading;
pub use turns::AskIdle;
use turns::Asked;

/// The events of a line, and what the host must ask Pi to know more.
#[derive(Debug, Default, PartialEq)]
pub struct Told {
    /// In the order in which they are to be applied.
    pub events: Vec<Event>,
    /// Pi is to be asked `ctx.isIdle`; the answer goes into [`Bridge::idle`].
    pub ask_idle: Option<AskIdle>,
}

/// What is remembered of the session that a bridge serves.
#[derive(Debug, Default)]
pub struct Bridge {
    session: String,
    /// Pi's version as numbers, if the bridge tells it.
    version: Option<[u32; 3]>,
    /// The model's window, as the last line that told it had it.
    window: Option<u64>,
    /// The last real count of tokens in the context.
    tokens: Option<u64>,
    breakdown: Breakdown,
    offers: Value,
    hidden: HashSet<String>,
    calls: HashMap<String, Call>,
    /// Calls that ended in error since the last message of the model.
    errors: Vec<String>,
    stop: Option<String>,
    /// A turn is open; turns are counted, so that a late answer is told from one about this turn.
    open: bool,
    turn: u64,
    asked: VecDeque<Asked>,
    settles: bool,
    /// A dialog that is not ours waits for a person.
    prompted: bool,
    subagents: HashSet<String>,
    reading: Option<Reading>,
    switches: Option<Value>,
}

impl Bridge {
    /// A bridge that has said nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The events that a line stands for. A line that is not known, or not of this use, stands for none.
    pub fn line(&mut self, line: &Value) -> Told {
        let events = match line["t"].as_str().unwrap_or_default() {
            "hello" => return self.hello(line),
            "event" => return self.event(line),
            "tools" => self.offers(line),
            "bus" => self.bus(line),
            "entries" => self.entries(line),
            "prompt" => {
                self.breakdown.prompt(line);
                Vec::new()
            }
            "bye" => vec![EndEvent::new().keep(Some(line["reason"] == "reload")).into()],
            _ => Vec::new(),
        };
        Told { events, ask_idle: None }
    }

    /// The session's id.
    #[must_use]
    pub fn session(&self) -> &str {
        &self.session
    }

    /// The last set of switches among the session's entries, whatever its branch: `{ tools, skills }`.
    #[must_use]
    pub fn switches(&self) -> Option<&Value> {
        self.switches.as_ref()
    }

    /// What the document that this session goes on from says of what fills its context, to be told after `hello`.
    pub fn kept(&mut self, detail: &ContextDetail) {
        self.breakdown.kept(detail);
    }

    /// Switches were applied: `active` is Pi's list of active tools, `hidden` the skills that are left out.
    pub fn switched(&mut self, active: Option<&Value>, hidden: Option<&[String]>) -> Vec<Event> {
        if let Some(active) = active.filter(|active| active.is_array()) {
            self.offers["active"] = active.clone();
            self.breakdown.active(active);
        }
        if let Some(hidden) = hidden {
            self.hidden = hidden.iter().cloned().collect();
            self.breakdown.hidden(hidden);
        }
        // What fills the context says of each tool and skill whether it is on.
        vec![self.capabilities(), self.context(None)]
    }

    fn hello(&mut self, line: &Value) -> Told {
        *self = Self { session: text(&line["session"]).unwrap_or_default(), ..Self::default() };
        self.version = line["pi"].as_str().and_then(version);
        self.see_window(&line["model"]);
        self.see_window(&line["usage"]);
        let file = text(&line["file"]);
        let agent_dir = text(&line["agentDir"]).or_else(|| {
            let (before, _) = file.as_deref()?.rsplit_once("/sessions/")?;
            Some(before.to_owned())
        });
        let mut session = SessionEvent::new().session(self.session.clone()).name(text(&line["name"]).into());
        session.pid = line["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
        session.cwd = text(&line["cwd"]);
        session.transcript = file.into();
        session.agent_dir = agent_dir.map_or(Patch::Keep, Patch::Set);
        session.version = text(&line["pi"]).map_or(Patch::Keep, Patch::Set);
        let model = ModelEvent::new().model(model(&line["model"]).into()).thinking(text(&line["thinking"]).into());
        let mut events = vec![session.into(), model.into()];
        events.extend(self.offers(line));
        // What was kept over a reload or a crash of the host may say that Pi works, while it waits.
        Told { events, ask_idle: Some(self.ask(AskIdle::Now, true)) }
    }

    /// The tools and skills there are.
    fn offers(&mut self, line: &Value) -> Vec<Event> {
        self.breakdown.offers(line);
        self.offers = serde_json::json!({ "tools": line["tools"], "active": line["active"], "skills": line["skills"] });
        vec![self.capabilities()]
    }

    fn capabilities(&self) -> Event {
        let list = |name: &str| self.offers[name].as_array().cloned().unwrap_or_default();
        let active = list("active");
        let tools = list("tools").into_iter().filter_map(|tool| {
            let name = text(&tool["name"])?;
            let on = active.iter().any(|on| on.as_str() == Some(&name));
            let hidden = (tool["exposure"] == "hidden").then_some(true);
            Some(CapabilityTool::new().name(name).on(on).hidden(hidden))
        });
        let skills = list("skills").into_iter().filter_map(|skill| {
            let name = text(&skill)?;
            let on = !self.hidden.contains(&name);
            Some(CapabilitySkill::new().name(name).on(on))
        });
        let accepts = vec![Accept::TOOLS, Accept::SKILLS, Accept::RELOAD];
        CapabilitiesEvent::new().tools(tools.collect()).skills(skills.collect()).accepts(accepts).into()
    }

    fn event(&mut self, line: &Value) -> Told {
        let (data, at) = (&line["data"], moment(line));
        // A change of the model tells its window itself, and is compared with the one before.
        if line["event"] != "model_select" {
            self.see_window(&line["usage"]);
        }
        let events = match line["event"].as_str().unwrap_or_default() {
            "session_info_changed" => {
                let session = SessionEvent::new().at(at).session(self.session.clone());
                vec![session.name(text(&data["name"]).into()).into()]
            }
            "agent_start" => self.turn_began(at),
            "agent_end" => return self.agent_ended(line, at),
            "agent_settled" => {
                self.settles = true;
                self.settled(at, data["aborted"].as_bool())
            }
            "tool_execution_start" => self.call_began(data, at),
            "tool_execution_end" => self.call_ended(data, at),
            "message_end" => self.message_ended(line, at),
            "session_compact" => self.compacted(data, at),
            "model_select" => self.model_selected(data, at),
            "thinking_level_select" => vec![ModelEvent::new().at(at).thinking(text(&data["level"]).into()).into()],
            "ui_prompt_start" => self.prompt_began(line, at),
            "ui_prompt_end" => self.prompt_ended(at),
            _ => Vec::new(),
        };
        Told { events, ask_idle: None }
    }

    fn model_selected(&mut self, data: &Value, at: Option<Timestamp>) -> Vec<Event> {
        let before = self.window;
        self.see_window(&data["model"]);
        let mut events = vec![ModelEvent::new().at(at).model(model(&data["model"]).into()).into()];
        if self.window != before && self.tokens.is_some() {
            events.push(ContextEvent::new().at(at).tokens(self.tokens).window(self.window).into());
        }
        events
    }

    /// A person is asked something: an approval if a running call was decided `ask`, else a question.
    fn prompt_began(&mut self, line: &Value, at: Option<Timestamp>) -> Vec<Event> {
        if !self.open || line["own"] == true {
            return Vec::new();
        }
        self.prompted = true;
        let asked = self.calls.iter().find(|(_, call)| call.asked).map(|(id, _)| id.clone());
        let reason = if asked.is_some() { Reason::APPROVAL } else { Reason::QUESTION };
        // A question is most likely the last call's own; another call's end must not end the wait for it.
        let call = asked.or_else(|| {
            let newest = self.calls.iter().max_by_key(|(_, call)| call.number)?;
            Some(newest.0.clone())
        });
        vec![AttentionEvent::new().at(at).reason(Some(reason)).id(call).into()]
    }

    fn prompt_ended(&mut self, at: Option<Timestamp>) -> Vec<Event> {
        if !std::mem::take(&mut self.prompted) {
            return Vec::new();
        }
        vec![AttentionEvent::new().at(at).into()]
    }

    fn bus(&mut self, line: &Value) -> Vec<Event> {
        let (data, at) = (&line["data"], moment(line));
        let name = line["event"].as_str().unwrap_or_default();
        if name == "jig:decision" {
            return self.decided(data, at);
        }
        let Some(id) = text(&data["id"]) else { return Vec::new() };
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

    fn see_window(&mut self, told: &Value) {
        if let Some(window) = told["contextWindow"].as_u64().filter(|window| *window > 0) {
            self.window = Some(window);
        }
    }
}

fn model(value: &Value) -> Option<Model> {
    let id = text(&value["id"])?;
    Some(Model::new().id(id).provider(text(&value["provider"])).name(text(&value["name"])))
}

/// A text that says something.
fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// When a line was sent.
fn moment(line: &Value) -> Option<Timestamp> {
    line["at"].as_i64().map(Timestamp::from_epoch_ms)
}

/// `1.6.0` as three numbers; what follows them counts for nothing.
fn version(text: &str) -> Option<[u32; 3]> {
    let mut numbers = text.split(['.', '-', '+']).map(|part| part.parse().ok());
    Some([numbers.next()??, numbers.next()??, numbers.next().flatten().unwrap_or_default()])
}

#[cfg(test)]
mod tests;
