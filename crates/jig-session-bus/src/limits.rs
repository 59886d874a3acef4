//! The numbers the bus lives by, beside those of the contract ([`jig_session_schema::limits`]).

use jig_session_schema::limits as contract;
pub use jig_session_schema::limits::{
    BUS_PATH_BYTES as PATH, CLAIM_REASON_CHARS as REASON, CLAIMS_PER_CALL as CLAIMS_A_CALL,
    CLAIMS_PER_SESSION as CLAIMS_A_SESSION, INBOX_DEFAULT, INBOX_MAX as INBOX_MOST, INBOX_UNREAD as UNREAD,
    LABEL_CHARS as LABEL, MESSAGE_CHARS as TEXT, MESSAGE_PATHS, QUARANTINE_FILES as QUARANTINE,
};

/// Age in milliseconds after which a member that beats by timer is stale.
pub const TTL_TIMER_MS: u64 = contract::SESSION_TTL.as_millis() as u64;
/// Age in milliseconds after which a member that beats by its calls is stale.
pub const TTL_CALLS_MS: u64 = contract::SESSION_TTL_CALLS.as_millis() as u64;
/// Age in milliseconds after which unread mail and files of unknown members are removed.
pub const TTL_MAIL_MS: u64 = contract::MESSAGE_TTL.as_millis() as u64;
/// Milliseconds between two beats of a member that beats by timer.
pub const BEAT_MS: u64 = contract::HEARTBEAT.as_millis() as u64;
/// A member that beats by its calls writes a beat when the last one is this old, in milliseconds.
pub const BEAT_CALLS_MS: u64 = 60_000;
/// Milliseconds between two looks of a watch.
pub const WATCH_MS: u64 = contract::POLL_INTERVAL.as_millis() as u64;
/// Milliseconds a file that does not parse is left alone: another program may still be writing it.
pub const UNPARSABLE_MS: u64 = 5_000;
/// Milliseconds within which the same text to the same peer is a duplicate.
pub const DUPLICATE_MS: u64 = 10_000;
/// Wakes of one pair within [`WAKE_WINDOW_MS`] before mail waits for the next turn.
pub const WAKES: usize = 6;
/// The window of the wake budget, in milliseconds.
pub const WAKE_WINDOW_MS: u64 = 600_000;
/// UTF-16 units of an answer's mail for a model: clients cut at 10,000, and mail that was cut is lost.
pub const ANSWER_UNITS: usize = 8_000;
/// The same of one message that stands alone in it.
pub const LETTER_UNITS: usize = 9_000;
/// Units of a message's text and paths as JSON writes them; with its frame it fits into [`LETTER_UNITS`].
pub const CONTENT_UNITS: usize = 8_400;
/// Units of the mail in a command's output, which agents cut at 30,000.
pub const OUTPUT_UNITS: usize = 24_000;
/// The same of one message that stands alone in it.
pub const OUTPUT_ALONE_UNITS: usize = 28_000;
/// Symbolic links followed in one path.
pub const LINKS: usize = 40;
