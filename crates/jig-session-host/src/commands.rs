//! What a user types in Pi, and the keys of the panels that it opens.

use jig_session_schema::bridge::{CommandCall, CommandDefinition, Key};

use crate::context_panel::ContextPanel;
use crate::host::Host;
use crate::{Error, show};

/// What a user can type in Pi: the command and its description.
const COMMANDS: &[(&str, &str)] = &[
    ("context", "Show what fills the context"),
    ("session-file", "Say where this session's status file is, and the terminal it names"),
    ("session-reload", "Reload Pi once it is idle"),
    ("sessions", "Show who is on this repository's session bus, your mail and all claims"),
    ("team", "team join [LABEL]: put this session on the repository's session bus"),
];

/// The commands that the bridge registers in Pi.
pub(crate) fn commands() -> Vec<CommandDefinition> {
    let of = |(name, about): &(&str, &str)| CommandDefinition::new().name((*name).into()).description((*about).into());
    COMMANDS.iter().map(of).collect()
}

impl Host {
    /// A command in a session of which nothing is published.
    pub(crate) fn command_when_mute(&mut self, command: &CommandCall) -> Result<(), Error> {
        let text =
            "jig-session shows nothing of this session: it is the child of another one, or its bridge is outdated";
        show::text(&mut self.link, &self.mode, &command.id, text.to_owned())
    }

    /// A command that the user typed.
    pub(crate) fn command(&mut self, command: &CommandCall) -> Result<(), Error> {
        match command.name.as_str() {
            "session-reload" => self.link.reload(&command.id),
            "session-file" => {
                let text = show::session_file(&self.publisher);
                show::text(&mut self.link, &self.mode, &command.id, text)
            }
            "context" if self.mode == "tui" => {
                let mut panel = ContextPanel::new(self.publisher.status());
                self.link.panel(panel.lines())?;
                self.panel = Some(panel);
                self.link.done(&command.id, None)
            }
            "context" => {
                let lines = show::context(self.publisher.status(), show::WIDTH, false);
                show::text(&mut self.link, &self.mode, &command.id, lines.join("\n"))
            }
            _ => self.bus.command(command, &mut self.link),
        }
    }

    /// A key, or a new size, of the panel that is open.
    pub(crate) fn key(&mut self, key: &Key) -> Result<(), Error> {
        let Some(panel) = &mut self.panel else { return self.bus.key(key, &mut self.link) };
        if key.closed == Some(true) {
            self.panel = None;
            return Ok(());
        }
        if panel.key(key) {
            let lines = panel.lines();
            return self.link.panel(lines);
        }
        self.panel = None;
        self.link.close_panel()
    }
}
