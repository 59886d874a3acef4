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

/// A JSON text.
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

    /// Nothing but blanks may follow the document.
    pub(crate) fn end(self, at: usize) -> Result<(), Odd> {
        if blank(self.text.as_bytes(), at) == self.text.len() { Ok(()) } else { Err(Odd) }
    }

    /// Calls `each` with every key of the object that begins here and the index of its value; it gives the index after
    /// the value, as this does for the object.
    pub(crate) fn fields(
        self,
        at: usize,
        each: impl FnMut(&'a str, usize) -> Result<usize, Odd>,
    ) -> Result<usize, Odd> {
        if self.plain { self.each_field::<true>(at, each) } else { self.each_field::<false>(at, each) }
    }

    /// Whether the value that begins here can only be null.
    pub(crate) fn is_null(self, at: usize) -> bool {
        self.text.as_bytes().get(at) == Some(&b'n')
    }

    /// The value that begins here as it is written, and the index after it.
    pub(crate) fn value(self, at: usize) -> Result<(&'a str, usize), Odd> {
        let text = self.text.as_bytes();
        let end = if self.plain { value::<true>(text, at)? } else { value::<false>(text, at)? };
        Ok((self.text.get(at..end).ok_or(Odd)?, end))
    }

    /// The string that begins here, without its quotes and as it is written, and the index after it.
    pub(crate) fn string(self, at: usize) -> Result<(&'a str, usize), Odd> {
        let text = self.text.as_bytes();
        if text.get(at) != Some(&b'"') {
            return Err(Odd);
        }
        let end = if self.plain { string::<true>(text, at + 1)? } else { string::<false>(text, at + 1)? };
        Ok((self.text.get(at + 1..end - 1).ok_or(Odd)?, end))
    }

    /// A string's text; `None` when there are escapes in it.
    pub(crate) fn unescaped(self, string: &'a str) -> Option<&'a str> {
        (self.plain || !string.as_bytes().contains(&b'\\')).then_some(string)
    }

    fn each_field<const PLAIN: bool>(
        self,
        at: usize,
        mut each: impl FnMut(&'a str, usize) -> Result<usize, Odd>,
    ) -> Result<usize, Odd> {
        let text = self.text.as_bytes();
        let mut at = blank(text, expect(text, at, b'{')?);
        if text.get(at) == Some(&b'}') {
            return Ok(at + 1);
        }
        loop {
            let key = expect(text, at, b'"')?;
            let key_end = string::<PLAIN>(text, key)?;
            at = blank(text, expect(text, key_end, b':')?);
            at = each(self.text.get(key..key_end - 1).ok_or(Odd)?, at)?;
            at = blank(text, at);
            match text.get(at) {
                Some(b',') => at += 1,
                Some(b'}') => return Ok(at + 1),
                _ => return Err(Odd),
            }
        }
    }
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
                // The objects around it are levels too: the document, and a record in it.
                if depth + 2 >= NESTING {
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
pub(crate) fn special(word: u64) -> u64 {
    let backslash = zero(word ^ (ONES * b'\\' as u64));
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (quote(word) | backslash | control) & HIGHS
}

/// Whether a JSON string holds the byte only escaped.
pub(crate) fn is_special(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..0x20)
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
        let text = Text::new(text.as_bytes())?;
        let end = text.fields(0, |key, at| {
            let (value, end) = text.value(at)?;
            found.push((key.to_owned(), value.to_owned()));
            Ok(end)
        })?;
        text.end(end)?;
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
                if std::str::from_utf8(&text).is_ok_and(|text| found(text).is_ok()) {
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
        assert!(found(&nested(NESTING - 2)).is_ok());
        assert_eq!(found(&nested(NESTING - 1)), Err(Odd));
        assert_eq!(found(&nested(100_000)), Err(Odd));
        for number in ["1e400", "1E2", "00", "01", "-", ".5", "5.", "+1", "0x1", "NaN", "--1", &"9".repeat(400)] {
            assert_eq!(found(&format!("{{\"a\":{number}}}")), Err(Odd), "{number}");
        }
    }
}
