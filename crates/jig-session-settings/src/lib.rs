//! Edits of other programs' configuration files that keep every byte but their own.
//!
//! A caller lists the [`Entry`]s it wants in a file; [`install`], [`uninstall`] and [`status`] are pure functions of
//! the file's text. [`ConfigFile`] is the thin edge: it reads and replaces the file. What is not understood is refused,
//! never guessed at and never rewritten.
//!
//! This crate knows no agent: which file, which entries and which of them are ours is the caller's.

mod edit;
mod entry;
mod file;
mod json;
mod refusal;
mod toml;

pub use edit::{current, install, read, render, status, uninstall};
pub use entry::{ElementValue, Entry, Format, Presence};
pub use file::{ConfigFile, FileError};
pub use refusal::Refusal;
