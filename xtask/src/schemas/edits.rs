//! What an edit of a format breaks. Each row is the pair of status v1 schemas with one edit; the answers were written
//! down from the meaning of the contract, not taken from the comparison.

use jig_session_schema::formats::Format;
use jig_session_schema::shape::Side;
use serde_json::{Value, json};

use super::released::Pair as Schemas;

/// What breaks: readers of the old version, files of the old version, the rule that fields are only added.
#[derive(Debug, PartialEq, Eq, Clone, Copy, Default)]
pub(super) struct Breaks {
    pub(super) readers: bool,
    pub(super) files: bool,
    pub(super) rules: bool,
}

const NOTHING: Breaks = Breaks { readers: false, files: false, rules: false };
const READERS: Breaks = Breaks { readers: true, ..NOTHING };
const FILES: Breaks = Breaks { files: true, ..NOTHING };
const RULES: Breaks = Breaks { rules: true, ..NOTHING };
const READERS_AND_FILES: Breaks = Breaks { readers: true, files: true, rules: false };
const FILES_AND_RULES: Breaks = Breaks { readers: false, files: true, rules: true };
const READERS_AND_RULES: Breaks = Breaks { readers: true, files: false, rules: true };
const EVERYTHING: Breaks = Breaks { readers: true, files: true, rules: true };

/// Both schemas, to be edited as one type would be.
struct Pair {
    reader: Value,
    writer: Value,
}

impl Pair {
    fn of(name: &str) -> Self {
        let format = Format::named(name).expect("a format");
        Self { reader: format.schema(Side::Reader).into(), writer: format.schema(Side::Writer).into() }
    }

    fn each(&mut self, edit: impl Fn(&mut Value, bool)) {
        edit(&mut self.reader, false);
        edit(&mut self.writer, true);
    }

    /// Adds a field as an `added`, `seed` or `required` one of the declaration would come out.
    fn add(&mut self, object: &str, name: &str, schema: Value, presence: &str) {
        self.each(|root, writer| {
            let object = at(root, object);
            let nullable = json!({ "anyOf": [schema.clone(), { "type": "null" }] });
            let mut schema = match (presence, writer) {
                ("required", _) | ("added", true) => schema.clone(),
                _ => nullable,
            };
            schema["description"] = "A new field.".into();
            object["properties"][name] = schema;
            if presence == "required" || (writer && presence == "seed") {
                object["required"].as_array_mut().expect("a list").push(name.into());
            }
        });
    }

    fn remove(&mut self, object: &str, name: &str) {
        self.each(|root, _| {
            let object = at(root, object);
            object["properties"].as_object_mut().expect("an object").remove(name);
            object["required"].as_array_mut().expect("a list").retain(|field| field != name);
        });
    }

    /// Replaces the schema of a field on both sides; the reader's may be null unless it is required.
    fn retype(&mut self, field: &str, schema: &Value) {
        self.each(|root, writer| {
            let place = at(root, field);
            let required = place.get("anyOf").is_none() && !place["type"].is_array();
            let mut schema =
                if writer || required { schema.clone() } else { json!({ "anyOf": [schema, { "type": "null" }] }) };
            schema["description"] = "Another type.".into();
            *place = schema;
        });
    }

    fn set(&mut self, place: &str, keyword: &str, value: &Value) {
        self.each(|root, _| at(root, place)[keyword] = value.clone());
    }
}

fn at<'a>(root: &'a mut Value, pointer: &str) -> &'a mut Value {
    root.pointer_mut(pointer).unwrap_or_else(|| panic!("nothing at {pointer}"))
}

/// Every edit with its right answer: name, answer, the schemas before and after.
pub(super) fn table() -> Vec<(String, Breaks, Schemas)> {
    let mut out = Vec::new();
    for (format, rows) in [("status.v1", STATUS), ("event.v1", EVENT)] {
        for (edit, expected, apply) in rows {
            let old = Pair::of(format);
            let mut new = Pair::of(format);
            apply(&mut new);
            let schemas = Schemas {
                old_reader: old.reader,
                old_writer: old.writer,
                new_reader: new.reader,
                new_writer: new.writer,
            };
            out.push((format!("{format}: {edit}"), *expected, schemas));
        }
    }
    out
}

/// What the comparison says of an edit.
#[cfg(test)]
fn verdict(schemas: &Schemas) -> (Breaks, Vec<String>) {
    let lines = super::released::breaks(schemas);
    let any = |prefix: &str| lines.iter().any(|line| line.starts_with(prefix));
    let found =
        Breaks { readers: any("old readers:"), files: any("old files:"), rules: any("reader:") || any("writer:") };
    (found, lines)
}

type Row = (&'static str, Breaks, fn(&mut Pair));

/// Edits of status v1.
const STATUS: &[Row] = &[
    ("nothing changed", NOTHING, |_| {}),
    ("a description changed", NOTHING, |p| p.set("/properties/cwd", "description", &json!("Elsewhere."))),
    ("the title changed", NOTHING, |p| p.set("", "title", &json!("Status"))),
    ("an optional field added", NOTHING, |p| p.add("", "mood", json!({ "type": "string" }), "added")),
    ("an optional field added one level down", NOTHING, |p| {
        p.add("/$defs/Model", "family", json!({ "type": "string" }), "added")
    }),
    ("a field added that is always written, null when unknown", NOTHING, |p| {
        p.add("", "mood", json!({ "type": "string" }), "seed")
    }),
    ("a required field added", FILES, |p| p.add("", "mood", json!({ "type": "string" }), "required")),
    ("an optional field removed", RULES, |p| p.remove("", "name")),
    ("an optional field removed one level down", RULES, |p| p.remove("/$defs/Recent", "action")),
    ("a required field removed", READERS_AND_RULES, |p| p.remove("", "session")),
    ("an optional field renamed", RULES, |p| {
        p.remove("", "tmuxPane");
        p.add("", "pane", json!({ "type": "string" }), "added");
    }),
    ("a required field renamed", EVERYTHING, |p| {
        p.remove("", "session");
        p.add("", "id", json!({ "type": "string" }), "required");
    }),
    ("a field that was null when unknown is never null", FILES, |p| {
        p.each(|root, _| at(root, "/properties/thinking")["type"] = json!("string"))
    }),
    ("a field that was never null may be null", READERS, |p| {
        p.each(|root, _| at(root, "/properties/session")["type"] = json!(["string", "null"]))
    }),
    ("a whole number becomes text", READERS_AND_FILES, |p| {
        p.retype("/properties/background", &json!({ "type": "string" }))
    }),
    ("a whole number becomes any number", READERS, |p| {
        p.retype(
            "/properties/background",
            &json!({ "type": "number", "minimum": 0, "maximum": 9_007_199_254_740_991_u64 }),
        )
    }),
    ("any number becomes a whole one", FILES, |p| {
        p.set("/$defs/Usage/properties/cost", "type", &json!(["integer", "null"]));
    }),
    ("a count's upper bound lowered", FILES, |p| p.set("/properties/background", "maximum", &json!(255))),
    ("a count's upper bound raised", READERS, |p| p.set("/properties/background", "maximum", &json!(1e17))),
    ("a count's lower bound raised", FILES, |p| p.set("/properties/background", "minimum", &json!(1))),
    ("a closed set grows", READERS, |p| {
        p.each(|root, _| push(root, "/$defs/Recent/properties/outcome/enum", "queued"))
    }),
    ("a closed set shrinks", FILES, |p| {
        p.each(|root, _| drop_word(root, "/$defs/Recent/properties/outcome/enum", "aborted"))
    }),
    ("an open set names another word", NOTHING, |p| {
        p.each(|root, _| push(root, "/$defs/Agent/properties/name/examples", "newcomer"))
    }),
    ("an open set is closed", FILES, |p| {
        p.each(|root, _| {
            let words = at(root, "/$defs/Agent/properties/name/examples").clone();
            at(root, "/$defs/Agent/properties/name")["enum"] = words;
        })
    }),
    ("a closed set is opened", READERS, |p| {
        p.each(|root, _| {
            at(root, "/$defs/Recent/properties/outcome").as_object_mut().expect("an object").remove("enum");
        })
    }),
    ("an always written field is left out sometimes", RULES, |p| {
        p.writer["required"].as_array_mut().expect("a list").retain(|f| f != "thinking")
    }),
    ("a required field becomes optional", READERS_AND_RULES, |p| {
        p.each(|root, _| root["required"].as_array_mut().expect("a list").retain(|f| f != "session"))
    }),
    ("an optional field becomes required", FILES, |p| p.each(|root, _| push(root, "/required", "name"))),
    ("the version changes", READERS_AND_FILES, |p| p.set("/properties/schema", "const", &json!(2))),
    ("a pattern added", FILES, |p| p.set("/properties/cwd", "pattern", &json!("^/"))),
    ("a greatest length added", FILES, |p| p.set("/properties/cwd", "maxLength", &json!(4096))),
    ("a greatest count of entries added", FILES, |p| p.set("/properties/recent", "maxItems", &json!(15))),
    ("a list's entries become texts", READERS_AND_FILES, |p| {
        p.set("/properties/recent", "items", &json!({ "type": "string" }))
    }),
    ("unknown fields are refused", Breaks { readers: false, files: false, rules: true }, |p| {
        p.set("", "additionalProperties", &json!(false))
    }),
    ("a field without a description", RULES, |p| {
        p.each(|root, _| {
            at(root, "/properties/name").as_object_mut().expect("an object").remove("description");
        })
    }),
    ("a format is only an annotation", NOTHING, |p| p.set("/properties/cwd", "format", &json!("uri-reference"))),
    ("an object becomes a list", READERS_AND_FILES, |p| {
        p.each(|root, _| {
            at(root, "/$defs/Context")["type"] = json!("array");
        })
    }),
    ("a field removed and its file still read", FILES_AND_RULES, |p| {
        p.remove("", "transcript");
        p.reader["additionalProperties"] = json!(false);
    }),
];

/// Edits of a line format: the set of lines is open.
const EVENT: &[Row] = &[
    ("nothing changed", NOTHING, |_| {}),
    ("another kind of line", NOTHING, |p| {
        let line = json!({
            "description": "A new line.", "type": "object", "required": ["event"],
            "properties": { "event": { "description": "The word.", "const": "sleep" } },
        });
        p.each(|root, writer| {
            root["$defs"]["SleepEvent"] = line.clone();
            at(root, "/anyOf").as_array_mut().expect("a list").insert(0, json!({ "$ref": "#/$defs/SleepEvent" }));
            if !writer {
                let last = root["anyOf"].as_array_mut().expect("a list").last_mut().expect("the others");
                push(last, "/properties/event/not/enum", "sleep");
            }
        });
    }),
    ("a kind of line removed", RULES, |p| {
        p.each(|root, writer| {
            root["$defs"].as_object_mut().expect("an object").remove("BackgroundEvent");
            root["anyOf"].as_array_mut().expect("a list").retain(|line| line["$ref"] != "#/$defs/BackgroundEvent");
            if !writer {
                let last = root["anyOf"].as_array_mut().expect("a list").last_mut().expect("the others");
                drop_word(last, "/properties/event/not/enum", "background");
            }
        })
    }),
    ("a line gets another required field", FILES, |p| {
        p.add("/$defs/TurnEvent", "mood", json!({ "type": "string" }), "required")
    }),
];

fn push(root: &mut Value, list: &str, word: &str) {
    at(root, list).as_array_mut().expect("a list").push(word.into());
}

fn drop_word(root: &mut Value, list: &str, word: &str) {
    at(root, list).as_array_mut().expect("a list").retain(|other| other != word);
}

#[test]
fn every_edit_is_judged_as_the_contract_means_it() {
    let mut wrong = Vec::new();
    for (edit, expected, schemas) in table() {
        let (found, lines) = verdict(&schemas);
        if found != expected {
            wrong.push(format!("{edit}: expected {expected:?}, found {found:?}: {lines:#?}"));
        }
    }
    assert!(STATUS.len() + EVENT.len() >= 25);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What the comparison does not understand, it does not let pass.
#[test]
fn an_unknown_keyword_counts_as_a_break() {
    let mut schemas = table().remove(0).2;
    schemas.new_reader["properties"]["cwd"]["contentEncoding"] = "base64".into();
    let lines = super::released::breaks(&schemas);
    assert!(lines.iter().any(|line| line.contains("contentEncoding is not understood")), "{lines:?}");
}
