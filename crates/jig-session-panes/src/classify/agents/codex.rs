//! Codex: `›` at column 0 with the footer indented below it. Old prompts and the cursor of a choice carry
//! the same glyph, so the text below the last one decides which it is.

use crate::classify::layout::Composer;
use crate::classify::pattern::LineTest;
use crate::classify::pattern::LineTest::{
    All, Any, Begins, Braille, Elapsed, Glyph0, Has, Indented, Ongoing, Part, Parts, Starts,
};
use crate::classify::pattern::Pattern::{Keys, Line, Menu, Nothing, Without};
use crate::classify::rule::Region::{Block, Footer, Inside, Tail, Title, Whole};
use crate::classify::rule::{Agent, Rule, Signal};

const CURSOR: &[char] = &['›', '>'];
/// `• Working (4s • esc to interrupt)`: the label is free text, the hint goes when the key is unbound, and a
/// narrow pane cuts it.
pub(super) const BUSY_ROW: LineTest = All(&[Glyph0(&['•', '◦']), Elapsed, Any(&[Has("esc"), Ongoing])]);
/// A pager of its own that holds the keyboard.
pub(super) const PAGER: LineTest = Any(&[Has(" to scroll"), Has(" to quit")]);
/// Where the live block above the composer ends: the prompt, the mark of an interruption, the closing row.
pub(super) const BLOCK: LineTest =
    Any(&[Starts("›"), Starts("■"), Starts("✗"), Begins("Worked for"), Begins("─ Worked for")]);

pub(crate) const AGENT: Agent = Agent {
    of: &jig_session_agents::codex::AGENT,
    titles: &[Any(&[Starts("[ ! ]"), Starts("[ . ]")])],
    marks: &[
        &[(Footer, Line(Any(&[Part("? for shortcuts"), All(&[Indented, Parts])])))],
        &[(Footer, Keys)],
        &[(Tail(24), Menu(&['›'])), (Tail(2), Keys)],
        &[(Whole, Line(Starts("OpenAI Codex v")))],
    ],
    composer: &[Composer::Prompt { glyph: '›' }],
    block: BLOCK,
    rules: &[
        Rule { name: "keys of a dialog", when: &[(Footer, Keys)], signal: Signal::Attention },
        Rule { name: "keys instead of the composer", when: &[(Tail(3), Keys)], signal: Signal::Attention },
        Rule {
            name: "choice with nothing below",
            when: &[(Inside, Menu(CURSOR)), (Footer, Without(Parts))],
            signal: Signal::Attention,
        },
        Rule { name: "choice instead of the composer", when: &[(Tail(24), Menu(CURSOR))], signal: Signal::Attention },
        Rule {
            name: "title asks, no composer",
            when: &[(Tail(1), Line(Begins(""))), (Title, Line(Starts("[ ")))],
            signal: Signal::Attention,
        },
        Rule { name: "a view holds the keyboard", when: &[(Tail(3), Line(PAGER))], signal: Signal::Attention },
        Rule { name: "busy title", when: &[(Title, Line(Braille))], signal: Signal::Working },
        Rule { name: "busy row above the composer", when: &[(Block, Line(BUSY_ROW))], signal: Signal::Working },
        // The composer never stands without its footer: this is a prompt that was sent just now.
        Rule { name: "prompt without a footer", when: &[(Footer, Nothing)], signal: Signal::Working },
    ],
};
