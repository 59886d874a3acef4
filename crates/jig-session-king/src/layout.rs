//! `layout.json`: how a viewer arranges the sessions. Pins, order, names and collapsed subtrees.
//!
//! It belongs to the viewer and lies beside the status folder. Everything here is a pure edit of
//! the parsed document, so that keys another program put there survive.

use serde_json::{Map, Value};

/// The parsed layout; unknown fields are preserved.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    document: Map<String, Value>,
}

/// The text is no JSON object, so an edit would lose whatever it holds.
#[derive(Debug, thiserror::Error)]
#[error("the layout is not a JSON object")]
pub struct NotALayout;

impl Layout {
    /// The name of the file, beside the status folder.
    pub const FILE: &'static str = "layout.json";

    /// Reads a layout; an empty text is an empty layout.
    ///
    /// # Errors
    /// When the bytes are neither empty nor a JSON object. A viewer shows an empty layout then; an
    /// editor must not write.
    pub fn parse(bytes: &[u8]) -> Result<Self, NotALayout> {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(Self::default());
        }
        match serde_json::from_slice(bytes) {
            Ok(Value::Object(document)) => Ok(Self { document }),
            _ => Err(NotALayout),
        }
    }

    /// The document as pi-king lays it out: two spaces, no line feed at the end.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        // A map of values that came from JSON always prints.
        serde_json::to_vec_pretty(&self.document).unwrap_or_default()
    }

    /// The pinned sessions, first pin first.
    #[must_use]
    pub fn pinned(&self) -> Vec<&str> {
        self.list("pinned")
    }

    /// The manual order of the sessions.
    #[must_use]
    pub fn order(&self) -> Vec<&str> {
        self.list("order")
    }

    /// The sessions whose subtree is folded away.
    #[must_use]
    pub fn collapsed(&self) -> Vec<&str> {
        self.list("collapsed")
    }

    /// The name a viewer gave to a session; it goes before the session's own.
    #[must_use]
    pub fn name(&self, id: &str) -> Option<&str> {
        self.document.get("names")?.get(id)?.as_str().filter(|name| !name.is_empty())
    }

    /// Pins the sessions, behind the ones already pinned. A pinned one keeps its place.
    pub fn pin(&mut self, ids: &[String]) {
        self.edit("pinned", |list| {
            for id in ids {
                if !list.iter().any(|entry| entry == id) {
                    list.push(Value::from(id.as_str()));
                }
            }
        });
    }

    /// Takes the sessions' pins away.
    pub fn unpin(&mut self, ids: &[String]) {
        self.edit("pinned", |list| list.retain(|entry| !ids.iter().any(|id| entry == id)));
    }

    /// Puts the sessions first, in this order; the others of the former order follow as they were.
    pub fn reorder(&mut self, ids: &[String]) {
        self.edit("order", |list| {
            list.retain(|entry| !ids.iter().any(|id| entry == id));
            let rest = std::mem::take(list);
            for id in ids {
                if !list.iter().any(|entry| entry == id) {
                    list.push(Value::from(id.as_str()));
                }
            }
            list.extend(rest);
        });
    }

    /// Names a session for the viewer; `None` takes the name away.
    pub fn set_name(&mut self, id: &str, name: Option<&str>) {
        let names = self.document.entry("names").or_insert_with(|| Value::Object(Map::new()));
        if !names.is_object() {
            *names = Value::Object(Map::new());
        }
        if let Value::Object(names) = names {
            match name {
                Some(name) => {
                    names.insert(id.to_owned(), Value::from(name));
                }
                None => {
                    names.shift_remove(id);
                }
            }
        }
    }

    fn list(&self, key: &str) -> Vec<&str> {
        let entries = self.document.get(key).and_then(Value::as_array);
        entries.map(|list| list.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
    }

    /// Edits a list. Something else under its name is replaced, as every reader takes it for empty.
    fn edit(&mut self, key: &str, edit: impl FnOnce(&mut Vec<Value>)) {
        let slot = self.document.entry(key).or_insert(Value::Null);
        if !slot.is_array() {
            *slot = Value::Array(Vec::new());
        }
        if let Value::Array(list) = slot {
            edit(list);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Layout;

    const TEXT: &str = r#"{
  "pinned": [
    "a",
    7
  ],
  "theme": {
    "dark": true
  },
  "order": [
    "x",
    "y"
  ],
  "lastSelected": "x",
  "names": {
    "x": "the x"
  },
  "collapsed": [
    "y"
  ]
}"#;

    fn ids(list: &[&str]) -> Vec<String> {
        list.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn reads_strings_only_and_rewrites_byte_for_byte() {
        let layout = Layout::parse(TEXT.as_bytes()).unwrap();
        assert_eq!((layout.pinned(), layout.order(), layout.collapsed()), (vec!["a"], vec!["x", "y"], vec!["y"]));
        assert_eq!(layout.name("x"), Some("the x"));
        assert_eq!(layout.name("y"), None);
        assert_eq!(String::from_utf8(layout.to_bytes()).unwrap(), TEXT);
    }

    #[test]
    fn edits_keep_unknown_keys() {
        let mut layout = Layout::parse(TEXT.as_bytes()).unwrap();
        layout.pin(&ids(&["b", "a", "b"]));
        layout.unpin(&ids(&["nobody"]));
        layout.reorder(&ids(&["z", "y"]));
        layout.set_name("y", Some("why"));
        layout.set_name("x", None);
        assert_eq!(layout.pinned(), ["a", "b"]);
        assert_eq!(layout.order(), ["z", "y", "x"]);
        assert_eq!((layout.name("x"), layout.name("y")), (None, Some("why")));
        let text = String::from_utf8(layout.to_bytes()).unwrap();
        assert!(text.contains("\"dark\": true") && text.contains("7"), "{text}");
        layout.unpin(&ids(&["a", "b"]));
        assert!(layout.pinned().is_empty());
    }

    #[test]
    fn what_is_no_object_is_never_overwritten_by_accident() {
        assert!(Layout::parse(b"[]").is_err());
        assert!(Layout::parse(b"{ \"pinned\": ").is_err());
        assert_eq!(Layout::parse(b" \n").unwrap(), Layout::default());
        let mut odd = Layout::parse(br#"{"pinned":"a","names":3}"#).unwrap();
        assert!(odd.pinned().is_empty());
        odd.pin(&ids(&["b"]));
        odd.set_name("b", Some("bee"));
        assert_eq!((odd.pinned(), odd.name("b")), (vec!["b"], Some("bee")));
    }
}
