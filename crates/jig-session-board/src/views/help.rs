//! The keys.

use jig_session_view::line::Line;
use jig_session_view::table::Style;

type Page = (&'static str, &'static [(&'static str, &'static str)]);

const PAGES: &[Page] = &[
    (
        "Everywhere",
        &[
            ("Tab ← → 1-4", "the next tab; in an opened session its next section"),
            ("↑ ↓ PgUp PgDn g G", "move, or scroll"),
            ("Enter", "open the row"),
            ("Esc", "back; in a list: take the filter away"),
            ("/", "filter: words, state:busy agent:claude repo:shop"),
            ("a", "go to its tmux pane; nothing is typed there"),
            ("y", "copy an id or a path"),
            ("w", "join the session bus; begin or stop listening"),
            ("Ctrl-L", "draw everything anew"),
            ("q Ctrl-C", "quit"),
        ],
    ),
    ("Claims", &[("x", "release a claim of your own, after a question")]),
    (
        "An opened session, Requests",
        &[
            ("Enter Space", "turn the tool or skill on or off"),
            ("r", "reload the agent once it is idle, after a question"),
        ],
    ),
    (
        "What the words mean",
        &[
            ("approval question", "a person is waited for"),
            ("busy idle", "the agent works, or waits for a prompt"),
            ("finished", "a turn has ended that nobody has looked at"),
            ("stopped", "its process is stopped, by Ctrl-Z or a signal"),
            ("idle?", "nothing proves that its process still runs"),
            ("88%!", "the context is nearly full"),
            ("BG 2!", "two run in the background, one waits for somebody"),
        ],
    ),
];

pub(super) fn lines(panel: bool) -> Vec<Line> {
    let mut lines = Vec::new();
    for (title, keys) in PAGES {
        lines.push(Line::new());
        lines.push(Line::of(format!(" {title}"), Style::Bold));
        for (key, about) in *keys {
            let key = if panel && *key == "q Ctrl-C" { "q Esc" } else { key };
            lines.push(Line::plain(format!("   {key:<18} ")).with(*about, Style::Dim));
        }
    }
    lines
}
