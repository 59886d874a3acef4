//! From bytes to a JSON value, as leniently as files by other programs need it, and back to bytes.

use serde_json::{Map, Value};

use crate::limits::{DOCUMENT_BYTES, NESTING};
use crate::read::ReadError;

/// Parses one document: a BOM is taken off, invalid UTF-8 and lone surrogates become U+FFFD, of two equal keys the last
/// one counts.
///
/// # Errors
/// When the bytes are none, too many, no JSON, or nested too deep.
pub fn parse(bytes: &[u8]) -> Result<Value, ReadError> {
    if bytes.is_empty() {
        return Err(ReadError::Empty);
    }
    if bytes.len() > DOCUMENT_BYTES {
        return Err(ReadError::TooLarge { limit: DOCUMENT_BYTES });
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if is_too_deep(bytes) {
        return Err(ReadError::unparsable(format!("nested deeper than {NESTING}")));
    }
    match serde_json::from_slice(bytes) {
        Ok(value) => Ok(value),
        Err(error) => {
            let mended = mend(bytes).ok_or_else(|| describe(bytes, &error))?;
            serde_json::from_str(&mended).map_err(|error| describe(bytes, &error))
        }
    }
}

/// Parses a document that must be an object.
///
/// # Errors
/// As [`parse`], and when it is no object.
pub fn parse_object(bytes: &[u8]) -> Result<Map<String, Value>, ReadError> {
    match parse(bytes)? {
        Value::Object(map) => Ok(map),
        _ => Err(ReadError::unparsable("is not an object")),
    }
}

fn describe(bytes: &[u8], error: &serde_json::Error) -> ReadError {
    if bytes.iter().all(|byte| *byte == 0) {
        return ReadError::unparsable("holds only zero bytes");
    }
    ReadError::unparsable(format!("is not JSON: {error}"))
}

/// Whether a text is nested deeper than a document may be.
pub(crate) fn is_too_deep(bytes: &[u8]) -> bool {
    // Few brackets cannot be deep: `[` and `{` differ in one bit. Counted in bytes, many are counted at once.
    let in_part = |part: &[u8]| part.iter().map(|byte| u8::from(*byte | 0x20 == b'{')).sum::<u8>();
    let opening: usize = bytes.chunks(usize::from(u8::MAX)).map(|part| usize::from(in_part(part))).sum();
    opening > NESTING && depth_of(bytes) > NESTING
}

/// The deepest nesting, found without recursion, before anything is parsed.
fn depth_of(bytes: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut i = 0;
    while let Some(byte) = bytes.get(i) {
        match byte {
            b'"' => i = end_of_string(bytes, i),
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        i += 1;
    }
    deepest
}

/// The index of the quote that ends the string begun at `start`, or the end of the text.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut i = start + 1;
    while let Some(byte) = bytes.get(i) {
        match byte {
            b'"' => return i,
            b'\\' => i += 2,
            _ => i += 1,
        }
    }
    bytes.len()
}

/// The text with invalid UTF-8 and lone surrogates replaced; None when there was nothing to mend.
fn mend(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let mended = without_lone_surrogates(&text);
    (mended.is_some() || matches!(text, std::borrow::Cow::Owned(_)))
        .then(|| mended.unwrap_or_else(|| text.into_owned()))
}

fn without_lone_surrogates(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let (mut copied, mut i) = (0, 0);
    while i < bytes.len() {
        if bytes[i] != b'\\' {
            i += 1;
            continue;
        }
        match escaped_unit(bytes, i) {
            Some(high @ 0xd800..=0xdbff) if matches!(escaped_unit(bytes, i + 6), Some(0xdc00..=0xdfff)) => {
                let _ = high;
                i += 12;
            }
            Some(0xd800..=0xdfff) => {
                out.push_str(&text[copied..i]);
                out.push_str("\\ufffd");
                i += 6;
                copied = i;
            }
            _ => i += 2,
        }
    }
    if copied == 0 {
        return None;
    }
    out.push_str(&text[copied..]);
    Some(out)
}

/// The code unit of the escape `\uXXXX` that begins here.
fn escaped_unit(bytes: &[u8], at: usize) -> Option<u32> {
    let escape = bytes.get(at..at + 6)?;
    let digits = escape.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit, digit| Some(unit * 16 + char::from(*digit).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_other_programs_write_is_read() {
        for (bytes, value) in [
            (&b"\xef\xbb\xbf{\"a\":1}"[..], json!({ "a": 1 })),
            (br#"{"a":"x\ud83d"}"#, json!({ "a": "x\u{fffd}" })),
            (br#"{"a":"\udc00\ud83d\ude00\ud83d\ud83d\ude00"}"#, json!({ "a": "\u{fffd}\u{1f600}\u{fffd}\u{1f600}" })),
            (br#"{"a":"\\ud83d"}"#, json!({ "a": "\\ud83d" })),
            (b"{\"a\":\"\xff\xc3\xa9\"}", json!({ "a": "\u{fffd}\u{e9}" })),
            (br#"{"a":1,"a":2}"#, json!({ "a": 2 })),
        ] {
            assert_eq!(parse(bytes), Ok(value), "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn what_is_no_document_is_named() {
        let utf16: Vec<u8> = "{\"a\":1}".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let cases: [&[u8]; 8] =
            [b"\0\0\0\0", &utf16, b"{\"a\":", b"NaN", b"{\"a\":1e400}", b"{} {}", b"\xff\xfe", b" "];
        for bytes in cases {
            assert_eq!(parse(bytes).map_err(|e| e.reason()), Err("unparsable"), "{bytes:?}");
        }
        assert_eq!(parse(b""), Err(ReadError::Empty));
        assert_eq!(parse(&vec![b' '; DOCUMENT_BYTES + 1]).map_err(|e| e.reason()), Err("too-large"));
        assert!(parse_object(b"[1]").is_err());
    }

    #[test]
    fn nesting_is_bounded_and_brackets_in_strings_do_not_count() {
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(parse(nested(64).as_bytes()).is_ok());
        assert!(parse(nested(65).as_bytes()).is_err());
        assert!(parse(nested(500_000).as_bytes()).is_err());
        let text = format!("{{\"a\":\"{}\\\"{{\"}}", "[".repeat(100));
        assert!(parse(text.as_bytes()).is_ok());
    }
}
