//! The folders in the state folder that this project alone writes: marked, and adopted only when nothing else is in them.
//!
//! The state folder is the root of trust. Other programs of the user may keep files in it too, so its mode is left
//! alone, but it must be the user's own and nobody else may write in it: whoever can, could put another folder in the
//! place of one of ours. Everything else is opened relative to its descriptor.

use std::ffi::OsStr;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use crate::dir::{Base, Origin, PrivateDir};
use crate::error::{Error, Fault, Operation};
use crate::names::Leftover;
use crate::open::{self, Purpose, Within};
use crate::read::Reason;

/// The file that marks a folder as one that this project alone writes.
pub const MARK: &str = ".jig-session";

/// What the mark says to a person who finds it.
const MARK_TEXT: &[u8] = b"Only jig-session writes in this folder, and it removes what crashed sessions leave here.\n";

/// A larger entry of an unmarked folder is none of ours.
const LARGEST: usize = 1 << 20;

/// What an entry of an unmarked folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// A folder.
    Folder,
    /// A regular file of at most 1 MiB, its bytes.
    File(&'a [u8]),
    /// Anything else.
    Other,
}

/// Whether an entry of this name and content is one that this project puts into the folder.
pub type Belongs = fn(&OsStr, Content<'_>) -> bool;

impl PrivateDir {
    /// Opens one of the project's own folders for writing; `path` is that of a folder in the state folder. Both are
    /// made when missing, with mode 0700.
    ///
    /// The state folder must belong to this user, must not be another user's link, and nobody else may write in it. The
    /// folder itself is marked ([`MARK`]); one without a mark is adopted if everything in it `belongs` there, and left
    /// as it is otherwise.
    ///
    /// # Errors
    /// When one of the two is not safe, when the folder is another program's, and when the system refuses.
    pub fn open_own(path: impl AsRef<Path>, belongs: Belongs) -> Result<Self, Error> {
        let (state, name) = split(path.as_ref())?;
        let root = open::state_for_writing(state)?;
        let dir = own(&root, name, belongs)?;
        Ok(dir.opened_by(Origin::new(Base::Own(path.as_ref().to_owned(), Some(belongs)))).with_notices_of(&root))
    }

    /// Opens one of the project's own folders for reading; `None` when it or the state folder is not there. Nothing is
    /// made and nothing is changed.
    ///
    /// # Errors
    /// As [`PrivateDir::open_own`], but that a reader does not ask whether the folder is marked.
    pub fn open_own_existing(path: impl AsRef<Path>) -> Result<Option<Self>, Error> {
        let (state, name) = split(path.as_ref())?;
        let Some(root) = open::state_for_reading(state)? else { return Ok(None) };
        let dir = root.sub_existing(name)?;
        Ok(dir.map(|dir| dir.opened_by(Origin::new(Base::Own(path.as_ref().to_owned(), None))).with_notices_of(&root)))
    }

    /// Checks the state folder as [`PrivateDir::open_own`] does, without making or changing anything; `None` when it is
    /// not there. The path with a link at its end resolved, and what a person should hear of.
    ///
    /// # Errors
    /// When it is not safe, and when the system refuses.
    pub fn check_state(path: impl AsRef<Path>) -> Result<Option<Self>, Error> {
        open::state_for_reading(path.as_ref())
    }

    /// Whether the folder carries the mark of one that this project alone writes.
    ///
    /// # Errors
    /// When the system does not say: an unknown mark is no missing one.
    pub fn is_marked(&self) -> Result<bool, Error> {
        let held = self.held();
        match statat(&held.fd, MARK, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => {
                let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
                Ok(is_file && found.st_uid == held.owner)
            }
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(self.os(Operation::Open, OsStr::new(MARK), errno)),
        }
    }

    /// The first entry that does not belong into the folder.
    fn stranger(&self, belongs: Belongs) -> Result<Option<std::ffi::OsString>, Error> {
        let mut names = self.list()?;
        names.sort_unstable();
        let mut bytes = Vec::new();
        for name in names {
            // A writer of ours that died while it made the mark or a document left no more than this.
            if Leftover::parse(&name).is_some() {
                continue;
            }
            let content = match self.read_into(&name, LARGEST, &mut bytes) {
                Ok(_) => Content::File(&bytes),
                Err(problem) => match problem.reason {
                    Reason::Missing => continue,
                    Reason::Empty => Content::File(&[]),
                    Reason::NotARegularFile if self.is_folder(&name)? => Content::Folder,
                    _ => match problem.errno {
                        // What cannot be read is not another program's for that.
                        Some(errno) => {
                            return Err(self.os(Operation::Read, &name, Errno::from_raw_os_error(errno)));
                        }
                        None => Content::Other,
                    },
                },
            };
            if !belongs(&name, content) {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    fn is_folder(&self, name: &OsStr) -> Result<bool, Error> {
        match statat(&self.held().fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(FileType::from_raw_mode(found.st_mode) == FileType::Directory),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(self.os(Operation::Open, name, errno)),
        }
    }

    fn mark(&self) -> Result<(), Error> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = match openat(&self.held().fd, MARK, flags, Mode::RUSR | Mode::WUSR) {
            // Another process was quicker.
            Err(Errno::EXIST) => return Ok(()),
            other => other.map_err(|errno| self.os(Operation::Create, OsStr::new(MARK), errno))?,
        };
        // That it is there is what counts; a full disk may leave it without its words.
        let _ = rustix::io::write(&fd, MARK_TEXT);
        Ok(())
    }
}

/// Opens one of our folders in the state folder for writing. Another program's folder keeps its mode, too.
fn own(root: &PrivateDir, name: &OsStr, belongs: Belongs) -> Result<PrivateDir, Error> {
    let path = root.path().join(name);
    let held = root.held();
    let open = |purpose| open::at(Within::Held(&held), name, &path, purpose);
    let dir = match open(Purpose::Read) {
        Err(error) if error.is_missing() => {
            open::make(Within::Held(&held), name, &path)?;
            open(Purpose::Read)?
        }
        other => other?,
    };
    let marked = dir.is_marked()?;
    if !marked && let Some(entry) = dir.stranger(belongs)? {
        return Err(Error::new(Operation::Open, path, Fault::NotOurs { entry }));
    }
    let dir = if dir.held().keeps_modes { dir } else { open(Purpose::Write)? };
    if !marked {
        dir.mark()?;
    }
    Ok(dir)
}

/// The state folder and the name of the folder in it.
fn split(path: &Path) -> Result<(&Path, &OsStr), Error> {
    match (path.parent(), path.file_name()) {
        (Some(state), Some(name)) if !state.as_os_str().is_empty() => Ok((state, name)),
        _ => Err(Error::new(Operation::Open, path, Fault::BadName)),
    }
}
