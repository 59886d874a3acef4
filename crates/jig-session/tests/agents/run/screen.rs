//! A terminal of a test's own, with a program in it that has it as its controlling terminal.

use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::common::{DEADLINE, TestEnvironment, eventually};

/// The terminal: what it was sent is kept.
pub(crate) struct Screen {
    master: Option<Arc<OwnedFd>>,
    shown: Arc<Mutex<Vec<u8>>>,
    reads: Arc<AtomicBool>,
    gone: Arc<AtomicBool>,
    child: Child,
}

/// The size that every screen begins with: rows, columns, pixels.
pub(crate) const SIZE: Winsize = Winsize { ws_row: 31, ws_col: 97, ws_xpixel: 970, ws_ypixel: 620 };

impl Screen {
    /// Starts a command line of a shell in a new terminal; `$J` is the program under test.
    pub(crate) fn shell(env: &TestEnvironment, line: &str) -> Self {
        let mut command = env.command("setsid");
        command.args(["-c", "sh", "-c", line]).env("J", env!("CARGO_BIN_EXE_jig-session")).env("TERM", "xterm");
        Self::start(command)
    }

    /// Starts `run` itself as the leader of a new terminal.
    pub(crate) fn run(env: &TestEnvironment, program: &[&str]) -> Self {
        let mut command = env.command("setsid");
        command.args(["-c", env!("CARGO_BIN_EXE_jig-session"), "run", "--"]).args(program).env("TERM", "xterm");
        command.env("J", env!("CARGO_BIN_EXE_jig-session"));
        Self::start(command)
    }

    /// Starts a command that makes its standard input its controlling terminal.
    pub(crate) fn start(mut command: Command) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
        grantpt(&master).expect("granted");
        unlockpt(&master).expect("unlocked");
        tcsetwinsize(&master, SIZE).expect("a size");
        let slave = ioctl_tiocgptpeer(&master, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC);
        let slave = slave.expect("the other end");
        let copy = || Stdio::from(slave.try_clone().expect("a copy"));
        let child = command.stdin(copy()).stdout(copy()).stderr(copy()).spawn().expect("it starts");
        drop(command);
        drop(slave);
        fcntl_setfl(&master, OFlags::RDWR | OFlags::NONBLOCK).expect("this end is the test's own");
        let (shown, reads) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(true)));
        let gone = Arc::new(AtomicBool::new(false));
        let master = Arc::new(master);
        let reader = (master.clone(), shown.clone(), reads.clone(), gone.clone());
        std::thread::spawn(move || {
            let (master, shown, reads, gone) = reader;
            let mut bytes = vec![0; 1 << 16];
            while !gone.load(Ordering::SeqCst) {
                let mut fds = [PollFd::new(&*master, PollFlags::IN)];
                let limit = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
                let ready = poll(&mut fds, Some(&limit)).unwrap_or(0);
                if ready == 0 || !reads.load(Ordering::SeqCst) {
                    if ready > 0 {
                        std::thread::yield_now();
                    }
                    continue;
                }
                match rustix::io::read(&*master, bytes.as_mut_slice()) {
                    Ok(0) => return,
                    Ok(size) => shown.lock().expect("whole").extend_from_slice(&bytes[..size]),
                    Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
                    Err(_) => return,
                }
            }
        });
        Self { master: Some(master), shown, reads, gone, child }
    }

    /// The process that was started.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Types.
    pub(crate) fn send(&self, bytes: impl AsRef<[u8]>) {
        let mut rest = bytes.as_ref();
        let master = self.master.as_ref().expect("the terminal is there");
        while !rest.is_empty() {
            match rustix::io::write(&**master, rest) {
                Ok(size) => rest = &rest[size..],
                Err(rustix::io::Errno::AGAIN) => std::thread::yield_now(),
                Err(errno) => panic!("cannot type: {errno}"),
            }
        }
    }

    /// Whether the terminal reads what it is sent.
    pub(crate) fn reads(&self, reads: bool) {
        self.reads.store(reads, Ordering::SeqCst);
    }

    pub(crate) fn resize(&self, ws_row: u16, ws_col: u16) {
        tcsetwinsize(&**self.master.as_ref().expect("there"), Winsize { ws_row, ws_col, ..SIZE }).expect("a size");
    }

    /// All that was shown by now.
    pub(crate) fn shown(&self) -> Vec<u8> {
        self.shown.lock().expect("whole").clone()
    }

    /// How much of it there is.
    pub(crate) fn length(&self) -> usize {
        self.shown.lock().expect("whole").len()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.shown()).into_owned()
    }

    /// Waits until this is shown.
    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) {
        self.wait_for_times(text, 1);
    }

    /// Waits until this is shown so often.
    #[track_caller]
    pub(crate) fn wait_for_times(&self, text: &str, times: usize) {
        let until = Instant::now() + DEADLINE;
        while self.text().matches(text).count() < times {
            assert!(Instant::now() < until, "{text:?} was not shown {times} times:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The terminal goes away.
    pub(crate) fn hang_up(&mut self) {
        let master = self.master.take().expect("there");
        self.gone.store(true, Ordering::SeqCst);
        eventually("the reader lets go", || (Arc::strong_count(&master) == 1).then_some(()));
    }

    /// Waits for the end.
    #[track_caller]
    pub(crate) fn end(&mut self) -> ExitStatus {
        let status = eventually("the program ends", || self.child.try_wait().expect("waited for"));
        // What lies in the terminal is read before it is looked at.
        let mut before = usize::MAX;
        while self.master.is_some() && before != self.length() {
            before = self.length();
            std::thread::sleep(Duration::from_millis(60));
        }
        status
    }

    /// Waits for the end, which must be this code.
    #[track_caller]
    pub(crate) fn ends_with(&mut self, code: i32) {
        let status = self.end();
        assert_eq!((status.code(), status.signal()), (Some(code), None), "{}", self.text());
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.gone.store(true, Ordering::SeqCst);
        // A test that fails leaves no program behind, whatever that program ignores.
        let below = if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            descendants(self.child.id())
        } else {
            Vec::new()
        };
        let _ = self.child.kill();
        let _ = self.child.wait();
        for pid in below {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

/// The processes below this one.
fn descendants(pid: u32) -> Vec<rustix::process::Pid> {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|child| child.parse::<u32>().ok());
    children
        .flat_map(|child| {
            let own = i32::try_from(child).ok().and_then(rustix::process::Pid::from_raw);
            own.into_iter().chain(descendants(child))
        })
        .collect()
}
