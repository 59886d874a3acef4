//! What happens in Pi, as the bridge tells it: picked fields, names and numbers only.

use crate::bridge::{BridgeModel, BridgeUsage, Chars, TokenUsage, ToolChars};
use crate::king::EpochMs;
use crate::shape::{Foreign, Named, Patch, Tag};

record! {
    /// Something happened in Pi; `data` holds only names and numbers, never values.
    pub struct BridgeEvent {
        /// The word of this line.
        tag t: Tag = "t" is "event",
        /// Pi's name of the event.
        required event: String = "event",
        /// When, in milliseconds since 1970.
        needed at: Option<EpochMs> = "at",
        /// The event's picked fields.
        needed data: EventData = "data",
        /// Whether Pi is idle.
        seed idle: Option<bool> = "idle",
        /// Whether messages wait in Pi.
        seed pending: Option<bool> = "pending",
        /// Pi's own estimate of the context.
        seed usage: Option<BridgeUsage> = "usage",
        /// `message_end`: characters of the message's parts.
        added chars: Option<Chars> = "chars",
        /// `message_end` of the system prompt: characters of its sections; null removes one.
        added sections: Option<Named<Option<u64>>> = "sections",
        /// `message_end` of the system prompt: tools declared from here on.
        added tools_added: Vec<ToolChars> = "toolsAdded",
        /// `message_end` of the system prompt: tools no longer declared from here on.
        added tools_removed: Vec<String> = "toolsRemoved",
        /// `ui_prompt_start`, `ui_prompt_end`: true for a panel of the host's own.
        added own: Option<bool> = "own",
        /// `ui_prompt_start` of a component: what it waits for (`question`, `permission`, `auth`); null: for nobody, as a
        /// loader.
        added blocked: Patch<String> = "blocked",
    }
}

record! {
    /// The picked fields of an event; which of them an event has is the event's own.
    pub struct EventData {
        /// Why a session starts, or what a compaction or a dialog is for.
        added reason: Option<String> = "reason",
        /// `session_start`: the transcript of the session before.
        added previous_session_file: Option<String> = "previousSessionFile",
        /// `session_info_changed`: the session's name; null when it has none any more.
        added name: Option<String> = "name",
        /// `session_compact`: the entry that the conversation was replaced by.
        added compaction_entry: Option<CompactionEntry> = "compactionEntry",
        /// `session_tree`: the transcript's leaf from now on.
        added new_leaf_id: Option<String> = "newLeafId",
        /// `session_tree`: the transcript's leaf until now.
        added old_leaf_id: Option<String> = "oldLeafId",
        /// `agent_settled`: whether the run was broken off.
        added aborted: Option<bool> = "aborted",
        /// A dialog's kind: `select`, `confirm`, `input`, `editor`, `custom`.
        added kind: Option<String> = "kind",
        /// `message_end`: what the message says of itself.
        added message: Option<EventMessage> = "message",
        /// A tool call's id.
        added tool_call_id: Option<String> = "toolCallId",
        /// A tool's name.
        added tool_name: Option<String> = "toolName",
        /// The call that this call is made by.
        added parent_tool_call_id: Option<String> = "parentToolCallId",
        /// `tool_execution_start`: the picked arguments.
        added args: Option<CallArguments> = "args",
        /// `tool_execution_end`: whether the call failed.
        added is_error: Option<bool> = "isError",
        /// `tool_execution_end`: how long the call took, in milliseconds.
        added duration_ms: Option<f64> = "durationMs",
        /// `model_select`: the model from now on.
        added model: Option<BridgeModel> = "model",
        /// `model_select`: `set`, `cycle` or `restore`.
        added source: Option<String> = "source",
        /// `thinking_level_select`: the level from now on.
        added level: Option<String> = "level",
    }
}

record! {
    /// What a message says of itself.
    pub struct EventMessage {
        /// Whose it is.
        added role: Option<String> = "role",
        /// A custom message's type.
        added custom_type: Option<String> = "customType",
        /// What it has used.
        added usage: Option<TokenUsage> = "usage",
        /// The provider.
        added provider: Option<String> = "provider",
        /// The model.
        added model: Option<String> = "model",
        /// Why the model stopped.
        added stop_reason: Option<String> = "stopReason",
        /// The call that it is the result of.
        added tool_call_id: Option<String> = "toolCallId",
        /// That call's tool.
        added tool_name: Option<String> = "toolName",
        /// Whether that call failed.
        added is_error: Option<bool> = "isError",
    }
}

record! {
    /// The entry that a conversation was replaced by.
    pub struct CompactionEntry {
        /// What the summary has used.
        added usage: Option<TokenUsage> = "usage",
    }
}

record! {
    /// The arguments of a call that cross the bridge.
    pub struct CallArguments {
        /// The path of a file tool.
        added path: Option<String> = "path",
        /// The action of a tool that has several.
        added action: Option<String> = "action",
    }
}

record! {
    /// Something was said on Pi's own event bus.
    pub struct BusEvent {
        /// The word of this line.
        tag t: Tag = "t" is "bus",
        /// Its name there, such as `jig:decision`.
        required event: String = "event",
        /// When, in milliseconds since 1970.
        needed at: Option<EpochMs> = "at",
        /// What was said: another extension's value, of which these fields are read.
        needed data: Foreign<BusData> = "data",
    }
}

record! {
    /// What is read of an event on Pi's own event bus.
    pub struct BusData {
        /// `jig:decision`: the call's id.
        added tool_call_id: Option<String> = "toolCallId",
        /// `jig:decision`: the tool's name.
        added tool: Option<String> = "tool",
        /// `jig:decision`: the tool's action.
        added action: Option<String> = "action",
        /// `jig:decision`: `allow`, `deny` or `ask`.
        added decision: Option<String> = "decision",
        /// `jig:decision`: what a person answered.
        added answer: Option<String> = "answer",
        /// `subagents:*`: the subagent's id.
        added id: Option<String> = "id",
        /// `subagents:*`: the subagent's type.
        added kind: Option<String> = "type",
        /// `subagents:*`: what it is to do.
        added description: Option<String> = "description",
    }
}
