//! Splices in the text of a JSON file: the parser gives the places, and what lies outside of a splice stays as it is.
//!
//! An edit is written in the style that stands around it: several lines with the file's own indentation, or one line
//! inside an object that stands on one line. So taking an entry out gives back the bytes that were there.

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::Value;

use crate::Refusal;

/// Deeper nesting than any configuration has; the parser recurses.
const DEPTH: usize = 200;

/// A parsed file.
pub(crate) struct Json<'t> {
    text: &'t str,
    root: Option<ast::Value<'t>>,
}

/// Where a key leads.
enum Step<'a, 't> {
    Nothing,
    Here(&'a ast::ObjectProp<'t>),
}

impl<'t> Json<'t> {
    /// A text with nothing but blanks and comments has no root.
    pub(crate) fn parse(text: &'t str) -> Result<Self, Refusal> {
        let invalid = |message: String| Refusal::Invalid { format: "JSON", message };
        if nesting(text) > DEPTH {
            return Err(invalid(format!("it is nested more than {DEPTH} deep")));
        }
        let options = ParseOptions {
            allow_comments: true,
            allow_trailing_commas: true,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let parsed = parse_to_ast(text, &CollectOptions::default(), &options);
        Ok(Self { text, root: parsed.map_err(|error| invalid(error.to_string()))?.value })
    }

    /// The whole text as a value.
    pub(crate) fn value(&self) -> Value {
        self.root.as_ref().map_or_else(|| Value::Object(serde_json::Map::new()), value_of)
    }

    /// The root object; `None` for a text without a value.
    pub(crate) fn root(&self) -> Result<Option<&ast::Object<'t>>, Refusal> {
        match &self.root {
            None => Ok(None),
            Some(ast::Value::Object(object)) => Ok(Some(object)),
            Some(other) => Err(Refusal::Shape { at: "the file".into(), found: kind(other), expected: "an object" }),
        }
    }

    /// The value at a path of keys, `None` where a part of the path is missing.
    pub(crate) fn at(&self, path: &[String]) -> Result<Option<&ast::Value<'t>>, Refusal> {
        let Some(mut object) = self.root()? else { return Ok(None) };
        for (depth, key) in path.iter().enumerate() {
            let Step::Here(property) = step(object, key, &path[..=depth])? else { return Ok(None) };
            if depth + 1 == path.len() {
                return Ok(Some(&property.value));
            }
            let ast::Value::Object(next) = &property.value else {
                let at = path[..=depth].join(".");
                return Err(Refusal::Shape { at, found: kind(&property.value), expected: "an object" });
            };
            object = next;
        }
        Ok(None)
    }

    /// The list at a path.
    pub(crate) fn list(&self, path: &[String]) -> Result<Option<&ast::Array<'t>>, Refusal> {
        match self.at(path)? {
            None => Ok(None),
            Some(ast::Value::Array(array)) => Ok(Some(array)),
            Some(other) => Err(Refusal::Shape { at: path.join("."), found: kind(other), expected: "a list" }),
        }
    }

    /// The text with a member put last into the object at `parents`; missing objects are made.
    pub(crate) fn with_member(&self, parents: &[String], name: &str, value: &Value) -> Result<String, Refusal> {
        let Some(root) = self.root()? else {
            let mut whole = serde_json::json!({ name: value });
            for parent in parents.iter().rev() {
                whole = serde_json::json!({ parent.as_str(): whole });
            }
            return Ok(format!("{}{}\n", self.text, pretty(&whole, "  ", "\n", "")));
        };
        let mut object = root;
        for (depth, key) in parents.iter().enumerate() {
            match step(object, key, &parents[..=depth])? {
                Step::Here(property) => {
                    let ast::Value::Object(next) = &property.value else {
                        let at = parents[..=depth].join(".");
                        return Err(Refusal::Shape { at, found: kind(&property.value), expected: "an object" });
                    };
                    object = next;
                }
                Step::Nothing => {
                    let mut inner = serde_json::json!({ name: value });
                    for parent in parents[depth + 1..].iter().rev() {
                        inner = serde_json::json!({ parent.as_str(): inner });
                    }
                    return Ok(self.insert(&Container::of_object(object), Some(key), &inner));
                }
            }
        }
        Ok(self.insert(&Container::of_object(object), Some(name), value))
    }

    /// The text without the member. The objects above it stay, empty or not.
    pub(crate) fn without_member(&self, parents: &[String], name: &str) -> Result<String, Refusal> {
        let mut object = self.root()?;
        for (depth, key) in parents.iter().enumerate() {
            let Some(here) = object else { return Ok(self.text.to_owned()) };
            object = match step(here, key, &parents[..=depth])? {
                Step::Here(property) => property.value.as_object(),
                Step::Nothing => None,
            };
        }
        let Some(object) = object else { return Ok(self.text.to_owned()) };
        let found = object.properties.iter().position(|property| property.name.as_str() == name);
        Ok(found.map_or_else(|| self.text.to_owned(), |index| self.remove(&Container::of_object(object), index)))
    }

    /// The text with another text in the place of the string at a path.
    pub(crate) fn with_string(&self, path: &[String], new: &str) -> Result<String, Refusal> {
        match self.at(path)? {
            Some(ast::Value::StringLit(old)) => {
                Ok(splice(self.text, old.start(), old.end(), &Value::from(new).to_string()))
            }
            Some(other) => Err(Refusal::Shape { at: path.join("."), found: kind(other), expected: "a text" }),
            None => Err(Refusal::Shape { at: path.join("."), found: "missing", expected: "a text" }),
        }
    }

    /// The text with an element put last into the list at `list`, which is there.
    pub(crate) fn with_element(&self, list: &[String], value: &Value) -> Result<String, Refusal> {
        match self.list(list)? {
            Some(array) => Ok(self.insert(&Container::of_array(array), None, value)),
            None => {
                let (name, parents) = list.split_last().ok_or(Refusal::Unsafe)?;
                self.with_member(parents, name, &Value::Array(vec![value.clone()]))
            }
        }
    }

    /// The text without the element of an array.
    pub(crate) fn without_element(&self, array: &ast::Array<'t>, index: usize) -> String {
        self.remove(&Container::of_array(array), index)
    }

    fn insert(&self, container: &Container, name: Option<&str>, value: &Value) -> String {
        let text = self.text;
        let inner = &text[container.start + 1..container.end - 1];
        let item = |body: String| match name {
            Some(name) => format!("{}: {body}", Value::from(name)),
            None => body,
        };
        let last = container.items.last().copied();
        let comma = last.and_then(|(_, end)| comma_after(text, end));
        if !inner.contains('\n') {
            let item = item(value.to_string());
            return match (last, comma) {
                (None, _) if inner.trim().is_empty() => {
                    splice(text, container.start + 1, container.end - 1, &format!("{inner}{item}{inner}"))
                }
                (None, _) => splice(text, container.end - 1, container.end - 1, &item),
                (Some((_, end)), None) => splice(text, end, end, &format!(", {item}")),
                (Some(_), Some(comma)) => splice(text, comma + 1, comma + 1, &format!(" {item},")),
            };
        }
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let unit = indent_unit(text);
        let indent = match last {
            Some((start, _)) if line_start(text, start).trim().is_empty() => line_start(text, start).to_owned(),
            _ => {
                let line = line_start(text, container.end - 1);
                let blanks = line.len() - line.trim_start().len();
                format!("{}{unit}", &line[..blanks])
            }
        };
        let item = item(pretty(value, &unit, newline, &indent));
        let content_end = container.start + 1 + inner.trim_end().len();
        let trailing = if comma.is_some() { "," } else { "" };
        let with_item = splice(text, content_end, content_end, &format!("{newline}{indent}{item}{trailing}"));
        match (last, comma) {
            (Some((_, end)), None) => splice(&with_item, end, end, ","),
            _ => with_item,
        }
    }

    fn remove(&self, container: &Container, index: usize) -> String {
        let text = self.text;
        let (start, end) = container.items[index];
        let comma = comma_after(text, end);
        let from = text[..start].trim_end().len();
        let single_line = !text[container.start..container.end].contains('\n');
        if container.items.len() == 1 {
            let to = comma.map_or(end, |comma| comma + 1);
            if single_line {
                // `{ ITEM }` was `{ }`: the blanks before it stay, those after it go.
                let rest = &text[to..container.end - 1];
                let blanks = rest.len() - rest.trim_start().len();
                return splice(text, start, to + blanks, "");
            }
            return splice(text, from, to, "");
        }
        if let Some((next, _)) = container.items.get(index + 1) {
            return if single_line {
                splice(text, start, *next, "")
            } else {
                splice(text, from, comma.map_or(end, |comma| comma + 1), "")
            };
        }
        match comma {
            Some(comma) => splice(text, from, comma + 1, ""),
            None => {
                let (_, previous_end) = container.items[index - 1];
                let without = splice(text, from, end, "");
                match comma_after(text, previous_end) {
                    Some(comma) => splice(&without, comma, comma + 1, ""),
                    None => without,
                }
            }
        }
    }
}

/// An object or a list: where it stands and where its items stand.
struct Container {
    start: usize,
    end: usize,
    items: Vec<(usize, usize)>,
}

impl Container {
    fn of_object(object: &ast::Object<'_>) -> Self {
        let items = object.properties.iter().map(|item| (item.start(), item.end())).collect();
        Self { start: object.start(), end: object.end(), items }
    }

    fn of_array(array: &ast::Array<'_>) -> Self {
        let items = array.elements.iter().map(|item| (item.start(), item.end())).collect();
        Self { start: array.start(), end: array.end(), items }
    }
}

/// The value as other code compares it.
pub(crate) fn value_of(value: &ast::Value<'_>) -> Value {
    value.clone().into()
}

fn step<'a, 't>(object: &'a ast::Object<'t>, key: &str, path: &[String]) -> Result<Step<'a, 't>, Refusal> {
    let mut found = object.properties.iter().filter(|property| property.name.as_str() == key);
    let first = found.next();
    if found.next().is_some() {
        return Err(Refusal::Duplicate(path.join(".")));
    }
    Ok(first.map_or(Step::Nothing, Step::Here))
}

fn kind(value: &ast::Value<'_>) -> &'static str {
    match value {
        ast::Value::StringLit(_) => "a text",
        ast::Value::NumberLit(_) => "a number",
        ast::Value::BooleanLit(_) => "true or false",
        ast::Value::Object(_) => "an object",
        ast::Value::Array(_) => "a list",
        ast::Value::NullKeyword(_) => "null",
    }
}

fn splice(text: &str, from: usize, to: usize, insert: &str) -> String {
    format!("{}{insert}{}", &text[..from], &text[to..])
}

/// What stands before a place on its line.
fn line_start(text: &str, at: usize) -> &str {
    let from = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    &text[from..at]
}

/// One step of the file's own indentation, two blanks where it shows none.
fn indent_unit(text: &str) -> String {
    let blanks = |line: &str| line[..line.len() - line.trim_start().len()].to_owned();
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(blanks)
        .find(|blanks| !blanks.is_empty())
        .unwrap_or_else(|| "  ".into())
}

/// A value over several lines, its first line where the cursor stands.
fn pretty(value: &Value, unit: &str, newline: &str, indent: &str) -> String {
    let two = serde_json::to_string_pretty(value).unwrap_or_default();
    let mut out = String::new();
    for (number, line) in two.lines().enumerate() {
        let blanks = line.len() - line.trim_start().len();
        if number > 0 {
            out.push_str(newline);
            out.push_str(indent);
        }
        out.push_str(&unit.repeat(blanks / 2));
        out.push_str(line.trim_start());
    }
    out
}

/// Where the comma after an item stands, past blanks and comments.
fn comma_after(text: &str, end: usize) -> Option<usize> {
    let mut at = end;
    loop {
        let rest = &text[at..];
        let blanks = rest.len() - rest.trim_start().len();
        at += blanks;
        let rest = &text[at..];
        if rest.starts_with("//") {
            at += rest.find('\n')?;
        } else if rest.starts_with("/*") {
            at += rest.find("*/")? + 2;
        } else {
            return rest.starts_with(',').then_some(at);
        }
    }
}

/// An upper bound of how deep a text is nested: brackets in strings count too.
fn nesting(text: &str) -> usize {
    let (mut depth, mut deepest) = (0usize, 0usize);
    for byte in text.bytes() {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}
