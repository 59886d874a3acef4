//! An agent's own evidence of a session's state, for what its hooks do not tell: a denial, Esc, an approval.

use jig_session_schema::event::{ContextEvent, Event, ModelEvent};
use jig_session_schema::shape::Patch;
use jig_session_schema::status::{Attention, Model, Reason, State, StateFrom, Status};
use jig_session_schema::time::Timestamp;
use serde_json::Value;

/// How much of the end of a transcript is read, in bytes.
pub const TAIL: u64 = 64 << 10;

/// Where an agent writes down what its session does, and how that is read.
#[derive(Clone, Copy, Debug)]
pub struct Evidence {
    /// Where.
    pub place: RecordLocation,
    /// What the end of it says: at most [`TAIL`] bytes, beginning anywhere.
    pub read: fn(&[u8], &About<'_>) -> Option<Finding>,
}

/// Where an agent writes down its model, tokens and cost.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// Where.
    pub place: RecordLocation,
    /// What the end of it says, as `model`, `usage` and `context` events, and of calls whose end no hook tells as `tool`
    /// and `output` events: at most [`TAIL`] bytes, beginning anywhere.
    pub read: fn(&[u8]) -> Vec<Event>,
}

/// Where an agent writes down what its session does.
#[derive(Clone, Copy, Debug)]
pub enum RecordLocation {
    /// In its record of the process.
    ProcessRecord,
    /// In the session's transcript.
    Transcript,
    /// In a file below its configuration folder, by the session's id.
    Below(fn(&str) -> String),
}

impl RecordLocation {
    /// What `stateFrom` says of a state that comes from there.
    #[must_use]
    pub fn state_from(&self) -> StateFrom {
        match self {
            Self::ProcessRecord => StateFrom::RECORD,
            Self::Transcript | Self::Below(_) => StateFrom::TRANSCRIPT,
        }
    }
}

/// Whose evidence is read.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// The session's id.
    pub session: &'a str,
    /// When its process started, in ticks since boot.
    pub start: Option<&'a str>,
}

/// What the evidence says.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Since when.
    pub at: Timestamp,
    /// Whether the agent works.
    pub state: State,
    /// For what a person is waited for.
    pub reason: Option<Reason>,
    /// Background tasks at least; none where it says nothing of them.
    pub background: Option<u64>,
}

/// The document as the evidence corrects it; `None` where it is right, or newer than the evidence.
#[must_use]
pub fn reconciled(status: &Status, finding: &Finding, from: &StateFrom) -> Option<Status> {
    if status.state_at.is_some_and(|at| at >= finding.at) {
        return None;
    }
    let reason = status.attention.as_ref().map(|attention| &attention.reason);
    let background = finding.background.filter(|least| status.background.unwrap_or_default() < *least);
    if status.state == finding.state && reason == finding.reason.as_ref() && background.is_none() {
        return None;
    }
    // A turn's end that was reported as an error stays one.
    if status.state == State::Idle && finding.state == State::Idle && finding.reason.is_none() && background.is_none() {
        return None;
    }
    let mut status = status.clone();
    status.state = finding.state;
    status.attention = finding.reason.clone().map(|reason| Attention::new().reason(reason).since(Some(finding.at)));
    status.background = background.or(status.background);
    status.state_from = Some(from.clone());
    status.state_at = Some(finding.at);
    Some(status)
}

/// What the last line says that says anything. Only lines that hold one of the words are parsed; the first line of a
/// tail may be cut, and is passed over where it is no JSON.
pub(crate) fn last_line<T>(bytes: &[u8], words: &[&str], mut says: impl FnMut(&Value) -> Option<T>) -> Option<T> {
    bytes.rsplit(|byte| *byte == b'\n').find_map(|line| {
        let text = std::str::from_utf8(line).ok()?;
        if !words.iter().any(|word| text.contains(word)) {
            return None;
        }
        says(&serde_json::from_str(text).ok()?)
    })
}

/// The `timestamp` of a line.
pub(crate) fn time_of(line: &Value) -> Option<Timestamp> {
    Timestamp::parse(line["timestamp"].as_str()?)
}

/// Tokens in the context, and the model's window where it is known.
pub(crate) fn context(tokens: Option<u64>, window: Option<u64>) -> Option<Event> {
    tokens.map(|tokens| ContextEvent::new().tokens(Some(tokens)).window(window).into())
}

/// The model, by its id.
pub(crate) fn model(id: &Value) -> Option<Event> {
    let id = id.as_str().filter(|id| !id.is_empty())?;
    Some(ModelEvent::new().model(Patch::Set(Model::new().id(id.to_owned()))).into())
}
