//! What the tests of this crate share: children that are this very test program under other conditions.
#![allow(dead_code, unreachable_pub)]

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use jig_session_liveness::{Machine, Processes, Record};
use jig_session_schema::status::Process;

/// The variable that tells a child which process it is to look at.
const SUBJECT: &str = "JIG_LIVENESS_TEST_SUBJECT";

/// A user that owns nothing here.
pub const NOBODY: u32 = 65534;

/// Says why a test did not run, on the stream that the test runner does not keep for itself.
pub fn skipped(name: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED {name}: {why}");
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether the long form was asked for: the figures of the contract instead of a taste of them.
#[allow(clippy::disallowed_methods)]
pub fn full() -> bool {
    std::env::var_os("JIG_FULL").is_some_and(|value| value == "1")
}

/// A process id and its recorded identity, carried to a child in one variable.
pub struct Subject {
    pub pid: u32,
    pub identity: Process,
}

impl Subject {
    pub fn of(pid: u32) -> Self {
        Self { pid, identity: Machine::new().identity_of(pid).expect("it runs") }
    }

    pub fn record(&self) -> Record<'_> {
        Record::of(Some(self.pid), Some(&self.identity))
    }

    /// What this process was started to look at, if it is such a child.
    #[allow(clippy::disallowed_methods)]
    pub fn given() -> Option<Self> {
        let text = std::env::var(SUBJECT).ok()?;
        let mut fields = text.split('|').map(str::to_owned);
        let pid = fields.next()?.parse().ok()?;
        let mut next = || fields.next().filter(|field| !field.is_empty());
        let identity = Process::new().start(next()).boot_id(next()).pid_namespace(next()).machine(next());
        Some(Self { pid, identity })
    }

    fn text(&self) -> String {
        let Process { start, boot_id, pid_namespace, machine, .. } = &self.identity;
        let or = |field: &Option<String>| field.clone().unwrap_or_default();
        format!("{}|{}|{}|{}|{}", self.pid, or(start), or(boot_id), or(pid_namespace), or(machine))
    }
}

/// A child process that ends with the test, however the test ends.
pub struct Running(pub Child);

impl Running {
    pub fn start(program: &str, arguments: &[&str]) -> Self {
        Self(Command::new(program).args(arguments).stdin(Stdio::null()).spawn().expect("it starts"))
    }

    pub fn sleeping() -> Self {
        Self::start("sleep", &["600"])
    }

    pub fn as_nobody() -> Self {
        let mut command = Command::new("sleep");
        Self(command.arg("600").uid(NOBODY).gid(NOBODY).current_dir("/").spawn().expect("it starts"))
    }

    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Ends it and waits for it, so that its id is free.
    pub fn end(mut self) -> u32 {
        let id = self.id();
        let _ = self.0.kill();
        self.0.wait().expect("it ends");
        id
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits for what a signal or a start brings about, generously.
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < end, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Runs one test of this program again behind other programs. `Err` holds why the wrapping failed, which is not the
/// child's failure: the child's is one of the test.
#[track_caller]
pub fn again(wrapper: &[&str], program: Option<&Path>, test: &str, subject: &Subject) -> Result<(), String> {
    let own = std::env::current_exe().expect("the test program has a path");
    let program = program.unwrap_or(&own);
    let mut words: Vec<OsString> = wrapper.iter().map(OsString::from).collect();
    words.push(program.into());
    words.extend([test, "--exact", "--test-threads=1", "--nocapture"].map(OsString::from));
    let first = words.remove(0);
    let output = Command::new(first).args(words).env(SUBJECT, subject.text()).output().map_err(|e| e.to_string())?;
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !text.contains("running 1 test") {
        return Err(text.trim().replace('\n', "; "));
    }
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    Ok(())
}

/// A copy of this program that every user can start.
pub fn open_copy(folder: &Path) -> std::path::PathBuf {
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).expect("the mode can be set");
    let copy = folder.join("test-program");
    // Copied by another program: a descriptor open for writing, inherited by a child of another test that is just being
    // started, would make the copy "busy".
    let own = std::env::current_exe().expect("the test program has a path");
    assert!(Command::new("cp").arg(own).arg(&copy).status().expect("cp runs").success());
    std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o755)).expect("the mode can be set");
    copy
}
