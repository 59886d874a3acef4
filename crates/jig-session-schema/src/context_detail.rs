//! What fills a session's context, part by part: the field `contextDetail` of status v1.

use crate::time::Timestamp;

record! {
    /// What fills the context; the parts sum to `total`.
    pub struct ContextDetail {
        /// When it was counted.
        needed at: Option<Timestamp> = "at",
        /// How it was counted.
        needed basis: Basis = "basis",
        /// The model's window, in tokens.
        seed window: Option<u64> = "window",
        /// Tokens in the context.
        seed total: Option<u64> = "total",
        /// Its parts.
        needed parts: Vec<ContextPart> = "parts",
        /// The tools behind it.
        needed tools: Vec<ContextTool> = "tools",
        /// The skills behind it.
        needed skills: Vec<ContextSkill> = "skills",
        /// The context files behind it.
        needed context_files: Vec<ContextFile> = "contextFiles",
    }
}

closed_words! {
    /// How a context was counted.
    pub enum Basis {
        /// Characters divided by four.
        Estimate = "estimate",
        /// Scaled to the last real usage.
        Measured = "measured",
    }
}

record! {
    /// One part of the context.
    pub struct ContextPart {
        /// Which.
        required part: PartName = "part",
        /// Its tokens.
        needed tokens: u64 = "tokens",
    }
}

open_words! {
    /// A part of the context.
    pub struct PartName {
        /// The system prompt.
        SYSTEM = "system",
        /// Declarations of tools.
        TOOLS = "tools",
        /// The list of skills.
        SKILLS = "skills",
        /// Context files.
        CONTEXT_FILES = "contextFiles",
        /// The user's messages.
        USER = "user",
        /// The model's texts.
        ASSISTANT = "assistant",
        /// The model's thinking.
        THINKING = "thinking",
        /// Tool calls.
        TOOL_CALLS = "toolCalls",
        /// Results of tool calls.
        TOOL_RESULTS = "toolResults",
        /// Messages of Jig's own.
        JIG = "jig",
        /// Summaries of compactions.
        COMPACTION = "compaction",
        /// Anything else.
        OTHER = "other",
    }
}

record! {
    /// A tool's share of the context.
    pub struct ContextTool {
        /// The tool's name.
        required name: String = "name",
        /// Where it comes from.
        seed source: Option<String> = "source",
        /// Its tokens.
        needed tokens: u64 = "tokens",
        /// Whether it is declared to the model.
        needed on: bool = "on",
    }
}

record! {
    /// A skill's share of the context.
    pub struct ContextSkill {
        /// The skill's name.
        required name: String = "name",
        /// Its file.
        seed path: Option<String> = "path",
        /// Its tokens.
        needed tokens: u64 = "tokens",
        /// Whether it is listed to the model.
        needed on: bool = "on",
    }
}

record! {
    /// A context file's share of the context.
    pub struct ContextFile {
        /// The file.
        required path: String = "path",
        /// Its tokens.
        needed tokens: u64 = "tokens",
    }
}
