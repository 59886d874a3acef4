//! The type column of the contract's pages is the one of the declarations: of a line that is written from a page
//! nothing is refused.
//!
//! `PAGES_UPDATE=always cargo test -p jig-session-tests --test types` writes the columns anew.
#![allow(clippy::disallowed_methods, reason = "tests read the files that they made")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jig_session_schema::event::Event;
use jig_session_schema::formats::FORMATS;
use jig_session_schema::shape::Side;
use serde_json::{Map, Value, json};

/// The pages, and the formats whose records their tables describe; none named: all.
const PAGES: [(&str, &[&str]); 4] = [
    ("event-v1.md", &["event.v1"]),
    ("bridge-v1.md", &["bridge.v1"]),
    ("documents-v1.md", &[]),
    ("fleet-v1.md", &["fleet.v1", "fleet-machine.v1"]),
];

fn path(page: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/contract").join(page)
}

/// A record of a format: its properties, and the definitions of its format.
struct Known {
    properties: Map<String, Value>,
    definitions: Value,
}

fn known(formats: &[&str]) -> Vec<Known> {
    let wanted = FORMATS.iter().filter(|format| formats.is_empty() || formats.contains(&format.name));
    wanted
        .flat_map(|format| {
            let schema = Value::from(format.schema(Side::Writer));
            let definitions = schema["$defs"].clone();
            let inner = definitions.as_object().into_iter().flat_map(|all| all.values().cloned()).collect::<Vec<_>>();
            let records =
                inner.into_iter().chain([schema]).filter_map(|record| record["properties"].as_object().cloned());
            records.map(move |properties| Known { properties, definitions: definitions.clone() }).collect::<Vec<_>>()
        })
        .collect()
}

/// The record of a table below this heading with these fields. A line's own word and time are told above the tables.
fn record_of<'a>(known: &'a [Known], heading: &str, fields: &BTreeSet<String>) -> Option<&'a Known> {
    let word = heading.split('`').nth(1).unwrap_or_default();
    let fits = |record: &&Known| {
        let tag = record.properties.values().find_map(|property| property["const"].as_str());
        let beside = |name: &String| name == "at" || record.properties[name].get("const").is_some();
        fields.iter().all(|field| record.properties.contains_key(field))
            && record.properties.keys().filter(|name| !fields.contains(*name)).all(beside)
            && tag.is_none_or(|tag| tag == word)
    };
    known.iter().filter(fits).min_by_key(|record| record.properties.len())
}

/// A type in the words of a page. What is inside of another type stands in one code span with it.
fn words(schema: &Value, definitions: &Value) -> String {
    let (schema, null) = resolved(schema, definitions);
    let text = match (&schema["const"], schema["enum"].as_array(), schema["examples"].as_array()) {
        (Value::Null, Some(words), _) => spans(words),
        (Value::Null, None, Some(words)) => format!("open: {}", spans(words)),
        (Value::Null, None, None) => match schema["type"].as_str() {
            Some("array") => format!("list of {}", words_of_items(&schema, definitions)),
            Some("object") => match inner(&schema, definitions, 0) {
                // One with a table of its own, such as a row, is not told twice.
                long if long.len() > LONG => format!("`{{ {} }}`", names(&schema).join(", ")),
                whole => format!("`{whole}`"),
            },
            _ => simple(&schema),
        },
        (constant, ..) => format!("`{constant}`"),
    };
    if null { format!("{text}, or null") } else { text }
}

/// A record whose types take more than this is given by the names of its fields.
const LONG: usize = 450;

fn names(schema: &Value) -> Vec<&str> {
    schema["properties"].as_object().into_iter().flat_map(|fields| fields.keys().map(String::as_str)).collect()
}

fn words_of_items(schema: &Value, definitions: &Value) -> String {
    words(&schema["items"], definitions)
}

fn spans(words: &[Value]) -> String {
    let words = words.iter().filter_map(Value::as_str).map(|word| format!("`{word}`"));
    words.collect::<Vec<_>>().join(" ")
}

fn simple(schema: &Value) -> String {
    let limit = |key: &str, usual: u64| schema[key].as_u64().filter(|limit| *limit != usual);
    let kind = match (schema["type"].as_str(), schema["format"].as_str()) {
        (Some("string"), Some("date-time")) => "time",
        (Some("string"), _) => "string",
        (Some("integer"), _) => "whole number",
        (Some("number"), _) => "number",
        (Some("boolean"), _) => "boolean",
        (Some("object"), _) => "object",
        _ => "any",
    };
    match (limit("minimum", 0), limit("maximum", (1 << 53) - 1)) {
        (None, None) => kind.to_owned(),
        (least, most) => format!("{kind}, {} to {}", least.unwrap_or(0), most.unwrap_or((1 << 53) - 1)),
    }
}

/// A type inside of a code span.
fn inner(schema: &Value, definitions: &Value, depth: usize) -> String {
    let (schema, null) = resolved(schema, definitions);
    let text = match (schema["type"].as_str(), schema["enum"].as_array(), schema["properties"].as_object()) {
        (_, Some(words), _) => words.iter().map(Value::to_string).collect::<Vec<_>>().join("/"),
        (Some("array"), ..) => format!("[{}]", inner(&schema["items"], definitions, depth + 1)),
        (Some("object"), None, Some(properties)) if depth < 3 => {
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            let fields = properties.iter().map(|(name, property)| {
                let mark = if required.iter().any(|field| field == name) { "" } else { "?" };
                format!("{name}{mark}: {}", inner(property, definitions, depth + 1))
            });
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        _ if schema.get("const").is_some() => schema["const"].to_string(),
        _ => simple(&schema),
    };
    if null { format!("{text}/null") } else { text }
}

/// The schema behind a reference, and whether null stands beside it.
fn resolved(schema: &Value, definitions: &Value) -> (Value, bool) {
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
        return resolved(&definitions[name], definitions);
    }
    if let Some(any) = schema["anyOf"].as_array() {
        let null = any.iter().any(|one| one["type"] == "null");
        let others: Vec<&Value> = any.iter().filter(|one| one["type"] != "null").collect();
        return match others.as_slice() {
            [only] => (resolved(only, definitions).0, null),
            // Such as a text or a number: neither is wrong.
            _ => (json!({}), null),
        };
    }
    let mut schema = schema.clone();
    let Some(kinds) = schema["type"].as_array().cloned() else { return (schema, false) };
    let others: Vec<Value> = kinds.iter().filter(|kind| *kind != "null").cloned().collect();
    let null = others.len() < kinds.len();
    match others.as_slice() {
        [only] => schema["type"] = only.clone(),
        _ => schema = json!({}),
    }
    if let Some(words) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        words.retain(|word| !word.is_null());
    }
    (schema, null)
}

/// A page with the types in its tables as they are declared.
fn typed(page: &str, known: &[Known]) -> String {
    let lines: Vec<&str> = page.lines().collect();
    let mut out: Vec<String> = Vec::new();
    let mut heading = "";
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        if line.starts_with('#') {
            heading = line;
        }
        if !line.starts_with("| field | written |") {
            out.push(line.to_owned());
            at += 1;
            continue;
        }
        let had_types = line.contains("| type |");
        let rows: Vec<&str> = lines[at + 2..].iter().copied().take_while(|line| line.starts_with('|')).collect();
        let field = |row: &str| row.split('`').nth(1).unwrap_or_default().to_owned();
        let fields: BTreeSet<String> = rows.iter().map(|row| field(row)).collect();
        let record =
            record_of(known, heading, &fields).unwrap_or_else(|| panic!("no record below {heading}: {fields:?}"));
        out.push("| field | written | type | meaning |".to_owned());
        out.push("|---|---|---|---|".to_owned());
        for row in &rows {
            // Words of an enumeration in a cell may hold no bar, so cells are what lies between bars.
            let cells: Vec<&str> = row.split(" | ").collect();
            let meaning = cells[if had_types { 3 } else { 2 }..].join(" | ");
            let mut kind = words(&record.properties[&field(row)], &record.definitions);
            if cells[1].contains("null") {
                kind = kind.trim_end_matches(", or null").to_owned();
            }
            out.push(format!("{} | {} | {kind} | {meaning}", cells[0], cells[1]));
        }
        at += 2 + rows.len();
    }
    out.join("\n") + "\n"
}

#[test]
fn the_types_on_the_pages_are_the_declared_ones() {
    for (name, formats) in PAGES {
        let page = fs::read_to_string(path(name)).expect("the page");
        let right = typed(&page, &known(formats));
        if std::env::var_os("PAGES_UPDATE").is_some() {
            fs::write(path(name), &right).expect("written");
        } else {
            let differs = page.lines().zip(right.lines()).find(|(is, right)| is != right);
            assert!(page == right, "{name}: PAGES_UPDATE=always writes it anew; {differs:?}");
        }
    }
}

/// A value of a type as somebody makes it who has nothing but the page.
fn value(kind: &str) -> Value {
    let kind = kind.trim().trim_end_matches(", or null").trim_end_matches("/null");
    let kind = kind.strip_prefix("open: ").unwrap_or(kind);
    if let Some(item) = kind.strip_prefix("list of ") {
        return json!([value(item)]);
    }
    if let Some(span) = kind.strip_prefix('`') {
        let span = span.split('`').next().unwrap_or_default();
        return if span.starts_with('{') {
            value(span)
        } else {
            serde_json::from_str(span).unwrap_or_else(|_| json!(span))
        };
    }
    if let Some(items) = kind.strip_prefix('[') {
        return json!([value(items.strip_suffix(']').expect("a list ends"))]);
    }
    if let Some(fields) = kind.strip_prefix('{') {
        let fields = fields.strip_suffix('}').expect("a record ends");
        let made = split(fields).into_iter().filter_map(|field| {
            let (name, kind) = field.split_once(':')?;
            Some((name.trim().trim_end_matches('?').to_owned(), value(kind)))
        });
        return Value::Object(made.collect());
    }
    match kind.split(',').next().unwrap_or_default() {
        "string" => json!("x"),
        "time" => json!("2026-11-30T12:00:00.000Z"),
        "boolean" => json!(true),
        "whole number" => json!(1),
        "number" => json!(0.5),
        words => serde_json::from_str(words.split('/').next().unwrap_or_default()).unwrap_or(Value::Null),
    }
}

/// The fields of a record, at the commas that lie in no record or list of their own.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut from, mut parts) = (0, 0, Vec::new());
    for (at, letter) in text.char_indices() {
        match letter {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            // `whole number, 1 to 9` has a comma of its own.
            ',' if depth == 0 && text[at..].split([',', '}']).nth(1).is_some_and(|next| next.contains(':')) => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

#[test]
fn of_lines_that_are_written_from_the_page_nothing_is_refused() {
    let page = fs::read_to_string(path("event-v1.md")).expect("the page");
    let page = typed(&page, &known(&["event.v1"]));
    let page = page.split_once("## The lines\n").expect("the lines").1;
    let mut written = 0;
    for section in page.split("\n### `").skip(1).chain(page.strip_prefix("### `")) {
        let word = section.split('`').next().expect("a word");
        if !Event::WORDS.contains(&word) {
            continue;
        }
        let rows: Vec<Vec<&str>> =
            section.lines().filter(|line| line.starts_with("| `")).map(|line| line.split(" | ").collect()).collect();
        // With every field, and with those alone that must be there.
        for all in [true, false] {
            let mut line = json!({ "event": word });
            for cells in rows.iter().filter(|cells| all || cells[1] != "optional") {
                line[cells[0].split('`').nth(1).expect("a field")] = value(cells[2]);
            }
            let text = line.to_string();
            let read = Event::read(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(read.problems, [], "{text}");
            assert!(!matches!(read.value, Event::Other(_)), "{text}");
            assert_eq!(Value::from(read.value.to_document()), line, "nothing of it is lost");
            written += 1;
        }
    }
    assert_eq!(written, 2 * Event::WORDS.len());
}
