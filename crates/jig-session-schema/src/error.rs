//! The error of a command with `--json`: one line on stderr, and nothing on stdout.

use crate::shape::Tag;
use crate::status::{AgentName, State};

record! {
    /// An error that ended a command.
    pub struct ErrorDocument {
        /// The version of this document: 1.
        version schema: Tag = "schema" is 1,
        /// What went wrong.
        required error: ErrorBody = "error",
        /// The command's exit code.
        required exit: u16 = "exit",
    }
}

record! {
    /// What went wrong.
    pub struct ErrorBody {
        /// In a word.
        required code: ErrorCode = "code",
        /// In a lower-case fragment without a full stop.
        required message: String = "message",
        /// What can be done about it.
        added hint: Option<String> = "hint",
        /// The file or folder.
        added path: Option<String> = "path",
        /// The system's error number.
        added errno: Option<i32> = "errno",
        /// What an ambiguous name may have meant.
        added candidates: Vec<String> = "candidates",
        /// The sessions that an ambiguous name may have meant, with what tells them apart.
        added matches: Vec<SessionMatch> = "matches",
    }
}

record! {
    /// A session that an ambiguous name may have meant.
    pub struct SessionMatch {
        /// Its id.
        required session: String = "session",
        /// Its agent's name.
        needed agent: AgentName = "agent",
        /// Whether the agent works.
        needed state: State = "state",
        /// The agent's working folder.
        needed cwd: String = "cwd",
    }
}

open_words! {
    /// An error's word; each belongs to one exit code.
    pub struct ErrorCode {
        /// Reading or writing failed.
        IO = "io",
        /// A folder is not private.
        UNSAFE_DIR = "unsafe-dir",
        /// tmux failed.
        TMUX_FAILED = "tmux-failed",
        /// The session has ended.
        GONE = "gone",
        /// The session's process is stopped, so that a wait for it cannot end.
        STOPPED = "stopped",
        /// The path is not held.
        NOT_HELD = "not-held",
        /// The command line is wrong.
        USAGE = "usage",
        /// Somebody else holds the path.
        CONFLICT = "conflict",
        /// There is no such thing.
        NOT_FOUND = "not-found",
        /// The name means several things.
        AMBIGUOUS = "ambiguous",
        /// It was refused.
        REFUSED = "refused",
        /// Somebody else has the label.
        LABEL_HELD = "label-held",
        /// The inbox takes no more.
        INBOX_FULL = "inbox-full",
        /// It cannot be done here.
        UNSUPPORTED = "unsupported",
        /// Somebody else is at it.
        BUSY = "busy",
        /// It took too long.
        TIMEOUT = "timeout",
    }
}
