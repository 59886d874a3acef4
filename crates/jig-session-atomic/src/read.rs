//! Reading: names, and the bytes of regular files that are ours.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use rustix::fs::{Dir, FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;

use crate::dir::{Held, PrivateDir, Stamp};
use crate::error::{Error, Operation, errno_name};
use crate::names::Leftover;

/// A link, a pipe, a socket or a device opens at once or not at all; nothing here waits for another process.
const FILE: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Why an entry of a folder is not read. The words are the contract's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// It is not there, or not any more.
    Missing,
    /// A link, a folder, a pipe, a socket or a device.
    NotARegularFile,
    /// It belongs to another user than the folder.
    ForeignOwner,
    /// It holds more bytes than its kind may.
    TooLarge,
    /// It holds nothing: a power cut leaves such files.
    Empty,
    /// The system refused.
    Unreadable,
}

impl Reason {
    /// The word of the reason in problem reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::NotARegularFile => "not-a-regular-file",
            Self::ForeignOwner => "foreign-owner",
            Self::TooLarge => "too-large",
            Self::Empty => "empty",
            Self::Unreadable => "unreadable",
        }
    }
}

/// An entry that is not read; it never keeps another entry from being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryProblem {
    /// Why.
    pub reason: Reason,
    /// The system's number, when the system refused.
    pub errno: Option<i32>,
    /// Which version of the file it was, as far as it was seen.
    pub stamp: Option<Stamp>,
}

impl fmt::Display for EntryProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.reason {
            Reason::Missing => "it is not there",
            Reason::NotARegularFile => "it is not a regular file",
            Reason::ForeignOwner => "it belongs to another user",
            Reason::TooLarge => "it is larger than such a file may be",
            Reason::Empty => "it is empty",
            Reason::Unreadable => "it cannot be read",
        })?;
        match self.errno {
            Some(errno) => match errno_name(errno) {
                Some(name) => write!(f, " ({name})"),
                None => write!(f, " (errno {errno})"),
            },
            None => Ok(()),
        }
    }
}

impl EntryProblem {
    /// What a refused open means; a failure after that is one of the system's.
    pub(crate) fn not_opened(errno: Errno) -> Self {
        let reason = match errno {
            Errno::NOENT => Reason::Missing,
            // What `O_NOFOLLOW` gives for a link, and what a socket or a device without a driver gives.
            Errno::LOOP | Errno::NXIO | Errno::NODEV => Reason::NotARegularFile,
            _ => return Self::os(errno),
        };
        Self { reason, errno: None, stamp: None }
    }

    pub(crate) fn os(errno: Errno) -> Self {
        Self { reason: Reason::Unreadable, errno: Some(errno.raw_os_error()), stamp: None }
    }

    pub(crate) fn seen(reason: Reason, stamp: Stamp) -> Self {
        Self { reason, errno: None, stamp: Some(stamp) }
    }
}

/// A file's bytes and which version they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bytes {
    /// The whole content.
    pub bytes: Vec<u8>,
    /// Which version it is.
    pub stamp: Stamp,
}

/// One entry of [`PrivateDir::scan`].
#[derive(Debug)]
pub struct Entry<'a> {
    /// The entry's name.
    pub name: &'a OsStr,
    /// Its content, or why there is none.
    pub content: Result<(&'a [u8], Stamp), EntryProblem>,
}

impl PrivateDir {
    /// All names in the folder, in no order, `.` and `..` left out. A folder that was removed meanwhile is empty; one
    /// that cannot be read is an error and never an empty list.
    pub fn list(&self) -> Result<Vec<OsString>, Error> {
        let mut names = Vec::new();
        self.each_name(|name| names.push(name.to_owned()))?;
        Ok(names)
    }

    /// The names of documents: those that end in `.json` and do not begin with a dot, in no order.
    pub fn documents(&self) -> Result<Vec<OsString>, Error> {
        let mut names = Vec::new();
        self.each_name(|name| {
            if is_document(name) {
                names.push(name.to_owned());
            }
        })?;
        Ok(names)
    }

    /// Reads every document of the folder, in no order, each of at most `limit` bytes. The bytes are lent until the
    /// next one is read: ten thousand files cost one buffer. A document that vanishes meanwhile is left out.
    ///
    /// Gives how many [`Leftover`]s lie between the documents, for those who ask whether there is something to sweep.
    pub fn scan(&self, limit: usize, mut each: impl FnMut(Entry<'_>)) -> Result<usize, Error> {
        let mut names = Vec::new();
        let mut leftovers = 0;
        self.each_name(|name| {
            if is_document(name) {
                names.push(name.to_owned());
            } else {
                leftovers += usize::from(Leftover::parse(name).is_some());
            }
        })?;
        let held = self.held();
        let mut buffer = Vec::new();
        for name in &names {
            let content = match read_listed(&held, name, limit, &mut buffer) {
                Err(problem) if problem.reason == Reason::Missing => continue,
                Err(problem) => Err(problem),
                Ok(stamp) => Ok((buffer.as_slice(), stamp)),
            };
            each(Entry { name, content });
        }
        Ok(leftovers)
    }

    /// Reads a file of at most `limit` bytes.
    pub fn read(&self, name: impl AsRef<OsStr>, limit: usize) -> Result<Bytes, EntryProblem> {
        let mut bytes = Vec::new();
        let stamp = self.read_into(name, limit, &mut bytes)?;
        Ok(Bytes { bytes, stamp })
    }

    /// Reads a file of at most `limit` bytes into a buffer that is used again and again; what it held is lost.
    pub fn read_into(
        &self,
        name: impl AsRef<OsStr>,
        limit: usize,
        buffer: &mut Vec<u8>,
    ) -> Result<Stamp, EntryProblem> {
        let name = name.as_ref();
        if !crate::names::is_component(name) {
            return Err(EntryProblem::os(Errno::INVAL));
        }
        read_listed(&self.held(), name, limit, buffer)
    }

    fn each_name(&self, mut each: impl FnMut(&OsStr)) -> Result<(), Error> {
        let failed = |errno| Error::os(Operation::List, self.path(), errno);
        let entries = match Dir::read_from(&self.held().fd) {
            // The folder was removed after it was opened.
            Err(Errno::NOENT) => return Ok(()),
            other => other.map_err(failed)?,
        };
        for entry in entries {
            let entry = match entry {
                Err(Errno::NOENT) => return Ok(()),
                other => other.map_err(failed)?,
            };
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") {
                each(OsStr::from_bytes(name));
            }
        }
        Ok(())
    }
}

fn is_document(name: &OsStr) -> bool {
    let name = name.as_bytes();
    name.ends_with(b".json") && !name.starts_with(b".")
}

/// On user-space and network file systems a name that is being replaced can be missing for a moment, so "not there" is
/// believed at the third look only, within 50 ms.
fn read_listed(held: &Held, name: &OsStr, limit: usize, buffer: &mut Vec<u8>) -> Result<Stamp, EntryProblem> {
    let mut result = read_once(held, name, limit, buffer);
    for _ in 0..2 {
        if !held.remote || !result.is_err_and(|problem| problem.reason == Reason::Missing) {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
        result = read_once(held, name, limit, buffer);
    }
    result
}

/// Four system calls a file: open, look at what was opened, read, close.
fn read_once(held: &Held, name: &OsStr, limit: usize, buffer: &mut Vec<u8>) -> Result<Stamp, EntryProblem> {
    buffer.clear();
    let fd = openat(&held.fd, name, FILE, Mode::empty()).map_err(EntryProblem::not_opened)?;
    let found = fstat(&fd).map_err(EntryProblem::os)?;
    let stamp = Stamp::of(&found);
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(EntryProblem::seen(Reason::NotARegularFile, stamp));
    }
    if found.st_uid != held.owner {
        return Err(EntryProblem::seen(Reason::ForeignOwner, stamp));
    }
    read_opened(&fd, stamp, limit, buffer)
}

/// Reads what was opened to its end, if that comes within `limit` bytes.
pub(crate) fn read_opened(
    fd: impl AsFd,
    stamp: Stamp,
    limit: usize,
    buffer: &mut Vec<u8>,
) -> Result<Stamp, EntryProblem> {
    if stamp.size > limit as u64 {
        return Err(EntryProblem::seen(Reason::TooLarge, stamp));
    }
    // One byte more than the size: a read that stops short of it has met the end of the file.
    let size = usize::try_from(stamp.size).unwrap_or(limit);
    buffer.reserve(size + 1);
    loop {
        if buffer.capacity() == buffer.len() {
            buffer.reserve(4096);
        }
        let read = match rustix::io::read(&fd, rustix::buffer::spare_capacity(buffer)) {
            Err(Errno::INTR) => continue,
            other => other.map_err(EntryProblem::os)?,
        };
        if buffer.len() > limit {
            buffer.clear();
            return Err(EntryProblem::seen(Reason::TooLarge, stamp));
        }
        if read == 0 || buffer.len() == size {
            break;
        }
    }
    if buffer.is_empty() {
        return Err(EntryProblem::seen(Reason::Empty, stamp));
    }
    Ok(stamp)
}
