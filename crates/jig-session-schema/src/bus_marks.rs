//! The small files beside records, mail and claims on the session bus: the lock's holder, a call under way, and what a
//! member keeps in its own inbox. They last for moments and are no formats of the contract, but they cross processes.

use crate::shape::Tag;
use crate::status::Process;
use crate::time::Timestamp;

record! {
    /// The holder of the lock of files: `lock.holder`, and `lock.holder-<token>` of its heirs.
    pub struct LockHolder {
        /// The version of this format: 1.
        version schema: Tag = "schema" is 1,
        /// A word that no other holder has had.
        required token: String = "token",
        /// The holder's process.
        required pid: u32 = "pid",
        /// Its identity.
        needed process: Process = "process",
    }
}

record! {
    /// The claims that one call is making: `claiming.json`.
    pub struct ClaimBatch {
        /// The version of this format: 1.
        version schema: Tag = "schema" is 1,
        /// The session that makes them.
        required id: String = "id",
        /// Its incarnation.
        required owner: String = "owner",
        /// The names of the claims' files.
        required files: Vec<String> = "files",
    }
}

record! {
    /// What a member has sent in the last ten seconds: `inbox/<name>/.sent`.
    pub struct SentMarks {
        /// The version of this format: 1.
        version schema: Tag = "schema" is 1,
        /// One mark a recipient of a message.
        needed sent: Vec<SentMark> = "sent",
    }
}

record! {
    /// A message that was sent.
    pub struct SentMark {
        /// 16 hex digits of a hash of recipient and text.
        required key: String = "key",
        /// When, by the wall clock.
        required at: Timestamp = "at",
        /// When, in milliseconds of the monotonic clock of that boot.
        added mono_ms: Option<u64> = "monoMs",
        /// The boot in which `monoMs` counts.
        added boot_id: Option<String> = "bootId",
    }
}

record! {
    /// Whose answer a session waits for: `inbox/<name>/.waiting`.
    pub struct WaitingMark {
        /// The version of this format: 1.
        version schema: Tag = "schema" is 1,
        /// The session that is to answer.
        required answer_from: String = "for",
        /// The process that waits.
        required pid: u32 = "pid",
        /// Its start, as digits.
        required start: String = "start",
    }
}
