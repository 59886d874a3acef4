//! The person's terminal: its modes, its size, who has its foreground; and the new one that the program gets.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use jig_session_liveness::{Machine, Processes};
use nix::unistd::{getpgid, getpgrp, getsid};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, getppid};
use rustix::pty::{OpenptFlags, grantpt, openpt, unlockpt};
use rustix::stdio::{stdin, stdout};
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr, tcsetwinsize};

/// Whether a person's terminal is on both ends: then the program gets one of its own.
pub(crate) fn is_there() -> bool {
    isatty(stdin()) && isatty(stdout())
}

/// Whether standard error is the same terminal as standard input.
pub(crate) fn shows_errors() -> bool {
    let device = |fd| rustix::fs::fstat(fd).map(|stat| stat.st_rdev).ok();
    let stderr = rustix::stdio::stderr();
    isatty(stderr) && device(stderr) == device(stdin())
}

/// This process's session; none where its leader is outside of what this process can see: there the system says 0.
pub(crate) fn own_session() -> Option<i32> {
    getsid(None).ok().map(nix::unistd::Pid::as_raw).filter(|session| *session > 0)
}

/// Whether a shell of this session is above our group: only it lets a stopped job go on.
pub(crate) fn has_shell() -> bool {
    let (group, session) = (getpgrp(), getsid(None).ok());
    let machine = Machine::new();
    let mut above = getppid();
    while let Some(pid) = above {
        let its = nix::unistd::Pid::from_raw(pid.as_raw_nonzero().get());
        if getsid(Some(its)).ok() != session {
            return false;
        }
        if getpgid(Some(its)).is_ok_and(|of| of != group) {
            return true;
        }
        // A script that runs us is in our group; its shell is further up.
        let parent = u32::try_from(pid.as_raw_nonzero().get()).ok().and_then(|pid| machine.process(pid).ok()?.parent);
        above = parent.and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
    }
    false
}

/// The person's terminal.
#[derive(Default)]
pub(crate) struct Terminal {
    /// Its modes as they were before ours.
    saved: Option<Termios>,
}

impl Terminal {
    /// Whether our group may use it. A terminal that is not our controlling one knows no foreground.
    pub(crate) fn is_foreground() -> bool {
        tcgetpgrp(stdin()).map_or(true, |group| group.as_raw_nonzero().get() == getpgrp().as_raw())
    }

    /// Every key goes to the program: its own terminal makes of it what the program wants.
    pub(crate) fn enter(&mut self) {
        if let Ok(modes) = tcgetattr(stdin()) {
            let mut raw = modes.clone();
            raw.make_raw();
            let _ = tcsetattr(stdin(), OptionalActions::Now, &raw);
            self.saved.get_or_insert(modes);
        }
    }

    /// Gives the modes back. In the background they are another one's by now.
    pub(crate) fn leave(&mut self) {
        if let Some(modes) = self.saved.take()
            && Self::is_foreground()
        {
            let _ = tcsetattr(stdin(), OptionalActions::Now, &modes);
        }
    }

    /// Whether our modes are set.
    pub(crate) fn is_entered(&self) -> bool {
        self.saved.is_some()
    }
}

/// Gives the new terminal the size of the person's, pixels included. The kernel notifies the program (SIGWINCH).
pub(crate) fn copy_size(master: impl AsFd) {
    if let Ok(size) = tcgetwinsize(stdin()) {
        let _ = tcsetwinsize(master, size);
    }
}

/// Makes the program's terminal: the proxy's end, and the program's.
pub(crate) fn make(modes: bool) -> io::Result<(OwnedFd, OwnedFd)> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let slave = slave(&master)?;
    if modes && let Ok(modes) = tcgetattr(stdin()) {
        tcsetattr(&slave, OptionalActions::Now, &modes)?;
    }
    copy_size(&master);
    // This end is nobody's but ours.
    fcntl_setfl(&master, fcntl_getfl(&master)? | OFlags::NONBLOCK)?;
    Ok((master, slave))
}

#[cfg(target_os = "linux")]
fn slave(master: &OwnedFd) -> io::Result<OwnedFd> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    // Older kernels know it by its name only.
    rustix::pty::ioctl_tiocgptpeer(master, flags).or_else(|_| by_name(master))
}

#[cfg(not(target_os = "linux"))]
fn slave(master: &OwnedFd) -> io::Result<OwnedFd> {
    by_name(master)
}

fn by_name(master: &OwnedFd) -> io::Result<OwnedFd> {
    let name = rustix::pty::ptsname(master, Vec::new())?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(name.as_c_str(), flags, rustix::fs::Mode::empty())?)
}
