//! Every system but Linux: `sysinfo` tells the start in whole seconds and the parents, and nothing of the boot, the
//! machine or a namespace. Compiled and compared with `/proc` on Linux too.

use sysinfo::{Pid, ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, RefreshKind};

use crate::evidence::Probe;
use crate::identity::{ProbeError, Process, ProcessState};

/// How this process sees the system.
#[derive(Debug)]
pub(crate) struct System;

// The same methods as on Linux; what `sysinfo` does not tell is absent.
#[cfg_attr(target_os = "linux", allow(dead_code))]
impl System {
    pub(crate) fn new() -> Self {
        Self
    }

    pub(crate) fn boot_id(&self) -> Option<String> {
        None
    }

    pub(crate) fn pid_namespace(&self) -> Option<String> {
        None
    }

    pub(crate) fn machine_id(&self) -> Option<String> {
        None
    }

    pub(crate) fn pid_max(&self) -> Option<u32> {
        None
    }

    pub(crate) fn booted_ms(&self) -> Option<i64> {
        i64::try_from(sysinfo::System::boot_time()).ok().map(|seconds| seconds * 1000)
    }

    pub(crate) fn process(&self, pid: u32) -> Result<Process, ProbeError> {
        let id = Pid::from_u32(pid);
        let mut system = sysinfo::System::new_with_specifics(RefreshKind::nothing());
        system.refresh_processes_specifics(ProcessesToUpdate::Some(&[id]), true, ProcessRefreshKind::nothing());
        let Some(found) = system.process(id) else { return Err(absent(pid)) };
        let state = match found.status() {
            ProcessStatus::Zombie => ProcessState::Zombie,
            ProcessStatus::Dead => ProcessState::Dead,
            ProcessStatus::Stop | ProcessStatus::Tracing => ProcessState::Stopped,
            _ => ProcessState::Live,
        };
        let seconds = found.start_time();
        Ok(Process {
            pid,
            parent: found.parent().map(Pid::as_u32).filter(|parent| *parent > 0),
            command: found.name().to_string_lossy().into_owned(),
            state,
            terminal: None,
            start: format!("{}:{seconds}", std::env::consts::OS),
            started_ms: i64::try_from(seconds).ok().map(|seconds| seconds * 1000),
        })
    }

    pub(crate) fn own_start(&self, _pid: u32, _start: &str) -> Option<String> {
        None
    }

    pub(crate) fn probe(&self, pid: u32) -> Probe {
        match self.process(pid) {
            Ok(found) => Probe::Exists {
                state: Some(found.state),
                start: Some(found.start),
                own_start: None,
                started_ms: found.started_ms,
            },
            Err(ProbeError::Missing) => Probe::Missing,
            Err(ProbeError::Hidden) => Probe::Exists { state: None, start: None, own_start: None, started_ms: None },
            Err(ProbeError::Failed(errno)) => Probe::Failed(errno),
        }
    }
}

/// What `sysinfo` does not list may still exist: only the system's own answer makes it missing.
#[cfg(unix)]
fn absent(pid: u32) -> ProbeError {
    use rustix::io::Errno;
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else {
        return ProbeError::Missing;
    };
    match rustix::process::test_kill_process(pid) {
        Ok(()) | Err(Errno::PERM) => ProbeError::Hidden,
        Err(Errno::SRCH) => ProbeError::Missing,
        Err(errno) => ProbeError::Failed(Some(errno.raw_os_error())),
    }
}

/// Nothing else is asked there, so what is not listed is not known.
#[cfg(not(unix))]
fn absent(_pid: u32) -> ProbeError {
    ProbeError::Failed(None)
}
