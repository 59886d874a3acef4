//! What the plan hands to the queue, and what the queue reports back.

use jig_session_schema::bulk::EntryOutcome;
use jig_session_schema::time::Timestamp;

/// One entry that is to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its index among the entries.
    pub index: usize,
    /// When, in milliseconds after the start.
    pub delay_ms: u64,
    /// Exactly what is run.
    pub argv: Vec<String>,
}

/// How an entry went.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Its index among the entries.
    pub index: usize,
    /// In a word.
    pub outcome: EntryOutcome,
    /// The exit code of what was run.
    pub exit_code: Option<i32>,
    /// What it printed on stderr, or why it was not run.
    pub message: String,
    /// When its turn came; none when it never did.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}
