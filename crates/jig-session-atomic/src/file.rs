//! Files outside of a verified folder: settings, records and repositories that other programs write.
//!
//! Whatever stands at such a path, nothing waits and nothing is read without a bound. The path is looked at before it
//! is opened, since opening alone can do harm (a device may act on it, a pipe would wake its writer), and what was
//! opened is looked at again, since another file may have been put there in between.

use std::fs::File;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::dir::Stamp;
use crate::read::{Bytes, EntryProblem, Reason, read_opened};

/// Neither a pipe's other end nor a terminal is waited for.
const FILE: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Opens a regular file for reading, without ever waiting. A link at the path's end is followed if it belongs to this
/// user or to root; what it leads to must be a regular file too. Whose file it is does not matter.
///
/// For what is read piece by piece; everything else takes [`read_file`].
///
/// # Errors
/// When nothing is there, or why it cannot be opened.
pub fn open_file(path: impl AsRef<Path>) -> Result<(File, Stamp), EntryProblem> {
    let path = path.as_ref();
    let look = |flags| statat(CWD, path, flags).map_err(EntryProblem::not_opened);
    let mut found = look(AtFlags::SYMLINK_NOFOLLOW)?;
    let mut flags = FILE.union(OFlags::NOFOLLOW);
    if kind(&found) == FileType::Symlink {
        if found.st_uid != geteuid().as_raw() && found.st_uid != 0 {
            return Err(EntryProblem::seen(Reason::ForeignOwner, Stamp::of(&found)));
        }
        found = look(AtFlags::empty())?;
        flags = FILE;
    }
    regular(&found)?;
    let fd = openat(CWD, path, flags, Mode::empty()).map_err(EntryProblem::not_opened)?;
    let found = fstat(&fd).map_err(EntryProblem::os)?;
    regular(&found)?;
    Ok((File::from(fd), Stamp::of(&found)))
}

/// Reads a regular file of at most `limit` bytes; see [`open_file`] for what is opened. An empty file has no bytes and
/// is no problem.
///
/// # Errors
/// When nothing is there, or why it cannot be read; [`Reason::TooLarge`] for more than `limit` bytes.
pub fn read_file(path: impl AsRef<Path>, limit: usize) -> Result<Bytes, EntryProblem> {
    let mut bytes = Vec::new();
    let stamp = read_file_into(path, limit, &mut bytes)?;
    Ok(Bytes { bytes, stamp })
}

/// As [`read_file`], into a buffer that is used again and again; what it held is lost.
///
/// # Errors
/// As [`read_file`].
pub fn read_file_into(path: impl AsRef<Path>, limit: usize, buffer: &mut Vec<u8>) -> Result<Stamp, EntryProblem> {
    buffer.clear();
    let (file, stamp) = open_file(path)?;
    match read_opened(&file, stamp, limit, buffer) {
        Err(problem) if problem.reason == Reason::Empty => Ok(stamp),
        other => other,
    }
}

fn kind(found: &Stat) -> FileType {
    FileType::from_raw_mode(found.st_mode)
}

fn regular(found: &Stat) -> Result<(), EntryProblem> {
    match kind(found) {
        FileType::RegularFile => Ok(()),
        // A loop of links cannot be seen here: the look itself fails with it.
        _ => Err(EntryProblem::seen(Reason::NotARegularFile, Stamp::of(found))),
    }
}

impl EntryProblem {
    /// Whether nothing is there: no file, or no folder that could hold it.
    pub fn is_missing(&self) -> bool {
        let no_folder = self.errno == Some(Errno::NOTDIR.raw_os_error());
        self.reason == Reason::Missing || no_folder
    }
}

impl std::error::Error for EntryProblem {}
