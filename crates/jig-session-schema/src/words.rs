//! Names: short words that are kept as they are.

use std::borrow::Cow;

use crate::limits::NAME_CHARS;

/// A name of a tool, an action or the like: at most 128 characters, else the field that holds it is dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(Cow<'static, str>);

impl Name {
    /// The name, unless it is longer than a name may be.
    #[must_use]
    pub fn new(word: impl Into<String>) -> Option<Self> {
        let word = word.into();
        fits(&word).then(|| Self(word.into()))
    }

    /// The name as it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

open_word_impls!(Name, { serde_json::json!({ "type": "string", "maxLength": NAME_CHARS }) });

/// Whether a word is short enough for a name.
#[must_use]
pub fn fits(word: &str) -> bool {
    word.len() <= NAME_CHARS || word.chars().count() <= NAME_CHARS
}

/// The schema of an open set: any name; the words known today are examples.
pub(crate) fn open_schema(about: &str, known: &[&str]) -> serde_json::Value {
    let mut schema = serde_json::Map::new();
    schema.insert("description".into(), crate::shape::prose(about).into());
    schema.insert("type".into(), "string".into());
    schema.insert("maxLength".into(), NAME_CHARS.into());
    if !known.is_empty() {
        schema.insert("examples".into(), known.into());
    }
    schema.into()
}

/// A word that is not in a closed set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotInSet {
    /// The words of the set.
    pub words: &'static [&'static str],
}

impl std::fmt::Display for NotInSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "is none of {}", self.words.join(" "))
    }
}

impl std::error::Error for NotInSet {}
