//! The only place that rows come from: the two folders' sessions, judged, joined and in order.
//!
//! Every reading command gets its rows here; none opens a folder itself.

use jig_session_liveness::{Machine, Probes};
use jig_session_schema::row::{Problem, Row};
use jig_session_schema::status::Status;
use jig_session_schema::time::Timestamp;
use jig_session_store::{Filter, Marks, Repositories, Scan, Session, Store, by_urgency, joined, listed};
use serde_json::{Map, Value};

use crate::app::App;
use crate::evidence;
use crate::failure::{Code, Failure};

/// What was there at one moment.
#[derive(Debug)]
pub(crate) struct View {
    /// When it was looked.
    pub(crate) at: Timestamp,
    /// Every session, one an id, in no order: [`View::listed`] and [`View::rows`] have one.
    pub(crate) sessions: Vec<Session>,
    /// The places of the sessions, the one that needs a person first. Sessions are large: they stay where they are.
    order: Vec<usize>,
    /// What gave no session.
    pub(crate) problems: Vec<Problem>,
}

impl View {
    /// Makes the view of one look, as a person who made these marks sees it.
    pub(crate) fn of(look: Scan, at: Timestamp, marks: &Marks) -> Self {
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

    /// The sessions that are listed; with `all`, every one.
    pub(crate) fn listed(&self, all: bool) -> impl Iterator<Item = &Session> {
        let shown = if all { None } else { Some(listed(&self.sessions, self.at)) };
        let ordered = self.order.iter();
        ordered
            .filter(move |place| shown.as_ref().is_none_or(|shown| shown[**place]))
            .map(|place| &self.sessions[*place])
    }

    /// The rows that are listed, and the problems.
    pub(crate) fn into_listed(self, all: bool) -> (Vec<Row>, Vec<Problem>) {
        let shown = if all { None } else { Some(listed(&self.sessions, self.at)) };
        let mut rows: Vec<Option<Row>> = self.sessions.into_iter().map(|session| Some(session.row)).collect();
        let places = self.order.iter().filter(|place| shown.as_ref().is_none_or(|shown| shown[**place]));
        (places.filter_map(|place| rows[*place].take()).collect(), self.problems)
    }

    /// Every row, listed or not.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.order.iter().map(|place| &self.sessions[*place].row)
    }
}

/// Looks at both folders once.
pub(crate) fn load(app: &App) -> Result<View, Failure> {
    let mut store = store(app);
    let machine = Machine::new();
    let look = store.look(&Probes::new(&machine))?;
    Ok(View::of(look, app.now(), &marks(app)))
}

/// The marks of what a person has seen.
pub(crate) fn marks(app: &App) -> Marks {
    Marks::open(&app.places().seen)
}

/// A filter at work: what it has to look for in the file system, it looks for once.
#[derive(Default)]
pub(crate) struct Narrow {
    filter: Filter,
    repositories: Repositories,
}

impl Narrow {
    pub(crate) fn by(filter: Filter) -> Self {
        Self { filter, repositories: Repositories::default() }
    }

    pub(crate) fn takes(&mut self, row: &Row) -> bool {
        self.filter.takes(row, &mut self.repositories)
    }
}

/// Says which variables count as unset, since a person would look in the wrong folder. With `--json` stderr holds error
/// documents only: there `paths` and `doctor` tell it.
pub(crate) fn note_ignored(app: &App) {
    for ignored in app.places().ignored.iter().filter(|_| !app.json) {
        app.note(&format!("note: {} counts as unset: it {}", ignored.name, ignored.why));
    }
}

/// The store of this run, for commands that look more than once.
pub(crate) fn store(app: &App) -> Store {
    let places = app.places();
    Store::new(&places.sessions, &places.king)
}

/// A row's file as it is now, unknown fields included.
pub(crate) fn document(row: &Row) -> Result<Map<String, Value>, Failure> {
    let bytes = bytes_of(row)?;
    jig_session_schema::json::parse_object(&bytes).map_err(|error| {
        let failure = Failure::new(Code::Io, format!("cannot read {}: {error}", row.path));
        failure.path(&row.path).hint("its writer changed it just now: try again")
    })
}

/// A row's file as the whole status document; `None` when it is none, as pi-king's are.
pub(crate) fn status(row: &Row) -> Option<Status> {
    let bytes = bytes_of(row).ok()?;
    Status::read(&bytes).ok().map(|read| read.value)
}

fn bytes_of(row: &Row) -> Result<Vec<u8>, Failure> {
    let path = std::path::Path::new(&row.path);
    let gone = || {
        let failure = Failure::new(Code::Gone, format!("session {} ended just now", row.session));
        failure.path(&row.path)
    };
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Err(gone()) };
    let Some(dir) = jig_session_atomic::PrivateDir::open_existing(folder)? else { return Err(gone()) };
    match dir.read(name, jig_session_schema::limits::STATUS_BYTES) {
        Ok(read) => Ok(read.bytes),
        Err(problem) if problem.reason == jig_session_atomic::Reason::Missing => Err(gone()),
        Err(problem) => {
            let failure = Failure::new(Code::Io, format!("cannot read {}: {problem}", row.path));
            Err(failure.path(&row.path).errno(problem.errno))
        }
    }
}
