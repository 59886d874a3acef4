//! The process between proxy and program: the leader of the new terminal's session.
//!
//! It starts the program in a group of its own and waits for it. As the program's parent in the same session it keeps
//! the program's group from being orphaned: in an orphaned group the kernel drops the stop of Ctrl-Z. It holds the
//! terminal open until the proxy has read everything.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use nix::sys::signal::{self, SigSet};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, kill_process_group, waitpid};
use rustix::stdio::{stdin, stdout};
use rustix::termios::{tcgetpgrp, tcsetpgrp};
use signal_hook::consts::{SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGWINCH};

use crate::link::{Ear, MonitorMessage, ProxyMessage, say};
use crate::signals::Signals;
use crate::{OURSELVES, SESSION_VARIABLE, Spec, Stage};

/// Signals that must not end the monitor before its program has ended.
const SIGNALS: [i32; 10] = [SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH];

/// Runs the program: standard input is the socket to the proxy, standard output is the terminal.
pub(crate) fn run(spec: &Spec, foreground: bool) {
    match Monitor::start(spec, foreground) {
        Ok(monitor) => monitor.serve(),
        Err(error) => say(stdin(), &MonitorMessage::Failed(error.raw_os_error().unwrap_or_default())),
    }
}

/// Becomes the program: a process of the program's own group that takes the foreground before the program's first
/// instruction. A parent could only hand it over afterwards, and where the signal for that moment is ignored (as in
/// tmux) the program would read an error. Standard input is the channel for failures, standard output is the terminal.
pub(crate) fn become_program(spec: &Spec, foreground: bool) -> io::Result<()> {
    let failed = stdin().try_clone_to_owned()?;
    if foreground {
        let before = SigSet::thread_get_mask()?;
        [signal::Signal::SIGTTOU].into_iter().collect::<SigSet>().thread_block()?;
        let _ = tcsetpgrp(stdout(), rustix::process::getpgrp());
        before.thread_set_mask()?;
    }
    let error = Command::new(&spec.program).args(&spec.arguments).stdin(terminal()?).exec();
    let errno = error.raw_os_error().unwrap_or_default();
    let _ = rustix::io::write(&failed, errno.to_string().as_bytes());
    Ok(())
}

struct Monitor {
    child: Pid,
    signals: Signals,
    foreground: bool,
    ended: bool,
    hung_up: bool,
}

impl Monitor {
    fn start(spec: &Spec, foreground: bool) -> io::Result<Self> {
        let session = rustix::process::setsid()?;
        rustix::process::ioctl_tiocsctty(stdout())?;
        // Handlers, not `ignore`: what is ignored would be ignored in the program too.
        let signals = Signals::listen(&SIGNALS)?;
        let stage = if foreground { Stage::Program } else { Stage::BackgroundProgram };
        let (mut failed, theirs) = io::pipe()?;
        let child = Command::new(OURSELVES)
            .arg0(&spec.program)
            .args(spec.to_arguments(stage))
            .process_group(0)
            .stdin(theirs)
            .stdout(terminal()?)
            .stderr(Stdio::inherit())
            .env(SESSION_VARIABLE, session.as_raw_nonzero().to_string())
            .spawn()?;
        let child = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?;
        // From now on the foreground is handed over from the background. Not sooner: a program inherits this.
        [signal::Signal::SIGTTOU].into_iter().collect::<SigSet>().thread_block()?;
        // The pipe ends when the program has taken the place of what became it.
        let mut errno = String::new();
        failed.read_to_string(&mut errno)?;
        if let Ok(errno) = errno.parse() {
            return Err(io::Error::from_raw_os_error(errno));
        }
        say(stdin(), &MonitorMessage::Started(child.as_raw_nonzero().get()));
        Ok(Self { child, signals, foreground, ended: false, hung_up: false })
    }

    fn serve(mut self) {
        let mut ear = Ear::default();
        let mut proxy = true;
        self.reap();
        while proxy || !self.ended {
            let mut fds = vec![PollFd::from_borrowed_fd(self.signals.fd(), PollFlags::IN)];
            if proxy {
                fds.push(PollFd::from_borrowed_fd(stdin(), PollFlags::IN));
            }
            if poll(&mut fds, None).is_err() {
                continue;
            }
            let (signal, spoken) =
                (!fds[0].revents().is_empty(), fds.get(1).is_some_and(|fd| !fd.revents().is_empty()));
            if signal {
                for signal in self.signals.taken() {
                    // The kernel sends SIGHUP to the session leader only; a shell would forward it to the job.
                    if signal == SIGHUP {
                        self.hang_up();
                    }
                    if [SIGTERM, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2].contains(&signal) {
                        self.send(signal);
                    }
                }
                self.reap();
            }
            if spoken {
                match ear.hear(stdin()) {
                    Some(lines) => lines.into_iter().for_each(|wanted| self.obey(wanted)),
                    None => {
                        proxy = false;
                        self.hang_up();
                    }
                }
            }
        }
    }

    fn obey(&mut self, wanted: ProxyMessage) {
        match wanted {
            ProxyMessage::Signal(SIGHUP) => self.hang_up(),
            ProxyMessage::Signal(signal) => self.send(signal),
            ProxyMessage::Foreground | ProxyMessage::Background => {
                let foreground = wanted == ProxyMessage::Foreground;
                if !self.ended {
                    // A program that hands the terminal to its own jobs has its say again when it goes on.
                    let ours = tcgetpgrp(stdout()).is_ok_and(|group| group == rustix::process::getpgrp());
                    if foreground && (ours || !self.foreground) {
                        let _ = tcsetpgrp(stdout(), self.child);
                    } else if !foreground {
                        let _ = tcsetpgrp(stdout(), rustix::process::getpgrp());
                    }
                    let _ = kill_process_group(self.child, Signal::CONT);
                }
                self.foreground = foreground;
            }
        }
    }

    /// The terminal is gone. The proxy says so too: where the signal was ignored when we began, as below `nohup`, the
    /// kernel's is lost, and a program that wants it must have it all the same.
    fn hang_up(&mut self) {
        if !self.ended && !std::mem::replace(&mut self.hung_up, true) {
            let _ = kill_process_group(self.child, Signal::HUP);
            let _ = kill_process_group(self.child, Signal::CONT);
        }
    }

    fn send(&self, signal: i32) {
        if let Some(signal) = Signal::from_named_raw(signal).filter(|_| !self.ended) {
            let _ = kill_process(self.child, signal);
        }
    }

    /// Takes what has become of the program.
    fn reap(&mut self) {
        while !self.ended {
            let options = WaitOptions::UNTRACED | WaitOptions::CONTINUED | WaitOptions::NOHANG;
            let Ok(Some((_, status))) = waitpid(Some(self.child), options) else { return };
            self.became(status);
        }
    }

    fn became(&mut self, status: WaitStatus) {
        if let Some(signal) = status.stopping_signal() {
            say(stdin(), &MonitorMessage::Stopped(signal));
        } else if status.continued() {
            say(stdin(), &MonitorMessage::Continued);
        } else {
            self.ended = true;
            // What the program leaves behind goes on; the hang-up that follows is for the foreground.
            let _ = tcsetpgrp(stdout(), rustix::process::getpgrp());
            let told = match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => MonitorMessage::Exited(code),
                (_, Some(signal)) => MonitorMessage::Killed(signal),
                _ => MonitorMessage::Exited(1),
            };
            say(stdin(), &told);
        }
    }
}

/// The terminal, once more.
fn terminal() -> io::Result<Stdio> {
    let terminal: BorrowedFd<'_> = stdout();
    Ok(terminal.as_fd().try_clone_to_owned()?.into())
}
