//! Where a path's repository is, found without running git.
//!
//! [`Repository::discover`] walks up from a path as git does and reads the few small files that say which worktree,
//! which common folder and which branch it is. No child process is started and no `GIT_*` variable is looked at: hooks
//! set those for their own repository, which need not be the one that was asked about. Nothing is written, and nothing
//! that a file names is followed but the folders of the repository itself.

mod other;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jig_session_atomic::read_file;

pub use other::WorkingCopy;

/// Git's small files hold one line; what is longer is none of them.
const SMALL_FILE: usize = 16 * 1024;

/// A repository, as seen from one of its worktrees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    worktree: Option<PathBuf>,
    git_dir: PathBuf,
    common_dir: PathBuf,
}

/// A path could not be followed to its folder.
#[derive(Debug, thiserror::Error)]
#[error("cannot look for a repository above {path}: {source}")]
pub struct Error {
    path: PathBuf,
    source: io::Error,
}

impl Error {
    /// The queried path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The system's number, where it gave one.
    pub fn errno(&self) -> Option<i32> {
        self.source.raw_os_error()
    }
}

impl Repository {
    /// The repository that holds a path, which need not exist but for one of its parents; `None` outside of any.
    /// Symbolic links are resolved first, so that one place has one answer.
    pub fn discover(path: impl AsRef<Path>) -> Result<Option<Self>, Error> {
        let path = path.as_ref();
        let start = nearest_real(path).map_err(|source| Error { path: path.to_owned(), source })?;
        Ok(start.ancestors().find_map(Self::at))
    }

    /// The repository whose worktree's root, or whose bare folder, is exactly this one.
    fn at(folder: &Path) -> Option<Self> {
        let dot_git = folder.join(".git");
        // A `.git` that leads nowhere ends the search in git too, but with an error: here the search continues upwards.
        let linked = match fs::metadata(&dot_git) {
            Ok(found) if found.is_dir() => Some(dot_git),
            Ok(found) if found.is_file() => pointer(&dot_git, "gitdir:").map(|target| folder.join(target)),
            _ => None,
        };
        if let Some(git_dir) = linked.and_then(|git_dir| real_git_dir(&git_dir)) {
            let common_dir = common_dir(&git_dir);
            return Some(Self { worktree: Some(folder.to_owned()), git_dir, common_dir });
        }
        let git_dir = real_git_dir(folder)?;
        let common_dir = common_dir(&git_dir);
        Some(Self { worktree: None, git_dir, common_dir })
    }

    /// The root of the worktree; `None` for a bare repository, and inside a `.git` folder.
    pub fn worktree(&self) -> Option<&Path> {
        self.worktree.as_deref()
    }

    /// The folder of this worktree's own state: where its `HEAD` is.
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// The folder that all worktrees of the repository share, its real path.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// The repository's name: that of the folder of its main checkout, or of its bare folder without `.git`.
    pub fn name(&self) -> String {
        let file_name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let own = file_name(&self.common_dir).unwrap_or_default();
        if own == ".git" {
            return self.common_dir.parent().and_then(file_name).unwrap_or_default();
        }
        match own.strip_suffix(".git") {
            Some(stem) if !stem.is_empty() => stem.to_owned(),
            _ => own,
        }
    }

    /// The branch that is checked out now; `None` when no branch is, or when git keeps it in a form of its own.
    pub fn branch(&self) -> Option<String> {
        let head = self.git_dir.join("HEAD");
        let reference = match fs::read_link(&head) {
            // Very old repositories have a link there.
            Ok(target) => target.to_string_lossy().into_owned(),
            Err(_) => pointer(&head, "ref:")?,
        };
        let branch = reference.strip_prefix("refs/heads/")?;
        // What git writes there when the branch is stored elsewhere (reftable).
        (branch != ".invalid" && !branch.is_empty()).then(|| branch.to_owned())
    }
}

/// The real path of the nearest parent that exists. A name that does not exist yet belongs where its folder is.
fn nearest_real(path: &Path) -> io::Result<PathBuf> {
    let mut failure = None;
    for candidate in path.ancestors() {
        let candidate = if candidate.as_os_str().is_empty() { Path::new(".") } else { candidate };
        match fs::canonicalize(candidate) {
            Ok(real) => return Ok(real),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                failure = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    Err(failure.unwrap_or_else(|| io::Error::from(io::ErrorKind::NotFound)))
}

/// What git takes for a repository's folder: a `HEAD`, and objects and references, its own or the shared ones.
fn real_git_dir(folder: &Path) -> Option<PathBuf> {
    let head = folder.join("HEAD");
    if fs::symlink_metadata(&head).is_err() {
        return None;
    }
    let folder = fs::canonicalize(folder).ok()?;
    let common = common_dir(&folder);
    (common.join("objects").is_dir() && common.join("refs").is_dir()).then_some(folder)
}

fn common_dir(git_dir: &Path) -> PathBuf {
    let linked = first_line(&git_dir.join("commondir")).map(|target| git_dir.join(target));
    linked.and_then(|target| fs::canonicalize(target).ok()).unwrap_or_else(|| git_dir.to_owned())
}

/// The rest of the first line of a file that begins with a word; blanks after the word are left out.
fn pointer(path: &Path, word: &str) -> Option<String> {
    let line = first_line(path)?;
    let target = line.strip_prefix(word)?.trim_start();
    (!target.is_empty()).then(|| target.to_owned())
}

/// The first line of a small file.
fn first_line(path: &Path) -> Option<String> {
    let text = String::from_utf8(read_file(path, SMALL_FILE).ok()?.bytes).ok()?;
    let line = text.lines().next()?.trim_end_matches(['\r', ' ', '\t']);
    (!line.is_empty()).then(|| line.to_owned())
}
