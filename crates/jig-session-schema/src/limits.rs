//! Every limit of the contract.

use std::time::Duration;

/// A status file's size in bytes.
pub const STATUS_BYTES: usize = 1 << 20;
/// The largest document any reader takes.
pub const DOCUMENT_BYTES: usize = STATUS_BYTES;
/// A request file's size in bytes.
pub const REQUEST_BYTES: usize = 64 << 10;
/// A bus record's, message's or claim's size in bytes.
pub const BUS_FILE_BYTES: usize = 64 << 10;
/// One line of a line format, in bytes.
pub const LINE_BYTES: usize = 1 << 20;
/// How deep a document may be nested.
pub const NESTING: usize = 64;
/// A name (tool, action, decision, answer, outcome, reason), in characters.
pub const NAME_CHARS: usize = 128;
/// A path in a status file, in bytes: what systems open at most.
pub const PATH_BYTES: usize = 4096;
/// A session's name, and any other text in a status file that is no path, in characters.
pub const TEXT_CHARS: usize = 1000;
/// A session's name where people read it, in characters.
pub const SHOWN_NAME_CHARS: usize = 200;
/// A request id, in characters.
pub const REQUEST_ID_CHARS: usize = 128;
/// The largest count: what every JSON reader holds exactly.
pub const COUNT_MAX: u64 = (1 << 53) - 1;
/// Entries of `recent`.
pub const RECENT: usize = 15;
/// Entries of `recentRequests`.
pub const RECENT_REQUESTS: usize = 32;
/// Entries of `children`.
pub const CHILDREN: usize = 16;
/// Entries of `outputs` without a repository, and as many with one.
pub const OUTPUTS: usize = 50;
/// Decisions kept for calls that have not started.
pub const PENDING_DECISIONS: usize = 64;
/// The least time between two writes of a status file.
pub const WRITE_INTERVAL: Duration = Duration::from_millis(100);
/// How soon a publisher restores its vanished file and reads the ticket folder again.
pub const RESTORE_INTERVAL: Duration = Duration::from_secs(10);
/// How often a reader polls.
pub const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// How long a `switch` line may stay without its `applied`.
pub const APPLY_TIMEOUT: Duration = Duration::from_secs(5);
/// A request file older than this is stale.
pub const REQUEST_AGE: Duration = Duration::from_secs(60);
/// A name in a request's answer, in characters.
pub const ANSWER_NAME_CHARS: usize = 64;
/// Files that cannot be parsed are left alone for this long.
pub const UNPARSABLE_AGE: Duration = Duration::from_secs(24 * 3600);
/// A session on another machine is listed for this long after its last write.
pub const FOREIGN_AGE: Duration = Duration::from_secs(600);
/// A file name's safe part, in bytes, before it is cut and a hash is joined.
pub const SAFE_NAME_BYTES: usize = 160;
/// The log file, in bytes.
pub const LOG_BYTES: usize = 1 << 20;

/// A message's text on the bus, in characters.
pub const MESSAGE_CHARS: usize = 4000;
/// Paths of a message.
pub const MESSAGE_PATHS: usize = 20;
/// A path on the bus, in bytes.
pub const BUS_PATH_BYTES: usize = 512;
/// Messages an `inbox` takes by default.
pub const INBOX_DEFAULT: usize = 20;
/// Messages an `inbox` takes at most.
pub const INBOX_MAX: usize = 50;
/// Unread mail of one member.
pub const INBOX_UNREAD: usize = 1000;
/// A preview, in characters; a handoff's is [`HANDOFF_PREVIEW_CHARS`].
pub const PREVIEW_CHARS: usize = 120;
/// A handoff's preview, in characters.
pub const HANDOFF_PREVIEW_CHARS: usize = 800;
/// A label, in characters.
pub const LABEL_CHARS: usize = 48;
/// A claim's reason, in characters.
pub const CLAIM_REASON_CHARS: usize = 200;
/// Paths of one `claim`.
pub const CLAIMS_PER_CALL: usize = 64;
/// Claims of one member.
pub const CLAIMS_PER_SESSION: usize = 256;
/// A member's beat.
pub const HEARTBEAT: Duration = Duration::from_secs(10);
/// A member that beats by a timer is stale after this.
pub const SESSION_TTL: Duration = Duration::from_secs(600);
/// A member that beats by its calls only is stale after this.
pub const SESSION_TTL_CALLS: Duration = Duration::from_secs(7200);
/// Unread mail expires after this.
pub const MESSAGE_TTL: Duration = Duration::from_secs(24 * 3600);
/// How long a bus call waits for the lock.
pub const LOCK_WAIT: Duration = Duration::from_secs(2);
/// Files in `quarantine/`.
pub const QUARANTINE_FILES: usize = 100;
/// Entries in one `entries` line of the bridge.
pub const BRIDGE_ENTRIES: usize = 500;
