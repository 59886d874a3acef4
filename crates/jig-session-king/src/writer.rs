//! The file of one session's card: written as pi-king writes it, and only while it is ours.
//!
//! Before each write the file on disk is looked at. A card of a process that may still live is never
//! written over; neither is one that pi-king's own extension keeps in the same Pi.

use std::path::Path;

use jig_session_atomic::{EntryProblem, Error, PrivateDir, Reason, Removal, Stamp, TempName};
use jig_session_liveness::{Processes, Record};
use jig_session_schema::king::{KingState, KingStatus};
use jig_session_schema::limits::STATUS_BYTES;
use jig_session_schema::places::KING_DIR;

use crate::rules;

/// Why a card was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Pi would not accept the id, so no reader expects a file of this name.
    #[error("the session id {0:?} cannot be a file's name in pi-king's folder")]
    Id(String),
    /// The folder or the file could not be used.
    #[error(transparent)]
    Folder(#[from] Error),
    /// The file that is there could not be looked at.
    #[error("cannot read {path}: {problem}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        problem: EntryProblem,
    },
}

/// What became of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is on disk.
    Written,
    /// Nothing but the time differs from what is on disk.
    Unchanged,
    /// The file is somebody else's; nothing was touched.
    NotOurs(Owner),
}

/// Whose the file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Another process that may still live.
    Process(u32),
    /// Another writer in the same Pi: pi-king's extension, or a second one of ours.
    SamePi,
    /// Somebody whose format this version does not know.
    Unknown,
}

/// What is on disk before a session's first write.
#[derive(Clone, Debug, PartialEq)]
pub enum Before {
    /// Nothing that can be continued.
    Nothing,
    /// Our own card: the same process left it, over a reload or a restart of the host.
    Own(Box<KingStatus>),
    /// The card of a process that is over, or of a session that had ended.
    Dead(Box<KingStatus>),
    /// Somebody else's, and not to be touched.
    Theirs(Owner),
}

/// The writer of one session's card.
#[derive(Debug)]
pub struct Writer {
    dir: PrivateDir,
    name: String,
    pid: u32,
    written: Option<(Vec<u8>, KingStatus)>,
}

impl Writer {
    /// A writer for the session `id` of the Pi process `pid`. The folder is made when missing.
    ///
    /// # Errors
    /// When the id cannot be a name there, or the folder is not safe to use.
    pub fn open(folder: &Path, id: &str, pid: u32) -> Result<Self, WriteError> {
        if !rules::writable_id(id) {
            return Err(WriteError::Id(id.to_owned()));
        }
        let dir =
            PrivateDir::open(folder).map_err(|error| error.named_by(KING_DIR))?.with_temp_name(TempName::PerProcess);
        Ok(Self { dir, name: format!("{id}.json"), pid, written: None })
    }

    /// Removes what crashed writers of this card left behind.
    pub fn sweep(&self, is_gone: &dyn Fn(u32) -> bool) {
        sweep(&self.dir, &self.name, is_gone);
    }

    /// What is on disk now.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn before(&self, processes: &dyn Processes) -> Result<Before, WriteError> {
        Ok(match self.look(processes)? {
            ExistingCard::Nothing => Before::Nothing,
            ExistingCard::Own { card, .. } => Before::Own(card),
            ExistingCard::Dead(card) => Before::Dead(card),
            ExistingCard::Theirs(owner) => Before::Theirs(owner),
        })
    }

    /// Writes a card whose content changed, if the file is ours or nobody's.
    ///
    /// # Errors
    /// When the file cannot be looked at or written; the old one is then still whole.
    pub fn publish(&mut self, card: &KingStatus, processes: &dyn Processes) -> Result<Outcome, WriteError> {
        match self.look(processes)? {
            ExistingCard::Theirs(owner) => return Ok(Outcome::NotOurs(owner)),
            ExistingCard::Own { .. } if self.unchanged(card) => return Ok(Outcome::Unchanged),
            _ => {}
        }
        self.write(card)?;
        Ok(Outcome::Written)
    }

    /// Ends the session's card: a listed one stays as `exited`, since it is the pointer to the
    /// transcript; any other goes. Somebody else's file is left as it is.
    ///
    /// # Errors
    /// When the file cannot be looked at, written or removed.
    pub fn finish(&mut self, ended: &KingStatus, processes: &dyn Processes) -> Result<Outcome, WriteError> {
        match self.look(processes)? {
            ExistingCard::Theirs(owner) => Ok(Outcome::NotOurs(owner)),
            ExistingCard::Own { stamp, .. } if !ended.visible => {
                let removal = self.dir.remove_own(&self.name, &stamp)?;
                Ok(if removal == Removal::Changed { Outcome::NotOurs(Owner::Unknown) } else { Outcome::Written })
            }
            // The card of the dead, or none at all: this session has published nothing to end.
            ExistingCard::Dead(_) | ExistingCard::Nothing if !ended.visible => Ok(Outcome::Unchanged),
            _ => {
                self.write(ended)?;
                Ok(Outcome::Written)
            }
        }
    }

    fn write(&mut self, card: &KingStatus) -> Result<(), WriteError> {
        let bytes = to_bytes(card);
        self.dir.write(&self.name, &bytes)?;
        self.written = Some((bytes, card.clone()));
        Ok(())
    }

    fn unchanged(&self, card: &KingStatus) -> bool {
        self.written.as_ref().is_some_and(|(_, written)| {
            let mut same = card.clone();
            same.last_activity = written.last_activity;
            same == *written
        })
    }

    fn look(&self, processes: &dyn Processes) -> Result<ExistingCard, WriteError> {
        // The folder may have been moved away: readers look where its path leads.
        self.dir.refresh()?;
        let file = match self.dir.read(&self.name, STATUS_BYTES) {
            Ok(file) => file,
            Err(problem) => {
                return match problem.reason {
                    // What a power cut left is nobody's.
                    Reason::Missing | Reason::Empty => Ok(ExistingCard::Nothing),
                    _ => {
                        let path = self.dir.path().join(&self.name).display().to_string();
                        Err(WriteError::Unreadable { path, problem })
                    }
                };
            }
        };
        let card = match KingStatus::read(&file.bytes) {
            Ok(read) => Box::new(read.value),
            Err(jig_session_schema::read::ReadError::Unsupported { .. }) => {
                return Ok(ExistingCard::Theirs(Owner::Unknown));
            }
            // Half a document is nobody's: writers replace a file whole.
            Err(_) => return Ok(ExistingCard::Nothing),
        };
        let is_over = |card: &KingStatus| processes.judge(&Record::of_king(card)).verdict.is_over();
        let same_bytes = self.written.as_ref().is_some_and(|(bytes, _)| *bytes == file.bytes);
        Ok(match card.pid {
            Some(pid) if pid == self.pid => {
                // pi-king's own extension counts the birth of its process to fractions of a millisecond.
                let fractional = card.started_at.is_some_and(|started| started.0.fract() != 0.0);
                if same_bytes || (self.written.is_none() && !fractional) {
                    ExistingCard::Own { card, stamp: file.stamp }
                } else if is_over(&card) {
                    ExistingCard::Dead(card)
                } else {
                    ExistingCard::Theirs(Owner::SamePi)
                }
            }
            _ if card.status == KingState::EXITED || is_over(&card) => ExistingCard::Dead(card),
            Some(pid) => ExistingCard::Theirs(Owner::Process(pid)),
            None => ExistingCard::Theirs(Owner::Unknown),
        })
    }
}

enum ExistingCard {
    Nothing,
    Own { card: Box<KingStatus>, stamp: Stamp },
    Dead(Box<KingStatus>),
    Theirs(Owner),
}

/// Removes what writers of `file` that are gone left behind: `<file>.tmp-<pid>`, and nothing else. What
/// cannot be removed is left: it is no card, and no reader takes it for one.
pub fn sweep(dir: &PrivateDir, file: &str, is_gone: &dyn Fn(u32) -> bool) {
    let Ok(names) = dir.list() else { return };
    for name in names {
        let pid = name.to_str().and_then(|name| name.strip_prefix(file)?.strip_prefix(".tmp-")?.parse().ok());
        if pid.is_some_and(is_gone) {
            let _ = dir.remove(&name);
        }
    }
}

/// A card's bytes as pi-king lays them out: two spaces, no line feed at the end.
#[must_use]
pub fn to_bytes(card: &KingStatus) -> Vec<u8> {
    let mut document = card.to_document();
    // JavaScript prints a whole number without a fraction.
    if let Some(percent) = document.get_mut("contextPct")
        && let Some(whole) = percent.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 1e15)
    {
        *percent = (whole as i64).into();
    }
    // A record of texts and finite numbers always prints.
    serde_json::to_vec_pretty(&document).unwrap_or_default()
}
