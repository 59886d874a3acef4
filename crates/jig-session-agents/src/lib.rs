//! Each agent's own records and lines turned into events.
//!
//! The crate reads no file and starts no program: what an agent told is handed in, and events come out.

pub mod pi;
