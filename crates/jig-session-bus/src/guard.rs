//! The guard: may a session's editing tool write these files, or does another live session hold one of them?
//!
//! Only doubt allows what somebody holds: the file is looked for on the bus of its own worktree, under every spelling
//! that a tool may mean, and by its inode when it has more than one name.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::buses::Buses;
use crate::claims::Conflict;
use crate::error::Error;
use crate::member::Snapshot;
use crate::path::{self, ClaimPath};
use crate::repo::{self, plain};
use crate::store::{Bus, Repo};
use jig_session_atomic::list_folder;

/// Entries of a held folder that are looked at for another name of a file.
const LINKS_LOOKED_AT: usize = 10_000;

/// A file that a tool is about to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its path, as the agent spelled it.
    pub path: String,
    /// It is taken away: what is below a folder goes with it.
    pub removed: bool,
}

/// An editing tool's call, before it runs.
#[derive(Clone, Copy)]
pub struct Edit<'a> {
    /// The session whose tool it is.
    pub session: &'a str,
    /// The agent's working folder.
    pub cwd: &'a Path,
    /// The user's home folder, for paths that begin with `~`.
    pub home: Option<&'a Path>,
    /// The files it is about to change.
    pub files: &'a [Target],
    /// The session is guarded whatever its record says (`JIG_BUS_GUARD=1`).
    pub always: bool,
    /// Whether the caller can still wait for the decision; checked before each step.
    pub has_time: &'a dyn Fn() -> bool,
}

impl Buses<'_> {
    /// The claim of another live session that an edit would write into. `None` allows the edit: so does every doubt,
    /// such as a session that is no member or a file of no repository.
    ///
    /// # Errors
    /// When a bus cannot be read, or the caller has no time left.
    pub fn edit_conflict(&self, edit: &Edit<'_>) -> Result<Option<Conflict>, Error> {
        for target in edit.files {
            for spelling in path::spellings(&target.path, edit.home) {
                let Some(real) = path::real(&spelling, edit.cwd) else { continue };
                if let Some(conflict) = self.conflict(edit, target, &real)? {
                    return Ok(self.is_guarded(edit).then_some(conflict));
                }
            }
        }
        Ok(None)
    }

    fn conflict(&self, edit: &Edit<'_>, target: &Target, real: &Path) -> Result<Option<Conflict>, Error> {
        let about = fs::metadata(real).ok();
        // What is written into a folder's name changes nothing below it.
        let is_folder = about.as_ref().is_some_and(fs::Metadata::is_dir);
        for repo in self.covering(real) {
            if !(edit.has_time)() {
                return Err(Error::OutOfTime);
            }
            let bus = Bus::open_existing(self.root, repo, self.world)?;
            if !bus.has_claims()? {
                continue;
            }
            let look = bus.look()?;
            if let Some(path) = path::locate(real, &bus.repo().place) {
                let mut met = bus.conflicts(&look, edit.session, std::slice::from_ref(&path)).into_iter();
                let holds =
                    |held: &str| target.removed || !is_folder || held == path.path || is_above(held, &path.path);
                if let Some(conflict) = met.find(|conflict| holds(&conflict.claim.path)) {
                    return Ok(Some(conflict));
                }
            }
            if let Some(about) = about.as_ref().filter(|about| about.is_file() && about.nlink() > 1)
                && let Some(held) = bus.other_name(&look, edit, (about.dev(), about.ino()))
            {
                return Ok(bus.conflicts(&look, edit.session, &[held]).into_iter().next());
            }
        }
        Ok(None)
    }

    /// Whether the session's record, on whatever bus, enables the guard.
    fn is_guarded(&self, edit: &Edit<'_>) -> bool {
        let records = self.keys().into_iter().filter_map(|key| self.record(&key, edit.session));
        records.into_iter().any(|member| edit.always || member.record.guard == Some(true))
    }

    /// The buses on which a file may be held: that of its own repository, and those of folders above it that no version
    /// control knew when they were made.
    fn covering(&self, real: &Path) -> Vec<Repo> {
        let own = self.of_folder(real.parent().unwrap_or(real), None).ok();
        let above = real.ancestors().skip(1).filter(|above| self.root.join(repo::plain_key(above)).is_dir());
        let above = above.map(|above| plain(above, above.to_owned(), None));
        let mut all: Vec<Repo> = Vec::new();
        for repo in own.into_iter().chain(above) {
            if !all.iter().any(|known| known.key == repo.key) {
                all.push(repo);
            }
        }
        all
    }
}

fn is_above(folder: &str, path: &str) -> bool {
    folder == "." || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

impl Bus<'_> {
    /// The held path that is another name of a file: a hard link is the file.
    fn other_name(&self, look: &Snapshot, edit: &Edit<'_>, file: (u64, u64)) -> Option<ClaimPath> {
        let is_file = |path: &Path| fs::metadata(path).is_ok_and(|about| (about.dev(), about.ino()) == file);
        let held = look.claims.iter().filter(|claim| claim.id != edit.session && look.holder(claim).is_some());
        held.filter(|claim| !claim.path.starts_with('@')).find_map(|claim| {
            let roots = [Path::new(&claim.root), &self.repo().place.root];
            let named = roots.iter().any(|root| {
                let path = root.join(&claim.path);
                is_file(&path) || (claim.dir && is_below(&path, &is_file, edit.has_time))
            });
            named.then(|| ClaimPath { path: claim.path.clone(), dir: claim.dir })
        })
    }
}

/// Whether a folder holds a file, as far as there is time to look.
fn is_below(folder: &Path, is_file: &dyn Fn(&Path) -> bool, has_time: &dyn Fn() -> bool) -> bool {
    let mut left: Vec<PathBuf> = vec![folder.to_owned()];
    let mut looked = 0;
    while let Some(folder) = left.pop() {
        for entry in list_folder(folder).into_iter().flatten().flatten() {
            looked += 1;
            if looked > LINKS_LOOKED_AT || !has_time() {
                return false;
            }
            if entry.is_file() && is_file(&entry.path) {
                return true;
            }
            if entry.is_dir() {
                left.push(entry.path);
            }
        }
    }
    false
}

/// Why an edit is denied, as the model reads it.
pub fn reason(conflict: &Conflict) -> String {
    let since = conflict.claim.claimed_at.map(|at| format!(" since {at}")).unwrap_or_default();
    let (path, label, id) = (&conflict.claim.path, &conflict.label, &conflict.claim.id);
    format!("{path} is held by {label} (session {id}){since}. Ask with: jig-session bus send {label} …")
}
