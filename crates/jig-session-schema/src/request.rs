//! Request v1: what a reader may ask of a session, and what `publish` prints of it. A request approves nothing.

use crate::shape::{Named, Tag};
use crate::status::Answer;

record! {
    /// A request to a session: `requests/<name>.json`, the name of the session's status file, schema 1.
    pub struct Request {
        /// The version of this format: 1.
        version schema: Tag = "schema" is 1,
        /// The requester's id of it, 1 to 128 characters. The same id again gets the same answer and does not run.
        required id: String = "id",
        /// Tools by name: on (true) or off.
        added tools: Named<bool> = "tools",
        /// Skills by name: on (true) or off.
        added skills: Named<bool> = "skills",
        /// True: reload the agent when it is idle.
        added reload: Option<bool> = "reload",
    }
}

impl Request {
    /// Whether the id is one: 1 to 128 characters.
    #[must_use]
    pub fn id_is_fit(&self) -> bool {
        !self.id.is_empty() && self.id.chars().count() <= crate::limits::REQUEST_ID_CHARS
    }
}

lines! {
    /// What `publish` prints for the agent to obey, told apart by `op`.
    pub enum Order by "op" {
        /// Turn tools and skills on and off; wants one `applied` event within 5 s.
        Switch(SwitchOrder) = "switch",
        /// Reload; sent when the session is idle, wants no answer.
        Reload(ReloadOrder) = "reload",
    }
}

record! {
    /// Turn tools and skills on and off: only names that exist and may change.
    pub struct SwitchOrder {
        /// The word of this line.
        tag op: Tag = "op" is "switch",
        /// The request's id.
        required id: String = "id",
        /// Tools by name.
        needed tools: Named<bool> = "tools",
        /// Skills by name.
        needed skills: Named<bool> = "skills",
    }
}

record! {
    /// Reload the agent.
    pub struct ReloadOrder {
        /// The word of this line.
        tag op: Tag = "op" is "reload",
        /// The request's id.
        required id: String = "id",
    }
}

record! {
    /// What `request --json` prints.
    pub struct RequestResult {
        /// The version of this document: 1.
        version schema: Tag = "schema" is 1,
        /// The session asked.
        required session: String = "session",
        /// The request's id.
        required id: String = "id",
        /// How it went.
        required outcome: RequestOutcome = "outcome",
        /// The session's answer, or null without one.
        seed answer: Option<Answer> = "answer",
    }
}

closed_words! {
    /// How a request went.
    pub enum RequestOutcome {
        /// Answered `ok: true`.
        Ok = "ok",
        /// Published, not waited for.
        Sent = "sent",
        /// The session ended first.
        Gone = "gone",
        /// Answered `ok: false`, or not accepted: nothing was published.
        Refused = "refused",
        /// Another request waits there.
        Busy = "busy",
        /// No answer in time.
        Timeout = "timeout",
    }
}

/// The custom entry in which Pi keeps the switches.
pub const SWITCHES_ENTRY: &str = "jig-session.switches";

record! {
    /// The switches kept in the session: the whole set; the last entry counts.
    pub struct Switches {
        /// Tools by name.
        needed tools: Named<bool> = "tools",
        /// Skills by name.
        needed skills: Named<bool> = "skills",
    }
}
