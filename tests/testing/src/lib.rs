//! One throw-away home a test: own folders, an environment that holds nothing of the machine's but `PATH`, and the
//! program run in it with a time limit.
//!
//! ```ignore
//! use jig_session_testing::TestEnvironment;
//! let env = TestEnvironment::new();
//! let live = env.live("s-1", |document| document["state"] = "busy".into());
//! assert_eq!(env.jig(&["ls", "--json"]).json()["sessions"][0]["session"], "s-1");
//! ```

#![allow(missing_docs, reason = "the names say it; what they do not say is said")]
#![allow(clippy::disallowed_methods, clippy::missing_panics_doc, reason = "tests read the files that they made")]

pub mod child;
pub mod privacy;
mod process;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tempfile::TempDir;

pub use process::{Output, Running, Sleeper, finish, identity};

/// How long anything may take before a test calls it hung. Generous: the machine may be slow and loaded.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// The program under test. Cargo builds it before the tests of its package and puts it two folders above them.
pub fn program() -> PathBuf {
    let own = std::env::current_exe().expect("the test program has a path");
    let folder = own.parent().and_then(Path::parent).expect("it stands in target/<profile>/deps");
    let program = folder.join("jig-session");
    assert!(program.is_file(), "{} is missing: cargo build", program.display());
    program
}

/// A throw-away home with its folders.
pub struct TestEnvironment {
    dir: TempDir,
    vars: Mutex<Vec<(OsString, OsString)>>,
}

impl TestEnvironment {
    /// A new home: `home/` and `work/` in a temporary folder of this test's own.
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("jig-").tempdir().expect("a temporary folder can be made");
        // The real path: what the program prints must be comparable with what the test holds.
        for name in ["home", "work", "tmp"] {
            private_dir(&dir.path().join(name));
        }
        Self { dir, vars: Mutex::new(Vec::new()) }
    }

    /// The temporary folder that holds everything.
    pub fn root(&self) -> &Path {
        self.dir.path()
    }

    /// `$HOME`.
    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// The working folder of every command.
    pub fn work(&self) -> PathBuf {
        self.root().join("work")
    }

    /// The state folder, as the program finds it without any variable but `HOME`.
    pub fn state_dir(&self) -> PathBuf {
        self.home().join(".local/state/jig")
    }

    /// The folder of status files; made when missing.
    pub fn sessions_dir(&self) -> PathBuf {
        marked_dir(&self.state_dir().join("sessions"))
    }

    /// The folder of request files; made when missing.
    pub fn requests_dir(&self) -> PathBuf {
        marked_dir(&self.state_dir().join("requests"))
    }

    /// pi-king's folder; made when missing.
    pub fn king_dir(&self) -> PathBuf {
        private_dir(&self.home().join(".pi/king/session-status"))
    }

    /// Sets a variable for every command that is started from now on.
    pub fn set(&self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> &Self {
        let mut vars = self.vars.lock().expect("no test thread panics while it holds the variables");
        vars.retain(|(known, _)| known != name.as_ref());
        vars.push((name.as_ref().into(), value.as_ref().into()));
        drop(vars);
        self
    }

    /// A command in this environment: nothing of the machine's but `PATH`.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.work()).stdin(Stdio::null());
        command.env("HOME", self.home()).env("TMPDIR", self.root().join("tmp"));
        command.env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
        for (name, value) in std::env::vars_os().filter(|(name, _)| name == "PATH") {
            command.env(name, value);
        }
        for (name, value) in self.vars.lock().expect("no test thread panics while it holds the variables").iter() {
            command.env(name, value);
        }
        command
    }

    /// The program itself with these arguments, not yet started.
    pub fn jig_command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = self.command(program());
        command.args(args);
        command
    }

    /// Runs the program to its end.
    pub fn jig<S: AsRef<OsStr>>(&self, args: &[S]) -> Output {
        finish(self.jig_command(args), b"")
    }

    /// Runs the program to its end with this on stdin.
    pub fn jig_stdin<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> Output {
        finish(self.jig_command(args), input)
    }

    /// Runs the program to its end in this folder.
    pub fn jig_in<S: AsRef<OsStr>>(&self, dir: &Path, args: &[S]) -> Output {
        let mut command = self.jig_command(args);
        command.current_dir(dir);
        finish(command, b"")
    }

    /// Starts the program and leaves it running: its lines are read as they come.
    pub fn start<S: AsRef<OsStr>>(&self, args: &[S]) -> Running {
        Running::start(self.jig_command(args))
    }

    /// Writes a status document for a live process of its own, which ends with the returned value.
    pub fn live(&self, session: &str, change: impl FnOnce(&mut Value)) -> Live {
        let process = Sleeper::start();
        let mut document = status_document(session, process.pid());
        change(&mut document);
        let path = self.write_status(session, &document);
        Live { process, path, document }
    }

    /// Writes `<session>.json` into the sessions folder in one step.
    pub fn write_status(&self, session: &str, document: &Value) -> PathBuf {
        let path = self.sessions_dir().join(format!("{session}.json"));
        replace(&path, document.to_string().as_bytes());
        path
    }
}

impl Default for TestEnvironment {
    fn default() -> Self {
        Self::new()
    }
}

/// A live session: a sleeping process and the status file that names it.
pub struct Live {
    pub process: Sleeper,
    pub path: PathBuf,
    pub document: Value,
}

impl Live {
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Changes the document and publishes it again.
    pub fn rewrite(&mut self, change: impl FnOnce(&mut Value)) {
        change(&mut self.document);
        replace(&self.path, self.document.to_string().as_bytes());
    }
}

/// A complete status v1 document of a session that began a minute ago in process `pid`.
pub fn status_document(session: &str, pid: u32) -> Value {
    let now = now_ms();
    json!({
        "schema": 1, "session": session, "pid": pid, "cwd": "/home/dev/app",
        "terminal": null, "terminalFrom": null, "agentDir": "/home/dev/.pi/agent",
        "model": { "provider": "acme", "id": "m-2", "name": "M 2" }, "thinking": "medium",
        "state": "idle",
        "context": { "tokens": 1050, "window": 200_000, "percent": 0.5 },
        "usage": { "input": 1000, "output": 50, "cacheRead": 0, "cacheWrite": 0, "cost": 0.004 },
        "tools": { "active": 4, "total": 7 },
        "ticket": null, "workflow": null, "outputs": [], "recent": [], "contextDetail": null, "lastRequest": null,
        "startedAt": timestamp(now - 60_000), "updatedAt": timestamp(now),
        "agent": { "name": "pi", "version": "1.6.0" },
        "process": identity(pid),
        "stateFrom": "event", "stateAt": timestamp(now),
    })
}

/// Milliseconds since the epoch.
#[expect(clippy::disallowed_methods, reason = "the clock of the tests")]
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970");
    i64::try_from(since.as_millis()).expect("the clock is before the year 292 million")
}

/// RFC 3339 in UTC with three fraction digits, counted here by hand so that the tests do not trust the program's own.
pub fn timestamp(epoch_ms: i64) -> String {
    let (days, ms) = (epoch_ms.div_euclid(86_400_000), epoch_ms.rem_euclid(86_400_000));
    // Days since 0000-03-01, in eras of 400 years.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    let (hour, minute, second, milli) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60, ms % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// Writes a file in one step, as every writer of the contract does.
pub fn replace(path: &Path, bytes: &[u8]) {
    let name = path.file_name().expect("the path names a file").to_string_lossy().into_owned();
    let temporary = path.with_file_name(format!(".{name}.tmp-{}-0badcafe", std::process::id()));
    let mut file = fs::File::create(&temporary).expect("the temporary file can be made");
    file.set_permissions(fs::Permissions::from_mode(0o600)).expect("the mode can be set");
    file.write_all(bytes).expect("the temporary file can be written");
    drop(file);
    fs::rename(&temporary, path).expect("the file can be replaced");
}

/// Puts a program at `to`, to be started by tests. Copied by another process: a descriptor open for writing, inherited
/// by a child that another test is just starting, would make the program "busy".
pub fn install_program(from: &Path, to: &Path) {
    let copied = Command::new("install").args(["-m", "755"]).arg(from).arg(to).status().expect("install runs");
    assert!(copied.success(), "{} cannot be copied", from.display());
}

/// Makes a folder and its parents with mode 0700.
pub fn private_dir(path: &Path) -> PathBuf {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).expect("the folder can be made");
    path.to_path_buf()
}

/// The file that marks a folder as jig-session's own.
pub const MARK: &str = ".jig-session";

/// Makes one of jig-session's own folders, with its mark, as a writer makes it.
pub fn marked_dir(path: &Path) -> PathBuf {
    let path = private_dir(path);
    if !path.join(MARK).exists() {
        fs::write(path.join(MARK), "").expect("the mark can be made");
    }
    path
}

/// The names in a folder but for the mark, sorted.
pub fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder can be listed");
    let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    let mut names: Vec<_> = names.filter(|name| name != MARK).collect();
    names.sort();
    names
}

/// Asks again every few milliseconds until there is an answer; fails the test after [`DEADLINE`].
pub fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < end, "this never came: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until something holds, as [`eventually`] does.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    eventually(what, || holds().then_some(()));
}

/// Says on one line that a test could not run, and why.
pub fn skipped(name: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED {name}: {why}");
}
