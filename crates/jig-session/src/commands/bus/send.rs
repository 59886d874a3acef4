//! `bus send`: a message from the command line, a file or stdin, and the wait for its answer.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jig_session_actor::{Actor, Options};
use jig_session_atomic::open_file;
use jig_session_bus::{Call, Code as Word, Done, text as rules, view};
use jig_session_schema::bus_result::{BusResult, MemberState};

use super::wait::Mail;
use super::{find, finish};
use crate::app::App;
use crate::failure::{Code, Failure, Outcome};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The recipient: an id, a label, part of an id, or * for everybody (events only)
    to: String,
    /// The kind of message
    #[arg(long, default_value = "message", value_parser = ["message", "event", "ask", "handoff"])]
    kind: String,
    /// A path the message is about; can be repeated
    #[arg(long = "path", value_name = "PATH")]
    paths: Vec<String>,
    /// The id of the message it answers
    #[arg(long, value_name = "ID")]
    reply_to: Option<String>,
    /// Read the text from a file
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    file: Option<PathBuf>,
    /// Seconds to wait for the answer
    #[arg(long, value_name = "S")]
    wait: Option<f64>,
    /// The text; read from stdin if omitted
    #[arg(value_name = "TEXT", allow_negative_numbers = true)]
    text: Vec<String>,
}

/// The pause between two looks at whom one waits for.
const LIFE: Duration = Duration::from_secs(1);

/// Most bytes of a text that are held: more than any message may hold.
const MOST: u64 = 64 * 1024;

pub(crate) fn run(args: &Args, options: &Options<'_>, app: &App) -> Outcome {
    let text = text(args)?;
    let wait = args.wait.map(seconds).transpose()?;
    let actor = find(app, options)?;
    let call = Call::Send {
        to: args.to.clone(),
        text,
        kind: args.kind.clone(),
        paths: args.paths.clone(),
        reply_to: args.reply_to.clone(),
    };
    match wait {
        Some(wait) => finish(app, ask(&actor, &call, &args.to, wait)?),
        None => finish(app, actor.perform(&call)?),
    }
}

/// Sends and waits for an answer to that very message, which is taken from the inbox.
fn ask(actor: &Actor, call: &Call, to: &str, wait: Duration) -> Result<Done, Failure> {
    let bus = actor.bus_made()?;
    bus.ensure_joined(&actor.me)?;
    let _waiting = match bus.wait_for(&actor.me.id, to)? {
        Ok(waiting) => waiting,
        Err(refusal) => return Ok(jig_session_bus::refuse(&actor.context(), call, refusal)),
    };
    let mut done = actor.perform(call)?;
    let BusResult::Send(result) = &mut done.result else { return Ok(done) };
    let Some(id) = result.id.clone().filter(|_| result.recipients.iter().any(|to| to.queued)) else { return Ok(done) };
    let to: Vec<String> = result.recipients.iter().filter(|to| to.queued).map(|to| to.id.clone()).collect();
    let end = Instant::now() + wait;
    let failed = |failure: Failure| failure.hint("the message is queued; its answer comes into the inbox");
    let mut mail = Mail::of(actor).map_err(failed)?;
    loop {
        // Watched before the look: what comes during it gives another one. Who is asked is looked at first, so that its
        // last word is found.
        mail.renew();
        let over = ended(&bus, &to).map_err(failed)?;
        let taken = bus.take_where(&actor.me.id, 1, |message| message.reply_to.as_deref() == Some(&id));
        let taken = taken.map_err(|error| failed(error.into()))?;
        if let Some(answer) = taken.messages.first() {
            result.reply = Some(view::whole(answer));
            result.unread = Some(taken.remaining);
            done.taken = Some(taken);
            return Ok(done);
        }
        let left = end.saturating_duration_since(Instant::now());
        let end = match (over, left.is_zero()) {
            (true, _) => Some((Word::Gone, "it ended before it answered")),
            (false, true) => Some((Word::Timeout, "no answer came in time; the message is queued")),
            (false, false) => None,
        };
        if let Some((code, words)) = end {
            result.ok = false;
            result.code = Some(code.into());
            result.message = Some(words.to_owned());
            done.code = Some(code);
            return Ok(done);
        }
        mail.wait(Some(left.min(LIFE)));
    }
}

/// Whether all of these have ended, or left the bus.
fn ended(bus: &jig_session_bus::Bus<'_>, ids: &[String]) -> Result<bool, Failure> {
    for id in ids {
        if bus.member(id)?.is_some_and(|member| member.state != MemberState::Gone) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The text: an argument, a file, or stdin, which avoids shell quoting.
fn text(args: &Args) -> Result<String, Failure> {
    if !args.text.is_empty() && args.text != ["-"] {
        return Ok(args.text.join(" "));
    }
    let (mut source, name): (Box<dyn Read>, String) = match &args.file {
        Some(path) => (Box::new(open(path)?), path.display().to_string()),
        None => (Box::new(std::io::stdin().lock()), "stdin".to_owned()),
    };
    let failed = |error: std::io::Error| failed(args.file.as_deref().unwrap_or(Path::new("stdin")), &error);
    let mut bytes = Vec::new();
    source.by_ref().take(MOST).read_to_end(&mut bytes).map_err(failed)?;
    // What no message can hold is counted and not held.
    let mut count = characters(&bytes);
    let mut chunk = vec![0; 64 * 1024];
    loop {
        let read = match source.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(failed(error)),
        };
        count += characters(&chunk[..read]);
    }
    if bytes.len() as u64 == MOST && count > jig_session_bus::limits::TEXT {
        let words = rules::BadText::TooLong { count }.to_string();
        return Err(
            Failure::new(Code::Refused, words).hint("put it into a file of the repository, and name that with --path")
        );
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::new(Code::Usage, format!("{name} is not UTF-8")).hint("a message is text"))?;
    // The line feed that ends a file is not part of the message.
    Ok(text.strip_suffix('\n').map(|text| text.strip_suffix('\r').unwrap_or(text)).unwrap_or(&text).to_owned())
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    let failure = Failure::new(Code::Io, format!("cannot read {}: {error}", path.display()));
    failure.errno(error.raw_os_error()).path(path)
}

fn open(path: &Path) -> Result<std::fs::File, Failure> {
    let opened = open_file(path).map_err(|problem| {
        let hint = "a message can also come in at stdin: jig-session bus send TO -";
        Failure { hint: Some(hint.to_owned()), ..Failure::cannot_read(path, &problem) }
    });
    Ok(opened?.0)
}

/// Characters in a piece of UTF-8, whatever its ends cut.
fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

/// A time in seconds as it is typed.
pub(crate) fn seconds(value: f64) -> Result<Duration, Failure> {
    Duration::try_from_secs_f64(value)
        .ok()
        .filter(|time| *time < Duration::from_secs(31_536_000))
        .ok_or_else(|| Failure::new(Code::Usage, format!("{value} is not a number of seconds")))
}
