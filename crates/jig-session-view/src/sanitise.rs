//! The terminal's edge: every string that came from a file, a pane, a message or another program is data until here.
//!
//! Characters are filtered, never escape sequences: a filter that knows sequences always misses one. A filtered
//! character becomes a visible U+FFFD, so that nobody wonders where it went. In JSON nothing is lost: the same
//! characters are written as `\uXXXX`.

use std::borrow::Cow;
use std::fmt::Write;

use jig_session_schema::invisible::is_invisible;

/// What stands for a character that is not shown.
const MARK: char = '\u{FFFD}';

/// A foreign string as one line of a terminal.
pub fn clean(text: &str) -> Cow<'_, str> {
    filter(text, is_invisible)
}

/// Foreign text of several lines: line ends stay.
pub fn clean_lines(text: &str) -> Cow<'_, str> {
    filter(text, |character| character != '\n' && is_invisible(character))
}

fn filter(text: &str, hostile: impl Fn(char) -> bool) -> Cow<'_, str> {
    if text.chars().any(&hostile) {
        Cow::Owned(text.chars().map(|character| if hostile(character) { MARK } else { character }).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// Serialised JSON with hostile characters written as escapes. Outside strings JSON holds none of them, so they can
/// be replaced wherever they stand; line ends between documents stay.
pub fn escape_json(text: &str) -> Cow<'_, str> {
    // Nearly all documents are plain ASCII, and serde has escaped the lower controls already.
    // The largest byte of a stretch is found many bytes at a time.
    let largest = |stretch: &[u8]| stretch.iter().fold(0, |largest, byte| (*byte).max(largest));
    let plain = text.as_bytes().chunks(256).all(|stretch| largest(stretch) < 0x7F);
    if plain || !text.chars().any(|c| c != '\n' && is_invisible(c)) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 32);
    let mut units = [0; 2];
    for character in text.chars() {
        if character != '\n' && is_invisible(character) {
            for unit in character.encode_utf16(&mut units) {
                // Writing to a String cannot fail.
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Ways to reach a terminal that have been used against list commands.
    const PAYLOADS: [&str; 20] = [
        "\x1b[2J",
        "\x1b]0;title\x07",
        "\x1b]52;c;ZXZpbA==\x07",
        "\x1bP$q\"p\x1b\\",
        "\x1b_apc\x1b\\",
        "\u{9b}31m",
        "\u{9d}0;t\u{9c}",
        "\u{90}q\u{9c}",
        "\x08\x08\x08",
        "a\rb",
        "a\nb",
        "a\tb",
        "\x7f",
        "\0",
        "\u{202e}gnp.exe",
        "\u{2066}x\u{2069}",
        "\u{200b}\u{200d}\u{feff}",
        "\u{e0041}\u{e007f}",
        "\u{2028}\u{2029}",
        "\u{61c}\u{200f}",
    ];

    #[test]
    fn no_payload_passes() {
        for payload in PAYLOADS {
            let shown = clean(payload);
            assert!(!shown.chars().any(is_invisible), "{payload:?} became {shown:?}");
            assert!(shown.contains(MARK), "{payload:?} left no mark");
            assert_eq!(shown.chars().count(), payload.chars().count());
            assert_eq!(clean(&shown), shown, "cleaning twice changes nothing");
        }
    }

    #[test]
    fn ordinary_text_is_not_touched() {
        for text in ["plain", "Größe", "日本語", "🦀 crab", "a b", "e\u{301}", ""] {
            assert!(matches!(clean(text), Cow::Borrowed(same) if same == text));
        }
        assert_eq!(clean_lines("a\nb\x1b"), "a\nb\u{FFFD}");
    }

    #[test]
    fn json_loses_nothing() {
        for payload in PAYLOADS {
            let document = serde_json::json!({ payload: payload }).to_string() + "\n";
            let escaped = escape_json(&document);
            assert!(!escaped.chars().any(|c| c != '\n' && is_invisible(c)), "{escaped:?}");
            let back: serde_json::Value = serde_json::from_str(&escaped).expect("still one document");
            assert_eq!(back[payload], payload);
        }
    }

    /// Ordinary text, hostile characters, and those next to them.
    fn text() -> impl Strategy<Value = String> {
        let edge =
            prop::sample::select(jig_session_schema::invisible::INVISIBLE.to_vec()).prop_flat_map(|(first, last)| {
                let around = first.saturating_sub(1)..=last + 1;
                around.prop_map(|code| char::from_u32(code).unwrap_or('?'))
            });
        prop::collection::vec(prop_oneof![any::<char>(), edge], 0..60).prop_map(String::from_iter)
    }

    proptest! {
        #[test]
        fn nothing_hostile_passes(text in text()) {
            let shown = clean(&text);
            prop_assert!(!shown.chars().any(is_invisible));
            prop_assert!(!shown.chars().any(char::is_control));
            prop_assert_eq!(shown.chars().count(), text.chars().count());
            prop_assert_eq!(clean(&shown), shown.clone(), "cleaning twice changes nothing");
            for (shown, given) in shown.chars().zip(text.chars()) {
                prop_assert!(shown == given || (shown == MARK && is_invisible(given)));
            }
            let lines = clean_lines(&text);
            prop_assert!(!lines.chars().any(|c| c != '\n' && is_invisible(c)));
        }

        #[test]
        fn escaped_json_says_the_same(text in text()) {
            let document = serde_json::json!({ "key": text }).to_string();
            let escaped = escape_json(&document);
            prop_assert!(!escaped.chars().any(|c| c != '\n' && is_invisible(c)));
            let back: serde_json::Value = serde_json::from_str(&escaped).expect("still one document");
            prop_assert_eq!(&back["key"], &serde_json::Value::from(text));
        }
    }
}
