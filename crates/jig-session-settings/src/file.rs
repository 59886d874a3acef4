//! The thin edge: reads a configuration file and replaces it in one step.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use jig_session_atomic::{EntryProblem, errno_name, list_folder, read_file};
use rustix::process::{Pid, test_kill_process};

/// More than any settings file has; Claude keeps histories in one of its own.
const LIMIT: usize = 64 << 20;

/// What went wrong with a file, named with its path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It is there and cannot be read: a pipe, a folder, too large, no permission.
    #[error("cannot read {}: {problem}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        problem: EntryProblem,
    },
    /// It is not UTF-8.
    #[error("{} is not UTF-8 text", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// A link that leads nowhere: whoever made it says where the file should be.
    #[error("{} is a link to {}, which does not exist", path.display(), target.display())]
    DanglingLink {
        /// The link.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
    /// Somebody else changed it since it was read.
    #[error("{} was changed meanwhile", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The system refused to write it.
    #[error("cannot write {}: {}", path.display(), told(error))]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// The system's words, and the name by which they can be looked up.
fn told(error: &io::Error) -> String {
    let text = error.to_string();
    match error.raw_os_error().and_then(errno_name) {
        Some(name) => format!("{} ({name})", text.split(" (os error").next().unwrap_or_default()),
        None => text,
    }
}

/// A configuration file as it was read.
#[derive(Clone, Debug)]
pub struct ConfigFile {
    path: PathBuf,
    /// Where the bytes are: the path, or what a link there leads to.
    target: PathBuf,
    text: Option<String>,
}

impl ConfigFile {
    /// Reads it; a file that is not there has no text. Never waits for a pipe or a device.
    ///
    /// # Errors
    /// [`FileError`] with the path.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let is_link = fs::symlink_metadata(path).is_ok_and(|about| about.is_symlink());
        let target = match (is_link, fs::canonicalize(path)) {
            (true, Ok(target)) => target,
            (true, Err(_)) => {
                let target = fs::read_link(path).unwrap_or_default();
                return Err(FileError::DanglingLink { path: path.to_owned(), target });
            }
            (false, _) => path.to_owned(),
        };
        let text = match read_file(path, LIMIT) {
            Ok(read) => {
                let text = String::from_utf8(read.bytes);
                Some(text.map_err(|_| FileError::NotText { path: path.to_owned() })?)
            }
            Err(problem) if problem.is_missing() => None,
            Err(problem) => return Err(FileError::Read { path: path.to_owned(), problem }),
        };
        Ok(Self { path: path.to_owned(), target, text })
    }

    /// Its text; `None` when it is not there.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// The path as the caller named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces it in one step, with the mode and the owner it has; a new file is for its user alone. A link stays a
    /// link. Missing folders are made.
    ///
    /// # Errors
    /// [`FileError::Changed`] when it is not as it was read, [`FileError::Write`] from the system.
    pub fn replace(&self, text: &str) -> Result<(), FileError> {
        self.unchanged()?;
        let write = |error| FileError::Write { path: self.path.clone(), error };
        let folder = self.target.parent().unwrap_or(Path::new("/"));
        if !folder.is_dir() {
            fs::create_dir_all(folder).map_err(write)?;
        }
        let name = self.target.file_name().unwrap_or_default().to_string_lossy();
        let prefix = format!(".{name}.tmp-");
        sweep(folder, &prefix);
        let temporary = folder.join(format!("{prefix}{}", std::process::id()));
        // A leftover of a process that had this number.
        let _ = fs::remove_file(&temporary);
        self.write_to(&temporary, text)
            .and_then(|()| self.unchanged())
            .and_then(|()| fs::rename(&temporary, &self.target).map_err(write))
            .inspect_err(|_| {
                let _ = fs::remove_file(&temporary);
            })
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the file is made in this call, and another's folder is no private one"
    )]
    fn write_to(&self, temporary: &Path, text: &str) -> Result<(), FileError> {
        let written =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(temporary).and_then(|mut file| {
                if let Ok(old) = fs::metadata(&self.target) {
                    let new = file.metadata()?;
                    if (old.uid(), old.gid()) != (new.uid(), new.gid()) {
                        fchown(&file, Some(old.uid()), Some(old.gid()))?;
                    }
                    file.set_permissions(fs::Permissions::from_mode(old.mode() & 0o7777))?;
                }
                file.write_all(text.as_bytes())?;
                // Somebody's settings: a full disk or a power cut must not leave half of them.
                file.sync_all()
            });
        written.map_err(|error| FileError::Write { path: self.path.clone(), error })
    }

    /// Removes it, and its folder if that holds nothing else and is not `keep`.
    ///
    /// # Errors
    /// As [`ConfigFile::replace`].
    pub fn remove(&self, keep: &Path) -> Result<(), FileError> {
        self.unchanged()?;
        fs::remove_file(&self.target).map_err(|error| FileError::Write { path: self.path.clone(), error })?;
        if let Some(folder) = self.target.parent().filter(|folder| *folder != keep) {
            let _ = fs::remove_dir(folder);
        }
        Ok(())
    }

    fn unchanged(&self) -> Result<(), FileError> {
        if Self::read(&self.path)?.text == self.text {
            Ok(())
        } else {
            Err(FileError::Changed { path: self.path.clone() })
        }
    }
}

/// Removes what a process that was killed on its way has left of this file. Nothing of it was ever in its place.
fn sweep(folder: &Path, prefix: &str) {
    for entry in list_folder(folder).into_iter().flatten().flatten() {
        let pid = entry.name.to_str().and_then(|name| name.strip_prefix(prefix)).and_then(|pid| pid.parse().ok());
        let gone =
            pid.and_then(Pid::from_raw).is_some_and(|pid| test_kill_process(pid) == Err(rustix::io::Errno::SRCH));
        if gone && entry.is_file() {
            let _ = fs::remove_file(&entry.path);
        }
    }
}
