//! The quick way to a row's fields: the rest of the file is skipped, not parsed.
//!
//! A listing of a thousand sessions reads a thousand files of which it shows twenty fields. This reader takes only what
//! is plainly well-formed; on anything else it steps aside for the lenient one, so both always agree.

use crate::king::{EpochMs, KingState, KingStatus};
use crate::limits::{COUNT_MAX, DOCUMENT_BYTES};
use crate::read::{Read, ReadError};
use crate::row::Summary;
use crate::shape::Unknown;
use crate::skim::{Odd, Text};
use crate::status::{Agent, Attention, Context, Model, Process, Usage};
use crate::time::Timestamp;

impl Summary {
    /// Reads a status file's summary: what [`Summary::read`] gives, without the fields that are not in it, and faster.
    ///
    /// # Errors
    /// As [`Summary::read`].
    pub fn scan(bytes: &[u8]) -> Result<Read<Self>, ReadError> {
        if bytes.len() <= DOCUMENT_BYTES
            && let Ok(value) = Text::new(bytes).and_then(Self::take)
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

/// A field's value in the one form that needs no leniency.
trait Field: Sized {
    /// Takes the value.
    fn take(value: Text<'_>) -> Result<Self, Odd>;
}

impl<T: Field> Field for Option<T> {
    fn take(value: Text<'_>) -> Result<Self, Odd> {
        if value.as_str() == "null" { Ok(None) } else { T::take(value).map(Some) }
    }
}

macro_rules! fields {
    ($( $Ty:ty, $value:ident => $taken:expr; )*) => {
        $( impl Field for $Ty {
            fn take($value: Text<'_>) -> Result<Self, Odd> {
                $taken.ok_or(Odd)
            }
        } )*
    };
}

fields! {
    // Escapes are left to the parser; a lone surrogate is one of its errors.
    String, value => value.string().map(str::to_owned).or_else(|| serde_json::from_str(value.as_str()).ok());
    f64, value => serde_json::from_str(value.as_str()).ok();
    bool, value => match value.as_str() { "true" => Some(true), "false" => Some(false), _ => None };
    u64, value => value.as_str().parse().ok().filter(|count| *count <= COUNT_MAX);
    // A process id.
    u32, value => value.as_str().parse().ok().filter(|pid| (1..=i32::MAX.unsigned_abs()).contains(pid));
    One, value => (value.as_str() == "1").then_some(Self);
    Empty, value => (value.as_str() == "[]").then_some(Self);
    EpochMs, value => f64::take(value).ok().map(EpochMs);
    KingState, value => value.string().and_then(Self::lent);
    Timestamp, value => value.string().and_then(Self::parse);
    crate::status::State, value => value.string().and_then(Self::parse);
    crate::status::AgentName, value => value.string().and_then(Self::lent);
    crate::status::Reason, value => value.string().and_then(Self::lent);
    crate::status::StateFrom, value => value.string().and_then(Self::lent);
}

/// The version of a format, which must be the number 1.
struct One;

/// A list that must be empty.
struct Empty;

/// Declares a quick reader of an object: only the named fields are parsed, those in `checks` for their value alone.
macro_rules! quick {
    ($Ty:ident, requires [$($required:ident),*], checks [$( $check:ident: $Check:ty = $check_key:literal ),*],
     { $( $field:ident = $key:literal ,)* }) => {
        impl Field for $Ty {
            fn take(text: Text<'_>) -> Result<Self, Odd> {
                $( let mut $field = None; )*
                $( let mut $check: Option<$Check> = None; )*
                text.fields(|key, value| match key.unescaped().ok_or(Odd)? {
                    $( $key => set(&mut $field, value), )*
                    $( $check_key => set(&mut $check, value), )*
                    _ => Ok(()),
                })?;
                let complete = true $(&& $required.is_some())*;
                if !complete {
                    return Err(Odd);
                }
                let mut out = Self::default();
                $( if let Some(value) = $field {
                    out.$field = value;
                } )*
                Ok(out)
            }
        }
    };
}

/// Takes one field's value. Of two equal keys the last one counts: the lenient reader knows how.
fn set<F: Field>(place: &mut Option<F>, value: Text<'_>) -> Result<(), Odd> {
    if place.is_some() {
        return Err(Odd);
    }
    *place = Some(F::take(value)?);
    Ok(())
}

quick!(Summary, requires [session, version], checks [version: One = "schema"], {
    session = "session", pid = "pid", cwd = "cwd", terminal = "terminal", terminal_from = "terminalFrom",
    agent_dir = "agentDir", model = "model", state = "state", context = "context", usage = "usage",
    started_at = "startedAt", updated_at = "updatedAt", agent = "agent", name = "name", process = "process",
    attention = "attention", state_from = "stateFrom", state_at = "stateAt", background = "background",
    tmux_pane = "tmuxPane", tmux_socket = "tmuxSocket", transcript = "transcript",
});
// A pi-king card without what no listing shows.
quick!(KingStatus, requires [id, version], checks [version: One = "formatVersion", subagents: Empty = "subagents"], {
    id = "id", name = "name", cwd = "cwd", model = "model", pid = "pid", started_at = "startedAt",
    last_activity = "lastActivity", status = "status", session_file = "sessionFile", visible = "visible",
    context_pct = "contextPct",
});
quick!(Model, requires [id], checks [], { provider = "provider", id = "id", name = "name", });
quick!(Agent, requires [name], checks [], { name = "name", version = "version", });
quick!(Process, requires [], checks [], {
    start = "start", boot_id = "bootId", pid_namespace = "pidNamespace", machine = "machine", shared = "shared",
});
quick!(Attention, requires [reason], checks [], { reason = "reason", since = "since", });
quick!(Context, requires [], checks [], { tokens = "tokens", window = "window", percent = "percent", });
quick!(Usage, requires [], checks [], {
    input = "input", output = "output", cache_read = "cacheRead", cache_write = "cacheWrite", cost = "cost",
});

impl KingStatus {
    /// Reads a card's summary: what [`KingStatus::read`] gives, without `project`, `activity`, `title`,
    /// `startupFingerprint`, `isFork` and fields this version does not know, and faster.
    ///
    /// # Errors
    /// As [`KingStatus::read`].
    pub fn scan(bytes: &[u8]) -> Result<Read<Self>, ReadError> {
        if bytes.len() <= DOCUMENT_BYTES
            && let Ok(value) = Text::new(bytes).and_then(Self::take)
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
        let quick = Text::new(text.as_bytes()).and_then(Summary::take).expect("the quick way");
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
        let text = card.to_string();
        assert!(Text::new(text.as_bytes()).and_then(KingStatus::take).is_ok());
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
