//! The lock of a bus: the kernel's, and beside it one made of files where a file system has no locks.
//!
//! Once a process has met a file system without locks, a mark in the folder says so, and from then on everybody takes
//! the file lock as well, so that processes with and without `flock` exclude each other.

use std::time::{Duration, Instant};

use jig_session_atomic::{Error as DirError, Lock as KernelLock, PrivateDir, errno_name};

use crate::error::{Code, Error, Refusal};
use crate::holder::{FileLock, Standing, is_successor};
use crate::store::Bus;

/// What the kernel locks; its content names who held it last.
const LOCK: &str = "lock";

/// Says that the lock of files is taken here, and why.
const MARK: &str = "lock.fallback";

/// The held lock; dropping it gives it back, and so does the end of the process, however it ends.
pub(crate) struct Lock<'b> {
    /// Goes first: who waits for the kernel's lock finds this one free.
    files: Option<FileLock<'b>>,
    kernel: Option<KernelLock>,
}

/// Who stands in the way.
enum Busy {
    Kernel,
    Files(Standing),
}

impl Lock<'_> {
    /// Removes what killed holders left of the lock of files.
    pub(crate) fn sweep(&self, dir: &PrivateDir) -> Result<(), Error> {
        for name in crate::store::texts(dir.list()?).filter(|name| is_successor(name)) {
            if self.files.as_ref().is_none_or(|held| !held.needs(&name)) {
                dir.remove(&name)?;
            }
        }
        Ok(())
    }
}

impl<'w> Bus<'w> {
    /// The lock that every change of records and claims holds.
    pub(crate) fn lock(&self) -> Result<Lock<'_>, Error> {
        let dir = self.dir()?;
        match self.acquire(dir, self.lock_wait)? {
            Ok(lock) => {
                if let Some(kernel) = &lock.kernel {
                    // Who waits in vain can then say for whom. The lock holds whether this can be written or not.
                    let _ = kernel.sign(&format!("{} {}\n", self.world.this().0, self.world.this().1));
                }
                Ok(lock)
            }
            Err(Busy::Files(standing)) => Err(standing.refusal(dir).into()),
            Err(Busy::Kernel) => {
                let holder = dir.read(LOCK, 256).ok().and_then(|read| String::from_utf8(read.bytes).ok());
                let pid = holder.as_deref().and_then(|line| line.split_whitespace().next()).unwrap_or("unknown");
                Err(Refusal::new(Code::Busy, format!("the bus is busy: process {pid} holds its lock"))
                    .hint(format!("look at it with: ps -fp {pid}; the lock goes with the process"))
                    .into())
            }
        }
    }

    /// The lock, if it is free at once.
    pub(crate) fn try_lock(&self) -> Result<Option<Lock<'_>>, Error> {
        match self.dir_looked() {
            Some(dir) => Ok(self.acquire(dir, Duration::ZERO)?.ok()),
            None => Ok(None),
        }
    }

    fn acquire<'b>(&'b self, dir: &'b PrivateDir, wait: Duration) -> Result<Result<Lock<'b>, Busy>, Error> {
        let end = Instant::now() + wait;
        let kernel = match dir.lock(LOCK, wait) {
            Ok(Some(kernel)) => Some(kernel),
            Ok(None) => return Ok(Err(Busy::Kernel)),
            Err(error) if error.is_without_locks() => {
                mark(dir, &error)?;
                None
            }
            Err(error) => return Err(error.into()),
        };
        if kernel.is_some() && dir.stamp(MARK)?.is_none() {
            return Ok(Ok(Lock { files: None, kernel }));
        }
        Ok(match FileLock::acquire(dir, self.world, end)? {
            Ok(files) => Ok(Lock { files: Some(files), kernel }),
            Err(standing) => Err(Busy::Files(standing)),
        })
    }
}

/// Says that there are no locks here, before the first lock of files: who comes later with a lock of the kernel's knows.
fn mark(dir: &PrivateDir, error: &DirError) -> Result<(), Error> {
    if dir.stamp(MARK)?.is_none() {
        let errno = error.errno().and_then(errno_name).unwrap_or("unknown");
        dir.create_new(MARK, format!("{errno}\n").as_bytes())?;
    }
    Ok(())
}

/// Why the bus in a folder takes the lock of files, such as `ENOLCK`; `None` when it does not.
pub fn fallback(bus: &PrivateDir) -> Option<String> {
    let mark = bus.read(MARK, 256).ok()?;
    Some(String::from_utf8_lossy(&mark.bytes).trim().to_owned())
}
