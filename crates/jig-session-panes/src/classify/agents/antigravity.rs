//! Antigravity (`agy`): a `>` composer between two rules. `esc to cancel` at the left of its last row means a
//! turn that can be cancelled when the composer is drawn, and a form when it is not.

use crate::classify::layout::Composer;
use crate::classify::pattern::LineTest::{Begins, Braille, Indented, Not};
use crate::classify::pattern::Pattern::{Keys, Line, Menu};
use crate::classify::rule::Region::{Above, Footer, Tail};
use crate::classify::rule::{Agent, Rule, Signal};

const CURSOR: &[char] = &['>', '❯', '●'];

pub(crate) const AGENT: Agent = Agent {
    of: &jig_session_agents::antigravity::AGENT,
    titles: &[],
    marks: &[],
    composer: &[Composer::Ruled { prompts: &[">"] }],
    block: Not(&Indented),
    rules: &[
        Rule { name: "choice below the composer", when: &[(Footer, Menu(CURSOR))], signal: Signal::Attention },
        Rule { name: "choice instead of the composer", when: &[(Tail(32), Menu(CURSOR))], signal: Signal::Attention },
        Rule { name: "keys instead of the composer", when: &[(Tail(3), Keys)], signal: Signal::Attention },
        Rule {
            name: "cancel hint in the footer",
            when: &[(Footer, Line(Begins("esc to cancel")))],
            signal: Signal::Working,
        },
        Rule { name: "spinner above the composer", when: &[(Above(4), Line(Braille))], signal: Signal::Working },
    ],
};
