//! The two hook entries of the bus: `guard` before an edit, `notice` around a turn. Both are silent in every doubt and
//! end with 0: a hook must never be what stops an agent.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jig_session_agents::{Agent, Field, Moment, Payload};
use jig_session_bus::guard::{Edit, Target, reason};
use jig_session_bus::{Bus, Buses, Conflict, Occasion, System, view};
use jig_session_publish::log::Log;
use jig_session_schema::bus_result::{BusResult, GuardResult};

use super::actor::{Actor, Options, Surface};
use crate::app::App;
use crate::failure::{Exit, Failure, Outcome};
use crate::stdin;

/// CPU time that a guard may spend on its decision; then it allows.
const GUARD_CPU: Duration = Duration::from_millis(50);
/// Wall time after which a guard allows: a busy machine is no reason, so this is for one that stands still.
const GUARD_WALL: Duration = Duration::from_secs(2);
/// How long a hook waits for its payload.
const PAYLOAD: Duration = Duration::from_millis(1000);

/// Runs `bus guard AGENT` and `bus notice AGENT EVENT` without the command line's parser, which costs as much as the
/// rest of them; `None` for every other command line.
pub(crate) fn fast(args: &[OsString]) -> Option<ExitCode> {
    let words: Vec<&str> = args.iter().skip(1).take(6).map(|word| word.to_str()).collect::<Option<_>>()?;
    let ("bus", rest) = (*words.first()?, words.get(1..)?) else { return None };
    let json = rest.contains(&"--json");
    let plain: Vec<&str> = rest.iter().copied().filter(|word| *word != "--json").collect();
    if args.len() > 6 || plain.iter().any(|word| word.starts_with('-')) {
        return None;
    }
    // Neither has an exit code but 0.
    let _ = match plain.as_slice() {
        ["guard", agent] => guard(agent, None, &App::new(json, Some(false))),
        ["notice", agent, event] => notice(agent, event, None, &App::new(json, Some(false))),
        _ => return None,
    };
    Some(ExitCode::SUCCESS)
}

/// Denies an edit of a path that another live session holds.
pub(crate) fn guard(agent: &str, named: Option<&str>, app: &App) -> Outcome {
    let decision = Arc::new(AtomicBool::new(false));
    end_in_time(&decision, app);
    // An agent that is not known has no form in which it could be denied anything.
    let agent = jig_session_agents::named(agent);
    let decided = agent.map_or(Ok(None), |agent| conflict(agent, named, app));
    if decision.swap(true, Ordering::SeqCst) {
        // Too late: the process is about to end.
        std::thread::park();
    }
    let denied = decided.unwrap_or_else(|doubt| {
        Log::new(&app.places(), "bus guard").write("undecided", &format!("an edit was allowed in doubt: {doubt}"));
        None
    });
    let message = denied.as_ref().map(reason);
    let printed = if app.json {
        let deny = denied.as_ref().map(view::conflict);
        app.print_json(&BusResult::Guard(GuardResult::new().ok(true).deny(deny).message(message)))
    } else {
        match agent.and_then(|agent| agent.replies.deny).zip(message) {
            Some((deny, message)) => app.print_agents_form(&deny(&message)),
            None => Ok(()),
        }
    };
    if let Err(failure) = printed {
        Log::new(&app.places(), "bus guard").write("undecided", &format!("a denial was not read: {failure}"));
    }
    Ok(Exit::OK)
}

/// Ends the process when nothing was decided in time.
fn end_in_time(decision: &Arc<AtomicBool>, app: &App) {
    let (decision, places) = (Arc::clone(decision), app.places());
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
fn conflict(agent: &Agent, named: Option<&str>, app: &App) -> Result<Option<Conflict>, String> {
    let payload = payload(agent, Instant::now() + GUARD_WALL)?;
    let root = app.places().bus;
    if payload.edits.is_empty() || !root.exists() {
        return Ok(None);
    }
    let system = System::new();
    let session = session(&payload, named, app).map_err(|failure| failure.message)?;
    let always = app.var("JIG_BUS_GUARD") == Some("1");
    let target =
        |edit: &jig_session_agents::Edit| Target { path: edit.path.clone(), removed: edit.action == "removed" };
    let files: Vec<Target> = payload.edits.iter().map(target).collect();
    let cwd = cwd(&payload);
    let has_time = || spent() < GUARD_CPU;
    let home = app.places().home;
    let edit = Edit { session: &session, cwd: &cwd, home: Some(&home), files: &files, always, has_time: &has_time };
    Buses::new(&root, &system).edit_conflict(&edit).map_err(|error| error.to_string())
}

/// The session a hook acts for. A payload names it, so the parent processes are searched only without one.
fn session(payload: &Payload, named: Option<&str>, app: &App) -> Result<String, Failure> {
    let given =
        app.var("JIG_BUS_SESSION").map(str::to_owned).or_else(|| payload.text(Field::Session).map(str::to_owned));
    match (named, given) {
        (None, Some(id)) => Ok(id),
        _ => {
            let cwd = payload.text(Field::Cwd).map(Path::new);
            let options = Options { named, cwd, ..Options::default() };
            Ok(Actor::find(app, &options, Surface::CommandLine)?.me.id)
        }
    }
}

/// The folder in which the agent works.
fn cwd(payload: &Payload) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    payload.text(Field::Cwd).map_or_else(|| here.clone(), |cwd| here.join(cwd))
}

/// Where in a turn an event of an agent's hooks stands.
fn occasion(agent: &Agent, event: &str, payload: &Payload) -> Occasion {
    match agent.hooks.turns().map(|turns| turns.moment(event)) {
        Some(Moment::Prompt) => Occasion::Prompt,
        Some(Moment::End) => Occasion::End { held_back: payload.is(Field::StopHookActive) },
        Some(Moment::Turn) | None => Occasion::Turn,
    }
}

/// Notifies a listening member of unannounced mail.
pub(crate) fn notice(agent: &str, event: &str, named: Option<&str>, app: &App) -> Outcome {
    // A notice that fails is made again by the next event: the mail stays where it is.
    let _ = jig_session_agents::named(agent)
        .and_then(|agent| Some((agent, payload(agent, Instant::now() + PAYLOAD).ok()?)))
        .map(|(agent, payload)| announce(agent, event, &payload, named, app));
    Ok(Exit::OK)
}

fn announce(agent: &Agent, event: &str, payload: &Payload, named: Option<&str>, app: &App) -> Result<(), Failure> {
    let root = app.places().bus;
    let system = System::new();
    let session = session(payload, named, app)?;
    let repo = Buses::new(&root, &system).of_session(&session, &cwd(payload), None);
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
    app.print_agents_form(&form)?;
    // Only what has left is recorded.
    let bus = Bus::open(&root, bus.repo().clone(), &system)?;
    Ok(bus.record_notice(&member.record.id, &notice)?)
}

/// The agent's payload from stdin, at most a megabyte and not past `end`; the error says why there is none.
fn payload(agent: &Agent, end: Instant) -> Result<Payload, String> {
    Payload::read(agent, &stdin::bounded(end)?).map_err(|error| format!("the payload is not read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_two_entries_are_fast() {
        let fast_words = |words: &[&str]| {
            let args: Vec<OsString> = std::iter::once(&"jig-session").chain(words).map(OsString::from).collect();
            // A line that is fast would read stdin, so only the others are tried.
            fast(&args).is_some()
        };
        for words in [
            vec!["bus"],
            vec!["bus", "status"],
            vec!["bus", "guard"],
            vec!["bus", "guard", "--help"],
            vec!["bus", "guard", "claude", "--as", "x"],
            vec!["bus", "notice", "claude"],
            vec!["ls", "guard", "claude"],
            vec![],
        ] {
            assert!(!fast_words(&words), "{words:?}");
        }
    }
}
