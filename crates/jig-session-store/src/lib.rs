//! The reader: folders of status files joined with verdicts into one view.
//!
//! [`Store`] looks at two folders, the contract's own (status v1) and pi-king's, one directory read and one bounded read
//! a file. Each file gives a [`Session`] or a problem; one bad entry never hides another, and a folder that cannot be
//! read is an error, never an empty list. Verdicts come from a table of [`Processes`](jig_session_liveness::Processes), so that tests bring their own. What is listed,
//! and in which order, are pure functions ([`listed`], [`by_urgency`]); what changed between two looks is a [`Tracker`]'s
//! work. A [`View`] is all of it at one moment, corrected by what the agents themselves have written down
//! ([`evidence`]). [`Hints`] only say when to look sooner: polling is the truth.
//!
//! The crate reads and, in [`prune()`], removes what a crashed session of the contract's own left. It knows no
//! terminal and no command, and it never writes into either folder; the marks of what
//! a person has seen ([`Marks`]) lie in a folder of their own.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read the files that they made"))]

mod card;
mod changes;
mod condition;
mod entry;
pub mod evidence;
mod filter;
mod hints;
mod join;
mod order;
mod prune;
mod seen;
pub mod select;
mod status;
mod store;
mod view;

pub use changes::{Change, Tracker, Why};
pub use condition::Condition;
pub use entry::Session;
pub use filter::{Filter, FilterError, Repositories, RepositoryTerm, StateTerm, state_words};
pub use hints::{Hints, Nudge};
pub use join::{is_live, joined, listed};
pub use order::by_urgency;
pub use prune::{Plan, Pruned, prune};
pub use seen::{Marks, mark, stale_marks};
pub use store::{Scan, Store};
pub use view::{DocumentError, Narrow, View, document, status};
