//! tmux: one list call and one batch, whatever the number of panes.

mod capture;
mod list;
mod run;

use std::ffi::OsString;

pub use capture::{Capture, CapturedPane, batch, captures};
pub use list::{FORMAT, PaneFacts, list, parse};
pub use run::{DEFAULT_LIMIT, TmuxError, TmuxOutput};

use std::time::Duration;

/// Which tmux server is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Socket {
    /// The one `$TMUX` names, else the default one.
    #[default]
    Default,
    /// `-L`: a name in the socket folder.
    Name(String),
    /// `-S`: a path.
    Path(String),
}

/// A tmux server and how long it may stay silent.
#[derive(Clone, Debug)]
pub struct Server {
    /// Which server.
    pub socket: Socket,
    /// How long a call may go without an answer.
    pub limit: Duration,
}

impl Default for Server {
    fn default() -> Self {
        Self { socket: Socket::Default, limit: DEFAULT_LIMIT }
    }
}

impl Server {
    /// The command line of one tmux command on this server, as it is run and shown.
    pub fn argv(&self, command: &[&str]) -> Vec<String> {
        let mut argv = vec!["tmux".to_owned()];
        match &self.socket {
            Socket::Default => {}
            Socket::Name(name) => argv.extend(["-L".to_owned(), name.clone()]),
            Socket::Path(path) => argv.extend(["-S".to_owned(), path.clone()]),
        }
        argv.extend(command.iter().map(|&word| word.to_owned()));
        argv
    }

    /// Runs one command with UTF-8 output, whatever the locale.
    pub(crate) fn query(&self, command: &[&str], input: &[u8]) -> Result<TmuxOutput, TmuxError> {
        let mut argv: Vec<OsString> = vec!["-u".into()];
        match &self.socket {
            Socket::Default => {}
            Socket::Name(name) => argv.extend(["-L".into(), name.into()]),
            Socket::Path(path) => argv.extend(["-S".into(), path.into()]),
        }
        argv.extend(command.iter().map(OsString::from));
        run::run(&argv, input, self.limit, run::Group::Shared)
    }

    /// Runs a planned command line (see [`argv`](Self::argv)) to its end.
    pub fn execute(&self, argv: &[String]) -> Result<TmuxOutput, TmuxError> {
        let words: Vec<OsString> = argv.iter().skip(1).map(OsString::from).collect();
        run::run(&words, &[], self.limit, run::Group::Own)
    }
}
