//! Puts what an agent needs to publish into the agent's own configuration, and takes it out.
//!
//! [`changes`] says, as a pure function of an agent's table entry, which entries belong into which file;
//! [`apply`] installs them, takes them out or says what is there. Which agents there are is
//! `jig-session-agents`'s, how a file is edited is `jig-session-settings`'s.

mod apply;
mod change;
mod command;
mod found;
mod package;
mod plugin;
mod program;

pub use apply::{Deed, apply};
pub use change::{Change, Content, Part, Target, changes, parts_of};
pub use command::{is_ours, program_of, run_line, shell_word};
pub use found::{found, is_on_path, limits, version_numbers};
pub use package::plugin_files;
pub use plugin::plugin;
pub use program::stable_program;
