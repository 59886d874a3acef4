//! The world as it is: this machine's clocks and processes.

use std::sync::OnceLock;
use std::time::SystemTime;

use jig_session_liveness::{Machine, ProbeError, ProcessState, Record as Proof};
use jig_session_schema::status::Process;
use jig_session_schema::time::Timestamp;

use crate::clock::Moment;
use crate::world::{Life, World, digits};

/// This machine.
#[derive(Debug, Default)]
pub struct System {
    machine: Machine,
    this: OnceLock<(u32, String)>,
}

impl System {
    /// This machine; what does not change during a run is read at most once.
    pub fn new() -> Self {
        Self::default()
    }

    /// The machine that is asked.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The identity of a process in the contract's form; `None` when it cannot be told.
    pub fn identity(&self, pid: u32) -> Option<Process> {
        let identity = self.machine.identity_of(pid).ok()?;
        Some(
            Process::new()
                .start(Some(identity.start))
                .boot_id(identity.boot_id)
                .pid_namespace(identity.pid_namespace)
                .machine(identity.machine),
        )
    }
}

impl World for System {
    fn now(&self) -> Moment {
        // The one place where the bus reads the clocks.
        #[allow(clippy::disallowed_methods)]
        let wall_ms = Timestamp::from_system(SystemTime::now()).epoch_ms();
        let mono = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let mono_ms =
            u64::try_from(mono.tv_sec).unwrap_or(0) * 1000 + u64::try_from(mono.tv_nsec).unwrap_or(0) / 1_000_000;
        Moment { wall_ms, mono_ms, boot_id: self.machine.boot_id().map(str::to_owned) }
    }

    fn life(&self, pid: Option<u32>, process: Option<&Process>) -> Life {
        let Some(pid) = pid else { return Life::Unknown };
        let proof = Proof {
            pid: Some(i64::from(pid)),
            start: process.and_then(|process| process.start.as_deref()),
            boot_id: process.and_then(|process| process.boot_id.as_deref()),
            pid_namespace: process.and_then(|process| process.pid_namespace.as_deref()),
            machine: process.and_then(|process| process.machine.as_deref()),
            shared: process.is_some_and(Process::is_shared),
            ..Proof::default()
        };
        let verdict = self.machine.judge(&proof).verdict;
        if verdict.is_over() {
            Life::Gone
        } else if verdict.is_alive() {
            Life::Alive
        } else {
            Life::Unknown
        }
    }

    fn runs(&self, pid: u32, start: &str) -> Option<bool> {
        match self.machine.process(pid) {
            Ok(process) if matches!(process.state, ProcessState::Zombie | ProcessState::Dead) => Some(false),
            Ok(process) => Some(start.is_empty() || digits(&process.start) == start),
            Err(ProbeError::Missing) => Some(false),
            Err(_) => None,
        }
    }

    fn this(&self) -> (u32, String) {
        let this = || {
            let pid = std::process::id();
            (pid, self.machine.process(pid).map(|process| digits(&process.start)).unwrap_or_else(|_| "0".to_owned()))
        };
        self.this.get_or_init(this).clone()
    }

    fn this_process(&self) -> Option<Process> {
        self.identity(std::process::id())
    }
}
