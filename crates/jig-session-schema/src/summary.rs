//! The quick way to a row's fields: the rest of the file is skipped, not parsed.
//!
//! A listing of a thousand sessions reads a thousand files of which it shows twenty fields. This reader takes only what
//! is plainly well-formed; on anything else it steps aside for the lenient one, so both always agree.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use crate::king::{EpochMs, KingState, KingStatus};
use crate::limits::{COUNT_MAX, DOCUMENT_BYTES};
use crate::read::{Read, ReadError};
use crate::row::Summary;
use crate::shape::Unknown;
use crate::skim::{self, Odd};
use crate::status::{Agent, Attention, Context, Model, Process, Usage};
use crate::time::Timestamp;

impl Summary {
    /// Reads a status file's summary: what [`Summary::read`] gives, without the fields that are not in it, and faster.
    ///
    /// # Errors
    /// As [`Summary::read`].
    pub fn scan(bytes: &[u8]) -> Result<Read<Self>, ReadError> {
        if bytes.len() <= DOCUMENT_BYTES
            && let Ok(value) = quick(bytes)
        {
            return Ok(Read { value, problems: Vec::new() });
        }
        let mut read = Self::read(bytes)?;
        read.value.forget_unknown();
        Ok(read)
    }

    /// A listing prints the contract's fields and nothing else.
    fn forget_unknown(&mut self) {
        let nested = [
            Some(&mut self.unknown),
            self.model.as_mut().map(|model| &mut model.unknown),
            self.agent.as_mut().map(|agent| &mut agent.unknown),
            self.process.as_mut().map(|process| &mut process.unknown),
            self.attention.as_mut().map(|attention| &mut attention.unknown),
            Some(&mut self.context.unknown),
            Some(&mut self.usage.unknown),
        ];
        nested.into_iter().flatten().for_each(|unknown| *unknown = Unknown::default());
    }
}

/// A value in the one plain form that needs no leniency.
struct Plain<T>(T);

/// What can be taken from the stream without leniency.
trait Quick: Sized {
    /// The fields by their names; any other key is skipped.
    fn take<'de, M: MapAccess<'de>>(map: M) -> Result<Self, M::Error>;
}

struct Fields<T>(PhantomData<T>);

impl<'de, T: Quick> Visitor<'de> for Fields<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    // Only a map: a derived reader would take a list for an object.
    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<T, M::Error> {
        T::take(map)
    }
}

impl<'de, T: Quick> Deserialize<'de> for Plain<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields(PhantomData)).map(Self)
    }
}

/// A key, borrowed from the text where it holds no escape.
struct Key<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Key<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// A count that every JSON reader holds exactly.
struct Count(u64);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let count = u64::deserialize(deserializer)?;
        if count > COUNT_MAX { Err(D::Error::custom("too large")) } else { Ok(Self(count)) }
    }
}

/// A process id in its range.
struct Pid(u32);

impl<'de> Deserialize<'de> for Pid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let pid = i32::deserialize(deserializer)?;
        u32::try_from(pid).ok().filter(|pid| *pid > 0).map(Self).ok_or_else(|| D::Error::custom("no process id"))
    }
}

/// The plain form of a field's type.
trait Field: Sized {
    type Form: for<'de> Deserialize<'de>;
    fn from(form: Self::Form) -> Self;
}

macro_rules! fields {
    ($( $Ty:ty, $Form:ty, $form:ident => $value:expr; )*) => {
        $( impl Field for $Ty {
            type Form = $Form;
            fn from($form: $Form) -> Self {
                $value
            }
        } )*
    };
}

fields! {
    String, Self, text => text;
    Option<String>, Self, text => text;
    Option<f64>, Self, number => number;
    bool, Self, flag => flag;
    Option<EpochMs>, Option<f64>, number => number.map(EpochMs);
    KingState, Self, state => state;
    Option<bool>, Self, flag => flag;
    Option<Timestamp>, Self, time => time;
    Option<u64>, Option<Count>, count => count.map(|count| count.0);
    Option<u32>, Option<Pid>, pid => pid.map(|pid| pid.0);
    crate::status::State, Self, state => state;
    crate::status::AgentName, Self, name => name;
    crate::status::Reason, Self, reason => reason;
    Option<crate::status::StateFrom>, Self, from => from;
    Option<Model>, Option<Plain<Model>>, plain => plain.map(|plain| plain.0);
    Option<Agent>, Option<Plain<Agent>>, plain => plain.map(|plain| plain.0);
    Option<Process>, Option<Plain<Process>>, plain => plain.map(|plain| plain.0);
    Option<Attention>, Option<Plain<Attention>>, plain => plain.map(|plain| plain.0);
    Context, Plain<Self>, plain => plain.0;
    Usage, Plain<Self>, plain => plain.0;
}

macro_rules! quick {
    ($Ty:ident, requires [$($required:ident),*], { $( $field:ident = $key:literal ,)* }) => {
        impl Quick for $Ty {
            fn take<'de, M: MapAccess<'de>>(mut map: M) -> Result<Self, M::Error> {
                $( let mut $field = None; )*
                while let Some(Key(key)) = map.next_key()? {
                    match &*key {
                        $( $key => {
                            // Of two equal keys the last one counts: the lenient reader knows how.
                            if $field.is_some() {
                                return Err(M::Error::custom("twice the same key"));
                            }
                            $field = Some(map.next_value()?);
                        } )*
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                let complete = true $(&& $required.is_some())*;
                if !complete {
                    return Err(M::Error::custom("incomplete"));
                }
                let mut out = Self::default();
                $( if let Some(form) = $field {
                    out.$field = Field::from(form);
                } )*
                Ok(out)
            }
        }
    };
}

/// Takes one field's value. Of two equal keys the last one counts: the lenient reader knows how.
fn set<F: serde::de::DeserializeOwned>(place: &mut Option<F>, value: &[u8]) -> Result<(), Odd> {
    if place.is_some() {
        return Err(Odd);
    }
    *place = Some(serde_json::from_slice(value).map_err(|_| Odd)?);
    Ok(())
}

/// Declares a quick reader of a whole file: only the named fields are parsed. A list that is named `empty` must be it.
macro_rules! top {
    ($(#[$about:meta])* $quick:ident: $Ty:ident, $version:literal is 1, requires $required:ident $(, empty $empty:literal)?,
     { $( $field:ident = $key:literal ,)* }) => {
        $(#[$about])*
        fn $quick(bytes: &[u8]) -> Result<$Ty, Odd> {
            $( let mut $field = None; )*
            let mut version: Option<u8> = None;
            skim::fields(bytes, |key, value| match key {
                $( $key => set(&mut $field, value), )*
                $version => set(&mut version, value),
                $( $empty => if value == b"[]" { Ok(()) } else { Err(Odd) }, )?
                // A key in another spelling may be one of these.
                _ if key.contains(&b'\\') => Err(Odd),
                _ => Ok(()),
            })?;
            if $required.is_none() || version != Some(1) {
                return Err(Odd);
            }
            let mut out = $Ty::default();
            $( if let Some(form) = $field {
                out.$field = Field::from(form);
            } )*
            Ok(out)
        }
    };
}

top!(
    /// A status file's summary.
    quick: Summary, b"schema" is 1, requires session, {
    session = b"session", pid = b"pid", cwd = b"cwd", terminal = b"terminal", terminal_from = b"terminalFrom",
    agent_dir = b"agentDir", model = b"model", state = b"state", context = b"context", usage = b"usage",
    started_at = b"startedAt", updated_at = b"updatedAt", agent = b"agent", name = b"name", process = b"process",
    attention = b"attention", state_from = b"stateFrom", state_at = b"stateAt", background = b"background",
    tmux_pane = b"tmuxPane", tmux_socket = b"tmuxSocket", transcript = b"transcript",
});
top!(
    /// A pi-king card without what no listing shows.
    quick_card: KingStatus, b"formatVersion" is 1, requires id, empty b"subagents", {
    id = b"id", name = b"name", cwd = b"cwd", model = b"model", pid = b"pid", started_at = b"startedAt",
    last_activity = b"lastActivity", status = b"status", session_file = b"sessionFile", visible = b"visible",
    context_pct = b"contextPct",
});

impl KingStatus {
    /// Reads a card's summary: what [`KingStatus::read`] gives, without `project`, `activity`, `title`,
    /// `startupFingerprint`, `isFork` and fields this version does not know, and faster.
    ///
    /// # Errors
    /// As [`KingStatus::read`].
    pub fn scan(bytes: &[u8]) -> Result<Read<Self>, ReadError> {
        if bytes.len() <= DOCUMENT_BYTES
            && let Ok(value) = quick_card(bytes)
        {
            return Ok(Read { value, problems: Vec::new() });
        }
        let mut read = Self::read(bytes)?;
        let card = &mut read.value;
        (card.project, card.activity, card.title) = (None, None, None);
        (card.startup_fingerprint, card.is_fork, card.unknown) = (None, None, Unknown::default());
        Ok(read)
    }
}

quick!(Model, requires [id], { provider = "provider", id = "id", name = "name", });
quick!(Agent, requires [name], { name = "name", version = "version", });
quick!(Process, requires [], {
    start = "start", boot_id = "bootId", pid_namespace = "pidNamespace", machine = "machine", shared = "shared",
});
quick!(Attention, requires [reason], { reason = "reason", since = "since", });
quick!(Context, requires [], { tokens = "tokens", window = "window", percent = "percent", });
quick!(Usage, requires [], {
    input = "input", output = "output", cache_read = "cacheRead", cache_write = "cacheWrite", cost = "cost",
});

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// The lenient reader's summary, without what is not in it.
    fn slow(bytes: &[u8]) -> Result<Read<Summary>, ReadError> {
        let mut read = Summary::read(bytes)?;
        read.value.forget_unknown();
        Ok(read)
    }

    fn full() -> Value {
        json!({
            "schema": 1, "session": "s-1", "pid": 4242, "cwd": "/home/dev/app", "terminal": "%3",
            "terminalFrom": "TMUX_PANE", "agentDir": "/home/dev/.pi/agent",
            "model": { "provider": "acme", "id": "m-2", "name": "M 2", "more": [] }, "thinking": "low", "state": "busy",
            "context": { "tokens": 1050, "window": 200000, "percent": 0.5 },
            "usage": { "input": 1000, "output": 50, "cacheRead": 0, "cacheWrite": 0, "cost": 0.004 },
            "tools": { "active": 4, "total": 5 }, "outputs": [{ "path": "/x" }], "recent": [],
            "startedAt": "2026-11-29T18:18:47.855Z", "updatedAt": "2026-11-29T18:18:48.000Z",
            "agent": { "name": "pi", "version": "1.6.0" }, "name": "billing",
            "process": { "start": "linux:77", "bootId": "b", "pidNamespace": "4026531836", "machine": "00", "shared": true },
            "attention": { "reason": "approval", "since": "2026-11-29T18:18:48.000Z" }, "stateFrom": "hook:Stop",
            "stateAt": "2026-11-29T18:18:48.000Z", "background": 2, "tmuxPane": "%3", "tmuxSocket": "/tmp/t",
            "transcript": "/t.jsonl", "later": { "deep": [1] },
        })
    }

    #[test]
    fn a_plain_file_is_taken_without_the_lenient_reader() {
        let text = full().to_string();
        let quick = quick(text.as_bytes()).expect("the quick way");
        assert_eq!(quick, slow(text.as_bytes()).expect("the lenient way").value);
    }

    /// Each field in turn gets each odd value, at the top and one level down; both readers must say the same.
    #[test]
    fn both_ways_agree_on_every_odd_field() {
        let odd = [
            json!(null),
            json!(true),
            json!(-1),
            json!(0),
            json!(1),
            json!(1.0),
            json!(1.5),
            json!(9_007_199_254_740_992_u64),
            json!(4_294_967_296_u64),
            json!(""),
            json!("x".repeat(129)),
            json!("2026-11-29T18:18:47Z"),
            json!([]),
            json!(["acme", "m-2", "M 2"]),
            json!({}),
            json!({ "id": "m" }),
            json!({ "name": 7 }),
            json!({ "reason": "x" }),
            json!({ "tokens": -1 }),
            json!({ "cost": "free" }),
        ];
        let document = full();
        let keys: Vec<String> = document.as_object().expect("an object").keys().cloned().collect();
        let mut compared = 0;
        for key in &keys {
            for value in &odd {
                let mut changed = document.clone();
                changed[key] = value.clone();
                compare(&changed.to_string());
                if let Some(inner) = document[key].as_object() {
                    for inner_key in inner.keys() {
                        let mut changed = document.clone();
                        changed[key][inner_key] = value.clone();
                        compare(&changed.to_string());
                        compared += 1;
                    }
                }
                compared += 1;
            }
            let mut without = document.clone();
            without.as_object_mut().expect("an object").remove(key);
            compare(&without.to_string());
        }
        assert!(compared > 800, "{compared}");
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
            "{\"schema\":1,\"session\":\"a\"} x",
            "\u{feff}{\"schema\":1,\"session\":\"a\"}",
        ] {
            compare(text);
        }
    }

    /// Each field of a card in turn gets each odd value; both readers must say the same of what a listing shows.
    #[test]
    fn both_ways_agree_on_every_odd_card() {
        let card = json!({
            "formatVersion": 1, "id": "k-1", "name": "billing", "cwd": "/a", "project": "a", "model": "m", "pid": 4242,
            "startedAt": 1_795_974_219_108.073_5, "lastActivity": 1_795_974_300_000_i64, "status": "idle",
            "activity": "a\nb", "title": "t", "sessionFile": "/t.jsonl", "subagents": [], "visible": true,
            "contextPct": 12, "startupFingerprint": "2f3e29980346b92c", "isFork": false, "later": [1],
        });
        assert!(quick_card(card.to_string().as_bytes()).is_ok());
        let odd = [
            json!(null),
            json!(true),
            json!(false),
            json!(-1),
            json!(0),
            json!(1),
            json!(1.0),
            json!(1.5),
            json!("1"),
            json!(2),
            json!(""),
            json!("x".repeat(129)),
            json!([]),
            json!({}),
            json!(4_294_967_296_u64),
            json!([{ "id": "a", "description": "d", "status": "running", "startedAt": 1 }]),
            json!([7]),
        ];
        let compare = |text: &str| {
            let read = |read: Result<Read<KingStatus>, ReadError>| {
                let bad_pid = |read: &Read<KingStatus>| read.problems.iter().any(|field| field.pointer == "/pid");
                read.map(|read| (bad_pid(&read), read.value))
            };
            let lenient = read(KingStatus::read(text.as_bytes())).map(|(bad_pid, mut card)| {
                (card.project, card.activity, card.title) = (None, None, None);
                (card.startup_fingerprint, card.is_fork, card.unknown) = (None, None, Unknown::default());
                (bad_pid, card)
            });
            assert_eq!(read(KingStatus::scan(text.as_bytes())), lenient, "{text}");
        };
        for key in card.as_object().expect("an object").keys() {
            for value in &odd {
                let mut changed = card.clone();
                changed[key] = value.clone();
                compare(&changed.to_string());
            }
            let mut without = card.clone();
            without.as_object_mut().expect("an object").remove(key);
            compare(&without.to_string());
        }
    }

    fn compare(text: &str) {
        assert_eq!(Summary::scan(text.as_bytes()), slow(text.as_bytes()), "{text}");
    }
}
