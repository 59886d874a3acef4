//! What was there at one moment: the sessions of both folders, judged, joined, corrected and in order.

use std::path::Path;

use jig_session_atomic::{EntryProblem, PrivateDir, Reason};
use jig_session_schema::limits::STATUS_BYTES;
use jig_session_schema::read::ReadError;
use jig_session_schema::row::{Problem, Row};
use jig_session_schema::status::Status;
use jig_session_schema::time::Timestamp;
use serde_json::{Map, Value};

use crate::entry::Session;
use crate::seen::Marks;
use crate::store::Scan;
use crate::{Filter, Repositories, by_urgency, evidence, joined, listed};

/// What was there at one moment.
#[derive(Debug)]
pub struct View {
    /// When it was looked.
    pub at: Timestamp,
    /// Every session, one an id, in no order: [`View::listed`] and [`View::rows`] have one.
    pub sessions: Vec<Session>,
    /// The places of the sessions, the one that needs a person first. Sessions are large: they stay where they are.
    order: Vec<usize>,
    /// What gave no session.
    pub problems: Vec<Problem>,
}

impl View {
    /// Makes the view of one look, as a person who made these marks sees it.
    #[must_use]
    pub fn of(look: Scan, at: Timestamp, marks: &Marks) -> Self {
        let mut sessions = joined(look.sessions);
        evidence::correct(&mut sessions);
        for session in &mut sessions {
            marks.derive(&mut session.row);
        }
        let order = by_urgency(sessions.iter().map(|session| &session.row));
        let mut problems = look.problems;
        problems.sort_by(|a, b| a.path.cmp(&b.path));
        Self { at, sessions, order, problems }
    }

    /// The same with the rows and problems of other machines.
    #[must_use]
    pub fn with(mut self, rows: impl IntoIterator<Item = Row>, problems: impl IntoIterator<Item = Problem>) -> Self {
        self.sessions.extend(rows.into_iter().map(Session::elsewhere));
        self.order = by_urgency(self.sessions.iter().map(|session| &session.row));
        self.problems.extend(problems);
        self
    }

    /// The sessions that are listed; with `all`, every one.
    pub fn listed(&self, all: bool) -> impl Iterator<Item = &Session> {
        let shown = if all { None } else { Some(listed(&self.sessions, self.at)) };
        let ordered = self.order.iter();
        ordered
            .filter(move |place| shown.as_ref().is_none_or(|shown| shown[**place]))
            .map(|place| &self.sessions[*place])
    }

    /// The rows that are listed, and the problems.
    #[must_use]
    pub fn into_listed(self, all: bool) -> (Vec<Row>, Vec<Problem>) {
        let shown = if all { None } else { Some(listed(&self.sessions, self.at)) };
        let mut rows: Vec<Option<Row>> = self.sessions.into_iter().map(|session| Some(session.row)).collect();
        let places = self.order.iter().filter(|place| shown.as_ref().is_none_or(|shown| shown[**place]));
        (places.filter_map(|place| rows[*place].take()).collect(), self.problems)
    }

    /// Every row, listed or not.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.order.iter().map(|place| &self.sessions[*place].row)
    }
}

/// A filter at work: what it has to look for in the file system, it looks for once.
#[derive(Debug, Default)]
pub struct Narrow {
    filter: Filter,
    repositories: Repositories,
}

impl Narrow {
    /// With a filter.
    #[must_use]
    pub fn by(filter: Filter) -> Self {
        Self { filter, repositories: Repositories::default() }
    }

    /// Whether the row passes.
    pub fn takes(&mut self, row: &Row) -> bool {
        self.filter.takes(row, &mut self.repositories)
    }
}

/// Why the file behind a row gives no document.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// The session ended after its row was made.
    #[error("session {session} ended just now")]
    Ended {
        /// Its id.
        session: String,
        /// Where its file was.
        path: String,
    },
    /// The folder is not one to read from.
    #[error(transparent)]
    Folder(#[from] jig_session_atomic::Error),
    /// The file cannot be read.
    #[error("cannot read {path}: {problem}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        problem: EntryProblem,
    },
    /// What is read is no document: its writer changed it just now.
    #[error("cannot read {path}: {error}")]
    Broken {
        /// The file.
        path: String,
        /// What is wrong with it.
        error: ReadError,
    },
}

/// A row's file as it is now, unknown fields included.
///
/// # Errors
/// When the session has ended, or the file cannot be read or holds no document.
pub fn document(row: &Row) -> Result<Map<String, Value>, DocumentError> {
    let broken = |error| DocumentError::Broken { path: row.path.clone(), error };
    jig_session_schema::json::parse_object(&bytes_of(row)?).map_err(broken)
}

/// A row's file as the whole status document; `None` when it is none, as pi-king's are.
#[must_use]
pub fn status(row: &Row) -> Option<Status> {
    Status::read(&bytes_of(row).ok()?).ok().map(|read| read.value)
}

fn bytes_of(row: &Row) -> Result<Vec<u8>, DocumentError> {
    let path = Path::new(&row.path);
    let ended = || DocumentError::Ended { session: row.session.clone(), path: row.path.clone() };
    let (folder, name) = path.parent().zip(path.file_name()).ok_or_else(ended)?;
    let folder = PrivateDir::open_existing(folder)?.ok_or_else(ended)?;
    match folder.read(name, STATUS_BYTES) {
        Ok(read) => Ok(read.bytes),
        Err(problem) if problem.reason == Reason::Missing => Err(ended()),
        Err(problem) => Err(DocumentError::Unreadable { path: row.path.clone(), problem }),
    }
}
