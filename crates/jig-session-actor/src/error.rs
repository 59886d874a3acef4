//! Why it cannot be said who acts, or why an action failed.

use jig_session_bus::Code;

/// What went wrong, with the program's word for it and the way out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bus refused, or one of its files failed.
    #[error(transparent)]
    Bus(#[from] jig_session_bus::Error),
    /// The repository of the folder cannot be found out.
    #[error(transparent)]
    Repository(#[from] jig_session_git::Error),
    /// The system does not say which folder this is.
    #[error("cannot tell the working folder: {0}")]
    WorkingFolder(#[source] std::io::Error),
    /// The process that was named is not there.
    #[error("there is no process {0} to stand for the session")]
    NoProcess(u32),
    /// The agent's name is not one that a document may hold.
    #[error("an agent's name has at most 128 characters")]
    AgentName,
}

impl Error {
    /// The word of the error, which also decides the exit code.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Bus(error) => error.code(),
            Self::Repository(_) | Self::WorkingFolder(_) => Code::Io,
            Self::NoProcess(_) | Self::AgentName => Code::Usage,
        }
    }

    /// What can be done about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Bus(error) => error.hint(),
            Self::WorkingFolder(_) => Some("it may have been removed: change to another one".to_owned()),
            Self::Repository(_) | Self::NoProcess(_) | Self::AgentName => None,
        }
    }
}
