//! Why a host ends before its session does.

use jig_session_publish::serve;

/// What ends the host.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A line could not be written to the bridge. A bridge that is gone is no error: its end of input comes next.
    #[error("cannot write to the bridge: {0}")]
    Bridge(#[source] std::io::Error),
    /// Lines cannot be read, or signals not be taken.
    #[error(transparent)]
    Stdin(#[from] serve::Error),
    /// The session bus.
    #[error(transparent)]
    Bus(#[from] jig_session_bus::Error),
    /// A file or folder.
    #[error(transparent)]
    Folder(#[from] jig_session_atomic::Error),
    /// The repository of the session's folder.
    #[error(transparent)]
    Repository(#[from] jig_session_git::Error),
}
