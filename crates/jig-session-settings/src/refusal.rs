//! Why a file is left as it is.

/// A file that is not edited, and why. The text by hand is the caller's to give: it knows the entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The file does not parse; the message names line and column.
    #[error("it is not valid {format}: {message}")]
    Invalid {
        /// `JSON` or `TOML`.
        format: &'static str,
        /// What the parser says.
        message: String,
    },
    /// Something other than what the entry needs stands in its way.
    #[error("{at} is {found}, not {expected}")]
    Shape {
        /// Where, such as `hooks.Stop`.
        at: String,
        /// What stands there.
        found: &'static str,
        /// What would be needed.
        expected: &'static str,
    },
    /// A key occurs twice: which of them counts is the other program's secret.
    #[error("{0} occurs twice")]
    Duplicate(String),
    /// An entry of the same name that somebody else wrote.
    #[error("{0} is configured there already, and not by this program")]
    Foreign(String),
    /// The edited text would not parse, or would change something else: nothing is written.
    #[error("an edit would change more than its own entry")]
    Unsafe,
}
