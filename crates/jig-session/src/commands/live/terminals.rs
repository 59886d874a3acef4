//! The processes of this machine, as panes need them.

use std::path::Path;

use jig_session_liveness::{TerminalProcess, on_terminals, reads_keys};
use jig_session_panes::observe::Terminals;

/// This machine's terminals.
pub(crate) struct ThisMachine;

impl Terminals for ThisMachine {
    fn processes(&self) -> Vec<TerminalProcess> {
        on_terminals()
    }

    fn agent(&self, name: &str, command: &[String]) -> Option<&'static str> {
        jig_session_agents::of_process(name, command).map(|agent| agent.name)
    }

    fn variable(&self, pid: u32, name: &str) -> Option<String> {
        jig_session_liveness::variable(pid, name)
    }

    fn user(&self) -> u32 {
        rustix::process::getuid().as_raw()
    }

    fn line_editor(&self, tty: &str) -> Option<bool> {
        reads_keys(Path::new(tty))
    }
}
