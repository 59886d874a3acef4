//! What must hold whatever the words are: a dialog is never idle, however much of it is cut off; a draft and a
//! quotation change nothing; a screen of one program does not speak for another.

use jig_session_panes::classify::{Classification, Cursor, PaneObservation, classify};
use jig_session_schema::live::PaneStatus;
use serde_json::Value;

const CORPORA: [&str; 5] = [
    include_str!("fixtures/reported.jsonl"),
    include_str!("fixtures/captured-1.jsonl"),
    include_str!("fixtures/captured-2.jsonl"),
    include_str!("fixtures/captured-3.jsonl"),
    include_str!("fixtures/captured-4.jsonl"),
];

fn cases() -> impl Iterator<Item = Value> {
    CORPORA
        .iter()
        .flat_map(|corpus| corpus.lines())
        .map(|line| serde_json::from_str(line).expect("a case is one JSON object a line"))
}

fn text<'a>(case: &'a Value, key: &str) -> &'a str {
    case[key].as_str().expect("text")
}

/// The case with another title, without its first rows.
fn cut(case: &Value, title: &str, rows: usize) -> Classification {
    let lines: Vec<&str> = text(case, "text").lines().collect();
    let rest = lines[rows.min(lines.len())..].join("\n");
    let cursor = cursor(case).and_then(|cursor| Some(Cursor { row: cursor.row.checked_sub(rows)?, ..cursor }));
    classify(&PaneObservation {
        command: text(case, "command"),
        title,
        dead: case["dead"] == true,
        alternate: case["alternate"] == true,
        cursor,
        shell_children: case["shellChildren"].as_u64().map(|children| children as usize),
        processes: None,
        text: &rest,
    })
}

fn cursor(case: &Value) -> Option<Cursor> {
    let number = |at: usize| case["cursor"][at].as_u64().map(|number| number as usize);
    Some(Cursor { column: number(0)?, row: number(1)? })
}

#[test]
fn a_dialog_is_never_idle_however_much_is_cut_off() {
    let mut looked_at = 0;
    for case in cases().filter(|case| case["expected"] == "needs_attention") {
        if case["alsoOk"].as_array().is_some_and(|words| words.contains(&"idle".into())) {
            continue;
        }
        for rows in 0..text(&case, "text").lines().count() {
            for title in [text(&case, "title"), "devbox"] {
                let found = cut(&case, title, rows);
                assert_ne!(found.status, PaneStatus::Idle, "{} without its first {rows} rows: {found:?}", case["id"]);
                looked_at += 1;
            }
        }
    }
    assert!(looked_at > 1000, "{looked_at} screens were looked at");
}

/// What people and models quote.
const QUOTES: [&str; 9] = [
    "why does the row say esc to interrupt?",
    "✻ Thinking… (12s · ↓ 300 tokens · esc to interrupt)",
    "⠹ Working (4s • esc to interrupt)",
    "• Working (4s • esc to interrupt)",
    "Do you want to proceed? [y/N]",
    "❯ 1. Yes, press enter to confirm or esc to cancel",
    "Esc to cancel · Tab to amend",
    "waiting for approval, Goal blocked, Pursuing goal",
    "◉ Working · 169 B esc esc interrupt",
];

#[test]
fn a_draft_changes_nothing() {
    let composers: [(&str, &str, &str, &str); 6] = [
        (
            "claude",
            "✳ App",
            "● Done.\n\n✻ Baked for 2s\n\n────────────────────\n❯\u{a0}{}\n────────────────────\n  ? for shortcuts · ← for agents\n",
            "claude",
        ),
        (
            "codex",
            "app",
            "› go\n\n• Done.\n\n  Worked for 3s • 10:00\n\n› {}\n\n  gpt-5 default · ~/app\n  ← for agents · ? for shortcuts\n",
            "codex",
        ),
        (
            "opencode",
            "OpenCode",
            "  ┃\n  ┃  go\n  ┃\n     ▣  Build · Model · 2s\n  ┃\n  ┃  {}\n  ┃\n  ┃  Build · Model\n  ╹▀▀▀▀▀▀▀▀▀▀▀▀▀▀\n   ~/app      tab agents  ctrl+p commands\n",
            "opencode",
        ),
        (
            "node",
            "◇  Ready (app)",
            "✦ Done.\n                ? for shortcuts\n────────────────────\n Shift+Tab to accept edits\n\n > {}\n\n workspace (/directory)     /model\n ~/app      Auto\n",
            "gemini",
        ),
        (
            "node",
            "GitHub Copilot",
            " ● Done.\n ~/app [⎇ main]\n────────────────────\n❯ {}\n────────────────────\n Interactive · Manual Approval · / commands     gpt-5\n",
            "copilot",
        ),
        (
            "pi",
            "π - app",
            " Done.\n\n────────────────────\n{}\n────────────────────\n~/app (main)\n0.7%/200k (auto)     model\n",
            "pi",
        ),
    ];
    for (command, title, screen, agent) in composers {
        for quote in QUOTES.into_iter().chain(["", "1. first\n  2. second", "a plain draft"]) {
            let text = screen.replace("{}", quote);
            let found = classify(&PaneObservation {
                command,
                title,
                alternate: true,
                text: &text,
                ..PaneObservation::default()
            });
            assert_eq!((found.status, found.agent), (PaneStatus::Idle, Some(agent)), "{quote:?} in\n{text}\n{found:?}");
        }
    }
}

#[test]
fn a_quotation_in_an_answer_changes_nothing() {
    // Every agent sets its answers off from its own drawing; a quotation stands where the answer stands.
    let answers: [(&str, &str, &str); 5] = [
        (
            "claude",
            "✳ App",
            "● The tool prints\n\n  {}\n\n✻ Baked for 2s\n\n────────────────────\n❯\u{a0}\n────────────────────\n  ? for shortcuts\n",
        ),
        (
            "codex",
            "app",
            "› go\n\n• The tool prints\n\n  {}\n\n  Worked for 3s • 10:00\n\n› Ask Codex\n\n  gpt-5 default · ~/app\n",
        ),
        (
            "opencode",
            "OpenCode",
            "     The tool prints\n\n     {}\n\n     ▣  Build · Model · 2s\n  ┃\n  ┃\n  ┃  Build · Model\n  ╹▀▀▀▀▀▀▀▀▀▀▀▀▀▀\n   ~/app      ctrl+p commands\n",
        ),
        (
            "node",
            "GitHub Copilot",
            " ● The tool prints\n\n   {}\n\n ~/app [⎇ main]\n────────────────────\n❯\n────────────────────\n Interactive · Manual Approval     gpt-5\n",
        ),
        (
            "pi",
            "π - app",
            " The tool prints\n\n {}\n\n and goes on.\n\n────────────────────\n\n────────────────────\n~/app (main)\n0.7%/200k (auto)     model\n",
        ),
    ];
    for (command, title, screen) in answers {
        for quote in QUOTES {
            let text = screen.replace("{}", quote);
            let found = classify(&PaneObservation {
                command,
                title,
                alternate: true,
                text: &text,
                ..PaneObservation::default()
            });
            assert_eq!(found.status, PaneStatus::Idle, "{quote:?} in\n{text}\n{found:?}");
        }
    }
}

#[test]
fn a_viewer_of_a_screen_is_no_agent() {
    for case in cases().filter(|case| case["expected"] == "idle") {
        for command in ["less", "vim", "tail", "cargo"] {
            let pane = PaneObservation {
                command,
                title: text(&case, "title"),
                text: text(&case, "text"),
                ..PaneObservation::default()
            };
            let found = classify(&pane);
            assert_ne!(found.status, PaneStatus::Idle, "{} in {command}: {found:?}", case["id"]);
            assert_eq!(found.agent, None, "{} in {command}", case["id"]);
        }
    }
}

#[test]
fn a_shell_prompt_below_an_old_screen_is_a_shell() {
    for case in cases().filter(|case| case["agent"] != "shell" && case["expected"] != "dead") {
        let screen = format!("{}\n[1]+  Stopped   agent\ndev@devbox:~/app$ ", text(&case, "text"));
        let pane = PaneObservation {
            command: "bash",
            title: text(&case, "title"),
            text: &screen,
            ..PaneObservation::default()
        };
        let found = classify(&pane);
        assert_eq!((found.status, found.agent), (PaneStatus::Idle, None), "{}: {found:?}", case["id"]);
    }
}

#[test]
fn any_text_is_classified() {
    // Nothing on a screen may stop the listing: cut glyphs, controls, very long and very wide lines.
    let odd = [
        "",
        "\u{1b}",
        "\u{1b}[",
        "\u{1b}]0;",
        "─",
        "──",
        "❯",
        "›",
        "┃",
        "╹▀",
        "(",
        "(s",
        "1.",
        "❯ 1.",
        "\u{202e}",
        "é",
        "   esc",
    ];
    for command in [
        "claude", "codex", "pi", "opencode", "gemini", "copilot", "agy", "aider", "codewith", "bash", "node", "ssh",
        "tmux", "x",
    ] {
        for a in odd {
            for b in odd {
                let text = format!("{a}\n{b}\n{a}{b}\n\n");
                classify(&PaneObservation { command, title: a, text: &text, ..PaneObservation::default() });
            }
        }
        let wide = "─".repeat(10_000);
        classify(&PaneObservation { command, text: &format!("{wide}\n❯ \n{wide}\n"), ..PaneObservation::default() });
    }
}
