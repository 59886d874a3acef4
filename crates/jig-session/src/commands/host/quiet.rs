//! Prompts that need not be asked about.
//!
//! A prompt would wait for the host's answer, and the answer is nearly always that there is nothing to add. The host
//! says so beforehand, with the files it was read from: as long as they stay as they were seen, the bridge asks nothing.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use jig_session_schema::bridge::SeenFile;

/// A file changed this shortly before it was looked at may change again without another time: file systems count in
/// ticks of up to 10 ms. In nanoseconds.
const TICKS: i128 = 50_000_000;

/// The files as they are now; `None` when one cannot be looked at, or was changed a moment ago. Whoever reads them looks
/// first, and reads then.
pub(super) fn seen(paths: &[PathBuf], now_ms: i64) -> Option<Vec<SeenFile>> {
    let now = i128::from(now_ms) * 1_000_000;
    paths
        .iter()
        .map(|path| {
            let at = match fs::metadata(path) {
                Ok(found) => Some(i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec())),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(_) => return None,
            };
            if at.is_some_and(|at| at > now - TICKS) {
                return None;
            }
            let path = path.to_str()?.to_owned();
            Some(SeenFile::new().path(path).at(at.map(|at| at.to_string())))
        })
        .collect()
}

/// What the bridge was told last, and whether it is to be looked at again.
#[derive(Default)]
pub(super) struct Quiet {
    told: Option<Vec<SeenFile>>,
    due: bool,
}

impl Quiet {
    /// The answer may have become another one, or a certain one.
    pub(super) fn ask_again(&mut self) {
        self.due = true;
    }

    /// After every batch of lines: whether the files are to be looked at now. A prompt that comes in the middle of a
    /// run is part of it.
    pub(super) fn is_due(&mut self, idle: bool) -> bool {
        idle && std::mem::take(&mut self.due)
    }

    /// What the bridge is to be told; `None` when it knows.
    pub(super) fn news(&mut self, files: Option<Vec<SeenFile>>) -> Option<Option<Vec<SeenFile>>> {
        if files == self.told {
            return None;
        }
        self.told.clone_from(&files);
        Some(files)
    }
}
