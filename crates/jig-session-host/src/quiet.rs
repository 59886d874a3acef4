//! Prompts that need not be asked about.
//!
//! A prompt would wait for the host's answer, and the answer is nearly always that there is nothing to add. The host
//! says so beforehand, with the files it was read from: as long as they stay as they were seen, the bridge asks nothing.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use jig_session_schema::bridge::SeenFile;

/// A file changed this shortly before it was looked at may change again without another time: file systems count in
/// ticks of up to 10 ms.
const TICKS: Duration = Duration::from_millis(50);

/// Why it is not known what a prompt would be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unsure {
    /// There is something to tell, or it cannot be read.
    News,
    /// A file was changed a moment ago; in another moment it is known.
    Recent,
}

/// A file as it is now. Whoever reads it looks first, and reads then: what changes in between is no longer as it was
/// seen.
pub(crate) fn seen(path: &Path, now_ms: i64) -> Result<SeenFile, Unsure> {
    let at = match fs::metadata(path) {
        Ok(found) => Some(i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(_) => return Err(Unsure::News),
    };
    let ticks = i128::from(TICKS.as_nanos() as u64);
    match at.map(|at| i128::from(now_ms) * 1_000_000 - at) {
        // The clock was set back: this goes on for longer than a moment.
        Some(age) if age < -ticks => return Err(Unsure::News),
        Some(age) if age < ticks => return Err(Unsure::Recent),
        _ => {}
    }
    let path = path.to_str().ok_or(Unsure::News)?;
    Ok(SeenFile::new().path(path.to_owned()).at(at.map(|at| at.to_string())))
}

/// What the bridge was told last, and when it is to be looked at again.
#[derive(Default)]
pub(crate) struct Quiet {
    told: Option<Vec<SeenFile>>,
    due: bool,
    again: Option<Duration>,
}

impl Quiet {
    /// The answer may have become another one, or a certain one.
    pub(crate) fn ask_again(&mut self) {
        self.due = true;
    }

    /// Whether all is still as the bridge was told: then nothing need be read again.
    pub(crate) fn holds(&self, now_ms: i64) -> bool {
        let is_as_told = |file: &SeenFile| seen(Path::new(&file.path), now_ms).as_ref() == Ok(file);
        self.told.as_ref().is_some_and(|files| files.iter().all(is_as_told))
    }

    /// After every batch of lines, and at the deadline: whether the files are to be looked at now. A prompt that comes
    /// in the middle of a run is part of it.
    pub(crate) fn is_due(&mut self, idle: bool, now: Duration) -> bool {
        self.due |= self.again.take_if(|at| now >= *at).is_some();
        idle && std::mem::take(&mut self.due)
    }

    /// When the files are looked at again by themselves.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.again
    }

    /// What the bridge is to be told; `None` when it knows, or will find out from the files.
    pub(crate) fn news(
        &mut self,
        files: Result<Vec<SeenFile>, Unsure>,
        now: Duration,
    ) -> Option<Option<Vec<SeenFile>>> {
        self.again = (files == Err(Unsure::Recent)).then(|| now + TICKS);
        if self.again.is_some() || files.as_ref().ok() == self.told.as_ref() {
            return None;
        }
        self.told = files.ok();
        Some(self.told.clone())
    }
}
