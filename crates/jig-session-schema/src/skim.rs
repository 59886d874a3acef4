//! The fields of a JSON object, found in one pass without parsing what is not asked for.
//!
//! Every byte is checked, as a parser checks it, but nothing is built: strings are passed over eight bytes at a time.
//! What is not plainly well-formed is [`Odd`], and the lenient reader decides.

use crate::limits::NESTING;

/// Not plainly well-formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Odd;

/// Longer numbers may be out of range.
const DIGITS: usize = 300;

/// A JSON text, or the part of one that holds a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'a> {
    text: &'a str,
    /// It holds neither backslashes nor control characters, so that a string ends at the next quote. Our own writers'
    /// files are nearly always so, and to know it beforehand halves the work.
    plain: bool,
}

impl<'a> Text<'a> {
    /// Looks once over the whole of a file.
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self, Odd> {
        let text = std::str::from_utf8(bytes).map_err(|_| Odd)?;
        // Without an early end this is done sixteen bytes at a time.
        let plain = !bytes.iter().fold(false, |found, byte| found | (*byte < b' ') | (*byte == b'\\'));
        Ok(Self { text, plain })
    }

    /// Calls `each` with every key of the one object in this text and the text of its value.
    pub(crate) fn fields(self, each: impl FnMut(Self, Self) -> Result<(), Odd>) -> Result<(), Odd> {
        if self.plain { self.each_field::<true>(each) } else { self.each_field::<false>(each) }
    }

    /// The value as it is written.
    pub(crate) fn as_str(self) -> &'a str {
        self.text
    }

    /// A key or a string's text without its quotes; `None` when there are escapes in it.
    pub(crate) fn unescaped(self) -> Option<&'a str> {
        (self.plain || !self.text.as_bytes().contains(&b'\\')).then_some(self.text)
    }

    /// What a value that is a string says; `None` for another value and for one with escapes.
    pub(crate) fn string(self) -> Option<&'a str> {
        let text = self.text.strip_prefix('"')?.strip_suffix('"')?;
        Self { text, ..self }.unescaped()
    }

    fn part(self, from: usize, to: usize) -> Result<Self, Odd> {
        Ok(Self { text: self.text.get(from..to).ok_or(Odd)?, ..self })
    }

    fn each_field<const PLAIN: bool>(self, mut each: impl FnMut(Self, Self) -> Result<(), Odd>) -> Result<(), Odd> {
        let text = self.text.as_bytes();
        let mut at = blank(text, expect(text, 0, b'{')?);
        if text.get(at) == Some(&b'}') {
            return end(text, at + 1);
        }
        loop {
            let key = expect(text, at, b'"')?;
            let key_end = string::<PLAIN>(text, key)?;
            at = blank(text, expect(text, key_end, b':')?);
            let value_end = value::<PLAIN>(text, at)?;
            each(self.part(key, key_end - 1)?, self.part(at, value_end)?)?;
            at = blank(text, value_end);
            match text.get(at) {
                Some(b',') => at += 1,
                Some(b'}') => return end(text, at + 1),
                _ => return Err(Odd),
            }
        }
    }
}

/// Nothing but blanks may follow.
fn end(text: &[u8], at: usize) -> Result<(), Odd> {
    if blank(text, at) == text.len() { Ok(()) } else { Err(Odd) }
}

/// The index after the byte, which blanks may precede.
fn expect(text: &[u8], at: usize, byte: u8) -> Result<usize, Odd> {
    if text.get(at) == Some(&byte) {
        return Ok(at + 1);
    }
    let at = blank(text, at);
    if text.get(at) == Some(&byte) { Ok(at + 1) } else { Err(Odd) }
}

fn blank(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\t' | b'\r') = text.get(at) {
        at += 1;
    }
    at
}

/// The index after the value that begins here. The stack of open objects and lists is one bit each.
fn value<const PLAIN: bool>(text: &[u8], mut at: usize) -> Result<usize, Odd> {
    const { assert!(NESTING <= 64, "one bit a level") };
    let (mut depth, mut objects) = (0, 0_u64);
    'value: loop {
        match *text.get(at).ok_or(Odd)? {
            b'"' => at = string::<PLAIN>(text, at + 1)?,
            b' ' | b'\n' | b'\t' | b'\r' => {
                at += 1;
                continue;
            }
            open @ (b'{' | b'[') => {
                let object = open == b'{';
                // The object around all of it is one level too.
                if depth + 1 >= NESTING {
                    return Err(Odd);
                }
                depth += 1;
                objects = objects << 1 | u64::from(object);
                at = blank(text, at + 1);
                if text.get(at) != Some(&closing(objects)) {
                    if object {
                        at = key::<PLAIN>(text, at)?;
                    }
                    continue;
                }
            }
            b'-' | b'0'..=b'9' => at = number(text, at)?,
            b't' => at = word(text, at, b"true")?,
            b'f' => at = word(text, at, b"false")?,
            b'n' => at = word(text, at, b"null")?,
            _ => return Err(Odd),
        }
        // A value has ended, and with it perhaps what it stands in.
        while depth > 0 {
            let byte = *text.get(at).ok_or(Odd)?;
            at += 1;
            if byte == b',' {
                if objects & 1 == 1 {
                    at = key::<PLAIN>(text, at)?;
                }
                continue 'value;
            }
            if byte == closing(objects) {
                depth -= 1;
                objects >>= 1;
            } else if !matches!(byte, b' ' | b'\n' | b'\t' | b'\r') {
                return Err(Odd);
            }
        }
        return Ok(at);
    }
}

/// What closes the innermost object or list.
fn closing(objects: u64) -> u8 {
    if objects & 1 == 1 { b'}' } else { b']' }
}

/// A key and its colon; the index of what follows.
fn key<const PLAIN: bool>(text: &[u8], at: usize) -> Result<usize, Odd> {
    let at = string::<PLAIN>(text, expect(text, at, b'"')?)?;
    expect(text, at, b':')
}

fn word(text: &[u8], at: usize, word: &[u8]) -> Result<usize, Odd> {
    let found = text.get(at..at + word.len());
    if found == Some(word) { Ok(at + word.len()) } else { Err(Odd) }
}

/// A number without an exponent: with one it may be out of range.
fn number(text: &[u8], start: usize) -> Result<usize, Odd> {
    let digits = |mut at: usize| {
        while text.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let whole = if text.get(start) == Some(&b'-') { start + 1 } else { start };
    let mut at = digits(whole);
    let leading_zero = text.get(whole) == Some(&b'0') && at > whole + 1;
    if at == whole || leading_zero {
        return Err(Odd);
    }
    if text.get(at) == Some(&b'.') {
        let fraction = at + 1;
        at = digits(fraction);
        if at == fraction {
            return Err(Odd);
        }
    }
    if matches!(text.get(at), Some(b'e' | b'E')) || at - start > DIGITS { Err(Odd) } else { Ok(at) }
}

/// The index after the closing quote of the string whose text begins here.
fn string<const PLAIN: bool>(text: &[u8], mut at: usize) -> Result<usize, Odd> {
    loop {
        while let Some(word) = text.get(at..).and_then(|rest| rest.first_chunk()) {
            let word = u64::from_le_bytes(*word);
            let found = if PLAIN { quote(word) & HIGHS } else { special(word) };
            if found != 0 {
                at += found.trailing_zeros() as usize / 8;
                break;
            }
            at += 8;
        }
        match *text.get(at).ok_or(Odd)? {
            b'"' => return Ok(at + 1),
            _ if PLAIN => at += 1,
            b'\\' => at = escape(text, at)?,
            0..0x20 => return Err(Odd),
            _ => at += 1,
        }
    }
}

const ONES: u64 = u64::from_le_bytes([1; 8]);
const HIGHS: u64 = ONES << 7;

/// The high bit of the first byte that is a quote; other bits mean nothing.
fn quote(word: u64) -> u64 {
    zero(word ^ (ONES * b'"' as u64))
}

fn zero(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word
}

/// The high bit of the first byte that is a quote, a backslash or a control; bits above the first one mean nothing.
fn special(word: u64) -> u64 {
    let backslash = zero(word ^ (ONES * b'\\' as u64));
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (quote(word) | backslash | control) & HIGHS
}

/// Where the first byte is that a JSON string holds only escaped.
pub(crate) fn first_special(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(word) = text.get(at..).and_then(|rest| rest.first_chunk()) {
        let found = special(u64::from_le_bytes(*word));
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let rest = text.get(at..)?.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20))?;
    Some(at + rest)
}

fn escape(text: &[u8], at: usize) -> Result<usize, Odd> {
    match text.get(at + 1).ok_or(Odd)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(at + 2),
        b'u' if text.get(at + 2..at + 6).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) => Ok(at + 6),
        _ => Err(Odd),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Result<Vec<(String, String)>, Odd> {
        let mut found = Vec::new();
        Text::new(text.as_bytes())?.fields(|key, value| {
            found.push((key.as_str().to_owned(), value.as_str().to_owned()));
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn values_are_cut_out_whole() {
        let text =
            r#" { "a" : 1 , "b":"x\"y\\", "c":[1,[2,{"d":"}"}],{}],"e":{"f":[]} ,"g":-0.5,"h":true,"i":null,"j":""} "#;
        let pairs = found(text).expect("well-formed");
        let values: Vec<_> = pairs.iter().map(|(_, value)| value.as_str()).collect();
        let expected = ["1", r#""x\"y\\""#, r#"[1,[2,{"d":"}"}],{}]"#, r#"{"f":[]}"#, "-0.5", "true", "null", r#""""#];
        assert_eq!(values, expected);
        assert_eq!(found("{}"), Ok(vec![]));
    }

    /// A parser must take what is taken here; what a parser refuses must not be taken.
    #[test]
    fn nothing_passes_that_a_parser_refuses() {
        let escaped =
            r#"{"a":{"b":[1,2.5,"x\u00e9\n",true,false,null,{"c":[]}]},"d":"plain text of some length","e":[[],{}]}"#;
        let plain =
            r#"{"a": {"b":[1,2.5,"x", true,false , null,{"c" :[] }]},"d":"plain text of some length","e":[[],{}]}"#;
        for good in [escaped, plain] {
            every_change_of(good);
        }
    }

    fn every_change_of(good: &str) {
        assert!(found(good).is_ok());
        let mut taken = 0;
        let bytes = br#"{}[]",:\/ 019.-+eEutfn"#;
        for at in 0..good.len() {
            for change in bytes.iter().map(|byte| Some(*byte)).chain([None, Some(0), Some(0x1f), Some(b'x')]) {
                let mut text = good.as_bytes().to_vec();
                match change {
                    Some(byte) => text[at] = byte,
                    None => drop(text.remove(at)),
                }
                if Text::new(&text).and_then(|text| text.fields(|_, _| Ok(()))).is_ok() {
                    taken += 1;
                    let parsed = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&text);
                    assert!(parsed.is_ok(), "{}", String::from_utf8_lossy(&text));
                }
            }
            let cut = &good[..at];
            assert_eq!(found(cut), Err(Odd), "{cut}");
        }
        assert!(taken > 100, "{taken}");
    }

    #[test]
    fn depth_and_numbers_are_bounded() {
        let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert!(found(&nested(NESTING - 1)).is_ok());
        assert_eq!(found(&nested(NESTING)), Err(Odd));
        assert_eq!(found(&nested(100_000)), Err(Odd));
        for number in ["1e400", "1E2", "00", "01", "-", ".5", "5.", "+1", "0x1", "NaN", "--1", &"9".repeat(400)] {
            assert_eq!(found(&format!("{{\"a\":{number}}}")), Err(Odd), "{number}");
        }
    }
}
