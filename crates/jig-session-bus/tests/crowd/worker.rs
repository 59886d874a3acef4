//! A worker: this binary in another process, doing one job with the library.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use jig_session_bus::{Bus, Me, System, find_repo};
use jig_session_liveness::Processes;
use jig_session_schema::status::AgentName;

/// How often a session that works for long beats.
pub(crate) const BEAT: Duration = Duration::from_secs(60);

/// Whether the long form was asked for.
pub(crate) fn full() -> bool {
    variable("JIG_FULL").as_deref() == Some("1")
}

pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::vars().find(|(key, _)| key == name).map(|(_, value)| value)
}

/// A folder in memory where there is one: the disk is not what is tried here.
pub(crate) fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.or_else(|_| tempfile::tempdir()).expect("a folder")
}

/// Starts a worker on a job: the test of that name, which does nothing without the job.
pub(crate) fn start(test: &str, job: &[(&str, String)]) -> Child {
    start_by(&[], test, job)
}

/// As [`start`], by another program, which becomes the worker.
pub(crate) fn start_by(by: &[String], test: &str, job: &[(&str, String)]) -> Child {
    let this = std::env::current_exe().expect("this binary");
    let mut command = Command::new(by.first().map_or(this.as_os_str(), |program| program.as_ref()));
    command.args(by.iter().skip(1)).args(by.first().map(|_| this.as_os_str()));
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    for (name, value) in job {
        command.env(name, value);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().expect("it starts")
}

pub(crate) fn was_killed(status: ExitStatus) -> bool {
    std::os::unix::process::ExitStatusExt::signal(&status) == Some(9)
}

/// Ends this process as a crash does.
pub(crate) fn die() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    unreachable!("a killed process does nothing more");
}

/// This process as a session.
pub(crate) fn me(system: &System, id: &str) -> Me {
    let pid = std::process::id();
    let process = system.machine().identity_of(pid).ok();
    Me {
        id: id.to_owned(),
        agent: AgentName::PI,
        model: None,
        pid: Some(pid),
        owner: Me::owner_of(id, Some(pid), process.as_ref(), 0),
        process,
        name: None,
        source: jig_session_bus::who::IdSource::Given,
        timer: true,
    }
}

pub(crate) fn bus<'w>(folder: &Path, system: &'w System) -> Bus<'w> {
    let place = folder.join("place");
    std::fs::create_dir_all(&place).expect("a folder");
    let repo = find_repo(&place, None).expect("a place");
    // A crowd on a slow machine waits for its lock as long as it takes.
    Bus::open(&folder.join("bus"), repo, system).expect("the bus").with_lock_wait(Duration::from_secs(600))
}

/// Numbers that look random and are the same in every run.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// Nanoseconds of the clock that all processes share.
pub(crate) fn nanos() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// How a worker ended; `None` while it runs. Fails instead of hanging.
pub(crate) fn is_over(child: &mut Child, end: Instant) -> Option<ExitStatus> {
    let status = child.try_wait().expect("ours");
    if status.is_none() && Instant::now() > end {
        let _ = child.kill();
        panic!("a worker does not end");
    }
    status
}

/// Waits for a worker's end.
pub(crate) fn wait(child: &mut Child, end: Instant) -> ExitStatus {
    loop {
        if let Some(status) = is_over(child, end) {
            return status;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// One line about the long form, for who runs it.
pub(crate) fn say(line: &str) {
    if full() {
        let _ = writeln!(std::io::stdout(), "{line}");
    }
}

pub(crate) fn job_folder() -> Option<PathBuf> {
    variable("JIG_CROWD").map(PathBuf::from)
}
