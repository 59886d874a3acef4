//! Session documents as text for terminals.
//!
//! Everything here is a pure function of a document, a time, a width and whether colour is wanted; the caller prints.
//! Text from files, panes and messages is data until it has passed [`sanitise`]; [`table::Cell`] does that itself.

pub mod ages;
pub mod bus;
pub mod context;
pub mod line;
pub mod rows;
pub mod sanitise;
pub mod table;
