//! The file of the archive: read whole, written whole, and left alone when it is not understood.

use std::path::Path;

use jig_session_atomic::{Content, PrivateDir, Reason};

use super::Archive;

/// The archive is small: a day is at most 96 quarters.
const ARCHIVE_BYTES: usize = 64 << 20;

/// The archive in its folder, and whether it may be written: one that is not understood is left as it is. `note` takes
/// what a person should know about it.
#[must_use]
pub fn read_archive(folder: &Path, note: &dyn Fn(&str)) -> (Archive, bool) {
    let path = folder.join(Archive::FILE);
    let dir = match PrivateDir::open_own_existing(folder) {
        Ok(Some(dir)) => dir,
        Ok(None) => return (Archive::default(), true),
        Err(error) => {
            note(&format!("warning: {error}; figures of rotated logs are left out"));
            return (Archive::default(), false);
        }
    };
    match dir.read(Archive::FILE, ARCHIVE_BYTES) {
        Ok(file) => match Archive::parse(&file.bytes) {
            Some(archive) => (archive, true),
            None => {
                note(&format!(
                    "warning: {} is not an archive of this version; figures of rotated logs are left out, \
                     and it is not written over: move it away to begin a new one",
                    path.display()
                ));
                (Archive::default(), false)
            }
        },
        Err(problem) if matches!(problem.reason, Reason::Missing | Reason::Empty) => (Archive::default(), true),
        Err(problem) => {
            note(&format!("warning: cannot read {}: {problem}; figures of rotated logs are left out", path.display()));
            (Archive::default(), false)
        }
    }
}

/// What belongs into the archive's folder.
fn in_archive(name: &std::ffi::OsStr, content: Content<'_>) -> bool {
    name == Archive::FILE && matches!(content, Content::File(_) | Content::Other)
}

/// Writes the archive. The figures are right without it, so a failure is a warning to `note`.
pub fn write_archive(folder: &Path, archive: &Archive, note: &dyn Fn(&str)) {
    let written =
        PrivateDir::open_own(folder, in_archive).and_then(|dir| dir.write(Archive::FILE, &archive.to_bytes()));
    if let Err(error) = written {
        note(&format!("warning: {error}; these days count only as long as their logs are there"));
    }
}
