//! Ids of last resort, and the process that stands for a caller of whom no session is known.

use jig_session_bus::System;
use jig_session_bus::who::{self, Ancestor};
use jig_session_liveness::{Process, Processes};
use jig_session_schema::names;

/// The processes above this one, the nearest first. Command lines are read up to the first agent only: nothing above it
/// matters.
pub(crate) fn ancestors(system: &System) -> Vec<(Ancestor, Process)> {
    let mut found = Vec::new();
    let mut agent = false;
    for process in system.machine().ancestors(std::process::id()) {
        let mut ancestor = Ancestor { pid: process.pid, name: process.command.clone(), command: Vec::new() };
        if !agent {
            agent = who::agent_of(&ancestor).is_some();
        }
        if !agent {
            ancestor.command = system.machine().command_line(process.pid);
            agent = who::agent_of(&ancestor).is_some();
        }
        found.push((ancestor, process));
    }
    found
}

/// The leader of this process's session: the shell of the terminal, when there is one.
pub(crate) fn leader(system: &System, ancestors: &[(Ancestor, Process)]) -> Option<u32> {
    let own = std::process::id();
    let session = system.machine().process(own).ok().and_then(|process| process.session);
    // A command that leads its own session (started with setsid) stands for nobody after it has ended.
    session.filter(|pid| *pid != own).or(ancestors.first().map(|(ancestor, _)| ancestor.pid))
}

/// The id of a person at a terminal: the same for every command typed there.
pub(crate) fn terminal_id(system: &System, ancestors: &[(Ancestor, Process)]) -> String {
    let leader = leader(system, ancestors);
    let start = leader.and_then(|pid| system.machine().process(pid).ok());
    let uid = rustix::process::getuid().as_raw();
    let terminal = start.as_ref().and_then(|process| process.terminal).unwrap_or(0);
    let start = start.map(|process| process.start).unwrap_or_default();
    format!("term-{}", &names::hash16(&format!("{uid}\n{terminal}\n{}\n{start}\n", leader.unwrap_or(0)))[..12])
}

/// The id of an agent of which no session is known: the same for every command below its process.
pub(crate) fn agent_id(system: &System, name: &str, pid: u32) -> String {
    let start = system.machine().process(pid).map(|process| process.start).unwrap_or_default();
    format!("{name}-{}", &names::hash16(&format!("{pid}\n{start}\n"))[..12])
}
