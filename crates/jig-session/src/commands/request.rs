//! `jig-session request`: sends a switch or a reload to a session, and waits for its answer.

use std::time::Duration;

use jig_session_requests::{AskError, Reply, ask};
use jig_session_schema::request::{Request, RequestOutcome, RequestResult};
use jig_session_schema::row::Row;
use jig_session_schema::shape::Named;

use crate::app::App;
use crate::failure::{Code, Exit, Failure, Outcome};
use crate::select;
use jig_session_view::sanitise;

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
    let request = Request::new()
        .id(format!("cli-{}-{}", app.now().epoch_ms(), std::process::id()))
        .tools(last_of_each(&args.tools))
        .skills(last_of_each(&args.skills))
        .reload(args.reload.then_some(true));
    let reply = ask(&app.places().requests, &row, &request, args.wait)?;
    report(app, &row, &request, &reply)
}

/// Of a repeated name the last value counts.
fn last_of_each(switches: &[(String, bool)]) -> Named<bool> {
    let mut names = Named::default();
    switches.iter().for_each(|(name, on)| names.insert(name.clone(), *on));
    names
}

/// How each outcome ends the program.
fn exit(outcome: RequestOutcome) -> u8 {
    match outcome {
        RequestOutcome::Ok | RequestOutcome::Sent => 0,
        RequestOutcome::Gone => Code::Gone.exit(),
        RequestOutcome::Busy => Code::Busy.exit(),
        RequestOutcome::Timeout => Code::Timeout.exit(),
        _ => Code::Refused.exit(),
    }
}

fn report(app: &App, row: &Row, request: &Request, reply: &Reply) -> Outcome {
    let exit = exit(reply.outcome);
    if app.json {
        let result = RequestResult::new().session(row.session.clone()).id(request.id.clone());
        app.print_json(&result.outcome(reply.outcome).answer(reply.answer.clone()))?;
        return Ok(Exit(exit));
    }
    let words = sanitise::clean(reply.words());
    if exit == 0 {
        app.print(&format!("{words}\n"))?;
    } else {
        let word = match (&reply.answer, reply.outcome) {
            (Some(_), _) => "not done",
            (None, RequestOutcome::Refused) => "refused",
            (None, _) => "error",
        };
        app.note(&format!("{word}: {words}"));
    }
    Ok(Exit(exit))
}

impl From<AskError> for Failure {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Document(error) => error.into(),
            AskError::Folder(error) => error.into(),
        }
    }
}
