//! A program whose input or output is no terminal: it gets everything as it is, and is only waited for.

use std::io;
use std::process::{Command, Stdio};
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, waitpid};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

use crate::shared::Shared;
use crate::signals::Signals;
use crate::{Ending, SESSION_VARIABLE, Spec};

/// What the terminal sends to the whole group anyway.
const OF_THE_GROUP: [i32; 2] = [SIGINT, SIGQUIT];

/// Runs the program as it would run without us.
///
/// # Errors
/// When signals cannot be listened for. A program that cannot be started is an ending.
pub(crate) fn run(spec: &Spec, shared: &Arc<Shared>) -> io::Result<Ending> {
    let signals = Signals::listen(&[SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2])?;
    let mut command = Command::new(&spec.program);
    command.args(&spec.arguments).stdin(Stdio::inherit());
    if let Some(session) = crate::terminal::own_session() {
        command.env(SESSION_VARIABLE, session.to_string());
    }
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Ok(Ending::NotStarted { errno: error.raw_os_error().unwrap_or_default() }),
    };
    shared.started(child.id());
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?;
    let ending = wait(pid, &signals);
    shared.ended();
    Ok(ending)
}

fn wait(pid: Pid, signals: &Signals) -> Ending {
    loop {
        while let Ok(Some((_, status))) = waitpid(Some(pid), WaitOptions::UNTRACED | WaitOptions::NOHANG) {
            if let Some(code) = status.exit_status() {
                return Ending::Code(u8::try_from(code & 0xff).unwrap_or(1));
            }
            if let Some(signal) = status.terminating_signal() {
                return Ending::Signal(signal);
            }
            // Stopped by itself, it is a stopped job only when we stop as well.
            let _ = kill_process(getpid(), Signal::TSTP);
        }
        let mut fds = [PollFd::from_borrowed_fd(signals.fd(), PollFlags::IN)];
        if poll(&mut fds, None).is_err() {
            continue;
        }
        for signal in signals.taken() {
            let ours = signal == SIGCHLD || OF_THE_GROUP.contains(&signal);
            if let Some(signal) = Signal::from_named_raw(signal).filter(|_| !ours) {
                let _ = kill_process(pid, signal);
            }
        }
    }
}
