//! Copilot CLI: a composer between two rules at column 0 and a footer as the last row. While it works the
//! footer begins with a turning circle (none in its screen-reader mode) and offers to interrupt; dialogs are
//! boxes that end the screen, or forms that end in their keys.

use crate::classify::layout::Composer;
use crate::classify::pattern::LineTest::{All, Any, Begins, Elapsed, Ends, Glyph, Has, Ongoing};
use crate::classify::pattern::Pattern::{Keys, Line, Menu};
use crate::classify::rule::Region::{Footer, Loader, Tail};
use crate::classify::rule::{Agent, Rule, Signal};

const CIRCLE: &[char] = &['○', '◎', '◉', '●'];
const CURSOR: &[char] = &['❯'];

pub(crate) const AGENT: Agent = Agent {
    of: &jig_session_agents::copilot::AGENT,
    titles: &[Ends("GitHub Copilot")],
    marks: &[&[(Footer, Line(Any(&[Has("esc esc interrupt"), Has("Manual Approval"), Has("← open sidebar")])))]],
    composer: &[Composer::Ruled { prompts: &["❯", "!", "Start of Prompt Indicator"] }],
    block: Begins("❯"),
    rules: &[
        Rule { name: "keys below a search field", when: &[(Footer, Keys)], signal: Signal::Attention },
        Rule {
            name: "box instead of the composer", when: &[(Tail(1), Line(Begins("╰")))], signal: Signal::Attention
        },
        Rule { name: "keys instead of the composer", when: &[(Tail(4), Keys)], signal: Signal::Attention },
        Rule { name: "choice instead of the composer", when: &[(Tail(32), Menu(CURSOR))], signal: Signal::Attention },
        Rule {
            name: "turning circle in the footer",
            when: &[(Footer, Line(Any(&[Glyph(CIRCLE), Has("esc esc interrupt"), Has("esc esc edit prompt")])))],
            signal: Signal::Working,
        },
        Rule {
            name: "counting row above the composer",
            when: &[(Loader, Line(All(&[Glyph(CIRCLE), Ongoing, Elapsed, Ends(")")])))],
            signal: Signal::Working,
        },
    ],
};
