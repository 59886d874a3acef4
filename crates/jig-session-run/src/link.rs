//! What proxy and monitor say to each other: one word a line over a socket.

use std::os::fd::AsFd;

use rustix::io::Errno;
use rustix::net::{SendFlags, send};

/// A message from the monitor to the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MonitorMessage {
    /// The program runs, with this process id.
    Started(i32),
    /// It could not be started: an errno.
    Failed(i32),
    /// It was stopped by this signal.
    Stopped(i32),
    /// It goes on.
    Continued,
    /// It has ended with this code.
    Exited(i32),
    /// It has ended by this signal.
    Killed(i32),
}

/// A message from the proxy to the monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProxyMessage {
    /// The program goes on, in the background of its terminal.
    Background,
    /// The program goes on, in the foreground of its terminal.
    Foreground,
    /// The program gets this signal.
    Signal(i32),
}

/// A line of either side.
pub(crate) trait Line: Sized {
    fn write(&self) -> String;
    fn read(line: &str) -> Option<Self>;
}

impl Line for MonitorMessage {
    fn write(&self) -> String {
        match self {
            Self::Started(pid) => format!("started {pid}"),
            Self::Failed(errno) => format!("failed {errno}"),
            Self::Stopped(signal) => format!("stopped {signal}"),
            Self::Continued => "continued 0".into(),
            Self::Exited(code) => format!("exited {code}"),
            Self::Killed(signal) => format!("killed {signal}"),
        }
    }

    fn read(line: &str) -> Option<Self> {
        let (word, number) = line.split_once(' ')?;
        let number = number.parse().ok()?;
        Some(match word {
            "started" => Self::Started(number),
            "failed" => Self::Failed(number),
            "stopped" => Self::Stopped(number),
            "continued" => Self::Continued,
            "exited" => Self::Exited(number),
            "killed" => Self::Killed(number),
            _ => return None,
        })
    }
}

impl Line for ProxyMessage {
    fn write(&self) -> String {
        match self {
            Self::Background => "background 0".into(),
            Self::Foreground => "foreground 0".into(),
            Self::Signal(signal) => format!("signal {signal}"),
        }
    }

    fn read(line: &str) -> Option<Self> {
        let (word, number) = line.split_once(' ')?;
        match word {
            "background" => Some(Self::Background),
            "foreground" => Some(Self::Foreground),
            "signal" => number.parse().ok().map(Self::Signal),
            _ => None,
        }
    }
}

/// Says one line. A side that is gone hears nothing, and that is seen where it is listened to.
pub(crate) fn say(socket: impl AsFd, line: &impl Line) {
    let _ = send(socket, format!("{}\n", line.write()).as_bytes(), SendFlags::NOSIGNAL);
}

/// Cuts what a socket brings into lines.
#[derive(Default)]
pub(crate) struct Ear {
    rest: Vec<u8>,
}

impl Ear {
    /// Reads once; `None` when the other side is gone.
    pub(crate) fn hear<L: Line>(&mut self, socket: impl AsFd) -> Option<Vec<L>> {
        let mut bytes = [0; 256];
        match rustix::io::read(socket, &mut bytes) {
            Ok(0) => return None,
            Ok(size) => self.rest.extend_from_slice(&bytes[..size]),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => return None,
        }
        let mut lines = Vec::new();
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            lines.extend(std::str::from_utf8(&line[..end]).ok().and_then(L::read));
        }
        Some(lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_it_was_made_of() {
        for told in [
            MonitorMessage::Started(7),
            MonitorMessage::Failed(2),
            MonitorMessage::Stopped(20),
            MonitorMessage::Continued,
            MonitorMessage::Exited(3),
        ] {
            assert_eq!(MonitorMessage::read(&told.write()), Some(told));
        }
        for wanted in [ProxyMessage::Background, ProxyMessage::Foreground, ProxyMessage::Signal(15)] {
            assert_eq!(ProxyMessage::read(&wanted.write()), Some(wanted));
        }
        assert_eq!((MonitorMessage::read("nonsense"), ProxyMessage::read("signal x")), (None, None));
    }
}
