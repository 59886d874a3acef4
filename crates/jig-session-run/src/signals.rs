//! Signals as bytes in a pipe, so that `poll` sees them.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;

/// The signals that are listened for.
pub(crate) struct Signals {
    reader: OwnedFd,
    pending: Vec<(i32, Arc<AtomicBool>)>,
}

impl Signals {
    /// Listens for these signals, but for those that whoever started us ignores: the program inherits that.
    pub(crate) fn listen(signals: &[i32]) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let ignored = ignored();
        let mut pending = Vec::new();
        for &signal in signals.iter().filter(|signal| ignored & (1 << (**signal - 1)) == 0) {
            let flag = Arc::new(AtomicBool::new(false));
            // The flag is registered first: handlers run in this order, and the byte in the pipe must find it set.
            signal_hook::flag::register(signal, flag.clone())?;
            signal_hook::low_level::pipe::register(signal, writer.try_clone()?)?;
            pending.push((signal, flag));
        }
        Ok(Self { reader: reader.into(), pending })
    }

    /// What can be read when a signal has come.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }

    /// Empties the pipe, once it can be read, and gives the signals that came.
    pub(crate) fn taken(&self) -> Vec<i32> {
        let mut bytes = [0; 64];
        match rustix::io::read(&self.reader, &mut bytes) {
            Ok(_) | Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => return Vec::new(),
        }
        self.pending.iter().filter(|(_, flag)| flag.swap(false, Ordering::SeqCst)).map(|(signal, _)| *signal).collect()
    }

    /// Whether this signal has come since it was taken last; it stays to be taken.
    pub(crate) fn has_come(&self, signal: i32) -> bool {
        self.pending.iter().any(|(known, flag)| *known == signal && flag.load(Ordering::SeqCst))
    }

    /// Forgets that this signal came.
    pub(crate) fn forget(&self, signal: i32) {
        for (known, flag) in &self.pending {
            if *known == signal {
                flag.store(false, Ordering::SeqCst);
            }
        }
    }
}

/// The signals that this process ignores, as the kernel's mask. Where it cannot be read, none.
fn ignored() -> u64 {
    let read = jig_session_atomic::read_file("/proc/self/status", 64 << 10);
    let status = read.map(|read| String::from_utf8_lossy(&read.bytes).into_owned()).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}
