//! What stands in a pane's foreground: an agent, a shell, a carrier of another screen, or a plain program.

use jig_session_schema::live::{PaneStatus, StatusSource};

use super::pattern::Pattern;
use super::screen::Screen;
use super::{Classification, PaneObservation, TerminalProcesses, by_drawing, by_name, by_title, layout, reasons};
use super::{rule::View, shell, through};

/// Cursors that choices of any program are drawn with.
const CURSORS: &[char] = &['❯', '›', '>', '→', '●', '▸', '▶', '»'];

/// A classification of a program that is no agent.
pub(super) fn other(
    status: PaneStatus,
    reason: &'static str,
    source: StatusSource,
    rule: &'static str,
) -> Classification {
    Classification { status, reason, source, agent: None, composer: false, rule }
}

fn idle(source: StatusSource, rule: &'static str) -> Classification {
    other(PaneStatus::Idle, reasons::SHELL, source, rule)
}

fn active(rule: &'static str) -> Classification {
    other(PaneStatus::Active, reasons::PROGRAM, StatusSource::Command, rule)
}

fn attention(rule: &'static str) -> Classification {
    other(PaneStatus::NeedsAttention, reasons::ATTENTION, StatusSource::Screen, rule)
}

/// An agent whose process is on the pane's terminal.
pub(super) fn in_agent(
    pane: &PaneObservation<'_>,
    processes: &TerminalProcesses,
    screen: &Screen<'_>,
) -> Option<Classification> {
    let name = processes.agent?;
    let named = |found: Classification| Classification { agent: Some(name), ..found };
    if processes.stopped {
        return Some(named(Classification::stopped()));
    }
    if processes.background {
        return Some(named(active("agent in the background")));
    }
    Some(match by_name(name) {
        Some(agent) => through(View::new(agent, pane.title, screen), agent),
        None => named(in_program(screen, true)),
    })
}

/// A shell in the foreground: at its prompt, running something itself, or the name of what it has started.
pub(super) fn in_shell(pane: &PaneObservation<'_>, screen: &Screen<'_>) -> Classification {
    if pane.shell_alone() && screen.cursor().is_some() {
        return alone(pane, screen);
    }
    // Whose children are not known: only a row that nothing but a shell begins.
    let unknown = pane.processes.is_none() && pane.shell_children.is_none();
    if unknown && shell::begins_with_prompt(screen.before_cursor()) {
        return idle(StatusSource::Command, "prompt at the cursor");
    }
    let last = screen.last().unwrap_or_default();
    let others = pane.processes.is_some_and(|processes| processes.others);
    if !others && !pane.alternate && shell::prompt(last) {
        return idle(StatusSource::Command, "shell prompt");
    }
    // A script that wraps an agent keeps the shell's name in the foreground.
    let titled = by_title(pane.title, screen).filter(|found| found.composer);
    if let Some(found) = titled.or_else(|| by_drawing(pane.title, screen)) {
        // Something else holds the terminal, and it is not this agent: an old frame.
        let gone = others && found.status == PaneStatus::Idle;
        return if gone { active("an agent's old frame") } else { found };
    }
    // What is typed behind a prompt is nobody's question, though something may share the terminal with that shell.
    let typed = others && shell::names_itself(last);
    if !typed && (shell::question(last) || shell::asks_for_text(last) || dialog(screen.lines())) {
        return attention("question");
    }
    if pane.alternate {
        // A pipeline whose first program has ended, a chooser among them; or the frame that a stopped program left.
        return match shell::prompt(last) && !shell::names_itself(last) {
            true => attention("full-screen prompt"),
            false => Classification { source: StatusSource::Screen, ..active("full-screen program") },
        };
    }
    if others { active("program") } else { idle(StatusSource::Command, "shell") }
}

/// A shell that nothing it has started shares the terminal with. Whatever stands above its prompt was drawn by
/// something that is gone.
fn alone(pane: &PaneObservation<'_>, screen: &Screen<'_>) -> Classification {
    let processes = pane.processes.unwrap_or_default();
    let row = screen.before_cursor();
    let prompt = shell::prompt(row);
    let waits = match processes.line_editor {
        Some(reads) if shell::edits_lines(pane.command) => {
            reads && (prompt || shell::begins_with_sign(row) || !(row.trim().is_empty() || shell::question(row)))
        }
        _ => prompt,
    };
    if waits && !processes.script {
        return idle(StatusSource::Command, "prompt at the cursor");
    }
    let asks = |line: &str| shell::question(line) || shell::asks_for_text(line);
    if asks(row) || asks(screen.last_above_cursor()) {
        return attention("question at the cursor");
    }
    // A script, a loop, or `read` without a word.
    active("a shell that is not at its prompt")
}

/// Another machine's or user's terminal.
pub(super) fn in_carrier(pane: &PaneObservation<'_>, screen: &Screen<'_>) -> Classification {
    let last = screen.last().unwrap_or_default();
    if !pane.alternate && shell::prompt(last) {
        return idle(StatusSource::Screen, "carried shell prompt");
    }
    by_title(pane.title, screen).or_else(|| by_drawing(pane.title, screen)).unwrap_or_else(|| in_program(screen, true))
}

/// A multiplexer inside the pane: only its visible pane can be seen, and keys may go elsewhere, so it is never idle.
pub(super) fn in_multiplexer(screen: &Screen<'_>) -> Classification {
    let inner = screen.without_last();
    let inner = by_drawing("", &inner).unwrap_or_else(|| in_program(&inner, true));
    match inner.status {
        PaneStatus::Idle => active("multiplexer"),
        _ => inner,
    }
}

/// A program that nothing is known of.
pub(super) fn in_program(screen: &Screen<'_>, dialogs: bool) -> Classification {
    let last = screen.last().unwrap_or_default();
    if shell::question(last) {
        return attention("question");
    }
    if dialogs && dialog(screen.lines()) {
        return attention("dialog");
    }
    active("program")
}

/// Keys that answer a dialog at the bottom, or a choice with a cursor.
pub(super) fn dialog(lines: &[&str]) -> bool {
    Pattern::Keys.matches(&layout::lowest(lines, 2)) || Pattern::Menu(CURSORS).matches(&layout::lowest(lines, 8))
}
