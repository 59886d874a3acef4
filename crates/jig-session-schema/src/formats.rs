//! Every format by its name: its schemas, and what its reader says of a document.

use serde_json::{Map, Value, json};

use crate::limits;
use crate::read::{FieldProblem, ReadError};
use crate::shape::{Shape, Side, schema_of};

/// One format of the contract.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Format {
    /// Its name, such as `status.v1`.
    pub name: &'static str,
    /// The name of its type, which generators of code take.
    pub title: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// Whether a document is many lines, one object each.
    pub lines: bool,
    /// The largest document, or line of a line format, in bytes.
    pub limit: usize,
    schema: fn(Side) -> Map<String, Value>,
    check: fn(Value) -> Result<Vec<FieldProblem>, ReadError>,
    check_writer: fn(Value) -> Result<Vec<FieldProblem>, ReadError>,
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

fn check_writer<T: Shape>(value: Value) -> Result<Vec<FieldProblem>, ReadError> {
    crate::read::written::<T>(value).map(|read| read.problems)
}

const fn limit_of(name: &str) -> usize {
    match name.as_bytes() {
        b"request.v1" => limits::REQUEST_BYTES,
        b"bus-record.v1" | b"bus-message.v1" | b"bus-claim.v1" => limits::BUS_FILE_BYTES,
        _ => limits::DOCUMENT_BYTES,
    }
}

/// A document or line that this program writes: its type is in [`FORMATS`], so that it has a schema.
pub trait Document: Shape + serde::Serialize {
    /// The name of its format, such as `status.v1`.
    const FORMAT: &'static str;
}

macro_rules! formats {
    ($( $name:literal $Title:ident, $about:literal, $kind:ident, $Ty:ty; )*) => {
        /// Every format, in the contract's order.
        pub const FORMATS: &[Format] = &[$( Format {
            name: $name,
            title: stringify!($Title),
            about: $about,
            lines: formats!(@lines $kind),
            limit: limit_of($name),
            schema: schema_of::<$Ty>,
            check: check::<$Ty>,
            check_writer: check_writer::<$Ty>,
            as_written: as_written::<$Ty>,
        } ),*];

        $( impl Document for $Ty {
            const FORMAT: &'static str = $name;
        } )*
    };
    (@lines lines) => { true };
    (@lines document) => { false };
}

formats! {
    "status.v1" Status, "What one live session of a coding agent does", document, crate::status::Status;
    "request.v1" Request, "What a reader asks of a session", document, crate::request::Request;
    "event.v1" Event, "What happened in a session, as `publish` reads it", lines, crate::event::Event;
    "order.v1" Order, "What `publish` prints for the agent to obey", lines, crate::request::Order;
    "pi-king.v1" KingStatus, "A session's card, as pi-king writes it", document, crate::king::KingStatus;
    "bridge.v1" BridgeLine, "A line between Pi and its host", lines, BridgeLine;
    "live-row.v1" LiveRows, "`live --json`: live tmux panes", document, Vec<crate::live::LiveRow>;
    "live-explain.v1" LiveExplain, "`live explain --json`: what one screen is taken for", document, crate::live::LiveExplain;
    "live-alias.v1" LiveAlias, "`live alias --json`: the link that was made", document, crate::live::LiveAlias;
    "bulk.v1" Envelope, "`bulk --json`: an action over panes", document, crate::bulk::Envelope;
    "bus-record.v1" Record, "A member of the session bus", document, crate::bus::Record;
    "bus-message.v1" Message, "A message on the session bus", document, crate::bus::Message;
    "bus-claim.v1" Claim, "A claim on the session bus", document, crate::bus::Claim;
    "ls.v1" Ls, "`ls --json`: every session", document, crate::documents::Ls;
    "show.v1" Show, "`show --json`: one session with its file", document, crate::documents::Show;
    "watch.v1" WatchLine, "`watch --json`: a change of the sessions", lines, crate::documents::WatchLine;
    "wait.v1" Wait, "`wait --json`: the session that was waited for", document, crate::documents::Wait;
    "explain.v1" Explain, "`explain --json`: why a session is shown as it is", document, crate::documents::Explain;
    "context.v1" ContextDocument, "`context --json`: what fills a session's context", document, crate::documents::ContextDocument;
    "request-result.v1" RequestResult, "`request --json`: how a request went", document, crate::request::RequestResult;
    "paths.v1" Paths, "`paths --json`: where everything is", document, crate::documents::Paths;
    "prune.v1" Prune, "`prune --json`: what was removed and kept", document, crate::documents::Prune;
    "validate.v1" Validate, "`validate --json`: whether files are valid", document, crate::documents::Validate;
    "doctor.v1" Doctor, "`doctor --json`: what is wrong, and the way out", document, crate::documents::Doctor;
    "statusline.v1" Statusline, "`statusline --format json`: what a status bar shows", document, crate::documents::Statusline;
    "seen.v1" Seen, "`seen --json`: the mark that a session was seen", document, crate::documents::Seen;
    "hooks.v1" HooksDocument, "`hooks --json`: what of ours stands in agents' configurations", document, crate::hooks::HooksDocument;
    "king-ls.v1" KingLs, "`king ls --json`: pi-king's sessions", document, crate::documents::KingLs;
    "king-layout.v1" KingLayout, "`king pin|order|name --json`: the layout after the change", document, crate::king_documents::KingLayout;
    "king-fingerprint.v1" KingFingerprint, "`king fingerprint --json`: what a new Pi would load", document, crate::king_documents::KingFingerprint;
    "king-metrics.v1" KingMetrics, "`king metrics --json`: figures of the call logs", document, crate::king_documents::KingMetrics;
    "king-dismiss.v1" KingDismiss, "`king dismiss --json`: the card that was removed", document, crate::king_documents::KingDismiss;
    "bus-result.v1" BusResult, "`bus --json`: the result of an action on the session bus", lines, crate::bus_result::BusResult;
    "fleet.v1" FleetSession, "A live session as its machine shares it through a broker", document, crate::fleet::FleetSession;
    "fleet-machine.v1" FleetMachine, "A machine that shares its sessions through a broker", document, crate::fleet::FleetMachine;
    "error.v1" ErrorDocument, "The error of a command, with `--json`", document, crate::error::ErrorDocument;
}

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
            out.insert("description".into(), format!("{}.", self.about).into());
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

    /// What is wrong with a document as its writer's work: also what a reader takes as it is, such as a relative path.
    ///
    /// # Errors
    /// When there is no such record in it.
    pub fn check_writer(&self, value: Value) -> Result<Vec<FieldProblem>, ReadError> {
        (self.check_writer)(value)
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
        // Orders and bridge lines both have `op`, and both of them a `reload` with an id.
        if value.get("op").is_some_and(|op| op == "switch") {
            return Self::named("order.v1");
        }
        let first = value.get("sessions").and_then(|sessions| sessions.get(0));
        if first.is_some_and(|session| session.get("record").is_some()) {
            return Self::named("king-ls.v1");
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
    ("request-result.v1", &["session", "id", "outcome"], &[]),
    ("live-explain.v1", &["status", "rule", "composer"], &[]),
    ("live-alias.v1", &["link", "target"], &[]),
    ("king-layout.v1", &["path", "pinned", "order"], &[]),
    ("king-fingerprint.v1", &["agentDir", "fingerprint"], &[]),
    ("king-metrics.v1", &["zone", "logs"], &[]),
    ("king-dismiss.v1", &["removed", "verdict", "exited"], &[]),
    ("fleet.v1", &["session", "folder", "verdict"], &[]),
    ("fleet-machine.v1", &["online", "id"], &[]),
    ("watch.v1", &["change"], &[]),
    ("ls.v1", &["sessions", "problems"], &[]),
    ("show.v1", &["session", "document"], &[]),
    ("explain.v1", &["session", "identity"], &[]),
    ("paths.v1", &["stateDir", "config"], &[]),
    ("prune.v1", &["removed", "kept"], &[]),
    ("validate.v1", &["files"], &[]),
    ("doctor.v1", &["ok", "checks"], &[]),
    ("statusline.v1", &["attention", "busy", "waiting"], &[]),
    ("seen.v1", &["session", "at", "path"], &["pid"]),
    ("hooks.v1", &["agents"], &[]),
    ("bus-message.v1", &["kind", "to"], &[]),
    ("bus-claim.v1", &["path", "claimedAt"], &[]),
    ("bus-record.v1", &["label", "joinedAt"], &[]),
    ("status.v1", &["session"], &[]),
    ("request.v1", &["schema", "id"], &["session", "label", "path", "kind"]),
];

/// A line of the bridge in either direction, distinguished by `t` or `op`.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
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
