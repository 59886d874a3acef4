//! One call record, read in one pass over its bytes: only the fields that are counted, nothing retained.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// What one call record says. An ill-typed field is left out and makes the record `flawed`.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Call<'a> {
    /// Milliseconds since the epoch; `None` when the stamp is missing or no time.
    pub(crate) at: Option<i64>,
    pub(crate) model: Option<Cow<'a, str>>,
    /// The HTTP status was 400 or above.
    pub(crate) error: bool,
    /// Milliseconds, above zero.
    pub(crate) duration: Option<f64>,
    pub(crate) tokens: Tokens,
    /// A field was there and was not what it must be.
    pub(crate) flawed: bool,
}

/// Token counts of one call or of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Tokens sent, cache reads included.
    pub input: u64,
    /// Tokens received.
    pub output: u64,
    /// The part of `input` that came from the cache.
    pub cache_read: u64,
    /// Tokens written to the cache.
    pub cache_write: u64,
    /// Tokens spent on reasoning.
    pub reasoning: u64,
}

impl Tokens {
    /// New text: input without what was only sent again.
    #[must_use]
    pub fn net(&self) -> u64 {
        self.input.saturating_sub(self.cache_read)
    }

    /// Adds another count.
    pub fn add(&mut self, other: &Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
    }
}

/// Reads a record; `None` when it is no JSON object with a `summary` object.
pub(crate) fn parse(bytes: &[u8]) -> Option<Call<'_>> {
    // A byte-order mark is what some editors and shells put before any text.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    serde_json::from_slice::<Record<'_>>(bytes).ok()?.0
}

/// ISO 8601 to milliseconds. The contract's stamps are UTC, so one without an offset is UTC too.
fn instant(text: &str) -> Option<i64> {
    if let Ok(instant) = text.parse::<jiff::Timestamp>() {
        return Some(instant.as_millisecond());
    }
    let civil = text.parse::<jiff::civil::DateTime>().ok()?;
    jiff::tz::TimeZone::UTC.to_timestamp(civil).ok().map(|instant| instant.as_millisecond())
}

struct Record<'a>(Option<Call<'a>>);

impl<'de> Deserialize<'de> for Record<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(RecordVisitor)
    }
}

struct RecordVisitor;

impl<'de> Visitor<'de> for RecordVisitor {
    type Value = Record<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a call record")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut call = None;
        while let Some(Key(key)) = map.next_key()? {
            if key == "summary" {
                call = map.next_value::<Summary<'de>>()?.0;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Record(call))
    }
}

/// The `summary` object; anything else is `None`.
struct Summary<'a>(Option<Call<'a>>);

impl<'de> Deserialize<'de> for Summary<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Lenient(SummaryFields)).map(|call| Self(call.flatten()))
    }
}

struct SummaryFields;

impl<'de> Fields<'de> for SummaryFields {
    type Value = Option<Call<'de>>;

    fn read<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut call = Call::default();
        while let Some(Key(key)) = map.next_key()? {
            match &*key {
                "status" => {
                    call.error = number(map.next_value()?, &mut call.flawed).is_some_and(|status| status >= 400.0)
                }
                "model" => call.model = text(map.next_value()?, &mut call.flawed),
                "timestamp" => {
                    // A missing or bad stamp is judged by whoever places the call on a day.
                    let mut unused = false;
                    call.at = text(map.next_value()?, &mut unused).and_then(|text| instant(&text));
                }
                "duration" => {
                    call.duration =
                        number(map.next_value()?, &mut call.flawed).filter(|ms| ms.is_finite() && *ms > 0.0);
                }
                "tokens" => match map.next_value::<TokensField>()? {
                    TokensField(Some((tokens, flawed))) => {
                        call.tokens = tokens;
                        call.flawed |= flawed;
                    }
                    TokensField(None) => call.flawed = true,
                },
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Some(call))
    }
}

/// The `tokens` object and whether one of its counts was ill-typed; `None` for another kind of value.
struct TokensField(Option<(Tokens, bool)>);

impl<'de> Deserialize<'de> for TokensField {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Lenient(TokenFields)).map(Self)
    }
}

struct TokenFields;

impl<'de> Fields<'de> for TokenFields {
    type Value = (Tokens, bool);

    fn read<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut tokens, mut flawed) = (Tokens::default(), false);
        while let Some(Key(key)) = map.next_key()? {
            let slot = match &*key {
                "in" => &mut tokens.input,
                "out" => &mut tokens.output,
                "cacheRead" => &mut tokens.cache_read,
                "cacheWrite" => &mut tokens.cache_write,
                "reasoning" => &mut tokens.reasoning,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            *slot = count(map.next_value()?, &mut flawed);
        }
        Ok((tokens, flawed))
    }
}

/// A map key, borrowed where it has no escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match Field::deserialize(from)? {
            Field::Text(text) => Ok(Self(text)),
            _ => Ok(Self(Cow::Borrowed(""))),
        }
    }
}

/// One value whose type is not taken for granted.
enum Field<'a> {
    Number(f64),
    Text(Cow<'a, str>),
    Null,
    Other,
}

fn number(field: Field<'_>, flawed: &mut bool) -> Option<f64> {
    match field {
        Field::Number(number) => Some(number),
        Field::Null => None,
        _ => {
            *flawed = true;
            None
        }
    }
}

fn text<'a>(field: Field<'a>, flawed: &mut bool) -> Option<Cow<'a, str>> {
    match field {
        Field::Text(text) => Some(text),
        Field::Null => None,
        _ => {
            *flawed = true;
            None
        }
    }
}

/// A count: a number from 0 to 2^53. A string that looks like one is not counted, and says so.
fn count(field: Field<'_>, flawed: &mut bool) -> u64 {
    match number(field, flawed) {
        Some(number) if (0.0..=9_007_199_254_740_992.0).contains(&number) => number.round() as u64,
        Some(_) => {
            *flawed = true;
            0
        }
        None => 0,
    }
}

impl<'de> Deserialize<'de> for Field<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct FieldVisitor;
        impl<'de> Visitor<'de> for FieldVisitor {
            type Value = Field<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }
            fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
                Ok(Field::Other)
            }
            fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
                Ok(Field::Number(value as f64))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
                Ok(Field::Number(value as f64))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
                Ok(Field::Number(value))
            }
            fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Self::Value, E> {
                Ok(Field::Text(Cow::Borrowed(value)))
            }
            fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
                Ok(Field::Text(Cow::Owned(value.to_owned())))
            }
            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Field::Null)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Field::Other)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Field::Other)
            }
        }
        from.deserialize_any(FieldVisitor)
    }
}

/// How an object's fields are read.
trait Fields<'de>: Sized {
    type Value;
    fn read<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error>;
}

/// Takes an object through its fields and any other value as `None`.
struct Lenient<F>(F);

impl<'de, F: Fields<'de>> Visitor<'de> for Lenient<F> {
    type Value = Option<F::Value>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }
    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        self.0.read(map).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::{Tokens, parse};

    #[test]
    fn reads_the_counted_fields_and_ignores_the_rest() {
        let call = parse(
            br#"{"request":{"deep":[1,"\ud800",{"x":null}]},"summary":{"status":200,"model":"m","provider":"p",
               "timestamp":"2026-11-29T10:00:00.500Z","duration":1200.5,
               "tokens":{"in":100,"out":20,"cacheRead":80,"cacheWrite":5,"reasoning":7,"other":1}}}"#,
        )
        .unwrap();
        assert_eq!(call.at, Some(1_795_946_400_500));
        assert_eq!((call.model.as_deref(), call.error, call.duration), (Some("m"), false, Some(1200.5)));
        assert_eq!(call.tokens, Tokens { input: 100, output: 20, cache_read: 80, cache_write: 5, reasoning: 7 });
        assert_eq!(call.tokens.net(), 20);
        assert!(!call.flawed);
    }

    #[test]
    fn a_string_is_no_number_and_the_record_says_so() {
        let call = parse(br#"{"summary":{"status":"500","tokens":{"in":"12","out":3}}}"#).unwrap();
        assert_eq!((call.error, call.tokens.input, call.tokens.output, call.flawed), (false, 0, 3, true));
        for flawed in [
            r#"{"summary":{"model":3}}"#,
            r#"{"summary":{"tokens":[1]}}"#,
            r#"{"summary":{"tokens":{"in":-1}}}"#,
            r#"{"summary":{"duration":true}}"#,
        ] {
            assert!(parse(flawed.as_bytes()).unwrap().flawed, "{flawed}");
        }
        assert!(!parse(br#"{"summary":{"model":null,"duration":0,"tokens":{"in":null}}}"#).unwrap().flawed);
    }

    #[test]
    fn the_last_of_two_equal_keys_counts() {
        let call = parse(br#"{"summary":5,"summary":{"status":200,"status":404}}"#).unwrap();
        assert!(call.error);
        assert!(parse(br#"{"summary":{},"summary":null}"#).is_none());
    }

    #[test]
    fn what_is_no_record_is_none() {
        for bad in ["", "{}", "[]", "5", "null", "{\"summary\":[]}", "{\"summary\":{}", "{\"summary\":{}} x", "\u{0}"] {
            assert!(parse(bad.as_bytes()).is_none(), "{bad:?}");
        }
        assert!(parse(b"\xef\xbb\xbf{\"summary\":{}}").is_some(), "a byte-order mark is no harm");
    }

    #[test]
    fn stamps() {
        let at = |stamp: &str| {
            let text = format!(r#"{{"summary":{{"timestamp":{stamp}}}}}"#);
            parse(text.as_bytes()).unwrap().at
        };
        assert_eq!(at(r#""2026-11-29T10:00:00Z""#), Some(1_795_946_400_000));
        assert_eq!(at(r#""2026-11-29T17:00:00+07:00""#), Some(1_795_946_400_000));
        assert_eq!(at(r#""2026-11-29T10:00:00.000""#), Some(1_795_946_400_000), "without an offset it is UTC");
        assert_eq!(at(r#""2026-11-29""#), Some(1_795_910_400_000));
        for bad in [r#""not a time at all""#, r#""2026-13-40T99:00:00Z""#, r#""""#, "1795946400000", "null"] {
            assert_eq!(at(bad), None, "{bad}");
        }
    }
}
