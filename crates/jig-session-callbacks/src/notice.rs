//! `bus notice AGENT EVENT`: a listening member hears of mail that it has not been told of.

use std::time::{Duration, Instant};

use jig_session_actor::Error;
use jig_session_agents::{Agent, Field, Moment, Payload};
use jig_session_bus::{Bus, Buses, Occasion, System};
use jig_session_schema::places::{Environment, Places};
use serde_json::Value;

use crate::payload;

/// How long a hook waits for its payload.
const PAYLOAD: Duration = Duration::from_millis(1000);

/// Announces mail to the session of the payload on stdin, as an agent's hook of an event asks; `named` is the session,
/// if not the payload's. `print` writes the announcement in the agent's own form and says whether it has left: only then
/// is the mail counted as announced. A notice that fails is made again by the next event: the mail stays where it is.
pub fn notice(agent: &str, event: &str, named: Option<&str>, env: &Environment, print: impl FnOnce(&Value) -> bool) {
    let Some(agent) = jig_session_agents::named(agent) else { return };
    let Ok(payload) = payload::read(agent, Instant::now() + PAYLOAD) else { return };
    let _ = announce(agent, event, &payload, named, env, print);
}

/// Where in a turn an event of an agent's hooks stands.
fn occasion(agent: &Agent, event: &str, payload: &Payload) -> Occasion {
    match agent.hooks.turns().map(|turns| turns.moment(event)) {
        Some(Moment::Prompt) => Occasion::Prompt,
        Some(Moment::End) => Occasion::End { held_back: payload.is(Field::StopHookActive) },
        Some(Moment::Turn) | None => Occasion::Turn,
    }
}

fn announce(
    agent: &Agent,
    event: &str,
    payload: &Payload,
    named: Option<&str>,
    env: &Environment,
    print: impl FnOnce(&Value) -> bool,
) -> Result<(), Error> {
    let root = Places::of(env).bus;
    let system = System::new();
    let session = payload::session(payload, named, env)?;
    let repo = Buses::new(&root, &system).of_session(&session, &payload::cwd(payload), None);
    let Ok(repo) = repo else { return Ok(()) };
    let bus = Bus::open_existing(&root, repo, &system)?;
    let Some(member) = bus.member(&session)? else { return Ok(()) };
    let occasion = occasion(agent, event, payload);
    let Some(notice) = bus.notice(&member, occasion)? else { return Ok(()) };
    let form = match occasion {
        Occasion::End { .. } => agent.replies.hold.map(|hold| hold(&notice.text)),
        Occasion::Prompt | Occasion::Turn => agent.replies.context.map(|add| add(event, &notice.text)),
    };
    // Where the agent takes no such answer, the mail stays where it is.
    let Some(form) = form else { return Ok(()) };
    if !print(&form) {
        return Ok(());
    }
    let bus = Bus::open(&root, bus.repo().clone(), &system)?;
    Ok(bus.record_notice(&member.record.id, &notice)?)
}
