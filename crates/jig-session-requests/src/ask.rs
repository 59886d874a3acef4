//! Asking a live session: the request is published, its answer waited for in the session's status file.

use std::path::Path;
use std::thread;
use std::time::Duration;

use jig_session_liveness::{Machine, Processes, Record, clock};
use jig_session_publish::Now;
use jig_session_schema::request::{Request, RequestOutcome};
use jig_session_schema::row::Row;
use jig_session_schema::status::{Accept, Answer, Status};
use jig_session_store::{self as store, DocumentError};

use crate::{Published, Requester, folder};

/// How often it looks.
const EVERY: Duration = Duration::from_millis(100);
/// A status file that is missing for so long, while its process lives, belongs to a session that has ended.
const MISSING: Duration = Duration::from_secs(2);

/// What came of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// How it ended.
    pub outcome: RequestOutcome,
    /// What the session answered, if it did.
    pub answer: Option<Answer>,
}

impl Reply {
    fn unanswered(outcome: RequestOutcome) -> Self {
        Self { outcome, answer: None }
    }

    fn of(answer: Answer) -> Self {
        let outcome = if answer.ok { RequestOutcome::Ok } else { RequestOutcome::Refused };
        Self { outcome, answer: Some(answer) }
    }

    /// What came of it, for people: the session's own words, if it said any.
    #[must_use]
    pub fn words(&self) -> &str {
        match (&self.answer, self.outcome) {
            (Some(answer), _) => &answer.message,
            (None, RequestOutcome::Ok) => "done",
            (None, RequestOutcome::Sent) => "sent; its answer comes in the session's status file",
            (None, RequestOutcome::Gone) => "the session ended before it answered",
            (None, RequestOutcome::Busy) => "another request waits there; try again",
            (None, RequestOutcome::Timeout) => "no answer in time; nothing waits there any more",
            (None, _) => "the session does not take such a request",
        }
    }
}

/// Why a session could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// Its status file cannot be read.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// The folder of requests cannot be used.
    #[error(transparent)]
    Folder(#[from] jig_session_atomic::Error),
}

/// Publishes the request to the session of a row and waits that long for its answer; not at all for a time of zero.
/// `requests` is the folder of all requests.
///
/// # Errors
/// When the session's file or the folder of requests cannot be used.
pub fn ask(requests: &Path, row: &Row, request: &Request, wait_for: Duration) -> Result<Reply, AskError> {
    let session = Watched::of(row);
    let seen = match session.look() {
        Seen::Missing => match store::document(row) {
            // A file that could not be read for a moment is there all the same.
            Ok(_) => session.look(),
            Err(DocumentError::Ended { .. }) => Seen::Missing,
            Err(error) => return Err(error.into()),
        },
        seen => seen,
    };
    match seen {
        Seen::Ended | Seen::Missing => return Ok(Reply::unanswered(RequestOutcome::Gone)),
        Seen::Status(status) if !takes(&status, request) => return Ok(Reply::unanswered(RequestOutcome::Refused)),
        Seen::Status(_) => {}
    }
    let name = Path::new(&row.path).file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    let requester = Requester::new(folder(requests)?, name);
    let end = Now::read().mono + wait_for;
    let mut missing = None;
    let published = loop {
        if let Some(published) = requester.publish(request, clock::wall().epoch_ms())? {
            break published;
        }
        if session.ended(&mut missing) {
            return Ok(Reply::unanswered(RequestOutcome::Gone));
        }
        if !pause(end) {
            return Ok(Reply::unanswered(RequestOutcome::Busy));
        }
    };
    if wait_for.is_zero() {
        return Ok(Reply::unanswered(RequestOutcome::Sent));
    }
    wait(&session, &requester, &published, &request.id, end)
}

fn wait(
    session: &Watched<'_>,
    requester: &Requester,
    published: &Published,
    id: &str,
    end: Duration,
) -> Result<Reply, AskError> {
    let mut missing = None;
    loop {
        if let Some(answer) = session.answer(id) {
            return Ok(Reply::of(answer));
        }
        let outcome = if session.ended(&mut missing) {
            RequestOutcome::Gone
        } else if pause(end) {
            continue;
        } else {
            RequestOutcome::Timeout
        };
        // Nobody waits for the answer any more, so what nobody took is taken back. What was taken just now may have
        // been answered just now.
        if !requester.withdraw(published)?
            && let Some(answer) = session.answer(id)
        {
            return Ok(Reply::of(answer));
        }
        return Ok(Reply::unanswered(outcome));
    }
}

/// Waits for the next look; false when the time is over.
fn pause(end: Duration) -> bool {
    let left = end.saturating_sub(Now::read().mono);
    if left.is_zero() {
        return false;
    }
    thread::sleep(left.min(EVERY));
    true
}

/// Whether the session accepts the whole request. One that does not say may.
fn takes(status: &Status, request: &Request) -> bool {
    let Some(accepts) = &status.accepts else { return true };
    let wanted = [
        (!request.tools.is_empty(), Accept::TOOLS),
        (!request.skills.is_empty(), Accept::SKILLS),
        (request.wants_reload(), Accept::RELOAD),
    ];
    wanted.iter().all(|(wanted, what)| !wanted || accepts.contains(what))
}

/// The target session, as its file shows it.
struct Watched<'a> {
    row: &'a Row,
    machine: Machine,
}

/// What its file shows.
enum Seen {
    Status(Box<Status>),
    /// There is no file: it may be restored, or the session has ended.
    Missing,
    /// The process is gone, or another session has its place.
    Ended,
}

impl<'a> Watched<'a> {
    fn of(row: &'a Row) -> Self {
        Self { row, machine: Machine::new() }
    }

    fn look(&self) -> Seen {
        let Some(status) = store::status(self.row) else { return Seen::Missing };
        if status.session != self.row.session || self.machine.judge(&Record::of_status(&status)).verdict.is_over() {
            return Seen::Ended;
        }
        Seen::Status(Box::new(status))
    }

    /// The answer to a request, whoever wrote it and whether that one still runs.
    fn answer(&self, id: &str) -> Option<Answer> {
        let status = store::status(self.row).filter(|status| status.session == self.row.session)?;
        let last = status.last_request.into_iter();
        last.chain(status.recent_requests).find(|answer| answer.id == id)
    }

    /// Whether the session has ended. `missing` remembers since when its file is not there.
    fn ended(&self, missing: &mut Option<Duration>) -> bool {
        match self.look() {
            Seen::Status(_) => {
                *missing = None;
                false
            }
            Seen::Ended => true,
            Seen::Missing => {
                let now = Now::read().mono;
                let gone = self.row.pid.is_some_and(|pid| self.machine.is_missing(pid));
                gone || now.saturating_sub(*missing.get_or_insert(now)) > MISSING
            }
        }
    }
}
