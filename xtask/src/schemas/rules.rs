//! What the contract promises beyond inclusion: fields are only ever added, and every one says what it is.

use std::collections::BTreeSet;

use serde_json::Value;

/// Where the rules are broken between a released schema and the one of today; `writer` says which side both are.
pub(super) fn broken(old: &Value, new: &Value, writer: bool) -> Vec<String> {
    let mut out = Vec::new();
    let (before, after) = (fields(old), fields(new));
    for path in before.iter().map(|field| &field.path).collect::<BTreeSet<_>>() {
        if !after.iter().any(|field| field.path == *path) {
            out.push(format!("{path}: was released and is gone"));
        }
    }
    if writer {
        for field in before.iter().filter(|field| field.required) {
            if after.iter().any(|now| now.path == field.path)
                && !after.iter().any(|now| now.path == field.path && now.required)
            {
                out.push(format!("{}: was always written and no longer is", field.path));
            }
        }
    }
    out.extend(of_one(new));
    out
}

/// The rules that one schema must keep by itself.
pub(super) fn of_one(schema: &Value) -> Vec<String> {
    let mut out = Vec::new();
    for field in fields(schema) {
        if !field.described {
            out.push(format!("{}: has no description", field.path));
        }
    }
    walk(schema, &mut |place| {
        if place.get("additionalProperties") == Some(&Value::Bool(false)) {
            out.push("an object is closed: readers must take fields they do not know".into());
        }
    });
    for keyword in ["$id", "title", "description"] {
        if schema.get(keyword).and_then(Value::as_str).is_none_or(str::is_empty) {
            out.push(format!("{keyword} is missing"));
        }
    }
    out
}

struct Field {
    /// `Definition/name`, so that a path does not depend on where a definition is used.
    path: String,
    required: bool,
    described: bool,
}

/// Every field of the root and of the definitions.
fn fields(schema: &Value) -> Vec<Field> {
    let mut out = Vec::new();
    collect("", schema, &mut out);
    for (name, definition) in schema.get("$defs").and_then(Value::as_object).into_iter().flatten() {
        collect(name, definition, &mut out);
    }
    out
}

fn collect(name: &str, object: &Value, out: &mut Vec<Field>) {
    let required = object.get("required").and_then(Value::as_array);
    for (key, property) in object.get("properties").and_then(Value::as_object).into_iter().flatten() {
        out.push(Field {
            path: format!("{name}/{key}"),
            required: required.is_some_and(|names| names.iter().any(|name| name == key)),
            described: property.get("description").and_then(Value::as_str).is_some_and(|text| !text.is_empty()),
        });
    }
}

fn walk(schema: &Value, visit: &mut impl FnMut(&Value)) {
    visit(schema);
    match schema {
        Value::Object(map) => map.values().for_each(|inner| walk(inner, visit)),
        Value::Array(list) => list.iter().for_each(|inner| walk(inner, visit)),
        _ => {}
    }
}
