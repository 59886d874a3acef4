//! Event v1: one line an event, what goes into `jig-session publish --agent NAME`.

use crate::shape::{Patch, Tag};
use crate::status::{Accept, AnswerWord, Child, ContextDetail, Decision, Model, OutputAction, Reason, Ticket};
use crate::time::Timestamp;
use crate::words::Name;

lines! {
    /// What happens in a session: one JSON object a line, distinguished by `event`. The first line is `session`; an
    /// unknown event is skipped.
    pub enum Event by "event" {
        /// Begins the session. The same id again: given fields change, null clears. Another id ends the former session.
        Session(SessionEvent) = "session",
        /// Another model or thinking level.
        Model(ModelEvent) = "model",
        /// A turn starts or has settled.
        Turn(TurnEvent) = "turn",
        /// A tool call starts or ends.
        Tool(ToolEvent) = "tool",
        /// The rules decided on a call; joined to it, also when it comes first.
        Decision(DecisionEvent) = "decision",
        /// A person is waited for, or no longer.
        Attention(AttentionEvent) = "attention",
        /// Tokens and cost.
        Usage(UsageEvent) = "usage",
        /// How full the context is.
        Context(ContextEvent) = "context",
        /// Tools and skills there are, and what a request may ask.
        Capabilities(CapabilitiesEvent) = "capabilities",
        /// A file was written or changed.
        Output(OutputEvent) = "output",
        /// The ticket that is worked on.
        Ticket(TicketEvent) = "ticket",
        /// Background tasks and subagents running.
        Background(BackgroundEvent) = "background",
        /// What the subagents do that say so.
        Children(ChildrenEvent) = "children",
        /// How far the turn is.
        Progress(ProgressEvent) = "progress",
        /// The answer to a line that `publish` printed.
        Applied(AppliedEvent) = "applied",
        /// The session ends.
        End(EndEvent) = "end",
    }
}

impl Event {
    /// When it happened; None means now.
    #[must_use]
    pub fn at(&self) -> Option<Timestamp> {
        match self {
            Self::Session(event) => event.at,
            Self::Model(event) => event.at,
            Self::Turn(event) => event.at,
            Self::Tool(event) => event.at,
            Self::Decision(event) => event.at,
            Self::Attention(event) => event.at,
            Self::Usage(event) => event.at,
            Self::Context(event) => event.at,
            Self::Capabilities(event) => event.at,
            Self::Output(event) => event.at,
            Self::Ticket(event) => event.at,
            Self::Background(event) => event.at,
            Self::Children(event) => event.at,
            Self::Progress(event) => event.at,
            Self::Applied(event) => event.at,
            Self::End(event) => event.at,
            Self::Other(_) => None,
        }
    }
}

record! {
    /// Begins a session, or changes what is given.
    pub struct SessionEvent {
        /// The word of this line.
        tag event: Tag = "event" is "session",
        /// The version of this format: 1.
        version schema: Tag = "schema" is 1,
        /// When; left out = now.
        added at: Option<Timestamp> = "at",
        /// The session's id.
        required session: String = "session",
        /// The agent's process; left out = the nearest ancestor that is no shell or wrapper.
        added pid: Option<u32> = "pid",
        /// The working folder, absolute or below the publisher's; left out = the publisher's.
        added cwd: Option<String> = "cwd",
        /// The agent's configuration folder.
        added agent_dir: Patch<String> = "agentDir",
        /// The agent's version.
        added version: Patch<String> = "version",
        /// The session's name as its user set it.
        added name: Patch<String> = "name",
        /// The transcript's path, absolute or below the publisher's folder.
        added transcript: Patch<String> = "transcript",
        /// The terminal; left out = the publisher's.
        added terminal: Patch<String> = "terminal",
        /// The variable that named the terminal.
        added terminal_from: Patch<String> = "terminalFrom",
    }
}

record! {
    /// Another model or thinking level; what is left out is unchanged.
    pub struct ModelEvent {
        /// The word of this line.
        tag event: Tag = "event" is "model",
        /// When; left out = now.
        added at: Option<Timestamp> = "at",
        /// The model.
        added model: Patch<Model> = "model",
        /// The thinking level.
        added thinking: Patch<String> = "thinking",
    }
}

record! {
    /// A turn starts or has settled.
    pub struct TurnEvent {
        /// The word of this line.
        tag event: Tag = "event" is "turn",
        /// When; left out = now.
        added at: Option<Timestamp> = "at",
        /// Which.
        required phase: TurnPhase = "phase",
        /// How it settled; left out = ok.
        added outcome: Option<TurnOutcome> = "outcome",
    }
}

closed_words! {
    /// A turn's two moments.
    pub enum TurnPhase {
        /// The agent begins to work.
        Start = "start",
        /// It waits for the next prompt.
        Settled = "settled",
    }
}

closed_words! {
    /// How a turn settled.
    pub enum TurnOutcome {
        /// Well.
        Ok = "ok",
        /// In an error.
        Error = "error",
        /// It was broken off.
        Aborted = "aborted",
    }
}

record! {
    /// A tool call starts or ends.
    pub struct ToolEvent {
        /// The word of this line.
        tag event: Tag = "event" is "tool",
        /// When; left out = now.
        added at: Option<Timestamp> = "at",
        /// Which.
        required phase: ToolPhase = "phase",
        /// The agent's id of the call; an end without one ends the newest running call of `tool`.
        added id: Option<String> = "id",
        /// The tool's name; a start needs it.
        added tool: Option<Name> = "tool",
        /// The action's name.
        added action: Option<Name> = "action",
        /// How it ended; left out = ok.
        added outcome: Option<ToolOutcome> = "outcome",
    }
}

closed_words! {
    /// A call's two moments.
    pub enum ToolPhase {
        /// It begins.
        Start = "start",
        /// It has ended.
        End = "end",
    }
}

closed_words! {
    /// How a call ended.
    pub enum ToolOutcome {
        /// Well.
        Ok = "ok",
        /// In an error.
        Error = "error",
        /// It was not allowed.
        Denied = "denied",
        /// It was broken off.
        Aborted = "aborted",
    }
}

record! {
    /// The rules decided on a call.
    pub struct DecisionEvent {
        /// The word of this line.
        tag event: Tag = "event" is "decision",
        /// When; left out = now.
        added at: Option<Timestamp> = "at",
        /// The agent's id of the call.
        required id: String = "id",
        /// What was decided.
        required decision: Decision = "decision",
        /// What the person chose when asked.
        added answer: Option<AnswerWord> = "answer",
    }
}

record! {
    /// A person is waited for, or no longer.
    pub struct AttentionEvent {
        /// The word of this line.
        tag event: Tag = "event" is "attention",
        /// When; left out = now.
        added at: Option<Timestamp> = "at",
        /// For what; null: nobody is waited for any more.
        seed reason: Option<Reason> = "reason",
        /// The call that waits.
        added id: Option<String> = "id",
    }
}

record! {
    /// Tokens and cost.
    pub struct UsageEvent {
        /// The word of this line.
        tag event: Tag = "event" is "usage",
        /// When; left out = now.
        added at: Option<Timestamp> = "at",
        /// Whether the numbers are added or replace the given fields.
        required mode: UsageMode = "mode",
        /// Tokens sent.
        added input: Option<u64> = "input",
        /// Tokens received.
        added output: Option<u64> = "output",
        /// Tokens read from the provider's cache.
        added cache_read: Option<u64> = "cacheRead",
        /// Tokens written to the provider's cache.
        added cache_write: Option<u64> = "cacheWrite",
        /// US dollars. `add` with tokens but without it makes the session's cost null for good.
        added cost: Patch<f64> = "cost",
    }
}

closed_words! {
    /// How numbers are taken.
    pub enum UsageMode {
        /// They are added.
        Add = "add",
        /// They replace the given fields.
        Set = "set",
    }
}

record! {
    /// How full the context is.
    pub struct ContextEvent {
        /// The word of this line.
        tag event: Tag = "event" is "context",
        /// When; left out = now.
        added at: Option<Timestamp> = "at",
        /// Tokens in it; null when unknown.
        seed tokens: Option<u64> = "tokens",
        /// The model's window, in tokens.
        seed window: Option<u64> = "window",
        /// 0 to 100; computed when left out.
        added percent: Option<f64> = "percent",
        /// What fills it.
        added detail: Patch<ContextDetail> = "detail",
    }
}

record! {
    /// Tools and skills there are: the names a request is judged by.
    pub struct CapabilitiesEvent {
        /// The word of this line.
        tag event: Tag = "event" is "capabilities",
        /// When; left out = now.
        added at: Option<Timestamp> = "at",
        /// The tools.
        needed tools: Vec<CapabilityTool> = "tools",
        /// The skills.
        needed skills: Vec<CapabilitySkill> = "skills",
        /// What a request may ask.
        needed accepts: Vec<Accept> = "accepts",
    }
}

record! {
    /// A tool there is.
    pub struct CapabilityTool {
        /// Its name.
        required name: String = "name",
        /// Whether it is declared to the model.
        needed on: bool = "on",
        /// True: it cannot be turned on.
        added hidden: Option<bool> = "hidden",
    }
}

record! {
    /// A skill there is.
    pub struct CapabilitySkill {
        /// Its name.
        required name: String = "name",
        /// Whether it is listed to the model.
        needed on: bool = "on",
    }
}

record! {
    /// A file was written, changed or removed.
    pub struct OutputEvent {
        /// The word of this line.
        tag event: Tag = "event" is "output",
        /// When; left out = now.
        added at: Option<Timestamp> = "at",
        /// The file; a relative path is relative to the session's folder.
        required path: String = "path",
        /// What was done to it; `removed` takes it off the list.
        required action: OutputAction = "action",
    }
}

/// The action that takes a path off the list.
pub const REMOVED: &str = "removed";

record! {
    /// The ticket that is worked on.
    pub struct TicketEvent {
        /// The word of this line.
        tag event: Tag = "event" is "ticket",
        /// When; left out = now.
        added at: Option<Timestamp> = "at",
        /// The ticket, or null for none.
        seed ticket: Option<Ticket> = "ticket",
    }
}

record! {
    /// Background tasks and subagents running.
    pub struct BackgroundEvent {
        /// The word of this line.
        tag event: Tag = "event" is "background",
        /// When; left out = now.
        added at: Option<Timestamp> = "at",
        /// How many.
        required count: u64 = "count",
    }
}

record! {
    /// What the subagents do that say so: the whole list each time.
    pub struct ChildrenEvent {
        /// The word of this line.
        tag event: Tag = "event" is "children",
        /// When; left out = now.
        added at: Option<Timestamp> = "at",
        /// The subagents; at most 16 are kept.
        needed children: Vec<Child> = "children",
    }
}

record! {
    /// How far the turn is, as the agent says.
    pub struct ProgressEvent {
        /// The word of this line.
        tag event: Tag = "event" is "progress",
        /// When; left out = now.
        added at: Option<Timestamp> = "at",
        /// 0 to 100, or null for unknown. The end of the turn clears it.
        seed percent: Option<u8> = "percent",
    }
}

record! {
    /// The answer to a line that `publish` printed.
    pub struct AppliedEvent {
        /// The word of this line.
        tag event: Tag = "event" is "applied",
        /// When; left out = now.
        added at: Option<Timestamp> = "at",
        /// The id of that line.
        required id: String = "id",
        /// Whether it was done.
        required ok: bool = "ok",
        /// Why not.
        added message: Option<String> = "message",
    }
}

record! {
    /// The session ends; so does it at the end of the input.
    pub struct EndEvent {
        /// The word of this line.
        tag event: Tag = "event" is "end",
        /// When; left out = now.
        added at: Option<Timestamp> = "at",
        /// True: the file stays for the process's next line, as in a reload.
        added keep: Option<bool> = "keep",
    }
}
