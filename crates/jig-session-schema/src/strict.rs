//! Reading without leniency: a document as our own writers leave it becomes its record without a tree of values between.
//!
//! `record!` generates one serde visitor a record. It takes only what is plainly of the right type; on anything else it
//! gives up, and the lenient reader decides.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::json::is_too_deep;
use crate::limits::DOCUMENT_BYTES;
use crate::read::{Extent, Read, ReadError, Reading};
use crate::shape::Shape;

/// Reads a document strictly, and leniently when that fails. Both give the same.
pub(crate) fn scan<T: Shape>(bytes: &[u8], extent: Extent) -> Result<Read<T>, ReadError> {
    match strictly(bytes, extent) {
        Some(value) => Ok(Read { value, problems: Vec::new() }),
        None => crate::read::document_of(bytes, extent),
    }
}

/// The record, if there is nothing to forgive.
pub(crate) fn strictly<T: Shape>(bytes: &[u8], extent: Extent) -> Option<T> {
    if bytes.len() > DOCUMENT_BYTES || is_too_deep(bytes) {
        return None;
    }
    // Looked at once as a whole, and not string by string.
    let mut deserializer = serde_json::Deserializer::from_str(std::str::from_utf8(bytes).ok()?);
    let value = T::strict(&mut deserializer, extent).ok()?;
    deserializer.end().ok().map(|()| value)
}

/// A value by way of the lenient reader, which must find nothing wrong with it.
pub(crate) fn by_value<'de, T: Shape, D: Deserializer<'de>>(deserializer: D, extent: Extent) -> Result<T, D::Error> {
    let value = <serde_json::Value as serde::Deserialize>::deserialize(deserializer)?;
    let mut cx = Reading::of(extent);
    T::read(value, &mut cx).filter(|_| cx.is_clean()).ok_or_else(|| D::Error::custom("is not as it should be"))
}

/// A field's key, as whatever the record makes of it.
pub(crate) struct Key<F>(pub(crate) F);

impl<'de, T, F: FnOnce(&str) -> T> DeserializeSeed<'de> for Key<F> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl<T, F: FnOnce(&str) -> T> Visitor<'_> for Key<F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<T, E> {
        Ok((self.0)(key))
    }
}

/// A value that must be there.
pub(crate) struct Required<T>(Extent, PhantomData<T>);

/// A value, or null.
pub(crate) struct OrNull<T>(Extent, PhantomData<T>);

impl<T> Required<T> {
    pub(crate) fn of(extent: Extent) -> Self {
        Self(extent, PhantomData)
    }
}

impl<T> OrNull<T> {
    pub(crate) fn of(extent: Extent) -> Self {
        Self(extent, PhantomData)
    }
}

impl<'de, T: Shape> DeserializeSeed<'de> for Required<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        T::strict(deserializer, self.0)
    }
}

impl<'de, T: Shape + Default> DeserializeSeed<'de> for OrNull<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de, T: Shape + Default> Visitor<'de> for OrNull<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value or null")
    }

    fn visit_unit<E: Error>(self) -> Result<T, E> {
        Ok(T::null())
    }

    fn visit_none<E: Error>(self) -> Result<T, E> {
        Ok(T::null())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        T::strict(deserializer, self.0)
    }
}

/// A list of values.
pub(crate) struct List<T>(Extent, PhantomData<T>);

impl<T> List<T> {
    pub(crate) fn of(extent: Extent) -> Self {
        Self(extent, PhantomData)
    }
}

impl<'de, T: Shape> Visitor<'de> for List<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
        let mut out = Vec::new();
        while let Some(item) = list.next_element_seed(Required::of(self.0))? {
            out.push(item);
        }
        Ok(out)
    }
}

/// A value that nobody asked for. It is parsed and dropped: serde's own way of passing over one would also pass over a
/// number that the lenient reader refuses (`1e400`).
pub(crate) struct Skipped;

impl<'de> Deserialize<'de> for Skipped {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Skipped {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E: Error>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<Self, Self>()?.is_some() {}
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::bus::{Claim, Record};
    use crate::king::KingStatus;
    use crate::status::Status;

    fn status() -> Value {
        json!({
            "schema": 1, "session": "s-1", "pid": 4242, "cwd": "/home/dev/app", "terminal": "%3",
            "terminalFrom": "TMUX_PANE", "agentDir": "/home/dev/.pi/agent",
            "model": { "provider": "acme", "id": "m-2", "name": "M 2", "more": [] }, "thinking": "low", "state": "busy",
            "context": { "tokens": 1050, "window": 200000, "percent": 0.5 },
            "usage": { "input": 1000, "output": 50, "cacheRead": 0, "cacheWrite": 0, "cost": 0.004 },
            "tools": { "active": 4, "total": 5 }, "outputs": [{ "path": "/x", "action": "edited" }], "recent": [],
            "startedAt": "2026-11-29T18:18:47.855Z", "updatedAt": "2026-11-29T18:18:48.000Z",
            "agent": { "name": "pi", "version": "1.6.0" }, "name": "billing",
            "process": { "start": "linux:77", "bootId": "b", "pidNamespace": "4026531836", "machine": "00", "shared": true },
            "attention": { "reason": "approval", "since": "2026-11-29T18:18:48.000Z" }, "stateFrom": "hook:Stop",
            "stateAt": "2026-11-29T18:18:48.000Z", "background": 2, "tmuxPane": "%3", "tmuxSocket": "/tmp/t",
            "publisher": { "pid": 7, "start": "linux:78" }, "transcript": "/t.jsonl", "later": { "deep": [1] },
        })
    }

    fn card() -> Value {
        json!({
            "formatVersion": 1, "id": "k-1", "name": "billing", "cwd": "/a", "project": "a", "model": "m", "pid": 4242,
            "startedAt": 1_795_974_219_108.073_5, "lastActivity": 1_795_974_300_000_i64, "status": "idle",
            "activity": "x", "title": "t", "sessionFile": "/t.jsonl", "visible": true, "contextPct": 12.5, "isFork": false,
            "subagents": [{ "id": "a", "description": "d", "status": "running", "startedAt": 1 }], "later": 7,
        })
    }

    fn record() -> Value {
        let at = "2026-11-29T18:18:48.000Z";
        json!({
            "schema": 1, "id": "s-1", "label": "billing", "labelFrom": "given", "agent": "pi", "model": "m-2",
            "pid": 4242, "process": { "start": "linux:77", "bootId": "b", "later": {} }, "owner": "0123456789abcdef",
            "cwd": "/home/dev/app", "root": "/home/dev/app", "branch": "main", "listen": { "mode": "next", "since": at },
            "guard": true, "joinedAt": at, "beatAt": at, "beatMono": 7, "beat": "timer", "later": [1],
        })
    }

    fn claim() -> Value {
        json!({
            "schema": 1, "path": "src/a.rs", "dir": false, "id": "s-1", "owner": "0123456789abcdef", "label": "billing",
            "reason": "the \"parser\"", "claimedAt": "2026-11-29T18:18:48.000Z", "root": "/home/dev/app",
        })
    }

    /// Both readers say the same of a text.
    fn agree<T: Shape + PartialEq + fmt::Debug>(text: &str, extent: Extent) {
        let lenient = crate::read::document_of::<T>(text.as_bytes(), extent);
        if let Some(strict) = strictly::<T>(text.as_bytes(), extent) {
            assert_eq!(Ok(Read { value: strict, problems: Vec::new() }), lenient, "{text}");
        }
    }

    fn all_agree(text: &str) {
        for extent in [Extent::Whole, Extent::Listed] {
            agree::<Status>(text, extent);
            agree::<KingStatus>(text, extent);
            agree::<Record>(text, extent);
            agree::<Claim>(text, extent);
        }
    }

    #[test]
    fn a_plain_file_is_taken_without_the_lenient_reader() {
        let text = |document: Value| document.to_string().into_bytes();
        assert!(strictly::<Status>(&text(status()), Extent::Whole).is_some());
        assert!(strictly::<Status>(&text(status()), Extent::Listed).is_some());
        assert!(strictly::<KingStatus>(&text(card()), Extent::Listed).is_some());
        assert!(strictly::<Record>(&text(record()), Extent::Whole).is_some());
        assert!(strictly::<Claim>(&text(claim()), Extent::Whole).is_some());
    }

    #[test]
    fn a_listing_has_the_marked_fields_and_nothing_unknown() {
        let listed = Status::scan(status().to_string().as_bytes()).expect("a status").value;
        assert_eq!((listed.name.as_deref(), listed.background), (Some("billing"), Some(2)));
        assert!(listed.outputs.is_empty() && listed.transcript.is_none() && listed.thinking.is_none());
        assert!(listed.unknown.fields().is_empty() && listed.model.expect("a model").unknown.fields().is_empty());
    }

    /// Each field in turn gets each odd value, at the top and one level down.
    #[test]
    fn both_ways_agree_on_every_odd_field() {
        for document in [status(), card(), record(), claim()] {
            odd_changes(&document).iter().for_each(|text| all_agree(text));
        }
        for text in [
            "",
            "[]",
            "{}",
            "null",
            "[1,\"s\"]",
            "{\"schema\":1,\"session\":\"a\",\"session\":\"b\"}",
            "{\"schema\":1,\"schema\":2,\"session\":\"a\"}",
            "{\"schema\":2,\"session\":\"a\"}",
            "{\"session\":\"a\"}",
            "{\"schema\":1,\"s\\u0065ssion\":\"a\"}",
            "{\"schema\":1,\"session\":\"a\\ud83d\"}",
            "{\"schema\":1,\"session\":\"a\",\"later\":\"a\\ud83d\"}",
            "{\"schema\":1,\"session\":\"a\"} x",
            "\u{feff}{\"schema\":1,\"session\":\"a\"}",
        ] {
            all_agree(text);
        }
        for number in
            ["1e400", "-1e400", "1E57474399948", "1e-400", "-0", "-0.0", &"9".repeat(400), "18446744073709551616"]
        {
            for place in
                ["\"later\":N", "\"outputs\":[N]", "\"model\":{\"id\":\"m\",\"later\":[{\"x\":N}]}", "\"pid\":N"]
            {
                all_agree(&format!("{{\"schema\":1,\"session\":\"a\",{}}}", place.replace('N', number)));
            }
        }
        for depth in 50..70 {
            let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            all_agree(&format!("{{\"schema\":1,\"session\":\"a\",\"later\":{deep}}}"));
            all_agree(&format!("{{\"schema\":1,\"session\":\"a\",\"model\":{{\"id\":\"m\",\"later\":{deep}}}}}"));
        }
    }

    /// A document in which each field in turn is left out or has each of many odd values.
    fn odd_changes(document: &Value) -> Vec<String> {
        let odd = [
            json!(null),
            json!(true),
            json!(-1),
            json!(0),
            json!(1),
            json!(2),
            json!(1.0),
            json!(1.5),
            json!(9_007_199_254_740_992_u64),
            json!(4_294_967_296_u64),
            json!(""),
            json!("1"),
            json!("x".repeat(129)),
            json!("2026-11-29T18:18:47Z"),
            json!([]),
            json!([7]),
            json!(["acme", "m-2", "M 2"]),
            json!([{ "id": "a", "description": "d", "status": "running", "startedAt": 1 }]),
            json!({}),
            json!({ "id": "m" }),
            json!({ "name": 7 }),
            json!({ "mode": "wake" }),
            json!({ "reason": "x" }),
            json!({ "tokens": -1 }),
            json!({ "cost": "free" }),
        ];
        let mut changed = Vec::new();
        let mut change = |place: &dyn Fn(&mut Value) -> Option<&mut serde_json::Map<String, Value>>| {
            let mut copy = document.clone();
            let keys: Vec<String> = place(&mut copy).into_iter().flat_map(|map| map.keys().cloned()).collect();
            for key in keys {
                for value in odd.iter().map(Some).chain([None]) {
                    let mut copy = document.clone();
                    if let Some(map) = place(&mut copy) {
                        match value {
                            Some(value) => drop(map.insert(key.clone(), value.clone())),
                            None => drop(map.remove(&key)),
                        }
                    }
                    changed.push(copy.to_string());
                }
            }
        };
        change(&|copy| copy.as_object_mut());
        for key in document.as_object().into_iter().flat_map(|map| map.keys()) {
            change(&|copy| copy.get_mut(key)?.as_object_mut());
        }
        changed
    }
}
