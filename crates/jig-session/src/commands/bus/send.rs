//! `bus send`: a message from the command line, a file or stdin, and the wait for its answer.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jig_session_atomic::open_file;
use jig_session_bus::{Call, Done, limits, view};
use jig_session_schema::bus_result::BusResult;

use super::{Actor, Options, Surface, finish};
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
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: Vec<String>,
}

/// Most bytes of a text that is read: more than any message may hold.
const MOST: u64 = 64 * 1024;

pub(crate) fn run(args: &Args, options: &Options<'_>, app: &App) -> Outcome {
    let text = text(args)?;
    let wait = args.wait.map(seconds).transpose()?;
    let actor = Actor::find(app, options, Surface::CommandLine)?;
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
    let end = Instant::now() + wait;
    loop {
        let taken = bus.take_where(&actor.me.id, 1, |message| message.reply_to.as_deref() == Some(&id))?;
        if let Some(answer) = taken.messages.first() {
            result.reply = Some(view::whole(answer));
            result.unread = Some(taken.remaining);
            done.taken = Some(taken);
            return Ok(done);
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            result.ok = false;
            result.code = Some(jig_session_bus::Code::Timeout.into());
            result.message = Some("no answer came in time; the message is queued".to_owned());
            done.code = Some(jig_session_bus::Code::Timeout);
            return Ok(done);
        }
        std::thread::sleep(left.min(Duration::from_millis(limits::WATCH_MS / 10)));
    }
}

/// The text: given, from a file, or from stdin, which spares the shell's quoting.
fn text(args: &Args) -> Result<String, Failure> {
    if !args.text.is_empty() && args.text != ["-"] {
        return Ok(args.text.join(" "));
    }
    let mut bytes = Vec::new();
    let name = match &args.file {
        Some(path) => {
            let opened = open_file(path).map_err(|problem| {
                let hint = "a message can also come in at stdin: jig-session bus send TO -";
                Failure { hint: Some(hint.to_owned()), ..Failure::cannot_read(path, &problem) }
            });
            let read = opened?.0.take(MOST).read_to_end(&mut bytes);
            read.map_err(|error| failed(path, &error))?;
            path.display().to_string()
        }
        None => {
            let read = std::io::stdin().lock().take(MOST).read_to_end(&mut bytes);
            read.map_err(|error| failed(Path::new("stdin"), &error))?;
            "stdin".to_owned()
        }
    };
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::new(Code::Usage, format!("{name} is not UTF-8")).hint("a message is text"))?;
    // The line feed that ends a file is not part of the message.
    Ok(text.strip_suffix('\n').map(|text| text.strip_suffix('\r').unwrap_or(text)).unwrap_or(&text).to_owned())
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    let failure = Failure::new(Code::Io, format!("cannot read {}: {error}", path.display()));
    failure.errno(error.raw_os_error()).path(path)
}

/// A time in seconds as it is typed.
pub(crate) fn seconds(value: f64) -> Result<Duration, Failure> {
    Duration::try_from_secs_f64(value)
        .ok()
        .filter(|time| *time < Duration::from_secs(31_536_000))
        .ok_or_else(|| Failure::new(Code::Usage, format!("{value} is not a number of seconds")))
}
