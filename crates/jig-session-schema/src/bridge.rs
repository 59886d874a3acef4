//! Bridge protocol v1: the lines between the extension inside Pi and its host, one JSON object a line.
//!
//! Lines to the host are distinguished by `t`, lines from it by `op`. Unknown lines are ignored on both sides.

use serde_json::Value;

pub use crate::bridge_entries::{Chars, Entries, Entry, TokenCost, TokenUsage, ToolChars};
pub use crate::bridge_event::{
    BridgeEvent, BusData, BusEvent, CallArguments, CompactionEntry, EventData, EventMessage,
};
pub use crate::bridge_host::{
    BridgeReload, Call, CommandDefinition, Done, EntriesQuestion, HostResult, Panel, Quiet, Ready, SeenFile, Skills,
    Update,
};
use crate::read::Reading;
use crate::shape::{SchemaCx, Shape, Side, Tag};

/// The protocol's number; a host that is greeted with another one answers `ready` empty and does nothing.
pub const PROTOCOL: u64 = 1;

lines! {
    /// A line from the extension inside Pi to its host.
    pub enum ToHost by "t" {
        /// The session begins, or goes on after a reload.
        Hello(Hello) = "hello",
        /// The tools and skills there are have changed.
        Tools(OffersChanged) = "tools",
        /// Something happened in Pi.
        Event(BridgeEvent) = "event",
        /// Something was said on Pi's own event bus.
        Bus(BusEvent) = "bus",
        /// A prompt is about to be sent: a question, answered with `result` within 250 ms, unless `waits` is false.
        Prompt(Prompt) = "prompt",
        /// The model calls a tool of the host's.
        Tool(ToolCall) = "tool",
        /// The call of a tool was broken off.
        Cancel(Cancel) = "cancel",
        /// The user gave a command of the host's.
        Command(CommandCall) = "command",
        /// A key in the host's panel, or its size, or its end.
        Key(Key) = "key",
        /// The outcome of a `call`.
        Return(Return) = "return",
        /// The session's entries, reduced: the answer to the op `entries`.
        Entries(Entries) = "entries",
        /// Lines did not reach the host: what it counts by itself has to be counted anew.
        Lost(Lost) = "lost",
        /// A question before an editing tool runs: no answer in 2 s means allowed.
        Guard(GuardQuestion) = "guard",
        /// The session ends in this process.
        Bye(Bye) = "bye",
    }
}

lines! {
    /// A line from the host to the extension inside Pi.
    pub enum FromHost by "op" {
        /// The answer to `hello`: what to register.
        Ready(Ready) = "ready",
        /// Call a function of Pi's.
        Call(Call) = "call",
        /// Hide these skills from the next prompts.
        Skills(Skills) = "skills",
        /// The next prompts need not be asked about.
        Quiet(Quiet) = "quiet",
        /// The answer to a question or a tool call.
        Result(HostResult) = "result",
        /// A tool call goes on.
        Update(Update) = "update",
        /// A command is done.
        Done(Done) = "done",
        /// Reload Pi, from the context of a command.
        Reload(BridgeReload) = "reload",
        /// Show the panel, or close it.
        Panel(Panel) = "panel",
        /// Send the session's entries.
        Entries(EntriesQuestion) = "entries",
    }
}

/// The id of a `call`: a text where we write it, a whole number from other hosts too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LineId(pub String);

impl Shape for LineId {
    fn read(value: Value, cx: &mut Reading) -> Option<Self> {
        match value.as_i64() {
            Some(number) => Some(Self(number.to_string())),
            None => <String as Shape>::read(value, cx).map(Self),
        }
    }

    fn schema(cx: &mut SchemaCx) -> Value {
        match cx.side() {
            Side::Writer => serde_json::json!({ "type": "string" }),
            Side::Reader => serde_json::json!({ "type": ["string", "integer"] }),
        }
    }
}

impl serde::Serialize for LineId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

record! {
    /// The session begins, or goes on after a reload.
    pub struct Hello {
        /// The word of this line.
        tag t: Tag = "t" is "hello",
        /// The protocol's number.
        required protocol: u64 = "protocol",
        /// Why: `startup`, `reload`, `new`, `resume`, `fork`, `restart`.
        seed reason: Option<String> = "reason",
        /// Pi's process.
        required pid: u32 = "pid",
        /// Pi's working folder.
        needed cwd: String = "cwd",
        /// `tui`, `rpc`, `json` or `print`.
        seed mode: Option<String> = "mode",
        /// The session's id.
        required session: String = "session",
        /// The transcript's path.
        seed file: Option<String> = "file",
        /// The id of the transcript's current leaf.
        seed leaf: Option<String> = "leaf",
        /// The session's name.
        seed name: Option<String> = "name",
        /// The model.
        seed model: Option<BridgeModel> = "model",
        /// The thinking level.
        seed thinking: Option<String> = "thinking",
        /// Pi's own estimate of the context.
        seed usage: Option<BridgeUsage> = "usage",
        /// Tools declared to the model.
        needed active: Vec<String> = "active",
        /// Tools registered.
        needed tools: Vec<BridgeTool> = "tools",
        /// Skills there are.
        needed skills: Vec<String> = "skills",
        /// The extension's version.
        added bridge: Option<String> = "bridge",
        /// Pi's version.
        added pi: Option<String> = "pi",
        /// Pi's configuration folder.
        added agent_dir: Option<String> = "agentDir",
    }
}

record! {
    /// The tools and skills there are have changed since `hello`.
    pub struct OffersChanged {
        /// The word of this line.
        tag t: Tag = "t" is "tools",
        /// Tools declared to the model.
        needed active: Vec<String> = "active",
        /// Tools registered.
        needed tools: Vec<BridgeTool> = "tools",
        /// Skills there are.
        needed skills: Vec<String> = "skills",
    }
}

record! {
    /// A model as Pi tells it.
    pub struct BridgeModel {
        /// Its provider.
        seed provider: Option<String> = "provider",
        /// Its id.
        required id: String = "id",
        /// Its name.
        seed name: Option<String> = "name",
        /// Its window, in tokens.
        added context_window: Option<u64> = "contextWindow",
    }
}

record! {
    /// Pi's own estimate of the context.
    pub struct BridgeUsage {
        /// Tokens in it.
        seed tokens: Option<u64> = "tokens",
        /// The model's window, in tokens.
        seed context_window: Option<u64> = "contextWindow",
        /// 0 to 100.
        seed percent: Option<f64> = "percent",
    }
}

record! {
    /// A tool registered in Pi.
    pub struct BridgeTool {
        /// Its name.
        required name: String = "name",
        /// `direct`, `hidden` and the like.
        added exposure: Option<String> = "exposure",
        /// Where it comes from.
        added source: Option<String> = "source",
        /// Its declaration's length, in characters.
        added chars: Option<u64> = "chars",
    }
}

record! {
    /// A prompt is about to be sent.
    pub struct Prompt {
        /// The word of this line.
        tag t: Tag = "t" is "prompt",
        /// The question's id.
        required id: String = "id",
        /// The message's type.
        seed message_type: Option<String> = "messageType",
        /// The skills listed to the model.
        added skills: Option<Vec<PromptFile>> = "skills",
        /// The context files.
        added context_files: Option<Vec<PromptFile>> = "contextFiles",
        /// The system prompt's length, in characters.
        added prompt_chars: Option<u64> = "promptChars",
        /// The prompt's first 140 UTF-16 units; only on request.
        added text: Option<String> = "text",
        /// False: the prompt does not wait for an answer, since all is as the last `quiet` said.
        added waits: Option<bool> = "waits",
    }
}

record! {
    /// A skill or a context file of a prompt.
    pub struct PromptFile {
        /// A skill's name.
        added name: Option<String> = "name",
        /// Its file.
        added path: Option<String> = "path",
        /// Its length in the prompt, in characters.
        added chars: Option<u64> = "chars",
    }
}

record! {
    /// The model calls a tool of the host's.
    pub struct ToolCall {
        /// The word of this line.
        tag t: Tag = "t" is "tool",
        /// The question's id.
        required id: String = "id",
        /// The tool's name.
        required name: String = "name",
        /// Pi's id of the call.
        added tool_call_id: Option<String> = "toolCallId",
        /// The call's parameters.
        needed params: Value = "params",
    }
}

record! {
    /// The call of a tool was broken off.
    pub struct Cancel {
        /// The word of this line.
        tag t: Tag = "t" is "cancel",
        /// The question's id.
        required id: String = "id",
    }
}

record! {
    /// The user gave a command of the host's.
    pub struct CommandCall {
        /// The word of this line.
        tag t: Tag = "t" is "command",
        /// The question's id.
        required id: String = "id",
        /// The command's name.
        required name: String = "name",
        /// What followed it.
        added args: Option<String> = "args",
    }
}

record! {
    /// A key in the host's panel, or its size, or its end.
    pub struct Key {
        /// The word of this line.
        tag t: Tag = "t" is "key",
        /// The key, as the terminal sent it.
        added data: Option<String> = "data",
        /// The panel's width, in cells.
        added width: Option<u64> = "width",
        /// The terminal's height, in rows.
        added rows: Option<u64> = "rows",
        /// True: the panel was closed.
        added closed: Option<bool> = "closed",
    }
}

record! {
    /// The outcome of a `call`.
    pub struct Return {
        /// The word of this line.
        tag t: Tag = "t" is "return",
        /// The call's id.
        required id: LineId = "id",
        /// What it returned.
        needed result: Value = "result",
        /// Why it failed.
        added error: Option<String> = "error",
    }
}

record! {
    /// A question before an editing tool runs.
    pub struct GuardQuestion {
        /// The word of this line.
        tag t: Tag = "t" is "guard",
        /// The question's id.
        required id: String = "id",
        /// Pi's id of the call.
        added tool_call_id: Option<String> = "toolCallId",
        /// The tool's name.
        needed tool: String = "tool",
        /// The path it would edit.
        needed path: String = "path",
    }
}

record! {
    /// Lines did not reach the host: it did not read fast enough, or they were longer than a line may be.
    pub struct Lost {
        /// The word of this line.
        tag t: Tag = "t" is "lost",
        /// How many, since the last line of this kind.
        needed lines: u64 = "lines",
    }
}

record! {
    /// The session ends in this process.
    pub struct Bye {
        /// The word of this line.
        tag t: Tag = "t" is "bye",
        /// Why: `quit`, `reload`, `new`, `resume`, `fork`.
        seed reason: Option<String> = "reason",
        /// The transcript of the session that follows.
        seed target: Option<String> = "target",
    }
}
