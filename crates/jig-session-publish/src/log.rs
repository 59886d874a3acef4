//! The log of errors: one JSON line each, for programs whose output belongs to somebody else.

use std::ffi::OsStr;
use std::path::PathBuf;

use jig_session_atomic::{Content, EntryProblem, PrivateDir, read_file};
use jig_session_liveness::clock;
use jig_session_schema::limits;
use jig_session_schema::places::Places;
use jig_session_schema::state_files::LogLine;

/// The log's name in its folder.
const NAME: &str = "jig-session.log";

/// Writes to the log. A log that cannot be written is nobody's loss.
#[derive(Clone, Debug)]
pub struct Log {
    folder: PathBuf,
    command: &'static str,
}

impl Log {
    /// A log for one command; nothing is written or made yet.
    pub fn new(places: &Places, command: &'static str) -> Self {
        Self { folder: places.log.clone(), command }
    }

    /// Adds one line.
    pub fn write(&self, code: &str, message: &str) {
        let line = LogLine::new()
            .at(clock::wall())
            .command(self.command.to_owned())
            .code(code.to_owned())
            .message(message.to_owned());
        let mut bytes = serde_json::to_vec(&line).unwrap_or_default();
        bytes.push(b'\n');
        // The folder is made with the mode that keeps others out, and verified, before anything is put there.
        let Ok(folder) = PrivateDir::open_own(&self.folder, in_log) else { return };
        let _ = folder.append(NAME, &bytes, limits::LOG_BYTES as u64);
    }
}

/// What belongs into the log's folder. A full log is larger than what is looked into.
fn in_log(name: &OsStr, content: Content<'_>) -> bool {
    let named = name.to_str().is_some_and(|name| name.strip_suffix(".1").unwrap_or(name) == NAME);
    named && matches!(content, Content::File(_) | Content::Other)
}

/// The lines of the log, oldest first; none when there is no log. Lines that are none of ours are left out.
///
/// # Errors
/// When something stands there that is no log of ours, or it cannot be read.
pub fn lines(places: &Places) -> Result<Vec<LogLine>, EntryProblem> {
    // A full log gets one more line of any length before it is put aside.
    match read_file(places.log_file(), 2 * limits::LOG_BYTES) {
        Ok(read) => {
            let lines = read.bytes.split(|byte| *byte == b'\n');
            Ok(lines.filter_map(|line| LogLine::read(line).ok()).map(|read| read.value).collect())
        }
        Err(problem) if problem.is_missing() => Ok(Vec::new()),
        Err(problem) => Err(problem),
    }
}
