//! Gemini CLI: a prompt a few rows under the last rule, with a table as footer. A dialog is a box in the
//! composer's place. The title says `✦` while it works and `✋` while it waits, but `◇` (ready) also while
//! its own start-up dialogs and pickers are open, so ready needs the composer.

use crate::classify::layout::Composer;
use crate::classify::pattern::LineTest::{All, Any, Begins, Braille, Glyph, Has, Not, Starts};
use crate::classify::pattern::Pattern::{Keys, Line, Menu};
use crate::classify::rule::Region::{Above, Footer, Inside, Tail, Title};
use crate::classify::rule::{Agent, Rule, Signal};

const CURSOR: &[char] = &['●', '>', '❯'];

pub(crate) const AGENT: Agent = Agent {
    of: &jig_session_agents::gemini::AGENT,
    titles: &[Any(&[Starts("◇ "), Starts("✦ "), Starts("✋ ")])],
    marks: &[&[(Footer, Line(Has("(/directory)")))], &[(Inside, Line(Has("Type your message")))]],
    composer: &[Composer::UnderRule { prompts: &[">", "!", "*"], within: 4 }],
    block: Begins("✦"),
    rules: &[
        Rule { name: "title asks", when: &[(Title, Line(Starts("✋")))], signal: Signal::Attention },
        Rule { name: "choice below the composer", when: &[(Footer, Menu(CURSOR))], signal: Signal::Attention },
        Rule {
            name: "box instead of the composer", when: &[(Tail(1), Line(Begins("╰")))], signal: Signal::Attention
        },
        Rule { name: "choice instead of the composer", when: &[(Tail(20), Menu(CURSOR))], signal: Signal::Attention },
        Rule { name: "busy title", when: &[(Title, Line(Starts("✦")))], signal: Signal::Working },
        Rule { name: "keys instead of the composer", when: &[(Tail(3), Keys)], signal: Signal::Attention },
        Rule {
            name: "spinner above the composer",
            when: &[(Above(3), Line(All(&[Braille, Not(&Starts("  ")), Has("esc to cancel")])))],
            signal: Signal::Working,
        },
        Rule {
            name: "tool box that runs",
            when: &[(Above(12), Line(Any(&[Begins("⊶"), All(&[Glyph(&['!']), Has("(Tab to focus)")])])))],
            signal: Signal::Working,
        },
    ],
};
