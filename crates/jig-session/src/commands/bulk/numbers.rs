//! Numbers as they have always been accepted here: `1e3`, `0x10`, blanks around, an empty text for the default.

/// A number; nothing when the text is none.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    for (prefix, radix) in [("0x", 16), ("0X", 16), ("0o", 8), ("0O", 8), ("0b", 2), ("0B", 2)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            // `from_str_radix` takes a sign, which stands before the prefix or nowhere.
            let plain = digits.starts_with(|c: char| c.is_ascii_alphanumeric());
            return plain.then(|| u32::from_str_radix(digits, radix).ok().map(f64::from)).flatten();
        }
    }
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'));
    text.parse::<f64>().ok().filter(|value| plain && value.is_finite())
}

fn given(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.trim().is_empty())
}

/// A whole number from 0; `default` when there is no text.
pub(super) fn whole(text: Option<&str>, default: u64) -> Option<u64> {
    let Some(text) = given(text) else { return Some(default) };
    // Above 2^53 a number is no longer exact, and none of these is ever near it.
    number(text)
        .filter(|value| value.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(value))
        .map(|value| value as u64)
}

/// A whole number from 1.
pub(super) fn positive(text: Option<&str>, default: u64) -> Option<u64> {
    whole(text, default).filter(|&value| value > 0)
}

/// A number from 0; the inner value is none when there is no text.
pub(super) fn load(text: Option<&str>) -> Option<Option<f64>> {
    let Some(text) = given(text) else { return Some(None) };
    number(text).filter(|&value| value >= 0.0).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_every_accepted_form() {
        for (text, value) in [("1e3", 1000), ("0x10", 16), (" 3 ", 3), ("2.0", 2), ("0b11", 3)] {
            assert_eq!(whole(Some(text), 7), Some(value), "{text}");
        }
        for text in ["x", "1.5", "-1", "0x", "0x-1", "inf", "nan", "1 2"] {
            assert_eq!(whole(Some(text), 7), None, "{text}");
        }
        assert_eq!((whole(Some(""), 7), whole(None, 7)), (Some(7), Some(7)));
        assert_eq!(positive(Some("0"), 2), None);
        assert_eq!((load(Some("0.5")), load(Some("")), load(Some("-1"))), (Some(Some(0.5)), Some(None), None));
    }
}
