//! What a caller wants to stand in a file.

use serde_json::Value;

/// The syntax of a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON; comments and trailing commas are preserved.
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
    /// A member of an object (or a key of a table). Members that somebody added to its value stay.
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
    /// A switch that our entries need and that is not ours alone: set where it is missing, never changed, and left
    /// where other things stand in the file.
    Setting {
        /// The objects above it, outermost first; missing ones are made.
        parents: Vec<String>,
        /// Its name.
        name: String,
        /// Its value.
        value: Value,
    },
    /// A command of which a file has only one: the user's own is wrapped, and restored on removal. JSON only.
    Wrapped {
        /// The object that holds the command; the last of the path, the others above it.
        object: Vec<String>,
        /// The object where the user has none.
        alone: Value,
        /// The command around another, or by itself for an empty one.
        wrap: fn(&str, &str) -> String,
        /// The inner command of one that is ours, empty where there is none.
        unwrap: fn(&str) -> Option<String>,
        /// The other argument of `wrap`, such as the program.
        program: String,
    },
    /// An element of a list that others fill too; JSON only.
    Element {
        /// The list: the objects above it and its own name; missing ones are made.
        list: Vec<String>,
        /// The element.
        value: ElementValue,
        /// Whether an element (for [`ElementValue::Grouped`]: an item of a group) is ours, of whatever version.
        ours: fn(&Value, &str) -> bool,
        /// The other argument of `ours`, such as the end of a command line.
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
