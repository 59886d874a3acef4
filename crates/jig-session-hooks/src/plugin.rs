//! The files of ours that agents load into their own process.

/// The text of the file that an agent loads, for the program it starts; none where it loads none of this crate's.
#[must_use]
pub fn plugin(_agent: &str, _program: &str) -> Option<String> {
    None
}
