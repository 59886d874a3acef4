//! A lock that dies with its holder.

use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::time::{Duration, Instant};

use rustix::fs::{FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;

use crate::dir::PrivateDir;
use crate::error::{Error, Fault, Operation};

const LOCK: OFlags = OFlags::RDWR
    .union(OFlags::CREATE)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Poll interval for a lock that another process holds.
const PAUSE: Duration = Duration::from_millis(10);

/// A held lock; dropping it gives it back, and so does the end of the process, however it ends.
#[derive(Debug)]
pub struct Lock {
    file: File,
    name: OsString,
}

impl Lock {
    /// Writes the holder into the lock's file, so that a timed-out waiter can name it.
    pub fn sign(&self, text: &str) -> std::io::Result<()> {
        rustix::io::pwrite(&self.file, text.as_bytes(), 0)?;
        Ok(rustix::fs::ftruncate(&self.file, text.len() as u64)?)
    }

    /// Deletes the lock's file while it is held. Who waits for it sees that, and makes a new one.
    pub fn remove(self, dir: &PrivateDir) -> Result<(), Error> {
        dir.remove(&self.name).map(|_| ())
    }
}

impl PrivateDir {
    /// Locks a file of the folder, made when missing, waiting for at most `wait`; `None` when another process holds it
    /// for longer.
    pub fn lock(&self, name: impl AsRef<OsStr>, wait: Duration) -> Result<Option<Lock>, Error> {
        let name = self.component(Operation::Lock, name.as_ref())?;
        let end = Instant::now() + wait;
        loop {
            let file = self.open_lock(name)?;
            match file.try_lock() {
                // The former holder may have deleted the file between our open and our lock.
                Ok(()) if fstat(&file).is_ok_and(|found| found.st_nlink > 0) => {
                    return Ok(Some(Lock { file, name: name.to_owned() }));
                }
                Ok(()) => continue,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => {
                    let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
                    return Err(self.os(Operation::Lock, name, errno));
                }
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            std::thread::sleep(PAUSE.min(left));
        }
    }

    fn open_lock(&self, name: &OsStr) -> Result<File, Error> {
        let open = || openat(&self.held().fd, name, LOCK, Mode::RUSR | Mode::WUSR);
        let fd = match open() {
            Err(Errno::NOENT) => {
                self.refresh()?;
                open()
            }
            other => other,
        };
        let fd = fd.map_err(|errno| self.os(Operation::Lock, name, errno))?;
        let found = fstat(&fd).map_err(|errno| self.os(Operation::Lock, name, errno))?;
        let owner = self.held().owner;
        let fault = if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile || found.st_nlink > 1 {
            // A second name would make another file of ours hold who has the lock.
            Fault::NotAFile
        } else if found.st_uid != owner {
            Fault::ForeignOwner { owner: found.st_uid, us: owner }
        } else {
            return Ok(File::from(fd));
        };
        Err(Error::new(Operation::Lock, self.path().join(name), fault))
    }
}
