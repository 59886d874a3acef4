//! Every system but Linux: `sysinfo` reports the start in whole seconds and the parents, and nothing of the boot, the
//! machine or a namespace. Compiled and compared with `/proc` on Linux too.

use sysinfo::{Pid, ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, RefreshKind, UpdateKind};

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
            session: found.session_id().map(Pid::as_u32).filter(|leader| *leader > 0),
            terminal: None,
            start: format!("{}:{seconds}", std::env::consts::OS),
            started_ms: i64::try_from(seconds).ok().map(|seconds| seconds * 1000),
        })
    }

    pub(crate) fn command_line(&self, pid: u32) -> Vec<String> {
        let id = Pid::from_u32(pid);
        let mut system = sysinfo::System::new_with_specifics(RefreshKind::nothing());
        let kind = ProcessRefreshKind::nothing().with_cmd(UpdateKind::Always);
        system.refresh_processes_specifics(ProcessesToUpdate::Some(&[id]), true, kind);
        let words = system.process(id).map(sysinfo::Process::cmd).unwrap_or_default();
        words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
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

/// Nothing else is queried there, so an unlisted process is unknown.
#[cfg(not(unix))]
fn absent(_pid: u32) -> ProbeError {
    ProbeError::Failed(None)
}

/// The two back ends, queried for the same processes.
#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;
    use crate::linux;

    struct Ended(Child);

    impl Drop for Ended {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn start(program: &str, arguments: &[&str]) -> Ended {
        let mut command = Command::new(program);
        Ended(command.args(arguments).stdin(Stdio::piped()).spawn().expect("it starts"))
    }

    /// Waits until both say what is expected: a signal takes its time.
    fn both(pid: u32, is: impl Fn(&Process) -> bool) -> (Process, Process) {
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            let ours = linux::System::new().process(pid).expect("it is there");
            let theirs = System::new().process(pid).expect("it is there");
            if (is(&ours) && is(&theirs)) || Instant::now() > end {
                return (ours, theirs);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn agree(pid: u32, state: ProcessState) {
        let (ours, theirs) = both(pid, |process| process.state == state);
        assert_eq!((ours.state, theirs.state), (state, state));
        assert_eq!((ours.pid, ours.parent), (theirs.pid, theirs.parent));
        assert_eq!(ours.command, theirs.command);
        let apart = ours.started_ms.zip(theirs.started_ms).map(|(a, b)| (a - b).abs());
        assert!(apart.is_some_and(|ms| ms <= 2000), "starts are {apart:?} ms apart");
        assert_eq!(theirs.start, format!("linux:{}", theirs.started_ms.expect("told") / 1000));
    }

    #[test]
    fn they_agree_on_the_living_the_stopped_and_the_dead() {
        agree(std::process::id(), ProcessState::Live);
        let sleeping = start("sleep", &["600"]);
        agree(sleeping.0.id(), ProcessState::Live);
        let stopped = start("sh", &["-c", "kill -STOP $$; sleep 600"]);
        agree(stopped.0.id(), ProcessState::Stopped);
        let zombie = start("true", &[]);
        agree(zombie.0.id(), ProcessState::Zombie);
        let gone = {
            let mut ended = start("true", &[]);
            ended.0.wait().expect("it ends");
            ended.0.id()
        };
        let answers = (linux::System::new().probe(gone), System::new().probe(gone));
        assert_eq!(answers, (Probe::Missing, Probe::Missing));
        for absurd in [0, u32::MAX, i32::MAX as u32] {
            assert_eq!(System::new().probe(absurd), Probe::Missing, "{absurd}");
            assert_eq!(linux::System::new().probe(absurd), Probe::Missing, "{absurd}");
        }
    }

    #[test]
    fn they_agree_on_the_ancestors() {
        let chain = |parent_of: &dyn Fn(u32) -> Option<u32>| {
            let mut pids = vec![std::process::id()];
            while let Some(next) = parent_of(pids[pids.len() - 1]).filter(|next| !pids.contains(next)) {
                pids.push(next);
            }
            pids
        };
        let (ours, theirs) = (linux::System::new(), System::new());
        let by_us = chain(&|pid| ours.process(pid).ok()?.parent);
        assert!(by_us.len() > 1);
        assert_eq!(by_us, chain(&|pid| theirs.process(pid).ok()?.parent));
    }

    #[test]
    fn a_boot_both_date_alike() {
        let apart = (linux::System::new().booted_ms().expect("told") - System::new().booted_ms().expect("told")).abs();
        assert!(apart < 5000, "{apart} ms apart");
    }
}
