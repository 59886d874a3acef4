//! The one way to list a folder that is another program's.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat};

/// The entries of a folder, `.` and `..` left out, in the system's order. A link at the path's end is followed.
///
/// The standard library's own listing panics where the folder cannot be closed, as on a network file system that lost
/// its server; here that is nobody's concern, since all was read.
///
/// # Errors
/// When it is no folder, or cannot be opened.
pub fn list_folder(path: impl AsRef<Path>) -> io::Result<FolderEntries> {
    let path = path.as_ref();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = Dir::new(openat(CWD, path, flags, Mode::empty())?)?;
    Ok(FolderEntries { dir, path: path.to_owned() })
}

/// What [`list_folder`] gives, read piece by piece.
#[derive(Debug)]
pub struct FolderEntries {
    dir: Dir,
    path: PathBuf,
}

/// One entry of a folder.
#[derive(Clone, Debug)]
pub struct FolderEntry {
    /// Its name.
    pub name: OsString,
    /// Where it is.
    pub path: PathBuf,
    kind: FileType,
}

impl FolderEntry {
    /// Whether it is a folder itself, and no link to one.
    #[must_use]
    pub fn is_dir(&self) -> bool {
        self.kind == FileType::Directory
    }

    /// Whether it is a link.
    #[must_use]
    pub fn is_symlink(&self) -> bool {
        self.kind == FileType::Symlink
    }

    /// Whether it is a regular file itself, and no link to one.
    #[must_use]
    pub fn is_file(&self) -> bool {
        self.kind == FileType::RegularFile
    }
}

impl Iterator for FolderEntries {
    type Item = io::Result<FolderEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let entry = match self.dir.next()? {
                Ok(entry) => entry,
                Err(error) => return Some(Err(error.into())),
            };
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let path = self.path.join(name);
            let kind = match entry.file_type() {
                // Some file systems do not say it in the listing.
                FileType::Unknown => statat(CWD, &path, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |found| FileType::from_raw_mode(found.st_mode)),
                kind => kind,
            };
            return Some(Ok(FolderEntry { name: name.to_owned(), path, kind }));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_entry_is_given_once_with_what_it_is_itself() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("file"), "").expect("written");
        fs::create_dir(path("folder")).expect("made");
        std::os::unix::fs::symlink(path("folder"), path("link")).expect("linked");
        let mut found: Vec<_> = list_folder(folder.path())
            .expect("listed")
            .map(|entry| entry.expect("an entry"))
            .map(|entry| (entry.name.to_string_lossy().into_owned(), entry.is_file(), entry.is_dir()))
            .collect();
        found.sort();
        let expected = [("file", true, false), ("folder", false, true), ("link", false, false)];
        assert_eq!(found, expected.map(|(name, file, dir)| (name.to_owned(), file, dir)));
        assert!(list_folder(path("link")).is_ok());
        assert_eq!(list_folder(path("file")).map(|_| ()).map_err(|e| e.kind()), Err(io::ErrorKind::NotADirectory));
        assert_eq!(list_folder(path("none")).map(|_| ()).map_err(|e| e.kind()), Err(io::ErrorKind::NotFound));
    }
}
