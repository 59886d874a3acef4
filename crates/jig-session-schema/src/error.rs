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

/// The one table of error words: each has its constant, its variant and the exit code that goes with it.
macro_rules! error_codes {
    ($( $(#[doc = $doc:literal])* $CONSTANT:ident, $Variant:ident = $word:literal exits $exit:literal; )*) => {
        open_words! {
            /// An error's word as a reader meets it; each belongs to one exit code.
            pub struct ErrorCode {
                $( $(#[doc = $doc])* $CONSTANT = $word, )*
            }
        }

        /// An error's word as this version writes it, with its exit code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $( $(#[doc = $doc])* $Variant, )*
        }

        impl Code {
            /// Every word, in the contract's order.
            pub const ALL: &'static [Self] = &[$( Self::$Variant, )*];

            /// The word as it is written.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self {
                    $( Self::$Variant => $word, )*
                }
            }

            /// The exit code of a command that ends with it.
            #[must_use]
            pub fn exit(self) -> u8 {
                match self {
                    $( Self::$Variant => $exit, )*
                }
            }
        }

        impl From<Code> for ErrorCode {
            fn from(code: Code) -> Self {
                match code {
                    $( Code::$Variant => Self::$CONSTANT, )*
                }
            }
        }
    };
}

error_codes! {
    /// Reading or writing failed.
    IO, Io = "io" exits 1;
    /// A folder is not private.
    UNSAFE_DIR, UnsafeDir = "unsafe-dir" exits 1;
    /// tmux failed.
    TMUX_FAILED, TmuxFailed = "tmux-failed" exits 1;
    /// The session has ended.
    GONE, Gone = "gone" exits 1;
    /// The session's process is stopped, so that a wait for it cannot end.
    STOPPED, Stopped = "stopped" exits 1;
    /// The path is not held.
    NOT_HELD, NotHeld = "not-held" exits 1;
    /// The command line is wrong.
    USAGE, Usage = "usage" exits 2;
    /// Somebody else holds the path.
    CONFLICT, Conflict = "conflict" exits 3;
    /// There is no such thing.
    NOT_FOUND, NotFound = "not-found" exits 4;
    /// The name means several things.
    AMBIGUOUS, Ambiguous = "ambiguous" exits 4;
    /// It was refused.
    REFUSED, Refused = "refused" exits 4;
    /// Somebody else has the label.
    LABEL_HELD, LabelHeld = "label-held" exits 4;
    /// The inbox takes no more.
    INBOX_FULL, InboxFull = "inbox-full" exits 4;
    /// It cannot be done here.
    UNSUPPORTED, Unsupported = "unsupported" exits 4;
    /// Somebody else is at it.
    BUSY, Busy = "busy" exits 75;
    /// It took too long.
    TIMEOUT, Timeout = "timeout" exits 124;
}
