//! Adding to the end of a file of ours, such as a log.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;

use rustix::fs::{FileType, Mode, OFlags, fstat, openat, renameat};
use rustix::io::Errno;

use crate::dir::PrivateDir;
use crate::error::{Error, Fault, Operation};

const APPENDED: OFlags = OFlags::WRONLY
    .union(OFlags::APPEND)
    .union(OFlags::CREATE)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

impl PrivateDir {
    /// Adds bytes to the end of a file, in one write; makes it with mode 0600. One that holds `most` bytes or more is
    /// renamed to `<name>.1` first, in the place of an earlier one.
    ///
    /// # Errors
    /// When what stands there is a link, no regular file, another user's, or has a second name elsewhere (then the
    /// bytes would end in a file that somebody else chose), and when the system refuses.
    pub fn append(&self, name: impl AsRef<OsStr>, bytes: &[u8], most: u64) -> Result<(), Error> {
        let name = self.component(Operation::Write, name.as_ref())?;
        let (mut file, size) = self.open_end(name)?;
        if size >= most {
            let held = self.held();
            let mut old = OsString::from(name);
            old.push(".1");
            renameat(&held.fd, name, &held.fd, &old).map_err(|errno| self.os(Operation::Rename, name, errno))?;
            (file, _) = self.open_end(name)?;
        }
        file.write_all(bytes).map_err(|error| {
            let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
            self.os(Operation::Write, name, errno)
        })
    }

    /// A file of ours, opened at its end, and its size.
    fn open_end(&self, name: &OsStr) -> Result<(File, u64), Error> {
        let held = self.held();
        let failed = |errno| self.os(Operation::Open, name, errno);
        let refused = |fault| Err(Error::new(Operation::Open, self.path().join(name), fault));
        let fd = match openat(&held.fd, name, APPENDED, Mode::RUSR | Mode::WUSR) {
            // A pipe that nobody reads, a socket, a folder.
            Err(Errno::NXIO | Errno::NODEV | Errno::ISDIR | Errno::LOOP) => return refused(Fault::NotAFile),
            other => other.map_err(failed)?,
        };
        let found = fstat(&fd).map_err(failed)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile || found.st_nlink > 1 {
            return refused(Fault::NotAFile);
        }
        if found.st_uid != held.owner {
            return refused(Fault::ForeignOwner { owner: found.st_uid, us: held.owner });
        }
        Ok((File::from(fd), u64::try_from(found.st_size).unwrap_or(0)))
    }
}
