//! A line of a terminal as pieces of text, each in one style: what every outlet of a view is made of.

use unicode_width::UnicodeWidthStr;

use crate::sanitise;
use crate::table::{Style, fit};

/// A piece of a line in one style. Its text is clean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    text: String,
    style: Style,
}

impl Span {
    /// A piece of any string: what could steer a terminal is replaced.
    pub fn new(text: impl AsRef<str>, style: Style) -> Self {
        Self { text: sanitise::clean(text.as_ref()).into_owned(), style }
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How it is shown.
    #[must_use]
    pub fn style(&self) -> Style {
        self.style
    }
}

/// One line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    spans: Vec<Span>,
    /// The focus is on it.
    pub selected: bool,
}

impl Line {
    /// An empty line.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A line of one piece.
    pub fn of(text: impl AsRef<str>, style: Style) -> Self {
        Self::new().with(text, style)
    }

    /// A line of plain text.
    pub fn plain(text: impl AsRef<str>) -> Self {
        Self::of(text, Style::Plain)
    }

    /// The same with another piece at its end.
    #[must_use]
    pub fn with(mut self, text: impl AsRef<str>, style: Style) -> Self {
        self.push(text, style);
        self
    }

    /// Adds a piece at the end; a neighbour in the same style takes it.
    pub fn push(&mut self, text: impl AsRef<str>, style: Style) {
        let span = Span::new(text, style);
        match self.spans.last_mut().filter(|last| last.style == style) {
            Some(last) => last.text.push_str(&span.text),
            None if span.text.is_empty() => {}
            None => self.spans.push(span),
        }
    }

    /// The pieces.
    #[must_use]
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// How many columns of a terminal it takes.
    #[must_use]
    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| span.text.width()).sum()
    }

    /// The text without styles.
    #[must_use]
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// The text with its styles as escape sequences where colour is wanted; without blanks at its end.
    #[must_use]
    pub fn paint(&self, color: bool) -> String {
        let text: String = self.spans.iter().map(|span| span.style.paint(&span.text, color)).collect();
        text.trim_end_matches(' ').to_owned()
    }

    /// The line, cut with a visible mark where it is wider than `width`.
    #[must_use]
    pub fn fit(mut self, width: usize) -> Self {
        if self.width() <= width {
            return self;
        }
        let mut left = width;
        let spans = std::mem::take(&mut self.spans);
        for span in spans {
            let wide = span.text.width();
            if wide < left || (wide == left && left == 0) {
                left -= wide;
                self.spans.push(span);
                continue;
            }
            // Something behind this piece is lost at least, so the mark stands here.
            let text = if wide == left { fit(&format!("{} ", span.text), left) } else { fit(&span.text, left) };
            self.spans.push(Span { text, style: span.style });
            break;
        }
        self
    }

    /// The line with `other` at its right end, `width` columns in all; of the two this one gives way.
    #[must_use]
    pub fn beside(self, other: Self, width: usize) -> Self {
        let other = other.fit(width);
        let room = width.saturating_sub(other.width());
        let mut line = self.fit(room.saturating_sub(usize::from(other.width() > 0)));
        let blanks = room.saturating_sub(line.width());
        line.push(" ".repeat(blanks), Style::Plain);
        line.spans.extend(other.spans);
        line
    }

    /// The line with another one right behind it.
    #[must_use]
    pub fn followed_by(mut self, other: Self) -> Self {
        self.spans.extend(other.spans);
        self
    }

    /// The line moved to the right.
    #[must_use]
    pub fn indented(mut self, by: usize) -> Self {
        self.spans.insert(0, Span { text: " ".repeat(by), style: Style::Plain });
        self
    }

    /// The same line with the focus on it.
    #[must_use]
    pub fn selected(mut self, selected: bool) -> Self {
        self.selected = selected;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_where_it_is_too_wide() {
        let line = || Line::of("abc", Style::Red).with("日本", Style::Plain).with("xyz", Style::Dim);
        for width in 0..14 {
            let cut = line().fit(width);
            assert!(cut.width() <= width, "{width}: {cut:?}");
            assert_eq!(
                cut.width() < 10 && width < 10,
                cut.text().ends_with('…') && width > 0 || width == 0,
                "{width}: {cut:?}"
            );
        }
        assert_eq!(line().fit(10), line());
        assert_eq!(line().fit(3).text(), "ab…");
        assert_eq!(line().fit(7).text(), "abc日…");
    }

    #[test]
    fn what_stands_on_the_right_stays() {
        let line = |width| Line::plain("a long text").beside(Line::of("right", Style::Bold), width);
        assert_eq!(line(20).text(), "a long text    right");
        assert_eq!(line(12).text(), "a lon… right");
        assert_eq!(line(4).text(), "rig…");
        for width in 0..30 {
            assert!(line(width).width() <= width);
        }
    }

    #[test]
    fn neighbours_of_one_style_are_one_piece_and_foreign_text_is_clean() {
        let mut line = Line::of("a", Style::Red);
        line.push("b\u{1b}[2J", Style::Red);
        line.push("", Style::Dim);
        assert_eq!(line.spans().len(), 1);
        assert_eq!(line.paint(true), "\u{1b}[1;31mab\u{fffd}[2J\u{1b}[0m");
        assert_eq!(line.paint(false), "ab\u{fffd}[2J");
    }
}
