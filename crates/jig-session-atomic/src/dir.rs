//! The folder itself: what is held, what was found when it was opened.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use rustix::fs::{Stat, stat};

use crate::error::{Error, Fault, Operation};
use crate::names::{TempName, is_component};
use crate::open;
use crate::own::Belongs;

/// A folder that belongs to this user alone, verified and held open.
///
/// Share one between threads as you like: no operation changes what another one sees but the files themselves.
#[derive(Debug)]
pub struct PrivateDir {
    held: RwLock<Arc<Held>>,
    path: PathBuf,
    origin: Origin,
    notices: Vec<Notice>,
    temp: TempName,
    /// The number of a temporary that is in its place by now: the next one gets it again, since the system finds a name
    /// it has just seen faster than a new one. 0: there is none, or it is in use.
    pub(crate) spare: AtomicU32,
    /// Threads that share this folder remove one after the other.
    removing: Mutex<()>,
}

/// How a folder was opened, so that it can be opened again in the same way.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    base: Base,
    /// The folders below it, one after the other.
    below: Vec<OsString>,
}

/// What was opened by its path.
#[derive(Clone, Debug)]
pub(crate) enum Base {
    /// A folder of ours.
    Path(PathBuf),
    /// A folder in the state folder; with what belongs there, if it was opened for writing.
    Own(PathBuf, Option<Belongs>),
}

impl Origin {
    pub(crate) fn new(base: Base) -> Self {
        Self { base, below: Vec::new() }
    }

    fn sub(&self, name: &OsStr) -> Self {
        let mut sub = self.clone();
        sub.below.push(name.to_owned());
        sub
    }

    /// The path as passed in: a link in it may lead elsewhere by now.
    fn path(&self) -> PathBuf {
        let (Base::Path(base) | Base::Own(base, _)) = &self.base;
        let mut path = base.clone();
        path.extend(&self.below);
        path
    }

    fn open(&self) -> Result<PrivateDir, Error> {
        let mut dir = match &self.base {
            Base::Path(path) => open::for_writing(path)?,
            Base::Own(path, Some(belongs)) => PrivateDir::open_own(path, *belongs)?,
            Base::Own(path, None) => PrivateDir::open_own_existing(path)?
                .ok_or_else(|| Error::os(Operation::Open, path, rustix::io::Errno::NOENT))?,
        };
        for name in &self.below {
            dir = dir.sub(name)?;
        }
        Ok(dir)
    }
}

/// The descriptor and what it is known to be.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) fd: OwnedFd,
    /// Device and inode of the folder.
    pub(crate) identity: (u64, u64),
    /// The user that owns the folder; files of another one are not read.
    pub(crate) owner: u32,
    /// The file system reports some errors at close only, and may lose a name for a moment while it is replaced.
    pub(crate) remote: bool,
    /// The file system keeps other users out.
    pub(crate) keeps_modes: bool,
}

/// Something about a folder that a person should hear of once; it is used all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Others could enter; the mode was set to 0700.
    ModeMended {
        /// The mode bits that were found.
        from: u32,
    },
    /// Others can enter, and a reader changes nothing.
    ModeOpen {
        /// The mode bits that were found.
        mode: u32,
    },
    /// The file system cannot hold modes: others may be able to read what is written.
    ModesNotHeld,
    /// The path is a symbolic link to the folder that is used.
    ThroughLink {
        /// The requested path.
        link: PathBuf,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ModeMended { from } => write!(f, "its mode was {from:04o}; it is 0700 now"),
            Self::ModeOpen { mode } => write!(f, "its mode is {mode:04o}; other users can look into it"),
            Self::ModesNotHeld => f.write_str("its file system cannot hold modes; other users may read it"),
            Self::ThroughLink { link } => write!(f, "{} is a symbolic link to it", link.display()),
        }
    }
}

/// Which version of a file it is. Every write makes a new inode, so two stamps are equal only for the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The inode's number.
    pub inode: u64,
    /// Size in bytes.
    pub size: u64,
    /// Time of the last change of the content, in nanoseconds since 1970.
    pub modified_ns: i128,
}

impl Stamp {
    pub(crate) fn of(stat: &Stat) -> Self {
        // The fields' types differ between systems; widening is lossless on all of them.
        #[allow(clippy::unnecessary_cast)]
        Self {
            inode: stat.st_ino as u64,
            size: stat.st_size as u64,
            modified_ns: i128::from(stat.st_mtime) * 1_000_000_000 + stat.st_mtime_nsec as i128,
        }
    }

    /// Time of the last change of the content, in milliseconds since 1970.
    pub fn modified_ms(&self) -> i64 {
        i64::try_from(self.modified_ns.div_euclid(1_000_000)).unwrap_or(i64::MAX)
    }
}

impl PrivateDir {
    /// Opens the folder for writing; makes it, and its missing parents, with mode 0700.
    ///
    /// A folder of another user is refused, for root too. One whose mode lets others in is mended, with a
    /// [`Notice`]. A symbolic link is followed once if both it and its target are ours.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        open::for_writing(path.as_ref())
    }

    /// Opens the folder for reading; `None` when there is none. Nothing is made and nothing is changed.
    pub fn open_existing(path: impl AsRef<Path>) -> Result<Option<Self>, Error> {
        open::for_reading(path.as_ref())
    }

    /// The folder of that name inside this one, made when missing.
    pub fn sub(&self, name: impl AsRef<OsStr>) -> Result<Self, Error> {
        let name = self.component(Operation::Open, name.as_ref())?;
        let mut sub = open::sub_for_writing(&self.held(), &self.path.join(name), name)?;
        sub.temp = self.temp;
        sub.origin = self.origin.sub(name);
        Ok(sub)
    }

    /// The folder of that name inside this one; `None` when there is none. Nothing is made and nothing is changed.
    pub fn sub_existing(&self, name: impl AsRef<OsStr>) -> Result<Option<Self>, Error> {
        let name = self.component(Operation::Open, name.as_ref())?;
        let sub = open::sub_for_reading(&self.held(), &self.path.join(name), name)?;
        Ok(sub.map(|mut sub| {
            sub.temp = self.temp;
            sub.origin = self.origin.sub(name);
            sub
        }))
    }

    /// Names temporaries in this way from now on.
    #[must_use]
    pub fn with_temp_name(mut self, temp: TempName) -> Self {
        self.temp = temp;
        self
    }

    /// How temporaries are named.
    pub fn temp_name(&self) -> TempName {
        self.temp
    }

    /// The folder's path, with a link at its end resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What a person should hear of, once.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// Refuses a folder that cannot keep other users out. What a request or a message may do or hold needs that.
    pub fn require_modes(&self) -> Result<(), Error> {
        if self.held().keeps_modes {
            return Ok(());
        }
        Err(Error::new(Operation::Open, &self.path, Fault::OpenToOthers))
    }

    /// Whether the folder lies on a local file system, as far as the system reports it.
    pub fn is_local(&self) -> bool {
        !self.held().remote
    }

    /// Whether the path still leads to the folder that is held. It does not after the folder was removed or renamed.
    pub fn is_current(&self) -> bool {
        stat(self.origin.path()).is_ok_and(|now| identity(&now) == self.held().identity)
    }

    /// Opens the folder again by its path, making it when missing, if the path leads elsewhere by now.
    pub fn refresh(&self) -> Result<(), Error> {
        if self.is_current() {
            return Ok(());
        }
        let again = self.origin.open()?.held();
        *self.held.write().unwrap_or_else(PoisonError::into_inner) = again;
        Ok(())
    }

    /// Version of a file, without opening it; `None` when there is none. A link is not followed.
    pub fn stamp(&self, name: impl AsRef<OsStr>) -> Result<Option<Stamp>, Error> {
        let name = self.component(Operation::Read, name.as_ref())?;
        match rustix::fs::statat(&self.held().fd, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(Stamp::of(&found))),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(errno) => Err(self.os(Operation::Read, name, errno)),
        }
    }

    pub(crate) fn assemble(held: Held, path: PathBuf, notices: Vec<Notice>) -> Self {
        Self {
            held: RwLock::new(Arc::new(held)),
            origin: Origin::new(Base::Path(path.clone())),
            path,
            notices,
            temp: TempName::default(),
            spare: AtomicU32::new(0),
            removing: Mutex::new(()),
        }
    }

    pub(crate) fn with_notice(mut self, notice: Notice) -> Self {
        self.notices.push(notice);
        self
    }

    pub(crate) fn opened_by(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }

    pub(crate) fn with_notices_of(mut self, above: &Self) -> Self {
        self.notices.extend(above.notices.iter().cloned());
        self
    }

    pub(crate) fn held(&self) -> Arc<Held> {
        Arc::clone(&self.held.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn removing(&self) -> MutexGuard<'_, ()> {
        self.removing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn component<'a>(&self, operation: Operation, name: &'a OsStr) -> Result<&'a OsStr, Error> {
        if is_component(name) {
            return Ok(name);
        }
        // `join` with an absolute name would name another place, so the text is put together by hand.
        let mut path = self.path.clone().into_os_string();
        path.push("/");
        path.push(name);
        Err(Error::new(operation, path, Fault::BadName))
    }

    pub(crate) fn os(&self, operation: Operation, name: &OsStr, errno: rustix::io::Errno) -> Error {
        Error::os(operation, self.path.join(name), errno)
    }
}

/// Device and inode: which folder it is.
#[allow(clippy::unnecessary_cast)]
pub(crate) fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev as u64, stat.st_ino as u64)
}
