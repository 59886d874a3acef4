//! The context of every command: the environment as it was at the start, the clock, and the output.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use jig_session_schema::formats::Document;
use jig_session_schema::places::{Environment, Places};
use jig_session_schema::time::Timestamp;
use rustix::event::{PollFd, PollFlags, poll};
use serde::Serialize;

use crate::closed;
use crate::failure::{Code, Failure};
use jig_session_view::sanitise;

/// Bytes that are worth a write.
const FULL: usize = 64 << 10;

/// One run of the program.
#[derive(Clone)]
pub(crate) struct App {
    /// The environment, read once.
    pub(crate) env: Vec<(OsString, OsString)>,
    /// `--json` is set.
    pub(crate) json: bool,
    /// Colour is wanted on stdout.
    pub(crate) color: bool,
}

impl App {
    pub(crate) fn new(json: bool, color: Option<bool>) -> Self {
        let env: Vec<_> = std::env::vars_os().collect();
        let plain = env.iter().any(|(name, value)| name == "NO_COLOR" && !value.is_empty());
        let color = color.unwrap_or_else(|| !plain && io::stdout().is_terminal());
        Self { env, json, color }
    }

    /// A variable's value; one that is not UTF-8 counts as unset.
    pub(crate) fn var(&self, name: &str) -> Option<&str> {
        self.env.iter().find(|(n, _)| n == name).and_then(|(_, value)| value.to_str()).filter(|value| !value.is_empty())
    }

    /// A variable's value as the system has it.
    pub(crate) fn os_var(&self, name: &str) -> Option<&OsStr> {
        self.env.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_os_str()).filter(|value| !value.is_empty())
    }

    /// The environment for what works on it without the rest of the program.
    pub(crate) fn environment(&self) -> Environment {
        let usable = |home: &OsStr| Path::new(home).is_absolute();
        // Resolved lazily: the lookup can go over the network.
        let account = if self.os_var("HOME").is_some_and(usable) { None } else { account_home() };
        Environment::new(self.env.iter().cloned()).with_account_home(account)
    }

    /// Every folder and file of this run.
    pub(crate) fn places(&self) -> Places {
        Places::of(&self.environment())
    }

    /// The time, from the program's one clock.
    pub(crate) fn now(&self) -> Timestamp {
        jig_session_liveness::clock::wall()
    }

    /// How wide the terminal on stdout is; `None` when stdout is none.
    pub(crate) fn width(&self) -> Option<usize> {
        let stdout = io::stdout();
        if !stdout.is_terminal() {
            return None;
        }
        let size = rustix::termios::tcgetwinsize(&stdout).ok();
        // A terminal that does not tell is as wide as the first ones were.
        Some(size.map_or(80, |size| usize::from(size.ws_col)).max(1))
    }

    /// Writes text to stdout; the caller ends its lines itself.
    pub(crate) fn print(&self, text: &str) -> Result<(), Failure> {
        closed::require_stdout()?;
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(stdout_failed)
    }

    /// Writes one document on one line, as it is made: a long one never stands in memory as a whole.
    pub(crate) fn print_json(&self, document: &impl Document) -> Result<(), Failure> {
        self.write_json(document)
    }

    /// Writes an answer in an agent's own form, which is no format of ours.
    pub(crate) fn print_agents_form(&self, form: &serde_json::Value) -> Result<(), Failure> {
        self.write_json(form)
    }

    fn write_json(&self, document: &impl Serialize) -> Result<(), Failure> {
        closed::require_stdout()?;
        let mut out = Escaped { to: io::stdout().lock(), text: Vec::new() };
        let written = serde_json::to_writer(&mut out, document).map_err(io::Error::from);
        out.text.push(b'\n');
        written.and_then(|()| out.flush()).map_err(stdout_failed)
    }

    /// Ends the program as soon as nobody reads stdout any more. Who writes only when something happens would notice it
    /// at the next line, which may never come.
    pub(crate) fn end_with_reader(&self) {
        std::thread::spawn(|| {
            let stdout = rustix::stdio::stdout();
            let mut watched = [PollFd::from_borrowed_fd(stdout, PollFlags::empty())];
            loop {
                match poll(&mut watched, None) {
                    Err(rustix::io::Errno::INTR) => {}
                    Ok(_) if watched[0].revents().intersects(PollFlags::ERR | PollFlags::HUP) => std::process::exit(0),
                    _ => return,
                }
            }
        });
    }

    /// Writes a note for people to stderr, foreign text in it cleaned. A stderr that cannot be written is nobody's
    /// loss.
    pub(crate) fn note(&self, text: &str) {
        let _ = writeln!(io::stderr().lock(), "{}", sanitise::clean_lines(text));
    }
}

/// The home folder that the password database names for this user.
fn account_home() -> Option<PathBuf> {
    let user = nix::unistd::User::from_uid(nix::unistd::getuid()).ok()??;
    Some(user.dir).filter(|home| home.is_absolute())
}

/// JSON on its way out, in which what could steer a terminal is escaped. A long document never stands in memory whole.
struct Escaped<W> {
    to: W,
    text: Vec<u8>,
}

impl<W: Write> Escaped<W> {
    fn pass(&mut self) -> io::Result<()> {
        let part = std::str::from_utf8(&self.text).map_err(io::Error::other)?;
        self.to.write_all(sanitise::escape_json(part).as_bytes())?;
        self.text.clear();
        Ok(())
    }
}

impl<W: Write> Write for Escaped<W> {
    /// A serialiser writes whole characters, so that the text between two writes is always one.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        if self.text.len() >= FULL {
            self.pass()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pass()?;
        self.to.flush()
    }
}

/// A closed pipe is the reader's choice: `cli::main` ends quietly on it.
fn stdout_failed(error: io::Error) -> Failure {
    let errno = error.raw_os_error();
    Failure::new(Code::Io, format!("cannot write to stdout: {error}")).errno(errno)
}
