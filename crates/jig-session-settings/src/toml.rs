//! Keys in a TOML file, through `toml_edit`: what is not ours keeps its bytes.

use serde_json::Value;
use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike};

use crate::Refusal;

pub(crate) fn parse(text: &str) -> Result<DocumentMut, Refusal> {
    text.parse().map_err(|error: toml_edit::TomlError| Refusal::Invalid {
        format: "TOML",
        message: error.to_string().lines().next().unwrap_or_default().to_owned(),
    })
}

/// The text after a change. The library ends every line with a line feed alone; a file whose lines all end with CR LF
/// gets them back, and one with both is refused by whoever compares the two texts.
pub(crate) fn edited(
    text: &str,
    change: impl FnOnce(&mut DocumentMut) -> Result<(), Refusal>,
) -> Result<String, Refusal> {
    let mut document = parse(text)?;
    change(&mut document)?;
    let lines = text.matches('\n').count();
    let now = document.to_string();
    Ok(if lines > 0 && text.matches("\r\n").count() == lines { now.replace('\n', "\r\n") } else { now })
}

/// The whole document as a JSON value.
pub(crate) fn value(document: &DocumentMut) -> Value {
    json(document.as_item())
}

/// What stands at a key, as a JSON value.
pub(crate) fn get(document: &DocumentMut, parents: &[String], name: &str) -> Result<Option<Value>, Refusal> {
    let mut table: &dyn TableLike = document.as_table();
    for (depth, key) in parents.iter().enumerate() {
        match table.get(key) {
            None => return Ok(None),
            Some(item) => {
                table = item.as_table_like().ok_or_else(|| shape(&parents[..=depth], item))?;
            }
        }
    }
    Ok(table.get(name).map(json))
}

/// Sets a key; a table that stands there keeps its other keys.
pub(crate) fn set(document: &mut DocumentMut, parents: &[String], name: &str, value: &Value) -> Result<(), Refusal> {
    let mut table: &mut dyn TableLike = document.as_table_mut();
    let mut inline = false;
    let mut dotted = false;
    for (depth, key) in parents.iter().enumerate() {
        if table.get(key).is_none() {
            let made = if inline {
                Item::Value(InlineTable::new().into())
            } else {
                let mut made = Table::new();
                made.set_implicit(true);
                made.set_dotted(dotted);
                Item::Table(made)
            };
            table.insert(key, made);
        }
        let item = table.get_mut(key).ok_or(Refusal::Unsafe)?;
        inline |= item.is_inline_table();
        dotted = item.as_table().is_some_and(Table::is_dotted);
        let refused = shape(&parents[..=depth], item);
        table = item.as_table_like_mut().ok_or(refused)?;
    }
    let mut item = item_of(value, inline)?;
    if let (Some(made), true) = (item.as_table_mut(), dotted) {
        made.set_dotted(true);
    }
    match table.get_mut(name) {
        // The place, the comments and the order of the table stay.
        Some(old) => match (old.as_table_mut(), item.as_table()) {
            (Some(old), Some(new)) => {
                for (key, item) in new.iter() {
                    old.insert(key, item.clone());
                }
            }
            _ => *old = item,
        },
        None => {
            table.insert(name, item);
        }
    }
    Ok(())
}

/// Takes a key out, and the tables above it that held nothing else and stand in no line of their own.
pub(crate) fn unset(document: &mut DocumentMut, parents: &[String], name: &str) {
    fn remove(table: &mut dyn TableLike, parents: &[String], name: &str) {
        let Some((first, rest)) = parents.split_first() else {
            table.remove(name);
            return;
        };
        let Some(item) = table.get_mut(first) else { return };
        let implicit = item.as_table().is_some_and(|table| table.is_implicit() || table.is_dotted());
        let Some(inner) = item.as_table_like_mut() else { return };
        remove(inner, rest, name);
        if inner.is_empty() && implicit {
            table.remove(first);
        }
    }
    remove(document.as_table_mut(), parents, name);
}

fn shape(path: &[String], item: &Item) -> Refusal {
    let found = match item {
        Item::ArrayOfTables(_) => "a list of tables",
        Item::Value(value) => match value.type_name() {
            "string" => "a text",
            "array" => "a list",
            "boolean" => "true or false",
            _ => "a number or a date",
        },
        Item::None | Item::Table(_) => "a table",
    };
    Refusal::Shape { at: path.join("."), found, expected: "a table" }
}

/// The JSON values that our entries use: texts, numbers, switches, lists of them, objects.
fn item_of(value: &Value, inline: bool) -> Result<Item, Refusal> {
    match value {
        Value::Object(map) if !inline => {
            let mut table = Table::new();
            for (key, value) in map {
                table.insert(key, Item::Value(value_of(value)?));
            }
            Ok(Item::Table(table))
        }
        other => Ok(Item::Value(value_of(other)?)),
    }
}

fn value_of(value: &Value) -> Result<toml_edit::Value, Refusal> {
    Ok(match value {
        Value::String(text) => text.as_str().into(),
        Value::Bool(on) => (*on).into(),
        Value::Number(number) => number.as_i64().ok_or(Refusal::Unsafe)?.into(),
        Value::Array(items) => {
            let mut array = toml_edit::Array::new();
            for item in items {
                array.push(value_of(item)?);
            }
            array.into()
        }
        Value::Object(map) => {
            let mut table = InlineTable::new();
            for (key, value) in map {
                table.insert(key, value_of(value)?);
            }
            table.into()
        }
        Value::Null => return Err(Refusal::Unsafe),
    })
}

fn json(item: &Item) -> Value {
    fn value(value: &toml_edit::Value) -> Value {
        match value {
            toml_edit::Value::String(text) => text.value().as_str().into(),
            toml_edit::Value::Integer(number) => (*number.value()).into(),
            toml_edit::Value::Boolean(on) => (*on.value()).into(),
            toml_edit::Value::Array(items) => items.iter().map(self::value_json).collect(),
            toml_edit::Value::InlineTable(table) => {
                Value::Object(table.iter().map(|(key, inner)| (key.to_owned(), self::value_json(inner))).collect())
            }
            other => other.to_string().trim().into(),
        }
    }
    match item {
        Item::Value(inner) => value(inner),
        Item::Table(table) => Value::Object(table.iter().map(|(key, inner)| (key.to_owned(), json(inner))).collect()),
        Item::ArrayOfTables(_) | Item::None => Value::Null,
    }
}

fn value_json(value: &toml_edit::Value) -> Value {
    json(&Item::Value(value.clone()))
}
