//! Claude Code 2.x: a composer between two rules, `❯` (or `!`) and a no-break space at column 0; its
//! spinner stands at column 0 above it, and everything it quotes is indented by two.

use crate::classify::layout::Composer;
use crate::classify::pattern::LineTest;
use crate::classify::pattern::LineTest::{
    All, Any, Begins, Elapsed, Ellipsis, Ends, Glyph0, Has, Indented, Not, Ongoing, Part, Parts, Starts,
};
use crate::classify::pattern::Pattern::{Keys, Line, Menu, Without};
use crate::classify::rule::Region::{Block, Footer, Lowest, Tail, Title, Whole};
use crate::classify::rule::{Agent, Rule, Signal};

/// Title glyphs while it works. `✳` is set when idle and in every dialog.
const BUSY_TITLE: LineTest = Glyph0(&['⠂', '⠐', '◐', '◓', '◑', '◒']);
/// The spinner's glyphs. `●` also begins every message, so it counts only with running seconds.
const SPINNER: &[char] = &['·', '✢', '*', '✶', '✻', '✽', '✳', '∗'];
/// Where the cursor of a choice stands.
const CURSOR: &[char] = &['❯'];

pub(crate) const AGENT: Agent = Agent {
    of: &jig_session_agents::claude::AGENT,
    titles: &[Glyph0(&['✳', '⠂', '⠐'])],
    marks: &[
        &[(
            Footer,
            Line(Any(&[
                Part("? for shortcuts"),
                Part("esc to interrupt"),
                Has("for agents"),
                Has("(shift+tab to cycle)"),
            ])),
        )],
        &[(Block, Line(All(&[Glyph0(SPINNER), Ellipsis])))],
    ],
    composer: &[Composer::Ruled { prompts: &["❯", "!", ">", "#"] }],
    block: All(&[Not(&Indented), Not(&Starts("❯"))]),
    rules: &[
        Rule { name: "choice below the composer", when: &[(Footer, Menu(CURSOR))], signal: Signal::Attention },
        Rule { name: "choice instead of the composer", when: &[(Tail(48), Menu(CURSOR))], signal: Signal::Attention },
        Rule { name: "busy title", when: &[(Title, Line(BUSY_TITLE))], signal: Signal::Working },
        Rule { name: "keys of a dialog", when: &[(Tail(3), Keys)], signal: Signal::Attention },
        Rule {
            name: "plain text, at rest",
            when: &[
                (Whole, Line(Any(&[Starts("you: "), Has("screen reader mode")]))),
                (Tail(2), Line(Any(&[Part("/effort"), Part("? for shortcuts")]))),
                (Tail(4), Without(Any(&[Ellipsis, Elapsed, Part("esc to interrupt")]))),
                (Title, Line(Starts("✳"))),
            ],
            signal: Signal::Idle,
        },
        // There a tip or a draft may be the last line; the row of a finished turn stands just above it.
        Rule {
            name: "plain text, turn over",
            when: &[
                (Whole, Line(Any(&[Starts("you: "), Has("screen reader mode")]))),
                (Tail(3), Line(All(&[Not(&Indented), Not(&Has(":")), Has(" for "), Ends("s")]))),
                (Tail(2), Without(Any(&[Ellipsis, Elapsed, Ends(":")]))),
                (Title, Line(Starts("✳"))),
            ],
            signal: Signal::Idle,
        },
        Rule { name: "a view holds the keyboard", when: &[(Tail(1), Line(Has("ctrl+")))], signal: Signal::Attention },
        Rule {
            name: "interrupt hint in the footer",
            when: &[(Footer, Line(Part("esc to interrupt")))],
            signal: Signal::Working,
        },
        Rule {
            name: "spinner above the composer",
            when: &[(Block, Line(All(&[Glyph0(SPINNER), Any(&[Has("…"), Ongoing])])))],
            signal: Signal::Working,
        },
        Rule {
            name: "spinner with the message glyph",
            when: &[(Block, Line(All(&[Glyph0(&['●', '○']), Ellipsis, Elapsed])))],
            signal: Signal::Working,
        },
        Rule {
            name: "tool row that runs",
            when: &[(
                Block,
                Line(Any(&[All(&[Begins("⎿"), Ellipsis, Ongoing]), All(&[Begins("("), Has("to run in background")])])),
            )],
            signal: Signal::Working,
        },
        Rule {
            name: "signed out",
            when: &[(Block, Line(All(&[Parts, Part("Please run /login")])))],
            signal: Signal::Attention,
        },
        Rule {
            name: "retry row",
            when: &[(Lowest(1), Line(All(&[Glyph0(SPINNER), Ongoing])))],
            signal: Signal::Working,
        },
    ],
};
