//! What every action on the bus prints, on stdout, also when it is refused; the MCP tool returns the same object.

use crate::bus::{ListenMode, MessageKind, Sender};
use crate::shape::Tag;
use crate::status::AgentName;
use crate::time::Timestamp;

/// A result whose fields before its own are those of every action.
macro_rules! result {
    (
        $(#[doc = $about:literal])*
        $Name:ident = $word:literal { $( $(#[doc = $doc:literal])* $presence:ident $field:ident : $Ty:ty = $key:literal ,)* }
    ) => {
        record! {
            $(#[doc = $about])*
            pub struct $Name {
                /// The version of this document: 1.
                version schema: Tag = "schema" is 1,
                /// The action.
                tag action: Tag = "action" is $word,
                /// Whether it was done.
                required ok: bool = "ok",
                /// Why not, in a word of the error codes.
                added code: Option<crate::error::ErrorCode> = "code",
                /// Why not, for people.
                added message: Option<String> = "message",
                /// What can be done about it.
                added hint: Option<String> = "hint",
                /// What happened beside it that the caller should know, one sentence each.
                added notes: Vec<String> = "notes",
                /// The caller's own unread mail; null when it is no member.
                seed unread: Option<u64> = "unread",
                $( $(#[doc = $doc])* $presence $field : $Ty = $key ,)*
            }
        }
    };
}

record! {
    /// A call of the bus's tool that could not be carried out: the fields that every result has. Its action is whatever
    /// the caller named; where that is an action, this is its result.
    pub struct FailedCall {
        /// The version of this document: 1.
        version schema: Tag = "schema" is 1,
        /// The action that was called.
        required action: String = "action",
        /// False.
        required ok: bool = "ok",
        /// Why not, in a word of the error codes.
        added code: Option<crate::error::ErrorCode> = "code",
        /// Why not, for people.
        added message: Option<String> = "message",
        /// What can be done about it.
        added hint: Option<String> = "hint",
        /// The caller's own unread mail; null when it is no member.
        seed unread: Option<u64> = "unread",
    }
}

lines! {
    /// The result of an action on the bus, distinguished by `action`.
    pub enum BusResult by "action" {
        /// Who is there.
        Status(StatusResult) = "status",
        /// Joined, or not.
        Join(JoinResult) = "join",
        /// Left.
        Leave(LeaveResult) = "leave",
        /// Sent.
        Send(SendResult) = "send",
        /// Mail, taken.
        Inbox(InboxResult) = "inbox",
        /// Mail, looked at.
        Peek(PeekResult) = "peek",
        /// Mail, waited for.
        Wait(WaitResult) = "wait",
        /// Mail, as it comes.
        Watch(WatchResult) = "watch",
        /// Paths, taken.
        Claim(ClaimResult) = "claim",
        /// Paths, looked at.
        Check(CheckResult) = "check",
        /// Paths, given back.
        Release(ReleaseResult) = "release",
        /// Whether an editing tool is stopped.
        Guard(GuardResult) = "guard",
    }
}

result! {
    /// Who is on the bus.
    StatusResult = "status" {
        /// The caller, or null when it is no member.
        seed me: Option<Member> = "me",
        /// The members.
        needed members: Vec<Member> = "members",
        /// Their claims.
        needed claims: Vec<HeldClaim> = "claims",
        /// Pairs of claimed paths that collide.
        needed overlaps: Vec<(String, String)> = "overlaps",
        /// Files that could not be read.
        needed unreadable: u64 = "unreadable",
        /// Whose bus it is.
        seed repo: Option<Repo> = "repo",
    }
}

record! {
    /// Whose bus it is.
    pub struct Repo {
        /// The bus folder's name.
        required key: String = "key",
        /// The repository.
        needed path: String = "path",
    }
}

result! {
    /// Joined, or not.
    JoinResult = "join" {
        /// The label the bus settled on.
        seed label: Option<String> = "label",
        /// True: new; false: updated.
        needed joined: bool = "joined",
        /// How the member listens.
        seed listen: Option<ListenMode> = "listen",
        /// Whether claims of others stop its editing tools.
        needed guard: bool = "guard",
        /// When refused: the session that holds the label.
        added holder: Option<String> = "holder",
    }
}

result! {
    /// Left.
    LeaveResult = "leave" {
        /// The paths that are nobody's now.
        needed released: Vec<String> = "released",
    }
}

result! {
    /// Sent.
    SendResult = "send" {
        /// The message's id; the first one's of a broadcast.
        seed id: Option<String> = "id",
        /// What it is.
        seed kind: Option<MessageKind> = "kind",
        /// To whom.
        needed recipients: Vec<Recipient> = "recipients",
        /// The answer that was waited for, or null.
        added reply: Option<MessageView> = "reply",
    }
}

record! {
    /// One recipient.
    pub struct Recipient {
        /// The session's id.
        required id: String = "id",
        /// Its label.
        needed label: String = "label",
        /// How it is.
        needed state: MemberState = "state",
        /// How it listens.
        seed listen: Option<ListenMode> = "listen",
        /// Its unread mail.
        needed unread: u64 = "unread",
        /// Whether the message lies in its inbox.
        required queued: bool = "queued",
        /// Why not: `duplicate`, `inbox-full`, `gone`, `error`.
        added reason: Option<String> = "reason",
    }
}

closed_words! {
    /// How a member is.
    pub enum MemberState {
        /// It beats.
        Live = "live",
        /// Its last beat is too old: its claims do not hold.
        Stale = "stale",
        /// Its process is gone or another one.
        Gone = "gone",
    }
}

result! {
    /// Mail, taken.
    InboxResult = "inbox" {
        /// The mail, oldest first.
        needed messages: Vec<MessageView> = "messages",
        /// What is left.
        needed remaining: u64 = "remaining",
        /// Files that could not be read.
        needed unreadable: u64 = "unreadable",
    }
}

result! {
    /// Mail, looked at.
    PeekResult = "peek" {
        /// The mail, oldest first, with `preview` for `text`.
        needed messages: Vec<MessageView> = "messages",
        /// What is left.
        needed remaining: u64 = "remaining",
        /// Files that could not be read.
        needed unreadable: u64 = "unreadable",
    }
}

result! {
    /// Mail, waited for.
    WaitResult = "wait" {
        /// The mail, oldest first, with `preview` for `text`.
        needed messages: Vec<MessageView> = "messages",
        /// What is left.
        needed remaining: u64 = "remaining",
        /// Files that could not be read.
        needed unreadable: u64 = "unreadable",
    }
}

result! {
    /// Mail, as it comes; one line each time.
    WatchResult = "watch" {
        /// The mail, oldest first, with `preview` for `text`.
        needed messages: Vec<MessageView> = "messages",
        /// What is left.
        needed remaining: u64 = "remaining",
        /// Files that could not be read.
        needed unreadable: u64 = "unreadable",
    }
}

result! {
    /// Paths, taken: all or none.
    ClaimResult = "claim" {
        /// Paths taken.
        needed claimed: Vec<String> = "claimed",
        /// Paths held before.
        needed already: Vec<String> = "already",
        /// What speaks against it.
        needed conflicts: Vec<Conflict> = "conflicts",
    }
}

result! {
    /// Paths, looked at.
    CheckResult = "check" {
        /// What others hold.
        needed conflicts: Vec<Conflict> = "conflicts",
        /// What the caller holds.
        needed own: Vec<String> = "own",
    }
}

result! {
    /// Paths, given back.
    ReleaseResult = "release" {
        /// Paths given back.
        needed released: Vec<String> = "released",
        /// Paths nobody held.
        needed not_held: Vec<String> = "notHeld",
        /// Paths somebody else holds.
        needed held_by_others: Vec<HeldPath> = "heldByOthers",
    }
}

record! {
    /// `bus guard --json`: whether an editing tool is stopped.
    pub struct GuardResult {
        /// The version of this document: 1.
        version schema: Tag = "schema" is 1,
        /// The action.
        tag action: Tag = "action" is "guard",
        /// True, always: a guard in doubt allows.
        required ok: bool = "ok",
        /// The claim that stops it, or null.
        seed deny: Option<Conflict> = "deny",
        /// The reason for the model, or null.
        seed message: Option<String> = "message",
    }
}

record! {
    /// A path somebody else holds.
    pub struct HeldPath {
        /// The path.
        required path: String = "path",
        /// The holder's session id.
        required session: String = "session",
        /// The holder's label.
        needed label: String = "label",
    }
}

record! {
    /// A member.
    pub struct Member {
        /// The session's id.
        required id: String = "id",
        /// Its label.
        required label: String = "label",
        /// Which agent.
        needed agent: AgentName = "agent",
        /// Its model.
        seed model: Option<String> = "model",
        /// Its branch.
        seed branch: Option<String> = "branch",
        /// Its folder.
        needed cwd: String = "cwd",
        /// How it is.
        needed state: MemberState = "state",
        /// How it listens.
        seed listen: Option<ListenMode> = "listen",
        /// Whether claims of others stop its editing tools.
        needed guard: bool = "guard",
        /// Its unread mail.
        needed unread: u64 = "unread",
        /// True: it is not woken any more by somebody whose mail has used up its wakes; it hears of it at its next turn.
        added throttled: Option<bool> = "throttled",
        /// How many paths it holds.
        needed claims: u64 = "claims",
        /// Its last beat.
        seed beat_at: Option<Timestamp> = "beatAt",
    }
}

record! {
    /// A claim as it is listed.
    pub struct HeldClaim {
        /// The path.
        required path: String = "path",
        /// Whether it is a folder.
        needed dir: bool = "dir",
        /// The holder's session id.
        required session: String = "session",
        /// The holder's label.
        needed label: String = "label",
        /// How the holder is.
        needed state: MemberState = "state",
        /// Since when.
        seed since: Option<Timestamp> = "since",
        /// What for.
        seed reason: Option<String> = "reason",
    }
}

record! {
    /// A claim that stands in the way.
    pub struct Conflict {
        /// The path that was requested.
        required asked: String = "asked",
        /// The path that is held.
        required path: String = "path",
        /// The holder's session id.
        required session: String = "session",
        /// The holder's label.
        needed label: String = "label",
        /// The holder's agent.
        needed agent: AgentName = "agent",
        /// How the holder is.
        needed state: MemberState = "state",
        /// Since when.
        seed since: Option<Timestamp> = "since",
        /// What for.
        seed reason: Option<String> = "reason",
    }
}

record! {
    /// A message as it is shown.
    pub struct MessageView {
        /// Its id.
        required id: String = "id",
        /// What it is.
        required kind: MessageKind = "kind",
        /// Who sent it.
        required from: Sender = "from",
        /// Its text, of `inbox`; untrusted.
        added text: Option<String> = "text",
        /// The beginning of its text on one line, where it is only looked at; untrusted.
        added preview: Option<String> = "preview",
        /// Paths it concerns.
        needed paths: Vec<String> = "paths",
        /// The message it answers.
        seed reply_to: Option<String> = "replyTo",
        /// Whether it went to everybody.
        needed broadcast: bool = "broadcast",
        /// When it was sent.
        seed sent_at: Option<Timestamp> = "sentAt",
    }
}
