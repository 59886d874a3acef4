//! What agents write down by themselves, for what their hooks do not tell: a denial, Esc, an approval, an API error.
//!
//! A reader shows what the evidence says where it is newer than the file, and never writes it there.

use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use jig_session_agents::{About, Agent, RecordLocation, TAIL, named, reconciled};
use jig_session_atomic::open_file;
use jig_session_schema::event::Event;
use jig_session_schema::row::{Row, Source};
use jig_session_schema::status::{StateFrom, Status};
use jig_session_schema::time::Timestamp;

use crate::entry::Session;
use crate::view;

/// Corrects the rows of sessions whose hooks may have missed something.
pub(crate) fn correct(sessions: &mut [Session]) {
    for session in sessions {
        if let Some(status) = of_row(&session.row) {
            let row = &mut session.row;
            row.state = status.state;
            row.attention = status.attention;
            row.background = status.background;
            row.state_from = status.state_from;
            row.state_at = status.state_at;
        }
    }
}

/// The document of a row as its agent's own evidence corrects it; `None` where there is nothing to correct.
fn of_row(row: &Row) -> Option<Status> {
    named(row.agent_name().as_str())?.evidence?;
    if row.source != Source::Jig || row.host.is_some() || row.verdict.is_over() || !is_hooks(row.state_from.as_ref()?) {
        return None;
    }
    corrected(&view::status(row)?)
}

/// A document as its agent's own evidence corrects it; `None` where there is nothing to correct.
pub fn corrected(status: &Status) -> Option<Status> {
    let agent = named(status.agent_name().as_str())?;
    let evidence = agent.evidence?;
    let path = path(agent, &evidence.place, status)?;
    // What was written before the state was set cannot be newer.
    let bytes = tail(&path, status.state_at)?;
    let start = status.process.as_ref().and_then(|process| process.start.as_deref());
    let start = start.and_then(|start| start.rsplit(':').next());
    let finding = (evidence.read)(&bytes, &About { session: &status.session, start })?;
    reconciled(status, &finding, &evidence.place.state_from())
}

/// Whether a state comes from hooks, or from what was read in their place.
pub fn is_hooks(from: &StateFrom) -> bool {
    from.hook_event().is_some() || *from == StateFrom::RECORD || *from == StateFrom::TRANSCRIPT
}

/// Where the evidence of a session lies. Ids are whatever a payload said: one that is no plain name names no file.
fn path(agent: &Agent, place: &RecordLocation, status: &Status) -> Option<PathBuf> {
    let folder = || Some(Path::new(&status.agent_dir)).filter(|folder| folder.is_absolute());
    let path = match place {
        RecordLocation::ProcessRecord => folder()?.join(agent.record?.folder).join(format!("{}.json", status.pid?)),
        RecordLocation::Transcript => PathBuf::from(status.transcript.as_deref()?),
        RecordLocation::Below(below) => {
            let id = &status.session;
            if id.starts_with('.') || id.contains(['/', '\\', '\0']) {
                return None;
            }
            folder()?.join(below(id))
        }
    };
    path.is_absolute().then_some(path)
}

/// The end of a file; `None` if it was last changed before that time.
fn tail(path: &Path, since: Option<Timestamp>) -> Option<Vec<u8>> {
    let (mut file, stamp) = open_file(path).ok()?;
    if since.is_some_and(|since| stamp.modified_ms() < since.epoch_ms()) {
        return None;
    }
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// What an agent has written down of the model, the tokens and the cost of a session.
pub fn figures(agent: &Agent, status: &Status) -> Vec<Event> {
    let read = agent.figures.and_then(|figures| {
        let bytes = tail(&path(agent, &figures.place, status)?, None)?;
        Some((figures.read)(&bytes))
    });
    read.unwrap_or_default()
}
