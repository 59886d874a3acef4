//! The visible screen of one pane as lines that can be looked at by region.

use std::borrow::Cow;

use super::Cursor;

/// A pane's text as lines: right-trimmed, blank rows at the bottom left out.
///
/// Agents are often not anchored to the bottom of their pane, so "the last row" always means the last
/// row that shows something.
#[derive(Debug)]
pub(crate) struct Screen<'a> {
    lines: Vec<&'a str>,
    cursor: Option<Cursor>,
}

impl<'a> Screen<'a> {
    /// Cuts cleaned text (see [`clean`]) into lines.
    pub(crate) fn new(text: &'a str, cursor: Option<Cursor>) -> Self {
        let mut lines: Vec<&str> = text.split('\n').map(trim_end).collect();
        while lines.last().is_some_and(|line| line.is_empty()) {
            lines.pop();
        }
        Self { lines, cursor }
    }

    /// Where the cursor stands, when that is known.
    pub(crate) fn cursor(&self) -> Option<Cursor> {
        self.cursor
    }

    /// The cursor's row up to the cursor. A wide character counts as one column, so a row may be given too long,
    /// never too short.
    pub(crate) fn before_cursor(&self) -> &'a str {
        let Some(cursor) = self.cursor else { return "" };
        let row = self.lines.get(cursor.row).copied().unwrap_or_default();
        row.char_indices().nth(cursor.column).map_or(row, |(at, _)| &row[..at])
    }

    /// The last line above the cursor's row that shows something.
    pub(crate) fn last_above_cursor(&self) -> &'a str {
        let row = self.cursor.map_or(0, |cursor| cursor.row.min(self.lines.len()));
        self.lines[..row].iter().rev().copied().find(|line| !bare(line).is_empty()).unwrap_or_default()
    }

    /// The lines, top to bottom.
    pub(crate) fn lines(&self) -> &[&'a str] {
        &self.lines
    }

    /// The screen without its last visible line: what a nested multiplexer shows above its status line.
    pub(crate) fn without_last(&self) -> Self {
        let end = self.lines.len().saturating_sub(1);
        let mut lines = self.lines[..end].to_vec();
        while lines.last().is_some_and(|line| line.is_empty()) {
            lines.pop();
        }
        Self { lines, cursor: self.cursor }
    }

    /// The last line that shows something.
    pub(crate) fn last(&self) -> Option<&'a str> {
        self.lines.last().copied()
    }
}

/// Ordinary and no-break blanks: agents draw both, and a cut screen keeps the latter.
pub(crate) fn is_blank(c: char) -> bool {
    c.is_whitespace()
}

fn trim_end(line: &str) -> &str {
    // A no-break space after the prompt glyph distinguishes a composer from an old prompt, so it is preserved.
    line.trim_end_matches(|c: char| c != '\u{a0}' && is_blank(c))
}

/// Removes escape sequences and carriage returns; text without any is borrowed as it is.
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(|byte| byte == 0x1b || byte == b'\r') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' => {}
            '\u{1b}' => match chars.next() {
                Some('[') => {
                    for c in chars.by_ref() {
                        if ('@'..='~').contains(&c) {
                            break;
                        }
                    }
                }
                Some(']') => {
                    while let Some(c) = chars.next() {
                        if c == '\u{7}' {
                            break;
                        }
                        if c == '\u{1b}' {
                            chars.next();
                            break;
                        }
                    }
                }
                _ => {}
            },
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// The characters that frame a box or a bar.
const FRAME: [char; 6] = ['│', '┃', '║', '╎', '|', '▌'];

/// A line without blanks and without the frame of the box it stands in.
pub(crate) fn bare(line: &str) -> &str {
    line.trim_matches(|c: char| is_blank(c) || FRAME.contains(&c))
}

/// A line without blanks at its ends.
pub(crate) fn trimmed(line: &str) -> &str {
    line.trim_matches(is_blank)
}

/// Contains, with ASCII letters compared whatever their case.
pub(crate) fn has(line: &str, text: &str) -> bool {
    let (line, text) = (line.as_bytes(), text.as_bytes());
    line.len() >= text.len() && line.windows(text.len()).any(|window| window.eq_ignore_ascii_case(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_and_returns_are_removed() {
        assert_eq!(clean("\u{1b}[1;32mdev\u{1b}[0m:\u{1b}]0;title\u{7}~\u{1b}]8;;x\u{1b}\\$\r"), "dev:~$");
        assert!(matches!(clean("plain"), Cow::Borrowed("plain")));
    }

    #[test]
    fn blank_rows_at_the_bottom_do_not_count() {
        let screen = Screen::new("a\n\nb  \n\n   \n", None);
        assert_eq!(screen.lines(), ["a", "", "b"]);
        assert_eq!(screen.last(), Some("b"));
        assert_eq!(screen.without_last().lines(), ["a"]);
        assert_eq!(Screen::new("\n\n", None).last(), None);
    }

    #[test]
    fn the_cursors_row_ends_at_the_cursor() {
        let at = |column, row| Screen::new("first?\n\n > sh-5$ r message\n", Some(Cursor { column, row }));
        assert_eq!(at(8, 2).before_cursor(), " > sh-5$");
        assert_eq!((at(90, 2).before_cursor(), at(3, 9).before_cursor()), (" > sh-5$ r message", ""));
        assert_eq!((at(0, 2).last_above_cursor(), at(0, 0).last_above_cursor()), ("first?", ""));
        assert_eq!(at(0, 9).last_above_cursor(), " > sh-5$ r message");
    }

    #[test]
    fn the_blank_of_a_composer_is_kept() {
        assert_eq!(Screen::new("❯\u{a0}", None).lines(), ["❯\u{a0}"]);
    }
}
