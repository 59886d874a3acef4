//! Files of the state folder that only this program reads: the archive of measured days and the log of errors.

use serde_json::Value;

use crate::shape::{Named, Tag};
use crate::time::Timestamp;

record! {
    /// A line of the log of errors.
    pub struct LogLine {
        /// When.
        required at: Timestamp = "at",
        /// The command that failed.
        required command: String = "command",
        /// What kind of failure, in a word.
        required code: String = "code",
        /// What happened.
        required message: String = "message",
    }
}

record! {
    /// The archive of measured days of call logs: `king/usage.json`.
    pub struct UsageArchive {
        /// The version of this format: 1.
        version schema: Tag = "schema" is 1,
        /// Each day, an [`ArchivedDay`], by the name of its folder. One that cannot be read is kept as it is.
        required days: Named<Value> = "days",
    }
}

record! {
    /// One day of the archive.
    pub struct ArchivedDay {
        /// When the day's folder last changed, in milliseconds since 1970.
        required modified_ms: i64 = "modifiedMs",
        /// Records that could not be read and whose time is not known.
        required unplaced: u64 = "unplaced",
        /// The sums by UTC hour (`2026-11-29T13`), and inside an hour by the minute its quarter begins at (`15`).
        required hours: Named<Named<ArchivedSums>> = "hours",
    }
}

record! {
    /// What the calls of a quarter of an hour add up to.
    pub struct ArchivedSums {
        /// Calls.
        required calls: u64 = "calls",
        /// Those of them with an HTTP status of 400 or above.
        required errors: u64 = "errors",
        /// Tokens of input.
        required tokens_in: u64 = "tokensIn",
        /// Tokens of output.
        required tokens_out: u64 = "tokensOut",
        /// Tokens read from a cache.
        required tokens_cache_read: u64 = "tokensCacheRead",
        /// Tokens written to a cache.
        required tokens_cache_write: u64 = "tokensCacheWrite",
        /// Tokens of reasoning.
        required tokens_reasoning: u64 = "tokensReasoning",
        /// Records or fields that could not be read.
        required unread: u64 = "unread",
    }
}
