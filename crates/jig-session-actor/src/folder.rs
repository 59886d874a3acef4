//! Where the caller stands.

use std::path::{Path, PathBuf};

use jig_session_bus::Repo;
use jig_session_git::Error as GitError;
use jig_session_schema::places::Environment;

use crate::Error;

/// A folder, and how the caller got there.
pub(crate) struct Folder {
    cwd: PathBuf,
    /// As the user spells it.
    spelled: PathBuf,
}

impl Folder {
    /// The folder that is named, relative to the working folder; else the working folder.
    pub(crate) fn of(env: &Environment, named: Option<&Path>) -> Result<Self, Error> {
        let here = std::env::current_dir();
        let (cwd, spelled) = match named {
            Some(named) => (here.unwrap_or_default().join(named), None),
            None => (here.map_err(Error::WorkingFolder)?, env.get("PWD").map(PathBuf::from)),
        };
        let spelled = spelled.unwrap_or_else(|| cwd.clone());
        Ok(Self { cwd, spelled })
    }

    /// The bus that is found for this folder.
    pub(crate) fn bus(&self, find: impl FnOnce(&Path, Option<&Path>) -> Result<Repo, GitError>) -> Result<Repo, Error> {
        Ok(find(&self.cwd, Some(&self.spelled))?)
    }
}
