//! An agent's payload on stdin, and whom it is about.

use std::path::{Path, PathBuf};
use std::time::Instant;

use jig_session_actor::{Actor, Error, Options, Surface};
use jig_session_agents::{Agent, Field, Payload};
use jig_session_bus::Room;
use jig_session_schema::places::Environment;

use crate::stdin;

/// The agent's payload from stdin, at most a megabyte and not past `end`; the error says why there is none.
pub(crate) fn read(agent: &Agent, end: Instant) -> Result<Payload, String> {
    Payload::read(agent, &stdin::bounded(end)?).map_err(|error| format!("the payload is not read: {error}"))
}

/// The session a hook acts for. The order of all surfaces holds ([`jig_session_bus::who`]); an id that the environment or
/// the payload names is known without a look at the processes above.
pub(crate) fn session(payload: &Payload, named: Option<&str>, env: &Environment) -> Result<String, Error> {
    let given = env.get("JIG_BUS_SESSION").or_else(|| payload.text(Field::Session));
    match (named, given) {
        (None, Some(id)) => Ok(id.to_owned()),
        _ => {
            let cwd = payload.text(Field::Cwd).map(Path::new);
            let options = Options { named, payload: payload.text(Field::Session), cwd, ..Options::default() };
            // Its mail is counted as it is given to a model.
            let surface = Surface::CommandLine { room: Room::ANSWER };
            Ok(Actor::find(env, &options, surface)?.me.id)
        }
    }
}

/// The folder in which the agent works.
pub(crate) fn cwd(payload: &Payload) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    payload.text(Field::Cwd).map_or_else(|| here.clone(), |cwd| here.join(cwd))
}
