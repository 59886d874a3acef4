//! What fills a context, as lines of text: a grid of cells, a legend of the parts, then what is behind them.
//!
//! Every part has a letter, so that the grid says the same with and without colour.

use jig_session_schema::status::{Basis, ContextDetail, PartName};

use crate::line::Line;
use crate::sanitise::clean;
use crate::table::{Style, fit};

/// Cells of the grid, about; one cell is half a percent of the window.
const CELLS: usize = 200;
/// The narrowest and the widest grid, in cells.
const COLUMNS: (usize, usize) = (10, 50);
/// A cell of the window that is free.
const FREE: char = '.';

/// A part's letter, what people call it, and its colour.
const PARTS: [(PartName, char, &str, u8); 12] = [
    (PartName::SYSTEM, 'S', "system prompt", 34),
    (PartName::TOOLS, 'T', "tools", 36),
    (PartName::SKILLS, 'K', "skills", 35),
    (PartName::CONTEXT_FILES, 'F', "context files", 33),
    (PartName::USER, 'U', "user messages", 32),
    (PartName::ASSISTANT, 'A', "assistant messages", 92),
    (PartName::THINKING, 'H', "thinking", 90),
    (PartName::TOOL_CALLS, 'C', "tool calls", 94),
    (PartName::TOOL_RESULTS, 'R', "tool results", 96),
    (PartName::JIG, 'J', "session messages", 95),
    (PartName::COMPACTION, 'M', "compacted", 93),
    (PartName::OTHER, 'O', "other", 37),
];

/// The lines as text, none wider than `width` cells.
pub fn lines(detail: &ContextDetail, width: usize, color: bool) -> Vec<String> {
    view(detail, width).iter().map(|line| line.paint(color)).collect()
}

/// The lines, none wider than `width` cells.
pub fn view(detail: &ContextDetail, width: usize) -> Vec<Line> {
    let mut lines = vec![Line::plain(fit(&headline(detail), width)), Line::new()];
    lines.extend(grid(detail, width));
    lines.push(Line::new());
    let whole = detail.window.or(detail.total).unwrap_or_default();
    let entry = |text: &str| format!(" {}", fit(text, width.saturating_sub(2)));
    for part in &detail.parts {
        let (letter, name, color) = look(&part.part);
        let text = format!("{:<20}{:>8}{:>7}", clean(&name), count(part.tokens), percent(part.tokens, whole));
        lines.push(Line::of(letter.to_string(), Style::Color(color)).with(entry(&text), Style::Plain));
    }
    if let Some(total) = detail.total.filter(|_| whole > 0) {
        let left = whole.saturating_sub(total);
        let text = format!("{:<20}{:>8}{:>7}", "free", count(left), percent(left, whole));
        lines.push(Line::plain(format!("{FREE}{}", entry(&text))));
    }
    lines.extend(behind(detail).into_iter().map(|line| Line::plain(fit(&line, width))));
    lines
}

fn headline(detail: &ContextDetail) -> String {
    let basis = match detail.basis {
        Basis::Measured => "measured",
        _ => "estimated",
    };
    match (detail.total, detail.window) {
        (Some(total), Some(window)) => {
            format!("{} of {} tokens, {}, {basis}", count(total), count(window), percent(total, window))
        }
        (Some(total), None) => format!("{} tokens, {basis}", count(total)),
        _ => format!("size not known, {basis}"),
    }
}

/// The window as cells, each in the letter of the part that fills it.
fn grid(detail: &ContextDetail, width: usize) -> Vec<Line> {
    let columns = width.saturating_sub(1).clamp(COLUMNS.0, COLUMNS.1).min(width.max(1));
    let rows = CELLS.div_ceil(columns);
    let cells = u128::try_from(columns * rows).unwrap_or(u128::MAX);
    let whole = u128::from(detail.window.or(detail.total).unwrap_or_default().max(1));
    // Rounding the running sum keeps the number of filled cells right however many small parts there are.
    let end = |sum: u128| usize::try_from((sum * cells + whole / 2) / whole).unwrap_or(usize::MAX);
    let mut letters: Vec<(char, u8)> = Vec::new();
    let mut sum = 0;
    for part in &detail.parts {
        sum += u128::from(part.tokens);
        let (letter, _, paint) = look(&part.part);
        letters.resize(end(sum).clamp(letters.len(), columns * rows), (letter, paint));
    }
    letters.resize(columns * rows, (FREE, 90));
    letters.chunks(columns).map(row_of).collect()
}

/// One row; neighbours of one colour are one piece.
fn row_of(row: &[(char, u8)]) -> Line {
    row.chunk_by(|one, other| one == other).fold(Line::new(), |line, run| {
        line.with(run.iter().map(|(letter, _)| *letter).collect::<String>(), Style::Color(run[0].1))
    })
}

/// Tools by where they come from, skills, context files.
fn behind(detail: &ContextDetail) -> Vec<String> {
    let mut lines = Vec::new();
    let mut sources: Vec<&str> = Vec::new();
    for tool in &detail.tools {
        let source = tool.source.as_deref().unwrap_or_default();
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    for source in sources {
        lines.push(String::new());
        lines.push(if source.is_empty() { "tools".to_owned() } else { format!("tools: {}", clean(source)) });
        let of_source = |tool: &&_| {
            let tool: &jig_session_schema::status::ContextTool = tool;
            tool.source.as_deref().unwrap_or_default() == source
        };
        for tool in detail.tools.iter().filter(of_source) {
            lines.push(entry(&tool.name, tool.tokens, tool.on));
        }
    }
    if !detail.skills.is_empty() {
        lines.extend([String::new(), "skills".to_owned()]);
        lines.extend(detail.skills.iter().map(|skill| entry(&skill.name, skill.tokens, skill.on)));
    }
    if !detail.context_files.is_empty() {
        lines.extend([String::new(), "context files".to_owned()]);
        lines.extend(detail.context_files.iter().map(|file| entry(&file.path, file.tokens, true)));
    }
    lines
}

/// The count comes first: a long name is cut, a count never.
fn entry(name: &str, tokens: u64, on: bool) -> String {
    format!(
        "{:>8}  {}{}",
        if on { count(tokens) } else { "off".to_owned() },
        clean(name),
        if on { "" } else { " (off)" }
    )
}

fn look(part: &PartName) -> (char, String, u8) {
    match PARTS.iter().find(|(name, ..)| name == part) {
        Some((_, letter, name, paint)) => (*letter, (*name).to_owned(), *paint),
        None => ('?', part.as_str().to_owned(), 37),
    }
}

/// `950`, `12.3k`, `1.2M`.
fn count(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..999_950 => tenths(tokens, 1_000, "k"),
        _ => tenths(tokens, 1_000_000, "M"),
    }
}

fn tenths(value: u64, unit: u64, name: &str) -> String {
    let tenths = (value.saturating_mul(10).saturating_add(unit / 2)) / unit;
    format!("{}.{}{name}", tenths / 10, tenths % 10)
}

fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return String::new();
    }
    let tenths = (u128::from(part) * 1000 + u128::from(whole) / 2) / u128::from(whole);
    format!("{}.{} %", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use jig_session_schema::status::{ContextFile, ContextPart, ContextSkill, ContextTool};
    use unicode_width::UnicodeWidthStr;

    use super::*;

    fn detail() -> ContextDetail {
        let part = |part: PartName, tokens| ContextPart::new().part(part).tokens(tokens);
        let tool = |name: &str, source: &str, tokens, on| {
            ContextTool::new().name(name.to_owned()).source(Some(source.to_owned())).tokens(tokens).on(on)
        };
        ContextDetail::new()
            .basis(Basis::Measured)
            .window(Some(100_000))
            .total(Some(50_000))
            .parts(vec![part(PartName::SYSTEM, 10_000), part(PartName::USER, 39_950), part(PartName::JIG, 50)])
            .tools(vec![
                tool("bash", "builtin", 600, false),
                tool("read", "builtin", 700, true),
                tool("ask", "mcp", 5, true),
            ])
            .skills(vec![ContextSkill::new().name("pdf\u{1b}[2J".to_owned()).tokens(9).on(true)])
            .context_files(vec![ContextFile::new().path("/home/dev/app/AGENTS.md".to_owned()).tokens(12)])
    }

    #[test]
    fn the_grid_fills_as_much_as_the_context_does() {
        let lines = lines(&detail(), 80, false);
        assert_eq!(lines[0], "50.0k of 100.0k tokens, 50.0 %, measured");
        let grid: String = lines[2..6].concat();
        let count = |letter| grid.chars().filter(|cell| *cell == letter).count();
        assert_eq!(grid.chars().count(), 200);
        assert_eq!((count('S'), count('U'), count('J'), count('.')), (20, 80, 0, 100));
    }

    #[test]
    fn it_is_readable_without_colour_and_the_same_with_it() {
        let plain = lines(&detail(), 80, false).join("\n");
        assert!(!plain.contains('\u{1b}'));
        assert!(plain.contains("S system prompt          10.0k 10.0 %"), "{plain}");
        assert!(plain.contains("tools: builtin\n     off  bash (off)\n     700  read\n\ntools: mcp"), "{plain}");
        let mut coloured = lines(&detail(), 80, true).join("\n");
        while let Some(start) = coloured.find('\u{1b}') {
            let end = start + coloured[start..].find('m').expect("a colour ends");
            coloured.replace_range(start..=end, "");
        }
        assert_eq!(coloured, plain);
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in [1, 5, 11, 20, 40, 79, 200] {
            for line in lines(&detail(), width, false) {
                assert!(line.width() <= width.max(4), "{width}: {line:?}");
            }
        }
    }

    #[test]
    fn counts_are_short() {
        for (tokens, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1.0k"),
            (12_345, "12.3k"),
            (999_949, "999.9k"),
            (999_950, "1.0M"),
            (1_234_567, "1.2M"),
        ] {
            assert_eq!(count(tokens), text);
        }
    }
}
