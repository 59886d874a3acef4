//! The loop that `publish` and `host` share: lines from stdin, signals, and the time when something is due.
//!
//! One thread waits in `poll(2)` for all three, so that a line, a signal and a timer can never race inside the
//! service. The service says when it wants to be called next; it is called at that time however busy stdin is.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::Now;

/// What is read from stdin at once, in bytes.
const CHUNK: usize = 16 * 1024;
/// How many chunks that lie ready are read before the service is called in between.
const CHUNKS: usize = 8;

/// A line of stdin, without its end.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// The line's bytes.
    Bytes(&'a [u8]),
    /// The line was longer than the limit; its bytes were dropped.
    TooLong,
}

/// Why the loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// End of input: the feeder is gone.
    Input,
    /// Terminated by a signal.
    Signal(i32),
    /// Ended by the service itself.
    Service,
}

/// Whether the loop goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// It does.
    Go,
    /// It ends.
    Stop,
}

/// The loop cannot go on.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what}: {source}")]
pub struct Error {
    what: &'static str,
    source: io::Error,
}

impl Error {
    fn new(what: &'static str, source: impl Into<io::Error>) -> Self {
        Self { what, source: source.into() }
    }

    /// The system's number, where it gave one.
    pub fn errno(&self) -> Option<i32> {
        self.source.raw_os_error()
    }
}

/// What the loop serves.
pub trait Service {
    /// Why the service, or the loop below it, cannot go on.
    type Error: From<Error>;

    /// Takes one line; lines are counted from 1. A failure ends the loop.
    fn line(&mut self, number: u64, line: Line<'_>, now: Now) -> Result<Flow, Self::Error>;
    /// Called when the deadline has passed and after every batch of lines: what may take long, such as a write to the
    /// disk, belongs here, since a question that lies ready on stdin is answered first.
    fn tick(&mut self, now: Now) -> Result<Flow, Self::Error>;
    /// The monotonic time at which `tick` is wanted; `None`: only after lines.
    fn deadline(&self) -> Option<Duration>;
    /// A descriptor that wakes the loop for a `tick` when it can be read, such as a folder watch.
    fn wakes(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// What may differ between the two users of the loop.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Signals that end the loop.
    pub ends: &'static [i32],
    /// Signals that are taken and ignored.
    pub ignored: &'static [i32],
    /// The longest line that is handed on, in bytes.
    pub longest: usize,
}

/// Serves stdin until it ends, a signal comes, or the service stops. What is left to do at the end is the caller's.
///
/// # Errors
/// The service's own, which end the loop, and [`Error`] when stdin or signals cannot be read.
pub fn run<S: Service>(service: &mut S, options: &Options) -> Result<End, S::Error> {
    let signals = Signals::listen(options)?;
    let mut lines = Lines::new(options.longest);
    let mut chunk = vec![0; CHUNK];
    let mut chunks = 0;
    loop {
        let woken = wait(&signals, service)?;
        if woken.signal
            && let Some(signal) = signals.taken(options.ends)?
        {
            return Ok(End::Signal(signal));
        }
        if woken.input {
            let size = match rustix::io::read(rustix::stdio::stdin(), chunk.as_mut_slice()) {
                Ok(size) => size,
                Err(Errno::INTR | Errno::AGAIN) => continue,
                Err(errno) => return Err(Error::new("read stdin", errno).into()),
            };
            let flow = if size == 0 {
                lines.finish(|number, line| service.line(number, line, Now::read()))?;
                return Ok(End::Input);
            } else {
                lines.push(&chunk[..size], |number, line| service.line(number, line, Now::read()))?
            };
            if flow == Flow::Stop {
                return Ok(End::Service);
            }
            chunks += 1;
            if chunks < CHUNKS && more_input()? {
                continue;
            }
        }
        chunks = 0;
        if service.tick(Now::read())? == Flow::Stop {
            return Ok(End::Service);
        }
    }
}

/// What ended a wait.
struct Woken {
    input: bool,
    signal: bool,
}

fn wait<S: Service>(signals: &Signals, service: &S) -> Result<Woken, Error> {
    let left = service.deadline().map(|at| at.saturating_sub(Now::read().mono));
    // Rounded up: a wait that ends a moment too early would only turn the loop once more for nothing.
    let left = left.map(|left| left + Duration::from_millis(1));
    let limit = left.and_then(|left| Timespec::try_from(left).ok());
    let mut fds = vec![
        PollFd::from_borrowed_fd(rustix::stdio::stdin(), PollFlags::IN),
        PollFd::from_borrowed_fd(signals.reader.as_fd(), PollFlags::IN),
    ];
    if let Some(fd) = service.wakes() {
        fds.push(PollFd::from_borrowed_fd(fd, PollFlags::IN));
    }
    match poll(&mut fds, limit.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(errno) => return Err(Error::new("wait for stdin", errno)),
    }
    Ok(Woken { input: !fds[0].revents().is_empty(), signal: !fds[1].revents().is_empty() })
}

/// Whether stdin can be read without a wait.
fn more_input() -> Result<bool, Error> {
    let mut fds = [PollFd::from_borrowed_fd(rustix::stdio::stdin(), PollFlags::IN)];
    match poll(&mut fds, Some(&Timespec::default())) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(errno) => Err(Error::new("wait for stdin", errno)),
    }
}

/// Signals as bytes in a pipe, one a signal kind, so that `poll` sees them.
struct Signals {
    reader: OwnedFd,
    /// Kept open: the handlers write here.
    pending: Vec<(i32, Arc<AtomicBool>)>,
}

impl Signals {
    fn listen(options: &Options) -> Result<Self, Error> {
        let error = |error: io::Error| Error::new("listen for signals", error);
        let (reader, writer) = io::pipe().map_err(error)?;
        let mut pending = Vec::new();
        for &signal in options.ends.iter().chain(options.ignored) {
            let flag = Arc::new(AtomicBool::new(false));
            // The flag is registered first: handlers run in this order, and the byte in the pipe must find it set.
            signal_hook::flag::register(signal, flag.clone()).map_err(error)?;
            signal_hook::low_level::pipe::register(signal, writer.try_clone().map_err(error)?).map_err(error)?;
            pending.push((signal, flag));
        }
        Ok(Self { reader: reader.into(), pending })
    }

    /// The first of `wanted` that came since the last call; all others are forgotten.
    fn taken(&self, wanted: &[i32]) -> Result<Option<i32>, Error> {
        let mut bytes = [0; 16];
        match rustix::io::read(&self.reader, &mut bytes) {
            Ok(_) | Err(Errno::INTR | Errno::AGAIN) => {}
            Err(errno) => return Err(Error::new("read a signal", errno)),
        }
        let mut first = None;
        for (signal, flag) in &self.pending {
            if flag.swap(false, Ordering::SeqCst) && first.is_none() && wanted.contains(signal) {
                first = Some(*signal);
            }
        }
        Ok(first)
    }
}

/// Cuts a stream into lines, without ever holding more than the longest line.
struct Lines {
    longest: usize,
    rest: Vec<u8>,
    dropping: bool,
    number: u64,
}

impl Lines {
    fn new(longest: usize) -> Self {
        Self { longest, rest: Vec::new(), dropping: false, number: 0 }
    }

    fn push<E, F>(&mut self, mut bytes: &[u8], mut take: F) -> Result<Flow, E>
    where
        F: FnMut(u64, Line<'_>) -> Result<Flow, E>,
    {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (head, tail) = (&bytes[..end], &bytes[end + 1..]);
            bytes = tail;
            if self.ended(head, &mut take)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        if self.dropping || self.rest.len() + bytes.len() > self.longest {
            self.dropping = true;
            self.rest = Vec::new();
        } else {
            self.rest.extend_from_slice(bytes);
        }
        Ok(Flow::Go)
    }

    /// The last line may lack its end.
    fn finish<E, F>(&mut self, mut take: F) -> Result<Flow, E>
    where
        F: FnMut(u64, Line<'_>) -> Result<Flow, E>,
    {
        if self.dropping || !self.rest.is_empty() { self.ended(&[], &mut take) } else { Ok(Flow::Go) }
    }

    fn ended<E, F>(&mut self, head: &[u8], take: &mut F) -> Result<Flow, E>
    where
        F: FnMut(u64, Line<'_>) -> Result<Flow, E>,
    {
        self.number += 1;
        if std::mem::take(&mut self.dropping) || self.rest.len() + head.len() > self.longest {
            self.rest = Vec::new();
            return take(self.number, Line::TooLong);
        }
        if self.rest.is_empty() {
            return take(self.number, Line::Bytes(head));
        }
        self.rest.extend_from_slice(head);
        let line = std::mem::take(&mut self.rest);
        take(self.number, Line::Bytes(&line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(longest: usize, pieces: &[&str]) -> Vec<(u64, Option<String>)> {
        let mut lines = Lines::new(longest);
        let mut seen = Vec::new();
        let mut take = |number: u64, line: Line<'_>| {
            seen.push((
                number,
                match line {
                    Line::Bytes(bytes) => Some(String::from_utf8(bytes.to_vec()).unwrap()),
                    Line::TooLong => None,
                },
            ));
            Ok::<_, Error>(Flow::Go)
        };
        for piece in pieces {
            lines.push(piece.as_bytes(), &mut take).unwrap();
        }
        lines.finish(&mut take).unwrap();
        seen
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn lines_are_cut_wherever_the_reads_fell() {
        assert_eq!(cut(10, &["a\nb", "c\n", "\n"]), [(1, some("a")), (2, some("bc")), (3, some(""))]);
    }

    #[test]
    fn the_last_line_may_lack_its_end() {
        assert_eq!(cut(10, &["a\nbc"]), [(1, some("a")), (2, some("bc"))]);
    }

    #[test]
    fn a_line_over_the_limit_is_named_and_the_next_one_is_read() {
        assert_eq!(cut(3, &["abc\nabcd\nx\n"]), [(1, some("abc")), (2, None), (3, some("x"))]);
        assert_eq!(cut(3, &["ab", "cd", "ef\nx"]), [(1, None), (2, some("x"))]);
    }
}
