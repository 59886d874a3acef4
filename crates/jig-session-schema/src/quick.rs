//! Reading without leniency: a file as our own writers leave it becomes its record without a tree of values between.
//!
//! This reader takes only what is plainly well-formed and of the right type; on anything else it steps aside for the
//! lenient one, so both always agree.

use crate::bus::{Beat, IdFrom, LabelFrom, ListenMode};
use crate::king::{EpochMs, KingState};
use crate::limits::{COUNT_MAX, DOCUMENT_BYTES};
use crate::quotes::Quotes;
use crate::skim::{Odd, Text};
use crate::status::{AgentName, Reason, State, StateFrom};
use crate::time::Timestamp;

/// A value in the one form that needs no leniency.
pub(crate) trait Field: Default {
    /// Becomes the value that begins at an index, and gives the index after it.
    fn fill(&mut self, text: Text<'_>, at: usize) -> Result<usize, Odd>;
}

impl<T: Field> Field for Option<T> {
    fn fill(&mut self, text: Text<'_>, at: usize) -> Result<usize, Odd> {
        if text.is_null(at) {
            return text.skip(at);
        }
        self.insert(T::default()).fill(text, at)
    }
}

impl Field for String {
    fn fill(&mut self, text: Text<'_>, at: usize) -> Result<usize, Odd> {
        let (string, end) = text.string(at)?;
        *self = match text.unescaped(string) {
            Some(string) => string.to_owned(),
            // Escapes are left to the parser; a lone surrogate is one of its errors.
            None => serde_json::from_str(text.value(at)?.0).map_err(|_| Odd)?,
        };
        Ok(end)
    }
}

/// Values that are told by how they are written.
macro_rules! written {
    ($( $Ty:ty, $value:ident => $taken:expr; )*) => {
        $( impl Field for $Ty {
            fn fill(&mut self, text: Text<'_>, at: usize) -> Result<usize, Odd> {
                let ($value, end) = text.value(at)?;
                *self = $taken.ok_or(Odd)?;
                Ok(end)
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
            fn fill(&mut self, text: Text<'_>, at: usize) -> Result<usize, Odd> {
                let (string, end) = text.string(at)?;
                *self = text.unescaped(string).and_then($parse).ok_or(Odd)?;
                Ok(end)
            }
        } )*
    };
}

said! {
    Timestamp, Timestamp::parse;
    IdFrom, IdFrom::lent; LabelFrom, LabelFrom::lent;
    ListenMode, ListenMode::parse;
    Beat, Beat::parse;
    KingState, KingState::lent;
    State, State::parse;
    AgentName, AgentName::lent;
    Reason, Reason::lent;
    StateFrom, StateFrom::lent;
}

/// The version of a format, which must be the number 1.
#[derive(Default)]
pub(crate) struct One;

/// A list that must be empty.
#[derive(Default)]
pub(crate) struct Empty;

/// Declares a quick reader of an object. The fields in `checks` are read for their value alone; `others` are skipped, or
/// kept, which only the lenient reader does.
macro_rules! quick {
    ($Ty:ident, requires [$($required:ident),*], checks [$( $check:ident: $Check:ty = $check_key:literal ),*],
     others $others:ident, { $( $field:ident = $key:literal ,)* }) => {
        impl $crate::quick::Field for $Ty {
            fn fill(&mut self, text: $crate::skim::Text<'_>, at: usize) -> Result<usize, $crate::skim::Odd> {
                use $crate::quick::once;
                use $crate::skim::Odd;
                #[allow(non_camel_case_types)]
                enum Place { $( $field, )* $( $check, )* }
                let mut seen = 0_u32;
                let end = text.fields(at, |key, at| match text.unescaped(key).ok_or(Odd)? {
                    $( $key => {
                        once(&mut seen, Place::$field as u32)?;
                        self.$field.fill(text, at)
                    } )*
                    $( $check_key => {
                        once(&mut seen, Place::$check as u32)?;
                        <$Check>::default().fill(text, at)
                    } )*
                    _ => quick_other!($others, text, at),
                })?;
                let required = 0 $(| 1_u32 << Place::$required as u32)*;
                if seen & required == required { Ok(end) } else { Err(Odd) }
            }
        }
    };
}

macro_rules! quick_other {
    (skipped, $text:ident, $at:ident) => {
        $text.skip($at)
    };
    (kept, $text:ident, $at:ident) => {
        Err(Odd)
    };
}

/// Of two equal keys the last one counts: the lenient reader knows how.
pub(crate) fn once(seen: &mut u32, place: u32) -> Result<(), Odd> {
    let bit = 1 << place;
    if *seen & bit != 0 {
        return Err(Odd);
    }
    *seen |= bit;
    Ok(())
}

/// Reads a whole file.
pub(crate) fn document<T: Field>(bytes: &[u8]) -> Result<T, Odd> {
    if bytes.len() > DOCUMENT_BYTES {
        return Err(Odd);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| Odd)?;
    let quotes = Quotes::of(text)?;
    let text = Text::new(text, &quotes);
    let mut value = T::default();
    let end = value.fill(text, 0)?;
    text.end(end).map(|()| value)
}

/// A document in which each field in turn is left out or has each of many odd values, at the top and one level down.
#[cfg(test)]
pub(crate) fn odd_changes(document: &serde_json::Value) -> Vec<String> {
    use serde_json::{Value, json};

    let odd = [
        json!(null),
        json!(true),
        json!(false),
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
