//! Every format by its name: its schemas, and what its reader says of a document.

use serde_json::{Map, Value, json};

use crate::limits;
use crate::read::{FieldProblem, ReadError};
use crate::shape::{Shape, Side, schema_of};

/// One format of the contract.
#[derive(Clone, Copy)]
pub struct Format {
    /// Its name, such as `status.v1`.
    pub name: &'static str,
    /// What it is, as a title.
    pub title: &'static str,
    /// Whether a document is many lines, one object each.
    pub lines: bool,
    /// The largest document, or line of a line format, in bytes.
    pub limit: usize,
    schema: fn(Side) -> Map<String, Value>,
    check: fn(Value) -> Result<Vec<FieldProblem>, ReadError>,
    as_written: fn(Value) -> Option<Value>,
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Format").field("name", &self.name).finish_non_exhaustive()
    }
}

fn as_written<T: Shape + serde::Serialize>(value: Value) -> Option<Value> {
    crate::read::value::<T>(value).ok().and_then(|read| serde_json::to_value(read.value).ok())
}

fn check<T: Shape>(value: Value) -> Result<Vec<FieldProblem>, ReadError> {
    crate::read::value::<T>(value).map(|read| read.problems)
}

const fn limit_of(name: &str) -> usize {
    match name.as_bytes() {
        b"request.v1" => limits::REQUEST_BYTES,
        b"bus-record.v1" | b"bus-message.v1" | b"bus-claim.v1" => limits::BUS_FILE_BYTES,
        _ => limits::DOCUMENT_BYTES,
    }
}

macro_rules! formats {
    ($( $name:literal, $title:literal, $lines:literal, $Ty:ty; )*) => {
        &[$( Format {
            name: $name, title: $title, lines: $lines, limit: limit_of($name),
            schema: schema_of::<$Ty>, check: check::<$Ty>, as_written: as_written::<$Ty>,
        } ),*]
    };
}

/// Every format, in the contract's order.
pub const FORMATS: &[Format] = formats! {
    "status.v1", "Status of a coding-agent session, version 1", false, crate::status::Status;
    "request.v1", "Request to a coding-agent session, version 1", false, crate::request::Request;
    "event.v1", "Event line of a coding-agent session, version 1", true, crate::event::Event;
    "pi-king.v1", "pi-king session status, version 1", false, crate::king::KingStatus;
    "bridge.v1", "Line of the bridge between Pi and its host, version 1", true, BridgeLine;
    "live-row.v1", "Live tmux panes, version 1", false, Vec<crate::live::LiveRow>;
    "bulk.v1", "Bulk envelope over tmux panes, version 1", false, crate::bulk::Envelope;
    "bus-record.v1", "Member of the session bus, version 1", false, crate::bus::Record;
    "bus-message.v1", "Message on the session bus, version 1", false, crate::bus::Message;
    "bus-claim.v1", "Claim on the session bus, version 1", false, crate::bus::Claim;
    "ls.v1", "Listing of coding-agent sessions, version 1", false, crate::documents::Ls;
    "show.v1", "One coding-agent session with its file, version 1", false, crate::documents::Show;
    "watch.v1", "Change of coding-agent sessions, version 1", true, crate::documents::WatchLine;
    "wait.v1", "The coding-agent session that was waited for, version 1", false, crate::documents::Wait;
    "explain.v1", "Proof of a coding-agent session's life and state, version 1", false, crate::documents::Explain;
    "context.v1", "What fills a coding-agent session's context, version 1", false, crate::documents::ContextDocument;
    "paths.v1", "Where jig-session keeps its files, version 1", false, crate::documents::Paths;
    "prune.v1", "What jig-session removed and kept, version 1", false, crate::documents::Prune;
    "validate.v1", "Whether files are valid documents, version 1", false, crate::documents::Validate;
    "doctor.v1", "What jig-session finds wrong, version 1", false, crate::documents::Doctor;
    "hooks.v1", "What of jig-session stands in agents' configurations, version 1", false, crate::hooks::HooksDocument;
    "bus-result.v1", "Result of an action on the session bus, version 1", true, crate::bus_result::BusResult;
    "error.v1", "Error of a jig-session command, version 1", false, crate::error::ErrorDocument;
};

/// The address under which a schema is known.
pub const ID_BASE: &str = "https://jig-session.dev/schemas/";

impl Format {
    /// The format of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// Its JSON Schema (draft 2020-12).
    #[must_use]
    pub fn schema(&self, side: Side) -> Map<String, Value> {
        let mut out = Map::new();
        out.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
        out.insert("$id".into(), format!("{ID_BASE}{}", self.schema_file(side)).into());
        out.insert("title".into(), self.title.into());
        let shape = (self.schema)(side);
        if !shape.contains_key("description") {
            out.insert("description".into(), format!("{}.", self.title).into());
        }
        out.extend(shape);
        out
    }

    /// The schema as its file holds it: indented, with a newline at the end.
    #[must_use]
    pub fn schema_text(&self, side: Side) -> String {
        format!("{:#}\n", Value::Object(self.schema(side)))
    }

    /// The schema's file below `schemas/`.
    #[must_use]
    pub fn schema_file(&self, side: Side) -> String {
        match side {
            Side::Reader => format!("{}.schema.json", self.name),
            Side::Writer => format!("writer/{}.schema.json", self.name),
        }
    }

    /// What the lenient reader says of a parsed document: fields it drops.
    ///
    /// # Errors
    /// When there is no such record in it.
    pub fn check(&self, value: Value) -> Result<Vec<FieldProblem>, ReadError> {
        (self.check)(value)
    }

    /// What the lenient reader says of a document's bytes, or of one line's: fields it drops.
    ///
    /// # Errors
    /// When there is no such record in them, or they are more than [`Format::limit`].
    pub fn check_bytes(&self, bytes: &[u8]) -> Result<Vec<FieldProblem>, ReadError> {
        self.fits(bytes)?;
        self.check(crate::json::parse(bytes)?)
    }

    /// Whether a document of this format may have so many bytes.
    ///
    /// # Errors
    /// [`ReadError::TooLarge`] when there are more than [`Format::limit`].
    pub fn fits(&self, bytes: &[u8]) -> Result<(), ReadError> {
        if bytes.len() > self.limit { Err(ReadError::TooLarge { limit: self.limit }) } else { Ok(()) }
    }

    /// What our own writer makes of a document; None when there is no such record in it.
    #[must_use]
    pub fn as_written(&self, value: Value) -> Option<Value> {
        (self.as_written)(value)
    }

    /// Tells a document's format by its version field and its other fields.
    #[must_use]
    pub fn of(value: &Value) -> Option<&'static Self> {
        let has = |names: &[&str]| names.iter().all(|name| value.get(name).is_some());
        if value.as_array().is_some_and(|rows| rows.iter().all(|row| row.get("paneId").is_some())) {
            return Self::named("live-row.v1");
        }
        let lacks = |names: &[&str]| names.iter().all(|name| value.get(name).is_none());
        // A row where a status file has its id, with nothing beside it or with the context only.
        if value.get("session").is_some_and(Value::is_object) && lacks(&["change", "document", "identity"]) {
            return Self::named(if has(&["contextDetail"]) { "context.v1" } else { "wait.v1" });
        }
        TELL.iter().find(|(_, with, without)| has(with) && lacks(without)).and_then(|(name, ..)| Self::named(name))
    }
}

/// Which fields tell a format, and which are not of it; the first row that fits counts.
const TELL: &[(&str, &[&str], &[&str])] = &[
    ("pi-king.v1", &["formatVersion"], &[]),
    ("bulk.v1", &["schemaVersion"], &[]),
    ("bridge.v1", &["t"], &[]),
    ("bridge.v1", &["op"], &[]),
    ("event.v1", &["event"], &[]),
    ("error.v1", &["error", "exit"], &[]),
    ("bus-result.v1", &["action", "ok"], &[]),
    ("watch.v1", &["change"], &[]),
    ("ls.v1", &["sessions", "problems"], &[]),
    ("show.v1", &["session", "document"], &[]),
    ("explain.v1", &["session", "identity"], &[]),
    ("paths.v1", &["stateDir", "config"], &[]),
    ("prune.v1", &["removed", "kept"], &[]),
    ("validate.v1", &["files"], &[]),
    ("doctor.v1", &["ok", "checks"], &[]),
    ("hooks.v1", &["agents"], &[]),
    ("bus-message.v1", &["kind", "to"], &[]),
    ("bus-claim.v1", &["path", "claimedAt"], &[]),
    ("bus-record.v1", &["label", "joinedAt"], &[]),
    ("status.v1", &["session"], &["outcome"]),
    ("request.v1", &["schema", "id"], &["session", "label", "path", "kind"]),
];

/// A line of the bridge in either direction, told apart by `t` or `op`.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug, PartialEq)]
pub enum BridgeLine {
    /// To the host.
    ToHost(crate::bridge::ToHost),
    /// From the host.
    FromHost(crate::bridge::FromHost),
}

impl serde::Serialize for BridgeLine {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::ToHost(line) => line.serialize(serializer),
            Self::FromHost(line) => line.serialize(serializer),
        }
    }
}

impl Shape for BridgeLine {
    fn read(value: Value, cx: &mut crate::read::Reading) -> Option<Self> {
        if value.get("t").is_some() {
            <crate::bridge::ToHost as Shape>::read(value, cx).map(Self::ToHost)
        } else {
            <crate::bridge::FromHost as Shape>::read(value, cx).map(Self::FromHost)
        }
    }

    fn schema(cx: &mut crate::shape::SchemaCx) -> Value {
        let any = [<crate::bridge::ToHost as Shape>::schema(cx), <crate::bridge::FromHost as Shape>::schema(cx)];
        json!({ "description": "A line of the bridge, to the host (`t`) or from it (`op`).", "anyOf": any })
    }
}
