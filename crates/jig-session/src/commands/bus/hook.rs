//! The two hook entries of the bus: `guard` before an edit, `notice` around a turn. Both are silent in every doubt and
//! end with 0: a hook must never be what stops an agent.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use jig_session_bus::payload::Payload;
use jig_session_bus::{Bus, Conflict, System, limits, notice as words, path, previews, view, wake};
use jig_session_schema::bus::ListenMode;
use jig_session_schema::bus_result::{BusResult, GuardResult, MemberState};
use jig_session_schema::limits::LINE_BYTES;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};

use super::actor::{Actor, Options, Surface, repo};
use crate::app::App;
use crate::failure::{Exit, Failure, Outcome};

/// A guard that has not decided after this long allows.
const GUARD: Duration = Duration::from_millis(50);
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
    let started = Instant::now();
    let denied = payload(started + GUARD)
        .and_then(|payload| denied(&payload, named, app).ok().flatten())
        .filter(|_| started.elapsed() <= GUARD);
    let message = denied.as_ref().map(reason);
    // What cannot be written is a doubt like any other.
    let _ = if app.json {
        let deny = denied.as_ref().map(view::conflict);
        app.print_json(&BusResult::Guard(GuardResult::new().ok(true).deny(deny).message(message)))
    } else {
        match message {
            Some(message) => app.print_json(&denial(agent, &message)),
            None => Ok(()),
        }
    };
    Ok(Exit::OK)
}

/// The claim that stands in the way of what the payload's tool is about to write.
fn denied(payload: &Payload, named: Option<&str>, app: &App) -> Result<Option<Conflict>, Failure> {
    if payload.paths.is_empty() {
        return Ok(None);
    }
    let repo = repo(app, payload.cwd.as_deref().map(Path::new))?;
    let system = System::new();
    let bus = Bus::open_existing(&app.places().bus, repo, &system)?;
    if !bus.has_claims()? {
        return Ok(None);
    }
    let paths: Vec<_> = payload.paths.iter().filter_map(|written| path::locate(written, &bus.repo().place)).collect();
    let Some(member) = member(&bus, payload, named, app)? else { return Ok(None) };
    let guarded = member.record.guard == Some(true) || app.var("JIG_BUS_GUARD") == Some("1");
    if paths.is_empty() || !guarded {
        return Ok(None);
    }
    let look = bus.look()?;
    let mut conflicts = bus.conflicts(&look, &member.record.id, &paths);
    Ok(if conflicts.is_empty() { None } else { Some(conflicts.swap_remove(0)) })
}

/// The member a hook acts for. A payload names its session, so the processes above are asked only without one.
fn member(
    bus: &Bus<'_>,
    payload: &Payload,
    named: Option<&str>,
    app: &App,
) -> Result<Option<jig_session_bus::Member>, Failure> {
    let given = app.var("JIG_BUS_SESSION").map(str::to_owned).or_else(|| payload.session.clone());
    let id = match (named, given) {
        (None, Some(id)) => id,
        _ => {
            let cwd = payload.cwd.as_deref().map(Path::new);
            let options = Options { named, cwd, ..Options::default() };
            Actor::find(app, &options, Surface::CommandLine)?.me.id
        }
    };
    Ok(bus.member(&id)?)
}

/// What the model is told.
pub(crate) fn reason(conflict: &Conflict) -> String {
    let since = conflict.claim.claimed_at.map(|at| format!(" since {at}")).unwrap_or_default();
    let (path, label, id) = (&conflict.claim.path, &conflict.label, &conflict.claim.id);
    format!("{path} is held by {label} (session {id}){since}. Ask with: jig-session bus send {label} …")
}

/// A denial in the agent's own form.
fn denial(agent: &str, message: &str) -> Value {
    match agent {
        "gemini" => json!({ "decision": "deny", "reason": message }),
        "opencode" | "pi" => json!({ "block": true, "reason": message }),
        "cursor" => json!({ "permission": "deny", "agent_message": message, "user_message": message }),
        _ => json!({ "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": message,
        } }),
    }
}

/// What an event of an agent's hooks is to a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// A person has spoken.
    Prompt,
    /// Between two tools, or at a beginning.
    Turn,
    /// The turn is about to end.
    End,
}

fn moment(event: &str) -> Moment {
    match event {
        "UserPromptSubmit" | "userPromptSubmitted" | "BeforeAgent" | "beforeSubmitPrompt" => Moment::Prompt,
        "Stop" | "AfterAgent" | "agentStop" | "stop" => Moment::End,
        _ => Moment::Turn,
    }
}

/// Tells a member that listens of mail it has not been told of.
pub(crate) fn notice(agent: &str, event: &str, named: Option<&str>, app: &App) -> Outcome {
    // A notice that fails is told by the next one: the mail stays where it is.
    let _ = payload(Instant::now() + PAYLOAD).map(|payload| tell(agent, event, &payload, named, app));
    Ok(Exit::OK)
}

fn tell(agent: &str, event: &str, payload: &Payload, named: Option<&str>, app: &App) -> Result<(), Failure> {
    let repo = repo(app, payload.cwd.as_deref().map(Path::new))?;
    let system = System::new();
    let bus = Bus::open_existing(&app.places().bus, repo, &system)?;
    let Some(member) = member(&bus, payload, named, app)? else { return Ok(()) };
    let moment = moment(event);
    bus.renew_if_due(&member);
    if moment == Moment::Prompt {
        bus.forget_wakes(&member.record.id)?;
    }
    let Some(listen) = member.record.listen.as_ref().filter(|_| member.state == MemberState::Live) else {
        return Ok(());
    };
    let id = &member.record.id;
    let mark = bus.told(id)?;
    let unread = bus.peek_after(id, mark.last.as_deref(), limits::UNREAD)?.messages;
    let Some(last) = unread.last().map(|message| message.id.clone()) else { return Ok(()) };
    let senders: Vec<&str> = unread.iter().map(|message| message.from.id.as_str()).collect();
    let ends = moment == Moment::End;
    let may_hold = listen.mode == ListenMode::Wake
        && !payload.stop_hook_active
        && wake::may_wake(&mark.wakes, &senders, app.now().epoch_ms());
    if ends && !may_hold {
        return Ok(());
    }
    let text = words::text(&previews(&unread));
    let form = if ends { held_back(agent, &text) } else { added(agent, event, &text) };
    app.print_json(&form)?;
    // Only what has left counts as told.
    let bus = Bus::open(&app.places().bus, bus.repo().clone(), &system)?;
    bus.set_told(id, &last, if ends { &senders } else { &[] })?;
    Ok(())
}

/// Text added to the model's context, in the agent's own form.
fn added(agent: &str, event: &str, text: &str) -> Value {
    match agent {
        "copilot" => json!({ "additionalContext": text }),
        "cursor" => json!({ "additional_context": text }),
        _ => json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } }),
    }
}

/// A turn that is not to end yet, in the agent's own form.
fn held_back(agent: &str, text: &str) -> Value {
    match agent {
        "cursor" => json!({ "followup_message": text }),
        // Gemini calls it a denial of the end.
        "gemini" => json!({ "decision": "deny", "reason": text }),
        _ => json!({ "decision": "block", "reason": text }),
    }
}

/// The agent's payload from stdin, at most a megabyte and not after `end`; `None` when there is none to be had.
fn payload(end: Instant) -> Option<Payload> {
    let stdin = std::io::stdin();
    let mut bytes = Vec::new();
    let mut chunk = [0; 16 * 1024];
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: left.as_secs().try_into().ok()?, tv_nsec: left.subsec_nanos().into() };
        let mut asked = [PollFd::new(&stdin, PollFlags::IN)];
        if poll(&mut asked, Some(&left)).ok()? == 0 {
            return None;
        }
        let read = rustix::io::read(&stdin, &mut chunk).ok()?;
        if read == 0 {
            break;
        }
        bytes.extend_from_slice(&chunk[..read]);
        if bytes.len() > LINE_BYTES {
            return None;
        }
    }
    Some(Payload::read(&serde_json::from_slice(&bytes).ok()?))
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

    #[test]
    fn each_agent_has_its_own_form() {
        assert_eq!(denial("claude", "m")["hookSpecificOutput"]["permissionDecision"], "deny");
        assert_eq!(denial("codex", "m"), denial("claude", "m"));
        assert_eq!(denial("gemini", "m"), json!({ "decision": "deny", "reason": "m" }));
        assert_eq!(denial("pi", "m"), json!({ "block": true, "reason": "m" }));
        assert_eq!(added("claude", "PostToolUse", "t")["hookSpecificOutput"]["hookEventName"], "PostToolUse");
        assert_eq!(added("copilot", "postToolUse", "t"), json!({ "additionalContext": "t" }));
        assert_eq!(held_back("claude", "t"), json!({ "decision": "block", "reason": "t" }));
    }

    #[test]
    fn events_are_prompts_ends_or_neither() {
        assert_eq!(moment("UserPromptSubmit"), Moment::Prompt);
        assert_eq!(moment("Stop"), Moment::End);
        assert_eq!(moment("AfterAgent"), Moment::End);
        assert_eq!(moment("PostToolUse"), Moment::Turn);
    }
}
