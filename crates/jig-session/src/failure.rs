//! Every exit code and error document of the program, in one place (contract: errors and exit codes).

use std::fmt;
use std::path::{Path, PathBuf};

use jig_session_atomic::{EntryProblem, Reason};
pub(crate) use jig_session_schema::error::Code;
use jig_session_schema::error::{ErrorBody, ErrorDocument, SessionMatch};

use jig_session_view::sanitise::clean;

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

/// An error that ends a command: `message` is a lower-case fragment without a full stop.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    pub(crate) path: Option<Box<Path>>,
    pub(crate) errno: Option<i32>,
    pub(crate) candidates: Vec<String>,
    pub(crate) matches: Box<[SessionMatch]>,
}

impl Failure {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: None,
            path: None,
            errno: None,
            candidates: Vec::new(),
            matches: Box::default(),
        }
    }

    /// What the reader can do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn path(mut self, path: impl Into<PathBuf>) -> Self {
        self.path = Some(path.into().into_boxed_path());
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

    /// The sessions that may have been meant, also as a list of ids.
    pub(crate) fn matches(mut self, matches: Box<[SessionMatch]>) -> Self {
        self.candidates = matches.iter().map(|found| found.session.clone()).collect();
        self.matches = matches;
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
    pub(crate) fn document(&self) -> ErrorDocument {
        let error = ErrorBody::new()
            .code(self.code.into())
            .message(self.message.clone())
            .hint(self.hint.clone())
            .path(self.path.as_ref().map(|path| path.to_string_lossy().into_owned()))
            .errno(self.errno)
            .candidates(self.candidates.clone())
            .matches(self.matches.to_vec());
        ErrorDocument::new().error(error).exit(self.code.exit().into())
    }
}

impl From<jig_session_atomic::Error> for Failure {
    fn from(error: jig_session_atomic::Error) -> Self {
        let code = if error.is_unsafe() { Code::UnsafeDir } else { Code::Io };
        let mut failure = Self::new(code, error.to_string()).path(error.path()).errno(error.errno());
        failure.hint = error.hint();
        failure
    }
}

impl From<jig_session_store::DocumentError> for Failure {
    fn from(error: jig_session_store::DocumentError) -> Self {
        use jig_session_store::DocumentError;
        let message = error.to_string();
        match error {
            DocumentError::Ended { path, .. } => Self::new(Code::Gone, message).path(path),
            DocumentError::Folder(error) => error.into(),
            DocumentError::Unreadable { path, problem } => Self::new(Code::Io, message).path(path).errno(problem.errno),
            DocumentError::Broken { path, .. } => {
                Self::new(Code::Io, message).path(path).hint("its writer changed it just now: try again")
            }
        }
    }
}

impl From<jig_session_publish::serve::Error> for Failure {
    fn from(error: jig_session_publish::serve::Error) -> Self {
        Self::new(Code::Io, error.to_string()).errno(error.errno())
    }
}

impl From<jig_session_bus::Error> for Failure {
    fn from(error: jig_session_bus::Error) -> Self {
        use jig_session_bus::Error;
        match error {
            Error::Folder(error) => error.into(),
            Error::OutOfTime => Self::new(Code::Timeout, error.to_string()),
            Error::Refused(refusal) => {
                let mut failure = Self::new(refusal.code, refusal.message).candidates(refusal.candidates);
                failure.hint = refusal.hint;
                failure
            }
            Error::Entry { path, problem } => Self::new(Code::Io, format!("cannot read {}: {problem}", path.display()))
                .path(path)
                .errno(problem.errno),
        }
    }
}

impl From<jig_session_actor::Error> for Failure {
    fn from(error: jig_session_actor::Error) -> Self {
        use jig_session_actor::Error;
        match error {
            Error::Bus(error) => error.into(),
            Error::Repository(error) => error.into(),
            other => {
                let mut failure = Self::new(other.code(), other.to_string());
                failure.hint = other.hint();
                if let Error::WorkingFolder(error) = other {
                    failure.errno = error.raw_os_error();
                }
                failure
            }
        }
    }
}

impl From<jig_session_git::Error> for Failure {
    fn from(error: jig_session_git::Error) -> Self {
        Self::new(Code::Io, error.to_string()).path(error.path()).errno(error.errno())
    }
}

impl From<jig_session_host::Error> for Failure {
    fn from(error: jig_session_host::Error) -> Self {
        use jig_session_host::Error;
        match error {
            Error::Stdin(error) => error.into(),
            Error::Bus(error) => error.into(),
            Error::Folder(error) => error.into(),
            Error::Repository(error) => error.into(),
            Error::Bridge(_) => Self::new(Code::Io, error.to_string()),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        for candidate in &self.candidates {
            write!(f, "\n  {candidate}")?;
            if let Some(found) = self.matches.iter().find(|found| found.session == *candidate) {
                write!(f, "  {}  {}  {}", clean(&found.agent), found.state, clean(&found.cwd))?;
            }
        }
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}
