//! `watch --program-status`: the records are written to stdout, at most ten times a second, and cleared at the end.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jig_session_export::program_status::Records;
use jig_session_schema::row::Row;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::failure::{Code, Failure};

/// Two writes are at least this far apart.
const SPACING: Duration = Duration::from_millis(100);

pub(super) struct ProgramStatus {
    records: Records,
    written: Option<Instant>,
    /// Held while a write is under way: the end must not cut into a sequence.
    output: Arc<Mutex<()>>,
}

impl ProgramStatus {
    /// Begins, and sees to the end: whatever signal ends the program, the terminal forgets the records.
    pub(super) fn start() -> Result<Self, Failure> {
        let output = Arc::new(Mutex::new(()));
        let failed = |error: io::Error| Failure::new(Code::Io, format!("cannot wait for signals: {error}"));
        let (mut reader, writer) = UnixStream::pair().map_err(failed)?;
        let mut flags = Vec::new();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let came = Arc::new(AtomicBool::new(false));
            signal_hook::flag::register(signal, Arc::clone(&came)).map_err(failed)?;
            signal_hook::low_level::pipe::register(signal, writer.try_clone().map_err(failed)?).map_err(failed)?;
            flags.push((signal, came));
        }
        let ends = Arc::clone(&output);
        std::thread::spawn(move || {
            // The writers live in the handlers: this returns when a signal came.
            if reader.read_exact(&mut [0]).is_err() {
                return;
            }
            let _held = locked(&ends);
            let _ = put(&Records::clear());
            let signal =
                flags.iter().find(|(_, came)| came.load(Ordering::SeqCst)).map_or(SIGTERM, |(signal, _)| *signal);
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        });
        Ok(Self { records: Records::default(), written: None, output })
    }

    /// Writes what has changed.
    pub(super) fn show<'a>(&mut self, rows: impl IntoIterator<Item = &'a Row>) -> Result<(), Failure> {
        if let Some(written) = self.written {
            std::thread::sleep(SPACING.saturating_sub(written.elapsed()));
        }
        let text = self.records.update(rows);
        if text.is_empty() {
            return Ok(());
        }
        self.written = Some(Instant::now());
        let _held = locked(&self.output);
        put(&text).map_err(|error| {
            Failure::new(Code::Io, format!("cannot write to stdout: {error}")).errno(error.raw_os_error())
        })
    }
}

fn locked(output: &Mutex<()>) -> MutexGuard<'_, ()> {
    output.lock().unwrap_or_else(PoisonError::into_inner)
}

fn put(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
