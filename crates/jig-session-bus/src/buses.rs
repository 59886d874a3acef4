//! All buses of a user: which one a session acts on, and which ones a file belongs to.
//!
//! A session acts on the bus that it is on, wherever it stands; only who is on none, or says so, goes by the folder. A
//! file belongs to the bus of its own worktree, whoever writes it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use jig_session_atomic::{MARK, PrivateDir};
use jig_session_git::Error as GitError;
use jig_session_schema::bus::{BusFolder, BusLocation, Record};
use jig_session_schema::bus_result::MemberState as State;
use jig_session_schema::limits::BUS_FILE_BYTES;

use crate::error::Error;
use crate::member::Member;
use crate::path;
use crate::repo::{self, find, plain};
use crate::store::{self, Bus, Repo, SESSIONS};
use crate::target;
use crate::world::World;

/// Where the folder of a bus is now: a hint by which the bus of a moved folder is found.
pub(crate) const PLACE: &str = "repo.json";

/// The folder of all buses.
#[derive(Clone, Copy)]
pub struct Buses<'w> {
    pub(crate) root: &'w Path,
    pub(crate) world: &'w dyn World,
}

/// A bus that a session is on.
pub struct Membership {
    /// The bus.
    pub repo: Repo,
    /// The session's record there.
    pub member: Member,
}

impl<'w> Buses<'w> {
    /// The buses below a folder.
    pub fn new(root: &'w Path, world: &'w dyn World) -> Self {
        Self { root, world }
    }

    /// The bus of a folder: that of its repository. While that one has no live member, the live bus of the same folder
    /// from before it was moved or put under version control; outside of version control the nearest live one above.
    pub fn of_folder(&self, cwd: &Path, spelled: Option<&Path>) -> Result<Repo, GitError> {
        let mut repo = find(cwd, spelled)?;
        if self.is_alive(&repo.key) {
            if let Some((_, inode)) = self.has_moved_away(&repo) {
                repo.key = format!("{}-{inode:x}", repo.key);
            }
            return Ok(repo);
        }
        if repo.is_versioned {
            let before = repo::plain_key(&repo.place.root);
            if self.is_alive(&before) {
                return Ok(Repo { key: before, ..repo });
            }
        } else {
            let above = repo.place.root.ancestors().skip(1).find(|above| self.is_alive(&repo::plain_key(above)));
            if let Some(above) = above {
                return Ok(plain(above, repo.place.cwd.clone(), spelled));
            }
        }
        Ok(match self.moved(&repo.common) {
            Some(key) => Repo { key, ..repo },
            None => repo,
        })
    }

    /// The bus on which a session acts when it stands in a folder: that folder's if the session is on it, else the one
    /// that it is on, else that folder's.
    pub fn of_session(&self, id: &str, cwd: &Path, spelled: Option<&Path>) -> Result<Repo, GitError> {
        let here = self.of_folder(cwd, spelled)?;
        if self.record(&here.key, id).is_some_and(|member| member.state == State::Live) {
            return Ok(here);
        }
        let own = self.memberships(id).into_iter().min_by_key(|membership| membership.member.age_ms);
        Ok(own.map_or(here, |own| standing_in(own.repo, cwd)))
    }

    /// The buses that a session is on, with a live record.
    pub fn memberships(&self, id: &str) -> Vec<Membership> {
        let live = |key: &String| self.record(key, id).filter(|member| member.state == State::Live);
        let members = self.keys().into_iter().filter_map(|key| Some((live(&key)?, key)));
        members
            .filter_map(|(member, key)| Some(Membership { repo: self.repo_of(&key, &member.record)?, member }))
            .collect()
    }

    /// The one live member on any bus that a word names, with its bus; `None` when there is none, or more than one.
    pub fn member(&self, word: &str) -> Option<Membership> {
        let mut named = self.keys().into_iter().filter_map(|key| {
            let members = self.members(&key);
            let place = target::choose(word, &members).ok()?;
            let member = members.into_iter().nth(place).filter(|member| member.state == State::Live)?;
            Some(Membership { repo: self.repo_of(&key, &member.record)?, member })
        });
        let first = named.next()?;
        named.next().is_none().then_some(first)
    }

    /// The bus of a folder that was moved here, by the device and the inode of what its worktrees share. It is followed
    /// only when nothing else is where it was, and somebody is on it.
    fn moved(&self, common: &Path) -> Option<String> {
        let here = identity(common)?;
        self.keys().into_iter().find(|key| {
            let Some(place) = self.place(key) else { return false };
            let was = Path::new(&place.path);
            (place.device, place.inode) == here
                && was != common
                && identity(was).is_none_or(|there| there == here)
                && self.is_alive(key)
        })
    }

    /// Whether the bus of this path belongs to a folder that was moved away, in whose place another one is now; what
    /// identifies that one.
    fn has_moved_away(&self, repo: &Repo) -> Option<(u64, u64)> {
        let place = self.place(&repo.key)?;
        let (bus, here) = ((place.device, place.inode), identity(&repo.common)?);
        let there = Path::new(&place.path);
        (bus != here && there != repo.common && identity(there) == Some(bus)).then_some(here)
    }

    fn place(&self, key: &str) -> Option<BusLocation> {
        let dir = self.folder(key)?;
        BusLocation::read(&dir.read(PLACE, BUS_FILE_BYTES).ok()?.bytes).ok().map(|read| read.value)
    }

    /// The folder of one bus.
    fn folder(&self, key: &str) -> Option<PrivateDir> {
        PrivateDir::open_own_existing(self.root).ok()??.sub_existing(key).ok()?
    }

    /// Names of the folders of buses.
    pub(crate) fn keys(&self) -> Vec<String> {
        let all = PrivateDir::open_own_existing(self.root).ok().flatten();
        let names = all.map(|all| all.list().unwrap_or_default()).unwrap_or_default();
        store::texts(names).filter(|name| name != MARK).collect()
    }

    fn sessions(&self, key: &str) -> Option<PrivateDir> {
        self.folder(key)?.sub_existing(SESSIONS).ok()?
    }

    /// Whether a bus has a live member.
    pub fn is_alive(&self, key: &str) -> bool {
        let Some(sessions) = self.sessions(key) else { return false };
        let names = sessions.documents().unwrap_or_default();
        store::texts(names).any(|name| self.judged(&sessions, &name).is_some_and(|member| member.state == State::Live))
    }

    fn members(&self, key: &str) -> Vec<Member> {
        let Some(sessions) = self.sessions(key) else { return Vec::new() };
        let names = store::texts(sessions.documents().unwrap_or_default());
        names.filter_map(|name| self.judged(&sessions, &name)).collect()
    }

    pub(crate) fn record(&self, key: &str, id: &str) -> Option<Member> {
        self.judged(&self.sessions(key)?, &store::record_file(id).ok()?).filter(|member| member.record.id == id)
    }

    fn judged(&self, sessions: &PrivateDir, name: &str) -> Option<Member> {
        let record = store::record(&sessions.read(name, BUS_FILE_BYTES).ok()?.bytes).ok()?;
        Some(Member::judge(record, &self.world.now(), self.world))
    }

    /// The repository of a bus that a record is on: the worktree in which its session works.
    fn repo_of(&self, key: &str, record: &Record) -> Option<Repo> {
        let root = Path::new(&record.root);
        if root.is_dir() {
            let found = find(root, None).ok()?;
            // A folder that was put under version control since keeps its bus.
            return Some(Repo { key: key.to_owned(), ..found });
        }
        // It was moved: the hint says where to.
        let place = self.place(key)?;
        let common = Path::new(&place.path);
        let root = if common.ends_with(".git") { common.parent()? } else { common };
        (identity(common) == Some((place.device, place.inode)))
            .then(|| find(root, None).ok().map(|found| Repo { key: key.to_owned(), ..found }))?
    }

    /// Whose bus a folder is, for people: the folder as it was, where it is now if it was moved, and its live members.
    pub fn about(&self, key: &str) -> About {
        let dir = self.folder(key);
        let read = |dir: &PrivateDir| BusFolder::read(&dir.read("bus.json", BUS_FILE_BYTES).ok()?.bytes).ok();
        let made_for = dir.as_ref().and_then(read).map(|read| PathBuf::from(read.value.common_dir));
        let place =
            self.place(key).filter(|place| identity(Path::new(&place.path)) == Some((place.device, place.inode)));
        let now = place.map(|place| PathBuf::from(place.path));
        let live = self.members(key).into_iter().filter(|member| member.state == State::Live).count();
        About { made_for, now, live }
    }
}

/// Whose bus a folder is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// What the worktrees shared when it was made; `None` when it does not say.
    pub made_for: Option<PathBuf>,
    /// Where that is now, if it is known to be there.
    pub now: Option<PathBuf>,
    /// Live members.
    pub live: usize,
}

/// Device and inode of a folder.
pub(crate) fn identity(folder: &Path) -> Option<(u64, u64)> {
    let about = fs::metadata(folder).ok()?;
    Some((about.dev(), about.ino()))
}

/// The same bus for a caller who stands somewhere else: relative paths are typed from there.
fn standing_in(repo: Repo, cwd: &Path) -> Repo {
    let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
    Repo { place: path::Worktree { cwd, ..repo.place }, ..repo }
}

impl Bus<'_> {
    /// Writes where the folder of this bus is now, if that is not written yet. Without it a moved folder gets a new bus.
    pub(crate) fn note_place(&self) -> Result<(), Error> {
        let dir = self.dir()?;
        let common = self.repo.common.to_string_lossy().into_owned();
        let known = dir.read(PLACE, BUS_FILE_BYTES).ok().and_then(|read| BusLocation::read(&read.bytes).ok());
        if known.is_none_or(|known| known.value.path != common)
            && let Some((device, inode)) = identity(&self.repo.common)
        {
            dir.write(PLACE, &store::bytes(&BusLocation::new().path(common).device(device).inode(inode)))?;
        }
        Ok(())
    }
}
