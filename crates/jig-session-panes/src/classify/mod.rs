//! Classification: what a pane's program does, derived from one frame of its screen, as a pure function.
//!
//! Truth order: dead, then a dialog in the composer's place, then signs of work in the regions around the
//! composer and in the title, then the composer, then the shell's prompt, then the command. Text in the
//! composer, quoted output and prose are never looked at. A known agent without its composer is never idle.

mod agents;
mod layout;
mod pattern;
mod rule;
mod screen;
mod shell;

use jig_session_schema::live::{PaneStatus, StatusSource};
use pattern::Pattern;
use rule::{Agent, Rule, Signal, View};
use screen::Screen;
use shell::Kind;

pub use screen::clean;

/// What is known of a pane at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct PaneObservation<'a> {
    /// `pane_current_command`.
    pub command: &'a str,
    /// `pane_title`.
    pub title: &'a str,
    /// `pane_dead`.
    pub dead: bool,
    /// `alternate_on`: a full-screen program draws.
    pub alternate: bool,
    /// The visible screen, escape sequences allowed.
    pub text: &'a str,
}

/// A pane's status and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classification {
    /// The status.
    pub status: PaneStatus,
    /// The contract's text for it.
    pub reason: &'static str,
    /// The evidence.
    pub source: StatusSource,
    /// The agent, when one was recognised.
    pub agent: Option<&'static str>,
    /// Whether the agent's composer is drawn and can be typed into.
    pub composer: bool,
    /// The rule that decided, for bug reports.
    pub rule: &'static str,
}

/// The contract's texts (`statusReason`).
mod reasons {
    pub(super) const DEAD: &str = "tmux pane_dead=1";
    pub(super) const ATTENTION: &str = "current attention indicator in pane text";
    pub(super) const WORKING: &str = "current working indicator in pane text";
    pub(super) const IDLE: &str = "current idle prompt or completed goal in pane text";
    pub(super) const SHELL: &str = "shell or composer prompt";
    pub(super) const PROGRAM: &str = "non-shell foreground command";
}

/// Cursors that choices of any program are drawn with.
const CURSORS: &[char] = &['❯', '›', '>', '→', '●', '▸', '▶', '»'];

/// Classifies one pane.
pub fn classify(pane: &PaneObservation<'_>) -> Classification {
    if pane.dead {
        return Classification {
            status: PaneStatus::Dead,
            reason: reasons::DEAD,
            source: StatusSource::Tmux,
            agent: None,
            composer: false,
            rule: "pane_dead",
        };
    }
    let text = clean(pane.text);
    let screen = Screen::new(&text);
    match shell::kind(pane.command) {
        Kind::Shell => in_shell(pane, &screen),
        Kind::Carrier => in_carrier(pane, &screen),
        Kind::Multiplexer => in_multiplexer(&screen),
        // A viewer that fills the screen shows other people's questions.
        Kind::Viewer if pane.alternate => other(PaneStatus::Active, reasons::PROGRAM, StatusSource::Command, "viewer"),
        Kind::Viewer => in_program(&screen, false),
        Kind::Program => match by_command(pane.command) {
            Some(agent) => through(View::new(agent, pane.title, &screen), agent),
            None => by_title(pane.title, &screen)
                .or_else(|| by_drawing(pane.title, &screen))
                .unwrap_or_else(|| in_program(&screen, true)),
        },
    }
}

/// The agent that a command names: by its own name, by its name with a platform behind it
/// (`codex-x86_64-un`, cut by the system), or Claude Code by its version number.
fn by_command(command: &str) -> Option<&'static Agent> {
    let name = command.to_ascii_lowercase();
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if name.split('.').count() == 3 && name.split('.').all(digits) {
        return by_command("claude");
    }
    let named = |known: &&str| {
        let rest = name.strip_prefix(*known);
        rest == Some("") || (known.len() > 4 && rest.is_some_and(|rest| rest.starts_with('-')))
    };
    agents::ALL.into_iter().find(|agent| agent.of.program.names.iter().any(named))
}

/// An agent whose title stands on the pane, when its own screen is there too: titles outlive programs.
fn by_title(title: &str, screen: &Screen<'_>) -> Option<Classification> {
    let agent = agents::ALL.into_iter().find(|agent| agent.titles.iter().any(|test| test.matches(title)))?;
    let view = View::new(agent, title, screen);
    (view.composer.is_some() || view.decide().is_some()).then(|| through(view, agent))
}

/// An agent recognised by what only it draws.
fn by_drawing(title: &str, screen: &Screen<'_>) -> Option<Classification> {
    agents::ALL.into_iter().find_map(|agent| {
        let view = View::new(agent, title, screen);
        view.marked().then(|| through(view, agent))
    })
}

/// Reads a screen by one agent's rules.
fn through(view: View<'_>, agent: &'static Agent) -> Classification {
    let decided = view.decide().map(|rule: &Rule| (rule.signal, rule.name));
    let (signal, rule) = decided.unwrap_or(match view.composer {
        Some(_) => (Signal::Idle, "composer"),
        None => (Signal::Working, "no composer"),
    });
    let composer = view.composer.is_some() && signal != Signal::Attention;
    let found = if rule == "no composer" {
        (PaneStatus::Active, reasons::PROGRAM, StatusSource::Command)
    } else {
        status_of(signal)
    };
    Classification { status: found.0, reason: found.1, source: found.2, agent: agent.of.screen, composer, rule }
}

fn status_of(signal: Signal) -> (PaneStatus, &'static str, StatusSource) {
    match signal {
        Signal::Attention => (PaneStatus::NeedsAttention, reasons::ATTENTION, StatusSource::Screen),
        Signal::Working => (PaneStatus::Active, reasons::WORKING, StatusSource::Screen),
        Signal::Idle => (PaneStatus::Idle, reasons::IDLE, StatusSource::Screen),
    }
}

/// A classification of a program that is no agent.
fn other(status: PaneStatus, reason: &'static str, source: StatusSource, rule: &'static str) -> Classification {
    Classification { status, reason, source, agent: None, composer: false, rule }
}

/// A shell in the foreground: its prompt ends the screen, or a program that it carries shows through.
fn in_shell(pane: &PaneObservation<'_>, screen: &Screen<'_>) -> Classification {
    let last = screen.last().unwrap_or_default();
    if !pane.alternate && shell::prompt(last) {
        return other(PaneStatus::Idle, reasons::SHELL, StatusSource::Command, "shell prompt");
    }
    // A script that wraps an agent keeps the shell's name in the foreground.
    if let Some(found) = by_drawing(pane.title, screen) {
        return found;
    }
    if shell::question(last) || shell::asks_for_text(last) || dialog(screen) {
        return other(PaneStatus::NeedsAttention, reasons::ATTENTION, StatusSource::Screen, "question");
    }
    if pane.alternate {
        // A pipeline whose first program has ended, a chooser among them.
        let waits = shell::prompt(last);
        return match waits {
            true => other(PaneStatus::NeedsAttention, reasons::ATTENTION, StatusSource::Screen, "full-screen prompt"),
            false => other(PaneStatus::Active, reasons::PROGRAM, StatusSource::Screen, "full-screen program"),
        };
    }
    other(PaneStatus::Idle, reasons::SHELL, StatusSource::Command, "shell")
}

/// Another machine's or user's terminal.
fn in_carrier(pane: &PaneObservation<'_>, screen: &Screen<'_>) -> Classification {
    let last = screen.last().unwrap_or_default();
    if !pane.alternate && shell::prompt(last) {
        return other(PaneStatus::Idle, reasons::SHELL, StatusSource::Screen, "carried shell prompt");
    }
    by_title(pane.title, screen).or_else(|| by_drawing(pane.title, screen)).unwrap_or_else(|| in_program(screen, true))
}

/// A multiplexer inside the pane: only its visible pane can be seen, and keys may go elsewhere, so it is never idle.
fn in_multiplexer(screen: &Screen<'_>) -> Classification {
    let inner = screen.without_last();
    let inner = by_drawing("", &inner).unwrap_or_else(|| in_program(&inner, true));
    match inner.status {
        PaneStatus::Idle => other(PaneStatus::Active, reasons::PROGRAM, StatusSource::Command, "multiplexer"),
        _ => inner,
    }
}

/// A program that nothing is known of.
fn in_program(screen: &Screen<'_>, dialogs: bool) -> Classification {
    let last = screen.last().unwrap_or_default();
    if shell::question(last) {
        return other(PaneStatus::NeedsAttention, reasons::ATTENTION, StatusSource::Screen, "question");
    }
    if dialogs && dialog(screen) {
        return other(PaneStatus::NeedsAttention, reasons::ATTENTION, StatusSource::Screen, "dialog");
    }
    other(PaneStatus::Active, reasons::PROGRAM, StatusSource::Command, "program")
}

/// Keys that answer a dialog at the bottom, or a choice with a cursor.
fn dialog(screen: &Screen<'_>) -> bool {
    Pattern::Keys.matches(&layout::lowest(screen.lines(), 2))
        || Pattern::Menu(CURSORS).matches(&layout::lowest(screen.lines(), 8))
}
