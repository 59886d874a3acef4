//! One tmux process: started, fed, read, and killed when the server does not answer.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// How long a server may stay silent. Progress starts the time anew, so a slow machine is no failure.
pub const DEFAULT_LIMIT: Duration = Duration::from_secs(2);

/// What a tmux process printed, and its exit code.
#[derive(Debug)]
pub struct TmuxOutput {
    /// Its exit code; null when a signal ended it.
    pub code: Option<i32>,
    /// Everything on stdout.
    pub output: Vec<u8>,
    /// Everything on stderr, trimmed.
    pub errors: String,
}

/// Why a tmux command failed. A missing server is no error: it means that there are no panes.
#[derive(Debug, thiserror::Error)]
pub enum TmuxError {
    /// The program cannot be started.
    #[error("cannot start tmux: {0}")]
    Start(#[source] std::io::Error),
    /// Reading from or writing to the process failed.
    #[error("cannot talk to tmux: {0}")]
    Io(#[source] std::io::Error),
    /// The server sent nothing for the time in seconds.
    #[error("the tmux server does not answer within {0} s")]
    Silent(u64),
    /// tmux refused.
    #[error("tmux failed: {0}")]
    Refused(String),
    /// The output does not have the requested format.
    #[error("tmux answered in an unknown form; version 3.2 or newer is needed")]
    Form,
}

impl TmuxError {
    /// What a person can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Start(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Some("install tmux, or add its folder to PATH")
            }
            Self::Silent(_) => Some("see whether the server is stopped: its process must be in state S, not T"),
            Self::Refused(text) if text.contains("ermission denied") || text.contains("not allowed") => {
                Some("the server belongs to another user; name your own with -L or -S")
            }
            Self::Form => Some("see tmux -V"),
            _ => None,
        }
    }

    /// The system's error number, when there is one.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Start(error) | Self::Io(error) => error.raw_os_error(),
            _ => None,
        }
    }
}

/// Input up to this size fits into the pipe at once, so that no thread is needed to feed it.
const PIPE: usize = 32 * 1024;

/// Whether Ctrl+C at the terminal may end the process too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// It may: nobody waits for the result any more.
    Shared,
    /// It may not: what has begun is finished.
    Own,
}

pub(super) fn run(args: &[OsString], input: &[u8], limit: Duration, group: Group) -> Result<TmuxOutput, TmuxError> {
    let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
    let mut command = Command::new("tmux");
    #[cfg(unix)]
    if group == Group::Own {
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
    }
    let mut child = command
        .args(args)
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(TmuxError::Start)?;
    let fed = feed(&mut child, input);
    let answer = read(&mut child, limit);
    if answer.is_err() {
        // It may have ended by itself in between; either way it must not stay.
        let _ = child.kill();
    }
    let status = child.wait().map_err(TmuxError::Io)?;
    let output = answer?;
    let mut errors = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        let mut bytes = Vec::new();
        stderr.read_to_end(&mut bytes).map_err(TmuxError::Io)?;
        errors.push_str(String::from_utf8_lossy(&bytes).trim());
    }
    if let Some(thread) = fed {
        // A tmux that ended early did not read everything; its exit code and stderr say why.
        let _ = thread.join();
    }
    if errors.contains("access not allowed") {
        // The client ends with exit code 0.
        return Err(TmuxError::Refused(errors));
    }
    Ok(TmuxOutput { code: status.code(), output, errors })
}

/// Writes the input; a large one from a thread of its own, because tmux answers while it reads.
fn feed(child: &mut Child, input: &[u8]) -> Option<thread::JoinHandle<()>> {
    let mut stdin = child.stdin.take()?;
    if input.len() <= PIPE {
        // A closed pipe means that tmux ended early: its exit code and stderr say why.
        let _ = stdin.write_all(input);
        return None;
    }
    let input = input.to_vec();
    Some(thread::spawn(move || {
        let _ = stdin.write_all(&input);
    }))
}

/// Reads stdout to its end, giving up after a time without any progress.
fn read(child: &mut Child, limit: Duration) -> Result<Vec<u8>, TmuxError> {
    let Some(mut stdout) = child.stdout.take() else { return Ok(Vec::new()) };
    let progress = Arc::new(AtomicUsize::new(0));
    let (sender, receiver) = channel();
    let count = Arc::clone(&progress);
    thread::spawn(move || {
        let mut output = Vec::with_capacity(16 * 1024);
        let mut buffer = [0; 16 * 1024];
        let result = loop {
            match stdout.read(&mut buffer) {
                Ok(0) => break Ok(output),
                Ok(read) => {
                    output.extend_from_slice(&buffer[..read]);
                    count.fetch_add(read, Ordering::Relaxed);
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        // The receiver is gone when the time was over.
        let _ = sender.send(result);
    });
    let mut seen = 0;
    loop {
        match receiver.recv_timeout(limit) {
            Ok(result) => return result.map_err(TmuxError::Io),
            Err(RecvTimeoutError::Timeout) => {
                let now = progress.load(Ordering::Relaxed);
                if now == seen {
                    return Err(TmuxError::Silent(limit.as_secs()));
                }
                seen = now;
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(TmuxError::Io(std::io::Error::other("the reading thread ended")));
            }
        }
    }
}
