//! `jig-session request`: sends a switch or a reload to a session, and waits for its answer.

use std::path::Path;
use std::thread;
use std::time::Duration;

use jig_session_liveness::{Machine, Processes, Record};
use jig_session_publish::Now;
use jig_session_requests::{Published, Requester};
use jig_session_schema::request::{Request, RequestOutcome, RequestResult};
use jig_session_schema::row::Row;
use jig_session_schema::shape::Named;
use jig_session_schema::status::{Accept, Answer, Status};
use jig_session_store::DocumentError;

use crate::app::App;
use crate::failure::{Code, Exit, Failure, Outcome};
use crate::{select, view};
use jig_session_view::sanitise;

/// How often it looks.
const EVERY: Duration = Duration::from_millis(100);
/// A status file that is missing for so long, while its process lives, belongs to a session that has ended.
const MISSING: Duration = Duration::from_secs(2);
/// Maximum of `--timeout`, in seconds.
const LONGEST: f64 = 86_400.0;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[arg(help = select::ARGUMENT, add = select::completer())]
    session: String,
    /// Turn a tool on or off, such as bash=off
    #[arg(long = "tool", value_name = "NAME=on|off", value_parser = switch)]
    tools: Vec<(String, bool)>,
    /// Turn a skill on or off, such as pdf-tools=off
    #[arg(long = "skill", value_name = "NAME=on|off", value_parser = switch)]
    skills: Vec<(String, bool)>,
    /// Reload the agent once it is idle
    #[arg(long)]
    reload: bool,
    /// Seconds to wait for the answer; 0 does not wait
    #[arg(long, value_name = "S", default_value = "10", value_parser = seconds)]
    wait: Duration,
}

fn switch(text: &str) -> Result<(String, bool), String> {
    match text.rsplit_once('=') {
        Some((name, "on")) if !name.is_empty() => Ok((name.to_owned(), true)),
        Some((name, "off")) if !name.is_empty() => Ok((name.to_owned(), false)),
        _ => Err("write NAME=on or NAME=off".to_owned()),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "is not a number of seconds".to_owned())?;
    if !(0.0..=LONGEST).contains(&seconds) {
        return Err(format!("is not between 0 and {LONGEST}"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    if args.tools.is_empty() && args.skills.is_empty() && !args.reload {
        return Err(Failure::new(Code::Usage, "the request is empty").hint("give --tool, --skill or --reload"));
    }
    let row = select::one(app, &args.session)?.row;
    let asked = Request::new()
        .id(format!("cli-{}-{}", app.now().epoch_ms(), std::process::id()))
        .tools(last_of_each(&args.tools))
        .skills(last_of_each(&args.skills))
        .reload(args.reload.then_some(true));
    let (outcome, answer) = ask(app, &row, &asked, args.wait)?;
    report(app, &row, &asked, outcome, answer)
}

/// Of a repeated name the last value counts.
fn last_of_each(switches: &[(String, bool)]) -> Named<bool> {
    let mut names = Named::default();
    switches.iter().for_each(|(name, on)| names.insert(name.clone(), *on));
    names
}

/// Publishes the request and waits that long for its answer.
pub(crate) fn ask(
    app: &App,
    row: &Row,
    asked: &Request,
    wait_for: Duration,
) -> Result<(RequestOutcome, Option<Answer>), Failure> {
    let session = Watched::of(row);
    let seen = match session.look() {
        Seen::Missing => match view::document(row) {
            // A file that could not be read for a moment is there all the same.
            Ok(_) => session.look(),
            Err(DocumentError::Ended { .. }) => Seen::Missing,
            Err(error) => return Err(error.into()),
        },
        seen => seen,
    };
    match seen {
        Seen::Ended | Seen::Missing => return Ok((RequestOutcome::Gone, None)),
        Seen::Status(status) if !takes(&status, asked) => return Ok((RequestOutcome::Refused, None)),
        Seen::Status(_) => {}
    }
    let name = Path::new(&row.path).file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    let requester = Requester::new(jig_session_requests::folder(&app.places().requests)?, name);
    let end = Now::read().mono + wait_for;
    let mut missing = None;
    let published = loop {
        if let Some(published) = requester.publish(asked, app.now().epoch_ms())? {
            break published;
        }
        if session.ended(&mut missing) {
            return Ok((RequestOutcome::Gone, None));
        }
        if !pause(end) {
            return Ok((RequestOutcome::Busy, None));
        }
    };
    if wait_for.is_zero() {
        return Ok((RequestOutcome::Sent, None));
    }
    wait(&session, &requester, &published, &asked.id, end)
}

fn wait(
    session: &Watched<'_>,
    requester: &Requester,
    published: &Published,
    id: &str,
    end: Duration,
) -> Result<(RequestOutcome, Option<Answer>), Failure> {
    let mut missing = None;
    loop {
        if let Some(answer) = session.answer(id) {
            let outcome = if answer.ok { RequestOutcome::Ok } else { RequestOutcome::Refused };
            return Ok((outcome, Some(answer)));
        }
        let outcome = if session.ended(&mut missing) {
            RequestOutcome::Gone
        } else if pause(end) {
            continue;
        } else {
            RequestOutcome::Timeout
        };
        // Nobody waits for the answer any more, so what nobody took is taken back. What was taken just now may have
        // been answered just now.
        if !requester.withdraw(published)?
            && let Some(answer) = session.answer(id)
        {
            let outcome = if answer.ok { RequestOutcome::Ok } else { RequestOutcome::Refused };
            return Ok((outcome, Some(answer)));
        }
        return Ok((outcome, None));
    }
}

/// Waits for the next look; false when the time is over.
fn pause(end: Duration) -> bool {
    let left = end.saturating_sub(Now::read().mono);
    if left.is_zero() {
        return false;
    }
    thread::sleep(left.min(EVERY));
    true
}

/// Whether the session accepts the whole request. One that does not say may.
fn takes(status: &Status, asked: &Request) -> bool {
    let Some(accepts) = &status.accepts else { return true };
    let wanted = [
        (!asked.tools.is_empty(), Accept::TOOLS),
        (!asked.skills.is_empty(), Accept::SKILLS),
        (asked.wants_reload(), Accept::RELOAD),
    ];
    wanted.iter().all(|(wanted, what)| !wanted || accepts.contains(what))
}

/// The target session, as its file shows it.
struct Watched<'a> {
    row: &'a Row,
    machine: Machine,
}

/// What its file shows.
enum Seen {
    Status(Box<Status>),
    /// There is no file: it may be restored, or the session has ended.
    Missing,
    /// The process is gone, or another session has its place.
    Ended,
}

impl<'a> Watched<'a> {
    fn of(row: &'a Row) -> Self {
        Self { row, machine: Machine::new() }
    }

    fn look(&self) -> Seen {
        let Some(status) = view::status(self.row) else { return Seen::Missing };
        if status.session != self.row.session || self.machine.judge(&Record::of_status(&status)).verdict.is_over() {
            return Seen::Ended;
        }
        Seen::Status(Box::new(status))
    }

    /// The answer to a request, whoever wrote it and whether that one still runs.
    fn answer(&self, id: &str) -> Option<Answer> {
        let status = view::status(self.row).filter(|status| status.session == self.row.session)?;
        let last = status.last_request.into_iter();
        last.chain(status.recent_requests).find(|answer| answer.id == id)
    }

    /// Whether the session has ended. `missing` remembers since when its file is not there.
    fn ended(&self, missing: &mut Option<Duration>) -> bool {
        match self.look() {
            Seen::Status(_) => {
                *missing = None;
                false
            }
            Seen::Ended => true,
            Seen::Missing => {
                let now = Now::read().mono;
                let gone = self.row.pid.is_some_and(|pid| self.machine.is_missing(pid));
                gone || now.saturating_sub(*missing.get_or_insert(now)) > MISSING
            }
        }
    }
}

/// How each outcome ends the program, and what it says to people when the session has said nothing.
fn ending(outcome: RequestOutcome) -> (u8, &'static str) {
    match outcome {
        RequestOutcome::Ok => (0, "done"),
        RequestOutcome::Sent => (0, "sent; its answer comes in the session's status file"),
        RequestOutcome::Gone => (Code::Gone.exit(), "the session ended before it answered"),
        RequestOutcome::Busy => (Code::Busy.exit(), "another request waits there; try again"),
        RequestOutcome::Timeout => (Code::Timeout.exit(), "no answer in time; nothing waits there any more"),
        _ => (Code::Refused.exit(), "the session does not take such a request"),
    }
}

/// What came of a request, for people.
pub(crate) fn words(outcome: RequestOutcome, answer: Option<&Answer>) -> String {
    answer.map_or_else(|| ending(outcome).1.to_owned(), |answer| answer.message.clone())
}

fn report(app: &App, row: &Row, asked: &Request, outcome: RequestOutcome, answer: Option<Answer>) -> Outcome {
    let (exit, words) = ending(outcome);
    if app.json {
        let result = RequestResult::new().session(row.session.clone()).id(asked.id.clone());
        app.print_json(&result.outcome(outcome).answer(answer))?;
        return Ok(Exit(exit));
    }
    let words = answer.as_ref().map_or(words, |answer| &answer.message);
    let words = sanitise::clean(words);
    if exit == 0 {
        app.print(&format!("{words}\n"))?;
    } else {
        let word = match (&answer, outcome) {
            (Some(_), _) => "not done",
            (None, RequestOutcome::Refused) => "refused",
            (None, _) => "error",
        };
        app.note(&format!("{word}: {words}"));
    }
    Ok(Exit(exit))
}
