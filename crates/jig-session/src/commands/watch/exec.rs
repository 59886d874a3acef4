//! Where notices go: a command of the user's, a desktop, the terminal.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};
use std::sync::mpsc::{SyncSender, sync_channel};

use jig_session_export::desktop::{self, Door, Surroundings};
use jig_session_export::notices::Notice;
use rustix::fs::{Mode, OFlags};

use crate::app::App;
use crate::failure::{Code, Failure};
use jig_session_view::rows;

/// So many notices may wait for a command that is slow.
const WAITING: usize = 100;

/// The ways a notice goes.
pub(super) struct Outlets {
    /// Runs commands one after another, so that a slow one delays no line.
    queue: Option<SyncSender<Job>>,
    exec: Option<String>,
    desktop: Option<Desktop>,
}

/// A command that is ready to run.
type Job = Command;

/// The way to a person.
struct Desktop {
    door: Door,
    terminal: Option<OwnedFd>,
    in_tmux: bool,
}

impl Outlets {
    /// Makes ready what was asked for.
    ///
    /// # Errors
    /// When a person is to be notified and there is neither a desktop nor a terminal.
    pub(super) fn open(app: &App, exec: Option<&str>, notify: bool) -> Result<Self, Failure> {
        let desktop = notify.then(|| Desktop::find(app)).transpose()?;
        let queue = (exec.is_some() || desktop.is_some()).then(start);
        Ok(Self { queue, exec: exec.map(str::to_owned), desktop })
    }

    pub(super) fn are_open(&self) -> bool {
        self.queue.is_some()
    }

    pub(super) fn tell(&self, notice: Notice, app: &App) {
        if let Some(desktop) = &self.desktop {
            let message = desktop::message(&notice);
            if let Some(words) = desktop::command(desktop.door, &message) {
                self.run(program(&words), app);
            } else if let Some(sequence) = desktop::sequence(desktop.door, &message, desktop.in_tmux) {
                desktop.write(&sequence);
            }
        }
        if let Some(exec) = &self.exec {
            self.run(shell(exec, &notice, app.json), app);
        }
    }

    fn run(&self, job: Job, app: &App) {
        let Some(queue) = &self.queue else { return };
        if queue.try_send(job).is_err() {
            app.note(&format!("a notice is dropped: {WAITING} are waiting for the commands before it"));
        }
    }
}

fn start() -> SyncSender<Job> {
    let (queue, jobs) = sync_channel::<Job>(WAITING);
    std::thread::spawn(move || {
        for mut job in jobs {
            // The command's failure is its own affair: it says so on stderr itself.
            let _ = job.status();
        }
    });
    queue
}

fn program(words: &[String]) -> Job {
    let mut command = Command::new(words.first().map_or("", String::as_str));
    command.args(words.get(1..).unwrap_or_default());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn shell(exec: &str, notice: &Notice, json: bool) -> Job {
    let mut shell = Command::new("/bin/sh");
    // NUL cannot stand in a variable, and a file can hold it.
    let variables = variables(notice).into_iter().map(|(name, value)| (name, value.replace('\0', "\u{fffd}")));
    shell.arg("-c").arg(exec).envs(variables).stdin(Stdio::null());
    if json {
        // Stdout holds documents only.
        match io::stderr().as_fd().try_clone_to_owned() {
            Ok(stderr) => shell.stdout(stderr),
            Err(_) => shell.stdout(Stdio::null()),
        };
    }
    shell
}

/// What the command is given; unknown is empty.
fn variables(notice: &Notice) -> Vec<(&'static str, String)> {
    let row = &notice.row;
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    vec![
        ("JIG_CHANGE", notice.transition.word().to_owned()),
        ("JIG_SESSION", row.session.clone()),
        ("JIG_AGENT", row.agent_name().to_string()),
        ("JIG_NAME", text(&row.name)),
        ("JIG_STATE", row.state.to_string()),
        ("JIG_REASON", text(&notice.reason)),
        ("JIG_SINCE", rows::in_state_since(row).map(|at| at.to_string()).unwrap_or_default()),
        ("JIG_CWD", row.cwd.clone()),
        ("JIG_PATH", row.path.clone()),
        ("JIG_HOST", text(&row.host)),
        ("JIG_TERMINAL", row.terminal.clone().or_else(|| row.tmux_pane.clone()).unwrap_or_default()),
        ("JIG_TURN_SECONDS", notice.turn_ms.map(|ms| (ms / 1000).to_string()).unwrap_or_default()),
        ("JIG_ESCALATED", if notice.escalated { "1".to_owned() } else { String::new() }),
    ]
}

impl Desktop {
    fn find(app: &App) -> Result<Self, Failure> {
        let has = |name: &str| {
            let path = app.var("PATH").unwrap_or_default();
            path.split(':').any(|folder| std::path::Path::new(folder).join(name).is_file())
        };
        let desktop = ["DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"];
        let door = desktop::door(&Surroundings {
            has_notify_send: has("notify-send"),
            has_osascript: has("osascript"),
            has_desktop: desktop.iter().any(|name| app.var(name).is_some()),
            term: app.var("TERM").unwrap_or_default(),
            term_program: app.var("TERM_PROGRAM").unwrap_or_default(),
        });
        let in_tmux = app.var("TMUX").is_some();
        let by_terminal = matches!(door, Door::Osc9 | Door::Osc777);
        let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::CLOEXEC;
        let terminal = by_terminal.then(|| rustix::fs::open("/dev/tty", flags, Mode::empty())).transpose();
        let terminal = terminal.map_err(|errno| {
            let failure = Failure::new(Code::Unsupported, "--notify: there is no desktop to tell and no terminal");
            let failure = failure.errno(Some(errno.raw_os_error()));
            failure.hint("install notify-send (Debian: libnotify-bin), or name a command with --exec")
        })?;
        Ok(Self { door, terminal, in_tmux })
    }

    fn write(&self, sequence: &str) {
        if let Some(terminal) = &self.terminal {
            // A terminal that is gone has nobody in front of it.
            let _ = rustix::io::write(terminal, sequence.as_bytes());
        }
    }
}
