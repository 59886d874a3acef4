//! Roots of working copies that are not git's: Mercurial, Jujutsu, Subversion.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Error, first_line, nearest_real};

/// A working copy of another version control than git.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkingCopy {
    /// Its root.
    pub root: PathBuf,
    /// Its own folder: `.hg`, `.jj` or `.svn`.
    pub marker: PathBuf,
    /// The root of the working copy whose repository it shares; its own root when it shares none.
    pub main: PathBuf,
}

impl WorkingCopy {
    /// The nearest working copy that holds a path. The folders of old Subversion stand in every folder of a working copy:
    /// the topmost of them counts.
    ///
    /// # Errors
    /// When the path cannot be followed.
    pub fn discover(path: impl AsRef<Path>) -> Result<Option<Self>, Error> {
        let path = path.as_ref();
        let start = nearest_real(path).map_err(|source| Error { path: path.to_owned(), source })?;
        let mut found: Option<Self> = None;
        for folder in start.ancestors() {
            match Self::at(folder) {
                Some(copy) if found.is_none() => {
                    let old = copy.marker.ends_with(".svn");
                    found = Some(copy);
                    if !old {
                        break;
                    }
                }
                Some(copy) if copy.marker.ends_with(".svn") => found = Some(copy),
                _ if found.is_some() => break,
                _ => {}
            }
        }
        Ok(found)
    }

    fn at(folder: &Path) -> Option<Self> {
        let marker = [".jj", ".hg", ".svn"].map(|name| folder.join(name)).into_iter().find(|marker| marker.is_dir())?;
        // A second workspace names the first one's repository, and a share the `.hg` that it is a share of.
        let pointer = if marker.ends_with(".jj") { marker.join("repo") } else { marker.join("sharedpath") };
        let target = first_line(&pointer).and_then(|target| fs::canonicalize(marker.join(target)).ok());
        let levels = if marker.ends_with(".jj") { 2 } else { 1 };
        let main = target.and_then(|target| target.ancestors().nth(levels).map(Path::to_owned));
        Some(Self { root: folder.to_owned(), main: main.unwrap_or_else(|| folder.to_owned()), marker })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(base: &Path, below: &str) -> Option<PathBuf> {
        WorkingCopy::discover(base.join(below)).expect("followed").map(|copy| copy.root)
    }

    #[test]
    fn the_nearest_marker_is_the_root_and_the_topmost_of_old_subversion() {
        let dir = tempfile::tempdir().expect("a folder");
        let base = dir.path().canonicalize().expect("its real path");
        for folder in ["hg/.hg", "hg/a/b", "jj/.jj/repo", "svn/.svn", "svn/a/.svn", "svn/a/b/.svn", "none/a"] {
            fs::create_dir_all(base.join(folder)).expect("a folder");
        }
        assert_eq!(root(&base, "hg/a/b"), Some(base.join("hg")));
        assert_eq!(root(&base, "hg/not/yet"), Some(base.join("hg")));
        assert_eq!(root(&base, "jj"), Some(base.join("jj")));
        assert_eq!(root(&base, "svn/a/b"), Some(base.join("svn")));
        assert_eq!(root(&base, "none/a"), None);
    }

    #[test]
    fn a_second_workspace_and_a_share_name_their_main_one() {
        let dir = tempfile::tempdir().expect("a folder");
        let base = dir.path().canonicalize().expect("its real path");
        for folder in ["jj/.jj/repo", "jj2/.jj", "hg/.hg", "hg2/.hg"] {
            fs::create_dir_all(base.join(folder)).expect("a folder");
        }
        fs::write(base.join("jj2/.jj/repo"), "../../jj/.jj/repo").expect("a file");
        fs::write(base.join("hg2/.hg/sharedpath"), base.join("hg/.hg").to_str().expect("text")).expect("a file");
        let main = |below: &str| WorkingCopy::discover(base.join(below)).expect("followed").expect("one").main;
        assert_eq!((main("jj2"), main("jj")), (base.join("jj"), base.join("jj")));
        assert_eq!((main("hg2"), main("hg")), (base.join("hg"), base.join("hg")));
    }
}
