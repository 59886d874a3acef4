//! Qwen Code: a `>` composer between two rules. The title begins with a turning circle while it works and with a star
//! while it asks; dialogs are boxes, or a list, in the composer's place.

use crate::classify::layout::Composer;
use crate::classify::pattern::LineTest::{All, Any, Begins, Braille, Has, Not, Starts};
use crate::classify::pattern::Pattern::{Keys, Line, Menu};
use crate::classify::rule::Region::{Above, Footer, Tail, Title, Whole};
use crate::classify::rule::{Agent, Rule, Signal};

const CURSOR: &[char] = &['›', '●', '❯'];

pub(crate) const AGENT: Agent = Agent {
    of: &jig_session_agents::qwen::AGENT,
    titles: &[Any(&[Starts("Qwen - "), Has("︎ Qwen - ")])],
    marks: &[&[
        (Whole, Line(Has("Type your message or @path/to/file"))),
        (Footer, Line(Has("(shift + tab to cycle)"))),
    ]],
    composer: &[Composer::Ruled { prompts: &[">", "!", "*"] }],
    block: Begins("◆"),
    rules: &[
        Rule { name: "title asks", when: &[(Title, Line(Starts("✳")))], signal: Signal::Attention },
        Rule { name: "choice below the composer", when: &[(Footer, Menu(CURSOR))], signal: Signal::Attention },
        Rule {
            name: "box instead of the composer",
            when: &[(Tail(1), Line(Any(&[Begins("╰"), Begins("└")])))],
            signal: Signal::Attention,
        },
        Rule { name: "choice instead of the composer", when: &[(Tail(20), Menu(CURSOR))], signal: Signal::Attention },
        Rule {
            name: "busy title",
            when: &[(Title, Line(Any(&[Starts("◐"), Starts("◓"), Starts("◑"), Starts("◒")])))],
            signal: Signal::Working,
        },
        Rule { name: "keys instead of the composer", when: &[(Tail(4), Keys)], signal: Signal::Attention },
        Rule {
            name: "spinner above the composer",
            when: &[(Above(3), Line(All(&[Braille, Not(&Starts("    ")), Has("esc to cancel")])))],
            signal: Signal::Working,
        },
    ],
};
