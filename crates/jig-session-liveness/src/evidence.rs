//! What a record says and what the system says: the two inputs of the verdict.

use crate::identity::ProcessState;

/// What a file says about the process that wrote it. Everything is as it was read; nothing is checked yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record<'a> {
    /// The process id as the document has it; `None` when it has none.
    pub pid: Option<i64>,
    /// `process.start`.
    pub start: Option<&'a str>,
    /// `process.bootId`.
    pub boot_id: Option<&'a str>,
    /// `process.pidNamespace`.
    pub pid_namespace: Option<&'a str>,
    /// `process.machine`.
    pub machine: Option<&'a str>,
    /// `process.shared`: the process serves several sessions, so its life proves none of them.
    pub shared: bool,
    /// The newest stamp that its writer set: the larger of started and updated, in milliseconds since 1970. Used only
    /// for records without an identity.
    pub written_ms: Option<i64>,
    /// The file's own time, in milliseconds since 1970: a file touched since the machine was started is no proof that
    /// its writer is not of this run. Used only for records without an identity.
    pub file_ms: Option<i64>,
    /// The file lies on a file system of this machine. Used only for records without an identity.
    pub local: bool,
}

impl<'a> Record<'a> {
    /// Whether two records name one process: the same pid and the same start, and nothing else that both say differs.
    /// Records that say no more than the pid are the same as far as can be known; who needs proof asks
    /// [`Record::is_proof`] too.
    #[must_use]
    pub fn same_process(&self, other: &Record<'_>) -> bool {
        let agree = |mine: Option<&str>, theirs: Option<&str>| mine.zip(theirs).is_none_or(|(a, b)| a == b);
        self.valid_pid().is_some()
            && (self.pid, self.start) == (other.pid, other.start)
            && agree(self.boot_id, other.boot_id)
            && agree(self.pid_namespace, other.pid_namespace)
            && agree(self.machine, other.machine)
    }

    /// Whether the record says enough to tell its process from every other one.
    #[must_use]
    pub fn is_proof(&self) -> bool {
        self.valid_pid().is_some() && self.start.is_some()
    }

    /// Whether the writer recorded nothing but the id.
    pub fn is_legacy(&self) -> bool {
        self.start.is_none() && self.boot_id.is_none() && self.pid_namespace.is_none() && self.machine.is_none()
    }

    /// The id, if a process can have it.
    pub fn valid_pid(&self) -> Option<u32> {
        let pid = self.pid.filter(|pid| (1..=i64::from(i32::MAX)).contains(pid))?;
        u32::try_from(pid).ok()
    }
}

/// What the system says about a process id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// Not probed: the record has no usable id.
    NotMade,
    /// No process has the id.
    Missing,
    /// A process has it.
    Exists {
        /// Its state, where the system shows it.
        state: Option<ProcessState>,
        /// Its start, where the system shows it.
        start: Option<String>,
        /// Its start as the process itself sees it, when it lives in another time namespace than we do.
        own_start: Option<String>,
        /// Its start in milliseconds since 1970.
        started_ms: Option<i64>,
    },
    /// The system failed, with this errno where it gave one.
    Failed(Option<i32>),
}

/// What the system says about this machine and one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence<'a> {
    /// This run of the kernel.
    pub boot_id: Option<&'a str>,
    /// The namespace that our process ids belong to.
    pub pid_namespace: Option<&'a str>,
    /// This machine.
    pub machine: Option<&'a str>,
    /// The largest process id that this system gives.
    pub pid_max: Option<u32>,
    /// When this run of the kernel began, in milliseconds since 1970.
    pub booted_ms: Option<i64>,
    /// The process.
    pub probe: Probe,
}
