//! What the system shows of one process.

use std::fmt;

/// The state of a process, as the kernel reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProcessState {
    /// It runs, waits or sleeps.
    Live,
    /// It was stopped by a signal or a debugger; it lives.
    Stopped,
    /// It has ended and its parent has not reaped it yet.
    Zombie,
    /// It is being taken down.
    Dead,
}

impl ProcessState {
    /// One word for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Live => "running",
            Self::Stopped => "stopped",
            Self::Zombie => "zombie",
            Self::Dead => "dead",
        }
    }
}

/// A process as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Its parent's id; `None` for the first process of a namespace.
    pub parent: Option<u32>,
    /// Its short name: on Linux at most 15 bytes, and a program can change its own.
    pub command: String,
    /// Its state.
    pub state: ProcessState,
    /// The leader of its session; `None` when that is no process of this pid namespace, as for what a container starts
    /// from outside, or when the system does not tell.
    pub session: Option<u32>,
    /// The device number of its controlling terminal; `None` when it has none, or when the system does not tell.
    pub terminal: Option<u64>,
    /// When it started, in the form of `process.start`: opaque text, compared for equality only.
    pub start: String,
    /// When it started, in milliseconds since 1970, as exact as the system reports it. For display and for records that
    /// hold no identity; it moves with the clock.
    pub started_ms: Option<i64>,
}

/// Why nothing is known of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeError {
    /// There is no such process.
    Missing,
    /// There is one, and the system does not show it to this user.
    Hidden,
    /// The system failed, with this errno where it gave one.
    Failed(Option<i32>),
}

impl fmt::Display for ProbeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("there is no such process"),
            Self::Hidden => f.write_str("the system does not show that process to this user"),
            Self::Failed(Some(errno)) => {
                write!(f, "the process cannot be looked at: {}", std::io::Error::from_raw_os_error(*errno))
            }
            Self::Failed(None) => f.write_str("the process cannot be looked at"),
        }
    }
}

impl std::error::Error for ProbeError {}
