//! The world as it is: this machine's clocks and processes.

use std::sync::OnceLock;

use jig_session_liveness::{Machine, Processes, clock};

use crate::clock::Moment;
use crate::world::{World, digits};

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

    /// The machine that processes are looked up on.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }
}

impl World for System {
    fn now(&self) -> Moment {
        let wall_ms = clock::wall().epoch_ms();
        let mono = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let mono_ms =
            u64::try_from(mono.tv_sec).unwrap_or(0) * 1000 + u64::try_from(mono.tv_nsec).unwrap_or(0) / 1_000_000;
        Moment { wall_ms, mono_ms, boot_id: self.machine.boot_id().map(str::to_owned) }
    }

    fn processes(&self) -> &dyn Processes {
        &self.machine
    }

    fn this(&self) -> (u32, String) {
        let this = || {
            let pid = std::process::id();
            (pid, self.machine.process(pid).map_or_else(|_| "0".to_owned(), |process| digits(&process.start)))
        };
        self.this.get_or_init(this).clone()
    }
}
