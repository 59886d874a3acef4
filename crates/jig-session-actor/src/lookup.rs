//! What is written down about a session: its status file, and the agent's own record of its process.

use jig_session_agents::Agent;
use jig_session_atomic::PrivateDir;
use jig_session_bus::who::Known;
use jig_session_bus::{System, digits};
use jig_session_liveness::{Machine, Probes, Processes};
use jig_session_schema::limits::STATUS_BYTES;
use jig_session_schema::names;
use jig_session_schema::places::{Environment, Places};
use jig_session_schema::status::Status;
use jig_session_store::{Marks, Store, View};

/// Most bytes of an agent's own record of a process.
const RECORD_BYTES: usize = 65_536;

/// Every session of this machine, looked at once; `None` when the folder cannot be read.
pub(crate) fn sessions(places: &Places) -> Option<View> {
    let machine = Machine::new();
    let look = Store::new(&places.sessions, &places.king).look(&Probes::new(&machine)).ok()?;
    Some(View::of(look, jig_session_liveness::clock::wall(), &Marks::open(&places.seen)))
}

/// What the status files tell about a process; `None` when it has several sessions, of which any may be meant.
pub(crate) fn known(view: &View, pid: u32) -> Option<Known> {
    let mut rows = view.rows().filter(|row| row.pid == Some(pid) && !matches!(row.verdict.as_str(), "gone" | "reused"));
    let row = rows.next().filter(|_| rows.next().is_none())?;
    Some(Known {
        session: row.session.clone(),
        agent: row.agent_name().to_string(),
        name: row.name.clone(),
        model: row.model.as_ref().and_then(|model| model.name.clone()),
    })
}

/// A session's own status file, found by its name alone.
pub(crate) fn status_of(places: &Places, id: &str) -> Option<Status> {
    let dir = PrivateDir::open_own_existing(&places.sessions).ok()??;
    let read = dir.read(format!("{}.json", names::document_name(id)?), STATUS_BYTES).ok()?;
    let status = Status::read(&read.bytes).ok()?.value;
    (status.session == id).then_some(status)
}

/// The session that the agent's own record names for a process, if it is that very process's.
pub(crate) fn record(env: &Environment, places: &Places, system: &System, agent: &Agent, pid: u32) -> Option<String> {
    let (folder, record) = (agent.folder?, agent.record?);
    let folder = folder.path(|name| env.get(name), &places.home).join(record.folder);
    let dir = PrivateDir::open_existing(folder).ok()??;
    let read = dir.read(format!("{pid}.json"), RECORD_BYTES).ok()?;
    let document: serde_json::Value = serde_json::from_slice(&read.bytes).ok()?;
    let process = system.machine().process(pid).ok()?;
    (record.session)(&document, &digits(&process.start))
}
