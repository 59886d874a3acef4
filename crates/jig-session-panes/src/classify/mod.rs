//! Classification: what a pane's program does, derived from one frame of its screen, as a pure function.
//!
//! Truth order: dead, then a dialog in the composer's place, then signs of work in the regions around the
//! composer and in the title, then the composer, then the shell's prompt, then the command. Text in the
//! composer, quoted output and prose are never looked at. A known agent without its composer is never idle.

mod agents;
mod foreground;
mod layout;
mod pattern;
mod rule;
mod screen;
mod shell;

use jig_session_schema::live::{PaneStatus, StatusSource};
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
    /// Where the cursor stands; none when that is not known.
    pub cursor: Option<Cursor>,
    /// How many children the pane's shell has; none when that is not known.
    pub shell_children: Option<usize>,
    /// What runs on the pane's terminal; none when the table of processes was not read.
    pub processes: Option<TerminalProcesses>,
    /// The visible screen, escape sequences allowed.
    pub text: &'a str,
}

/// A place on the screen, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// `cursor_x`.
    pub column: usize,
    /// `cursor_y`.
    pub row: usize,
}

/// What the table of processes says of a pane's terminal. Names and titles outlive programs, processes do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TerminalProcesses {
    /// The agent whose process is in the foreground, or below the shell that is.
    pub agent: Option<&'static str>,
    /// That process is stopped: by Ctrl+Z, or by a signal from elsewhere.
    pub stopped: bool,
    /// That process runs in the background, below the shell that has the terminal.
    pub background: bool,
    /// The foreground group holds more than one shell.
    pub others: bool,
    /// The shell in the foreground runs a script or `-c`.
    pub script: bool,
    /// Whether a line editor reads the terminal key by key, as interactive shells do at their prompt and nowhere
    /// else; none when that could not be read.
    pub line_editor: Option<bool>,
}

impl PaneObservation<'_> {
    /// Whether the shell in the foreground is there alone: nothing that it has started holds the terminal.
    fn shell_alone(&self) -> bool {
        match self.processes {
            Some(processes) => !processes.others,
            None => self.shell_children == Some(0),
        }
    }
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

/// The `statusReason` of a pane whose agent is stopped.
pub const STOPPED: &str = "the agent's process is stopped";

/// The contract's texts (`statusReason`).
mod reasons {
    pub(super) const DEAD: &str = "tmux pane_dead=1";
    pub(super) const ATTENTION: &str = "current attention indicator in pane text";
    pub(super) const WORKING: &str = "current working indicator in pane text";
    pub(super) const IDLE: &str = "current idle prompt or completed goal in pane text";
    pub(super) const SHELL: &str = "shell or composer prompt";
    pub(super) const PROGRAM: &str = "non-shell foreground command";
}

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
    let screen = Screen::new(&text, pane.cursor);
    if let Some(found) = pane.processes.and_then(|processes| foreground::in_agent(pane, &processes, &screen)) {
        return found;
    }
    match shell::kind(pane.command) {
        Kind::Shell => foreground::in_shell(pane, &screen),
        Kind::Carrier => foreground::in_carrier(pane, &screen),
        Kind::Multiplexer => foreground::in_multiplexer(&screen),
        // A viewer that fills the screen shows other people's questions.
        Kind::Viewer if pane.alternate => {
            foreground::other(PaneStatus::Active, reasons::PROGRAM, StatusSource::Command, "viewer")
        }
        Kind::Viewer => foreground::in_program(&screen, false),
        Kind::Program => match by_command(pane.command) {
            Some(agent) => through(View::new(agent, pane.title, &screen), agent),
            None => by_title(pane.title, &screen).or_else(|| by_drawing(pane.title, &screen)).unwrap_or_else(|| {
                match pane.command == OWN && pane.alternate {
                    true => {
                        foreground::other(PaneStatus::Active, reasons::PROGRAM, StatusSource::Command, "our own view")
                    }
                    false => foreground::in_program(&screen, true),
                }
            }),
        },
    }
}

impl Default for Classification {
    fn default() -> Self {
        foreground::other(PaneStatus::Active, reasons::PROGRAM, StatusSource::Command, "not looked at")
    }
}

impl Classification {
    /// An agent whose process is stopped. Its last frame may stay on the screen, and the shell may have the terminal;
    /// the pane is not free, because closing it would end the agent.
    pub(crate) fn stopped() -> Self {
        foreground::other(PaneStatus::Active, STOPPED, StatusSource::Command, "stopped process")
    }

    /// What the pane is taken for when the status file of the agent in it says this; none where the file is an old one.
    /// The screen and the processes win where the file would make a pane look free, or hide a dialog.
    pub fn with_file(self, pane: &PaneObservation<'_>, agent: &str, file: Option<PaneStatus>) -> Self {
        let away = |found: TerminalProcesses| found.stopped || (found.background && file != Some(PaneStatus::Active));
        if pane.processes.is_some_and(|found| found.agent.is_some() && away(found)) {
            return self;
        }
        let known = by_name(agent);
        let text = clean(pane.text);
        let screen = Screen::new(&text, pane.cursor);
        let seen = known.map_or(self, |agent| through(View::new(agent, pane.title, &screen), agent));
        let Some(file) = file else { return seen };
        let screen_wins = match (file, seen.status) {
            (PaneStatus::Idle, PaneStatus::NeedsAttention) => true,
            (PaneStatus::Idle, PaneStatus::Active) | (PaneStatus::Active, PaneStatus::NeedsAttention) => {
                known.is_some()
            }
            _ => false,
        };
        if screen_wins {
            return seen;
        }
        let reason = match file {
            PaneStatus::NeedsAttention => "the session's status file says that a person is waited for",
            PaneStatus::Active => "the session's status file says busy",
            _ => "the session's status file says idle",
        };
        Self { status: file, reason, source: StatusSource::StatusFile, rule: "status file", ..seen }
    }
}

/// Our own program. Its board shows keys and other people's questions and asks none; under `run` the screen is the
/// agent's, which is looked for first.
const OWN: &str = "jig-session";

/// Whether a process of this name is a shell.
pub fn is_shell(name: &str) -> bool {
    shell::kind(name) == Kind::Shell
}

fn by_name(name: &str) -> Option<&'static Agent> {
    let known = jig_session_agents::named(name)?;
    agents::ALL.into_iter().find(|agent| agent.of.name == known.name)
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
    let (signal, rule) = decided.unwrap_or_else(|| match view.composer {
        Some(_) => (Signal::Idle, "composer"),
        None if view.asks() => (Signal::Attention, "question instead of the composer"),
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
