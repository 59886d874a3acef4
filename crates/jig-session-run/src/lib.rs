//! `jig-session run`: a program in a terminal of its own, unnoticed, and what it reports of itself published.
//!
//! Three processes. The proxy stands at the person's terminal and looks like the program there. The monitor leads the
//! new terminal's session, starts the program and waits for it. The program has a terminal as it would have without us.
//! [`scan`], [`tap`], [`query`] and [`reports`] are pure: bytes in, bytes and events out. The rest is the thin edge.
//!
//! *Limits:* a proxy that is killed leaves the terminal in the program's modes, as a killed program does. What was typed
//! ahead of the program's end is gone with it. An ignored `SIGPIPE` that was inherited does not reach the program: the
//! standard library resets it.

mod link;
mod monitor;
pub mod names;
mod plain;
mod proxy;
mod publish;
mod pump;
pub mod query;
pub mod reports;
pub mod scan;
mod shared;
mod signals;
pub mod tap;
mod terminal;

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use jig_session_publish::{Mode, Now, Publisher};
use jig_session_schema::status::AgentName;

use crate::shared::Shared;

/// Names the session (in the sense of terminals) that a program of `run` is in: a `run` below it only executes.
pub const SESSION_VARIABLE: &str = "JIG_SESSION_RUN";
/// This very program, also when its file was replaced.
const OURSELVES: &str = "/proc/self/exe";
/// What the monitor is called.
const NAME: &str = "jig-session";
/// How long the last write to the state folder may hold up the end.
const LAST_WRITE: Duration = Duration::from_secs(1);
/// The same where the terminal is gone: nobody waits there, and hundreds may go with one terminal server.
const LAST_WRITE_UNSEEN: Duration = Duration::from_secs(20);

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// The agent's name, if set explicitly.
    pub agent: Option<AgentName>,
    /// The program, as it was typed.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// Which of the processes this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// What a person has typed.
    Begin,
    /// At the person's terminal, under the program's name.
    Proxy,
    /// The leader of the program's terminal.
    Monitor,
    /// The same, begun in the background.
    BackgroundMonitor,
    /// What the program takes the place of.
    Program,
    /// The same, begun in the background.
    BackgroundProgram,
}

impl Stage {
    const WORDS: [(Self, &'static str); 5] = [
        (Self::Proxy, "proxy"),
        (Self::Monitor, "monitor"),
        (Self::BackgroundMonitor, "background-monitor"),
        (Self::Program, "program"),
        (Self::BackgroundProgram, "background-program"),
    ];

    /// The stage of a word behind `--stage`.
    #[must_use]
    pub fn of(word: &OsStr) -> Option<Self> {
        Self::WORDS.iter().find(|(_, known)| word == *known).map(|(stage, _)| *stage)
    }

    fn word(self) -> Option<&'static str> {
        Self::WORDS.iter().find(|(stage, _)| *stage == self).map(|(_, word)| *word)
    }
}

impl Spec {
    /// The command line of a stage, behind the program's name.
    #[must_use]
    pub fn to_arguments(&self, stage: Stage) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec!["run".into()];
        if let Some(word) = stage.word() {
            arguments.extend(["--stage".into(), word.into()]);
        }
        if let Some(agent) = &self.agent {
            arguments.extend(["--agent".into(), agent.as_str().into()]);
        }
        arguments.extend(["--".into(), self.program.clone()]);
        arguments.extend(self.arguments.iter().cloned());
        arguments
    }

    /// Reads the command line of a stage, as [`Spec::to_arguments`] wrote it; `None` for anything else.
    #[must_use]
    pub fn of_stage(arguments: &[OsString]) -> Option<(Self, Stage)> {
        let [run, flag, word, rest @ ..] = arguments else { return None };
        if run != "run" || flag != "--stage" {
            return None;
        }
        let stage = Stage::of(word)?;
        let (agent, rest) = match rest {
            [flag, agent, rest @ ..] if flag == "--agent" => (AgentName::new(agent.to_str()?), rest),
            rest => (None, rest),
        };
        let [dashes, program, arguments @ ..] = rest else { return None };
        (dashes == "--").then(|| (Self { agent, program: program.clone(), arguments: arguments.to_vec() }, stage))
    }
}

/// What the binary lends.
pub struct Host {
    /// The one clock.
    pub clock: fn() -> Now,
    /// Makes a publisher of an agent's sessions.
    pub publisher: Box<dyn Fn(AgentName, Mode) -> Publisher + Send>,
    /// The folder of status files.
    pub sessions: PathBuf,
    /// Writes to the log: nothing of ours may be seen on the program's screen.
    pub log: Box<dyn Fn(&str) + Send>,
    /// The value of [`SESSION_VARIABLE`].
    pub within: Option<String>,
    /// `GPG_TTY` is set: it must name the program's terminal.
    pub gpg_tty: bool,
}

/// How the program has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With this code.
    Code(u8),
    /// By this signal.
    Signal(i32),
    /// It could not be started.
    NotStarted {
        /// Why.
        errno: i32,
    },
}

/// Runs the program, and comes back when it has ended.
///
/// # Errors
/// When the system gives no terminal, no process or no thread.
pub fn run(spec: &Spec, stage: Stage, host: Host) -> io::Result<Ending> {
    match stage {
        Stage::Monitor | Stage::BackgroundMonitor => {
            take_name(OsStr::new(NAME));
            monitor::run(spec, stage == Stage::Monitor);
            return Ok(Ending::Code(0));
        }
        Stage::Program | Stage::BackgroundProgram => {
            monitor::become_program(spec, stage == Stage::Program)?;
            return Ok(Ending::Code(1));
        }
        Stage::Begin if is_nested(host.within.as_deref()) => {
            let error = Command::new(&spec.program).args(&spec.arguments).exec();
            return Ok(Ending::NotStarted { errno: error.raw_os_error().unwrap_or_default() });
        }
        Stage::Begin => {
            // What lists a terminal's programs by their first argument sees the program. Where that fails, it sees us.
            let _ = Command::new(OURSELVES).arg0(&spec.program).args(spec.to_arguments(Stage::Proxy)).exec();
        }
        Stage::Proxy => {}
    }
    take_name(&spec.program);
    let agent = names::agent(spec.agent.as_ref(), &spec.program, &spec.arguments, None);
    let titles = jig_session_agents::named(agent.as_str()).map_or(&[][..], |agent| agent.titles);
    let shared = Arc::new(Shared::new(host.clock, titles));
    let gpg = host.gpg_tty;
    let (done, published) = mpsc::channel::<()>();
    let (theirs, what) = (shared.clone(), spec.clone());
    std::thread::Builder::new().name("publish".into()).spawn(move || {
        publish::serve(&theirs, &what, host);
        drop(done);
    })?;
    let in_terminal = terminal::is_there();
    let ending = if in_terminal { proxy::run(spec, &shared, gpg) } else { plain::run(spec, &shared) };
    shared.ended();
    // The channel is closed when the thread has ended; nothing is ever sent.
    let hung_up = in_terminal && !terminal::is_there();
    let _ = published.recv_timeout(if hung_up { LAST_WRITE_UNSEEN } else { LAST_WRITE });
    ending
}

/// Whether `run` was started inside another `run` on the same terminal: reports would be published twice.
fn is_nested(within: Option<&str>) -> bool {
    terminal::own_session().is_some_and(|session| within == Some(session.to_string().as_str()))
}

/// Goes by the program's name where the system lists processes by theirs.
fn take_name(program: &OsStr) {
    let name = names::of_program(program);
    if let Ok(name) = CString::new(OsStr::new(&name).as_bytes()) {
        let _ = rustix::thread::set_name(&name);
    }
}
