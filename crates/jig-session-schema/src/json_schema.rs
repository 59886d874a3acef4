//! JSON Schemas (draft 2020-12), made from the declarations of the shapes.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::shape::{Presence, Shape};

/// For whom a schema is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Side {
    /// What this version writes: the sharp form.
    Writer,
    /// What a reader must take: old documents, other writers.
    Reader,
}

/// A schema in the making.
#[doc(hidden)]
#[derive(Debug)]
pub struct SchemaCx {
    side: Side,
    defs: BTreeMap<&'static str, Value>,
}

impl SchemaCx {
    /// For whom it is made.
    #[must_use]
    pub fn side(&self) -> Side {
        self.side
    }

    /// A reference to a definition, which is made when it is met first.
    pub fn reference(&mut self, name: &'static str, make: impl FnOnce(&mut Self) -> Value) -> Value {
        if !self.defs.contains_key(name) {
            self.defs.insert(name, Value::Null);
            let schema = make(self);
            self.defs.insert(name, schema);
        }
        json!({ "$ref": format!("#/$defs/{name}") })
    }

    /// A field's own text goes before its type's. Beside a bare reference stands the text of what it refers to: a
    /// generator of code makes one type of each text.
    fn described(&self, schema: Value, doc: &str) -> Value {
        let referred = schema.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix("#/$defs/"));
        let own = referred.and_then(|name| self.defs.get(name)).and_then(|definition| definition.get("description"));
        let mut out = Map::new();
        out.insert("description".into(), own.cloned().unwrap_or_else(|| prose(doc).into()));
        if let Value::Object(rest) = schema {
            out.extend(rest.into_iter().filter(|(key, _)| key != "description"));
        }
        out.into()
    }
}

/// An object's schema in the making.
#[derive(Debug)]
pub(crate) struct ObjectSchema {
    about: &'static str,
    properties: Map<String, Value>,
    required: Vec<Value>,
}

impl ObjectSchema {
    pub(crate) fn new(about: &'static str) -> Self {
        Self { about, properties: Map::new(), required: Vec::new() }
    }

    pub(crate) fn constant(&mut self, key: &str, doc: &str, value: Value) {
        self.properties.insert(key.into(), json!({ "description": prose(doc), "const": value }));
        self.required.push(key.into());
    }

    pub(crate) fn field<T: Shape>(&mut self, cx: &mut SchemaCx, key: &str, doc: &str, presence: Presence) {
        let writer = cx.side == Side::Writer;
        let schema = T::schema(cx);
        let schema = match presence {
            Presence::Required | Presence::Constant => schema,
            Presence::Needed | Presence::Added if writer && !T::WRITES_NULL => not_nullable(schema),
            _ if writer => schema,
            _ => nullable(schema),
        };
        if presence == Presence::Required || (writer && presence != Presence::Added) {
            self.required.push(key.into());
        }
        let described = cx.described(schema, doc);
        self.properties.insert(key.into(), described);
    }

    pub(crate) fn finish(self) -> Value {
        let mut out = Map::new();
        out.insert("description".into(), prose(self.about).into());
        out.insert("type".into(), "object".into());
        out.insert("properties".into(), self.properties.into());
        if !self.required.is_empty() {
            out.insert("required".into(), self.required.into());
        }
        out.into()
    }
}

/// A doc comment as one line of text.
pub(crate) fn prose(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) fn nullable(schema: Value) -> Value {
    let null = json!({ "type": "null" });
    match schema {
        Value::Object(map) if map.is_empty() => Value::Object(map),
        Value::Object(mut map) => {
            if map.get("anyOf").and_then(Value::as_array).is_some_and(|any| any.contains(&null)) {
                return map.into();
            }
            match map.get_mut("type") {
                Some(Value::String(word)) => {
                    let word = std::mem::take(word);
                    map.insert("type".into(), json!([word, "null"]));
                    if let Some(Value::Array(words)) = map.get_mut("enum") {
                        words.push(Value::Null);
                    }
                    map.into()
                }
                Some(Value::Array(words)) => {
                    if !words.iter().any(|word| word == "null") {
                        words.push("null".into());
                    }
                    map.into()
                }
                _ => json!({ "anyOf": [map, { "type": "null" }] }),
            }
        }
        other => other,
    }
}

fn not_nullable(schema: Value) -> Value {
    let null = json!({ "type": "null" });
    let Value::Object(mut map) = schema else { return schema };
    if let Some(Value::Array(words)) = map.get("type") {
        let mut words: Vec<Value> = words.iter().filter(|word| *word != "null").cloned().collect();
        let kind = if words.len() == 1 { words.remove(0) } else { words.into() };
        map.insert("type".into(), kind);
        if let Some(Value::Array(words)) = map.get_mut("enum") {
            words.retain(|word| !word.is_null());
        }
    } else if let Some(Value::Array(any)) = map.get_mut("anyOf") {
        any.retain(|schema| *schema != null);
        if let [only] = any.as_slice() {
            return only.clone();
        }
    }
    map.into()
}

/// The schema of lines distinguished by a word: each known word has its record, any other word is free.
pub(crate) fn lines_schema(cx: &SchemaCx, about: &str, tag: &str, words: &[&str], variants: Vec<Value>) -> Value {
    let mut any = variants;
    if cx.side == Side::Reader {
        any.push(json!({
            "description": "A line whose word is not known here: skipped.",
            "type": "object",
            "properties": { tag: { "type": "string", "not": { "enum": words } } },
            "required": [tag],
        }));
    }
    json!({ "description": prose(about), "anyOf": any })
}

/// The whole schema of a shape, with its definitions.
#[must_use]
#[doc(hidden)]
pub fn schema_of<T: Shape>(side: Side) -> Map<String, Value> {
    let mut cx = SchemaCx { side, defs: BTreeMap::new() };
    let root = T::schema(&mut cx);
    let name = root.get("$ref").and_then(Value::as_str).and_then(|r| r.strip_prefix("#/$defs/")).map(str::to_owned);
    let mut out = match (name.and_then(|name| cx.defs.remove(name.as_str())), root) {
        (Some(Value::Object(map)), _) | (None, Value::Object(map)) => map,
        _ => Map::new(),
    };
    if !cx.defs.is_empty() {
        let defs: Map<String, Value> = cx.defs.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
        out.insert("$defs".into(), defs.into());
    }
    out
}

/// A reader schema for another generator: its definitions are handed over, so that its references hold there.
#[cfg(feature = "schemars")]
pub(crate) fn described_to<T: Shape>(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let mut root = schema_of::<T>(Side::Reader);
    if let Some(Value::Object(definitions)) = root.remove("$defs") {
        for (name, definition) in definitions {
            generator.definitions_mut().entry(name).or_insert(definition);
        }
    }
    root.into()
}

#[cfg(all(test, feature = "schemars"))]
mod tests {
    /// Every reference in a foreign generator's schema leads somewhere.
    #[test]
    fn references_hold_in_a_foreign_schema() {
        let schema = schemars::schema_for!(Vec<crate::status::Status>).to_value();
        let text = schema.to_string();
        let references: Vec<&str> = text.split("\"#/").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert!(references.len() > 5, "{text}");
        for reference in references {
            assert!(schema.pointer(&format!("/{reference}")).is_some(), "{reference}");
        }
    }
}
