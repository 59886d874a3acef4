//! Which repository holds a file, and which branch is checked out where the session works.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jig_session_git::Repository;

/// How long a lookup is cached: an edit is nearly always beside the last one, and a repository can be created at any
/// time.
const KEPT: Duration = Duration::from_secs(1);

/// Remembers the last answer: the files of a turn, and those of a session that is taken up again, lie in few folders,
/// and each walk up to a repository costs twenty looks at the disk.
#[derive(Default)]
pub(super) struct Repositories {
    last: RefCell<Option<Answer>>,
}

struct Answer {
    folder: PathBuf,
    repository: Option<PathBuf>,
    until: Duration,
}

impl Repositories {
    /// The root of the repository that holds a path; `now` is the monotonic time.
    pub(super) fn root(&self, path: &Path, now: Duration) -> Option<PathBuf> {
        let Some(folder) = path.parent().filter(|_| lies_in_its_folder(path)) else { return root(path) };
        let mut last = self.last.borrow_mut();
        match &*last {
            Some(answer) if answer.folder == folder && now < answer.until => answer.repository.clone(),
            _ => {
                let repository = root(path);
                let until = now + KEPT;
                *last = Some(Answer { folder: folder.to_owned(), repository: repository.clone(), until });
                repository
            }
        }
    }
}

/// A link leads elsewhere, and a folder may be a repository itself; a file, or none, is in its folder's repository.
fn lies_in_its_folder(path: &Path) -> bool {
    std::fs::symlink_metadata(path).map_or(true, |found| found.is_file())
}

fn root(path: &Path) -> Option<PathBuf> {
    Repository::discover(path).ok().flatten()?.worktree().map(Path::to_owned)
}

/// The branch that is checked out in a folder.
pub(super) fn branch(folder: &str) -> Option<String> {
    Repository::discover(folder).ok().flatten()?.branch()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn one_answer_serves_a_folder_for_a_while_and_a_link_never() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let (outside, inside) = (home.join("a"), home.join("b"));
        let init = |folder: &Path| {
            fs::create_dir_all(folder.join(".git/objects")).unwrap();
            fs::create_dir_all(folder.join(".git/refs")).unwrap();
            fs::write(folder.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        };
        init(&inside);
        fs::create_dir(&outside).unwrap();
        fs::write(inside.join("real"), "").unwrap();
        symlink(inside.join("real"), outside.join("link")).unwrap();
        init(&outside.join("nested"));

        let repositories = Repositories::default();
        let root = |path: &str, second| repositories.root(&outside.join(path), Duration::from_secs(second));
        assert_eq!(root("one", 0), None);
        assert_eq!(root("link", 0), Some(inside), "a link's file lies where it leads");
        assert_eq!(root("nested", 0), Some(outside.join("nested")), "a folder is its own repository");
        init(&outside);
        assert_eq!(root("two", 0), None, "remembered");
        assert_eq!(root("two", 1), Some(outside.clone()), "and asked again");
        assert_eq!(root("nested/file", 1), Some(outside.join("nested")));
    }
}
