//! The folder of call logs: one folder a UTC day, one small file a call. Read and never written.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use jiff::civil::Date;
use jig_session_atomic::{FolderEntry, Reason, list_folder, read_file_into};

use super::archive::{Folder, Quarter};
use super::band::BandBuilder;
use super::record::{self, Call};

/// A larger record is left unread; a call's summary is far below it.
const MAX_RECORD: usize = 32 << 20;
/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// The logs could not be listed, which is not the same as an empty folder.
#[derive(Debug, thiserror::Error)]
#[error("cannot list the call logs {}: {source}", path.display())]
pub struct LogsError {
    /// The folder.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// One day's folder.
pub(crate) struct DayFolder {
    pub(crate) name: String,
    pub(crate) date: Date,
    pub(crate) path: PathBuf,
    pub(crate) modified_ms: i64,
}

/// The folders named after a UTC day, oldest first; anything else is not the logs'.
pub(crate) fn folders(root: &Path) -> Result<Vec<DayFolder>, LogsError> {
    let failed = |source| LogsError { path: root.to_owned(), source };
    let mut folders = Vec::new();
    for entry in list_folder(root).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.name.to_string_lossy().into_owned();
        let Some(date) = day(&name) else { continue };
        let path = entry.path;
        // A folder may be a link to another disk; a folder that vanished was rotated away.
        let Ok(metadata) = fs::metadata(&path) else { continue };
        if metadata.is_dir() {
            folders.push(DayFolder { name, date, path, modified_ms: modified_ms(&metadata) });
        }
    }
    folders.sort_by_key(|folder| folder.date);
    Ok(folders)
}

/// A date in the form `YYYY-MM-DD` and no other.
pub(crate) fn day(name: &str) -> Option<Date> {
    let date: Date = name.parse().ok()?;
    (name.len() == 10 && date.to_string() == name).then_some(date)
}

/// The first millisecond of a UTC day.
pub(crate) fn utc_start_ms(date: Date) -> i64 {
    let midnight = jiff::tz::TimeZone::UTC.to_timestamp(date.at(0, 0, 0, 0));
    midnight.map_or(0, |instant| instant.as_millisecond())
}

/// Reads every record of a folder once, adding each to its quarter and to the matching band.
pub(crate) fn measure(
    folder: &DayFolder,
    buffer: &mut Vec<u8>,
    mut band: Option<&mut BandBuilder<'_>>,
) -> Result<Folder, LogsError> {
    let failed = |source| LogsError { path: folder.path.clone(), source };
    let start_ms = utc_start_ms(folder.date);
    let mut measured = Folder { modified_ms: folder.modified_ms, ..Folder::default() };
    for entry in list_folder(&folder.path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.name.as_encoded_bytes();
        if !name.ends_with(b".json") || name.starts_with(b".") {
            continue;
        }
        match read(&entry, buffer) {
            Content::Gone => {}
            Content::Unreadable { modified_ms } => unread(&mut measured, start_ms, modified_ms),
            Content::Record { modified_ms } => match record::parse(buffer) {
                Some(Call { at: Some(at), .. }) if at < 0 => unread(&mut measured, start_ms, Some(modified_ms)),
                Some(call @ Call { at: Some(at), .. }) => {
                    let sums = measured.quarters.entry(Quarter::of(at)).or_default();
                    sums.calls += 1;
                    sums.errors += u64::from(call.error);
                    sums.tokens.add(&call.tokens);
                    sums.unread += u64::from(call.flawed);
                    if let Some(band) = band.as_deref_mut() {
                        band.add(at, &call);
                    }
                }
                _ => unread(&mut measured, start_ms, Some(modified_ms)),
            },
        }
    }
    Ok(measured)
}

/// Counts a record that cannot be counted, at the time its file was written, if that is on the folder's day.
fn unread(folder: &mut Folder, start_ms: i64, modified_ms: Option<i64>) {
    match modified_ms.filter(|ms| (start_ms..start_ms + DAY_MS).contains(ms)) {
        Some(ms) => folder.quarters.entry(Quarter::of(ms)).or_default().unread += 1,
        None => folder.unplaced += 1,
    }
}

enum Content {
    /// The buffer holds the file.
    Record {
        modified_ms: i64,
    },
    Unreadable {
        modified_ms: Option<i64>,
    },
    /// Rotated away since the folder was listed.
    Gone,
}

/// A record that is a link is none of the logs': it could lead anywhere.
fn read(entry: &FolderEntry, buffer: &mut Vec<u8>) -> Content {
    if entry.is_symlink() {
        return Content::Unreadable { modified_ms: None };
    }
    match read_file_into(&entry.path, MAX_RECORD, buffer) {
        Ok(stamp) => Content::Record { modified_ms: stamp.modified_ms() },
        Err(problem) if problem.is_missing() => Content::Gone,
        Err(problem) => {
            if problem.reason == Reason::TooLarge {
                // Release one large buffer instead of holding it for the rest of the run.
                *buffer = Vec::new();
            }
            Content::Unreadable { modified_ms: problem.stamp.map(|stamp| stamp.modified_ms()) }
        }
    }
}

fn modified_ms(metadata: &fs::Metadata) -> i64 {
    let since = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| i64::try_from(since.as_millis()).ok()).unwrap_or(0)
}
