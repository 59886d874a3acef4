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
use crate::status::{Agent, AgentName, Attention, Context, Model, Process, Reason, State, StateFrom, Usage};
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

/// A value in the one form that needs no leniency.
trait Field: Sized {
    /// Takes the value that begins at an index, and gives the index after it.
    fn take(text: Text<'_>, at: usize) -> Result<(Self, usize), Odd>;
}

impl<T: Field> Field for Option<T> {
    fn take(text: Text<'_>, at: usize) -> Result<(Self, usize), Odd> {
        if text.is_null(at) {
            let (_, end) = text.value(at)?;
            return Ok((None, end));
        }
        T::take(text, at).map(|(value, end)| (Some(value), end))
    }
}

impl Field for String {
    fn take(text: Text<'_>, at: usize) -> Result<(Self, usize), Odd> {
        let (string, end) = text.string(at)?;
        let value = match text.unescaped(string) {
            Some(string) => string.to_owned(),
            // Escapes are left to the parser; a lone surrogate is one of its errors.
            None => serde_json::from_str(text.value(at)?.0).map_err(|_| Odd)?,
        };
        Ok((value, end))
    }
}

/// Values that are told by how they are written.
macro_rules! written {
    ($( $Ty:ty, $value:ident => $taken:expr; )*) => {
        $( impl Field for $Ty {
            fn take(text: Text<'_>, at: usize) -> Result<(Self, usize), Odd> {
                let ($value, end) = text.value(at)?;
                Ok(($taken.ok_or(Odd)?, end))
            }
        } )*
    };
}

written! {
    f64, value => serde_json::from_str(value).ok();
    bool, value => match value { "true" => Some(true), "false" => Some(false), _ => None };
    u64, value => value.parse().ok().filter(|count| *count <= COUNT_MAX);
    // A process id.
    u32, value => value.parse().ok().filter(|pid| (1..=i32::MAX.unsigned_abs()).contains(pid));
    EpochMs, value => serde_json::from_str(value).ok().map(EpochMs);
    One, value => (value == "1").then_some(One);
    Empty, value => (value == "[]").then_some(Empty);
}

/// Values that are told by what a string says.
macro_rules! said {
    ($( $Ty:ty, $parse:expr; )*) => {
        $( impl Field for $Ty {
            fn take(text: Text<'_>, at: usize) -> Result<(Self, usize), Odd> {
                let (string, end) = text.string(at)?;
                let value = text.unescaped(string).and_then($parse).ok_or(Odd)?;
                Ok((value, end))
            }
        } )*
    };
}

said! {
    Timestamp, Timestamp::parse;
    KingState, KingState::lent;
    State, State::parse;
    AgentName, AgentName::lent;
    Reason, Reason::lent;
    StateFrom, StateFrom::lent;
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
            fn take(text: Text<'_>, at: usize) -> Result<(Self, usize), Odd> {
                $( let mut $field = None; )*
                $( let mut $check: Option<$Check> = None; )*
                let end = text.fields(at, |key, at| match text.unescaped(key).ok_or(Odd)? {
                    $( $key => set(&mut $field, text, at), )*
                    $( $check_key => set(&mut $check, text, at), )*
                    _ => Ok(text.value(at)?.1),
                })?;
                let complete = true $(&& $required.is_some())*;
                if !complete {
                    return Err(Odd);
                }
                let mut out = Self::default();
                $( if let Some(value) = $field {
                    out.$field = value;
                } )*
                Ok((out, end))
            }
        }
    };
}

/// Takes one field's value. Of two equal keys the last one counts: the lenient reader knows how.
fn set<F: Field>(place: &mut Option<F>, text: Text<'_>, at: usize) -> Result<usize, Odd> {
    if place.is_some() {
        return Err(Odd);
    }
    let (value, end) = F::take(text, at)?;
    *place = Some(value);
    Ok(end)
}

/// Reads a whole file.
fn quick<T: Field>(bytes: &[u8]) -> Result<T, Odd> {
    let text = Text::new(bytes)?;
    let (value, end) = T::take(text, 0)?;
    text.end(end).map(|()| value)
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
            && let Ok(value) = quick(bytes)
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
        let quick = quick::<Summary>(text.as_bytes()).expect("the quick way");
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

    #[test]
    fn both_ways_agree_on_depth() {
        for depth in 50..70 {
            let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            compare(&format!("{{\"schema\":1,\"session\":\"a\",\"later\":{deep}}}"));
            compare(&format!("{{\"schema\":1,\"session\":\"a\",\"model\":{{\"id\":\"m\",\"later\":{deep}}}}}"));
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
        assert!(quick::<KingStatus>(text.as_bytes()).is_ok());
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
