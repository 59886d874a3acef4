//! codewith: Codex's drawing, with a goal that is told in the footer.

use super::codex::{BLOCK, BUSY_ROW};
use crate::classify::layout::Composer;
use crate::classify::rule::Region::{Block, Footer, Inside, Lowest, Tail, Title};
use crate::classify::rule::{Agent, Rule, Says};
use crate::classify::test::Sight::{Keys, Line, Menu, Without};
use crate::classify::test::Test::{All, Any, Braille, Elapsed, Has, Parts};

const CURSOR: &[char] = &['›', '>'];

pub(crate) const AGENT: Agent = Agent {
    name: "codewith",
    commands: &["codewith"],
    titles: &[],
    marks: &[&[(
        Lowest(3),
        Line(All(&[Parts, Any(&[Has("| Main ["), Has("Pursuing goal"), Has("Goal achieved"), Has("Goal blocked")])])),
    )]],
    composer: &[Composer::Prompt { glyph: '›' }],
    block: BLOCK,
    rules: &[
        Rule { name: "keys of a dialog", when: &[(Footer, Keys)], says: Says::Attention },
        Rule { name: "keys instead of the composer", when: &[(Tail(3), Keys)], says: Says::Attention },
        Rule {
            name: "choice with nothing below",
            when: &[(Inside, Menu(CURSOR)), (Footer, Without(Parts))],
            says: Says::Attention,
        },
        Rule { name: "choice instead of the composer", when: &[(Tail(24), Menu(CURSOR))], says: Says::Attention },
        Rule { name: "busy title", when: &[(Title, Line(Braille))], says: Says::Working },
        Rule {
            name: "busy row at the bottom",
            when: &[(Tail(3), Line(All(&[Elapsed, Has("to interrupt")])))],
            says: Says::Working,
        },
        Rule { name: "busy row above the composer", when: &[(Block, Line(BUSY_ROW))], says: Says::Working },
        Rule { name: "goal blocked", when: &[(Footer, Line(Has("Goal blocked")))], says: Says::Attention },
        Rule { name: "goal pursued", when: &[(Footer, Line(Has("Pursuing goal")))], says: Says::Working },
        Rule {
            name: "end of a task",
            when: &[(Tail(2), Line(All(&[Has("new task?"), Has("/clear")])))],
            says: Says::Idle,
        },
        Rule { name: "goal reached", when: &[(Tail(2), Line(Has("Goal achieved")))], says: Says::Idle },
    ],
};
