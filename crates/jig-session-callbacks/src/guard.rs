//! `bus guard AGENT`: an edit of a path that another live session holds is denied.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jig_session_agents::Agent;
use jig_session_bus::guard::{Edit, Target, reason};
use jig_session_bus::{Buses, Conflict, System};
use jig_session_publish::log::Log;
use jig_session_schema::places::{Environment, Places};
use serde_json::Value;

use crate::payload;

/// CPU time that a guard may spend on its decision; then it allows.
const GUARD_CPU: Duration = Duration::from_millis(50);
/// Wall time after which a guard allows: a busy machine is no reason, so this is for one that stands still.
const GUARD_WALL: Duration = Duration::from_secs(2);

/// An edit that must not happen.
#[derive(Debug)]
pub struct Denial {
    /// Who holds what.
    pub conflict: Conflict,
    /// What the agent is told.
    pub message: String,
    /// The same in the agent's own form; `None` where its hooks can deny nothing.
    pub form: Option<Value>,
}

/// Whether the edit in the payload on stdin must be denied, as an agent's hook asks; `named` is the session it acts for,
/// if not the payload's. In every doubt it is allowed, and the log says why. The process ends if no decision is reached
/// in time.
#[must_use]
pub fn guard(agent: &str, named: Option<&str>, env: &Environment) -> Option<Denial> {
    // An agent that is not known has no form in which it could be denied anything.
    let agent = jig_session_agents::named(agent)?;
    let places = Places::of(env);
    let log = Log::new(&places, "bus guard");
    let decision = Arc::new(AtomicBool::new(false));
    end_in_time(&decision, &places);
    let decided = conflict(agent, named, env, &places);
    if decision.swap(true, Ordering::SeqCst) {
        // Too late: the process is about to end.
        std::thread::park();
    }
    let conflict = decided.unwrap_or_else(|doubt| {
        log.write("undecided", &format!("an edit was allowed in doubt: {doubt}"));
        None
    })?;
    let message = reason(&conflict);
    let form = agent.replies.deny.map(|deny| deny(&message));
    Some(Denial { conflict, message, form })
}

/// Logs a denial that could not be written to the agent.
pub fn unheard(env: &Environment, why: &str) {
    Log::new(&Places::of(env), "bus guard").write("undecided", &format!("a denial was not read: {why}"));
}

/// Ends the process when nothing was decided in time.
fn end_in_time(decision: &Arc<AtomicBool>, places: &Places) {
    let (decision, places) = (Arc::clone(decision), places.clone());
    std::thread::spawn(move || {
        std::thread::sleep(GUARD_WALL);
        if !decision.swap(true, Ordering::SeqCst) {
            Log::new(&places, "bus guard").write("undecided", "an edit was allowed in doubt: no decision within 2 s");
            std::process::exit(0);
        }
    });
}

/// CPU time that this process has spent.
fn spent() -> Duration {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(spent.tv_sec.try_into().unwrap_or(0), spent.tv_nsec.try_into().unwrap_or(0))
}

/// The claim that conflicts with what the payload's tool is about to write, or why that is unknown.
fn conflict(
    agent: &Agent,
    named: Option<&str>,
    env: &Environment,
    places: &Places,
) -> Result<Option<Conflict>, String> {
    let payload = payload::read(agent, Instant::now() + GUARD_WALL)?;
    let root = &places.bus;
    if payload.edits.is_empty() || !root.exists() {
        return Ok(None);
    }
    let system = System::new();
    let session = payload::session(&payload, named, env).map_err(|error| error.to_string())?;
    let always = env.get("JIG_BUS_GUARD") == Some("1");
    let target =
        |edit: &jig_session_agents::Edit| Target { path: edit.path.clone(), removed: edit.action == "removed" };
    let files: Vec<Target> = payload.edits.iter().map(target).collect();
    let cwd = payload::cwd(&payload);
    let has_time = || spent() < GUARD_CPU;
    let edit =
        Edit { session: &session, cwd: &cwd, home: Some(&places.home), files: &files, always, has_time: &has_time };
    Buses::new(root, &system).edit_conflict(&edit).map_err(|error| error.to_string())
}
