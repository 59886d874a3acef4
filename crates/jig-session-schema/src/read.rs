//! Lenient reading: one ill-typed optional field costs that field, never the record.

use std::fmt;

use serde_json::{Map, Value};

use crate::json;
use crate::shape::{Shape, Tag};

/// A record that was read, and what was wrong with it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Read<T> {
    /// The record; its field `unknown` keeps what this version does not know.
    pub value: T,
    /// Fields that were dropped, and why.
    pub problems: Vec<FieldProblem>,
}

/// One field that was dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldProblem {
    /// Where it is, as a JSON pointer (RFC 6901).
    pub pointer: String,
    /// What is wrong with it, such as `is not a string`.
    pub message: String,
}

impl fmt::Display for FieldProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.pointer, self.message)
    }
}

/// Why there is no record.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadError {
    /// No bytes at all.
    Empty,
    /// More bytes than a document may have.
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// Not JSON, not an object, or without what makes it this record.
    Unparsable {
        /// What is wrong.
        message: String,
        /// Where, field by field, when it is JSON.
        problems: Vec<FieldProblem>,
    },
    /// A version this program does not know.
    Unsupported {
        /// The version as it stands there.
        version: String,
    },
}

impl ReadError {
    /// The reason's word in a problem document.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::TooLarge { .. } => "too-large",
            Self::Unparsable { .. } => "unparsable",
            Self::Unsupported { .. } => "unsupported",
        }
    }

    pub(crate) fn unparsable(message: impl Into<String>) -> Self {
        Self::Unparsable { message: message.into(), problems: Vec::new() }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the file is empty"),
            Self::TooLarge { limit } => write!(f, "larger than {limit} bytes"),
            Self::Unparsable { message, .. } => f.write_str(message),
            Self::Unsupported { version } => write!(f, "version {version} is not known here"),
        }
    }
}

impl std::error::Error for ReadError {}

/// How much of a document is wanted.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// Everything, fields of later versions included.
    #[default]
    Whole,
    /// What a listing shows, and nothing that this version does not know: the rest is passed over.
    Listed,
}

impl Extent {
    /// Whether a field is wanted: of a record that marks fields for listings, only those.
    pub(crate) const fn wants(self, record_marks: bool, marked: bool) -> bool {
        matches!(self, Self::Whole) || marked || !record_marks
    }

    /// Whether fields that this version does not know are kept.
    pub(crate) const fn keeps_unknown(self) -> bool {
        matches!(self, Self::Whole)
    }
}

/// Where a reader is in a document, and the problems it has found so far.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Reading {
    extent: Extent,
    path: Vec<Step>,
    problems: Vec<FieldProblem>,
    unsupported: Option<String>,
    /// A writer is judged: what a reader takes is not enough.
    judges_writer: bool,
}

#[derive(Debug)]
enum Step {
    Field(&'static str),
    Index(usize),
    Name(String),
}

/// A hostile document must not fill memory with its problems.
const PROBLEMS_KEPT: usize = 100;

impl Reading {
    pub(crate) fn of(extent: Extent) -> Self {
        Self { extent, ..Self::default() }
    }

    pub(crate) fn extent(&self) -> Extent {
        self.extent
    }

    /// Whether nothing was wrong so far.
    pub(crate) fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }

    /// Goes into a field.
    pub fn enter(&mut self, field: &'static str) {
        self.path.push(Step::Field(field));
    }

    /// Goes into a list's entry.
    pub fn enter_index(&mut self, index: usize) {
        self.path.push(Step::Index(index));
    }

    /// Goes into an entry of a map with free names.
    pub fn enter_name(&mut self, name: &str) {
        self.path.push(Step::Name(name.to_owned()));
    }

    /// Goes out again.
    pub fn leave(&mut self) {
        self.path.pop();
    }

    /// Notes that the value here was dropped.
    pub fn problem(&mut self, message: impl Into<String>) {
        if self.problems.len() < PROBLEMS_KEPT {
            let pointer = self.pointer();
            self.problems.push(FieldProblem { pointer, message: message.into() });
        }
    }

    /// Notes what a reader takes as it is and a writer must not write; it is heard only where a writer is judged.
    pub fn writer_problem(&mut self, field: &'static str, message: impl Into<String>) {
        if self.judges_writer {
            self.enter(field);
            self.problem(message);
            self.leave();
        }
    }

    /// Notes a path that a writer had to make absolute.
    pub fn absolute(&mut self, field: &'static str, path: &str) {
        if !path.starts_with('/') {
            self.writer_problem(field, "is not an absolute path");
        }
    }

    /// Notes that a field without which there is no record is missing.
    pub fn missing(&mut self, field: &'static str) {
        self.enter(field);
        self.problem("is missing");
        self.leave();
    }

    /// Checks a format's number.
    pub fn version(&mut self, value: &Value, expected: &Value) -> Option<Tag> {
        if same(value, expected) {
            return Some(Tag);
        }
        if value.is_number() || (expected.is_string() && value.is_string()) {
            self.unsupported = Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        }
        self.problem(format!("is not {expected}"));
        None
    }

    /// Checks the word of a line.
    pub fn tag(&mut self, value: &Value, expected: &str) -> Option<Tag> {
        if value.as_str() == Some(expected) {
            return Some(Tag);
        }
        self.problem(format!("is not {expected:?}"));
        None
    }

    fn pointer(&self) -> String {
        let mut out = String::new();
        for step in &self.path {
            out.push('/');
            match step {
                Step::Field(name) => out.push_str(name),
                Step::Index(index) => out.push_str(&index.to_string()),
                Step::Name(name) => out.push_str(&name.replace('~', "~0").replace('/', "~1")),
            }
        }
        out
    }
}

/// Equal, where 1.0 is 1: other languages write numbers so.
pub(crate) fn same(value: &Value, expected: &Value) -> bool {
    value == expected || (expected.is_number() && value.as_f64().is_some() && value.as_f64() == expected.as_f64())
}

/// Reads one document.
pub(crate) fn document<T: Shape>(bytes: &[u8]) -> Result<Read<T>, ReadError> {
    value(json::parse(bytes)?)
}

/// Reads as much of one document as is wanted.
pub(crate) fn document_of<T: Shape>(bytes: &[u8], extent: Extent) -> Result<Read<T>, ReadError> {
    value_of(json::parse(bytes)?, extent)
}

/// Reads one parsed document.
pub(crate) fn value<T: Shape>(value: Value) -> Result<Read<T>, ReadError> {
    value_of(value, Extent::Whole)
}

fn value_of<T: Shape>(value: Value, extent: Extent) -> Result<Read<T>, ReadError> {
    value_in(value, Reading::of(extent))
}

/// Reads one parsed document, and notes what no writer may write.
pub(crate) fn written<T: Shape>(value: Value) -> Result<Read<T>, ReadError> {
    value_in(value, Reading { judges_writer: true, ..Reading::default() })
}

fn value_in<T: Shape>(value: Value, mut cx: Reading) -> Result<Read<T>, ReadError> {
    match T::read(value, &mut cx) {
        Some(value) => Ok(Read { value, problems: cx.problems }),
        None => Err(match cx.unsupported {
            Some(version) => ReadError::Unsupported { version },
            None => {
                let message =
                    cx.problems.last().map_or_else(|| "no such record".into(), |p| p.to_string().trim().to_owned());
                ReadError::Unparsable { message, problems: cx.problems }
            }
        }),
    }
}

impl<T: crate::shape::Record> Read<T> {
    /// The fields of the record itself that this version does not know.
    #[must_use]
    pub fn unknown(&self) -> &Map<String, Value> {
        self.value.unknown_fields()
    }
}
