//! The folder of call logs: one folder a UTC day, one small file a call. Read and never written.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use jiff::civil::Date;

use super::archive::{Folder, Quarter};
use super::band::BandBuilder;
use super::record::{self, Call};

/// A larger record is left unread; a call's summary is far below it.
const MAX_RECORD: u64 = 32 << 20;
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
    for entry in fs::read_dir(root).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(date) = day(&name) else { continue };
        let path = entry.path();
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

/// Reads every record of a folder once, adding each to its quarter and to the band that asks for it.
pub(crate) fn measure(
    folder: &DayFolder,
    buffer: &mut Vec<u8>,
    mut band: Option<&mut BandBuilder<'_>>,
) -> Result<Folder, LogsError> {
    let failed = |source| LogsError { path: folder.path.clone(), source };
    let start_ms = utc_start_ms(folder.date);
    let mut measured = Folder { modified_ms: folder.modified_ms, ..Folder::default() };
    for entry in fs::read_dir(&folder.path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        if !name.ends_with(b".json") || name.starts_with(b".") {
            continue;
        }
        match read(&entry.path(), buffer) {
            Content::Gone => {}
            Content::Unreadable { modified_ms } => unread(&mut measured, start_ms, modified_ms),
            Content::Record { file } => match record::parse(buffer) {
                Some(Call { at: Some(at), .. }) if at < 0 => unread(&mut measured, start_ms, file_modified_ms(&file)),
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
                _ => unread(&mut measured, start_ms, file_modified_ms(&file)),
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
        file: File,
    },
    Unreadable {
        modified_ms: Option<i64>,
    },
    /// Rotated away since the folder was listed.
    Gone,
}

fn read(path: &Path, buffer: &mut Vec<u8>) -> Content {
    buffer.clear();
    let mut file = match open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Content::Gone,
        Err(_) => return Content::Unreadable { modified_ms: None },
    };
    match (&mut file).take(MAX_RECORD + 1).read_to_end(buffer) {
        Ok(length) if length as u64 <= MAX_RECORD => Content::Record { file },
        Ok(_) => {
            // The one large buffer is not kept for the rest of the run.
            *buffer = Vec::new();
            Content::Unreadable { modified_ms: file_modified_ms(&file) }
        }
        Err(_) => Content::Unreadable { modified_ms: file_modified_ms(&file) },
    }
}

/// Opens without following a link and without waiting for a pipe's other end.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    fs::OpenOptions::new().read(true).custom_flags(flags).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

fn file_modified_ms(file: &File) -> Option<i64> {
    file.metadata().ok().map(|metadata| modified_ms(&metadata))
}

fn modified_ms(metadata: &fs::Metadata) -> i64 {
    let since = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| i64::try_from(since.as_millis()).ok()).unwrap_or(0)
}
