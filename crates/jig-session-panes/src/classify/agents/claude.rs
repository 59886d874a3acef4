//! Claude Code 2.x: a composer between two rules, `❯` (or `!`) and a no-break space at column 0; its
//! spinner stands at column 0 above it, and everything it quotes is indented by two.

use crate::classify::layout::Composer;
use crate::classify::rule::Region::{Block, Footer, Lowest, Tail, Title, Whole};
use crate::classify::rule::{Agent, Rule, Says};
use crate::classify::test::Sight::{Keys, Line, Menu, Without};
use crate::classify::test::Test;
use crate::classify::test::Test::{
    All, Any, Begins, Elapsed, Ellipsis, Ends, Glyph0, Has, Indented, Not, Ongoing, Part, Parts, Starts,
};

/// Title glyphs while it works. `✳` is set when idle and in every dialog.
const BUSY_TITLE: Test = Glyph0(&['⠂', '⠐', '◐', '◓', '◑', '◒']);
/// The spinner's glyphs. `●` also begins every message, so it counts only with running seconds.
const SPINNER: &[char] = &['·', '✢', '*', '✶', '✻', '✽', '✳', '∗'];
/// Where the cursor of a choice stands.
const CURSOR: &[char] = &['❯'];

pub(crate) const AGENT: Agent = Agent {
    name: "claude",
    commands: &["claude"],
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
        Rule { name: "choice below the composer", when: &[(Footer, Menu(CURSOR))], says: Says::Attention },
        Rule { name: "choice instead of the composer", when: &[(Tail(48), Menu(CURSOR))], says: Says::Attention },
        Rule { name: "busy title", when: &[(Title, Line(BUSY_TITLE))], says: Says::Working },
        Rule { name: "keys of a dialog", when: &[(Tail(3), Keys)], says: Says::Attention },
        Rule {
            name: "plain text, at rest",
            when: &[
                (Whole, Line(Any(&[Starts("you: "), Has("screen reader mode")]))),
                (Tail(2), Line(Any(&[Part("/effort"), Part("? for shortcuts")]))),
                (Tail(4), Without(Any(&[Ellipsis, Elapsed, Part("esc to interrupt")]))),
                (Title, Line(Starts("✳"))),
            ],
            says: Says::Idle,
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
            says: Says::Idle,
        },
        Rule { name: "a view holds the keyboard", when: &[(Tail(1), Line(Has("ctrl+")))], says: Says::Attention },
        Rule {
            name: "interrupt hint in the footer",
            when: &[(Footer, Line(Part("esc to interrupt")))],
            says: Says::Working,
        },
        Rule {
            name: "spinner above the composer",
            when: &[(Block, Line(All(&[Glyph0(SPINNER), Any(&[Has("…"), Ongoing])])))],
            says: Says::Working,
        },
        Rule {
            name: "spinner with the message glyph",
            when: &[(Block, Line(All(&[Glyph0(&['●', '○']), Ellipsis, Elapsed])))],
            says: Says::Working,
        },
        Rule {
            name: "tool row that runs",
            when: &[(
                Block,
                Line(Any(&[All(&[Begins("⎿"), Ellipsis, Ongoing]), All(&[Begins("("), Has("to run in background")])])),
            )],
            says: Says::Working,
        },
        Rule {
            name: "signed out",
            when: &[(Block, Line(All(&[Parts, Part("Please run /login")])))],
            says: Says::Attention,
        },
        Rule { name: "retry row", when: &[(Lowest(1), Line(All(&[Glyph0(SPINNER), Ongoing])))], says: Says::Working },
    ],
};
