//! How a call on the bus ends when it does not end well: a refusal changed nothing and says why, a failure is the
//! system's.

use std::fmt;

pub use jig_session_schema::error::Code;

/// A call that was understood and not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Its word.
    pub code: Code,
    /// A lower-case fragment without a full stop.
    pub message: String,
    /// The way out.
    pub hint: Option<String>,
    /// The session that stands in the way.
    pub holder: Option<String>,
    /// The sessions that may have been meant.
    pub candidates: Vec<String>,
}

impl Refusal {
    /// A refusal with its word and message.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, holder: None, candidates: Vec::new() }
    }

    /// With the way out.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// With the session that stands in the way.
    #[must_use]
    pub fn holder(mut self, id: impl Into<String>) -> Self {
        self.holder = Some(id.into());
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Why a bus call failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is against a rule; nothing was changed.
    #[error("{0}")]
    Refused(Box<Refusal>),
    /// A folder or file of the bus failed.
    #[error(transparent)]
    Folder(#[from] jig_session_atomic::Error),
    /// The caller could not wait any longer.
    #[error("the decision took too long")]
    OutOfTime,
    /// An entry of the bus that must be read could not be.
    #[error("cannot read {path}: {problem}")]
    Entry {
        /// The file.
        path: std::path::PathBuf,
        /// Why.
        problem: jig_session_atomic::EntryProblem,
    },
}

impl Error {
    /// The word of the error, which also decides the exit code.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Refused(refusal) => refusal.code,
            Self::Folder(error) if error.is_unsafe() => Code::UnsafeDir,
            Self::Folder(_) | Self::Entry { .. } => Code::Io,
            Self::OutOfTime => Code::Timeout,
        }
    }

    /// What can be done about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Refused(refusal) => refusal.hint.clone(),
            Self::Folder(error) => error.hint(),
            Self::OutOfTime | Self::Entry { .. } => None,
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}
