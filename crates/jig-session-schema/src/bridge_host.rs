//! The records of the lines from the host to the extension inside Pi.

use serde_json::Value;

use crate::bridge::LineId;
use crate::shape::Tag;

record! {
    /// The answer to `hello`: what to register.
    pub struct Ready {
        /// The word of this line.
        tag op: Tag = "op" is "ready",
        /// Definitions of tools, as Pi takes them.
        needed tools: Vec<Value> = "tools",
        /// Commands.
        needed commands: Vec<CommandDefinition> = "commands",
        /// Whether `guard` is to be asked.
        added guard: Option<bool> = "guard",
        /// What else is wanted: `prompt`.
        added want: Vec<String> = "want",
    }
}

record! {
    /// A command to register.
    pub struct CommandDefinition {
        /// Its name.
        required name: String = "name",
        /// What it does.
        needed description: String = "description",
    }
}

record! {
    /// Call a function of Pi's; only those of a fixed list are.
    pub struct Call {
        /// The word of this line.
        tag op: Tag = "op" is "call",
        /// The id for the answer; without one none comes.
        added id: Option<LineId> = "id",
        /// The function, such as `pi.setActiveTools`.
        required function: String = "fn",
        /// Its arguments.
        needed args: Vec<Value> = "args",
        /// The command in whose context it is called.
        added command: Option<String> = "command",
    }
}

record! {
    /// Hide these skills from the next prompts.
    pub struct Skills {
        /// The word of this line.
        tag op: Tag = "op" is "skills",
        /// Their names: the whole set.
        needed hidden: Vec<String> = "hidden",
    }
}

record! {
    /// The next prompts need not be asked about.
    pub struct Quiet {
        /// The word of this line.
        tag op: Tag = "op" is "quiet",
        /// As long as these files are as they were seen; null: not any more.
        seed files: Option<Vec<SeenFile>> = "files",
    }
}

record! {
    /// A file or folder as the host saw it.
    pub struct SeenFile {
        /// Where it is.
        required path: String = "path",
        /// When it was changed last, in nanoseconds since 1970 as a decimal; null: it is not there.
        seed at: Option<String> = "at",
    }
}

record! {
    /// The answer to a question or a tool call.
    pub struct HostResult {
        /// The word of this line.
        tag op: Tag = "op" is "result",
        /// The question's id.
        required id: String = "id",
        /// To `tool`: `{ content, details }`; to `prompt`: `{ hidden?, message? }`; to `guard`: `{ deny }`.
        added result: Value = "result",
        /// Why it failed.
        added error: Option<String> = "error",
    }
}

record! {
    /// A tool call goes on.
    pub struct Update {
        /// The word of this line.
        tag op: Tag = "op" is "update",
        /// The question's id.
        required id: String = "id",
        /// What there is so far.
        needed result: Value = "result",
    }
}

record! {
    /// A command is done.
    pub struct Done {
        /// The word of this line.
        tag op: Tag = "op" is "done",
        /// The question's id.
        required id: String = "id",
        /// What is written to Pi's output, in a mode that shows nothing else.
        added text: Option<String> = "text",
    }
}

record! {
    /// Reload Pi, from the context of a command.
    pub struct BridgeReload {
        /// The word of this line.
        tag op: Tag = "op" is "reload",
        /// The command's id.
        required id: String = "id",
    }
}

record! {
    /// Show the panel, or close it.
    pub struct Panel {
        /// The word of this line.
        tag op: Tag = "op" is "panel",
        /// Its lines.
        added lines: Option<Vec<String>> = "lines",
        /// True: close it.
        added close: Option<bool> = "close",
    }
}

record! {
    /// Send the session's entries.
    pub struct EntriesQuestion {
        /// The word of this line.
        tag op: Tag = "op" is "entries",
        /// The question's id.
        required id: LineId = "id",
    }
}
