//! How a publisher is made from this process: its environment, its places, its configuration.

use std::path::PathBuf;

use jig_session_atomic::{EntryProblem, read_file};
use jig_session_liveness::{Machine, Processes};
use jig_session_publish::around::Config;
use jig_session_publish::{Mode, Publisher, Setup};
use jig_session_schema::limits::DOCUMENT_BYTES;
use jig_session_schema::places::Places;
use jig_session_schema::status::AgentName;

use crate::app::App;

/// A publisher of this agent's sessions.
pub(crate) fn publisher(app: &App, agent: AgentName, mode: Mode) -> Publisher {
    publisher_with(app, agent, mode, Box::new(Machine::new()))
}

/// The same with a table of processes of the caller's.
pub(crate) fn publisher_with(app: &App, agent: AgentName, mode: Mode, processes: Box<dyn Processes>) -> Publisher {
    let environment = app.environment();
    let places = Places::of(&environment);
    // Publishing needs no configuration, so one that cannot be read is none.
    let document = configuration(&places).ok().flatten().unwrap_or_default();
    let config = Config::of(&document, Some(&places.home));
    Publisher::new(Setup {
        agent,
        environment,
        config,
        places,
        cwd: working_folder(app),
        processes,
        pid: std::process::id(),
        mode,
    })
}

/// The bytes of the configuration file; `None` when there is none.
pub(crate) fn configuration(places: &Places) -> Result<Option<Vec<u8>>, EntryProblem> {
    match read_file(&places.config, DOCUMENT_BYTES) {
        Ok(read) => Ok(Some(read.bytes)),
        Err(problem) if problem.is_missing() => Ok(None),
        Err(problem) => Err(problem),
    }
}

/// The working folder as the shell names it, if that is where we are; else its real path. A folder that was removed
/// has no path any more.
fn working_folder(app: &App) -> PathBuf {
    let real = std::env::current_dir().unwrap_or_default();
    let named = app.var("PWD").map(PathBuf::from).filter(|named| named.is_absolute());
    let same = |named: &PathBuf| named.canonicalize().is_ok_and(|canonical| canonical == real);
    named.filter(same).unwrap_or(real)
}
