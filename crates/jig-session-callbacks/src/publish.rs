//! One call of an agent's hook becomes the session's status file.

use std::time::{Duration, Instant};

use jig_session_agents::{Agent, Field, Payload};
use jig_session_atomic::PrivateDir;
use jig_session_liveness::{Machine, Processes, Record};
use jig_session_publish::log::Log;
use jig_session_publish::{Mode, Now, Publisher, setup};
use jig_session_schema::event::{Event, TurnEvent, TurnOutcome, TurnPhase};
use jig_session_schema::limits::STATUS_BYTES;
use jig_session_schema::names;
use jig_session_schema::places::{Environment, Places};
use jig_session_schema::shape::Patch;
use jig_session_schema::status::{self, AgentName, Reason, State, StateFrom, Status};
use jig_session_store::evidence;

use crate::caller::{Caller, Shared};
use crate::stdin;

/// How long a hook waits for its payload: an agent that writes it late on a busy machine must not lose an event.
const PAYLOAD: Duration = Duration::from_secs(4);
/// How long a hook waits for another hook of the same session.
const LOCK: Duration = Duration::from_millis(500);

/// Variables that say where the program runs; a process that serves several sessions has those of the first one.
const PLACES: [&str; 5] = ["TMUX", "TMUX_PANE", "HC_TERMINAL_ID", "WEZTERM_PANE", "KITTY_WINDOW_ID"];

/// The payload on stdin; the error says why there is none.
///
/// # Errors
/// When it does not come in time, is longer than a megabyte, or cannot be read.
pub fn payload() -> Result<Vec<u8>, String> {
    stdin::bounded(Instant::now() + PAYLOAD)
}

/// Publishes what the payload on stdin says. `event` is the event's name where the payload does not hold it.
pub fn hook(agent: &str, event: Option<&str>, env: &Environment) {
    match payload() {
        Ok(bytes) => publish(agent, event, &bytes, env),
        Err(message) => Log::new(&Places::of(env), "hook").write("io", &message),
    }
}

/// Publishes a payload's events; errors are logged.
pub fn publish(agent: &str, event: Option<&str>, bytes: &[u8], env: &Environment) {
    let log = Log::new(&Places::of(env), "hook");
    let Some(agent) = jig_session_agents::named(agent) else {
        log.write("usage", &format!("unknown agent {agent:?}; expected one of {}", known()));
        return;
    };
    let taken =
        Payload::read(agent, bytes).map_err(|error| format!("the payload of {} cannot be read: {error}", agent.name));
    match taken.and_then(|payload| hear(agent, event, &payload, env).map_err(|error| error.to_string())) {
        Ok(notes) => notes.iter().for_each(|note| log.write("note", note)),
        Err(message) => log.write("io", &message),
    }
}

fn known() -> String {
    let names: Vec<&str> = jig_session_agents::ALL.into_iter().map(|agent| agent.name).collect();
    names.join(", ")
}

/// One call of a hook: the session's document as it stands, what the call makes of it, and the document after it.
fn hear(
    agent: &Agent,
    event: Option<&str>,
    payload: &Payload,
    env: &Environment,
) -> Result<Vec<String>, jig_session_atomic::Error> {
    let now = Now::read();
    let named = event.or_else(|| payload.text(Field::Event)).or_else(|| payload.text(Field::Hook));
    let (Some(event), Some(mut session)) = (named, jig_session_agents::session(payload)) else { return Ok(Vec::new()) };
    let Some(name) = names::document_name(&session.session) else { return Ok(Vec::new()) };
    let machine = Machine::new();
    let places = Places::of(env);
    let sessions = &places.sessions;
    // A session that was never published is looked up without making its folder.
    let dir = match PrivateDir::open_existing(sessions)? {
        Some(dir) => dir,
        None if jig_session_agents::hear(agent, event, payload, None).creates => PrivateDir::open(sessions)?,
        None => return Ok(Vec::new()),
    };
    let lock = dir.lock(format!(".{name}.lock"), LOCK)?;
    let mut kept = document(&dir, &name, &session.session);
    let Some(mut process) = Caller::find(agent, kept.as_ref(), &machine) else { return Ok(Vec::new()) };
    if !process.is_kept {
        // Of two live processes with one session the older has the longer name. Mostly there is no such document, and
        // the processes above are walked once.
        let other = names::hashed_name(&session.session).and_then(|name| document(&dir, &name, &session.session));
        if let Some(other) = other
            && let Some(found) = Caller::find(agent, Some(&other), &machine).filter(|found| found.is_kept)
        {
            (kept, process) = (Some(other), found);
        }
    }
    let own = kept.filter(|_| process.is_kept);
    let heard = jig_session_agents::hear(agent, event, payload, own.as_ref());
    if own.is_none() && !heard.creates {
        // It comes after the end, or is of a session that began before the hooks were installed.
        if let Some(lock) = lock {
            lock.remove(&dir)?;
        }
        return Ok(Vec::new());
    }
    session.at = Some(now.wall);
    session.pid = Some(process.pid);
    session.agent_dir = agent_dir(agent, env, &places);
    let mut publisher = publisher(agent, &process, heard.begins, env);
    let from = StateFrom::hook(event).unwrap_or(StateFrom::EVENT);
    let is = |phase: TurnPhase| move |event: &Event| matches!(event, Event::Turn(turn) if turn.phase == phase);
    let mut events = vec![Event::Session(session)];
    if heard.events.iter().any(is(TurnPhase::Start)) && own.as_ref().is_some_and(was_broken_off) {
        events.push(TurnEvent::new().phase(TurnPhase::Settled).outcome(Some(TurnOutcome::Aborted)).into());
    }
    let (mut ended, settles) = (false, heard.events.iter().any(is(TurnPhase::Settled)));
    for event in &events {
        if let Err(refused) = publisher.feed_from(event, &from, now) {
            return Ok(vec![refused.to_string()]);
        }
    }
    if settles {
        // What the agent has written down comes before what its hook says, which knows better.
        let figures = publisher.status().map(|status| missing(evidence::figures(agent, status), status));
        for event in figures.into_iter().flatten() {
            // The session has begun: these change its figures only.
            let _ = publisher.feed_from(&event, &from, now);
        }
    }
    let failed = settles && own.as_ref().is_some_and(has_failed);
    for mut event in heard.events {
        ended |= matches!(event, Event::End(_));
        if let Event::Turn(turn) = &mut event
            && failed
        {
            turn.outcome = Some(TurnOutcome::Error);
        }
        if let Err(refused) = publisher.feed_from(&event, &from, now) {
            return Ok(vec![refused.to_string()]);
        }
    }
    publisher.flush(now);
    let notes = publisher.notes();
    if own.is_none() && !process.shared {
        leave_former(&dir, &name, &process, &machine);
    }
    if let Some(lock) = lock.filter(|_| ended) {
        lock.remove(&dir)?;
    }
    Ok(notes)
}

/// A turn that the document still shows was broken off, and no hook said so.
fn was_broken_off(kept: &Status) -> bool {
    kept.state == State::Busy && evidence::corrected(kept).is_some_and(|status| status.state == State::Idle)
}

/// The turn that the document shows ended with an error, which the hook of its end need not say.
fn has_failed(kept: &Status) -> bool {
    let reason = evidence::corrected(kept).and_then(|status| status.attention).map(|attention| attention.reason);
    kept.state == State::Busy && reason == Some(Reason::ERROR)
}

/// Of what an agent has written down, that which its hooks do not tell better: a context with its window stays, and only
/// a call that still runs ends.
fn missing(mut figures: Vec<Event>, kept: &Status) -> Vec<Event> {
    let known = kept.context.window.is_some();
    let runs = |id: &Option<String>| {
        kept.recent.iter().any(|call| call.outcome == status::Outcome::Running && call.id.is_some() && call.id == *id)
    };
    figures.retain(|event| match event {
        Event::Context(context) => context.window.is_some() || !known,
        Event::Tool(tool) => runs(&tool.id),
        _ => true,
    });
    figures
}

/// The folder of the agent's own files, which every event carries.
fn agent_dir(agent: &Agent, env: &Environment, places: &Places) -> Patch<String> {
    let folder = agent.folder.map(|folder| folder.path(|name| env.get(name), &places.home));
    folder.and_then(|folder| folder.into_os_string().into_string().ok()).map_or(Patch::Keep, Patch::Set)
}

/// The document of a session by this name, whosever process it names.
fn document(dir: &PrivateDir, name: &str, id: &str) -> Option<Status> {
    let read = dir.read(format!("{name}.json"), STATUS_BYTES).ok()?;
    Some(Status::read(&read.bytes).ok()?.value).filter(|status| status.session == id)
}

fn publisher(agent: &Agent, process: &Caller, begins: bool, env: &Environment) -> Publisher {
    let name = AgentName::new(agent.name).unwrap_or(AgentName::PI);
    let mode = Mode::OneShot { begins, clock_ms: started_ms() };
    if !process.shared {
        return setup::publisher(env, name, mode);
    }
    setup::publisher_with(&env.without(&PLACES), name, mode, Box::new(Shared(Machine::new())))
}

/// When this process started, by the machine's boot clock: it distinguishes two hooks that run at once.
fn started_ms() -> Option<u64> {
    let process = Machine::new().process(std::process::id()).ok()?;
    let ticks: u64 = process.start.rsplit(':').next()?.parse().ok()?;
    Some(ticks * 1000 / rustix::param::clock_ticks_per_second().max(1))
}

/// Idle sessions that the same process has left behind: it shows the one that begins now.
fn leave_former(dir: &PrivateDir, name: &str, process: &Caller, machine: &Machine) {
    let Ok(identity) = machine.identity_of(process.pid) else { return };
    let ours = Record::of(Some(process.pid), Some(&identity));
    let mut left = Vec::new();
    let scanned = dir.scan(STATUS_BYTES, |entry| {
        let Ok((bytes, stamp)) = entry.content else { return };
        let Ok(read) = Status::read(bytes) else { return };
        // A turn that was broken off is over, whether or not a hook said so.
        let status = evidence::corrected(&read.value).unwrap_or(read.value);
        let is_ours = entry.name.to_str() != Some(&format!("{name}.json"))
            && names::document_name(&status.session).as_deref() != Some(name);
        let from_hook = status.state_from.as_ref().is_some_and(evidence::is_hooks);
        if is_ours && from_hook && status.state == State::Idle && Record::of_status(&status).same_process(&ours) {
            left.push((entry.name.to_owned(), stamp));
        }
    });
    // What cannot be read or removed now is removed when its process is gone.
    if scanned.is_ok() {
        left.iter().for_each(|(name, stamp)| drop(dir.remove_judged(name, stamp)));
    }
}
