//! The folders of one bus: opening, locking, and reading every kind of file.

use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jig_session_atomic::{Content, EntryProblem, PrivateDir, Reason, Stamp};
use jig_session_schema::belongs;
use jig_session_schema::bus::{BusFolder, Claim, Message, Record};
use jig_session_schema::limits::{BUS_FILE_BYTES, LOCK_WAIT};
use jig_session_schema::names;
use jig_session_schema::read::ReadError;
use jig_session_schema::time::Timestamp;
use serde::Serialize;

use crate::error::{Code, Error, Refusal};
use crate::path::Worktree;
use crate::world::World;
use crate::{mail_name, path};

pub(crate) const SESSIONS: &str = "sessions";
pub(crate) const CLAIMS: &str = "claims";
pub(crate) const INBOX: &str = "inbox";
pub(crate) const QUARANTINE: &str = "quarantine";

/// Which repository a bus belongs to, and where the caller stands in it.
#[derive(Clone, Debug)]
pub struct Repo {
    /// The bus folder's name.
    pub key: String,
    /// Real path of the common git folder, or of the working directory outside git.
    pub common: PathBuf,
    /// Whether `common` is a git folder.
    pub is_git: bool,
    /// Whether any version control knows the folder.
    pub is_versioned: bool,
    /// The branch that is checked out.
    pub branch: Option<String>,
    /// Where paths are resolved.
    pub place: Worktree,
}

/// The bus of one repository. Opening it for reading makes nothing.
pub struct Bus<'w> {
    pub(crate) world: &'w dyn World,
    pub(crate) repo: Repo,
    /// `None` when the bus has no folder yet, and the caller only looks.
    dir: Option<PrivateDir>,
    /// The folders that were looked into, held open: one call looks into each more than once.
    folders: Folders,
    path: PathBuf,
    pub(crate) lock_wait: Duration,
    /// Milliseconds in the name of the message that was sent last: the next one sorts after it, also when that one has
    /// been read within the same millisecond.
    pub(crate) last_ms: Cell<Option<u64>>,
    /// What happened beside the calls that the caller should know.
    notes: RefCell<Vec<String>>,
}

/// What belongs into the folder of all buses.
fn in_bus(name: &OsStr, content: Content<'_>) -> bool {
    content == Content::Folder && name.to_str().is_some_and(belongs::in_bus)
}

impl<'w> Bus<'w> {
    /// Opens the bus below `root`, the folder of all buses, for a caller that only looks.
    pub fn open_existing(root: &Path, repo: Repo, world: &'w dyn World) -> Result<Self, Error> {
        let path = root.join(&repo.key);
        let dir = match PrivateDir::open_own_existing(root)? {
            Some(all) => all.sub_existing(&repo.key)?,
            None => None,
        };
        Ok(Self::of(world, repo, dir, path))
    }

    fn of(world: &'w dyn World, repo: Repo, dir: Option<PrivateDir>, path: PathBuf) -> Self {
        let folders = Folders::default();
        Self {
            world,
            repo,
            dir,
            folders,
            path,
            lock_wait: LOCK_WAIT,
            last_ms: Cell::new(None),
            notes: RefCell::default(),
        }
    }

    /// Opens the bus for a caller that changes something; makes it when it is not there.
    pub fn open(root: &Path, repo: Repo, world: &'w dyn World) -> Result<Self, Error> {
        let path = root.join(&repo.key);
        let dir = PrivateDir::open_own(root, in_bus)?.sub(&repo.key)?;
        // A message can ask another agent to act: a folder that others can write in is no bus.
        dir.require_modes()?;
        if dir.stamp("bus.json")?.is_none() {
            dir.create_new("bus.json", &bytes(&about(&repo, world)))?;
        }
        Ok(Self::of(world, repo, Some(dir), path))
    }

    /// Waits for the lock for another time than the contract's; for tests.
    #[must_use]
    pub fn with_lock_wait(mut self, wait: Duration) -> Self {
        self.lock_wait = wait;
        self
    }

    /// Notes what the caller of a call should know beside its result.
    pub(crate) fn note(&self, note: String) {
        self.notes.borrow_mut().push(note);
    }

    /// What was noted since the last time.
    pub(crate) fn take_notes(&self) -> Vec<String> {
        self.notes.take()
    }

    /// The bus's folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where a session's record is when it has one.
    pub fn record_path(&self, id: &str) -> Result<PathBuf, Error> {
        Ok(self.path.join(SESSIONS).join(record_file(id)?))
    }

    /// Where a session's mail is when it has had some.
    pub fn inbox_path(&self, id: &str) -> Result<PathBuf, Error> {
        Ok(self.path.join(INBOX).join(file_stem(id)?))
    }

    /// The repository.
    pub fn repo(&self) -> &Repo {
        &self.repo
    }

    /// The bus's folder, for those who change something.
    pub(crate) fn dir(&self) -> Result<&PrivateDir, Error> {
        let missing = || Refusal::new(Code::Refused, "this bus was opened for reading").into();
        self.dir.as_ref().ok_or_else(missing)
    }

    /// The bus's folder, for those who only look; `None` when it is not there.
    pub(crate) fn dir_looked(&self) -> Option<&PrivateDir> {
        self.dir.as_ref()
    }

    /// A folder of the bus, for reading; `None` when it is not there.
    pub(crate) fn looked(&self, name: &'static str) -> Result<Option<&PrivateDir>, Error> {
        let Some(dir) = &self.dir else { return Ok(None) };
        let Some(kept) = self.folders.of(name) else { return Ok(None) };
        if kept.get().is_none()
            && let Some(folder) = dir.sub_existing(name)?
        {
            // Nobody else fills it: a bus belongs to one thread.
            let _ = kept.set(folder);
        }
        Ok(kept.get())
    }

    /// One inbox, for reading; `None` when it is not there.
    pub(crate) fn inbox_looked(&self, id: &str) -> Result<Option<PrivateDir>, Error> {
        let Some(name) = names::bus_name(id) else { return Ok(None) };
        match self.looked(INBOX)? {
            Some(inboxes) => Ok(inboxes.sub_existing(name)?),
            None => Ok(None),
        }
    }

    /// One inbox, made when it is not there.
    pub(crate) fn inbox_made(&self, id: &str) -> Result<PrivateDir, Error> {
        Ok(self.dir()?.sub(INBOX)?.sub(file_stem(id)?)?)
    }

    /// The record of one session, as it is on disk.
    pub(crate) fn record(&self, id: &str) -> Result<Option<Record>, Error> {
        let Some(sessions) = self.looked(SESSIONS)? else { return Ok(None) };
        let name = record_file(id)?;
        match sessions.read(&name, BUS_FILE_BYTES) {
            Ok(read) => Ok(Record::scan(&read.bytes).ok().map(|read| read.value).filter(|record| record.id == id)),
            Err(problem) if problem.reason == Reason::Missing => Ok(None),
            Err(problem) if problem.reason == Reason::Unreadable => {
                Err(Error::Entry { path: sessions.path().join(name), problem })
            }
            Err(_) => Ok(None),
        }
    }
}

/// The folders of a bus that were opened for reading.
#[derive(Default)]
struct Folders {
    sessions: OnceCell<PrivateDir>,
    claims: OnceCell<PrivateDir>,
    inbox: OnceCell<PrivateDir>,
    quarantine: OnceCell<PrivateDir>,
}

impl Folders {
    fn of(&self, name: &str) -> Option<&OnceCell<PrivateDir>> {
        match name {
            SESSIONS => Some(&self.sessions),
            CLAIMS => Some(&self.claims),
            INBOX => Some(&self.inbox),
            QUARANTINE => Some(&self.quarantine),
            _ => None,
        }
    }
}

/// A file of the bus: what is in it, or why it does not count.
pub(crate) enum Read<T> {
    /// A document that is what its name says.
    Good(T),
    /// A document of a newer schema: left alone and counted.
    Newer,
    /// Not a document: quarantined once it is old enough.
    Bad,
    /// No file of ours (a link, a pipe, another user's): left alone and counted.
    Foreign,
    /// The system could not read it now: nobody may decide as if it were not there.
    Failed(EntryProblem),
}

/// A file with its name and version.
pub(crate) struct File<T> {
    pub(crate) name: String,
    pub(crate) stamp: Option<Stamp>,
    pub(crate) read: Read<T>,
}

/// Reads every document of a folder; the number is that of the leftovers between them.
pub(crate) fn scan<T>(
    dir: Option<&PrivateDir>,
    parse: impl Fn(&[u8]) -> Result<T, ReadError>,
    fits: impl Fn(&str, &T) -> bool,
) -> Result<(Vec<File<T>>, usize), Error> {
    let mut files = Vec::new();
    let Some(dir) = dir else { return Ok((files, 0)) };
    let leftovers = dir.scan(BUS_FILE_BYTES, |entry| {
        let Some(name) = entry.name.to_str() else { return };
        files.push(file(name, entry.content, &parse, &fits));
    })?;
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok((files, leftovers))
}

/// Reads one document; `None` when it is not there.
pub(crate) fn one<T>(
    dir: &PrivateDir,
    name: &str,
    parse: impl Fn(&[u8]) -> Result<T, ReadError>,
    fits: impl Fn(&str, &T) -> bool,
) -> Option<File<T>> {
    match dir.read(name, BUS_FILE_BYTES) {
        Err(problem) if problem.reason == Reason::Missing => None,
        Err(problem) => Some(file(name, Err(problem), &parse, &fits)),
        Ok(read) => Some(file(name, Ok((&read.bytes, read.stamp)), &parse, &fits)),
    }
}

fn file<T>(
    name: &str,
    content: Result<(&[u8], Stamp), EntryProblem>,
    parse: &impl Fn(&[u8]) -> Result<T, ReadError>,
    fits: &impl Fn(&str, &T) -> bool,
) -> File<T> {
    let name = name.to_owned();
    match content {
        Ok((bytes, stamp)) => {
            let read = match parse(bytes) {
                Ok(value) if fits(&name, &value) => Read::Good(value),
                Err(ReadError::Unsupported { .. }) => Read::Newer,
                _ => Read::Bad,
            };
            File { name, stamp: Some(stamp), read }
        }
        Err(problem) => {
            let read = match problem.reason {
                Reason::TooLarge | Reason::Empty => Read::Bad,
                Reason::Unreadable => Read::Failed(problem),
                _ => Read::Foreign,
            };
            File { name, stamp: problem.stamp, read }
        }
    }
}

pub(crate) fn record(bytes: &[u8]) -> Result<Record, ReadError> {
    Record::scan(bytes).map(|read| read.value)
}

pub(crate) fn claim(bytes: &[u8]) -> Result<Claim, ReadError> {
    Claim::scan(bytes).map(|read| read.value)
}

pub(crate) fn message(bytes: &[u8]) -> Result<Message, ReadError> {
    Message::read(bytes).map(|read| read.value)
}

pub(crate) fn record_fits(name: &str, record: &Record) -> bool {
    names::bus_name(&record.id).is_some_and(|stem| name.strip_suffix(".json") == Some(&stem))
}

pub(crate) fn message_fits(name: &str, message: &Message) -> bool {
    name.strip_suffix(".json") == Some(message.id.as_str()) && mail_name::ms(name).is_some()
}

/// The name of a claim's file: one path has one name, so two claims of one path cannot both be made.
pub(crate) fn claim_file(path: &str, folds_case: bool) -> String {
    let safe = names::safe(path);
    let mut tail = safe[safe.len().saturating_sub(40)..].to_owned();
    if tail.starts_with('.') {
        // A name that begins with a dot is hidden from readers.
        tail.replace_range(..1, "_");
    }
    format!("{tail}-{}.json", names::hash16(&path::key(path, folds_case)))
}

/// A session's name on disk.
pub(crate) fn file_stem(id: &str) -> Result<String, Error> {
    names::bus_name(id).ok_or_else(|| Refusal::new(Code::Refused, "a session id cannot be empty").into())
}

/// The name of a session's record.
pub(crate) fn record_file(id: &str) -> Result<String, Error> {
    Ok(format!("{}.json", file_stem(id)?))
}

/// Names of a folder as text; others are nobody's here.
pub(crate) fn texts(names: Vec<impl AsRef<OsStr>>) -> impl Iterator<Item = String> {
    names.into_iter().filter_map(|name| name.as_ref().to_str().map(str::to_owned))
}

/// A document as it is written.
pub(crate) fn bytes(document: &impl Serialize) -> Vec<u8> {
    // Serialising into memory cannot fail for documents whose keys are all texts.
    let mut bytes = serde_json::to_vec(document).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// `bus.json`: whose this folder is, so that a moved repository and a clash of hashes are found.
fn about(repo: &Repo, world: &dyn World) -> BusFolder {
    BusFolder::new()
        .key(repo.key.clone())
        .common_dir(repo.common.to_string_lossy().into_owned())
        .is_git(repo.is_git)
        .created_at(Some(Timestamp::from_epoch_ms(world.now().wall_ms)))
}
