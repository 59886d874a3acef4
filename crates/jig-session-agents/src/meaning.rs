//! What an agent's hook events mean: one table an agent, one function over it.

use jig_session_schema::event::{
    AttentionEvent, BackgroundEvent, ChildrenEvent, ContextEvent, DecisionEvent, EndEvent, Event, ModelEvent,
    OutputEvent, ProgressEvent, SessionEvent, ToolEvent, ToolOutcome, ToolPhase, TurnEvent, TurnOutcome, TurnPhase,
    UsageEvent, UsageMode,
};
use jig_session_schema::shape::Patch;
use jig_session_schema::status::{
    Attention, Child, ChildState, Decision, Model, Outcome, OutputAction, Reason, State, Status,
};
use jig_session_schema::words::Name;

use crate::agent::Agent;
use crate::payload::{Field, Payload};

/// What an event of an agent's hooks means.
#[derive(Clone, Debug, PartialEq)]
pub enum Meaning {
    /// The session begins, or goes on in a new process.
    Begins,
    /// What the session is like, of a session that may have begun already.
    Described,
    /// A turn begins.
    Prompted,
    /// A tool starts.
    Called,
    /// A tool has ended, well unless the payload says otherwise.
    CallEnded(ToolOutcome),
    /// A call waits for approval, or a question tool waits for an answer.
    Asks,
    /// A question waits for a person's answer.
    Questions,
    /// A person has answered.
    Answered,
    /// A notification: what it is about decides.
    Notified,
    /// The turn has ended.
    Settled(TurnOutcome),
    /// No turn runs: ends one whose own end was not reported.
    Idle,
    /// A state word of the payload decides.
    State,
    /// A subagent starts.
    SubagentBegins,
    /// A subagent has ended.
    SubagentEnds,
    /// A compaction begins; a manual one counts as work.
    Compacts,
    /// A compaction has ended.
    Compacted,
    /// The status line: model, context and cost.
    Figures,
    /// The session ends.
    Ends,
    /// Nothing that is shown.
    Nothing,
}

/// What a hook's call stands for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heard {
    /// In the order in which they are to be applied; `session` is not among them.
    pub events: Vec<Event>,
    /// The call may create a session's file.
    pub creates: bool,
    /// The session begins: its file is taken from another live process.
    pub begins: bool,
}

/// The key of an event's name: agents and their versions differ in case and in what joins the words.
fn same_word(one: &str, other: &str) -> bool {
    let key = |word: &str| {
        word.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase()).collect::<Vec<_>>()
    };
    one == other || key(one) == key(other)
}

/// What an event means to this agent.
#[must_use]
pub fn meaning(agent: &Agent, event: &str) -> Meaning {
    let known = agent.meanings.iter().find(|(word, _)| same_word(word, event));
    known.map_or(Meaning::Nothing, |(_, meaning)| meaning.clone())
}

/// Takes a hook's call: the event's name, its payload, and the session's document as it stands.
#[must_use]
pub fn hear(agent: &Agent, event: &str, payload: &Payload, kept: Option<&Status>) -> Heard {
    let meaning = meaning(agent, event);
    // What a subagent does is not what the session does, but for a person whom it waits for.
    let inside = payload.has(Field::Subagent)
        && !matches!(meaning, Meaning::SubagentBegins | Meaning::SubagentEnds | Meaning::Asks);
    if inside || payload.has(Field::Parent) && matches!(meaning, Meaning::Begins | Meaning::Described) {
        return Heard::default();
    }
    let call = Call { agent, payload, kept };
    let mut heard = Heard { events: call.described(), ..Heard::default() };
    let resumes = payload.text(Field::Source).is_some_and(|source| source == "compact");
    heard.begins = meaning == Meaning::Begins && !resumes;
    heard.creates = matches!(meaning, Meaning::Begins | Meaning::Described | Meaning::Prompted)
        || meaning == Meaning::Called && agent.calls_create;
    heard.events.extend(call.events(&meaning));
    heard
}

/// One call of a hook, and what is known around it.
struct Call<'a> {
    agent: &'a Agent,
    payload: &'a Payload,
    kept: Option<&'a Status>,
}

impl Call<'_> {
    /// The fields of the session that come with any event.
    fn described(&self) -> Vec<Event> {
        let Some(id) = self.payload.text(Field::Model) else { return Vec::new() };
        let (provider, name) = (self.payload.text(Field::Provider), self.payload.text(Field::ModelName));
        if self.kept.and_then(|kept| kept.model.as_ref()).is_some_and(|known| known.id == id && name.is_none()) {
            return Vec::new();
        }
        let mut model = Model::new().id(id.to_owned());
        model.provider = provider.map(str::to_owned);
        model.name = name.map(str::to_owned);
        vec![ModelEvent::new().model(Patch::Set(model)).into()]
    }

    fn events(&self, meaning: &Meaning) -> Vec<Event> {
        match meaning {
            Meaning::Begins | Meaning::Described => self.figures(),
            Meaning::Figures => self.figures(),
            Meaning::Prompted => vec![start()],
            Meaning::Called => self.called(),
            Meaning::CallEnded(outcome) => self.call_ended(*outcome),
            Meaning::Asks => self.asks(),
            Meaning::Questions => self.waits(Reason::QUESTION),
            Meaning::Answered => self.answered(),
            Meaning::Notified => self.notified(),
            Meaning::Settled(outcome) => self.settled(*outcome),
            Meaning::Idle => self.idle(),
            Meaning::State => match self.payload.text(Field::Outcome) {
                Some("busy" | "retry") => vec![start()],
                Some("idle") => self.idle(),
                _ => Vec::new(),
            },
            Meaning::SubagentBegins => self.subagent(true),
            Meaning::SubagentEnds => self.subagent(false),
            Meaning::Compacts if self.is_manual() => vec![start()],
            Meaning::Compacted if self.is_manual() => vec![settled(TurnOutcome::Ok)],
            Meaning::Ends => vec![EndEvent::new().into()],
            Meaning::Compacts | Meaning::Compacted | Meaning::Nothing => Vec::new(),
        }
    }

    fn is_manual(&self) -> bool {
        self.payload.text(Field::Trigger) == Some("manual")
    }

    fn is_busy(&self) -> bool {
        self.kept.is_some_and(|kept| kept.state == State::Busy)
    }

    fn background(&self) -> u64 {
        self.kept.and_then(|kept| kept.background).unwrap_or_default()
    }

    /// A subagent begins or has ended: it is counted, and listed where it has an id.
    fn subagent(&self, works: bool) -> Vec<Event> {
        let count = self.background();
        let count = if works { count.saturating_add(1) } else { count.saturating_sub(1) };
        let mut events = vec![background(count)];
        if let Some(id) = self.payload.text(Field::Subagent).and_then(Name::new) {
            let mut children = self.kept.map(|kept| kept.children.clone()).unwrap_or_default();
            children.retain(|child| child.id != id);
            if works {
                children.push(Child::new().id(id).state(ChildState::WORKING));
            }
            events.push(children_event(children));
        }
        events
    }

    /// The tool's name, and for a tool of an MCP server the server's and the tool's.
    fn tool(&self) -> (Option<Name>, Option<Name>) {
        let Some(tool) = self.payload.text(Field::Tool) else { return (None, None) };
        let parts = tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
        let (tool, action) = parts.map_or((tool, None), |(server, tool)| (server, Some(tool)));
        (Name::new(tool), action.and_then(Name::new))
    }

    fn id(&self) -> Option<String> {
        self.payload.text(Field::Call).map(str::to_owned)
    }

    fn called(&self) -> Vec<Event> {
        let (tool, action) = self.tool();
        let call = ToolEvent::new().phase(ToolPhase::Start).id(self.id()).tool(tool).action(action);
        let mut events = vec![call.into()];
        if self.agent.calls_answer && self.is_waiting() {
            events.extend(self.answered());
        }
        events
    }

    fn call_ended(&self, outcome: ToolOutcome) -> Vec<Event> {
        let outcome = match self.payload.text(Field::Outcome) {
            _ if self.payload.is(Field::Interrupted) => ToolOutcome::Aborted,
            Some("failure" | "error") => ToolOutcome::Error,
            Some("rejected" | "denied") => ToolOutcome::Denied,
            _ => outcome,
        };
        let (tool, action) = self.tool();
        let end = ToolEvent::new().phase(ToolPhase::End).id(self.id()).tool(tool).action(action).outcome(Some(outcome));
        let mut events: Vec<Event> = vec![end.into()];
        if outcome == ToolOutcome::Ok {
            events.extend(self.payload.edits.iter().filter_map(|edit| {
                let action = OutputAction::new(edit.action)?;
                Some(OutputEvent::new().path(edit.path.clone()).action(action).into())
            }));
            let progress = self.payload.progress;
            events.extend(progress.map(|done| ProgressEvent::new().percent(Some(done)).into()));
        }
        events
    }

    /// The newest running call of the tool in question, else the newest of all: only its end ends the wait.
    fn waiting(&self) -> Option<String> {
        let (tool, _) = self.tool();
        let mut running = self.kept?.recent.iter().filter(|call| call.outcome == Outcome::Running);
        let same = running.clone().find(|call| tool.as_ref() == Some(&call.tool));
        same.or_else(|| running.next())?.id.clone()
    }

    fn asks(&self) -> Vec<Event> {
        let tool = self.payload.text(Field::Tool);
        let asks = tool.is_some_and(|tool| self.agent.questions.iter().any(|known| known.eq_ignore_ascii_case(tool)));
        self.waits(if asks { Reason::QUESTION } else { Reason::APPROVAL })
    }

    fn waits(&self, reason: Reason) -> Vec<Event> {
        let waiting = self.id().or_else(|| self.waiting());
        let mut events = Vec::new();
        if !self.is_busy() {
            events.push(start());
        }
        if let Some(id) = waiting.clone().filter(|_| reason == Reason::APPROVAL) {
            events.push(DecisionEvent::new().id(id).decision(Decision::Ask).into());
        }
        events.push(AttentionEvent::new().reason(Some(reason)).id(waiting).into());
        events
    }

    fn answered(&self) -> Vec<Event> {
        vec![AttentionEvent::new().reason(None).into()]
    }

    /// A notification counts while a turn runs: some come a minute after its end.
    fn notified(&self) -> Vec<Event> {
        let Some(about) = self.payload.text(Field::Notification) else { return Vec::new() };
        let Some((_, notice)) = self.agent.notifications.iter().find(|(word, _)| *word == about) else {
            return Vec::new();
        };
        match notice {
            Notice::Idle => self.idle(),
            Notice::Waits(_) | Notice::Asks if !self.is_busy() => Vec::new(),
            // The event before it named the question.
            Notice::Waits(_) | Notice::Asks if self.is_waiting() => Vec::new(),
            Notice::Waits(reason) => self.waits(reason.clone()),
            Notice::Asks => self.asks(),
        }
    }

    fn is_waiting(&self) -> bool {
        self.kept.and_then(|kept| kept.attention.as_ref()).is_some_and(is_wait)
    }

    fn settled(&self, outcome: TurnOutcome) -> Vec<Event> {
        let outcome = match self.payload.text(Field::Outcome) {
            Some("error") => TurnOutcome::Error,
            Some("aborted" | "MessageAbortedError") => TurnOutcome::Aborted,
            _ if self.payload.text(Field::Reason) == Some("aborted") => TurnOutcome::Aborted,
            _ => outcome,
        };
        let mut events = vec![settled(outcome)];
        let left = self.payload.count(Field::Background);
        events.extend(left.map(background));
        // One whose end was not reported is over when nothing is left.
        if left == Some(0) && self.kept.is_some_and(|kept| !kept.children.is_empty()) {
            events.push(children_event(Vec::new()));
        }
        events.extend(self.figures());
        events
    }

    fn idle(&self) -> Vec<Event> {
        if self.is_busy() { vec![settled(TurnOutcome::Ok)] } else { Vec::new() }
    }

    /// Context and cost, where the payload has them.
    fn figures(&self) -> Vec<Event> {
        let count = |field| self.payload.count(field);
        let mut events = Vec::new();
        let (window, tokens) = (count(Field::ContextWindow), count(Field::ContextTokens));
        if window.is_some() || tokens.is_some() {
            // A share that an agent tells is rounded to a whole number; with the tokens it is computed.
            let percent = self.payload.number(Field::ContextPercent).filter(|_| tokens.is_none());
            events.push(ContextEvent::new().tokens(tokens).window(window).percent(percent).into());
        }
        let cost = self.payload.number(Field::Cost).map_or(Patch::Keep, Patch::Set);
        let usage = UsageEvent::new().mode(UsageMode::Set).cost(cost);
        let usage = usage.input(count(Field::Input)).output(count(Field::Output));
        let usage = usage.cache_read(count(Field::CacheRead)).cache_write(count(Field::CacheWrite));
        if usage.cost != Patch::Keep || usage.input.is_some() {
            events.push(usage.into());
        }
        events
    }
}

/// What a notification of an agent's means.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// A person is waited for.
    Waits(Reason),
    /// A person is waited for; the tool decides for what.
    Asks,
    /// No turn runs.
    Idle,
}

fn is_wait(attention: &Attention) -> bool {
    attention.reason != Reason::ERROR && attention.reason != Reason::FINISHED
}

fn start() -> Event {
    TurnEvent::new().phase(TurnPhase::Start).into()
}

fn settled(outcome: TurnOutcome) -> Event {
    TurnEvent::new().phase(TurnPhase::Settled).outcome(Some(outcome)).into()
}

fn children_event(children: Vec<Child>) -> Event {
    ChildrenEvent::new().children(children).into()
}

fn background(count: u64) -> Event {
    BackgroundEvent::new().count(count).into()
}

/// The event that names the session a payload belongs to, with what it says of it.
#[must_use]
pub fn session(payload: &Payload) -> Option<SessionEvent> {
    let mut event = SessionEvent::new().session(payload.text(Field::Session)?.to_owned());
    let text = |field| payload.text(field).map(str::to_owned);
    event.cwd = text(Field::Cwd).filter(|cwd| cwd.starts_with('/'));
    event.transcript = text(Field::Transcript).map_or(Patch::Keep, Patch::Set);
    event.version = text(Field::Version).map_or(Patch::Keep, Patch::Set);
    Some(event)
}
