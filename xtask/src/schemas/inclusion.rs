//! Whether every document that one schema allows is allowed by another one too.
//!
//! A structural comparison over the few keywords that our schemas use. It errs to one side: what it does not understand
//! counts as not included, so that a new keyword shows up here before it can break a promise. The first schema is taken
//! as a writer's: properties it does not name are not written.

use serde_json::{Map, Value};

/// A schema with the document that its references point into.
#[derive(Clone, Copy)]
struct Location<'a> {
    root: &'a Value,
    schema: &'a Value,
}

/// Keywords that say nothing about what is valid.
const ANNOTATIONS: [&str; 8] = ["$schema", "$id", "$defs", "title", "description", "examples", "format", "default"];

/// Keywords that this comparison understands.
const UNDERSTOOD: [&str; 17] = [
    "$ref",
    "type",
    "const",
    "enum",
    "not",
    "anyOf",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "maxLength",
    "minLength",
    "pattern",
];

/// Why not every document of `written` is allowed by `read`; empty when each is.
pub(super) fn differences(written: &Value, read: &Value) -> Vec<String> {
    let mut out = Vec::new();
    let written = Location { root: written, schema: written };
    let read = Location { root: read, schema: read };
    compare(written, read, "", &mut out, 0);
    out
}

/// Schemas nest less than this; a recursive one is not understood.
const DEEPEST: usize = 40;

fn compare(written: Location<'_>, read: Location<'_>, at: &str, out: &mut Vec<String>, depth: usize) {
    if depth > DEEPEST {
        out.push(format!("{at}: nested too deep to be compared"));
        return;
    }
    let (Some(written), Some(read)) = (resolved(written), resolved(read)) else {
        out.push(format!("{at}: a reference that leads nowhere"));
        return;
    };
    for place in [written, read] {
        if let Some(keyword) = not_understood(place.schema) {
            out.push(format!("{at}: keyword {keyword} is not understood"));
            return;
        }
    }
    if let Some(alternatives) = written.list("anyOf") {
        for alternative in alternatives {
            compare(written.to(alternative), read, at, out, depth + 1);
        }
        return;
    }
    if let Some(values) = written.values() {
        for value in values {
            if !allows(read, &value, depth) {
                out.push(format!("{at}: {value} is written and not read"));
            }
        }
        return;
    }
    if let Some(alternatives) = read.list("anyOf") {
        compare_with_one_of(written, read, alternatives, at, out, depth);
        return;
    }
    let types = written.types();
    if types.is_empty() && !says_nothing(read.schema) {
        out.push(format!("{at}: anything is written, not everything is read"));
        return;
    }
    for kind in types {
        compare_type(written, read, &kind, at, out, depth);
    }
}

/// Each type of the written schema must fit one alternative wholly.
fn compare_with_one_of(
    written: Location<'_>,
    read: Location<'_>,
    any: &[Value],
    at: &str,
    out: &mut Vec<String>,
    depth: usize,
) {
    let types = written.types();
    let wanted: Vec<Value> = if types.len() < 2 {
        vec![written.schema.clone()]
    } else {
        types.iter().map(|kind| with_type(written.schema, kind)).collect()
    };
    for one in &wanted {
        let mut closest: Option<Vec<String>> = None;
        for alternative in any {
            let mut tried = Vec::new();
            compare(written.to(one), read.to(alternative), at, &mut tried, depth + 1);
            if closest.as_ref().is_none_or(|found| tried.len() < found.len()) {
                closest = Some(tried);
            }
        }
        out.extend(closest.unwrap_or_else(|| vec![format!("{at}: nothing is read")]));
    }
}

fn with_type(schema: &Value, kind: &str) -> Value {
    let mut schema = schema.clone();
    schema["type"] = kind.into();
    schema
}

fn compare_type(written: Location<'_>, read: Location<'_>, kind: &str, at: &str, out: &mut Vec<String>, depth: usize) {
    let reads = read.types();
    let fits = reads.is_empty() || reads.iter().any(|other| other == kind || (kind == "integer" && other == "number"));
    if !fits {
        out.push(format!("{at}: {kind} is written, {} is read", reads.join(" or ")));
        return;
    }
    if kind != "null" && (read.values().is_some() || read.get("not").is_some()) {
        out.push(format!("{at}: any {kind} is written, only some are read"));
        return;
    }
    match kind {
        "object" => compare_objects(written, read, at, out, depth),
        "array" => {
            limits(written, read, &[("minItems", true), ("maxItems", false)], at, out);
            if let Some(items) = read.get("items") {
                match written.get("items") {
                    Some(item) => compare(written.to(item), read.to(items), &format!("{at}/*"), out, depth + 1),
                    None => out.push(format!("{at}: a list of anything is written, not everything is read")),
                }
            }
        }
        "string" => {
            limits(written, read, &[("minLength", true), ("maxLength", false)], at, out);
            if let Some(pattern) = read.get("pattern").filter(|pattern| written.get("pattern") != Some(*pattern)) {
                out.push(format!("{at}: only what fits {pattern} is read"));
            }
        }
        "integer" | "number" => limits(written, read, &[("minimum", true), ("maximum", false)], at, out),
        _ => {}
    }
}

fn compare_objects(written: Location<'_>, read: Location<'_>, at: &str, out: &mut Vec<String>, depth: usize) {
    let written_properties = written.properties();
    let read_properties = read.properties();
    let always = written.required();
    for name in read.required() {
        if !always.contains(&name) {
            out.push(format!("{at}/{name}: is not always written, always wanted"));
        }
    }
    let others = read.get("additionalProperties");
    for (name, schema) in &written_properties {
        let at = format!("{at}/{name}");
        match (read_properties.get(name), others) {
            (Some(reads), _) => compare(written.to(schema), read.to(reads), &at, out, depth + 1),
            (None, Some(Value::Bool(false))) => out.push(format!("{at}: is written and not allowed")),
            (None, Some(reads)) => compare(written.to(schema), read.to(reads), &at, out, depth + 1),
            (None, None) => {}
        }
    }
    if let (Some(writes), Some(reads)) = (written.get("additionalProperties"), others) {
        compare(written.to(writes), read.to(reads), &format!("{at}/*"), out, depth + 1);
    }
    // A map with free names is read by an open object.
}

/// Bounds: a lower one may not be higher where it is read, an upper one not lower.
fn limits(written: Location<'_>, read: Location<'_>, keywords: &[(&str, bool)], at: &str, out: &mut Vec<String>) {
    for (keyword, lower) in keywords {
        let Some(wanted) = read.get(keyword).and_then(Value::as_f64) else { continue };
        let given = written.get(keyword).and_then(Value::as_f64);
        let inside = given.is_some_and(|given| if *lower { given >= wanted } else { given <= wanted });
        let nothing_below = *lower && wanted <= 0.0 && keyword.starts_with("min") && *keyword != "minimum";
        if !inside && !nothing_below {
            out.push(format!("{at}: {keyword} {wanted} is wanted"));
        }
    }
}

/// Whether a schema allows one plain value.
fn allows(read: Location<'_>, value: &Value, depth: usize) -> bool {
    let Some(read) = resolved(read) else { return false };
    if depth > DEEPEST || not_understood(read.schema).is_some() {
        return false;
    }
    if let Some(alternatives) = read.list("anyOf") {
        return alternatives.iter().any(|alternative| allows(read.to(alternative), value, depth + 1));
    }
    if read.values().is_some_and(|values| !values.contains(value)) {
        return false;
    }
    if read.get("not").is_some_and(|not| allows(read.to(not), value, depth + 1)) {
        return false;
    }
    let types = read.types();
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::String(_) => "string",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let typed = types.is_empty() || types.iter().any(|other| other == kind || (kind == "integer" && other == "number"));
    let length = value.as_str().map(|text| text.chars().count() as f64);
    let below = |keyword: &str, given: Option<f64>| {
        read.get(keyword).and_then(Value::as_f64).zip(given).is_none_or(|(most, given)| given <= most)
    };
    let above = |keyword: &str, given: Option<f64>| {
        read.get(keyword).and_then(Value::as_f64).zip(given).is_none_or(|(least, given)| given >= least)
    };
    typed
        && below("maxLength", length)
        && above("minLength", length)
        && below("maximum", value.as_f64())
        && above("minimum", value.as_f64())
        && (length.is_none() || read.get("pattern").is_none())
}

fn resolved(place: Location<'_>) -> Option<Location<'_>> {
    let mut place = place;
    for _ in 0..DEEPEST {
        let Some(reference) = place.schema.get("$ref").and_then(Value::as_str) else { return Some(place) };
        place = place.to(place.root.pointer(reference.strip_prefix('#')?)?);
    }
    None
}

fn not_understood(schema: &Value) -> Option<&str> {
    let keywords = schema.as_object()?.keys().map(String::as_str);
    keywords.into_iter().find(|keyword| !ANNOTATIONS.contains(keyword) && !UNDERSTOOD.contains(keyword))
}

fn says_nothing(schema: &Value) -> bool {
    schema == &Value::Bool(true)
        || schema.as_object().is_some_and(|map| map.keys().all(|keyword| ANNOTATIONS.contains(&keyword.as_str())))
}

impl<'a> Location<'a> {
    fn to<'b>(self, schema: &'b Value) -> Location<'b>
    where
        'a: 'b,
    {
        Location { root: self.root, schema }
    }

    fn get(self, keyword: &str) -> Option<&'a Value> {
        self.schema.get(keyword)
    }

    fn list(self, keyword: &str) -> Option<&'a [Value]> {
        self.get(keyword).and_then(Value::as_array).map(Vec::as_slice)
    }

    fn types(self) -> Vec<String> {
        match self.get("type") {
            Some(Value::String(kind)) => vec![kind.clone()],
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        }
    }

    /// The values of `const` or `enum`.
    fn values(self) -> Option<Vec<Value>> {
        match (self.get("const"), self.list("enum")) {
            (Some(value), _) => Some(vec![value.clone()]),
            (None, Some(values)) => Some(values.to_vec()),
            (None, None) => None,
        }
    }

    fn properties(self) -> Map<String, Value> {
        self.get("properties").and_then(Value::as_object).cloned().unwrap_or_default()
    }

    fn required(self) -> Vec<String> {
        self.list("required").unwrap_or_default().iter().filter_map(Value::as_str).map(str::to_owned).collect()
    }
}
