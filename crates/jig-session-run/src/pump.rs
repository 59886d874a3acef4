//! The program's output, carried to the terminal by a thread of its own.
//!
//! The terminal is shared with other programs, so its descriptor stays as it is, and a write to one that does not read
//! waits. Only this thread waits then.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::stdio::stdout;

use crate::shared::Shared;
use crate::tap::Tap;

/// What is read at once.
const CHUNK: usize = 64 << 10;
/// What a terminal can hold: more than that was written after the end, by what the program left behind.
const LEFT: usize = 256 << 10;

/// A command to the thread, as a byte in its pipe.
const FLUSH: u8 = b'f';
const DRAIN: u8 = b'd';
const QUIT: u8 = b'q';

/// The thread's handle.
pub(crate) struct Pump {
    orders: OwnedFd,
    wakes: OwnedFd,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    flushed: AtomicBool,
    over: AtomicBool,
}

impl Pump {
    /// Begins to carry.
    pub(crate) fn start(master: &Arc<OwnedFd>, shared: &Arc<Shared>) -> io::Result<Self> {
        let (orders_reader, orders) = io::pipe()?;
        let (wakes, waker) = io::pipe()?;
        let state = Arc::new(State::default());
        let mut carrier = Carrier {
            master: master.clone(),
            shared: shared.clone(),
            orders: orders_reader.into(),
            waker: waker.into(),
            state: state.clone(),
            tap: Tap::default(),
            chunk: vec![0; CHUNK],
            out: Vec::new(),
        };
        std::thread::Builder::new().name("output".into()).spawn(move || {
            carrier.run();
            carrier.state.over.store(true, Ordering::SeqCst);
            carrier.wake();
        })?;
        Ok(Self { orders: orders.into(), wakes: wakes.into(), state })
    }

    /// What can be read when the thread has opened a question, flushed, or ended.
    pub(crate) fn wakes(&self) -> BorrowedFd<'_> {
        self.wakes.as_fd()
    }

    /// Empties that pipe.
    pub(crate) fn woken(&self) {
        let _ = rustix::io::read(&self.wakes, &mut [0; 64]);
    }

    /// Waits until the terminal has what the program has written by now, but not longer than this.
    pub(crate) fn flush(&self, limit: Duration) {
        self.state.flushed.store(false, Ordering::SeqCst);
        self.order(FLUSH);
        let Ok(limit) = Timespec::try_from(limit) else { return };
        while !self.state.flushed.load(Ordering::SeqCst) && !self.is_over() {
            let mut fds = [PollFd::from_borrowed_fd(self.wakes(), PollFlags::IN)];
            if !poll(&mut fds, Some(&limit)).is_ok_and(|ready| ready > 0) {
                return;
            }
            self.woken();
        }
    }

    /// The program has ended: the rest is carried, and then the thread ends.
    pub(crate) fn drain(&self) {
        self.order(DRAIN);
    }

    /// Nobody is there to carry to.
    pub(crate) fn quit(&self) {
        self.order(QUIT);
    }

    /// Whether the thread has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.state.over.load(Ordering::SeqCst)
    }

    fn order(&self, order: u8) {
        let _ = rustix::io::write(&self.orders, &[order]);
    }
}

struct Carrier {
    master: Arc<OwnedFd>,
    shared: Arc<Shared>,
    orders: OwnedFd,
    waker: OwnedFd,
    state: Arc<State>,
    tap: Tap,
    chunk: Vec<u8>,
    out: Vec<u8>,
}

/// What a read brought.
enum Read {
    Some(usize),
    Nothing,
    End,
}

impl Carrier {
    fn run(&mut self) {
        loop {
            let mut fds = [
                PollFd::from_borrowed_fd(self.master.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.orders.as_fd(), PollFlags::IN),
            ];
            match poll(&mut fds, None) {
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(_) => return,
            }
            let (output, order) = (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
            if order {
                match self.order() {
                    FLUSH => {
                        self.carry(LEFT);
                        self.state.flushed.store(true, Ordering::SeqCst);
                        self.wake();
                    }
                    DRAIN => {
                        self.carry(LEFT);
                        self.out.clear();
                        self.tap.finish(&mut self.out);
                        let _ = write_all(&self.out);
                        return;
                    }
                    _ => return,
                }
            } else if output && !self.carry(1) {
                return;
            }
        }
    }

    fn order(&self) -> u8 {
        let mut order = [0];
        match rustix::io::read(&self.orders, &mut order) {
            Ok(1) => order[0],
            _ => QUIT,
        }
    }

    /// Carries what can be read, at least this many bytes if there are so many. False: there will be no more.
    fn carry(&mut self, most: usize) -> bool {
        let mut carried = 0;
        while carried < most {
            match self.read() {
                Read::Some(size) if self.pass(size) => carried += size,
                Read::Some(_) | Read::End => return false,
                Read::Nothing => return true,
            }
        }
        true
    }

    fn read(&mut self) -> Read {
        loop {
            match rustix::io::read(&*self.master, &mut self.chunk) {
                Ok(0) => return Read::End,
                Ok(size) => return Read::Some(size),
                Err(Errno::AGAIN) => return Read::Nothing,
                Err(Errno::INTR) => {}
                // EIO: nobody holds the program's end.
                Err(_) => return Read::End,
            }
        }
    }

    /// Passes a chunk. False: the terminal is gone.
    fn pass(&mut self, size: usize) -> bool {
        let bytes = &self.chunk[..size];
        let shared = &self.shared;
        let mut opened = false;
        // Queries are recorded before the terminal can answer them.
        let on = |sequence: crate::scan::Sequence<'_>| opened |= shared.output(sequence);
        let passed = if shared.takes_out() || self.tap.holds() {
            self.out.clear();
            self.tap.filter(bytes, &mut self.out, on);
            &self.out
        } else {
            self.tap.listen(bytes, on);
            bytes
        };
        if opened {
            self.wake();
        }
        write_all(passed).is_ok()
    }

    fn wake(&self) {
        let _ = rustix::io::write(&self.waker, b"w");
    }
}

/// Writes to the terminal, however long it takes.
fn write_all(mut bytes: &[u8]) -> rustix::io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(stdout(), bytes) {
            Ok(size) => bytes = &bytes[size..],
            Err(Errno::INTR) => {}
            // Somebody else has made the descriptor that we share non-blocking.
            Err(Errno::AGAIN) => {
                let mut fds = [PollFd::from_borrowed_fd(stdout(), PollFlags::OUT)];
                let _ = poll(&mut fds, None);
            }
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}
