//! Membership, mail and path claims of the sessions of one repository, in plain files.
//!
//! One folder a repository, one file an item: a member's record, a message, a claim. Every change of records and claims
//! is made under one short lock; reading takes no lock and writes nothing; mail is ordered by its names and taken by
//! rename, so it needs no lock either. What a member is worth is judged from its process and its last beat.
//!
//! The clock, the processes and chance come from a [`World`]; the file system is real. What it needs
//! of an agent it takes from the table of agents; it prints nothing and starts no process.

mod action;
mod batch;
mod buses;
mod checks;
mod claims;
mod clock;
mod error;
pub mod guard;
mod holder;
mod inbox;
mod inboxes;
mod join;
pub mod label;
pub mod limits;
mod lock;
mod mail_name;
mod member;
pub mod notice;
mod overlap;
mod owner;
pub mod path;
mod pattern;
mod prune;
mod repo;
mod room;
mod send;
mod store;
mod system;
mod target;
pub mod text;
mod told;
pub mod tool;
pub mod view;
mod waiting;
pub mod wake;
pub mod who;
mod world;

pub use action::{Call, Context, Done, perform, perform_within, previews, refuse};
pub use buses::{About, Buses, Membership};
pub use checks::checks;
pub use claims::{Claimed, Conflict, Release, Released};
pub use clock::Moment;
pub use error::{Code, Error, Refusal};
pub use inbox::{Peeked, Taken};
pub use join::{Join, Joined, Listening, Me};
pub use lock::fallback;
pub use member::{Member, Snapshot};
pub use notice::{Door, Notice, Occasion};
pub use overlap::{is_resource, overlap};
pub use repo::find as find_repo;
pub use room::{Room, units};
pub use send::{EVERYBODY, NotQueued, Outgoing, Recipient, Sent};
pub use store::{Bus, Repo};
pub use system::System;
pub use target::choose as choose_member;
pub use told::Mark;
pub use waiting::Waiting;
pub use world::{World, digits};
