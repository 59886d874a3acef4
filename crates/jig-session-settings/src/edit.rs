//! Install, uninstall and status as pure functions of a file's text.

use jsonc_parser::common::Ranged;
use serde_json::Value;

use crate::entry::{ElementValue, Entry, Format, Presence};
use crate::json::{Json, value_of};
use crate::{Refusal, toml};

/// The byte order mark that some editors put before a text.
const BOM: char = '\u{feff}';

/// The text with every entry in it. `None` is a file that is not there.
///
/// Installing twice gives the same text.
///
/// # Errors
/// [`Refusal`]: the file is not understood, or somebody else's entry stands in the place of ours.
pub fn install(text: Option<&str>, format: Format, entries: &[Entry]) -> Result<String, Refusal> {
    let (bom, body) = split_bom(text.unwrap_or_default());
    let mut now = body.to_owned();
    for entry in entries {
        now = put(&now, format, entry)?;
    }
    checked(body, &now, format, entries)?;
    Ok(format!("{bom}{now}"))
}

/// The text without our entries; `None` when the file was made for them alone and goes with them.
///
/// What was installed by [`install`] into a text leaves that text, byte for byte.
///
/// # Errors
/// [`Refusal`]: the file is not understood.
pub fn uninstall(text: &str, format: Format, entries: &[Entry]) -> Result<Option<String>, Refusal> {
    let (bom, body) = split_bom(text);
    if status_of(body, format, entries)? == Presence::Absent {
        return Ok(Some(text.to_owned()));
    }
    if bom.is_empty() && install(None, format, entries).is_ok_and(|fresh| fresh == body) {
        return Ok(None);
    }
    let mut left = body.to_owned();
    for entry in entries.iter().rev() {
        left = before(&left, format, entry)?;
    }
    let settings: Vec<Entry> = entries.iter().filter(|entry| matches!(entry, Entry::Setting { .. })).cloned().collect();
    if bom.is_empty() && !settings.is_empty() && install(None, format, &settings).is_ok_and(|fresh| fresh == left) {
        return Ok(None);
    }
    checked(&left, body, format, entries)?;
    // An empty object over several lines is what a file of ours leaves when its entries were put in one by one.
    let emptied = format == Format::Json && left.trim().contains('\n') && left.split_whitespace().eq(["{", "}"]);
    Ok((!emptied).then(|| format!("{bom}{left}")))
}

/// The text as it was before one entry was put in. Containers that are empty without it were made for it, unless
/// putting it in again would only give this text if they were there.
fn before(text: &str, format: Format, entry: &Entry) -> Result<String, Refusal> {
    let bare = take(text, format, entry)?;
    if format == Format::Toml || bare == text {
        return Ok(bare);
    }
    let candidates = pruned(bare, entry)?;
    let gives_this = |candidate: &&String| put(candidate, format, entry).is_ok_and(|again| again == text);
    let exact = candidates.iter().rev().find(gives_this).or(candidates.last());
    Ok(exact.cloned().unwrap_or_else(|| text.to_owned()))
}

/// How much of the entries stands in the file.
///
/// # Errors
/// [`Refusal`]: the file is not understood.
pub fn status(text: Option<&str>, format: Format, entries: &[Entry]) -> Result<Presence, Refusal> {
    status_of(split_bom(text.unwrap_or_default()).1, format, entries)
}

/// The first of the values that stand in the file and are ours, entry by entry: what an installed entry holds now.
///
/// # Errors
/// [`Refusal`]: the file is not understood.
pub fn current(text: &str, format: Format, entries: &[Entry]) -> Result<Option<Value>, Refusal> {
    let body = split_bom(text).1;
    for entry in entries {
        let found = match (entry, format) {
            (Entry::Member { parents, name, ours, .. }, Format::Json) => {
                let at = [parents.as_slice(), std::slice::from_ref(name)].concat();
                Json::parse(body)?.at(&at)?.map(value_of).filter(ours)
            }
            (Entry::Member { parents, name, ours, .. }, Format::Toml) => {
                toml::get(&toml::parse(body)?, parents, name)?.filter(ours)
            }
            (Entry::Element { list, value, ours, mark }, _) => {
                let json = Json::parse(body)?;
                let elements = json.list(list)?.map(|array| array.elements.iter().map(value_of).collect::<Vec<_>>());
                let hooks = elements.unwrap_or_default();
                hooks.iter().flat_map(|element| hooks_of(element, value)).find(|hook| ours(hook, mark))
            }
            (Entry::Wrapped { object, unwrap, .. }, _) => {
                let json = Json::parse(body)?;
                let command = json.at(&command_of(object))?.map(value_of);
                command.filter(|command| command.as_str().and_then(unwrap).is_some())
            }
            (Entry::Setting { .. }, _) => None,
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The whole file as a value; an empty object for a file without one.
///
/// # Errors
/// [`Refusal`]: the file is not understood.
pub fn read(text: &str, format: Format) -> Result<Value, Refusal> {
    let body = split_bom(text).1;
    Ok(match format {
        Format::Json => Json::parse(body)?.value(),
        Format::Toml => toml::value(&toml::parse(body)?),
    })
}

/// The entries as a file of their own, for a person to copy.
pub fn render(format: Format, entries: &[Entry]) -> String {
    install(None, format, entries).unwrap_or_default()
}

fn status_of(body: &str, format: Format, entries: &[Entry]) -> Result<Presence, Refusal> {
    let mut found = 0;
    for entry in entries {
        let without = take(body, format, entry)?;
        found += usize::from(without != body);
    }
    if found == 0 {
        return Ok(Presence::Absent);
    }
    let mut now = body.to_owned();
    for entry in entries {
        now = put(&now, format, entry)?;
    }
    Ok(if now == body { Presence::Installed } else { Presence::Outdated })
}

fn split_bom(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with(BOM) { BOM.len_utf8() } else { 0 })
}

fn put(text: &str, format: Format, entry: &Entry) -> Result<String, Refusal> {
    match entry {
        Entry::Member { parents, name, value, ours } => {
            let at = || [parents.as_slice(), std::slice::from_ref(name)].concat();
            let current = match format {
                Format::Json => Json::parse(text)?.at(&at())?.map(value_of),
                Format::Toml => toml::get(&toml::parse(text)?, parents, name)?,
            };
            match current {
                Some(current) if merged(&current, value) == current => Ok(text.to_owned()),
                Some(current) if !ours(&current) => Err(Refusal::Foreign(at().join("."))),
                Some(current) if format == Format::Json => {
                    let bare = Json::parse(text)?.without_member(parents, name)?;
                    Json::parse(&bare)?.with_member(parents, name, &merged(&current, value))
                }
                _ => put_member(text, format, parents, name, value),
            }
        }
        Entry::Setting { parents, name, value } => {
            let at = [parents.as_slice(), std::slice::from_ref(name)].concat();
            let there = match format {
                Format::Json => Json::parse(text)?.at(&at)?.is_some(),
                Format::Toml => toml::get(&toml::parse(text)?, parents, name)?.is_some(),
            };
            if there { Ok(text.to_owned()) } else { put_member(text, format, parents, name, value) }
        }
        Entry::Wrapped { object, alone, wrap, unwrap, program } => {
            let json = Json::parse(text)?;
            let at = command_of(object);
            match json.at(object)?.map(value_of) {
                None => put_member(text, format, &object[..object.len() - 1], &object[object.len() - 1], alone),
                Some(_) => {
                    let old = json.at(&at)?.map(value_of).unwrap_or_default();
                    let old = old.as_str().unwrap_or_default();
                    let inner = unwrap(old).unwrap_or_else(|| old.to_owned());
                    let new = wrap(program, &inner);
                    if new == old { Ok(text.to_owned()) } else { json.with_string(&at, &new) }
                }
            }
        }
        Entry::Element { list, value, ours, mark } => {
            let json = Json::parse(text)?;
            if element_is_current(&json, list, value, *ours, mark)? {
                return Ok(text.to_owned());
            }
            let bare = take(text, format, entry)?;
            Json::parse(&bare)?.with_element(list, &value.element())
        }
    }
}

fn put_member(text: &str, format: Format, parents: &[String], name: &str, value: &Value) -> Result<String, Refusal> {
    match format {
        Format::Json => Json::parse(text)?.with_member(parents, name, value),
        Format::Toml => toml::edited(text, |document| toml::set(document, parents, name, value)),
    }
}

/// What stands there, with the members that we want: what somebody added stays.
fn merged(current: &Value, wanted: &Value) -> Value {
    match (current, wanted) {
        (Value::Object(current), Value::Object(wanted)) => {
            let mut all = current.clone();
            all.extend(wanted.clone());
            Value::Object(all)
        }
        _ => wanted.clone(),
    }
}

fn command_of(object: &[String]) -> Vec<String> {
    [object, &["command".to_owned()]].concat()
}

fn take(text: &str, format: Format, entry: &Entry) -> Result<String, Refusal> {
    match entry {
        Entry::Member { parents, name, value, ours } => match format {
            Format::Json => {
                let at = [parents.as_slice(), std::slice::from_ref(name)].concat();
                let json = Json::parse(text)?;
                let found = json.at(&at)?.map(value_of);
                if found.is_some_and(|found| found == *value || ours(&found)) {
                    json.without_member(parents, name)
                } else {
                    Ok(text.to_owned())
                }
            }
            Format::Toml => {
                let found = toml::get(&toml::parse(text)?, parents, name)?;
                if found.is_some_and(|found| found == *value || ours(&found)) {
                    toml::edited(text, |document| {
                        toml::unset(document, parents, name);
                        Ok(())
                    })
                } else {
                    Ok(text.to_owned())
                }
            }
        },
        // Not ours alone: it goes with the file, or stays.
        Entry::Setting { .. } => Ok(text.to_owned()),
        Entry::Wrapped { object, unwrap, .. } => {
            let json = Json::parse(text)?;
            let at = command_of(object);
            let inner = json.at(&at)?.map(value_of).and_then(|old| unwrap(old.as_str()?));
            match inner.as_deref() {
                None => Ok(text.to_owned()),
                Some("") => json.without_member(&object[..object.len() - 1], &object[object.len() - 1]),
                Some(inner) => json.with_string(&at, inner),
            }
        }
        Entry::Element { list, value, ours, mark } => take_elements(text, list, value, *ours, mark),
    }
}

type Ours = fn(&Value, &str) -> bool;

/// Whether exactly one element is ours, and it is what would be put there.
fn element_is_current(
    json: &Json<'_>,
    list: &[String],
    value: &ElementValue,
    ours: Ours,
    mark: &str,
) -> Result<bool, Refusal> {
    let Some(array) = json.list(list)? else { return Ok(false) };
    let elements: Vec<Value> = array.elements.iter().map(value_of).collect();
    let mine: Vec<&Value> =
        elements.iter().filter(|element| hooks_of(element, value).iter().any(|hook| ours(hook, mark))).collect();
    let count: usize =
        mine.iter().map(|element| hooks_of(element, value).iter().filter(|hook| ours(hook, mark)).count()).sum();
    let [element] = mine[..] else { return Ok(false) };
    let same_group = match value {
        ElementValue::Plain(_) => true,
        ElementValue::Grouped { matcher, .. } => element.get("matcher").and_then(Value::as_str) == matcher.as_deref(),
    };
    let wanted = match value {
        ElementValue::Plain(hook) | ElementValue::Grouped { hook, .. } => hook,
    };
    Ok(count == 1 && same_group && hooks_of(element, value).contains(wanted))
}

/// The hooks an element holds: itself, or those of its group.
fn hooks_of(element: &Value, value: &ElementValue) -> Vec<Value> {
    match value {
        ElementValue::Plain(_) => vec![element.clone()],
        ElementValue::Grouped { .. } => element.get("hooks").and_then(Value::as_array).cloned().unwrap_or_default(),
    }
}

/// Takes our elements out; a group that held nothing else goes whole.
fn take_elements(text: &str, list: &[String], value: &ElementValue, ours: Ours, mark: &str) -> Result<String, Refusal> {
    let mut now = text.to_owned();
    loop {
        let next = {
            let json = Json::parse(&now)?;
            let Some(array) = json.list(list)? else { return Ok(now) };
            let mut next = None;
            for (index, element) in array.elements.iter().enumerate() {
                let hooks = hooks_of(&value_of(element), value);
                let Some(hook) = hooks.iter().position(|hook| ours(hook, mark)) else { continue };
                if hooks.len() == 1 {
                    next = Some(json.without_element(array, index));
                } else if let Some(inner) = element.as_object().and_then(|group| group.get_array("hooks")) {
                    next = Some(json.without_element(inner, hook));
                }
                break;
            }
            next
        };
        match next {
            Some(next) => now = next,
            None => return Ok(now),
        }
    }
}

/// The text, then the text without the innermost container of the entry if that is empty, then without the next.
fn pruned(bare: String, entry: &Entry) -> Result<Vec<String>, Refusal> {
    let mut path = match entry {
        Entry::Member { parents, .. } | Entry::Setting { parents, .. } => parents.clone(),
        Entry::Element { list, .. } => list.clone(),
        Entry::Wrapped { .. } => Vec::new(),
    };
    let mut all = vec![bare];
    while let Some(name) = path.last().cloned() {
        let (next, ours) = {
            let now = all.last().map(String::as_str).unwrap_or_default();
            let json = Json::parse(now)?;
            let container = json.at(&path)?;
            let several_lines = container.is_some_and(|container| container.text(now).contains('\n'));
            let container = container.map(value_of);
            path.pop();
            match container {
                None => continue,
                Some(Value::Array(items)) if items.is_empty() => {}
                Some(Value::Object(members)) if members.is_empty() => {}
                Some(_) => break,
            }
            (json.without_member(&path, &name)?, several_lines)
        };
        if ours {
            // Nobody writes nothing over several lines: it is what our own container leaves.
            all.pop();
        }
        all.push(next);
    }
    Ok(all)
}

/// The two texts parse, and differ in nothing but our entries.
fn checked(without: &str, with: &str, format: Format, entries: &[Entry]) -> Result<(), Refusal> {
    let bare = |text: &str| -> Result<Value, Refusal> {
        let mut text = text.to_owned();
        for entry in entries {
            text = match entry {
                Entry::Setting { parents, name, value } if format == Format::Json => {
                    let at = [parents.as_slice(), std::slice::from_ref(name)].concat();
                    let json = Json::parse(&text)?;
                    let same = json.at(&at)?.map(value_of).is_some_and(|found| found == *value);
                    if same { json.without_member(parents, name)? } else { text }
                }
                _ => take(&text, format, entry)?,
            };
            if format == Format::Json {
                text = pruned(text, entry)?.pop().unwrap_or_default();
            }
        }
        match format {
            Format::Json => {
                let json = Json::parse(&text)?;
                let root = json.root()?.map(|root| value_of(&jsonc_parser::ast::Value::Object(root.clone())));
                Ok(root.unwrap_or_else(|| serde_json::json!({})))
            }
            Format::Toml => Ok(toml::edited(&text, |_| Ok(()))?.trim().into()),
        }
    };
    if bare(without)? == bare(with)? { Ok(()) } else { Err(Refusal::Unsafe) }
}
