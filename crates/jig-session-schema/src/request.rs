//! Request v1: what a reader may ask of a session, and what `publish` prints of it. A request approves nothing.

use crate::limits::{REQUEST_BYTES, REQUEST_ID_CHARS};
use crate::read::{ReadError, Reading};
use crate::shape::{Named, Tag};
use crate::status::Answer;

record! {
    /// A request to a session: `requests/<name>.json`, the name of the session's status file, schema 1.
    pub struct Request checked by Request::check {
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
    /// Reads a request as a session takes it: whole, or not at all. It takes what `validate` finds no fault with, and
    /// nothing else.
    ///
    /// # Errors
    /// When the bytes are no request of schema 1 that can be run as it stands.
    pub fn accept(bytes: &[u8]) -> Result<Self, NotARequest> {
        let refuse = |message: String| NotARequest { id: id_of(bytes).unwrap_or_default(), message };
        if bytes.len() > REQUEST_BYTES {
            return Err(refuse(NOT_A_REQUEST.into()));
        }
        match Self::read(bytes) {
            Ok(read) if read.problems.is_empty() => Ok(read.value),
            Err(ReadError::Unsupported { version }) => Err(refuse(format!("unsupported schema {version}"))),
            _ => Err(refuse(NOT_A_REQUEST.into())),
        }
    }

    /// Whether nothing is asked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.skills.is_empty() && !self.wants_reload()
    }

    /// Whether a reload is asked.
    #[must_use]
    pub fn wants_reload(&self) -> bool {
        self.reload == Some(true)
    }

    fn check(&self, cx: &mut Reading) {
        if !is_request_id(&self.id) {
            cx.enter("id");
            cx.problem(format!("is not 1 to {REQUEST_ID_CHARS} characters long"));
            cx.leave();
        }
    }
}

/// What a session answers to a file that is no request.
const NOT_A_REQUEST: &str = "not a request";

/// A file that is no request a session can run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotARequest {
    /// The id, as far as it can be read, so that the requester finds the answer; else empty.
    pub id: String,
    /// What the answer says: `not a request` or `unsupported schema N`.
    pub message: String,
}

/// A file of which nothing could be read.
impl Default for NotARequest {
    fn default() -> Self {
        Self { id: String::new(), message: NOT_A_REQUEST.into() }
    }
}

fn id_of(bytes: &[u8]) -> Option<String> {
    let document = crate::json::parse_object(bytes).ok()?;
    document.get("id").and_then(|id| id.as_str()).filter(|id| is_request_id(id)).map(str::to_owned)
}

fn is_request_id(id: &str) -> bool {
    !id.is_empty() && id.chars().count() <= REQUEST_ID_CHARS
}

lines! {
    /// What `publish` prints for the agent to obey, distinguished by `op`.
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
        /// The session that received the request.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::Format;
    use serde_json::json;

    /// Inputs, the id that is answered when they are no request, and the answer; no answer: they are taken.
    fn inputs() -> Vec<(Vec<u8>, &'static str, Option<&'static str>)> {
        const NOT: Option<&str> = Some(NOT_A_REQUEST);
        let id = |characters: usize| format!(r#"{{"schema":1,"id":"{}"}}"#, "ä".repeat(characters)).into_bytes();
        let sized = |bytes: usize| {
            let text = r#"{"schema":1,"id":"a","later":""}"#;
            text.replace(r#""""#, &format!("\"{}\"", "x".repeat(bytes - text.len()))).into_bytes()
        };
        let deep = |depth: usize| {
            format!(r#"{{"schema":1,"id":"a","later":{}{}}}"#, "[".repeat(depth), "]".repeat(depth)).into_bytes()
        };
        let mut inputs = vec![
            (id(128), "", None),
            (id(129), "", NOT),
            (sized(REQUEST_BYTES), "", None),
            (sized(REQUEST_BYTES + 1), "a", NOT),
            (deep(63), "", None),
            (deep(64), "", NOT),
        ];
        let texts: [(&[u8], &str, Option<&str>); 27] = [
            (br#"{"schema":1,"id":"a","tools":{"write":true,"bash":false},"reload":true,"later":7}"#, "", None),
            (br#"{"schema":1,"id":"a"}"#, "", None),
            (b"\xef\xbb\xbf{\"schema\":1,\"id\":\"a\"}", "", None),
            (br#"{"schema":1.0,"id":"a"}"#, "", None),
            (br#"{"schema":1,"id":"a\ud83d"}"#, "", None),
            (b"{\"schema\":1,\"id\":\"a\xff\"}\n", "", None),
            (br#"{"schema":1,"id":"x","id":"a"}"#, "", None),
            (br#"{"schema":1,"id":"a","tools":null,"skills":null,"reload":null}"#, "", None),
            (br#"{"schema":1,"id":"a","tools":{"bash":false,"bash":true}}"#, "", None),
            (b"", "", NOT),
            (b"{", "", NOT),
            (b"[1]", "", NOT),
            (b"null", "", NOT),
            (br#"{"schema":1}"#, "", NOT),
            (br#"{"schema":1,"id":""}"#, "", NOT),
            (br#"{"schema":1,"id":7}"#, "", NOT),
            (br#"{"id":"a"}"#, "a", NOT),
            (br#"{"schema":"1","id":"a"}"#, "a", NOT),
            (br#"{"schema":null,"id":"a"}"#, "a", NOT),
            (br#"{"schema":2,"id":"a"}"#, "a", Some("unsupported schema 2")),
            (br#"{"schema":1.5,"id":"a"}"#, "a", Some("unsupported schema 1.5")),
            (br#"{"schema":3,"id":7}"#, "", Some("unsupported schema 3")),
            (br#"{"schema":1,"id":"a","tools":["bash"]}"#, "a", NOT),
            (br#"{"schema":1,"id":"a","tools":{"bash":"off"}}"#, "a", NOT),
            (br#"{"schema":1,"id":"a","skills":{"pdf":null}}"#, "a", NOT),
            (br#"{"schema":1,"id":"a","reload":"yes"}"#, "a", NOT),
            (br#"{"schema":1,"id":"a","reload":1}"#, "a", NOT),
        ];
        inputs.extend(texts.map(|(bytes, id, answer)| (bytes.to_vec(), id, answer)));
        inputs
    }

    #[test]
    fn what_validate_takes_the_session_takes_and_the_other_way_round() {
        let format = Format::named("request.v1").expect("the format");
        for (bytes, id, answer) in inputs() {
            let shown = String::from_utf8_lossy(&bytes).chars().take(90).collect::<String>();
            let valid = format.check_bytes(&bytes).is_ok_and(|problems| problems.is_empty());
            assert_eq!(valid, answer.is_none(), "validate: {shown}");
            match (Request::accept(&bytes), answer) {
                (Ok(_), None) => {}
                (Err(refused), Some(answer)) => {
                    assert_eq!((refused.id.as_str(), refused.message.as_str()), (id, answer), "{shown}");
                }
                (accepted, _) => panic!("{shown}: {accepted:?}"),
            }
        }
    }

    #[test]
    fn the_order_of_the_names_is_the_requests_and_survives_a_second_reading() {
        let text = br#"{"schema":1,"id":"a","tools":{"write":true,"bash":false},"reload":true,"later":7}"#;
        let request = Request::accept(text).expect("a request");
        assert_eq!(request.tools.0, [("write".to_owned(), true), ("bash".to_owned(), false)]);
        assert!(request.skills.is_empty() && request.wants_reload());
        let written = json!(request).to_string();
        assert_eq!(Request::accept(written.as_bytes()).expect("a request"), request);
    }
}
