//! How a publisher is made from this process: its environment, its places, its configuration.

use std::path::PathBuf;

use jig_session_liveness::Machine;
use jig_session_publish::around::Config;
use jig_session_publish::{Mode, Publisher, Setup};
use jig_session_schema::places::{Environment, Places};
use jig_session_schema::status::AgentName;

use crate::app::App;

/// A publisher of this agent's sessions.
pub(crate) fn publisher(app: &App, agent: AgentName, mode: Mode) -> Publisher {
    let environment = Environment::new(app.env.iter().cloned());
    let places = Places::of(&environment);
    // Publishing needs no configuration, so one that cannot be read is none.
    let document = std::fs::read(&places.config).unwrap_or_default();
    let config = Config::of(&document, Some(&places.home));
    Publisher::new(Setup {
        agent,
        environment,
        config,
        places,
        cwd: working_folder(app),
        processes: Box::new(Machine::new()),
        pid: std::process::id(),
        mode,
    })
}

/// The working folder as the shell names it, if that is where we are; else its real path. A folder that was removed
/// has no path any more.
fn working_folder(app: &App) -> PathBuf {
    let real = std::env::current_dir().unwrap_or_default();
    let named = app.var("PWD").map(PathBuf::from).filter(|named| named.is_absolute());
    let same = |named: &PathBuf| named.canonicalize().is_ok_and(|canonical| canonical == real);
    named.filter(same).unwrap_or(real)
}
