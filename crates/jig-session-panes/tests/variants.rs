//! Screens that no corpus holds: the same forms with other words, sizes and versions.

use jig_session_panes::classify::{PaneObservation, classify};
use jig_session_schema::live::PaneStatus;

use PaneStatus::{Active, Idle, NeedsAttention};

const RULE: &str = "────────────────────────────────────────";

#[track_caller]
fn is(status: PaneStatus, command: &str, title: &str, alternate: bool, text: &str) {
    let text = text.replace("{RULE}", RULE).replace("{NB}", "\u{a0}");
    let found = classify(&PaneObservation { command, title, alternate, text: &text, ..PaneObservation::default() });
    assert_eq!(found.status, status, "{found:?}\n{text}");
}

#[test]
fn claude_code() {
    // A picker without numbers, a settings panel, a view of its own.
    is(
        NeedsAttention,
        "claude",
        "✳ App",
        false,
        "{RULE}\n  Settings\n\n  ❯ Auto-compact      true\n    Theme             dark\n\n  Enter/Space to change · / to search · Esc to cancel\n",
    );
    is(
        NeedsAttention,
        "claude",
        "✳ App",
        false,
        "{RULE}\n  Resume session\n\n❯ fix the parser\n  2 minutes ago · main\n\n  ctrl+a to show all projects · ctrl+v to preview\n",
    );
    // The last entry of a permission form is the last row, its keys are not drawn.
    is(
        NeedsAttention,
        "claude",
        "✳ App",
        false,
        "{RULE}\n Fetch\n   https://example.com\n Claude wants to fetch content\n\n ❯ 1. Yes\n   2. Yes, and don't ask again for example.com\n   3. No, and tell Claude what to do differently (esc)\n",
    );
    // Background work behind a free composer, told by the row alone.
    is(
        Active,
        "claude",
        "devbox",
        false,
        "● Delegated.\n\n✻ Waiting for 2 background agents to finish\n\n{RULE}\n❯{NB}\n{RULE}\n  ← for agents\n",
    );
    // A label without an ellipsis, a retry, a version number as command.
    is(
        Active,
        "2.1.197",
        "devbox",
        false,
        "✽ Adding the cap (3s · ↑ 20 tokens)\n\n{RULE}\n❯{NB}\n{RULE}\n  ? for shortcuts\n",
    );
    is(Idle, "2.1.197", "✳ App", false, "● Done.\n\n{RULE}\n❯{NB}\n{RULE}\n  ? for shortcuts\n");
    // Older releases drew another prompt.
    is(Idle, "claude", "✳ App", false, "● Done.\n\n{RULE}\n>{NB}\n{RULE}\n  ? for shortcuts\n");
    // Headless: no composer, text only.
    is(Active, "claude", "devbox", false, "dev@devbox:~/app$ claude -p 'explain'\nThe loop starts with\n");
    // A status line that draws rules of its own.
    is(Idle, "claude", "✳ App", false, "● Done.\n\n{RULE}\n❯{NB}\n{RULE}\n──────── ctx 12% ────────\n  ← for agents\n");
    // A script that wraps it keeps the shell's name; the title still tells.
    is(Active, "bash", "⠂ App", false, "● Text flows\n\n{RULE}\n❯{NB}\n{RULE}\n  ← for agents\n");
    is(
        NeedsAttention,
        "bash",
        "✳ App",
        false,
        "{RULE}\n Bash command\n   make\n Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel\n",
    );
}

#[test]
fn codex() {
    is(
        NeedsAttention,
        "codex",
        "[ . ] Action Required | app",
        true,
        "  Would you like to make the following edits?\n\n› 1. Yes, proceed (y)\n  2. No (esc)\n\n  Press enter to confirm\n  or esc to cancel\n",
    );
    // A dialog while the title still turns.
    is(
        NeedsAttention,
        "codex",
        "⠏ app",
        true,
        "• Running make\n\n  Run it?\n\n› 1. Yes (y)\n  2. No (esc)\n\n  Press enter to confirm or esc to cancel\n",
    );
    // The hint of the row cut off by a narrow pane.
    is(Active, "codex", "app", true, "• Working (4s • esc to\n\n› Ask Codex to do anything\n\n  gpt-5 · ~/app\n");
    is(
        Active,
        "codex",
        "app",
        true,
        "• Compiling the crate (1m 02s)\n\n› Ask Codex to do anything\n\n  gpt-5 · ~/app\n",
    );
    is(
        Active,
        "codex-x86_64-un",
        "⠼ go | app",
        true,
        "• Text flows\n\n› Ask Codex to do anything\n\n  gpt-5 · ~/app\n",
    );
    is(
        NeedsAttention,
        "codex",
        "app",
        true,
        "› go\n\n• Done.\n\n ↑/↓ to scroll   pgup/pgdn to page\n q to quit   esc to edit prev\n",
    );
    is(Idle, "codex", "app", true, "• Ran make (4s)\n\n• Done.\n\n› Ask Codex to do anything\n\n  gpt-5 · ~/app\n");
}

#[test]
fn opencode_gemini_copilot() {
    is(
        Active,
        "opencode",
        "OpenCode",
        true,
        "  ┃\n  ┃  Build · Model\n  ╹▀▀▀▀▀▀▀▀\n   ⬝⬝■■⬝⬝⬝⬝ Overloaded\n   [retrying in 3s attempt #2]\n   esc interrupt\n",
    );
    is(
        NeedsAttention,
        "opencode",
        "OC | x",
        true,
        "       Select model                 esc\n\n       Search\n\n       Fake Model\n  ┃\n  ┃  Build · Model\n  ╹▀▀▀▀▀▀▀▀\n   ~/app      ctrl+p commands\n",
    );
    is(
        NeedsAttention,
        "node",
        "◇  Ready (app)",
        false,
        "╭──────────╮\n│ Settings │\n│ ● Vim Mode  false │\n╰──────────╯\n",
    );
    is(
        Active,
        "gemini",
        "devbox",
        false,
        " ⠼ Trying again (Attempt 2/10) (esc to cancel, 5s)\n{RULE}\n auto-accept edits\n\n >   Type your message or @path/to/file\n\n ~/app   Auto\n",
    );
    is(
        Idle,
        "gemini",
        "devbox",
        false,
        "✦ Done.\n{RULE}\n YOLO mode\n\n *   Type your message or @path/to/file\n\n ~/app   Auto\n",
    );
    is(
        Active,
        "node",
        "x - GitHub Copilot",
        true,
        " ❯ /compact   18:54\n\n ◉ Compacting conversation history (3s)\n ~/app [⎇ main]\n{RULE}\n❯\n{RULE}\n ← open sidebar · Interactive · Manual Approval   gpt-5\n",
    );
    is(Active, "copilot", "GitHub Copilot", true, " ~/app\n{RULE}\n❯\n{RULE}\n ◉ Cancelling    gpt-5\n");
    is(
        NeedsAttention,
        "node",
        "GitHub Copilot",
        true,
        "{RULE}\n Which cache?\n\n ❯ 1. Redis\n   2. Memory\n{RULE}\n ↑/↓ to navigate · enter to select · esc to cancel\n",
    );
}

#[test]
fn pi() {
    is(
        NeedsAttention,
        "pi",
        "π - app",
        true,
        "{RULE}\n Name of the branch\n\n> \n\n enter submit  escape/ctrl+c cancel\n{RULE}\n~/app (main)\n0.0%/200k (auto)   m\n",
    );
    is(
        NeedsAttention,
        "pi",
        "π - app",
        false,
        " ⠦ Working...\n\n{RULE}\n Deploy?\n → Yes\n   No\n ↑↓ navigate  enter select  escape/ctrl+c cancel\n{RULE}\n~/app\n0.0%/200k (auto)   m\n",
    );
    is(
        NeedsAttention,
        "pi",
        "π - app",
        true,
        "{RULE}\n Notes\n{RULE}\nfirst line\n{RULE}\n enter submit  shift+enter newline  escape cancel\n{RULE}\n~/app\n0.0%/200k (auto)   m\n",
    );
    is(
        Active,
        "pi",
        "π - app",
        true,
        " go\n\n── ⠋ Summarizing branch... (escape to cancel) ──\n\n{RULE}\n~/app\n0.0%/200k (auto)   m\n",
    );
    is(
        Active,
        "node",
        "π - app",
        false,
        " go\n\n ⠋ Retrying (1/3) in 2s... (escape to cancel)\n\n{RULE}\n\n{RULE}\n~/app\n0.0%/200k (auto)   m\n",
    );
    is(Idle, "pi", "π - app", true, " Done.\n\n{RULE}\nfirst line\nsecond line\n{RULE}\n~/app\n0.0%/200k (auto)   m\n");
    is(Active, "pi", "devbox", false, "dev@devbox:~/app$ pi -p 'explain'\nThe loop\n");
}

#[test]
fn a_spinner_quoted_in_an_answer_is_none() {
    let editor = "{RULE}\n\n{RULE}\n~/app\n0.0%/200k (auto)   m\n";
    let quote = " While it works the row reads:\n ⠋ Thinking... (esc to cancel, 3s)\n and stops.\n\n";
    is(Idle, "pi", "π - app", false, &format!("{quote}{editor}"));
    is(Active, "pi", "π - app", false, &format!(" Looking\n\n ⠋ Working...\n\n{editor}"));
}

#[test]
fn a_dialog_whose_upper_rule_is_out_of_sight_is_a_dialog() {
    let keys = "   No\n\n ↑↓ navigate  enter select  escape/ctrl+c cancel\n{RULE}\n~/app\n0.0%/200k (auto)   m\n";
    is(NeedsAttention, "pi", "π - app", true, keys);
    is(NeedsAttention, "pi", "devbox", false, "Session found in another project. Fork it here? [y/N]\n");
}

#[test]
fn shells_and_programs() {
    is(Idle, "bash", "devbox", false, "bash-5.2$ git commit -m 'does it?\n");
    is(NeedsAttention, "bash", "devbox", false, "dev@devbox:~$ ./release.sh\nVersion to release: \n");
    is(NeedsAttention, "sudo", "devbox", false, "dev@devbox:~$ sudo ls\n[sudo] password for dev: \n");
    is(NeedsAttention, "node", "devbox", false, "Need to install create-app. Ok to proceed? (y) \n");
    is(NeedsAttention, "mycli", "devbox", false, "Pick one\n❯ 1. Alpha\n  2. Beta\n");
    is(Idle, "ssh", "devbox", false, "Last login: today\ndev@box2:~$ \n");
    is(Active, "ssh", "devbox", false, "dev@box2:~$ make\nCC parser.o\n");
    is(Idle, "fish", "devbox", false, "executing step 3\ndev@devbox ~/app> \n");
    is(Idle, "zsh", "devbox", false, "╭─dev@devbox ~/app ‹main›\n╰─$ \n");
    is(Active, "less", "devbox", true, "Do you want to proceed? [y/N]\n");
    is(Active, "python3", "devbox", false, "Python 3.12\n>>> \n");
    is(Active, "cargo", "devbox", false, "warning: unused import:\n  --> src/lib.rs:\n");
    is(Active, "node", "✳ old title", false, "listening on :3000\n");
}

#[test]
fn our_own_board_asks_nobody_and_an_agent_under_run_is_looked_for_first() {
    let board = "  SESSIONS  3   BUS  1\n\n❯ ● api      needs approval   2m\n  ○ billing  idle            10m\n\n  Enter open · / filter · Esc back · q quit\n";
    is(Active, "jig-session", "", true, board);
    // What the same rows mean in any other program.
    is(NeedsAttention, "other-program", "", true, board);
    let dialog = "{RULE}\n Fetch\n   https://example.com\n Claude wants to fetch content\n\n ❯ 1. Yes\n   2. No, and tell Claude what to do differently (esc)\n";
    is(NeedsAttention, "jig-session", "✳ App", false, dialog);
}
