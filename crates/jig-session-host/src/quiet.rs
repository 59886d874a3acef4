//! Prompts that need no answer.
//!
//! Before a prompt the bridge would wait for the host, which nearly always has nothing to add. So the host says that
//! beforehand, together with the files its answer depends on: as long as none of them changes, the bridge does not ask.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use jig_session_schema::bridge::SeenFile;

/// File systems keep times in ticks of up to 10 ms: a file that was changed less than this ago may change once more and
/// still have the same time.
const TICKS: Duration = Duration::from_millis(50);

/// Why the bridge cannot be assured that there is nothing to add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uncertain {
    /// There is something to add, or a file cannot be read.
    News,
    /// A file was changed a moment ago: it has to be looked at again in another moment.
    Recent,
}

/// A file's time as it is now. The caller asks for it before it reads the file: a change in between then shows as a
/// later time.
pub(crate) fn seen(path: &Path, now_ms: i64) -> Result<SeenFile, Uncertain> {
    let at = match fs::metadata(path) {
        Ok(found) => Some(i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(_) => return Err(Uncertain::News),
    };
    let ticks = i128::from(TICKS.as_nanos() as u64);
    match at.map(|at| i128::from(now_ms) * 1_000_000 - at) {
        // The clock was set back: this goes on for longer than a moment.
        Some(age) if age < -ticks => return Err(Uncertain::News),
        Some(age) if age < ticks => return Err(Uncertain::Recent),
        _ => {}
    }
    let path = path.to_str().ok_or(Uncertain::News)?;
    Ok(SeenFile::new().path(path.to_owned()).at(at.map(|at| at.to_string())))
}

/// What the bridge knows, and when the files have to be looked at again.
#[derive(Default)]
pub(crate) struct QuietPrompts {
    /// The files that were sent last; `None` when the bridge has to ask.
    sent: Option<Vec<SeenFile>>,
    due: bool,
    /// The monotonic time of the next look after [`Uncertain::Recent`].
    again: Option<Duration>,
}

impl QuietPrompts {
    /// The answer may have changed: look at the files again when the session is idle.
    pub(crate) fn look_again(&mut self) {
        self.due = true;
    }

    /// Whether no file has changed since it was sent to the bridge.
    pub(crate) fn holds(&self, now_ms: i64) -> bool {
        let is_unchanged = |file: &SeenFile| seen(Path::new(&file.path), now_ms).as_ref() == Ok(file);
        self.sent.as_ref().is_some_and(|files| files.iter().all(is_unchanged))
    }

    /// After every batch of lines, and at the deadline: whether the files are to be looked at now. A prompt that comes
    /// in the middle of a run is part of it.
    pub(crate) fn is_due(&mut self, idle: bool, now: Duration) -> bool {
        self.due |= self.again.take_if(|at| now >= *at).is_some();
        idle && std::mem::take(&mut self.due)
    }

    /// The monotonic time at which the files are to be looked at again.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.again
    }

    /// What to send to the bridge; `None` when it knows already, or finds out from the files themselves.
    pub(crate) fn update(
        &mut self,
        files: Result<Vec<SeenFile>, Uncertain>,
        now: Duration,
    ) -> Option<Option<Vec<SeenFile>>> {
        self.again = (files == Err(Uncertain::Recent)).then(|| now + TICKS);
        if self.again.is_some() || files.as_ref().ok() == self.sent.as_ref() {
            return None;
        }
        self.sent = files.ok();
        Some(self.sent.clone())
    }
}
