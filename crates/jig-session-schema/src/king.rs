//! pi-king session-status v1: the same question, answered by another program in its own folder.

use crate::read::{Extent, Read, ReadError, Reading};
use crate::shape::{SchemaCx, Shape, Tag};

record! {
    /// A Pi session's card, `<sessionId>.json` in pi-king's folder, formatVersion 1. Unknown is left out, never null.
    pub struct KingStatus {
        /// The version of this format: 1.
        version format_version: Tag = "formatVersion" is 1 @listed,
        /// Pi's session id.
        required id: String = "id" @listed,
        /// The session's name as its user set it.
        added name: Option<String> = "name" @listed,
        /// Pi's working folder.
        needed cwd: String = "cwd" @listed,
        /// The folder's last part, for convenience.
        added project: Option<String> = "project",
        /// The model's id.
        added model: Option<String> = "model" @listed,
        /// Pi's process id.
        needed pid: Option<u32> = "pid" @listed,
        /// The birth of the process, in milliseconds since 1970; may be fractional.
        needed started_at: Option<EpochMs> = "startedAt" @listed,
        /// The last write, in milliseconds since 1970.
        needed last_activity: Option<EpochMs> = "lastActivity" @listed,
        /// What the session does.
        needed status: KingState = "status" @listed,
        /// What it is doing, prose for people; may hold the prompt's beginning.
        added activity: Option<String> = "activity",
        /// An icon and the session's name or folder.
        added title: Option<String> = "title",
        /// The transcript's path.
        added session_file: Option<String> = "sessionFile" @listed,
        /// Subagents, running or ended at most five minutes ago.
        needed subagents: Vec<KingSubagent> = "subagents" @listed,
        /// Whether the session asked to be listed.
        needed visible: bool = "visible" @listed,
        /// How full the context is, in percent.
        added context_pct: Option<f64> = "contextPct" @listed,
        /// A hash of what a fresh start in this folder would load, 16 hex digits.
        added startup_fingerprint: Option<String> = "startupFingerprint",
        /// Whether the session is a fork.
        added is_fork: Option<bool> = "isFork",
    }
}

impl KingStatus {
    /// Reads what a listing shows of a card, and passes over the rest, as [`Status::scan`](crate::status::Status::scan)
    /// does.
    ///
    /// # Errors
    /// As [`KingStatus::read`].
    pub fn scan(bytes: &[u8]) -> Result<Read<Self>, ReadError> {
        crate::strict::scan(bytes, Extent::Listed)
    }
}

open_words! {
    /// A pi-king session's state; an unknown word counts as working.
    pub struct KingState {
        /// The agent works.
        WORKING = "working",
        /// It waits for a prompt.
        IDLE = "idle",
        /// Settled, while subagents still run.
        BACKGROUND = "background",
        /// A result waits for somebody.
        ATTENTION = "attention",
        /// The last turn failed.
        ERROR = "error",
        /// The session has ended; its card stays.
        EXITED = "exited",
        /// A permission is waited for.
        TRUST = "trust",
    }
}

record! {
    /// A subagent.
    pub struct KingSubagent {
        /// Its id.
        required id: String = "id",
        /// Its kind.
        added agent_type: Option<String> = "agentType",
        /// What it is for.
        needed description: String = "description",
        /// What it does.
        needed status: SubagentState = "status",
        /// When it was seen first, in milliseconds since 1970.
        needed started_at: Option<EpochMs> = "startedAt",
        /// When it ended, in milliseconds since 1970.
        added completed_at: Option<EpochMs> = "completedAt",
    }
}

open_words! {
    /// A subagent's state.
    pub struct SubagentState {
        /// Not started yet.
        QUEUED = "queued",
        /// At work.
        RUNNING = "running",
        /// Ended well.
        COMPLETED = "completed",
        /// Ended badly.
        FAILED = "failed",
    }
}

/// Milliseconds since 1970, perhaps fractional: written without a fraction when there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct EpochMs(pub f64);

impl EpochMs {
    /// As a time; the fraction is cut off.
    #[must_use]
    pub fn timestamp(self) -> crate::time::Timestamp {
        crate::time::Timestamp::from_epoch_ms(self.0 as i64)
    }
}

impl From<crate::time::Timestamp> for EpochMs {
    fn from(time: crate::time::Timestamp) -> Self {
        Self(time.epoch_ms() as f64)
    }
}

impl Shape for EpochMs {
    fn read(value: serde_json::Value, cx: &mut Reading) -> Option<Self> {
        f64::read(value, cx).map(Self)
    }

    fn schema(_: &mut SchemaCx) -> serde_json::Value {
        serde_json::json!({ "type": "number" })
    }
}

impl serde::Serialize for EpochMs {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.fract() == 0.0 && self.0.abs() < 9e15 {
            serializer.serialize_i64(self.0 as i64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}
