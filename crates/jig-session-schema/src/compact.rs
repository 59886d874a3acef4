//! Documents as compact JSON: what `serde_json` writes, byte for byte, in half the time.
//!
//! A status file is written at every change of a session and a listing writes a row for every one of thousands, so the
//! writer's share counts. Most of it is spent on looking for what must be escaped: that is done eight bytes at a time
//! here. What is rare, such as fractions, is left to `serde_json`.

use std::io;

use serde::ser::{self, Serialize};
use serde_json::Error;

/// Appends a value to a text.
///
/// # Errors
/// When the value's own `Serialize` fails, or a map's key is no string. What was appended until then stays.
pub fn append<T: Serialize + ?Sized>(value: &T, text: &mut Vec<u8>) -> Result<(), Error> {
    value.serialize(&mut Writer { text, full: usize::MAX, spill: &mut |_| Ok(()) })
}

/// Appends a value to a text that is handed on whenever it holds `full` bytes or more after an element of a list.
/// `spill` takes out what it has dealt with.
///
/// # Errors
/// As [`append`], and what `spill` reports.
pub fn append_in_parts<T: Serialize + ?Sized>(
    value: &T,
    text: &mut Vec<u8>,
    full: usize,
    spill: &mut dyn FnMut(&mut Vec<u8>) -> io::Result<()>,
) -> Result<(), Error> {
    value.serialize(&mut Writer { text, full, spill })
}

const ONES: u64 = u64::from_le_bytes([1; 8]);
const HIGHS: u64 = ONES << 7;

/// Whether one of eight bytes is a quote, a backslash or a control: then some bit is set.
fn special(word: u64) -> u64 {
    let zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let quote = zero(word ^ (ONES * u64::from(b'"')));
    let backslash = zero(word ^ (ONES * u64::from(b'\\')));
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (quote | backslash | control) & HIGHS
}

/// Whether a string needs no escapes. Strings are short: eight bytes are one step, and the last step goes over some of
/// them again rather than byte by byte.
fn is_plain(bytes: &[u8]) -> bool {
    let found = if let Some(last) = bytes.last_chunk::<8>() {
        let (words, _) = bytes.as_chunks::<8>();
        words.iter().fold(special(u64::from_le_bytes(*last)), |found, word| found | special(u64::from_le_bytes(*word)))
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        special(u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last)))
    } else {
        return !bytes.iter().any(|byte| is_special(*byte));
    };
    found == 0
}

/// Whether a JSON string holds the byte only escaped.
fn is_special(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..0x20)
}

struct Writer<'a> {
    text: &'a mut Vec<u8>,
    full: usize,
    spill: &'a mut dyn FnMut(&mut Vec<u8>) -> io::Result<()>,
}

impl Writer<'_> {
    fn raw(&mut self, text: &str) {
        self.text.extend_from_slice(text.as_bytes());
    }

    fn string(&mut self, value: &str) {
        let bytes = value.as_bytes();
        self.text.reserve(bytes.len() + 2);
        self.text.push(b'"');
        if is_plain(bytes) {
            self.text.extend_from_slice(bytes);
        } else {
            self.escaped(bytes);
        }
        self.text.push(b'"');
    }

    fn escaped(&mut self, mut rest: &[u8]) {
        while let Some(at) = rest.iter().position(|byte| is_special(*byte)) {
            let (plain, from) = rest.split_at(at);
            self.text.extend_from_slice(plain);
            self.escape(from[0]);
            rest = &from[1..];
        }
        self.text.extend_from_slice(rest);
    }

    fn escape(&mut self, byte: u8) {
        let short = match byte {
            b'"' | b'\\' => byte,
            8 => b'b',
            9 => b't',
            10 => b'n',
            12 => b'f',
            13 => b'r',
            _ => {
                let digit = |value: u8| b"0123456789abcdef"[usize::from(value & 15)];
                return self.text.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte)]);
            }
        };
        self.text.extend_from_slice(&[b'\\', short]);
    }

    fn number(&mut self, negative: bool, mut number: u64) {
        let mut digits = [0; 20];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        if negative {
            self.text.push(b'-');
        }
        self.text.extend_from_slice(&digits[at..]);
    }

    fn variant(&mut self, variant: &str) {
        self.text.push(b'{');
        self.string(variant);
        self.text.push(b':');
    }
}

/// The fields or elements of what is open.
struct Items<'w, 'a> {
    writer: &'w mut Writer<'a>,
    first: bool,
    close: &'static str,
}

impl<'w, 'a> Items<'w, 'a> {
    fn open(writer: &'w mut Writer<'a>, open: u8, close: &'static str) -> Self {
        writer.text.push(open);
        Self { writer, first: true, close }
    }

    fn comma(&mut self) {
        if !std::mem::take(&mut self.first) {
            self.writer.text.push(b',');
        }
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.comma();
        value.serialize(&mut *self.writer)?;
        if self.writer.text.len() >= self.writer.full {
            (self.writer.spill)(self.writer.text).map_err(Error::io)?;
        }
        Ok(())
    }

    fn field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        self.key(key);
        value.serialize(&mut *self.writer)
    }

    /// The key of a field needs no look: it is a name of the program's own. One function for all of them, since there are
    /// hundreds, and what each adds to the program is memory of every process that runs it.
    #[inline(never)]
    fn key(&mut self, key: &'static str) {
        debug_assert!(!key.bytes().any(is_special), "a field's name needs no escapes: {key}");
        let text = &mut *self.writer.text;
        text.reserve(key.len() + 4);
        if !std::mem::take(&mut self.first) {
            text.push(b',');
        }
        text.push(b'"');
        text.extend_from_slice(key.as_bytes());
        text.extend_from_slice(b"\":");
    }

    fn close(self) {
        self.writer.raw(self.close);
    }
}

macro_rules! numbers {
    ($($signed:ident: $Signed:ty,)* ; $($unsigned:ident: $Unsigned:ty,)*) => {
        $( fn $signed(self, value: $Signed) -> Result<(), Error> {
            self.number(value < 0, u64::from(value.unsigned_abs()));
            Ok(())
        } )*
        $( fn $unsigned(self, value: $Unsigned) -> Result<(), Error> {
            self.number(false, u64::from(value));
            Ok(())
        } )*
    };
}

impl<'w, 'a> ser::Serializer for &'w mut Writer<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Items<'w, 'a>;
    type SerializeTuple = Items<'w, 'a>;
    type SerializeTupleStruct = Items<'w, 'a>;
    type SerializeTupleVariant = Items<'w, 'a>;
    type SerializeMap = Items<'w, 'a>;
    type SerializeStruct = Items<'w, 'a>;
    type SerializeStructVariant = Items<'w, 'a>;

    numbers! {
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, ;
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64,
    }

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.raw(if value { "true" } else { "false" });
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        serde_json::to_writer(&mut *self.text, &value)
    }

    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        serde_json::to_writer(&mut *self.text, &value)
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.string(value.encode_utf8(&mut [0; 4]));
        Ok(())
    }

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        self.string(value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.raw("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.variant(variant);
        value.serialize(&mut *self)?;
        self.text.push(b'}');
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Items<'w, 'a>, Error> {
        Ok(Items::open(self, b'[', "]"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Items<'w, 'a>, Error> {
        Ok(Items::open(self, b'[', "]"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Items<'w, 'a>, Error> {
        Ok(Items::open(self, b'[', "]"))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Items<'w, 'a>, Error> {
        self.variant(variant);
        Ok(Items::open(self, b'[', "]}"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Items<'w, 'a>, Error> {
        Ok(Items::open(self, b'{', "}"))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Items<'w, 'a>, Error> {
        Ok(Items::open(self, b'{', "}"))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Items<'w, 'a>, Error> {
        self.variant(variant);
        Ok(Items::open(self, b'{', "}}"))
    }
}

macro_rules! items {
    ($($Trait:ident . $method:ident ($($key:ident)?) as $does:ident,)*) => {
        $( impl ser::$Trait for Items<'_, '_> {
            type Ok = ();
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, $($key: &'static str,)? value: &T) -> Result<(), Error> {
                self.$does($($key,)? value)
            }

            fn end(self) -> Result<(), Error> {
                self.close();
                Ok(())
            }
        } )*
    };
}

items! {
    SerializeSeq.serialize_element() as element,
    SerializeTuple.serialize_element() as element,
    SerializeTupleStruct.serialize_field() as element,
    SerializeTupleVariant.serialize_field() as element,
    SerializeStruct.serialize_field(key) as field,
    SerializeStructVariant.serialize_field(key) as field,
}

impl ser::SerializeMap for Items<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.comma();
        let from = self.writer.text.len();
        key.serialize(&mut *self.writer)?;
        let is_string = self.writer.text.get(from) == Some(&b'"');
        self.writer.text.push(b':');
        if is_string { Ok(()) } else { Err(ser::Error::custom("key must be a string")) }
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Result<(), Error> {
        self.close();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn agrees<T: Serialize + ?Sized>(value: &T) {
        let mut text = b"before".to_vec();
        append(value, &mut text).expect("written");
        let expected = serde_json::to_string(value).expect("written");
        assert_eq!(String::from_utf8_lossy(&text), format!("before{expected}"));
    }

    #[derive(serde::Serialize)]
    struct Unit;
    #[derive(serde::Serialize)]
    struct Wrapped(u8);
    #[derive(serde::Serialize)]
    struct Pair(u8, char);
    #[derive(serde::Serialize)]
    enum Kind {
        Unit,
        One(&'static str),
        Two(u8, i64),
        Named { a: Option<u8>, b: () },
    }

    #[test]
    fn every_kind_of_value_is_written_as_serde_json_writes_it() {
        agrees(&(Unit, Wrapped(7), Pair(1, '\u{7}'), 'ß', true, false, (), Some(1), None::<u8>));
        agrees(&[Kind::Unit, Kind::One("a\"b"), Kind::Two(0, -1), Kind::Named { a: None, b: () }]);
        agrees(&(i8::MIN, i16::MIN, i32::MIN, i64::MIN, u8::MAX, u16::MAX, u32::MAX, u64::MAX, 0_u64));
        agrees(&(0.0, -0.0, 1.0, 24.1, 1e300, 5e-324, f64::NAN, f64::INFINITY, 0.1_f32));
        agrees(&json!({ "": {}, "a": [], "b": [[{}], [null]], "c\n\"": { "d": "" } }));
        agrees(&BTreeMap::from([("k", b"bytes".as_slice())]));
        for code in 0..0x300 {
            let c = char::from_u32(code).expect("a character");
            for text in [format!("{c}"), format!("1234567{c}"), format!("{c}12345678"), format!("x{c}{c}y")] {
                agrees(&text);
            }
        }
    }

    #[test]
    fn a_key_that_is_no_string_is_an_error() {
        let error = append(&BTreeMap::from([(1, 2)]), &mut Vec::new()).expect_err("no document");
        assert_eq!(error.to_string(), "key must be a string");
    }

    #[test]
    fn a_long_list_is_handed_on_in_whole_elements() {
        let list: Vec<String> = (0..1000).map(|index| format!("element {index}")).collect();
        let (mut parts, mut text) = (Vec::new(), Vec::new());
        let mut spill = |text: &mut Vec<u8>| {
            parts.push(std::mem::take(text));
            Ok(())
        };
        append_in_parts(&list, &mut text, 100, &mut spill).expect("written");
        assert!(parts.len() > 100 && parts.iter().all(|part| part.ends_with(b"\"") && part.len() < 130));
        parts.push(text);
        assert_eq!(parts.concat(), serde_json::to_vec(&list).expect("written"));
        let failed = append_in_parts(&list, &mut Vec::new(), 1, &mut |_| Err(io::Error::other("full")));
        assert_eq!(failed.expect_err("not written").to_string(), "full");
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,30}".prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 64, 8, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                proptest::collection::btree_map(any::<String>(), inner, 0..8)
                    .prop_map(|map| map.into_iter().collect::<serde_json::Map<_, _>>().into()),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_value_is_written_as_serde_json_writes_it(value in values()) {
            agrees(&value);
        }
    }
}
