//! `jig-session bus`: the members of a repository's bus, their mail and their claims.

mod hook;
mod send;
mod wait;

use std::path::PathBuf;

use jig_session_actor::{Actor, Options, Surface};
use jig_session_bus::{Call, Done, Room, units};
use jig_session_schema::bus_result::{BusResult, MessageView};
use jig_session_view::{bus, sanitise};

use crate::app::App;
use crate::failure::{Exit, Failure, Outcome};

pub(crate) use hook::fast;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Act for this session: its id or label
    #[arg(long = "as", value_name = "ID|LABEL", global = true)]
    named: Option<String>,
    /// Use the repository of this folder instead of the current one
    #[arg(long, value_name = "DIR", global = true)]
    cwd: Option<PathBuf>,
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand, Debug)]
#[command(defer = true)]
enum Action {
    /// List the members, their claims, and whether you are one of them
    Status,
    /// Join the bus under a label, or change your settings on it
    Join {
        /// The name peers address you by; derived if omitted
        label: Option<String>,
        /// Let mail start a turn as soon as the agent is idle
        #[arg(long)]
        wake: bool,
        /// Receive no notices of mail
        #[arg(long, conflicts_with = "wake")]
        no_listen: bool,
        /// Have your own edits denied where another session holds the path
        #[arg(long)]
        guard: bool,
        /// The session's process, instead of the nearest agent above
        #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
        pid: Option<u32>,
        /// The agent's name
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
        /// The session's id
        #[arg(long, value_name = "ID")]
        id: Option<String>,
    },
    /// Leave the bus: your record and claims are removed, unread mail stays for a day
    Leave,
    /// Send a message
    Send(send::Args),
    /// Take your mail, oldest first
    Inbox {
        /// Maximum number of messages (1-50)
        #[arg(long, value_name = "N")]
        limit: Option<u64>,
    },
    /// Show your mail without taking it
    Peek {
        /// Maximum number of messages (1-50)
        #[arg(long, value_name = "N")]
        limit: Option<u64>,
    },
    /// Claim files, folders or @names: all or none
    Claim {
        /// What to claim
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<String>,
        /// Why you hold it, for others to read
        #[arg(long)]
        reason: Option<String>,
    },
    /// Release what you hold
    Release {
        /// What to release
        #[arg(value_name = "PATH", required_unless_present = "all")]
        paths: Vec<String>,
        /// Everything
        #[arg(long, conflicts_with = "paths")]
        all: bool,
    },
    /// Show who holds paths, without joining
    Check {
        /// The paths to look up
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<String>,
    },
    /// Watch for new mail and preview it
    Watch {
        /// Keep reporting after the first mail
        #[arg(long, short)]
        follow: bool,
    },
    /// Wait until there is unread mail and preview it
    Wait {
        /// Maximum number of seconds to wait
        #[arg(long, value_name = "S")]
        timeout: Option<f64>,
        /// Wait for this kind only
        #[arg(long, value_name = "KIND", value_parser = ["message", "event", "ask", "handoff"])]
        kind: Option<String>,
    },
    /// Hook entry: deny an edit of a path that another session holds
    Guard {
        /// The agent whose payload is on stdin
        agent: String,
    },
    /// Hook entry: announce new mail to a session
    Notice {
        /// The agent whose payload is on stdin
        agent: String,
        /// The agent's name of the event
        event: String,
    },
}

impl Args {
    /// Whether this is a hook entry, which must never be what stops an agent.
    pub(crate) fn is_hook(&self) -> bool {
        matches!(self.action, Action::Guard { .. } | Action::Notice { .. })
    }
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    let mut options = Options { named: args.named.as_deref(), cwd: args.cwd.as_deref(), ..Options::default() };
    let call = match &args.action {
        Action::Status => Call::Status,
        Action::Join { label, wake, no_listen, guard, pid, agent, id } => {
            options.pid = *pid;
            options.agent = agent.as_deref();
            options.id = id.as_deref();
            options.joins = true;
            let guard = *guard || app.var("JIG_BUS_GUARD") == Some("1");
            Call::Join { label: label.clone(), wake: *wake, listen: !no_listen, guard: guard.then_some(true) }
        }
        Action::Leave => Call::Leave,
        Action::Send(args) => return send::run(args, &options, app),
        Action::Inbox { limit } => Call::Inbox { limit: *limit },
        Action::Peek { limit } => Call::Peek { limit: *limit },
        Action::Claim { paths, reason } => Call::Claim { paths: paths.clone(), reason: reason.clone() },
        Action::Release { paths, all } => Call::Release { paths: (!all).then(|| paths.clone()) },
        Action::Check { paths } => Call::Check { paths: paths.clone() },
        Action::Watch { follow } => return wait::watch(*follow, &options, app),
        Action::Wait { timeout, kind } => return wait::wait(*timeout, kind.as_deref(), &options, app),
        Action::Guard { agent } => return hook::guard(agent, args.named.as_deref(), app),
        Action::Notice { agent, event } => return hook::notice(agent, event, args.named.as_deref(), app),
    };
    let actor = find(app, &options)?;
    let done = actor.perform(&call)?;
    finish(app, done)
}

/// Prints a result and gives the exit code of its refusal. Mail is confirmed only after it has been flushed; what could
/// not be written goes back into the inbox.
pub(crate) fn finish(app: &App, done: Done) -> Outcome {
    let notes = done.notes().to_vec();
    let Done { result, code, taken } = done;
    let has_mail = taken.as_ref().is_some_and(|taken| !taken.messages.is_empty());
    let printed = if app.json { app.print_json(&result) } else { print(app, &result) };
    if let Err(mut failure) = printed {
        if has_mail {
            // A closed pipe is the reader's choice everywhere but here: nobody has seen the mail.
            failure = failure.path("stdout").hint("the mail is back in the inbox");
        }
        drop(taken);
        return Err(failure);
    }
    if let Some(taken) = taken {
        taken.confirm().map_err(Failure::from)?;
    }
    for note in notes.iter().filter(|_| !app.json) {
        app.note(&format!("note: {note}"));
    }
    Ok(code.map_or(Exit::OK, |code| Exit(code.exit())))
}

/// Prints a result for people: what was done on stdout, why something was not done on stderr.
fn print(app: &App, result: &BusResult) -> Result<(), Failure> {
    app.print(&bus::text(result, app.now(), app.width(), app.color))?;
    if let Some((word, message, hint)) = bus::refusal(result) {
        app.note(&format!("{word}: {message}"));
        if let Some(hint) = hint {
            app.note(&format!("hint: {hint}"));
        }
    }
    Ok(())
}

/// Finds who acts through the command line.
pub(crate) fn find(app: &App, options: &Options<'_>) -> Result<Actor, Failure> {
    let room = if app.json { Room::output(json_units) } else { Room::output(bus::units) };
    Ok(Actor::find(&app.environment(), options, Surface::CommandLine { room })?)
}

/// What a message takes of an output with `--json`, with the comma behind it.
fn json_units(message: &MessageView) -> usize {
    let text = serde_json::to_string(message).unwrap_or_default();
    units(&sanitise::escape_json(&text)) + 1
}
