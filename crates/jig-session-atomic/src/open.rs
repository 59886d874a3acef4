//! Opening a folder: what it must be before anything in it is touched.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fchmod, fstat, mkdirat, openat, statat};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::dir::{Base, Held, Notice, Origin, PrivateDir, identity};
use crate::error::{Error, Fault, Operation};

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A folder is made and mended for writers only; a reader looks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Read,
    Write,
}

/// Whom a folder must keep out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// Other users read and write nothing in it.
    Private,
    /// Other users write nothing in it; what they read is the owner's affair.
    State,
}

/// What a name is relative to.
#[derive(Clone, Copy)]
pub(crate) enum Within<'a> {
    /// The working folder, so the name is a path.
    Path,
    /// A folder that is held.
    Held(&'a Held),
}

impl Within<'_> {
    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Path => CWD,
            Self::Held(held) => held.fd.as_fd(),
        }
    }
}

pub(crate) fn for_writing(path: &Path) -> Result<PrivateDir, Error> {
    made(path, Rule::Private)
}

/// The state folder, made when it is missing.
pub(crate) fn state_for_writing(path: &Path) -> Result<PrivateDir, Error> {
    made(path, Rule::State)
}

fn made(path: &Path, rule: Rule) -> Result<PrivateDir, Error> {
    match at_path(path, Purpose::Write, rule) {
        Err(error) if error.is_missing() => {
            make_with_parents(path)?;
            at_path(path, Purpose::Write, rule)
        }
        other => other,
    }
}

pub(crate) fn for_reading(path: &Path) -> Result<Option<PrivateDir>, Error> {
    there(at_path(path, Purpose::Read, Rule::Private))
}

/// The state folder, if it is there.
pub(crate) fn state_for_reading(path: &Path) -> Result<Option<PrivateDir>, Error> {
    there(at_path(path, Purpose::Read, Rule::State))
}

fn there(opened: Result<PrivateDir, Error>) -> Result<Option<PrivateDir>, Error> {
    match opened {
        Err(error) if error.is_missing() => Ok(None),
        other => other.map(Some),
    }
}

pub(crate) fn sub_for_writing(held: &Held, path: &Path, name: &OsStr) -> Result<PrivateDir, Error> {
    match at(Within::Held(held), name, path, Purpose::Write) {
        Err(error) if error.is_missing() => {
            make(Within::Held(held), name, path)?;
            at(Within::Held(held), name, path, Purpose::Write)
        }
        other => other,
    }
}

pub(crate) fn sub_for_reading(held: &Held, path: &Path, name: &OsStr) -> Result<Option<PrivateDir>, Error> {
    there(at(Within::Held(held), name, path, Purpose::Read))
}

/// Opens a folder by its path. People do link their state folder to another disk, so a link at the end is resolved
/// once, if it is ours; the target is then held to the same rules as any folder.
fn at_path(path: &Path, purpose: Purpose, rule: Rule) -> Result<PrivateDir, Error> {
    no_links_of_others(path)?;
    let name = path.as_os_str();
    let found =
        statat(CWD, name, AtFlags::SYMLINK_NOFOLLOW).map_err(|errno| Error::os(Operation::Open, path, errno))?;
    if FileType::from_raw_mode(found.st_mode) != FileType::Symlink {
        return verified(Within::Path, name, path, purpose, rule);
    }
    ours(path, found.st_uid)?;
    let target = std::fs::canonicalize(path).map_err(|error| {
        // A link that leads nowhere must not count as a missing folder: mkdir cannot make one in its place.
        let errno = Errno::from_io_error(&error).filter(|errno| *errno != Errno::NOENT);
        Error::os(Operation::Open, path, errno.unwrap_or(Errno::LOOP))
    })?;
    Ok(verified(Within::Path, target.as_os_str(), &target, purpose, rule)?
        .with_notice(Notice::ThroughLink { link: path.to_owned() })
        .opened_by(Origin::new(Base::Path(path.to_owned()))))
}

/// A link on the way to a folder leads where its owner wants, and that may be into another folder of ours.
fn no_links_of_others(path: &Path) -> Result<(), Error> {
    for folder in path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()) {
        if let Ok(found) = statat(CWD, folder, AtFlags::SYMLINK_NOFOLLOW)
            && FileType::from_raw_mode(found.st_mode) == FileType::Symlink
            && found.st_uid != 0
        {
            ours(folder, found.st_uid)?;
        }
    }
    Ok(())
}

/// Opens and verifies one folder of ours alone, never through a link.
pub(crate) fn at(within: Within<'_>, name: &OsStr, path: &Path, purpose: Purpose) -> Result<PrivateDir, Error> {
    verified(within, name, path, purpose, Rule::Private)
}

fn verified(within: Within<'_>, name: &OsStr, path: &Path, purpose: Purpose, rule: Rule) -> Result<PrivateDir, Error> {
    let parent = within.fd();
    let fd = openat(parent, name, FOLDER, Mode::empty()).map_err(|errno| refused(parent, name, path, errno))?;
    let found = fstat(&fd).map_err(|errno| Error::os(Operation::Open, path, errno))?;
    ours(path, found.st_uid)?;
    let mut notices = Vec::new();
    let mode = found.st_mode & 0o7777;
    let keeps_modes = match rule {
        Rule::Private => settle_mode(&fd, mode, purpose, &mut notices),
        Rule::State if mode & 0o022 == 0 => true,
        Rule::State => return Err(Error::new(Operation::Open, path, Fault::WritableByOthers { mode })),
    };
    let identity = identity(&found);
    // One device is one file system: what is known of the parent folder need not be queried again.
    let remote = match within {
        Within::Held(above) if above.identity.0 == identity.0 => above.remote,
        _ => is_remote(&fd),
    };
    let held = Held { identity, owner: found.st_uid, remote, keeps_modes, fd };
    Ok(PrivateDir::assemble(held, path.to_owned(), notices))
}

/// Whether other users have no access, after the mode was tightened where possible. Missing bits of our own are not
/// added: somebody took them away on purpose.
fn settle_mode(fd: &OwnedFd, mode: u32, purpose: Purpose, notices: &mut Vec<Notice>) -> bool {
    if mode & 0o077 == 0 {
        return true;
    }
    if purpose == Purpose::Read {
        notices.push(Notice::ModeOpen { mode });
        return false;
    }
    // Some file systems refuse the change, others accept it and keep the old mode: only another `fstat` shows it.
    let _ = fchmod(fd, Mode::RWXU);
    let kept = fstat(fd).is_ok_and(|now| now.st_mode & 0o077 == 0);
    notices.push(if kept { Notice::ModeMended { from: mode } } else { Notice::ModesNotHeld });
    kept
}

/// Distinguishes a path that is no folder from a failed system call.
fn refused(parent: BorrowedFd<'_>, name: &OsStr, path: &Path, errno: Errno) -> Error {
    if matches!(errno, Errno::NOTDIR | Errno::LOOP) {
        let found = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW);
        if found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) != FileType::Directory) {
            return Error::new(Operation::Open, path, Fault::NotAFolder);
        }
    }
    Error::os(Operation::Open, path, errno)
}

fn ours(path: &Path, owner: u32) -> Result<(), Error> {
    let us = geteuid().as_raw();
    if owner == us {
        return Ok(());
    }
    Err(Error::new(Operation::Open, path, Fault::ForeignOwner { owner, us }))
}

fn make_with_parents(path: &Path) -> Result<(), Error> {
    let mut missing: Vec<PathBuf> = Vec::new();
    let mut at = Some(path);
    while let Some(here) = at.filter(|here| !here.as_os_str().is_empty()) {
        match statat(CWD, here, AtFlags::empty()) {
            Ok(found) => {
                // Root's folders in another user's home are in that user's way.
                if geteuid().is_root() {
                    ours(here, found.st_uid)?;
                }
                break;
            }
            Err(Errno::NOENT) => missing.push(here.to_owned()),
            Err(errno) => return Err(Error::os(Operation::MakeFolder, path, errno)),
        }
        at = here.parent();
    }
    for folder in missing.iter().rev() {
        make(Within::Path, folder.as_os_str(), folder)?;
    }
    Ok(())
}

/// Makes one folder with mode 0700, whatever the umask is. One that another process made meanwhile is as good.
pub(crate) fn make(within: Within<'_>, name: &OsStr, path: &Path) -> Result<(), Error> {
    let parent = within.fd();
    match mkdirat(parent, name, Mode::RWXU) {
        Ok(()) => {}
        Err(Errno::EXIST) => return Ok(()),
        Err(errno) => return Err(Error::os(Operation::MakeFolder, path, errno)),
    }
    // The umask can take bits away from us. What then still opens is mended; what does not is named by the next open.
    if let Ok(fd) = openat(parent, name, FOLDER, Mode::empty())
        && fstat(&fd).is_ok_and(|made| made.st_mode & 0o7777 != 0o700)
    {
        let _ = fchmod(&fd, Mode::RWXU);
    }
    Ok(())
}

/// Whether a write can still fail at close and a name can be missing for a moment: network and user-space file systems.
#[cfg(target_os = "linux")]
fn is_remote(fd: &OwnedFd) -> bool {
    /// The kernel's numbers for NFS, FUSE, SMB (two), CIFS, 9P and AFS.
    const REMOTE: [u64; 7] = [0x6969, 0x6573_5546, 0x517b, 0xfe53_4d42, 0xff53_4d42, 0x0102_1997, 0x5346_414f];
    #[allow(clippy::unnecessary_cast)]
    rustix::fs::fstatfs(fd).is_ok_and(|found| REMOTE.contains(&((found.f_type as u64) & 0xffff_ffff)))
}

#[cfg(not(target_os = "linux"))]
fn is_remote(_fd: &OwnedFd) -> bool {
    true
}
