//! The form of an agent's file: who it is, where its composer stands, and its rules in order.

use super::layout::{Composer, ComposerSpan, is_rule, lowest, visible};
use super::pattern::{LineTest, Pattern};
use super::screen::{Screen, bare};

/// What a matching rule means for a pane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// A person is waited for.
    Attention,
    /// Work goes on.
    Working,
    /// A prompt can be typed.
    Idle,
}

/// A part of the screen. All but the first and the last three need a composer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Region {
    /// The pane's title.
    Title,
    /// The lines above the composer, up from it: at most so many that show something.
    Above(usize),
    /// The row that stands by itself above the composer, as a loader does: the first line of the last paragraph there,
    /// when that has at most one line more. Rules do not count. A line amid an answer is none.
    Loader,
    /// The same as [`Region::Above`], ending where the agent's [`Agent::block`] says that something else begins.
    Block,
    /// The row that begins the composer.
    Border,
    /// The text in the composer.
    Inside,
    /// The last line in the composer.
    InsideLast,
    /// Everything below the composer.
    Footer,
    /// The lowest lines of a screen without a composer.
    Tail(usize),
    /// The lowest lines of any screen.
    Lowest(usize),
    /// All lines of any screen.
    Whole,
}

/// One rule: all its patterns must match.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// The name `live explain` prints.
    pub name: &'static str,
    /// Which pattern must match in which region.
    pub when: &'static [(Region, Pattern)],
    /// What that means.
    pub signal: Signal,
}

/// Everything that is known about one agent's screen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Agent {
    /// Which agent it is; the names of its program are the foreground commands that are it and nothing else.
    pub of: &'static jig_session_agents::Agent,
    /// Titles that only this agent sets.
    pub titles: &'static [LineTest],
    /// What only this agent draws; used when the command says nothing (`node`, `ssh`, a wrapper).
    pub marks: &'static [&'static [(Region, Pattern)]],
    /// Its composer.
    pub composer: &'static [Composer],
    /// A line above the composer at which the block that belongs to it ends.
    pub block: LineTest,
    /// The rules in order: the first that matches decides. None: idle with a composer, else working.
    pub rules: &'static [Rule],
}

/// A screen seen through one agent's file.
#[derive(Debug)]
pub(crate) struct View<'a> {
    agent: &'static Agent,
    title: &'a str,
    lines: &'a [&'a str],
    pub(crate) composer: Option<ComposerSpan>,
}

impl<'a> View<'a> {
    pub(crate) fn new(agent: &'static Agent, title: &'a str, screen: &'a Screen<'a>) -> Self {
        let lines = screen.lines();
        let composer = agent.composer.iter().find_map(|composer| composer.find(lines, screen.cursor()));
        Self { agent, title, lines, composer }
    }

    /// The first rule that matches.
    pub(crate) fn decide(&self) -> Option<&'static Rule> {
        self.agent.rules.iter().find(|rule| self.all(rule.when))
    }

    /// Whether the lowest lines ask something: a question of the program, a choice with a cursor, or its keys.
    pub(crate) fn asks(&self) -> bool {
        let lowest = lowest(self.lines, 3);
        Pattern::Question.matches(&lowest)
            || lowest.iter().any(|line| super::shell::choice_of_answers(line))
            || super::foreground::dialog(self.lines)
    }

    /// Whether the agent's own drawing is on the screen.
    pub(crate) fn marked(&self) -> bool {
        self.agent.marks.iter().any(|mark| self.all(mark))
    }

    fn all(&self, when: &[(Region, Pattern)]) -> bool {
        when.iter().all(|(region, pattern)| self.region(*region).is_some_and(|lines| pattern.matches(&lines)))
    }

    /// The visible lines of a region; none when the screen has no such region.
    fn region(&self, region: Region) -> Option<Vec<&'a str>> {
        match region {
            Region::Title => return Some(vec![self.title]),
            Region::Lowest(count) => return Some(lowest(self.lines, count)),
            Region::Whole => return Some(visible(self.lines)),
            Region::Tail(count) => return self.composer.is_none().then(|| lowest(self.lines, count)),
            _ => {}
        }
        let found = self.composer?;
        let inside = &self.lines[found.first..found.end.max(found.first)];
        Some(match region {
            Region::Above(count) => lowest(&self.lines[..found.top], count),
            Region::Loader => loader(&self.lines[..found.top])?,
            Region::Block => self.block(&self.lines[..found.top]),
            Region::Border => vec![self.lines[found.top]],
            Region::Inside => visible(inside),
            Region::InsideLast => lowest(inside, 1),
            Region::Footer => visible(&self.lines[found.footer..]),
            _ => return None,
        })
    }

    /// The lines from the composer up to and with the first that ends the block.
    fn block(&self, above: &[&'a str]) -> Vec<&'a str> {
        let mut out = Vec::new();
        for &line in above.iter().rev().filter(|line| !bare(line).is_empty()).take(24) {
            out.push(line);
            if self.agent.block.matches(line) {
                break;
            }
        }
        out.reverse();
        out
    }
}

/// See [`Region::Loader`].
fn loader<'a>(above: &[&'a str]) -> Option<Vec<&'a str>> {
    let shows = |line: &&&str| !bare(line).is_empty() && !is_rule(line);
    let skipped = above.iter().rev().take_while(|line| !shows(line)).count();
    let paragraph = above[..above.len() - skipped].iter().rev().take_while(shows).count();
    let first = above.len().checked_sub(skipped + paragraph)?;
    (1..=2).contains(&paragraph).then(|| vec![above[first]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loader_stands_by_itself() {
        assert_eq!(loader(&["text", "", " ⠋ Working...", ""]), Some(vec![" ⠋ Working..."]));
        assert_eq!(loader(&["──────", " $ x", "", " ⠋ Running...", "──────", ""]), Some(vec![" ⠋ Running..."]));
        assert_eq!(loader(&["", " ⠋ Running... (escape", " to cancel)"]), Some(vec![" ⠋ Running... (escape"]));
        assert_eq!(loader(&["It reads:", " ⠋ Working...", " and waits", "", ""]), None);
        assert_eq!(loader(&["", ""]), None);
    }
}
