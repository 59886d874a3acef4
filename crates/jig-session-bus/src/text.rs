//! What a text of the bus may hold, and how it is shown in one line.

use jig_session_schema::invisible::is_invisible;
use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::limits;

/// Why a text is not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadText {
    /// There is nothing to read in it.
    #[error("the text is empty")]
    Blank,
    /// It is longer than a message may be; it is never cut.
    #[error("the text has {count} characters, a message at most {most}", most = limits::TEXT)]
    TooLong {
        /// How many it has.
        count: usize,
    },
    /// It holds characters a terminal would obey.
    #[error("the text holds the control character U+{0:04X}")]
    Control(u32),
}

impl BadText {
    /// The way out, where there is one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Blank => None,
            Self::TooLong { .. } => Some("put it into a file of the repository, and name that with --path"),
            Self::Control(_) => {
                Some("of control characters only line feed and tab are sent: spell it out, as in \\u001b")
            }
        }
    }
}

/// Checks the text of a message: 1 to 4000 characters, no controls but line feed and tab.
pub fn check(text: &str) -> Result<(), BadText> {
    let count = text.chars().count();
    if count > limits::TEXT {
        return Err(BadText::TooLong { count });
    }
    if text.chars().all(char::is_whitespace) {
        return Err(BadText::Blank);
    }
    match text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        Some(c) => Err(BadText::Control(u32::from(c))),
        None => Ok(()),
    }
}

/// The text as one line of at most `most` characters, `…` where it was cut.
pub fn preview(text: &str, most: usize) -> String {
    let mut line = String::new();
    let mut count = 0;
    for word in text.split_whitespace() {
        for c in (count > 0).then_some(' ').into_iter().chain(word.chars().map(shown)) {
            if count == most {
                line.pop();
                line.push('…');
                return line;
            }
            line.push(c);
            count += 1;
        }
    }
    line
}

/// A character as a preview shows it: what would steer a terminal leaves a mark.
fn shown(c: char) -> char {
    if is_invisible(c) { '\u{fffd}' } else { c }
}

/// Normal form C: one spelling of one letter.
pub fn nfc(text: &str) -> String {
    if text.is_ascii() || is_nfc(text) { text.to_owned() } else { text.nfc().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_whole_or_refused() {
        // Behaviours 60 to 62.
        assert_eq!(check(&"x".repeat(4000)), Ok(()));
        assert_eq!(check(&"x".repeat(4001)), Err(BadText::TooLong { count: 4001 }));
        assert_eq!(check(&"\u{1f600}".repeat(4000)), Ok(()));
        assert_eq!(check(""), Err(BadText::Blank));
        assert_eq!(check(" \n\t "), Err(BadText::Blank));
        assert_eq!(check("a\n\tb"), Ok(()));
        assert_eq!(check("a\u{1b}[2J"), Err(BadText::Control(0x1b)));
        assert_eq!(check("a\rb"), Err(BadText::Control(0x0d)));
        assert_eq!(check("a\u{9b}b"), Err(BadText::Control(0x9b)));
    }

    #[test]
    fn a_preview_is_one_line_and_never_longer_than_asked() {
        // Behaviour 66.
        assert_eq!(preview("a\n b\t\tc ", 10), "a b c");
        assert_eq!(preview("abcdef", 6), "abcdef");
        assert_eq!(preview("abcdefg", 6), "abcde…");
        assert_eq!(preview("ab cdefg", 3), "ab…");
        assert_eq!(preview(&"x ".repeat(4000), 800).chars().count(), 800);
    }
}
