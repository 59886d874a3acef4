//! Every exit code and error document of the program, in one place (contract: errors and exit codes).

use std::fmt;
use std::path::{Path, PathBuf};

use jig_session_atomic::{EntryProblem, Reason};
use serde_json::{Map, Value, json};

/// What a command returns.
pub(crate) type Outcome = Result<Exit, Failure>;

/// How a command that did its work ends. A failure carries its own code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exit(pub(crate) u8);

impl Exit {
    /// Done.
    pub(crate) const OK: Self = Self(0);
    /// Findings: `validate`, `doctor`, a `bulk` with anything refused or failed.
    pub(crate) const FINDINGS: Self = Self(1);
}

/// The word of an error and the exit code that goes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    Io,
    UnsafeDir,
    TmuxFailed,
    Gone,
    NotHeld,
    Usage,
    Conflict,
    NotFound,
    Ambiguous,
    Refused,
    LabelHeld,
    InboxFull,
    Unsupported,
    Busy,
    Timeout,
}

impl Code {
    const TABLE: [(Self, &'static str, u8); 15] = [
        (Self::Io, "io", 1),
        (Self::UnsafeDir, "unsafe-dir", 1),
        (Self::TmuxFailed, "tmux-failed", 1),
        (Self::Gone, "gone", 1),
        (Self::NotHeld, "not-held", 1),
        (Self::Usage, "usage", 2),
        (Self::Conflict, "conflict", 3),
        (Self::NotFound, "not-found", 4),
        (Self::Ambiguous, "ambiguous", 4),
        (Self::Refused, "refused", 4),
        (Self::LabelHeld, "label-held", 4),
        (Self::InboxFull, "inbox-full", 4),
        (Self::Unsupported, "unsupported", 4),
        (Self::Busy, "busy", 75),
        (Self::Timeout, "timeout", 124),
    ];

    fn row(self) -> (&'static str, u8) {
        for (code, word, exit) in Self::TABLE {
            if code == self {
                return (word, exit);
            }
        }
        ("io", 1)
    }

    /// The word in the error document.
    pub(crate) fn word(self) -> &'static str {
        self.row().0
    }

    /// The exit code.
    pub(crate) fn exit(self) -> u8 {
        self.row().1
    }
}

/// An error that ends a command: `message` is a lower-case fragment without a full stop.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    pub(crate) path: Option<PathBuf>,
    pub(crate) errno: Option<i32>,
    pub(crate) candidates: Vec<String>,
}

impl Failure {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, path: None, errno: None, candidates: Vec::new() }
    }

    /// What the reader can do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn path(mut self, path: impl Into<PathBuf>) -> Self {
        self.path = Some(path.into());
        self
    }

    pub(crate) fn errno(mut self, errno: Option<i32>) -> Self {
        self.errno = errno;
        self
    }

    pub(crate) fn candidates(mut self, candidates: Vec<String>) -> Self {
        self.candidates = candidates;
        self
    }

    /// A file that another program wrote cannot be read.
    pub(crate) fn cannot_read(path: &Path, problem: &EntryProblem) -> Self {
        let failure = Self::new(Code::Io, format!("cannot read {}: {problem}", path.display()));
        let failure = failure.path(path).errno(problem.errno);
        match problem.reason {
            Reason::NotARegularFile | Reason::ForeignOwner => failure.hint("move away what stands there"),
            Reason::TooLarge => failure.hint("no such file is that large: move it away"),
            _ => failure,
        }
    }

    /// The reader of stdout went away: it has what it wanted.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        self.errno == Some(rustix::io::Errno::PIPE.raw_os_error()) && self.path.is_none()
    }

    /// The document of `--json`: one line on stderr.
    pub(crate) fn document(&self) -> Value {
        let mut error = Map::new();
        error.insert("code".into(), json!(self.code.word()));
        error.insert("message".into(), json!(self.message));
        if let Some(hint) = &self.hint {
            error.insert("hint".into(), json!(hint));
        }
        if let Some(path) = &self.path {
            error.insert("path".into(), json!(path.to_string_lossy()));
        }
        if let Some(errno) = self.errno {
            error.insert("errno".into(), json!(errno));
        }
        if !self.candidates.is_empty() {
            error.insert("candidates".into(), json!(self.candidates));
        }
        json!({ "schema": 1, "error": error, "exit": self.code.exit() })
    }
}

impl From<jig_session_atomic::Error> for Failure {
    fn from(error: jig_session_atomic::Error) -> Self {
        let code = if error.is_unsafe() { Code::UnsafeDir } else { Code::Io };
        let mut failure = Self::new(code, error.to_string()).path(error.path()).errno(error.errno());
        failure.hint = error.hint().map(str::to_owned);
        failure
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        for candidate in &self.candidates {
            write!(f, "\n  {candidate}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}
