//! The log of errors: one JSON line each, for programs whose output belongs to somebody else.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use jig_session_atomic::PrivateDir;
use jig_session_schema::limits;
use jig_session_schema::places::Places;
use serde_json::json;

/// The log's name in its folder.
const NAME: &str = "jig-session.log";

/// Writes to the log. A log that cannot be written is nobody's loss.
pub(crate) struct Log {
    folder: PathBuf,
    command: &'static str,
}

impl Log {
    /// A log for one command; nothing is written or made yet.
    pub(crate) fn new(places: &Places, command: &'static str) -> Self {
        Self { folder: places.log.clone(), command }
    }

    /// Adds one line.
    pub(crate) fn write(&self, code: &str, message: &str) {
        // The folder is made with the mode that keeps others out, and verified, before anything is put there.
        if PrivateDir::open(&self.folder).is_err() {
            return;
        }
        let path = self.folder.join(NAME);
        if fs::metadata(&path).is_ok_and(|log| usize::try_from(log.len()).is_ok_and(|size| size >= limits::LOG_BYTES)) {
            let _ = fs::rename(&path, self.folder.join(format!("{NAME}.1")));
        }
        let line = json!({ "at": crate::clock::wall(), "command": self.command, "code": code, "message": message });
        let opened = OpenOptions::new().append(true).create(true).mode(0o600).open(&path);
        let _ = opened.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    }
}
