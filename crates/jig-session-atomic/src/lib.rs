//! A verified private folder whose files are written whole or not at all.
//!
//! [`PrivateDir`] is the only way the project touches a folder that other processes read and write too. It is opened
//! once, verified (a folder, ours, mode 0700), held open, and every operation is relative to that descriptor, so that
//! nobody can put another folder in its place half-way. A file is replaced by a temporary in the same folder and one
//! rename, so a reader sees the old bytes or the new ones. Reading opens regular files only and never waits.
//!
//! Everything else that is read, because another program wrote it somewhere, is read with [`read_file`]: regular files
//! only, within a bound, without waiting. Their folders are listed with [`list_folder`].
//!
//! The crate knows nothing of what the files hold, who wrote them or whether that process still runs: a caller that
//! deletes says what it judged ([`Stamp`]), and a caller that sweeps says which process ids are gone.

mod append;
mod dir;
mod error;
mod file;
mod folder;
mod lock;
mod names;
mod open;
mod own;
mod read;
mod remove;
mod write;

pub use dir::{Notice, PrivateDir, Stamp};
pub use error::{Error, Fault, Operation, errno_name};
pub use file::{open_file, read_file, read_file_into};
pub use folder::{FolderEntries, FolderEntry, list_folder};
pub use lock::Lock;
pub use names::{Leftover, LeftoverKind, TempName};
pub use own::{Belongs, Content, MARK};
pub use read::{Bytes, Entry, EntryProblem, Reason};
pub use remove::{Moved, Removal};
pub use write::Sync;
