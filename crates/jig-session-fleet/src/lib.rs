//! Sessions of many machines through an existing MQTT broker.
//!
//! A machine that shares keeps one retained document for each live session ([`Outbox`]) at a topic of its own
//! ([`Topics`]), reduced to a list of fields that may leave it ([`shared`]); the broker's Last Will says that it is gone.
//! Who follows ([`Follower`]) takes what the broker holds into one picture ([`Picture`]) of rows that are another
//! machine's word: never dead by themselves, and old when either connection is lost.
//!
//! The cores are pure; [`share`] and [`Follower`] are the only places that connect. Nothing is ever asked of a session
//! from here, and nothing that is read from a broker changes anything on this machine.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read the files that they made"))]

mod address;
mod connect;
mod follow;
mod outbox;
mod page;
mod picture;
mod reduce;
mod service;
mod share;
mod topic;

pub use address::{Address, AddressError};
pub use connect::{Access, ConnectError};
pub use follow::Follower;
pub use outbox::Outbox;
pub use page::{PageError, is_page, page};
pub use picture::{Picture, Received};
pub use reduce::{Sharing, row, shared};
pub use service::{launchd_plist, systemd_unit};
pub use share::{ShareError, Source, Told, share};
pub use topic::{Topic, Topics, is_part, machine_name};
