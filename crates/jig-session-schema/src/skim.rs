//! The fields of a JSON object, found in one pass without parsing what is not asked for.
//!
//! Every byte is checked, as a parser checks it, but nothing is built: where strings begin and end is known beforehand
//! (`quotes`), so they are stepped over whole. What is not plainly well-formed is [`Odd`], and the lenient reader
//! decides.

use crate::limits::NESTING;
use crate::quotes::Quotes;

/// Not plainly well-formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Odd;

/// Longer numbers may be out of range.
const DIGITS: usize = 300;

/// A JSON text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'a> {
    text: &'a str,
    quotes: &'a Quotes,
}

impl<'a> Text<'a> {
    /// A text and its quotes.
    pub(crate) fn new(text: &'a str, quotes: &'a Quotes) -> Self {
        Self { text, quotes }
    }

    /// Nothing but blanks may follow the document.
    pub(crate) fn end(self, at: usize) -> Result<(), Odd> {
        if self.blank(at) == self.text.len() { Ok(()) } else { Err(Odd) }
    }

    /// Calls `each` with every key of the object that begins here and the index of its value; it gives the index after
    /// the value, as this does for the object.
    pub(crate) fn fields(
        self,
        at: usize,
        mut each: impl FnMut(&'a str, usize) -> Result<usize, Odd>,
    ) -> Result<usize, Odd> {
        let mut at = self.blank(self.expect(at, b'{')?);
        if self.byte(at) == Some(b'}') {
            return Ok(at + 1);
        }
        loop {
            let key = self.expect(at, b'"')?;
            let key_end = self.quotes.after(key)?;
            at = self.blank(self.expect(key_end, b':')?);
            at = each(self.text.get(key..key_end - 1).ok_or(Odd)?, at)?;
            at = self.blank(at);
            match self.byte(at) {
                Some(b',') => at += 1,
                Some(b'}') => return Ok(at + 1),
                _ => return Err(Odd),
            }
        }
    }

    /// Whether the value that begins here can only be null.
    pub(crate) fn is_null(self, at: usize) -> bool {
        self.byte(at) == Some(b'n')
    }

    /// The value that begins here as it is written, and the index after it.
    pub(crate) fn value(self, at: usize) -> Result<(&'a str, usize), Odd> {
        let end = self.skip(at)?;
        Ok((self.text.get(at..end).ok_or(Odd)?, end))
    }

    /// The string that begins here, without its quotes and as it is written, and the index after it.
    pub(crate) fn string(self, at: usize) -> Result<(&'a str, usize), Odd> {
        if self.byte(at) != Some(b'"') {
            return Err(Odd);
        }
        let end = self.quotes.after(at + 1)?;
        Ok((self.text.get(at + 1..end - 1).ok_or(Odd)?, end))
    }

    /// A string's text; `None` when there are escapes in it.
    pub(crate) fn unescaped(self, string: &'a str) -> Option<&'a str> {
        (!self.quotes.escapes() || !string.as_bytes().contains(&b'\\')).then_some(string)
    }

    fn byte(self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// The index after the byte, which blanks may precede.
    fn expect(self, at: usize, byte: u8) -> Result<usize, Odd> {
        if self.byte(at) == Some(byte) {
            return Ok(at + 1);
        }
        let at = self.blank(at);
        if self.byte(at) == Some(byte) { Ok(at + 1) } else { Err(Odd) }
    }

    fn blank(self, mut at: usize) -> usize {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.byte(at) {
            at += 1;
        }
        at
    }

    /// The index after the value that begins here. The stack of open objects and lists is one bit each.
    pub(crate) fn skip(self, mut at: usize) -> Result<usize, Odd> {
        const { assert!(NESTING <= 64, "one bit a level") };
        let (mut depth, mut objects) = (0, 0_u64);
        'value: loop {
            match self.byte(at).ok_or(Odd)? {
                b'"' => {
                    at = self.quotes.after(at + 1)?;
                    if objects & 1 == 1 {
                        at = self.skip_texts(at)?;
                    }
                }
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
                    at = self.blank(at + 1);
                    if self.byte(at) != Some(closing(objects)) {
                        if object {
                            at = self.key(at)?;
                        }
                        continue;
                    }
                }
                b'-' | b'0'..=b'9' => at = self.number(at)?,
                b't' => at = self.word(at, b"true")?,
                b'f' => at = self.word(at, b"false")?,
                b'n' => at = self.word(at, b"null")?,
                _ => return Err(Odd),
            }
            // A value has ended, and with it perhaps what it stands in.
            while depth > 0 {
                let byte = self.byte(at).ok_or(Odd)?;
                at += 1;
                if byte == b',' {
                    if objects & 1 == 1 {
                        at = self.key(at)?;
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

    /// Most of what is passed over is objects of texts: steps over each `,"key":"text"` that follows without a blank.
    fn skip_texts(self, mut at: usize) -> Result<usize, Odd> {
        let pair = |at: usize| self.text.as_bytes().get(at..).and_then(|rest| rest.first_chunk());
        while pair(at) == Some(b",\"") {
            let end = self.quotes.after(at + 2)?;
            if pair(end) != Some(b":\"") {
                break;
            }
            at = self.quotes.after(end + 2)?;
        }
        Ok(at)
    }

    /// A key and its colon; the index of what follows.
    fn key(self, at: usize) -> Result<usize, Odd> {
        self.expect(self.quotes.after(self.expect(at, b'"')?)?, b':')
    }

    fn word(self, at: usize, word: &[u8]) -> Result<usize, Odd> {
        let found = self.text.as_bytes().get(at..at + word.len());
        if found == Some(word) { Ok(at + word.len()) } else { Err(Odd) }
    }

    /// A number without an exponent: with one it may be out of range.
    fn number(self, start: usize) -> Result<usize, Odd> {
        let digits = |mut at: usize| {
            while self.byte(at).is_some_and(|byte| byte.is_ascii_digit()) {
                at += 1;
            }
            at
        };
        let whole = if self.byte(start) == Some(b'-') { start + 1 } else { start };
        let mut at = digits(whole);
        let leading_zero = self.byte(whole) == Some(b'0') && at > whole + 1;
        if at == whole || leading_zero {
            return Err(Odd);
        }
        if self.byte(at) == Some(b'.') {
            let fraction = at + 1;
            at = digits(fraction);
            if at == fraction {
                return Err(Odd);
            }
        }
        if matches!(self.byte(at), Some(b'e' | b'E')) || at - start > DIGITS { Err(Odd) } else { Ok(at) }
    }
}

/// What closes the innermost object or list.
fn closing(objects: u64) -> u8 {
    if objects & 1 == 1 { b'}' } else { b']' }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Result<Vec<(String, String)>, Odd> {
        let mut found = Vec::new();
        let quotes = Quotes::of(text)?;
        let text = Text::new(text, &quotes);
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
