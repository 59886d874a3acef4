//! OpenCode: a composer with a bar at its left that ends in a foot (`╹▀▀`). While it works, the row below
//! the foot has a moving bar; a dialog has no foot; pickers are drawn over the middle of the screen.

use crate::classify::layout::Composer;
use crate::classify::pattern::LineTest;
use crate::classify::pattern::LineTest::{Any, Begins, Has, Overlay, Part, Run, Starts};
use crate::classify::pattern::Pattern::{Keys, Line};
use crate::classify::rule::Region::{Footer, Tail, Whole};
use crate::classify::rule::{Agent, Rule, Signal};

const MOVING: LineTest = Run(&['⬝', '■', '▪', '⬞', '·']);

pub(crate) const AGENT: Agent = Agent {
    of: &jig_session_agents::opencode::AGENT,
    titles: &[Any(&[Starts("OC | "), Part("OpenCode")])],
    marks: &[&[(Footer, Line(Any(&[Has("ctrl+p commands"), MOVING])))]],
    composer: &[Composer::Barred { foot: "╹▀", bar: '┃' }],
    block: Begins("▣"),
    rules: &[
        Rule {
            name: "permission without a composer",
            when: &[(Tail(32), Line(Begins("△")))],
            signal: Signal::Attention,
        },
        Rule { name: "keys instead of the composer", when: &[(Tail(4), Keys)], signal: Signal::Attention },
        Rule { name: "picker over the screen", when: &[(Whole, Line(Overlay))], signal: Signal::Attention },
        Rule {
            name: "moving bar in the footer",
            when: &[(Footer, Line(Any(&[MOVING, Has("esc interrupt"), Has("esc again to interrupt")])))],
            signal: Signal::Working,
        },
    ],
};
