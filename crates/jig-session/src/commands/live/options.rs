//! Options shared by `live` and `bulk`: which panes, which tmux server, and how rows are made.

use std::time::Duration;

use jig_session_panes::observe::{Filter, ObserveOptions, statuses};
use jig_session_panes::project::ProjectRule;
use jig_session_panes::tmux::{Server, Socket, TmuxError};
use jig_session_publish::setup;
use serde_json::Value;

use crate::app::App;
use crate::failure::{Code, Failure};

// Which panes. No doc comment: clap prints that of a flattened struct as the help of the command.
#[derive(clap::Args, Debug)]
pub(crate) struct Selection {
    /// Only open sessions: their name, or a folder on their path, begins with open-
    #[arg(long)]
    pub(crate) open_only: bool,
    /// Only panes whose session, project or folder contains this text
    #[arg(long, short, value_name = "TEXT")]
    pub(crate) project: Option<String>,
    /// Only panes of this machine
    #[arg(long, short, value_name = "NAME")]
    pub(crate) machine: Option<String>,
    /// Only these, comma-separated: active, idle, needs_attention, dead
    #[arg(long, value_name = "LIST")]
    pub(crate) status: Option<String>,
}

impl Selection {
    /// The same as words, for the program of another machine; which machine is this one's to say.
    pub(crate) fn words(&self) -> Vec<&str> {
        let mut words = Vec::new();
        words.extend(self.open_only.then_some("--open-only"));
        for (option, value) in [("--project", &self.project), ("--status", &self.status)] {
            if let Some(value) = value {
                words.extend([option, value]);
            }
        }
        words
    }

    pub(crate) fn filter(&self) -> Result<Filter, Failure> {
        let statuses = statuses(self.status.as_deref().unwrap_or_default()).map_err(|word| {
            Failure::new(Code::Usage, format!("unknown status '{word}'. Use: active, idle, needs_attention, dead"))
        })?;
        Ok(Filter {
            open_only: self.open_only,
            project: self.project.clone().filter(|project| !project.trim().is_empty()),
            machine: self.machine.clone().filter(|machine| !machine.trim().is_empty()),
            statuses,
        })
    }
}

// Which tmux server. No doc comment, as above.
#[derive(clap::Args, Debug, Default)]
pub(crate) struct Tmux {
    /// Use the tmux server with this socket name
    #[arg(short = 'L', long = "socket-name", value_name = "NAME", conflicts_with = "socket_path")]
    socket_name: Option<String>,
    /// Use the tmux server at this socket path
    #[arg(short = 'S', long = "socket-path", value_name = "PATH")]
    socket_path: Option<String>,
}

impl Tmux {
    pub(crate) fn server(&self) -> Server {
        let socket = match (&self.socket_name, &self.socket_path) {
            (Some(name), _) => Socket::Name(name.clone()),
            (None, Some(path)) => Socket::Path(path.clone()),
            (None, None) => Socket::Default,
        };
        Server { socket, ..Server::default() }
    }
}

/// A tmux failure as the program's.
pub(crate) fn failure(error: TmuxError) -> Failure {
    let mut failure = Failure::new(Code::TmuxFailed, error.to_string()).errno(error.errno());
    if let Some(hint) = error.hint() {
        failure = failure.hint(hint);
    }
    failure
}

/// How rows are made on this machine.
pub(crate) fn setting(app: &App, tmux: &Tmux, all_targets: bool) -> ObserveOptions {
    let home = app.places().home.to_str().map(|home| home.trim_end_matches('/').to_owned());
    let mut projects = ProjectRule { home, ..ProjectRule::default() };
    if let Some(prefix) = open_prefix(app) {
        projects.open_prefix = prefix;
    }
    ObserveOptions { server: tmux.server(), machine: machine(app), projects, all_targets }
}

/// `panes.openPrefix` of the configuration. An unreadable file sets nothing; `doctor` reports it.
fn open_prefix(app: &App) -> Option<String> {
    let bytes = setup::configuration(&app.places()).ok()??;
    let config: Value = serde_json::from_slice(&bytes).ok()?;
    config["panes"]["openPrefix"].as_str().filter(|prefix| !prefix.is_empty()).map(str::to_owned)
}

/// `$HASNA_MACHINE`, else the host's name up to its first dot.
fn machine(app: &App) -> String {
    if let Some(name) = app.var("HASNA_MACHINE").map(str::trim).filter(|name| !name.is_empty()) {
        return name.to_owned();
    }
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    host.split('.').next().unwrap_or_default().to_owned()
}

/// Seconds above zero.
pub(crate) fn positive_seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.trim().parse().map_err(|_| "must be a positive number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|interval| !interval.is_zero())
        .ok_or_else(|| "must be a positive number of seconds".to_owned())
}
