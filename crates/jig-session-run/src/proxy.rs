//! The process between the person's terminal and the program's.
//!
//! Two directions that never wait for each other: a thread carries the program's output to the terminal, and this one
//! carries keys to the program, obeys signals and hears the monitor. Nothing of what is published can hold up either.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Signal, kill_current_process_group};
use rustix::stdio::stdin;
use signal_hook::consts::{
    SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGSTOP, SIGTERM, SIGTTIN, SIGTTOU, SIGUSR1, SIGUSR2, SIGWINCH,
};

use crate::link::{Ear, MonitorMessage, ProxyMessage, say};
use crate::pump::Pump;
use crate::shared::Shared;
use crate::signals::Signals;
use crate::terminal::{self, Terminal};
use crate::{Ending, Spec, Stage};

const SIGNALS: [i32; 8] = [SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH];
/// Keys that the program has not taken yet; more are not read.
const PENDING: usize = 64 << 10;
/// Poll interval of a background job for becoming the foreground: the kernel sends no event for it.
const LOOK: Duration = Duration::from_millis(100);
/// How long the program's end is waited for once its terminal is gone.
const HANG_UP: Duration = Duration::from_secs(10);
/// How long the last output before a stop may take.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long the continuation that follows a stop at once may take to be seen.
const STOPPED: Duration = Duration::from_millis(50);

/// Runs the program in a terminal of its own until it has ended.
///
/// # Errors
/// When no terminal can be made, or no process.
pub(crate) fn run(spec: &Spec, shared: &Arc<Shared>, gpg: bool) -> io::Result<Ending> {
    let signals = Signals::listen(&SIGNALS)?;
    let foreground = Terminal::is_foreground();
    // In the background the modes are those of whoever has the foreground.
    let (master, slave) = terminal::make(foreground)?;
    let (socket, theirs) = UnixStream::pair()?;
    let monitor = start_monitor(spec, (&master, slave), theirs, foreground, gpg)?;
    let mut terminal = Terminal::default();
    if foreground {
        terminal.enter();
    }
    let master = Arc::new(master);
    let pump = Pump::start(&master, shared)?;
    let mut proxy = Proxy {
        shared: shared.clone(),
        signals,
        terminal,
        master: Some(master),
        socket,
        ear: Ear::default(),
        pump,
        keys: Vec::new(),
        input: true,
        stopped: None,
        ending: None,
        monitor,
    };
    let ending = proxy.serve();
    proxy.terminal.leave();
    Ok(ending)
}

fn start_monitor(
    spec: &Spec,
    (master, slave): (&OwnedFd, OwnedFd),
    socket: UnixStream,
    foreground: bool,
    gpg: bool,
) -> io::Result<Child> {
    let mut command = Command::new(crate::OURSELVES);
    command.arg0(crate::NAME);
    let stage = if foreground { Stage::Monitor } else { Stage::BackgroundMonitor };
    command.args(spec.to_arguments(stage)).stdin(OwnedFd::from(socket));
    if gpg && let Ok(name) = rustix::pty::ptsname(master, Vec::new()) {
        command.env("GPG_TTY", name.to_string_lossy().as_ref());
    }
    let errors = if terminal::shows_errors() { slave.try_clone()?.into() } else { Stdio::inherit() };
    command.stdout(slave).stderr(errors).spawn()
}

struct Proxy {
    shared: Arc<Shared>,
    signals: Signals,
    terminal: Terminal,
    master: Option<Arc<OwnedFd>>,
    socket: UnixStream,
    ear: Ear,
    pump: Pump,
    /// What is on its way to the program.
    keys: Vec<u8>,
    /// The terminal can still be read.
    input: bool,
    /// The program is stopped, by this signal.
    stopped: Option<i32>,
    ending: Option<Ending>,
    monitor: Child,
}

/// What can be read or written by now.
#[derive(Default)]
struct Ready {
    signal: bool,
    monitor: bool,
    wake: bool,
    keys: bool,
    program: bool,
}

impl Proxy {
    fn serve(&mut self) -> Ending {
        loop {
            let ready = self.wait();
            if ready.signal {
                for signal in self.signals.taken() {
                    self.signal(signal);
                }
            }
            if ready.wake {
                self.pump.woken();
            }
            if ready.keys {
                self.read_keys();
            }
            let now = self.shared.now().mono;
            self.shared.expire_questions(now, &mut self.keys);
            if ready.program || !self.keys.is_empty() {
                self.write_keys();
            }
            if ready.monitor && !self.hear() {
                // Without the monitor the exit status is unknown; the program's terminal has hung up.
                return self.after_hang_up();
            }
            if let Some(ending) = self.ending {
                return self.end(ending);
            }
            if self.pump.is_over() {
                return self.after_hang_up();
            }
            if !self.input && self.master.is_some() {
                return self.after_hang_up();
            }
            if !self.terminal.is_entered() && self.stopped.is_none() && Terminal::is_foreground() {
                self.go_on();
            }
        }
    }

    fn wait(&mut self) -> Ready {
        let now = self.shared.now().mono;
        let mut left = self.shared.questions_deadline().map(|at| at.saturating_sub(now) + Duration::from_millis(1));
        if !self.terminal.is_entered() {
            left = Some(left.map_or(LOOK, |left| left.min(LOOK)));
        }
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        let listens = self.input && self.terminal.is_entered() && self.keys.len() < PENDING;
        let mut fds = vec![
            PollFd::from_borrowed_fd(self.signals.fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.socket.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.pump.wakes(), PollFlags::IN),
        ];
        let keys = listens.then(|| {
            fds.push(PollFd::from_borrowed_fd(stdin(), PollFlags::IN));
            fds.len() - 1
        });
        let program = self.master.as_ref().filter(|_| !self.keys.is_empty()).map(|master| {
            fds.push(PollFd::from_borrowed_fd(master.as_fd(), PollFlags::OUT));
            fds.len() - 1
        });
        if poll(&mut fds, left.as_ref()).is_err() {
            return Ready::default();
        }
        let is = |place: Option<usize>| place.is_some_and(|place| !fds[place].revents().is_empty());
        Ready { signal: is(Some(0)), monitor: is(Some(1)), wake: is(Some(2)), keys: is(keys), program: is(program) }
    }

    fn signal(&mut self, signal: i32) {
        match signal {
            SIGWINCH => self.copy_size(),
            // The terminal is gone, or somebody wants us to believe so.
            SIGHUP => self.input = false,
            SIGCONT if self.terminal.is_entered() && Terminal::is_foreground() => {
                self.terminal.enter();
                self.copy_size();
            }
            SIGCONT => {}
            _ => say(&self.socket, &ProxyMessage::Signal(signal)),
        }
    }

    fn copy_size(&self) {
        if let Some(master) = &self.master {
            terminal::copy_size(master);
        }
    }

    fn read_keys(&mut self) {
        let mut bytes = [0; 4096];
        match rustix::io::read(stdin(), &mut bytes) {
            Ok(0) => self.input = false,
            Ok(size) => self.shared.keys(&bytes[..size], &mut self.keys),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => self.input = false,
        }
    }

    fn write_keys(&mut self) {
        let Some(master) = &self.master else { return self.keys.clear() };
        match rustix::io::write(master, &self.keys) {
            Ok(size) => drop(self.keys.drain(..size)),
            Err(Errno::INTR | Errno::AGAIN) => {}
            // Nobody will read them any more; the exit status is reported separately.
            Err(_) => self.keys.clear(),
        }
    }

    /// Hears the monitor; false when it is gone.
    fn hear(&mut self) -> bool {
        let Some(lines) = self.ear.hear(&self.socket) else { return self.ending.is_some() };
        for told in lines {
            match told {
                MonitorMessage::Started(pid) => self.shared.started(u32::try_from(pid).unwrap_or_default()),
                MonitorMessage::Failed(errno) => self.ending = Some(Ending::NotStarted { errno }),
                MonitorMessage::Stopped(signal) => self.stop(signal),
                MonitorMessage::Continued => self.continued(),
                MonitorMessage::Exited(code) => {
                    self.ending = Some(Ending::Code(u8::try_from(code & 0xff).unwrap_or(1)))
                }
                MonitorMessage::Killed(signal) => self.ending = Some(Ending::Signal(signal)),
            }
        }
        true
    }

    /// The program was stopped: so are we, as the job that the person's shell knows.
    fn stop(&mut self, signal: i32) {
        self.pump.flush(LAST_WORDS);
        self.shared.stopped(true);
        self.stopped = Some(signal);
        if !terminal::has_shell() {
            // Nobody would let us go on. The kernel drops a stop there, and so do we; but who was stopped from
            // elsewhere goes on when it is continued elsewhere.
            if signal != SIGSTOP {
                self.go_on();
            }
            return;
        }
        self.terminal.leave();
        self.signals.forget(SIGCONT);
        // Never SIGSTOP: the kernel drops this one where it finds no shell above us, whatever we have found.
        let own = match signal {
            SIGTTIN => Signal::TTIN,
            SIGTTOU => Signal::TTOU,
            _ => Signal::TSTP,
        };
        let _ = kill_current_process_group(own);
        let mut signals = [PollFd::from_borrowed_fd(self.signals.fd(), PollFlags::IN)];
        let limit = Timespec::try_from(STOPPED).ok();
        let _ = poll(&mut signals, limit.as_ref());
        let continued = self.signals.has_come(SIGCONT);
        if continued || signal != SIGSTOP {
            self.go_on();
        } else if Terminal::is_foreground() {
            self.terminal.enter();
        }
    }

    /// Modes and size are set again, and the program continued.
    fn go_on(&mut self) {
        self.stopped = None;
        let foreground = Terminal::is_foreground();
        if foreground {
            self.terminal.enter();
            self.copy_size();
        }
        self.shared.stopped(false);
        say(&self.socket, if foreground { &ProxyMessage::Foreground } else { &ProxyMessage::Background });
    }

    /// Somebody else has continued the program.
    fn continued(&mut self) {
        if self.stopped.take().is_some() {
            self.shared.stopped(false);
        }
    }

    /// The program has ended: what it wrote last is still shown.
    fn end(&mut self, ending: Ending) -> Ending {
        self.pump.drain();
        while !self.pump.is_over() {
            let mut fds = [
                PollFd::from_borrowed_fd(self.pump.wakes(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.signals.fd(), PollFlags::IN),
            ];
            let _ = poll(&mut fds, None);
            let (woken, signal) = (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
            if woken {
                self.pump.woken();
            }
            // A terminal that does not read keeps the last output; whoever ends us then does not wait for it.
            if signal && self.signals.taken().iter().any(|signal| ![SIGCONT, SIGWINCH].contains(signal)) {
                break;
            }
        }
        self.shared.ended();
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        if self.pump.is_over() {
            let _ = self.monitor.wait();
        }
        ending
    }

    /// The terminal is gone: the program's hangs up too, and its end is waited for, but not for ever.
    fn after_hang_up(&mut self) -> Ending {
        self.master = None;
        self.pump.quit();
        say(&self.socket, &ProxyMessage::Signal(SIGHUP));
        let until = self.shared.now().mono + HANG_UP;
        while self.ending.is_none() {
            let left = until.saturating_sub(self.shared.now().mono);
            let mut fds = [PollFd::from_borrowed_fd(self.socket.as_fd(), PollFlags::IN)];
            let Ok(limit) = Timespec::try_from(left) else { break };
            if left.is_zero() || poll(&mut fds, Some(&limit)).is_ok_and(|ready| ready == 0) || !self.hear() {
                break;
            }
        }
        self.shared.ended();
        self.ending.unwrap_or(Ending::Signal(SIGHUP))
    }
}
