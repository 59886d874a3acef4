//! Bus v1 on disk: who is a member, its mail, its claims. One file each.

use crate::read::{Extent, Read, ReadError};
use crate::shape::Tag;
use crate::status::{AgentName, Process};
use crate::time::Timestamp;

record! {
    /// A member of the bus: `sessions/<name>.json` in the repository's bus folder.
    pub struct Record {
        /// The version of this format: 1.
        version schema: Tag = "schema" is 1,
        /// The session's id.
        required id: String = "id",
        /// Its address, unique among live members whatever the case.
        required label: String = "label",
        /// Where the label comes from.
        needed label_from: LabelFrom = "labelFrom",
        /// How its id became known; left out by earlier versions.
        added id_from: Option<IdFrom> = "idFrom",
        /// Which agent.
        needed agent: AgentName = "agent",
        /// Its model, for people.
        seed model: Option<String> = "model",
        /// The agent's process id.
        added pid: Option<u32> = "pid",
        /// The identity of `pid`.
        added process: Option<Process> = "process",
        /// Which incarnation owns this record, 16 hex digits; a write by another one does nothing.
        required owner: String = "owner",
        /// The real working folder.
        needed cwd: String = "cwd",
        /// The real root of its worktree.
        needed root: String = "root",
        /// The branch it is on.
        seed branch: Option<String> = "branch",
        /// How it listens; left out when it does not.
        added listen: Option<Listen> = "listen",
        /// True: claims of others stop its editing tools.
        added guard: Option<bool> = "guard",
        /// When it joined.
        needed joined_at: Option<Timestamp> = "joinedAt",
        /// Its last beat, for people.
        needed beat_at: Option<Timestamp> = "beatAt",
        /// Its last beat on the monotonic clock, in milliseconds; comparable within one boot only.
        needed beat_mono: Option<u64> = "beatMono",
        /// What makes it beat.
        needed beat: Beat = "beat",
    }
}

open_words! {
    /// Where a label comes from; a given one is refused when it is held, the others get a suffix.
    pub struct LabelFrom {
        /// Given by the user or the model.
        GIVEN = "given",
        /// The session's name.
        SESSION_NAME = "session-name",
        /// The working folder's name.
        CWD = "cwd",
        /// The board.
        BOARD = "board",
    }
}

open_words! {
    /// How a member's id became known.
    pub struct IdFrom {
        /// Given by its user: another id of the same process is another member.
        GIVEN = "given",
        /// The agent's own id of its session.
        AGENT = "agent",
        /// Made up by the program for a server or a terminal.
        OWN = "own",
    }
}

record! {
    /// A session that was taken off the bus by another one: `inbox/<name>/.removed`, until it has been announced.
    pub struct Removed {
        /// The version of this format: 1.
        version schema: Tag = "schema" is 1,
        /// The id of the session that took its place.
        required by: String = "by",
        /// That session's label.
        needed by_label: String = "byLabel",
        /// The paths that were released.
        needed released: Vec<String> = "released",
        /// When.
        needed at: Option<Timestamp> = "at",
    }
}

record! {
    /// How a member listens.
    pub struct Listen {
        /// When it is notified.
        required mode: ListenMode = "mode",
        /// Since when it listens.
        needed since: Option<Timestamp> = "since",
    }
}

closed_words! {
    /// When a member is notified of mail.
    pub enum ListenMode {
        /// At its next turn.
        Next = "next",
        /// A turn is raised as soon as it is idle.
        Wake = "wake",
    }
}

closed_words! {
    /// What makes a member beat.
    pub enum Beat {
        /// Every call on the bus; stale after two hours.
        Calls = "calls",
        /// A timer of ten seconds; stale after ten minutes.
        Timer = "timer",
    }
}

record! {
    /// A message: `inbox/<name>/<ms13>-<8 hex>.json`; sorted by name, the oldest comes first.
    pub struct Message {
        /// The version of this format: 1.
        version schema: Tag = "schema" is 1,
        /// Its id: the file's name without `.json`.
        required id: String = "id",
        /// What it is.
        required kind: MessageKind = "kind",
        /// Who sent it.
        required from: Sender = "from",
        /// The recipient's session id.
        required to: String = "to",
        /// The recipient's label.
        needed to_label: String = "toLabel",
        /// Whether it went to everybody.
        needed broadcast: bool = "broadcast",
        /// Its text, 1 to 4000 characters; untrusted.
        required text: String = "text",
        /// Paths it concerns, relative to the repository; at most 20.
        needed paths: Vec<String> = "paths",
        /// The message it answers.
        seed reply_to: Option<String> = "replyTo",
        /// When it was sent.
        needed sent_at: Option<Timestamp> = "sentAt",
        /// The same on the monotonic clock, in milliseconds.
        needed sent_mono: Option<u64> = "sentMono",
        /// The boot in which `sentMono` counts.
        seed boot_id: Option<String> = "bootId",
    }
}

closed_words! {
    /// What a message is.
    pub enum MessageKind {
        /// A message.
        Message = "message",
        /// Something happened.
        Event = "event",
        /// A question; nobody waits for the answer.
        Ask = "ask",
        /// Work that is handed over.
        Handoff = "handoff",
    }
}

record! {
    /// Who sent a message.
    pub struct Sender {
        /// The session's id.
        required id: String = "id",
        /// Its label.
        needed label: String = "label",
        /// Which agent.
        needed agent: AgentName = "agent",
    }
}

record! {
    /// A path that one member holds: `claims/<name>.json`.
    pub struct Claim {
        /// The version of this format: 1.
        version schema: Tag = "schema" is 1,
        /// The path, relative to the repository; `.` is all of it.
        required path: String = "path",
        /// Whether it is a folder: everything below it is held too.
        needed dir: bool = "dir",
        /// The holder's session id.
        required id: String = "id",
        /// The holder's incarnation.
        required owner: String = "owner",
        /// The holder's label.
        needed label: String = "label",
        /// What for, at most 200 characters.
        seed reason: Option<String> = "reason",
        /// Since when.
        needed claimed_at: Option<Timestamp> = "claimedAt",
        /// The root of the holder's worktree.
        needed root: String = "root",
    }
}

record! {
    /// Whose bus a folder is: `bus.json`.
    pub struct BusFolder {
        /// The version of this format: 1.
        version schema: Tag = "schema" is 1,
        /// The folder's name.
        required key: String = "key",
        /// The repository's common git folder, or the folder itself outside a repository.
        required common_dir: String = "commonDir",
        /// Whether it is a repository.
        needed is_git: bool = "isGit",
        /// When it was made.
        needed created_at: Option<Timestamp> = "createdAt",
    }
}

record! {
    /// Where the folder of a bus is: `repo.json`, a hint by which the bus of a moved folder is found.
    pub struct BusLocation {
        /// The version of this format: 1.
        version schema: Tag = "schema" is 1,
        /// The repository's common folder, as in `bus.json`, where it was last.
        required path: String = "path",
        /// Its device.
        required device: u64 = "device",
        /// Its inode.
        required inode: u64 = "inode",
    }
}

record! {
    /// What a listening member has been notified of: `inbox/<name>/.told`.
    pub struct DeliveryMark {
        /// The version of this format: 1.
        version schema: Tag = "schema" is 1,
        /// The newest message announced.
        seed last: Option<String> = "last",
        /// Turns raised in the last ten minutes.
        needed wakes: Vec<WakeMark> = "wakes",
    }
}

record! {
    /// A turn that mail raised.
    pub struct WakeMark {
        /// Whose mail.
        required from: String = "from",
        /// When.
        required at: Timestamp = "at",
    }
}

/// Readers of what every look at a bus reads: a member's record and its claims.
macro_rules! scanned {
    ($( $Name:ident )*) => {
        $( impl $Name {
            /// What its `read` gives, and faster for a file without peculiarities.
            ///
            /// # Errors
            /// As `read`.
            pub fn scan(bytes: &[u8]) -> Result<Read<Self>, ReadError> {
                crate::strict::scan(bytes, Extent::Whole)
            }
        } )*
    };
}

scanned! { Record Claim }
