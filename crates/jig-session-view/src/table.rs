//! Tables for people: aligned by what a terminal shows, cut to its width, plain when nobody watches.
//!
//! Cells are foreign strings: a cell is cleaned when it is made and cannot be made otherwise.

use std::collections::HashMap;

use unicode_width::UnicodeWidthStr;

use crate::line::Line;
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
    title: &'static str,
    /// Numbers stand on the right.
    right: bool,
    /// It is never made narrower than this while anything else gives way.
    least: usize,
    /// Left out when the terminal is too narrow, the highest first; 0 = never.
    drop: u8,
    /// It gives way before all others: it distinguishes no row from another.
    yields: bool,
}

impl Column {
    /// A column of texts under this heading: never narrower than `least` while anything else gives way, and left out
    /// when the terminal is too narrow, the one with the highest `drop` first; 0 = never.
    #[must_use]
    pub const fn new(title: &'static str, least: usize, drop: u8) -> Self {
        Self { title, right: false, least, drop, yields: false }
    }

    /// The same with its cells on the right, as numbers stand.
    #[must_use]
    pub const fn right(mut self) -> Self {
        self.right = true;
        self
    }

    /// The same giving way before all others: it distinguishes no row from another.
    #[must_use]
    pub const fn yields(mut self) -> Self {
        self.yields = true;
        self
    }
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
    /// Another colour, as the number of its escape sequence (`\x1b[34m`): one of the sixteen that a terminal's user chose.
    Color(u8),
}

impl Style {
    /// Our own text in this style.
    pub fn paint(self, text: &str, color: bool) -> String {
        let code = match self {
            _ if !color || text.is_empty() => return text.to_owned(),
            Self::Plain => return text.to_owned(),
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Red => "1;31",
            Self::Yellow => "33",
            Self::Green => "32",
            Self::Color(code) => return format!("\x1b[{code}m{text}\x1b[0m"),
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// One cell: its text is clean.
#[derive(Clone, Debug)]
pub struct Cell {
    text: String,
    style: Style,
    /// The end is what matters: a folder, an id.
    keeps_end: bool,
    /// Whose text it is; see [`Cell::of`].
    id: Option<String>,
}

impl Cell {
    /// A cell of any string: what could steer a terminal is replaced, and what is longer than 400 characters is cut.
    pub fn new(text: impl AsRef<str>) -> Self {
        let text = text.as_ref();
        let end = text.char_indices().nth(LONGEST).map_or(text.len(), |(at, _)| at);
        Self::clean(&text[..end], false)
    }

    /// A text with a distinctive end, such as a path or an id: where it is too wide, its beginning is cut.
    pub fn path(text: impl AsRef<str>) -> Self {
        let text = text.as_ref();
        let start = text.char_indices().rev().nth(LONGEST - 1).map_or(0, |(at, _)| at);
        Self::clean(&text[start..], true)
    }

    fn clean(text: &str, keeps_end: bool) -> Self {
        Self { text: sanitise::clean(text).into_owned(), style: Style::Plain, keeps_end, id: None }
    }

    /// The same cell in another style.
    #[must_use]
    pub fn style(mut self, style: Style) -> Self {
        self.style = style;
        self
    }

    /// Names whose text it is: where two of a column would print alike, each carries the part of its id that tells
    /// them apart.
    #[must_use]
    pub fn of(mut self, id: &str) -> Self {
        self.id = Some(id.to_owned());
        self
    }

    /// The text in this width, with the part of its id behind it.
    fn fitted(&self, part: Option<&str>, width: usize) -> String {
        let cut = if self.keeps_end { fit_end } else { fit };
        let Some(part) = part else { return cut(&self.text, width) };
        let marked = format!(" ({part})");
        // A letter and the mark of the cut, or nothing of the text.
        match width.checked_sub(marked.width()) {
            Some(room) if room >= self.text.width().min(2) => cut(&self.text, room) + &marked,
            _ => fit_end(part, width),
        }
    }

    fn width(&self, part: Option<&str>) -> usize {
        self.text.width() + part.map_or(0, |part| part.width() + 3)
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

    /// The titles and the rows as text, cut to `width` display columns where there is one.
    pub fn render(&self, width: Option<usize>, color: bool) -> String {
        self.lines(width).iter().map(|line| line.paint(color) + "\n").collect()
    }

    /// The titles and then the rows, one line each, cut to `width` display columns where there is one.
    pub fn lines(&self, width: Option<usize>) -> Vec<Line> {
        let mut parts = vec![vec![None; self.columns.len()]; self.rows.len()];
        let mut widths = self.widths(width, &parts);
        // A part that is added takes room, and may make others alike.
        while self.tell_apart(&widths, &mut parts) {
            widths = self.widths(width, &parts);
        }
        let titles: Vec<_> = self.columns.iter().map(|column| Cell::new(column.title).style(Style::Dim)).collect();
        let first = self.line(&titles, &vec![None; self.columns.len()], &widths);
        let rows = self.rows.iter().zip(&parts).map(|(row, parts)| self.line(row, parts, &widths));
        std::iter::once(first).chain(rows).collect()
    }

    /// Gives a part of its id to each cell that prints like another one's; whether there was any.
    fn tell_apart(&self, widths: &[usize], parts: &mut [Vec<Option<String>>]) -> bool {
        let mut any = false;
        for (index, &width) in widths.iter().enumerate().filter(|(_, width)| **width > 0) {
            let mut alike: HashMap<String, Vec<(usize, &str)>> = HashMap::new();
            for (at, row) in self.rows.iter().enumerate() {
                let cell = &row[index];
                if let Some(id) = &cell.id {
                    alike.entry(cell.fitted(parts[at][index].as_deref(), width)).or_default().push((at, id));
                }
            }
            alike.retain(|_, cells| cells.iter().any(|(_, id)| *id != cells[0].1));
            if alike.is_empty() {
                continue;
            }
            let ids: Vec<&str> = self.rows.iter().filter_map(|row| row[index].id.as_deref()).collect();
            for (at, id) in alike.into_values().flatten() {
                let part = &mut parts[at][index];
                if part.is_none() {
                    *part = Some(sanitise::clean(short_id(id, &ids)).into_owned());
                    any = true;
                }
            }
        }
        any
    }

    /// The width of each column; 0 = left out.
    fn widths(&self, limit: Option<usize>, parts: &[Vec<Option<String>>]) -> Vec<usize> {
        let mut natural: Vec<usize> = (0..self.columns.len()).map(|index| self.natural(index, parts)).collect();
        let Some(limit) = limit else { return natural };
        loop {
            let mut widths = natural.clone();
            while total(&widths) > limit {
                let wide = (0..widths.len()).filter(|&i| widths[i] > self.columns[i].least);
                let Some(widest) = wide.max_by_key(|&i| (self.columns[i].yields, widths[i])) else { break };
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
    fn natural(&self, index: usize, parts: &[Vec<Option<String>>]) -> usize {
        let rows = self.rows.iter().zip(parts);
        let widest = rows.map(|(row, parts)| row[index].width(parts[index].as_deref())).max().unwrap_or_default();
        if widest == 0 { 0 } else { widest.max(self.columns[index].title.width()) }
    }

    fn line(&self, row: &[Cell], parts: &[Option<String>], widths: &[usize]) -> Line {
        let mut line = Line::new();
        let mut blanks = 0;
        let cells = self.columns.iter().zip(row).zip(parts).zip(widths);
        for (((column, cell), part), &width) in cells.filter(|(_, width)| **width > 0) {
            let text = cell.fitted(part.as_deref(), width);
            let rest = width.saturating_sub(text.width());
            let (before, after) = if column.right { (rest, 0) } else { (0, rest) };
            if text.is_empty() {
                blanks += before;
            } else {
                line.push(" ".repeat(blanks + before), Style::Plain);
                line.push(&text, cell.style);
                blanks = 0;
            }
            blanks += after + GAP;
        }
        line
    }
}

/// The shortest part of an id, an end or a beginning, that a SESSION argument takes for this one of `ids`.
pub fn short_id<'a>(id: &'a str, ids: &[&str]) -> &'a str {
    /// A SESSION argument is at least this long.
    const LEAST: usize = 4;
    // Nothing is won by cutting a short one.
    if id.len() <= 2 * LEAST {
        return id;
    }
    let is_own =
        |part: &str| ids.iter().all(|other| *other == id || !(other.ends_with(part) || other.starts_with(part)));
    let lengths = (LEAST..id.len()).filter(|&length| length <= id.len());
    let parts = lengths.flat_map(|length| [id.get(id.len() - length..), id.get(..length)]).flatten();
    parts.into_iter().find(|part| is_own(part)).unwrap_or(id)
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

/// The text with its end whole, cut with a visible mark at its beginning where it is wider than `width`.
pub fn fit_end(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let Some(room) = width.checked_sub(1) else { return String::new() };
    let start = text.char_indices().map(|(at, _)| at).find(|&at| text[at..].width() <= room).unwrap_or(text.len());
    format!("{CUT}{}", &text[start..])
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 4] = [
        Column::new("STATE", 4, 0),
        Column::new("NAME", 6, 0),
        Column::new("COST", 5, 1).right(),
        Column::new("TERMINAL", 3, 2),
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

    #[test]
    fn the_end_of_a_folder_stays_and_the_model_gives_way_first() {
        let columns = [Column::new("NAME", 4, 0), Column::new("FOLDER", 8, 0), Column::new("MODEL", 5, 0).yields()];
        let mut table = Table::new(&columns);
        table.push(vec![Cell::new("api"), Cell::path("~/projects/shop/services/checkout"), Cell::new("a long model")]);
        assert_eq!(
            table.render(Some(48), false).lines().nth(1),
            Some("api   ~/projects/shop/services/checkout  a long…")
        );
        assert_eq!(table.render(Some(28), false).lines().nth(1), Some("api   …vices/checkout  a lo…"));
        assert_eq!(fit_end("日本語", 4), "…語", "half of a wide character is none");
        assert_eq!(fit_end("abc", 0), "");
        assert_eq!(Cell::path(format!("{}z", "x".repeat(1 << 20))).text.chars().next_back(), Some('z'));
    }

    /// The names of a table of these rows, in this width.
    fn names(rows: &[(&str, &str)], width: Option<usize>) -> Vec<String> {
        let mut table = Table::new(&[Column::new("NAME", 6, 0)]);
        for (name, id) in rows {
            table.push(vec![Cell::new(name).of(id)]);
        }
        table.render(width, false).lines().skip(1).map(str::to_owned).collect()
    }

    #[test]
    fn two_that_print_alike_carry_what_tells_them_apart() {
        let rows = [("api", "019fb27c-6804-aa"), ("api", "019fb27c-6804-bb"), ("web", "019fb27c-6804-cc")];
        assert_eq!(names(&rows, None), ["api (4-aa)", "api (4-bb)", "web"]);
        // Ids that have their end in common.
        assert_eq!(names(&[("api", "first-of-them"), ("api", "other-of-them")], None), ["api (firs)", "api (othe)"]);
        // A part of one id is no part of another.
        assert_eq!(names(&[("a", "a-session-of-us"), ("a", "session-of-us")], None), ["a (a-se)", "a (sess)"]);
        // What was cut away does not tell them apart.
        let long = [("a long name: first", "id-1"), ("a long name: second", "id-2")];
        assert_eq!(names(&long, Some(12)), ["a lo… (id-1)", "a lo… (id-2)"]);
        assert_eq!(names(&long, Some(6)), ["id-1", "id-2"]);
        // A name that looks like another's with its part, and one whose characters are not shown.
        assert_eq!(
            names(&[("api", "id-1"), ("api", "id-2"), ("api (id-1)", "id-3")], None),
            ["api (id-1)", "api (id-2)", "api (id-1) (id-3)"]
        );
        assert_eq!(
            names(&[("a\u{200b}", "id-1"), ("a\u{202e}", "id-2")], None),
            ["a\u{fffd} (id-1)", "a\u{fffd} (id-2)"]
        );
        // One session twice is one.
        assert_eq!(names(&[("api", "id-1"), ("api", "id-1")], None), ["api", "api"]);
    }
}
