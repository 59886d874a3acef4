//! Which bus a working directory belongs to.

use std::path::{Path, PathBuf};

use jig_session_git::{Repository, WorkingCopy};
use jig_session_schema::names;

use crate::path::Worktree;
use crate::store::Repo;

/// Finds the repository of a working directory: the key of its bus and the place where paths are resolved.
///
/// All worktrees of one repository share the common git folder and so the bus; a submodule and a clone have their own.
/// Where there is no git, `.hg`, `.jj` and `.svn` mark a root. Outside of all the real directory stands for itself. `spelled` is the directory as the user reached it (`$PWD`), which
/// a path may be written against.
pub fn find(cwd: &Path, spelled: Option<&Path>) -> Result<Repo, jig_session_git::Error> {
    let found = Repository::discover(cwd)?;
    // Discovery has followed the path already; a folder that went meanwhile keeps its spelling.
    let real = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
    Ok(match found {
        Some(repository) => of_repository(&repository, real, spelled),
        None => match WorkingCopy::discover(cwd)? {
            Some(copy) => of_working_copy(copy, real, spelled),
            None => plain(&real.clone(), real, spelled),
        },
    })
}

/// A folder that no version control knows, as the root of what is below it.
pub(crate) fn plain(root: &Path, cwd: PathBuf, spelled: Option<&Path>) -> Repo {
    let place = Worktree {
        folds_case: folds_case(root),
        spelled_root: spelled.and_then(|spelled| spelled_root(spelled, &cwd, root)),
        root: root.to_owned(),
        cwd,
        common: root.to_owned(),
        git: Vec::new(),
    };
    Repo { key: plain_key(root), common: root.to_owned(), is_git: false, is_versioned: false, branch: None, place }
}

/// The key of a folder's bus outside of version control.
pub(crate) fn plain_key(root: &Path) -> String {
    key(&root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(), root)
}

fn of_working_copy(copy: WorkingCopy, cwd: PathBuf, spelled: Option<&Path>) -> Repo {
    let place = Worktree {
        folds_case: folds_case(&copy.root),
        spelled_root: spelled.and_then(|spelled| spelled_root(spelled, &cwd, &copy.root)),
        root: copy.root,
        cwd,
        common: copy.main.clone(),
        git: vec![copy.marker],
    };
    let key = plain_key(&copy.main);
    Repo { key, common: copy.main, is_git: false, is_versioned: true, branch: None, place }
}

fn of_repository(repository: &Repository, cwd: PathBuf, spelled: Option<&Path>) -> Repo {
    let root = repository.worktree().unwrap_or(repository.git_dir()).to_owned();
    let mut git = vec![repository.git_dir().to_owned(), repository.common_dir().to_owned()];
    git.dedup();
    let place = Worktree {
        folds_case: folds_case(repository.git_dir()),
        spelled_root: spelled.and_then(|spelled| spelled_root(spelled, &cwd, &root)),
        root,
        cwd,
        common: repository.common_dir().to_owned(),
        git,
    };
    let common = repository.common_dir().to_owned();
    let key = key(&repository.name(), &common);
    Repo { key, common, is_git: true, is_versioned: true, branch: repository.branch(), place }
}

/// The bus folder's name: readable, then the hash of the path that makes it unique.
fn key(name: &str, common: &Path) -> String {
    let safe = names::safe(name);
    let slug: String = safe.trim_start_matches('.').chars().take(40).collect();
    let hash = names::hash16_bytes(common.as_os_str().as_encoded_bytes());
    if slug.is_empty() { format!("repo-{hash}") } else { format!("{slug}-{hash}") }
}

/// The root as it is spelled by a directory below it that was reached through a link; `None` when there is none.
fn spelled_root(spelled: &Path, cwd: &Path, root: &Path) -> Option<PathBuf> {
    if spelled == cwd || !spelled.is_absolute() || spelled.canonicalize().ok()? != cwd {
        return None;
    }
    let below = cwd.strip_prefix(root).ok()?;
    let mut spelled_root = spelled.to_owned();
    for part in below.iter().rev() {
        if spelled_root.file_name() != Some(part) || !spelled_root.pop() {
            return None;
        }
    }
    Some(spelled_root)
}

/// Whether the file system takes `A` for `a`: the folder is looked for under its name in the other case.
fn folds_case(folder: &Path) -> bool {
    let Some(name) = folder.file_name().and_then(|name| name.to_str()) else { return false };
    let flipped: String =
        name.chars().map(|c| if c.is_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }).collect();
    if flipped == name {
        return false;
    }
    // Where case counts, the other name is another file or none. Comparing is a question for the system: it alone knows
    // how it folds.
    same_file(folder, &folder.with_file_name(flipped))
}

#[cfg(unix)]
fn same_file(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (a.metadata(), b.metadata()) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
