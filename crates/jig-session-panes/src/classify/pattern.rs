//! The vocabulary the agents' rules are written in: tests of one line, and patterns over a whole region.
//!
//! Everything here is about form (where a line stands, which glyph it begins with, whether it counts
//! seconds, whether it lists keys), so that a rule survives another wording.

use super::screen::{bare, has, is_blank, trimmed};

/// A test of one line.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LineTest {
    /// Begins with this at column 0.
    Starts(&'static str),
    /// Begins with this after blanks and frames.
    Begins(&'static str),
    /// Contains this, whatever the case of ASCII letters.
    Has(&'static str),
    /// Ends with this.
    Ends(&'static str),
    /// The first character, at column 0, is one of these and a blank or nothing follows.
    Glyph0(&'static [char]),
    /// The first visible character is one of these and a blank follows.
    Glyph(&'static [char]),
    /// The first visible character is a braille spinner frame and a blank follows.
    Braille,
    /// One part of the line is exactly this; parts are set off by `·`, `•`, `|` or two blanks.
    Part(&'static str),
    /// Two parts or more.
    Parts,
    /// A bracket counts seconds, minutes or hours: `(4s`, `(1m 16s`, `(esc to cancel, 6s)`.
    Elapsed,
    /// A braille spinner frame stands anywhere in the line.
    Spins,
    /// The text before any bracket ends in an ellipsis.
    Ellipsis,
    /// A part's first word, after glyphs, ends in `ing`: something goes on.
    Ongoing,
    /// Begins with a blank.
    Indented,
    /// A run of three or more of these characters begins the line.
    Run(&'static [char]),
    /// Ends in the keys that close it, `esc` or `esc/enter`, set far off from its text: the title row of an overlay.
    Overlay,
    /// All of these.
    All(&'static [LineTest]),
    /// Any of these.
    Any(&'static [LineTest]),
    /// Not this.
    Not(&'static LineTest),
}

impl LineTest {
    /// Whether the line passes.
    pub(crate) fn matches(&self, line: &str) -> bool {
        match *self {
            Self::Starts(text) => line.starts_with(text),
            Self::Begins(text) => bare(line).starts_with(text),
            Self::Has(text) => has(line, text),
            Self::Ends(text) => bare(line).ends_with(text),
            Self::Glyph0(glyphs) => {
                let mut chars = line.chars();
                chars.next().is_some_and(|c| glyphs.contains(&c)) && chars.next().is_none_or(is_blank)
            }
            Self::Glyph(glyphs) => glyph(line).is_some_and(|c| glyphs.contains(&c)),
            Self::Braille => glyph(line).is_some_and(|c| ('\u{2800}'..='\u{28ff}').contains(&c)),
            Self::Part(text) => parts(line).any(|part| part.eq_ignore_ascii_case(text)),
            Self::Parts => parts(line).nth(1).is_some(),
            Self::Elapsed => elapsed(line),
            Self::Spins => line.chars().any(|c| ('\u{2800}'..='\u{28ff}').contains(&c)),
            Self::Ellipsis => {
                let head = line.split('(').next().unwrap_or(line);
                let head = trimmed(head);
                head.ends_with('…') || head.ends_with("...")
            }
            Self::Ongoing => parts(line).any(|part| first_word(part).is_some_and(|word| word.ends_with("ing"))),
            Self::Indented => line.starts_with(is_blank),
            Self::Run(chars) => bare(line).chars().take_while(|c| chars.contains(c)).count() >= 3,
            Self::Overlay => {
                let text = bare(line);
                let keys = text.rsplit(is_blank).next().unwrap_or_default();
                let head = &text[..text.len() - keys.len()];
                (keys == "esc" || keys.starts_with("esc/")) && head.ends_with("   ") && !trimmed(head).is_empty()
            }
            Self::All(tests) => tests.iter().all(|test| test.matches(line)),
            Self::Any(tests) => tests.iter().any(|test| test.matches(line)),
            Self::Not(test) => !test.matches(line),
        }
    }
}

/// A pattern over the lines of a region.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pattern {
    /// A line that passes.
    Line(LineTest),
    /// No line that passes.
    Without(LineTest),
    /// Keys that answer a dialog: confirm, select, submit, cancel, go back.
    Keys,
    /// A numbered choice with a cursor in front of one entry.
    Menu(&'static [char]),
    /// The last line is a question to a person: see [`question`](super::shell::question).
    Question,
    /// Nothing visible.
    Nothing,
}

impl Pattern {
    /// Whether it matches these lines (none of them blank).
    pub(crate) fn matches(&self, lines: &[&str]) -> bool {
        match self {
            Self::Line(test) => lines.iter().any(|line| test.matches(line)),
            Self::Without(test) => !lines.iter().any(|line| test.matches(line)),
            Self::Keys => keys(lines),
            Self::Menu(cursors) => menu(lines, cursors),
            Self::Question => lines.last().is_some_and(|line| super::shell::question(line)),
            Self::Nothing => lines.is_empty(),
        }
    }
}

/// The first visible character, when a blank follows it.
fn glyph(line: &str) -> Option<char> {
    let mut chars = bare(line).chars();
    let first = chars.next()?;
    chars.next().is_some_and(is_blank).then_some(first)
}

/// The parts of a line that carries several notes: `a · b`, `a • b`, `a | b`, `a    b`.
fn parts(line: &str) -> impl Iterator<Item = &str> {
    bare(line).split(['·', '•', '|']).flat_map(|part| part.split("  ")).map(trimmed).filter(|part| !part.is_empty())
}

fn first_word(part: &str) -> Option<&str> {
    part.split(is_blank).map(|word| word.trim_matches(|c: char| !c.is_alphanumeric())).find(|word| !word.is_empty())
}

/// `4s`, `16m`, `2h`: digits and one unit.
fn duration(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let digits = word.trim_end_matches(['s', 'm', 'h']);
    word.len() == digits.len() + 1
        && !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

fn elapsed(line: &str) -> bool {
    line.split('(').skip(1).any(|group| {
        let group = group.split(')').next().unwrap_or(group);
        group.split(is_blank).any(duration)
    })
}

/// What Enter does in a dialog. Sending a message or opening a line is not among them.
const ENTER: [&str; 16] = [
    "confirm", "select", "continue", "submit", "open", "accept", "approve", "resume", "choose", "save", "apply",
    "proceed", "toggle", "retry", "allow", "run",
];
/// What Escape does in a dialog. Interrupting a turn or clearing a draft is not among them.
const ESCAPE: [&str; 13] =
    ["cancel", "back", "close", "dismiss", "reject", "deny", "decline", "go", "skip", "return", "quit", "abort", "new"];
/// Words that stand between a key and what it does.
const BETWEEN: [&str; 12] =
    ["to", "enter", "return", "esc", "escape", "space", "ctrl", "c", "tab", "shift", "key", "or"];

/// Whether the lines, read as one because narrow panes wrap them, name a key that answers a dialog.
fn keys(lines: &[&str]) -> bool {
    let mut words = Vec::new();
    for line in lines {
        for word in bare(line).split(|c: char| !c.is_alphanumeric()) {
            if !word.is_empty() {
                words.push(word);
            }
        }
    }
    words.iter().enumerate().any(|(at, word)| {
        let verbs: &[&str] = if is(word, "enter") {
            &ENTER
        } else if is(word, "esc") || is(word, "escape") {
            &ESCAPE
        } else {
            return false;
        };
        let mut rest =
            words[at + 1..].iter().take(5).skip_while(|word| BETWEEN.iter().any(|between| is(word, between)));
        // `Esc/Enter/Space to close`: whichever key comes first, one verb serves them all.
        rest.next().is_some_and(|verb| verbs.iter().any(|known| is(verb, known)))
    })
}

fn is(word: &str, known: &str) -> bool {
    word.eq_ignore_ascii_case(known)
}

/// `1.`, `12)`: the number a choice begins with, and the text after it.
fn numbered(text: &str) -> Option<u32> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if digits == 0 || digits > 2 || !text[digits..].starts_with(['.', ')']) {
        return None;
    }
    text[..digits].parse().ok()
}

/// A cursor before `N.` and, on another line, the number before or after it (or a first entry alone).
fn menu(lines: &[&str], cursors: &[char]) -> bool {
    let chosen = lines.iter().enumerate().find_map(|(at, line)| {
        let text = bare(line);
        let rest = text.strip_prefix(|c: char| cursors.contains(&c))?;
        rest.starts_with(is_blank).then(|| numbered(trimmed(rest))).flatten().map(|number| (at, number))
    });
    let Some((at, number)) = chosen else { return false };
    lines
        .iter()
        .enumerate()
        .any(|(other, line)| other != at && numbered(bare(line)).is_some_and(|n| n + 1 == number || n == number + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_a_dialog_are_not_keys_of_a_composer() {
        for dialog in [
            "Esc to cancel · Tab to amend",
            "↑↓ navigate  enter select  escape/ctrl+c cancel",
            "Press enter to confirm or esc to cancel",
            "⇆ select  enter confirm",
            "← to go back · Esc/Enter/Space to close · x to stop",
            "│ ↑/↓ to navigate · enter to select │",
            "enter resume   ^a archive   esc new",
        ] {
            assert!(keys(&[dialog]), "{dialog}");
        }
        assert!(keys(&["Press enter to confirm or esc to", "cancel"]), "a wrapped line");
        for other in [
            "esc to interrupt · ← for agents",
            "escape interrupt · ctrl+c/ctrl+d clear/exit · / commands",
            "/ commands · tab next tab · esc exit shell mode",
            "◉ Working esc esc edit prompt",
            "Enter to view · x to stop",
            "⏎ send   enter newline   esc again to edit previous message",
        ] {
            assert!(!keys(&[other]), "{other}");
        }
    }

    #[test]
    fn a_menu_needs_a_cursor_and_a_neighbour() {
        assert!(menu(&["❯ 1. Yes", "  2. No"], &['❯']));
        assert!(menu(&["  1. Yes", "│ ❯ 2. No │"], &['❯']));
        assert!(menu(&[" ❯ 1. Yes", "   2.Yes, always"], &['❯']));
        assert!(!menu(&["❯ 1. only a draft"], &['❯']));
        assert!(!menu(&["  1. Fix", "  2. Stop"], &['❯']));
    }

    #[test]
    fn forms_of_a_line() {
        for row in ["(4s • esc to interrupt)", "Thinking (1m 16s)", "x (esc to cancel, 6s)", "( 3s  ·  33 tokens )"]
        {
            assert!(LineTest::Elapsed.matches(row), "{row}");
        }
        assert!(!LineTest::Elapsed.matches("see (section 4)"));
        assert!(LineTest::Ongoing.matches("✻ API error · Retrying in 4s"));
        assert!(!LineTest::Ongoing.matches("✻ Brewed for 6s · 1 shell still running"));
        assert!(LineTest::Ellipsis.matches("✳ Simplifying the code… (2m 18s)"));
        assert!(LineTest::Overlay.matches("      Sessions                    esc"));
        assert!(LineTest::Overlay.matches("            Help                          esc/enter"));
        assert!(!LineTest::Overlay.matches("press esc"));
        assert!(!LineTest::Overlay.matches("                  esc/enter"));
        assert!(!LineTest::Overlay.matches("a   escape"));
        assert!(LineTest::Part("esc to interrupt").matches("  accept edits on · esc to interrupt · ← for agents"));
        assert!(!LineTest::Part("esc to interrupt").matches("why does it say esc to interrupt?"));
    }
}
