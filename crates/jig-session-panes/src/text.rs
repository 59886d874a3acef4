//! Pane text made fit to be shown: it comes from whatever ran in a terminal.

use jig_session_schema::invisible::is_invisible;

/// The most characters of a line that is shown.
pub const LINE_CHARS: usize = 512;
/// Maximum number of bytes of a captured screen.
pub const SCREEN_BYTES: usize = 64 * 1024;

/// One line: invisible characters left out, at most [`LINE_CHARS`] characters.
pub fn line(text: &str) -> String {
    text.chars().filter(|&c| !is_invisible(c)).take(LINE_CHARS).collect()
}

/// A whole screen: line ends stay, invisible characters go, at most [`SCREEN_BYTES`].
pub fn screen(text: &str) -> String {
    let text = crate::classify::clean(text);
    let mut out = String::new();
    for c in text.chars().filter(|&c| c == '\n' || !is_invisible(c)) {
        if out.len() + c.len_utf8() > SCREEN_BYTES {
            break;
        }
        out.push(c);
    }
    out.truncate(out.trim_end().len());
    out
}

/// The last line that shows something, runs of blanks made one; null when there is none.
pub fn last_line(text: &str) -> Option<String> {
    let found = text.lines().rev().find(|line| !line.trim().is_empty())?;
    let found = crate::classify::clean(found);
    let words: Vec<&str> = found.split_whitespace().collect();
    let shown = line(&words.join(" "));
    (!shown.is_empty()).then_some(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmful_characters_go() {
        assert_eq!(line("a\u{202e}b\u{7}c\u{85}"), "abc");
        assert_eq!(line(&"x".repeat(600)).len(), LINE_CHARS);
        assert_eq!(screen("a \u{1b}[1mb\u{1b}[0m\n\u{202e}c\n\n"), "a b\nc");
        assert_eq!(screen(&"é".repeat(SCREEN_BYTES)).len(), SCREEN_BYTES);
    }

    #[test]
    fn the_last_line_is_one_line() {
        assert_eq!(last_line("a\n  b \u{a0} c\u{202e}  \n\n  \n").as_deref(), Some("b c"));
        assert_eq!(last_line(" \n\n"), None);
    }
}
