//! codewith: Codex's drawing, with a goal named in the footer.

use super::codex::{BLOCK, BUSY_ROW};
use crate::classify::layout::Composer;
use crate::classify::pattern::LineTest::{All, Any, Braille, Elapsed, Has, Parts};
use crate::classify::pattern::Pattern::{Keys, Line, Menu, Without};
use crate::classify::rule::Region::{Block, Footer, Inside, Lowest, Tail, Title};
use crate::classify::rule::{Agent, Rule, Signal};

const CURSOR: &[char] = &['›', '>'];

pub(crate) const AGENT: Agent = Agent {
    of: &jig_session_agents::codewith::AGENT,
    titles: &[],
    marks: &[&[(
        Lowest(3),
        Line(All(&[Parts, Any(&[Has("| Main ["), Has("Pursuing goal"), Has("Goal achieved"), Has("Goal blocked")])])),
    )]],
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
        Rule { name: "busy title", when: &[(Title, Line(Braille))], signal: Signal::Working },
        Rule {
            name: "busy row at the bottom",
            when: &[(Tail(3), Line(All(&[Elapsed, Has("to interrupt")])))],
            signal: Signal::Working,
        },
        Rule { name: "busy row above the composer", when: &[(Block, Line(BUSY_ROW))], signal: Signal::Working },
        Rule { name: "goal blocked", when: &[(Footer, Line(Has("Goal blocked")))], signal: Signal::Attention },
        Rule { name: "goal pursued", when: &[(Footer, Line(Has("Pursuing goal")))], signal: Signal::Working },
        Rule {
            name: "end of a task",
            when: &[(Tail(2), Line(All(&[Has("new task?"), Has("/clear")])))],
            signal: Signal::Idle,
        },
        Rule { name: "goal reached", when: &[(Tail(2), Line(Has("Goal achieved")))], signal: Signal::Idle },
    ],
};
