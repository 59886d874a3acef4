//! Where an agent's composer stands on its screen.

use super::Cursor;
use super::screen::{bare, is_blank, trimmed};

/// How an agent draws the field that prompts are typed into.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Composer {
    /// Between two rules at column 0. With prompts, the first line begins with one of them; without,
    /// whatever stands between the last two rules is the field.
    Ruled {
        /// What the first line may begin with.
        prompts: &'static [&'static str],
    },
    /// The last line at column 0 with this glyph; the footer is indented below it.
    Prompt {
        /// The glyph, with a blank or nothing after it.
        glyph: char,
    },
    /// A bar at the left that ends in a foot.
    Barred {
        /// How the foot's row begins.
        foot: &'static str,
        /// The bar.
        bar: char,
    },
    /// A prompt within a few lines under the last rule, with no closing rule.
    UnderRule {
        /// What the line may begin with, after at most one blank.
        prompts: &'static [&'static str],
        /// How many visible lines below the rule it may stand.
        within: usize,
    },
}

/// The composer that was found, as line numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ComposerSpan {
    /// The row that begins it: its top rule, or its first line.
    pub top: usize,
    /// Its first line of text.
    pub first: usize,
    /// One past its last line of text.
    pub end: usize,
    /// Where the footer begins.
    pub footer: usize,
}

impl Composer {
    /// Looks for it from the bottom up.
    pub(crate) fn find(&self, lines: &[&str], cursor: Option<Cursor>) -> Option<ComposerSpan> {
        match *self {
            Self::Ruled { prompts } => ruled(lines, prompts),
            Self::Prompt { glyph } => {
                cursor.and_then(|cursor| at_cursor(lines, glyph, cursor)).or_else(|| prompt(lines, glyph))
            }
            Self::Barred { foot, bar } => barred(lines, foot, bar),
            Self::UnderRule { prompts, within } => under_rule(lines, prompts, within),
        }
    }
}

/// A rule begins at column 0 and may carry labels (`── Working ────`, `─ model ──── folder ─`).
pub(crate) fn is_rule(line: &str) -> bool {
    line.starts_with("──") || (line.starts_with("─ ") && line.contains("──"))
}

/// A prompt begins the line and a blank, or nothing, follows it.
fn prompted(line: &str, prompts: &[&str]) -> bool {
    prompts.iter().any(|prompt| {
        line.strip_prefix(prompt).is_some_and(|rest| rest.chars().next().is_none_or(|c| is_blank(c) || c == '/'))
    })
}

/// Pairs of rules are tried from the bottom: a person's status line may draw rules of its own.
const PAIRS: usize = 4;

fn ruled(lines: &[&str], prompts: &[&str]) -> Option<ComposerSpan> {
    let rules: Vec<usize> = (0..lines.len()).rev().filter(|&at| is_rule(lines[at])).take(PAIRS).collect();
    for (nth, pair) in rules.windows(2).enumerate() {
        let (bottom, top) = (pair[0], pair[1]);
        let found = ComposerSpan { top, first: top + 1, end: bottom, footer: bottom + 1 };
        if prompts.is_empty() {
            return Some(found);
        }
        let Some(line) = lines.get(top + 1) else { continue };
        // A choice under a rule begins `❯ 1.`; a typed draft may too, but then a footer stands below and
        // nothing else on the screen is numbered, so only the last pair is trusted with a number.
        if prompted(line, prompts) && (nth == 0 || !numbered_after_prompt(line)) {
            return Some(found);
        }
    }
    None
}

fn numbered_after_prompt(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| !c.is_alphanumeric());
    rest.starts_with(|c: char| c.is_ascii_digit())
}

/// The field that the cursor stands in. A shell that had the terminal in between (Ctrl+Z, `fg`) leaves lines at
/// column 0 below it.
fn at_cursor(lines: &[&str], glyph: char, cursor: Cursor) -> Option<ComposerSpan> {
    let mut chars = lines.get(cursor.row)?.chars();
    let begins = chars.next() == Some(glyph) && chars.next().is_none_or(is_blank);
    let at = cursor.row;
    (begins && cursor.column >= 2).then_some(ComposerSpan { top: at, first: at, end: at + 1, footer: at + 1 })
}

fn prompt(lines: &[&str], glyph: char) -> Option<ComposerSpan> {
    let at = (0..lines.len()).rev().find(|&at| {
        let mut chars = lines[at].chars();
        chars.next() == Some(glyph) && chars.next().is_none_or(is_blank)
    })?;
    // The field ends at the first empty row; below it, everything is indented.
    let mut end = at + 1;
    while end < lines.len() && !lines[end].is_empty() {
        end += 1;
    }
    let below = &lines[at + 1..];
    if below.iter().any(|line| !line.is_empty() && !line.starts_with(is_blank)) {
        return None;
    }
    // Without an empty row between, the last line is the footer when it carries several notes.
    if end == lines.len() && end > at + 1 && lines[end - 1].contains(['·', '|']) {
        end -= 1;
    }
    Some(ComposerSpan { top: at, first: at, end, footer: end })
}

fn barred(lines: &[&str], foot: &str, bar: char) -> Option<ComposerSpan> {
    let at = (0..lines.len()).rev().find(|&at| trimmed(lines[at]).starts_with(foot))?;
    let mut first = at;
    while first > 0 && trimmed(lines[first - 1]).starts_with(bar) {
        first -= 1;
    }
    Some(ComposerSpan { top: first, first, end: at, footer: at + 1 })
}

fn under_rule(lines: &[&str], prompts: &[&str], within: usize) -> Option<ComposerSpan> {
    let top = (0..lines.len()).rev().find(|&at| is_rule(lines[at]))?;
    let mut seen = 0;
    for (at, line) in lines.iter().enumerate().skip(top + 1) {
        if line.is_empty() {
            continue;
        }
        seen += 1;
        let text = line.strip_prefix(' ').unwrap_or(line);
        if prompted(text, prompts) {
            return Some(ComposerSpan { top, first: at, end: at + 1, footer: at + 1 });
        }
        if seen >= within {
            break;
        }
    }
    None
}

/// The lines that show something.
pub(crate) fn visible<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    lines.iter().copied().filter(|line| !bare(line).is_empty()).collect()
}

/// At most `count` of the lowest lines that show something, in their order.
pub(crate) fn lowest<'a>(lines: &[&'a str], count: usize) -> Vec<&'a str> {
    let mut out: Vec<&str> = lines.iter().rev().copied().filter(|line| !bare(line).is_empty()).take(count).collect();
    out.reverse();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: &str = "────────────────";

    #[test]
    fn a_ruled_composer_is_the_last_pair() {
        let lines = ["❯ old prompt", RULE, "❯\u{a0}", RULE, "  ? for shortcuts"];
        let found = Composer::Ruled { prompts: &["❯"] }.find(&lines, None);
        assert_eq!(found, Some(ComposerSpan { top: 1, first: 2, end: 3, footer: 4 }));
        let question = [RULE, " Which?", "❯ 1. One", "  2. Two", RULE, "  3. Chat"];
        assert_eq!(Composer::Ruled { prompts: &["❯"] }.find(&question, None), None);
    }

    #[test]
    fn a_rule_drawn_by_a_status_line_is_passed_over() {
        let lines = [RULE, "❯\u{a0}draft", RULE, "  hint", RULE];
        assert_eq!(Composer::Ruled { prompts: &["❯"] }.find(&lines, None).map(|found| found.end), Some(2));
    }

    #[test]
    fn a_prompt_has_only_indented_rows_below() {
        let lines = ["› first", "", "• answer", "", "› draft", "  second line", "", "  model · ~/app"];
        let found = Composer::Prompt { glyph: '›' }.find(&lines, None).expect("a composer");
        assert_eq!((found.first, found.end), (4, 6));
        assert_eq!(Composer::Prompt { glyph: '›' }.find(&["› sent", "• answer"], None), None);
    }

    #[test]
    fn the_cursor_names_the_prompt_whatever_a_shell_wrote_below() {
        let lines = ["› sent", "• answer", "", "› fg to do anything", "sh-5$ default · ~/app", "  ? for shortcuts"];
        let composer = Composer::Prompt { glyph: '›' };
        assert_eq!(composer.find(&lines, None), None);
        let at =
            |column, row| composer.find(&lines, Some(Cursor { column, row })).map(|found| (found.first, found.footer));
        assert_eq!((at(2, 3), at(0, 3), at(8, 4)), (Some((3, 4)), None, None));
    }

    #[test]
    fn a_barred_composer_ends_in_its_foot() {
        let lines = ["  ┃", "  ┃  draft", "  ╹▀▀▀▀", "   ~/app   ctrl+p commands"];
        let composer = Composer::Barred { foot: "╹▀", bar: '┃' };
        assert_eq!(composer.find(&lines, None).map(|found| (found.first, found.end)), Some((0, 2)));
        assert_eq!(composer.find(&lines[..2], None), None);
    }

    #[test]
    fn a_prompt_under_a_rule() {
        let lines = [RULE, " auto mode", "", " >   Type", "", " ~/app"];
        let composer = Composer::UnderRule { prompts: &[">"], within: 3 };
        assert_eq!(composer.find(&lines, None).map(|found| found.first), Some(3));
        assert_eq!(composer.find(&[RULE, "text", "more", "more", "> late"], None), None);
    }
}
