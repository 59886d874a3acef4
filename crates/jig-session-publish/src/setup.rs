//! How a publisher is made from this process: its environment, its places, its configuration.

use std::path::PathBuf;

use jig_session_atomic::{EntryProblem, read_file};
use jig_session_liveness::{Machine, Processes};
use jig_session_schema::limits::DOCUMENT_BYTES;
use jig_session_schema::places::{Environment, Places};
use jig_session_schema::status::AgentName;

use crate::around::Config;
use crate::{Mode, Publisher, Setup};

/// A publisher of this agent's sessions.
pub fn publisher(environment: &Environment, agent: AgentName, mode: Mode) -> Publisher {
    publisher_with(environment, agent, mode, Box::new(Machine::new()))
}

/// The same with a table of processes of the caller's.
pub fn publisher_with(
    environment: &Environment,
    agent: AgentName,
    mode: Mode,
    processes: Box<dyn Processes>,
) -> Publisher {
    let places = Places::of(environment);
    // Publishing needs no configuration, so one that cannot be read is none.
    let document = configuration(&places).ok().flatten().unwrap_or_default();
    let config = Config::of(&document, Some(&places.home));
    Publisher::new(Setup {
        agent,
        environment: environment.clone(),
        config,
        places,
        cwd: working_folder(environment),
        processes,
        pid: std::process::id(),
        mode,
    })
}

/// The bytes of the configuration file; `None` when there is none.
///
/// # Errors
/// When something stands there that cannot be read.
pub fn configuration(places: &Places) -> Result<Option<Vec<u8>>, EntryProblem> {
    match read_file(&places.config, DOCUMENT_BYTES) {
        Ok(read) => Ok(Some(read.bytes)),
        Err(problem) if problem.is_missing() => Ok(None),
        Err(problem) => Err(problem),
    }
}

/// The working folder as the shell names it, if that is where we are; else its real path. A folder that was removed
/// has no path any more.
fn working_folder(environment: &Environment) -> PathBuf {
    let real = std::env::current_dir().unwrap_or_default();
    let named = environment.get("PWD").map(PathBuf::from).filter(|named| named.is_absolute());
    let same = |named: &PathBuf| named.canonicalize().is_ok_and(|canonical| canonical == real);
    named.filter(same).unwrap_or(real)
}
