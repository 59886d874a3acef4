//! `jig-session hook AGENT [EVENT]`: one call of an agent's hook becomes the session's status file. It prints nothing,
//! ends with 0 whatever happens, and waits for nobody: a hook must never be what stops an agent.

use std::ffi::OsString;
use std::io::Write;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use jig_session_agents::{Agent, Field, Payload};
use jig_session_atomic::PrivateDir;
use jig_session_liveness::{Judgement, Machine, ProbeError, Process, Processes, Record, agent_above};
use jig_session_publish::log::Log;
use jig_session_publish::{Mode, Now, Publisher, setup};
use jig_session_schema::event::{Event, SessionEvent, TurnEvent, TurnOutcome, TurnPhase};
use jig_session_schema::limits::STATUS_BYTES;
use jig_session_schema::names;
use jig_session_schema::shape::Patch;
use jig_session_schema::status::{self, AgentName, Reason, State, StateFrom, Status};
use jig_session_store::evidence;

use crate::app::App;
use crate::failure::{Exit, Failure, Outcome};
use crate::stdin;

/// How long a hook waits for its payload: an agent that writes it late on a busy machine must not lose an event.
const PAYLOAD: Duration = Duration::from_secs(4);
/// How long a hook waits for another hook of the same session.
const LOCK: Duration = Duration::from_millis(500);

/// Variables that say where the program runs; a process that serves several sessions has those of the first one.
const PLACES: [&str; 5] = ["TMUX", "TMUX_PANE", "HC_TERMINAL_ID", "WEZTERM_PANE", "KITTY_WINDOW_ID"];

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The agent that calls, such as claude
    agent: String,
    /// The event's name, where the payload does not contain it
    event: Option<String>,
    /// Read the agent's status line instead of an event
    #[arg(long)]
    statusline: bool,
    /// The command that prints the status line: it gets the same payload, and its output is passed on
    #[arg(long, value_name = "CMD", requires = "statusline")]
    then: Option<String>,
}

/// Runs `hook AGENT [EVENT]` without the command line's parser; `None` for every other command line.
pub(crate) fn fast(args: &[OsString]) -> Option<ExitCode> {
    let words: Vec<&str> = args.iter().skip(1).take(4).map(|word| word.to_str()).collect::<Option<_>>()?;
    let ("hook", rest) = (*words.first()?, words.get(1..)?) else { return None };
    if args.len() > 4 || rest.iter().any(|word| word.starts_with('-')) {
        return None;
    }
    match rest {
        [agent] => publish_payload(agent, None, &App::new(false, Some(false))),
        [agent, event] => publish_payload(agent, Some(event), &App::new(false, Some(false))),
        _ => return None,
    }
    Some(ExitCode::SUCCESS)
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    if !args.statusline {
        publish_payload(&args.agent, args.event.as_deref(), app);
        return Ok(Exit::OK);
    }
    let bytes = stdin::bounded(Instant::now() + PAYLOAD).unwrap_or_default();
    // The user's own line is drawn first: publishing must not be seen.
    let shown = args.then.as_deref().map(|command| passed_on(command, &bytes));
    publish(&args.agent, Some("statusline"), &bytes, app);
    Ok(Exit(shown.unwrap_or_default()))
}

/// A command line that is none of ours, from an agent's configuration: it is logged, and the agent goes on.
pub(crate) fn misspelled(error: &clap::Error) -> ExitCode {
    let text = error.to_string();
    let app = App::new(false, Some(false));
    Log::new(&app.places(), "hook").write("usage", text.lines().next().unwrap_or_default());
    ExitCode::SUCCESS
}

/// Runs the command of the status line with the same payload. Its output goes where ours would; its code is ours.
fn passed_on(command: &str, payload: &[u8]) -> u8 {
    let started = Command::new("/bin/sh").arg("-c").arg(command).stdin(Stdio::piped()).spawn();
    let Ok(mut child) = started else { return 127 };
    if let Some(mut input) = child.stdin.take() {
        // A command that does not read its input is not wrong.
        let _ = input.write_all(payload);
    }
    let code = child.wait().ok().and_then(|status| status.code());
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

fn publish_payload(agent: &str, event: Option<&str>, app: &App) {
    match stdin::bounded(Instant::now() + PAYLOAD) {
        Ok(bytes) => publish(agent, event, &bytes, app),
        Err(message) => Log::new(&app.places(), "hook").write("io", &message),
    }
}

/// Publishes a payload's events; errors are logged.
fn publish(agent: &str, event: Option<&str>, bytes: &[u8], app: &App) {
    let log = Log::new(&app.places(), "hook");
    let Some(agent) = jig_session_agents::named(agent) else {
        log.write("usage", &format!("unknown agent {agent:?}; expected one of {}", known()));
        return;
    };
    let taken =
        Payload::read(agent, bytes).map_err(|error| format!("the payload of {} cannot be read: {error}", agent.name));
    match taken.and_then(|payload| hear(agent, event, &payload, app).map_err(|failure| failure.to_string())) {
        Ok(notes) => notes.iter().for_each(|note| log.write("note", note)),
        Err(message) => log.write("io", &message),
    }
}

fn known() -> String {
    let names: Vec<&str> = jig_session_agents::ALL.into_iter().map(|agent| agent.name).collect();
    names.join(", ")
}

/// One call of a hook: the session's document as it stands, what the call makes of it, and the document after it.
fn hear(agent: &Agent, event: Option<&str>, payload: &Payload, app: &App) -> Result<Vec<String>, Failure> {
    let now = Now::read();
    let named = event.or_else(|| payload.text(Field::Event)).or_else(|| payload.text(Field::Hook));
    let (Some(event), Some(mut session)) = (named, jig_session_agents::session(payload)) else { return Ok(Vec::new()) };
    let Some(name) = names::document_name(&session.session) else { return Ok(Vec::new()) };
    let machine = Machine::new();
    let sessions = app.places().sessions;
    // A session that was never published is looked up without making its folder.
    let dir = match PrivateDir::open_existing(&sessions)? {
        Some(dir) => dir,
        None if jig_session_agents::hear(agent, event, payload, None).creates => PrivateDir::open(&sessions)?,
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
    describe(&mut session, agent, app);
    let mut publisher = publisher(agent, &process, heard.begins, app);
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

/// The session fields that every event of this agent carries.
fn describe(session: &mut SessionEvent, agent: &Agent, app: &App) {
    let folder = agent.folder.map(|folder| folder.path(|name| app.var(name), &app.places().home));
    session.agent_dir =
        folder.and_then(|folder| folder.into_os_string().into_string().ok()).map_or(Patch::Keep, Patch::Set);
}

/// The process a hook speaks for.
struct Caller {
    pid: u32,
    /// It is the one that the session's document names.
    is_kept: bool,
    /// It serves several sessions.
    shared: bool,
}

impl Caller {
    /// The process that the document names, if it is above this one; else the nearest that can be the agent. `None` when
    /// the agent is gone.
    fn find(agent: &Agent, kept: Option<&Status>, machine: &Machine) -> Option<Self> {
        let own = std::process::id();
        let is_kept = |process: &Process| {
            let record = kept.map(Record::of_status);
            let identity = machine.identity(process.start.clone());
            record.is_some_and(|record| record.same_process(&Record::of(Some(process.pid), Some(&identity))))
        };
        let kept = machine.ancestors(own).into_iter().find(is_kept).map(|process| process.pid);
        let pid = kept.or_else(|| agent_above(machine, own))?;
        let line = machine.command_line(pid);
        let shared = agent.shared.is_some_and(|word| line.iter().any(|found| found == word));
        Some(Self { pid, is_kept: kept.is_some(), shared })
    }
}

/// The document of a session by this name, whosever process it names.
fn document(dir: &PrivateDir, name: &str, id: &str) -> Option<Status> {
    let read = dir.read(format!("{name}.json"), STATUS_BYTES).ok()?;
    Some(Status::read(&read.bytes).ok()?.value).filter(|status| status.session == id)
}

fn publisher(agent: &Agent, process: &Caller, begins: bool, app: &App) -> Publisher {
    let name = AgentName::new(agent.name).unwrap_or(AgentName::PI);
    let mode = Mode::OneShot { begins, clock_ms: started_ms() };
    if !process.shared {
        return setup::publisher(&app.environment(), name, mode);
    }
    let env = app.env.iter().filter(|(name, _)| !PLACES.iter().any(|place| name == place)).cloned().collect();
    let environment = App { env, json: false, color: false }.environment();
    setup::publisher_with(&environment, name, mode, Box::new(Shared(Machine::new())))
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

/// A table of processes in which the one that is published serves several sessions.
struct Shared(Machine);

impl Processes for Shared {
    fn process(&self, pid: u32) -> Result<Process, ProbeError> {
        self.0.process(pid)
    }

    fn command_line(&self, pid: u32) -> Vec<String> {
        self.0.command_line(pid)
    }

    fn judge(&self, record: &Record<'_>) -> Judgement {
        self.0.judge(record)
    }

    fn identity(&self, start: String) -> status::Process {
        self.0.identity(start).shared(Some(true))
    }
}
