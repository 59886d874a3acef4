//! Tables for people: aligned by what a terminal shows, cut to its width, plain when nobody watches.
//!
//! Cells are foreign strings: a cell is cleaned when it is made and cannot be made otherwise.

use unicode_width::UnicodeWidthStr;

use crate::sanitise;

/// What stands where text was cut.
const CUT: char = '…';
/// Blanks between two columns.
const GAP: usize = 2;
/// No cell is longer: a name of a megabyte is cut before it is measured.
const LONGEST: usize = 400;

/// One column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its heading.
    pub title: &'static str,
    /// Numbers stand on the right.
    pub right: bool,
    /// It is never made narrower than this while anything else gives way.
    pub least: usize,
    /// Left out when the terminal is too narrow, the highest first; 0 = never.
    pub drop: u8,
}

/// How a cell is coloured, when colour is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// As the terminal shows text.
    Plain,
    /// What the row is found by.
    Bold,
    /// What matters least, or is over.
    Dim,
    /// What needs a person now.
    Red,
    /// What is worth a look.
    Yellow,
    /// What works.
    Green,
}

impl Style {
    /// Our own text in this style.
    pub fn paint(self, text: &str, color: bool) -> String {
        match self.code().filter(|_| color && !text.is_empty()) {
            Some(code) => format!("\x1b[{code}m{text}\x1b[0m"),
            None => text.to_owned(),
        }
    }

    fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Bold => Some("1"),
            Self::Dim => Some("2"),
            Self::Red => Some("1;31"),
            Self::Yellow => Some("33"),
            Self::Green => Some("32"),
        }
    }
}

/// One cell: its text is clean.
#[derive(Clone, Debug)]
pub struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// A cell of any string: what could steer a terminal is replaced, and what is longer than 400 characters is cut.
    pub fn new(text: impl AsRef<str>) -> Self {
        let text = text.as_ref();
        let end = text.char_indices().nth(LONGEST).map_or(text.len(), |(at, _)| at);
        Self { text: sanitise::clean(&text[..end]).into_owned(), style: Style::Plain }
    }

    /// The same cell in another style.
    #[must_use]
    pub fn style(mut self, style: Style) -> Self {
        self.style = style;
        self
    }
}

/// Rows under their titles.
#[derive(Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// An empty table of these columns.
    pub fn new(columns: &[Column]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row: one cell a column.
    pub fn push(&mut self, row: Vec<Cell>) {
        debug_assert_eq!(row.len(), self.columns.len(), "one cell a column");
        self.rows.push(row);
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The lines, cut to `width` display columns where there is one.
    pub fn render(&self, width: Option<usize>, color: bool) -> String {
        let widths = self.widths(width);
        let mut out = String::new();
        let titles: Vec<_> = self.columns.iter().map(|column| Cell::new(column.title).style(Style::Dim)).collect();
        for row in std::iter::once(&titles).chain(&self.rows) {
            self.line(row, &widths, color, &mut out);
        }
        out
    }

    /// The width of each column; 0 = left out.
    fn widths(&self, limit: Option<usize>) -> Vec<usize> {
        let mut natural: Vec<usize> = (0..self.columns.len()).map(|index| self.natural(index)).collect();
        let Some(limit) = limit else { return natural };
        loop {
            let mut widths = natural.clone();
            while total(&widths) > limit {
                let widest =
                    (0..widths.len()).filter(|&i| widths[i] > self.columns[i].least).max_by_key(|&i| widths[i]);
                let Some(widest) = widest else { break };
                widths[widest] -= 1;
            }
            if total(&widths) <= limit {
                return widths;
            }
            let droppable = (0..widths.len()).filter(|&i| natural[i] > 0 && self.columns[i].drop > 0);
            let Some(dropped) = droppable.max_by_key(|&i| self.columns[i].drop) else {
                return squeezed(widths, limit);
            };
            natural[dropped] = 0;
        }
    }

    /// The width that a column wants: its widest cell; nothing when all its cells are empty.
    fn natural(&self, index: usize) -> usize {
        let widest = self.rows.iter().map(|row| row[index].text.width()).max().unwrap_or_default();
        if widest == 0 { 0 } else { widest.max(self.columns[index].title.width()) }
    }

    fn line(&self, row: &[Cell], widths: &[usize], color: bool, out: &mut String) {
        let start = out.len();
        let mut first = true;
        for ((column, cell), &width) in self.columns.iter().zip(row).zip(widths) {
            if width == 0 {
                continue;
            }
            if !first {
                out.extend(std::iter::repeat_n(' ', GAP));
            }
            first = false;
            let text = fit(&cell.text, width);
            let blanks = width.saturating_sub(text.width());
            if column.right {
                out.extend(std::iter::repeat_n(' ', blanks));
            }
            out.push_str(&cell.style.paint(&text, color));
            if !column.right {
                out.extend(std::iter::repeat_n(' ', blanks));
            }
        }
        out.truncate(start + out[start..].trim_end_matches(' ').len());
        out.push('\n');
    }
}

fn total(widths: &[usize]) -> usize {
    let shown = widths.iter().filter(|&&width| width > 0).count();
    widths.iter().sum::<usize>() + GAP * shown.saturating_sub(1)
}

/// The last resort on a very narrow terminal: columns go from the right until the rest fits.
fn squeezed(mut widths: Vec<usize>, limit: usize) -> Vec<usize> {
    while total(&widths) > limit {
        let mut shown = (0..widths.len()).rev().filter(|&index| widths[index] > 0);
        let (Some(last), Some(_)) = (shown.next(), shown.next()) else {
            return widths.into_iter().map(|width| width.min(limit)).collect();
        };
        widths[last] = 0;
    }
    widths
}

/// The text, cut with a visible mark where it is wider than `width`.
pub fn fit(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(1);
    let mut end = 0;
    for (at, character) in text.char_indices() {
        let next = at + character.len_utf8();
        if text[..next].width() > room {
            break;
        }
        end = next;
    }
    let mut cut = text[..end].to_owned();
    if width > 0 {
        cut.push(CUT);
    }
    cut
}

/// The words of a text in lines of at most `width` columns; a word that is wider stands alone and is not cut.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last().map_or(0, |line| line.width());
        if last > 0 && last + 1 + word.width() > width {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 4] = [
        Column { title: "STATE", right: false, least: 4, drop: 0 },
        Column { title: "NAME", right: false, least: 6, drop: 0 },
        Column { title: "COST", right: true, least: 5, drop: 1 },
        Column { title: "TERMINAL", right: false, least: 3, drop: 2 },
    ];

    fn table(rows: &[[&str; 4]]) -> Table {
        let mut table = Table::new(&COLUMNS);
        for row in rows {
            table.push(row.iter().map(Cell::new).collect());
        }
        table
    }

    #[test]
    fn columns_line_up_by_what_is_shown() {
        let table = table(&[["busy", "日本", "$1.24", "%3"], ["idle", "plain", "$12.00", ""]]);
        assert_eq!(
            table.render(None, false),
            "STATE  NAME     COST  TERMINAL\nbusy   日本    $1.24  %3\nidle   plain  $12.00\n"
        );
    }

    #[test]
    fn an_empty_column_is_left_out() {
        let table = table(&[["busy", "one", "", ""]]);
        assert_eq!(table.render(None, false), "STATE  NAME\nbusy   one\n");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let hostile =
            ["\x1b[2Jbusy", "❤️❤️❤️ e\u{301}\u{202e}日本語日本語日本語 a very long name indeed", "$1.24", "%3"];
        for width in 0..90 {
            let text = table(&[hostile, ["idle", "x", "", ""]]).render(Some(width), false);
            for line in text.lines() {
                assert!(line.width() <= width, "{width}: {line:?}");
                assert!(!line.chars().any(jig_session_schema::invisible::is_invisible));
            }
        }
    }

    #[test]
    fn what_matters_least_goes_first() {
        let table = table(&[["busy", "a-name-of-some-length", "$1.24", "%3"]]);
        assert!(table.render(Some(34), false).contains("TERMINAL"));
        let narrow = table.render(Some(20), false);
        assert!(!narrow.contains("TERMI") && narrow.contains("COST"), "{narrow}");
        let narrower = table.render(Some(14), false);
        assert!(!narrower.contains("COST") && narrower.contains("busy"), "{narrower}");
    }

    #[test]
    fn colour_does_not_move_anything() {
        let mut table = table(&[]);
        table.push(vec![Cell::new("approval").style(Style::Red), Cell::new("x"), Cell::new(""), Cell::new("")]);
        let plain = table.render(Some(40), false);
        let coloured = table.render(Some(40), true);
        assert!(coloured.contains("\x1b[1;31mapproval\x1b[0m"));
        let stripped = ["\x1b[1;31m", "\x1b[2m", "\x1b[0m"].iter().fold(coloured, |text, code| text.replace(code, ""));
        assert_eq!(stripped, plain);
    }

    #[test]
    fn a_cell_of_a_megabyte_is_cut_first() {
        assert_eq!(Cell::new("x".repeat(1 << 20)).text.len(), LONGEST);
    }
}
