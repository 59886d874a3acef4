//! Pi 0.7x and 1.x, and what is derived from it: an editor without a glyph between the last two rules. A
//! dialog takes the editor's place, indented by one; a draft begins at column 0. Pi 1.x turns its spinner
//! in the editor's top rule, Pi 0.7x on the line above it.

use crate::classify::layout::Composer;
use crate::classify::pattern::LineTest::{
    All, Any, Begins, Braille, Elapsed, Glyph0, Has, Indented, Not, Ongoing, Spins, Starts,
};
use crate::classify::pattern::Pattern::{Keys, Line, Menu, Nothing, Without};
use crate::classify::rule::Region::{Above, Border, Footer, Inside, InsideLast, Loader, Tail, Title};
use crate::classify::rule::{Agent, Rule, Signal};

const CURSOR: &[char] = &['→', '>', '❯', '›', '●'];

pub(crate) const AGENT: Agent = Agent {
    of: &jig_session_agents::pi::AGENT,
    titles: &[Any(&[Starts("π"), All(&[Braille, Has("π - ")])])],
    marks: &[&[(Border, Line(Spins)), (Footer, Line(Has("(auto)")))]],
    composer: &[Composer::Ruled { prompts: &[] }],
    block: Not(&Indented),
    rules: &[
        Rule {
            name: "keys of a dialog in the editor's place",
            when: &[(InsideLast, Line(Indented)), (InsideLast, Keys)],
            signal: Signal::Attention,
        },
        Rule { name: "choice in the editor's place", when: &[(Inside, Menu(CURSOR))], signal: Signal::Attention },
        Rule {
            name: "list in the editor's place",
            when: &[(Inside, Line(Any(&[Starts("›"), Starts(" →"), Starts(" ›"), Starts("→ ")])))],
            signal: Signal::Attention,
        },
        Rule {
            name: "panel in the editor's place",
            when: &[(Inside, Line(All(&[Starts(" "), Not(&Starts("  "))]))), (Inside, Without(Not(&Indented)))],
            signal: Signal::Attention,
        },
        Rule { name: "choice at the bottom", when: &[(Tail(24), Menu(CURSOR))], signal: Signal::Attention },
        // In a low pane the upper rule of a dialog is out of sight: its keys stand above the lower one and the footer.
        Rule { name: "keys at the bottom", when: &[(Tail(6), Keys)], signal: Signal::Attention },
        Rule {
            name: "list at the bottom",
            when: &[(Tail(12), Line(Any(&[Starts(" →"), Starts(" ›"), Starts("→ ")])))],
            signal: Signal::Attention,
        },
        Rule { name: "busy title", when: &[(Title, Line(Braille))], signal: Signal::Working },
        // The spinner's frames and its words can be changed by extensions; other labels count lines or name a mode.
        Rule {
            name: "work in the border",
            when: &[(Border, Line(Any(&[Spins, Ongoing, Has("to cancel)")])))],
            signal: Signal::Working,
        },
        Rule {
            name: "loader above the editor",
            when: &[(Loader, Line(All(&[Braille, Any(&[Has("..."), Has("…"), Has("to cancel)")])])))],
            signal: Signal::Working,
        },
        Rule {
            name: "busy row of a derived agent",
            when: &[(Above(8), Line(All(&[Glyph0(&['•', '◦', '●', '✻', '·']), Elapsed, Has("interrupt")])))],
            signal: Signal::Working,
        },
        // Pi sets its title before it draws its first editor; without both it is a picker at its start.
        Rule {
            name: "text between rules, no title yet",
            when: &[(Inside, Line(Begins(""))), (Footer, Nothing), (Title, Without(Has("π")))],
            signal: Signal::Attention,
        },
        Rule {
            name: "rules that are no editor",
            when: &[(Footer, Nothing), (Title, Without(Has("π")))],
            signal: Signal::Working,
        },
    ],
};
