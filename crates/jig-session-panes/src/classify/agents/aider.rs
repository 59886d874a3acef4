//! aider: a line-based prompt under a rule. What stands below the prompt at column 0 is the answer to it;
//! a completion list is indented.

use crate::classify::layout::Composer;
use crate::classify::pattern::LineTest::{Indented, Not, Starts};
use crate::classify::pattern::Pattern::{Line, Question};
use crate::classify::rule::Region::{Border, Footer, Tail, Whole};
use crate::classify::rule::{Agent, Rule, Signal};

pub(crate) const AGENT: Agent = Agent {
    of: &jig_session_agents::aider::AGENT,
    titles: &[],
    marks: &[&[(Whole, Line(Starts("Aider v")))]],
    composer: &[
        Composer::UnderRule {
            prompts: &[
                ">",
                "ask>",
                "code>",
                "architect>",
                "context>",
                "help>",
                "multi>",
                "diff>",
                "whole>",
                "udiff>",
                "editor>",
            ],
            within: 1,
        },
        Composer::Prompt { glyph: '>' },
    ],
    block: Not(&Indented),
    rules: &[
        Rule { name: "question below the prompt", when: &[(Footer, Question)], signal: Signal::Attention },
        Rule { name: "question at the bottom", when: &[(Tail(1), Question)], signal: Signal::Attention },
        Rule { name: "answer below the prompt", when: &[(Footer, Line(Not(&Indented)))], signal: Signal::Working },
        // A quoted line of an answer begins like a prompt; without the rule above, only an empty one counts.
        Rule { name: "text that is no prompt", when: &[(Border, Line(Starts("> ")))], signal: Signal::Working },
    ],
};
