//! What can go wrong, with the operation, the path, the errno and the way out in every message.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

/// What was being done when it went wrong; the verb of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Opening and verifying a folder.
    Open,
    /// Making a folder.
    MakeFolder,
    /// Making a file.
    Create,
    /// Writing a file's bytes.
    Write,
    /// Bringing a file or a folder to the disk.
    Sync,
    /// Putting a file in its place.
    Rename,
    /// Reading a file.
    Read,
    /// Reading a folder's names.
    List,
    /// Deleting a file or a folder.
    Remove,
    /// Taking a file for oneself by rename.
    Take,
    /// Locking a file.
    Lock,
}

impl Operation {
    /// The verb, as it stands after `cannot`.
    pub fn verb(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::MakeFolder => "make the folder",
            Self::Create => "create",
            Self::Write => "write",
            Self::Sync => "sync",
            Self::Rename => "rename into place",
            Self::Read => "read",
            Self::List => "list",
            Self::Remove => "remove",
            Self::Take => "take",
            Self::Lock => "lock",
        }
    }
}

/// Why it went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The system refused, with this errno.
    Os(i32),
    /// The folder, or the link that leads to it, belongs to another user.
    ForeignOwner {
        /// The user id that owns it.
        owner: u32,
        /// The user id this process works as.
        us: u32,
    },
    /// Other users can write in the folder, and so could put anything in the place of what is in it.
    WritableByOthers {
        /// Its mode bits.
        mode: u32,
    },
    /// The folder carries no mark of this project, and holds something that is none of its files.
    NotOurs {
        /// The name of the first such entry.
        entry: OsString,
    },
    /// There is something else than a folder at the path.
    NotAFolder,
    /// There is something else than a regular file at the path.
    NotAFile,
    /// The file system cannot keep a file from other users, and what would be stored needs that.
    OpenToOthers,
    /// The name is empty, `.` or `..`, or holds `/` or NUL: it is no name of a file in this folder.
    BadName,
}

/// A failed operation on a folder or a file in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    operation: Operation,
    path: PathBuf,
    fault: Fault,
    /// The variable that names the folder.
    variable: &'static str,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} {}: ", self.operation.verb(), self.path.display())?;
        match &self.fault {
            Fault::Os(errno) => {
                let text = io::Error::from_raw_os_error(*errno).to_string();
                let text = text.split(" (os error").next().unwrap_or_default();
                match errno_name(*errno) {
                    Some(name) => write!(f, "{text} ({name})"),
                    None => write!(f, "{text} (errno {errno})"),
                }
            }
            Fault::ForeignOwner { owner, us } => write!(f, "it belongs to user {owner}, and this is user {us}"),
            Fault::WritableByOthers { mode } => write!(f, "its mode is {mode:04o}: other users can write in it"),
            Fault::NotOurs { entry } => {
                write!(f, "it is another program's: {} in it is none of jig-session's files", entry.display())
            }
            Fault::NotAFolder => f.write_str("it is not a folder"),
            Fault::NotAFile => f.write_str("it is not a regular file"),
            Fault::OpenToOthers => f.write_str("its file system cannot keep other users out"),
            Fault::BadName => f.write_str("that is not the name of a file in this folder"),
        }
    }
}

impl Error {
    pub(crate) fn new(operation: Operation, path: impl Into<PathBuf>, fault: Fault) -> Self {
        Self { operation, path: path.into(), fault, variable: STATE_DIR }
    }

    pub(crate) fn os(operation: Operation, path: impl Into<PathBuf>, errno: Errno) -> Self {
        Self::new(operation, path, Fault::Os(errno.raw_os_error()))
    }

    /// The same of a folder that another variable names than the state folder's.
    #[must_use]
    pub fn named_by(self, variable: &'static str) -> Self {
        Self { variable, ..self }
    }

    /// What was being done.
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// The file or folder it was done to.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why it went wrong.
    pub fn fault(&self) -> &Fault {
        &self.fault
    }

    /// The system's number, when the system refused.
    pub fn errno(&self) -> Option<i32> {
        match self.fault {
            Fault::Os(errno) => Some(errno),
            _ => None,
        }
    }

    /// Whether the folder was refused because it is not safe to use, and not because the system failed.
    pub fn is_unsafe(&self) -> bool {
        matches!(
            self.fault,
            Fault::ForeignOwner { .. }
                | Fault::WritableByOthers { .. }
                | Fault::NotOurs { .. }
                | Fault::NotAFolder
                | Fault::NotAFile
                | Fault::OpenToOthers
        )
    }

    /// Whether what was to be worked on is not there.
    pub fn is_missing(&self) -> bool {
        self.errno() == Some(Errno::NOENT.raw_os_error())
    }

    /// Whether the file system does not support locks.
    pub fn is_without_locks(&self) -> bool {
        let none = |errno| NO_LOCKS.iter().any(|no| no.raw_os_error() == errno);
        self.operation == Operation::Lock && self.errno().is_some_and(none)
    }

    /// What the person can do about it.
    pub fn hint(&self) -> Option<String> {
        let elsewhere = |before: &str, after: &str| Some(format!("{before} with {}{after}", self.variable));
        match self.fault {
            Fault::Os(_) if self.is_without_locks() => {
                elsewhere("that file system has no locks: name a folder on another one", "")
            }
            Fault::Os(errno) => ERRNOS.iter().find(|row| row.0 == errno).map(|row| row.2.to_owned()),
            Fault::ForeignOwner { .. } => {
                elsewhere("run as the user that owns it, give it to this user with chown, or name another folder", "")
            }
            Fault::WritableByOthers { .. } => {
                elsewhere("take that right away with chmod go-w, or name another folder", "")
            }
            Fault::NotOurs { .. } => {
                elsewhere("name another folder", ", or move that entry away if it was put there by mistake")
            }
            Fault::NotAFolder => elsewhere("move it away, or name another folder", ""),
            Fault::NotAFile => Some("move it away".to_owned()),
            Fault::OpenToOthers => elsewhere("name a folder on another file system", ""),
            Fault::BadName => None,
        }
    }
}

/// The name of an errno, such as `ENOSPC`; `None` for one that no operation here is known to give.
pub fn errno_name(errno: i32) -> Option<&'static str> {
    ERRNOS.iter().find(|row| row.0 == errno).map(|row| row.1)
}

/// The variable that names the state folder, in which nearly all of ours lies.
const STATE_DIR: &str = "JIG_STATE_DIR";

/// What a file system without locks says to who wants one.
const NO_LOCKS: [Errno; 4] = [Errno::NOLCK, Errno::NOSYS, Errno::OPNOTSUPP, Errno::INVAL];

/// Number, name and way out of every errno that the operations here are known to give.
const ERRNOS: [(i32, &str, &str); 30] = [
    (Errno::NOSPC.raw_os_error(), "ENOSPC", "free some space on that file system"),
    (Errno::DQUOT.raw_os_error(), "EDQUOT", "free some of your quota on that file system"),
    (Errno::ROFS.raw_os_error(), "EROFS", "that file system is mounted read-only: mount it read-write"),
    (Errno::IO.raw_os_error(), "EIO", "look for disk errors in the system's log"),
    (Errno::ACCESS.raw_os_error(), "EACCES", "it, or a folder above it, is closed to you: chmod u+rwx on that one"),
    (
        Errno::PERM.raw_os_error(),
        "EPERM",
        "look whether the file or folder is immutable (lsattr) or owned by another user",
    ),
    (Errno::BUSY.raw_os_error(), "EBUSY", "the file is a mount point: mount its folder instead"),
    (Errno::XDEV.raw_os_error(), "EXDEV", "the file is a mount point: mount its folder instead"),
    (Errno::LOOP.raw_os_error(), "ELOOP", "a symbolic link stands there: remove it"),
    (Errno::NAMETOOLONG.raw_os_error(), "ENAMETOOLONG", "that file system allows shorter names only: use another one"),
    (Errno::NOTDIR.raw_os_error(), "ENOTDIR", "a part of the path is a file: move it away"),
    (Errno::ISDIR.raw_os_error(), "EISDIR", "a folder stands where a file belongs: move it away"),
    (Errno::MFILE.raw_os_error(), "EMFILE", "this process has too many files open: raise its limit (ulimit -n)"),
    (Errno::NFILE.raw_os_error(), "ENFILE", "the system has too many files open: close some programs"),
    (Errno::NOMEM.raw_os_error(), "ENOMEM", "the system is out of memory: close some programs"),
    (Errno::NOENT.raw_os_error(), "ENOENT", "the folder was removed meanwhile: try again"),
    (Errno::STALE.raw_os_error(), "ESTALE", "the network file system lost the folder: mount it again"),
    (Errno::EXIST.raw_os_error(), "EEXIST", "remove the leftover files with: jig-session prune"),
    (Errno::NOTEMPTY.raw_os_error(), "ENOTEMPTY", "the folder still holds files"),
    (Errno::FBIG.raw_os_error(), "EFBIG", "raise the file size limit (ulimit -f)"),
    (Errno::MLINK.raw_os_error(), "EMLINK", "the folder holds too many entries: remove some"),
    (Errno::INVAL.raw_os_error(), "EINVAL", "that file system does not support the operation: use another one"),
    (Errno::NOSYS.raw_os_error(), "ENOSYS", "that file system does not support the operation: use another one"),
    (Errno::OPNOTSUPP.raw_os_error(), "EOPNOTSUPP", "that file system does not support the operation: use another one"),
    (Errno::NXIO.raw_os_error(), "ENXIO", "a socket or a device stands there: remove it"),
    (Errno::NODEV.raw_os_error(), "ENODEV", "the device under that file system is gone: mount it again"),
    (Errno::AGAIN.raw_os_error(), "EAGAIN", "try again"),
    (Errno::INTR.raw_os_error(), "EINTR", "try again"),
    (Errno::NOLCK.raw_os_error(), "ENOLCK", "that file system has no locks left: use another one"),
    (Errno::BADF.raw_os_error(), "EBADF", "try again; a descriptor was closed under the program"),
];
