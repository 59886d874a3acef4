//! Writing: a temporary in the same folder, then one rename.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;

use rustix::fs::{AtFlags, Mode, OFlags, fchmod, fdatasync, fstat, fsync, openat, renameat, unlinkat};
use rustix::io::Errno;

use crate::dir::{Held, PrivateDir, Stamp};
use crate::error::{Error, Operation};
use crate::names::{self, TempName};

const TEMPORARY: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// How many names are tried for a temporary before its folder counts as full of leftovers.
const NAMES_TRIED: u32 = 16;

/// What is brought to the disk before a write counts as done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Sync {
    /// Nothing: what dies with its process, or at the next boot, need not outlive a power cut.
    #[default]
    Nothing,
    /// The file and its name: for what must outlive its writer.
    FileAndName,
}

/// Whether a file of that name may be replaced.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WriteMode {
    Replace,
    OnlyNew,
}

impl PrivateDir {
    /// Writes a file whole, in the place of one that may be there. Readers see the old bytes or the new ones.
    pub fn write(&self, name: impl AsRef<OsStr>, bytes: &[u8]) -> Result<Stamp, Error> {
        self.write_synced(name, bytes, Sync::Nothing)
    }

    /// As [`PrivateDir::write`], with what is brought to the disk.
    pub fn write_synced(&self, name: impl AsRef<OsStr>, bytes: &[u8], sync: Sync) -> Result<Stamp, Error> {
        let name = self.component(Operation::Write, name.as_ref())?;
        let stamp = self.publish(name, bytes, sync, WriteMode::Replace)?;
        stamp.ok_or_else(|| self.os(Operation::Rename, name, Errno::EXIST))
    }

    /// Writes a file whole unless there is one of that name; `None` when there is.
    pub fn create_new(&self, name: impl AsRef<OsStr>, bytes: &[u8]) -> Result<Option<Stamp>, Error> {
        self.create_new_synced(name, bytes, Sync::Nothing)
    }

    /// As [`PrivateDir::create_new`], with what is brought to the disk.
    pub fn create_new_synced(&self, name: impl AsRef<OsStr>, bytes: &[u8], sync: Sync) -> Result<Option<Stamp>, Error> {
        let name = self.component(Operation::Write, name.as_ref())?;
        self.publish(name, bytes, sync, WriteMode::OnlyNew)
    }

    /// Tries whether a file of these bytes could be written now: a temporary is made, filled and taken away again. What
    /// a look at the file system cannot tell, such as a quota or a disk that is full for this user only, shows here.
    ///
    /// # Errors
    /// What a write would have ended with.
    pub fn try_write(&self, bytes: &[u8]) -> Result<(), Error> {
        let name = OsStr::new("probe");
        let held = self.held();
        let (_temporary, fd) = self.create_temporary(&held, name)?;
        fill(fd, bytes, held.remote).map(|_| ()).map_err(|(operation, errno)| self.os(operation, name, errno))
    }

    /// The folder may have been removed, or our temporary swept by a process that cannot see ours: both show as
    /// "no such file", and both are mended by doing it once more in the folder that the path leads to now.
    fn publish(&self, name: &OsStr, bytes: &[u8], sync: Sync, place: WriteMode) -> Result<Option<Stamp>, Error> {
        match self.publish_once(&self.held(), name, bytes, sync, place) {
            Err(error) if error.is_missing() => {
                self.refresh()?;
                self.publish_once(&self.held(), name, bytes, sync, place)
            }
            other => other,
        }
    }

    fn publish_once(
        &self,
        held: &Held,
        name: &OsStr,
        bytes: &[u8],
        sync: Sync,
        place: WriteMode,
    ) -> Result<Option<Stamp>, Error> {
        let (mut temporary, fd) = self.create_temporary(held, name)?;
        let (file, stamp) = fill(fd, bytes, sync == Sync::FileAndName || held.remote)
            .map_err(|(operation, errno)| self.os(operation, name, errno))?;
        let placed = match place {
            WriteMode::Replace => renameat(&held.fd, &temporary.name, &held.fd, name).map(|()| true),
            WriteMode::OnlyNew => rename_new(held, &temporary.name, held, name),
        };
        let placed = placed.map_err(|errno| self.os(Operation::Rename, name, errno))?;
        if !placed {
            return Ok(None);
        }
        temporary.placed = true;
        drop(file);
        if sync == Sync::FileAndName {
            fsync(&held.fd).map_err(|errno| self.os(Operation::Sync, name, errno))?;
        }
        Ok(Some(stamp))
    }

    fn create_temporary<'a>(&'a self, held: &'a Held, name: &OsStr) -> Result<(Temporary<'a>, OwnedFd), Error> {
        let mut last = Errno::EXIST;
        for _ in 0..NAMES_TRIED {
            let (number, temporary) = self.temporary_name(name);
            match openat(&held.fd, &temporary, TEMPORARY, Mode::RUSR | Mode::WUSR) {
                Ok(fd) => return Ok((Temporary { dir: self, held, name: temporary, number, placed: false }, fd)),
                Err(errno @ Errno::EXIST) => {
                    last = errno;
                    if self.temp_name() == TempName::PerProcess {
                        // Only a process with our id makes this name, and that is us: what stands there is a leftover.
                        let _ = unlinkat(&held.fd, &temporary, AtFlags::empty());
                    }
                }
                Err(Errno::INTR) => last = Errno::INTR,
                Err(errno) => return Err(self.os(Operation::Create, name, errno)),
            }
        }
        Err(self.os(Operation::Create, name, last))
    }

    /// The name of the next temporary, and the number in it.
    fn temporary_name(&self, name: &OsStr) -> (u32, OsString) {
        let pid = std::process::id();
        match self.temp_name() {
            TempName::Unique => {
                // The last number is used again, so that the folder need not grow for a new name each time. A swap hands it
                // to one writer; a concurrent one draws another.
                let spare = self.spare.swap(0, Ordering::Relaxed);
                let number = if spare == 0 { names::random32(pid) } else { spare };
                (number, names::numbered(name, "tmp", pid, number))
            }
            TempName::PerProcess => {
                let mut temporary = name.to_owned();
                temporary.push(format!(".tmp-{pid}"));
                (0, temporary)
            }
        }
    }
}

/// A temporary that is deleted on every way out but the one on which it was put in its place.
struct Temporary<'a> {
    dir: &'a PrivateDir,
    held: &'a Held,
    name: OsString,
    number: u32,
    placed: bool,
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.placed {
            // Nothing can be done about a failure; the next sweep takes the file.
            let _ = unlinkat(&self.held.fd, &self.name, AtFlags::empty());
        }
        self.dir.spare.store(self.number, Ordering::Relaxed);
    }
}

/// Writes the bytes and takes the file's stamp. The mode passed to `openat` is only narrowed by the umask, so most
/// files need no second call for it.
fn fill(fd: OwnedFd, bytes: &[u8], sync: bool) -> Result<(File, Stamp), (Operation, Errno)> {
    let errno = |error: std::io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
    let mut file = File::from(fd);
    file.write_all(bytes).map_err(|error| (Operation::Write, errno(error)))?;
    let found = fstat(file.as_fd()).map_err(|errno| (Operation::Write, errno))?;
    if found.st_mode & 0o7777 != 0o600 {
        // A file system without modes refuses. The folder has been judged for that, so the file is written all the same.
        let _ = fchmod(file.as_fd(), Mode::RUSR | Mode::WUSR);
    }
    if sync {
        fdatasync(file.as_fd()).map_err(|errno| (Operation::Sync, errno))?;
    }
    Ok((file, Stamp::of(&found)))
}

/// Renames unless the new name is taken: false when it is. Where the system has no such rename, a hard link does it.
pub(crate) fn rename_new(from: &Held, name: &OsStr, to: &Held, new: &OsStr) -> Result<bool, Errno> {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    match rustix::fs::renameat_with(&from.fd, name, &to.fd, new, rustix::fs::RenameFlags::NOREPLACE) {
        Ok(()) => return Ok(true),
        Err(Errno::EXIST) => return Ok(false),
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
        Err(errno) => return Err(errno),
    }
    match rustix::fs::linkat(&from.fd, name, &to.fd, new, AtFlags::empty()) {
        Ok(()) => {
            // The file is in its place whether its old name goes or not; a name that stays is swept later.
            let _ = unlinkat(&from.fd, name, AtFlags::empty());
            Ok(true)
        }
        Err(Errno::EXIST) => Ok(false),
        Err(errno) => Err(errno),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporarys_number_is_used_again_and_never_twice_at_a_time() {
        let temp = tempfile::tempdir().expect("a folder");
        let dir = PrivateDir::open(temp.path().join("d")).expect("made");
        let held = dir.held();
        let name = OsStr::new("a.json");
        let create = || dir.create_temporary(&held, name).expect("made").0;
        let (one, other) = (create(), create());
        assert_ne!(one.number, other.number);
        let number = one.number;
        drop(one);
        assert_eq!(create().number, number);
        // A leftover of that name costs one more try.
        std::fs::write(dir.path().join(names::numbered(name, "tmp", std::process::id(), number)), "").expect("written");
        dir.write(name, b"1").expect("written");
        assert_ne!(create().number, number);
    }
}
