//! A captured screen as SVG: one text a run of cells in one style, stretched to its cells, so that no font moves a column.

use std::fmt::Write;

/// Colours of a picture.
pub(super) struct Theme {
    pub(super) name: &'static str,
    back: &'static str,
    text: &'static str,
    border: &'static str,
    /// The sixteen of a terminal.
    colors: [&'static str; 16],
}

impl Theme {
    pub(super) const ALL: [Self; 2] = [
        Self {
            name: "light",
            back: "#ffffff",
            text: "#24292f",
            border: "#d0d7de",
            colors: [
                "#24292f", "#cf222e", "#116329", "#9a6700", "#0969da", "#8250df", "#1b7c83", "#6e7781", "#57606a",
                "#a40e26", "#1a7f37", "#7d4e00", "#218bff", "#a475f9", "#3192aa", "#8c959f",
            ],
        },
        Self {
            name: "dark",
            back: "#0d1117",
            text: "#e6edf3",
            border: "#30363d",
            colors: [
                "#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4", "#6e7681",
                "#ffa198", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#ffffff",
            ],
        },
    ];
}

/// A cell's width and height, and the margin around all, in pixels.
const CELL: (f64, f64) = (8.4, 19.0);
const MARGIN: f64 = 14.0;

/// How a cell is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Look {
    color: Option<u8>,
    bold: bool,
    dim: bool,
    reversed: bool,
}

/// The picture of a screen of this size in columns and rows.
pub(super) fn picture(screen: &str, size: (u16, u16), theme: &Theme, title: &str) -> String {
    let width = f64::from(size.0).mul_add(CELL.0, 2.0 * MARGIN);
    let height = f64::from(size.1).mul_add(CELL.1, 2.0 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-label=\"{}\">\n\
         <rect x=\"0.5\" y=\"0.5\" width=\"{:.0}\" height=\"{:.0}\" rx=\"8\" fill=\"{}\" stroke=\"{}\"/>\n\
         <g font-family=\"ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace\" font-size=\"14\" \
         fill=\"{}\" xml:space=\"preserve\">\n",
        escaped(title),
        width - 1.0,
        height - 1.0,
        theme.back,
        theme.border,
        theme.text,
    );
    // tmux tells only what changes, from one line to the next too.
    let mut look = Look::default();
    for (row, line) in screen.lines().take(size.1.into()).enumerate() {
        let top = MARGIN + row as f64 * CELL.1;
        let mut column = 0;
        for (look, text) in runs(line, &mut look) {
            let cells = text.chars().count();
            let left = MARGIN + column as f64 * CELL.0;
            column += cells;
            draw(&mut svg, &text, look, (left, top), cells, theme);
        }
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

fn draw(svg: &mut String, text: &str, look: Look, (left, top): (f64, f64), cells: usize, theme: &Theme) {
    let wide = cells as f64 * CELL.0;
    let color = look.color.map_or(theme.text, |color| theme.colors[usize::from(color)]);
    if look.reversed {
        // Writing to a String cannot fail.
        let _ = writeln!(
            svg,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{wide:.1}\" height=\"{:.1}\" fill=\"{}\" opacity=\"0.16\"/>",
            CELL.1, theme.text
        );
    }
    let shown = text.trim_matches(' ');
    if shown.is_empty() {
        return;
    }
    let blanks = text.chars().take_while(|c| *c == ' ').count();
    let left = left + blanks as f64 * CELL.0;
    let wide = shown.chars().count() as f64 * CELL.0;
    let fill = look.color.map(|_| format!(" fill=\"{color}\"")).unwrap_or_default();
    let weight = if look.bold { " font-weight=\"600\"" } else { "" };
    let dim = if look.dim { " opacity=\"0.62\"" } else { "" };
    let _ = writeln!(
        svg,
        "<text x=\"{left:.1}\" y=\"{:.1}\" textLength=\"{wide:.1}\" lengthAdjust=\"spacingAndGlyphs\"{fill}{weight}{dim}>{}</text>",
        top + 14.0,
        escaped(shown)
    );
}

/// The runs of one style in a captured line.
fn runs(line: &str, look: &mut Look) -> Vec<(Look, String)> {
    let mut runs: Vec<(Look, String)> = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        if let Some((codes, after)) = rest.strip_prefix("\u{1b}[").and_then(|rest| rest.split_once('m')) {
            apply(look, codes);
            rest = after;
            continue;
        }
        rest = &rest[first.len_utf8()..];
        match runs.last_mut() {
            Some((last, text)) if *last == *look => text.push(first),
            _ => runs.push((*look, first.to_string())),
        }
    }
    runs
}

fn apply(look: &mut Look, codes: &str) {
    let mut numbers = codes.split(';').map(|code| code.parse().unwrap_or(0_u8));
    while let Some(code) = numbers.next() {
        match code {
            0 => *look = Look::default(),
            1 => look.bold = true,
            2 => look.dim = true,
            7 => look.reversed = true,
            22 => (look.bold, look.dim) = (false, false),
            27 => look.reversed = false,
            30..=37 => look.color = Some(code - 30),
            38 if numbers.next() == Some(5) => look.color = numbers.next().map(|color| color.min(15)),
            39 => look.color = None,
            90..=97 => look.color = Some(code - 90 + 8),
            _ => {}
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_follow_the_escape_sequences() {
        let line = "a\u{1b}[1m\u{1b}[31mbc\u{1b}[0md\u{1b}[38;5;6me\u{1b}[39mf";
        let all = runs(line, &mut Look::default());
        let texts: Vec<&str> = all.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["a", "bc", "d", "e", "f"]);
        assert_eq!(all[1].0, Look { color: Some(1), bold: true, ..Look::default() });
        assert_eq!(all[3].0.color, Some(6));
        assert_eq!(all[4].0, Look::default());
    }

    #[test]
    fn a_picture_holds_no_mark_up_of_the_screen() {
        let text = picture("<b>&\"x\"", (20, 2), &Theme::ALL[0], "t");
        assert!(text.contains("&lt;b&gt;&amp;&quot;x&quot;"), "{text}");
    }
}
