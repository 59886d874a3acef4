//! This machine, read once, and its processes, looked up on demand.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::OnceLock;

use jig_session_schema::status;

use crate::evidence::{Evidence, Probe, Record};
use crate::identity::{ProbeError, Process};
#[cfg(target_os = "linux")]
use crate::linux::System;
#[cfg(not(target_os = "linux"))]
use crate::portable::System;
use crate::processes::Processes;
use crate::verdict::{Judgement, verdict};

/// Ids up to here are possible on every system, so the system's own limit is read only for larger ones.
const SMALLEST_PID_MAX: u32 = 32_768;

/// This machine. What does not change during a run is read at most once, and only when it is needed.
#[derive(Debug)]
pub struct Machine {
    system: System,
    boot_id: OnceLock<Option<String>>,
    pid_namespace: OnceLock<Option<String>>,
    machine: OnceLock<Option<String>>,
    pid_max: OnceLock<Option<u32>>,
}

impl Default for Machine {
    fn default() -> Self {
        Self::new()
    }
}

impl Machine {
    /// The machine that this process runs on.
    pub fn new() -> Self {
        Self {
            system: System::new(),
            boot_id: OnceLock::new(),
            pid_namespace: OnceLock::new(),
            machine: OnceLock::new(),
            pid_max: OnceLock::new(),
        }
    }

    /// This run of the kernel.
    pub fn boot_id(&self) -> Option<&str> {
        self.boot_id.get_or_init(|| self.system.boot_id()).as_deref()
    }

    /// The namespace that our process ids belong to.
    pub fn pid_namespace(&self) -> Option<&str> {
        self.pid_namespace.get_or_init(|| self.system.pid_namespace()).as_deref()
    }

    /// This machine, as a digest of its id.
    pub fn machine(&self) -> Option<&str> {
        let digest =
            || self.system.machine_id().map(|id| jig_session_schema::names::hash16(&format!("jig-session{id}")));
        self.machine.get_or_init(digest).as_deref()
    }

    /// When this run of the kernel began, in milliseconds since 1970; it moves with the clock.
    pub fn booted_ms(&self) -> Option<i64> {
        self.system.booted_ms()
    }

    /// Gathers what the verdict on a record needs, and no more.
    pub fn evidence(&self, record: &Record<'_>) -> Evidence<'_> {
        self.evidence_with(record, |pid| self.system.probe(pid))
    }

    fn evidence_with(&self, record: &Record<'_>, probe: impl FnOnce(u32) -> Probe) -> Evidence<'_> {
        let boot_id = self.boot_id();
        let pid = record.valid_pid();
        let mut probe = pid.map_or(Probe::NotMade, probe);
        if let (Some(pid), Some(recorded), Probe::Exists { start: Some(start), own_start, .. }) =
            (pid, record.start, &mut probe)
            && recorded != start
        {
            *own_start = self.system.own_start(pid, start);
        }
        Evidence {
            boot_id,
            pid_namespace: self.pid_namespace(),
            // The boot decides alone when it is the same one.
            machine: if boot_id.is_some() && record.boot_id == boot_id { None } else { self.machine() },
            pid_max: if pid.is_some_and(|pid| pid > SMALLEST_PID_MAX) { self.pid_max() } else { None },
            booted_ms: if record.is_legacy() { self.booted_ms() } else { None },
            probe,
        }
    }

    fn pid_max(&self) -> Option<u32> {
        *self.pid_max.get_or_init(|| self.system.pid_max())
    }
}

impl Processes for Machine {
    fn process(&self, pid: u32) -> Result<Process, ProbeError> {
        self.system.process(pid)
    }

    fn command_line(&self, pid: u32) -> Vec<String> {
        self.system.command_line(pid)
    }

    fn judge(&self, record: &Record<'_>) -> Judgement {
        verdict(record, &self.evidence(record))
    }

    fn identity(&self, start: String) -> status::Process {
        status::Process::new()
            .start(Some(start))
            .boot_id(self.boot_id().map(str::to_owned))
            .pid_namespace(self.pid_namespace().map(str::to_owned))
            .machine(self.machine().map(str::to_owned))
    }

    fn is_missing(&self, pid: u32) -> bool {
        self.system.probe(pid) == Probe::Missing
    }
}

/// One look around: every process is probed once, however many records name it. Make a new one
/// for every look.
#[derive(Debug)]
pub struct Probes<'a> {
    machine: &'a Machine,
    seen: RefCell<HashMap<u32, Probe>>,
}

impl<'a> Probes<'a> {
    /// Nothing was looked at yet.
    pub fn new(machine: &'a Machine) -> Self {
        Self { machine, seen: RefCell::default() }
    }

    /// As [`Machine::evidence`].
    pub fn evidence(&self, record: &Record<'_>) -> Evidence<'a> {
        let probe = |pid| self.machine.system.probe(pid);
        self.machine
            .evidence_with(record, |pid| self.seen.borrow_mut().entry(pid).or_insert_with(|| probe(pid)).clone())
    }
}

impl Processes for Probes<'_> {
    fn process(&self, pid: u32) -> Result<Process, ProbeError> {
        self.machine.process(pid)
    }

    fn command_line(&self, pid: u32) -> Vec<String> {
        self.machine.command_line(pid)
    }

    fn judge(&self, record: &Record<'_>) -> Judgement {
        verdict(record, &self.evidence(record))
    }

    fn identity(&self, start: String) -> status::Process {
        self.machine.identity(start)
    }
}
