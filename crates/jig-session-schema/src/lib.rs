//! Every shape that leaves a jig-session process: types, lenient readers, limits, names and places.
//!
//! One module a format. Each type is declared once, with its contract name, presence rule and meaning; the writer, the
//! lenient reader, the field table and the JSON Schema all come from that one declaration. The crate does no I/O and
//! reads no clock.
//!
//! ```
//! use jig_session_schema::status::Status;
//!
//! let text = br#"{"schema":1,"session":"s-1","pid":4242,"cwd":"/home/dev/app","state":"busy","name":7}"#;
//! let read = Status::read(text)?;
//! assert_eq!(read.value.session, "s-1");
//! assert_eq!(read.value.name, None, "an ill-typed optional field costs that field, not the record");
//! assert_eq!(read.problems[0].pointer, "/name");
//! # Ok::<(), jig_session_schema::read::ReadError>(())
//! ```

#![deny(missing_docs)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[macro_use]
mod record;
#[macro_use]
mod words_macros;

pub mod belongs;
pub mod bridge;
mod bridge_entries;
mod bridge_event;
mod bridge_host;
pub mod bulk;
pub mod bus;
pub mod bus_marks;
pub mod bus_result;
mod context_detail;
pub mod documents;
pub mod error;
pub mod event;
pub mod fleet;
pub mod formats;
pub mod hooks;
pub mod invisible;
pub mod json;
mod json_schema;
pub mod king;
pub mod king_documents;
pub mod limits;
pub mod live;
pub mod names;
pub mod places;
pub mod read;
pub mod request;
pub mod row;
mod sha256;
pub mod shape;
pub mod state_files;
pub mod status;
mod strict;
pub mod time;
pub mod words;

pub use serde_json::{Map, Value};
