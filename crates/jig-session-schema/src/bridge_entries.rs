//! The session's entries as the bridge reduces them: names and numbers, no texts.

use crate::bridge::LineId;
use crate::request::Switches;
use crate::shape::{Foreign, Named, Tag};

record! {
    /// The session's entries, reduced, at most 500 a line.
    pub struct Entries {
        /// The word of this line.
        tag t: Tag = "t" is "entries",
        /// The question's id.
        required id: LineId = "id",
        /// The entries.
        needed entries: Vec<Entry> = "entries",
        /// Whether another line follows.
        needed more: bool = "more",
        /// How many entries there are in all the lines of this answer.
        added total: Option<u64> = "total",
        /// The data of the last `jig-session.switches` entry; only in the first line.
        added switches: Foreign<Switches> = "switches",
    }
}

record! {
    /// One entry of the session: names and numbers only, since whole entries are values.
    pub struct Entry {
        /// Its id.
        seed id: Option<String> = "id",
        /// Its type.
        required kind: String = "type",
        /// When, as Pi writes it.
        seed at: Option<String> = "at",
        /// Whether it is part of what the model is sent now; left out by a Pi that does not tell.
        added in_context: Option<bool> = "inContext",
        /// A message's role.
        added role: Option<String> = "role",
        /// A custom entry's type.
        added custom_type: Option<String> = "customType",
        /// A tool call's id.
        added call_id: Option<String> = "callId",
        /// A tool's name.
        added tool: Option<String> = "tool",
        /// The path of a file tool.
        added path: Option<String> = "path",
        /// Whether a tool's result is an error.
        added is_error: Option<bool> = "isError",
        /// The provider.
        added provider: Option<String> = "provider",
        /// The model.
        added model: Option<String> = "model",
        /// Why the model stopped.
        added stop_reason: Option<String> = "stopReason",
        /// The message's usage, as Pi tells it.
        added usage: Option<TokenUsage> = "usage",
        /// Characters of the message's parts.
        added chars: Option<Chars> = "chars",
        /// Characters of the system prompt's sections; null removes one.
        added sections: Option<Named<Option<u64>>> = "sections",
        /// Tools declared from here on.
        added tools_added: Vec<ToolChars> = "toolsAdded",
        /// Tools no longer declared from here on.
        added tools_removed: Vec<String> = "toolsRemoved",
        /// A name that was set.
        added name: Option<String> = "name",
        /// The data of a `jig-session.switches` entry.
        added data: Foreign<Switches> = "data",
    }
}

record! {
    /// Characters of a message's parts.
    pub struct Chars {
        /// Texts.
        added text: Option<u64> = "text",
        /// Thinking.
        added thinking: Option<u64> = "thinking",
        /// Tool calls.
        added tool_calls: Option<u64> = "toolCalls",
        /// A tool's result.
        added tool_result: Option<u64> = "toolResult",
    }
}

record! {
    /// A tool declared to the model.
    pub struct ToolChars {
        /// Its name.
        required name: String = "name",
        /// Its declaration's length, in characters.
        needed chars: u64 = "chars",
    }
}

record! {
    /// What one message, or one summary, has used; an agent's further counts stay beside these.
    pub struct TokenUsage {
        /// Tokens sent, without those read from the cache.
        added input: Option<u64> = "input",
        /// Tokens generated.
        added output: Option<u64> = "output",
        /// Tokens read from the cache.
        added cache_read: Option<u64> = "cacheRead",
        /// Tokens written to the cache.
        added cache_write: Option<u64> = "cacheWrite",
        /// Tokens in the context after it.
        added total_tokens: Option<u64> = "totalTokens",
        /// What it cost.
        added cost: Option<TokenCost> = "cost",
    }
}

record! {
    /// What a message cost.
    pub struct TokenCost {
        /// In US dollars; 0 with tokens used means that the model has no price.
        added total: Option<f64> = "total",
    }
}
