//! Every number the bus lives by, in one place.

/// Longest text of a message, in Unicode scalar values.
pub const TEXT: usize = 4000;
/// Messages one `inbox` returns when nothing else is asked.
pub const INBOX_DEFAULT: usize = 20;
/// Most messages one `inbox` returns.
pub const INBOX_MOST: usize = 50;
/// Characters of a message's preview.
pub const PREVIEW: usize = 120;
/// Characters of a handoff's preview: the card, its paths and the next step survive.
pub const PREVIEW_HANDOFF: usize = 800;
/// Age in milliseconds after which a member that beats by timer is stale.
pub const TTL_TIMER_MS: u64 = 600_000;
/// Age in milliseconds after which a member that beats by its calls is stale.
pub const TTL_CALLS_MS: u64 = 7_200_000;
/// Age in milliseconds after which unread mail and files of unknown members are removed.
pub const TTL_MAIL_MS: u64 = 86_400_000;
/// Milliseconds between two beats of a member that beats by timer.
pub const BEAT_MS: u64 = 10_000;
/// A member that beats by its calls writes a beat when the last one is this old, in milliseconds.
pub const BEAT_CALLS_MS: u64 = 60_000;
/// Milliseconds between two looks of a watch.
pub const WATCH_MS: u64 = 2_000;
/// Longest label, in characters.
pub const LABEL: usize = 48;
/// Most paths of one claim call.
pub const CLAIMS_A_CALL: usize = 64;
/// Most claims of one session.
pub const CLAIMS_A_SESSION: usize = 256;
/// Longest path of a claim or message, in bytes.
pub const PATH: usize = 512;
/// Most paths of one message.
pub const MESSAGE_PATHS: usize = 20;
/// Longest reason of a claim, in characters.
pub const REASON: usize = 200;
/// Most unread messages of one inbox.
pub const UNREAD: usize = 1000;
/// Milliseconds a mutation waits for the lock.
pub const LOCK_MS: u64 = 2_000;
/// Largest file of the bus that is read, in bytes.
pub const FILE: u64 = 65_536;
/// Milliseconds a file that does not parse is left alone: another program may still be writing it.
pub const UNPARSABLE_MS: u64 = 5_000;
/// Most files in the quarantine.
pub const QUARANTINE: usize = 100;
/// Milliseconds within which the same text to the same peer is a duplicate.
pub const DUPLICATE_MS: u64 = 10_000;
/// Wakes of one pair within [`WAKE_WINDOW_MS`] before mail waits for the next turn.
pub const WAKES: usize = 6;
/// The window of the wake budget, in milliseconds.
pub const WAKE_WINDOW_MS: u64 = 600_000;
/// Temporaries and empty consumer folders are removed at this age, in milliseconds.
pub const LEFTOVER_MS: u64 = 600_000;
/// Symbolic links followed in one path.
pub const LINKS: usize = 40;
