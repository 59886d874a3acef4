//! What a caller wants to stand in a file.

use serde_json::Value;

/// The syntax of a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON, with comments and trailing commas kept where they are.
    Json,
    /// TOML.
    Toml,
}

impl Format {
    /// The name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Toml => "TOML",
        }
    }
}

/// One entry of ours in a configuration file.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A member of an object (or a key of a table).
    Member {
        /// The objects above it, outermost first; missing ones are made.
        parents: Vec<String>,
        /// Its name.
        name: String,
        /// Its value.
        value: Value,
        /// Whether a value that stands there is ours, of whatever version.
        ours: fn(&Value) -> bool,
    },
    /// An element of a list that others fill too; JSON only.
    Element {
        /// The list: the objects above it and its own name; missing ones are made.
        list: Vec<String>,
        /// The element.
        value: ElementValue,
        /// Whether an element (for [`ElementValue::Grouped`]: an item of a group) is ours, of whatever version.
        ours: fn(&Value, &str) -> bool,
        /// What `ours` is given beside the element, such as the end of a command line.
        mark: String,
    },
}

/// The two forms of lists of hooks.
#[derive(Clone, Debug)]
pub enum ElementValue {
    /// The list holds the hooks themselves.
    Plain(Value),
    /// The list holds groups `{ matcher?, hooks: [hook] }`; ours is a group with one hook.
    Grouped {
        /// The group's matcher.
        matcher: Option<String>,
        /// The hook.
        hook: Value,
    },
}

impl ElementValue {
    /// The whole element as it is inserted.
    pub(crate) fn element(&self) -> Value {
        match self {
            Self::Plain(value) => value.clone(),
            Self::Grouped { matcher, hook } => {
                let mut group = serde_json::Map::new();
                if let Some(matcher) = matcher {
                    group.insert("matcher".into(), matcher.as_str().into());
                }
                group.insert("hooks".into(), Value::Array(vec![hook.clone()]));
                Value::Object(group)
            }
        }
    }
}

/// How much of what is wanted stands in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Nothing of ours.
    Absent,
    /// Everything, as it would be installed now.
    Installed,
    /// Some of it, or another version of it.
    Outdated,
}
