//! Taking, moving and deleting: always by a rename first, so that only what was judged goes.

use std::ffi::{OsStr, OsString};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FileType, FlockOperation, flock, renameat, statat, unlinkat};
use rustix::io::Errno;

use crate::dir::{Held, PrivateDir, Stamp};
use crate::error::{Error, Operation};
use crate::names::{self, Leftover, LeftoverKind};
use crate::write::rename_new;

/// A temporary this old belongs to nobody, whatever its process id says: no write lasts an hour.
const ABANDONED_MS: i64 = 60 * 60 * 1000;

/// How long a remover waits for its turn: a turn is four system calls.
const LONGEST_TURN: Duration = Duration::from_secs(2);

/// What came of a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// The file that was judged is gone.
    Removed,
    /// There was no file of that name any more.
    Missing,
    /// Another file had taken its place; it was left, or put back.
    Changed,
}

/// What came of a move that replaces nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// The file has its new name.
    Done,
    /// There was no file of the old name.
    Missing,
    /// There is a file of the new name; nothing was changed.
    Exists,
}

impl PrivateDir {
    /// Takes a file for this process by renaming it: of several takers one gets it. Gives the new name
    /// (`.<file>.taken-<pid>-<8 hex>`), or `None` when there is no such file.
    pub fn take(&self, name: impl AsRef<OsStr>) -> Result<Option<OsString>, Error> {
        let name = self.component(Operation::Take, name.as_ref())?;
        let taken = names::unique(name, "taken", std::process::id());
        match rename_new(&self.held(), name, &self.held(), &taken) {
            Ok(true) => Ok(Some(taken)),
            Ok(false) => Err(self.os(Operation::Take, name, Errno::EXIST)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(self.os(Operation::Take, name, errno)),
        }
    }

    /// Moves a file to a name in this or another folder, without replacing anything.
    pub fn move_new(&self, name: impl AsRef<OsStr>, to: &Self, new: impl AsRef<OsStr>) -> Result<Moved, Error> {
        let name = self.component(Operation::Rename, name.as_ref())?;
        let new = to.component(Operation::Rename, new.as_ref())?;
        match rename_new(&self.held(), name, &to.held(), new) {
            Ok(true) => Ok(Moved::Done),
            Ok(false) => Ok(Moved::Exists),
            Err(Errno::NOENT) => Ok(Moved::Missing),
            Err(errno) => Err(to.os(Operation::Rename, new, errno)),
        }
    }

    /// Deletes a file, whatever version it is; false when there is none. For files that this process alone writes.
    pub fn remove(&self, name: impl AsRef<OsStr>) -> Result<bool, Error> {
        let name = self.component(Operation::Remove, name.as_ref())?;
        unlink(&self.held(), name, AtFlags::empty()).map_err(|errno| self.os(Operation::Remove, name, errno))
    }

    /// Deletes an empty folder; false when there is none. One that holds files is the error `ENOTEMPTY`.
    pub fn remove_sub(&self, name: impl AsRef<OsStr>) -> Result<bool, Error> {
        let name = self.component(Operation::Remove, name.as_ref())?;
        unlink(&self.held(), name, AtFlags::REMOVEDIR).map_err(|errno| self.os(Operation::Remove, name, errno))
    }

    /// Deletes the version of a file that was judged, and no other: it is renamed aside, looked at again, and put back
    /// if it is another one. A version published meanwhile stays.
    ///
    /// Removers take turns: of two at once, one could put an old version back while the other holds the newest aside,
    /// and that one would then take the old for newer and drop the newest.
    pub fn remove_judged(&self, name: impl AsRef<OsStr>, judged: &Stamp) -> Result<Removal, Error> {
        let name = self.component(Operation::Remove, name.as_ref())?;
        let held = self.held();
        let _threads = self.removing();
        let _processes = Turn::wait_for(&held).map_err(|errno| self.os(Operation::Remove, name, errno))?;
        self.remove_version(&held, name, judged)
    }

    /// As [`PrivateDir::remove_judged`], for a file that this process alone writes and nobody else judges while it
    /// lives: it waits for no turn, so that hundreds that end at once all take their files with them.
    pub fn remove_own(&self, name: impl AsRef<OsStr>, written: &Stamp) -> Result<Removal, Error> {
        let name = self.component(Operation::Remove, name.as_ref())?;
        self.remove_version(&self.held(), name, written)
    }

    fn remove_version(&self, held: &Held, name: &OsStr, judged: &Stamp) -> Result<Removal, Error> {
        let failed = |errno| self.os(Operation::Remove, name, errno);
        match look(held, name).map_err(failed)? {
            None => return Ok(Removal::Missing),
            Some((stamp, _)) if stamp != *judged => return Ok(Removal::Changed),
            Some(_) => {}
        }
        // A temporary's name, so that the sweep takes it if we are killed before the end.
        let aside = names::unique(name, "tmp", std::process::id());
        match renameat(&held.fd, name, &held.fd, &aside) {
            Err(Errno::NOENT) => return Ok(Removal::Missing),
            other => other.map_err(failed)?,
        }
        let same = look(held, &aside).map(|found| found.is_some_and(|(stamp, _)| stamp == *judged));
        if same == Ok(true) {
            let removed = unlink(held, &aside, AtFlags::empty());
            if removed.is_err() {
                let _ = rename_new(held, &aside, held, name);
            }
            return removed.map(|_| Removal::Removed).map_err(failed);
        }
        if rename_new(held, &aside, held, name) == Ok(false) {
            // A newer version stands there already: the one that was renamed aside is what it replaced.
            let _ = unlink(held, &aside, AtFlags::empty());
        }
        same.map(|_| Removal::Changed).map_err(failed)
    }

    /// Deletes the temporaries of writers that died: regular files of ours with a name of this crate's form, whose
    /// process is gone, or that are over an hour old. `now_ms` is the time in milliseconds since 1970. Gives the names
    /// that went. Taken files are not touched: their taker's successor answers for them.
    ///
    /// A process of another pid namespace looks gone and is not; its writer makes a lost temporary again.
    pub fn sweep(&self, now_ms: i64, mut is_gone: impl FnMut(u32) -> bool) -> Result<Vec<OsString>, Error> {
        let held = self.held();
        let mut swept = Vec::new();
        let mut failure = None;
        for name in self.list()? {
            let Some(leftover) = Leftover::parse(&name).filter(|l| l.kind == LeftoverKind::Temporary) else { continue };
            let Ok(Some((stamp, true))) = look(&held, &name) else { continue };
            let own = leftover.pid == std::process::id();
            let old = now_ms.saturating_sub(stamp.modified_ms()) > ABANDONED_MS;
            if !old && (own || !is_gone(leftover.pid)) {
                continue;
            }
            match unlink(&held, &name, AtFlags::empty()) {
                Ok(true) => swept.push(name),
                Ok(false) => {}
                // One that cannot go must not keep the others.
                Err(errno) => failure = Some(self.os(Operation::Remove, &name, errno)),
            }
        }
        failure.map_or(Ok(swept), Err)
    }
}

/// The turn of one process among those that remove files of a folder: a lock on the folder itself, which ends with its
/// holder.
struct Turn<'a> {
    held: &'a Held,
}

impl<'a> Turn<'a> {
    /// Waits for the turn. A file system without such locks keeps nobody from removing: what can go wrong there needs
    /// three processes within one moment, and publishers restore their files.
    fn wait_for(held: &'a Held) -> Result<Option<Self>, Errno> {
        let end = Instant::now() + LONGEST_TURN;
        loop {
            match flock(&held.fd, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Some(Self { held })),
                Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < end => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                // A holder that was stopped in its turn: what is to go can go another time.
                Err(Errno::WOULDBLOCK) => return Err(Errno::AGAIN),
                Err(_) => return Ok(None),
            }
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // Closing the descriptor would do it too.
        let _ = flock(&self.held.fd, FlockOperation::Unlock);
    }
}

fn unlink(held: &Held, name: &OsStr, flags: AtFlags) -> Result<bool, Errno> {
    match unlinkat(&held.fd, name, flags) {
        Ok(()) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Which version stands there, and whether it is a regular file of ours.
fn look(held: &Held, name: &OsStr) -> Result<Option<(Stamp, bool)>, Errno> {
    match statat(&held.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => {
            let regular = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
            Ok(Some((Stamp::of(&found), regular && found.st_uid == held.owner)))
        }
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}
