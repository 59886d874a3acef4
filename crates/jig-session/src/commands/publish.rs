//! `jig-session publish`: one JSON object a line on stdin, one status file out, accepted requests on stdout.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use jig_session_liveness::Machine;
use jig_session_publish::serve::{self, Flow, Line, Options, Service};
use jig_session_publish::{Mode, Now, Publisher, setup};
use jig_session_requests::RequestHandler;
use jig_session_schema::event::{AppliedEvent, Event};
use jig_session_schema::limits;
use jig_session_schema::read::ReadError;
use jig_session_schema::request::Order;
use jig_session_schema::status::AgentName;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::app::App;
use crate::failure::{Code, Exit, Failure, Outcome};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The agent whose session is published, such as claude, or any name of yours
    #[arg(long, value_name = "NAME")]
    agent: String,
}

const OPTIONS: Options = Options { ends: &[SIGTERM, SIGHUP, SIGINT], ignored: &[], longest: limits::LINE_BYTES };

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    let agent = Some(args.agent.clone()).filter(|name| !name.is_empty()).and_then(AgentName::new);
    let agent = agent.ok_or_else(|| {
        Failure::new(Code::Usage, "the agent's name is empty or longer than 128 characters")
            .hint("name it: --agent claude")
    })?;
    let places = app.places();
    let requests = RequestHandler::new(places.requests, Box::new(Machine::new()));
    let mut service = Publish { app, publisher: setup::publisher(&app.environment(), agent, Mode::Lasting), requests };
    let ended = serve::run(&mut service, &OPTIONS);
    // However it ended, the session is over.
    service.close(false, Now::read());
    service.tell();
    ended.map(|_| Exit::OK)
}

/// The service: events go to the publisher, requests to their handler, what a person should hear to stderr.
struct Publish<'a> {
    app: &'a App,
    publisher: Publisher,
    requests: RequestHandler,
}

impl Publish<'_> {
    /// What is said about the files.
    fn tell(&mut self) {
        for note in self.publisher.notes().into_iter().chain(self.requests.notes()) {
            self.say(&note);
        }
    }

    fn bad(&self, number: u64, why: &str) {
        self.say(&format!("line {number}: {why}"));
    }

    /// The feeder is never disturbed by what is said: one that does not read our stderr does not hear it.
    fn say(&self, text: &str) {
        if has_room(rustix::stdio::stderr()) {
            self.app.note(&format!("jig-session: {text}"));
        }
    }

    fn close(&mut self, keep: bool, now: Now) {
        self.requests.close(keep);
        self.publisher.close(keep, now);
    }

    fn event(&mut self, event: &Event, now: Now) -> Result<(), String> {
        match event {
            Event::Applied(applied) => self.applied(applied, now),
            Event::End(end) if self.publisher.status().is_some() => self.requests.close(end.keep == Some(true)),
            _ => {}
        }
        self.publisher.feed(event, now).map_err(|refused| refused.to_string())
    }

    fn applied(&mut self, applied: &AppliedEvent, now: Now) {
        let why = || applied.message.clone().unwrap_or_else(|| "the agent did not say why".into());
        let outcome = if applied.ok { Ok(()) } else { Err(why()) };
        self.requests.applied(&applied.id, outcome, &mut self.publisher, now);
    }

    /// Hands an accepted request to the feeder. One that does not read its requests gets none: waiting for it would
    /// hold up the session's own events. The switch is then answered as not done, when its time is over.
    fn order(&self, order: &Order) {
        if !has_room(rustix::stdio::stdout()) || self.app.print_json(order).is_err() {
            self.say("a request was accepted and nobody reads stdout");
        }
    }
}

/// Whether a line can be written without waiting for its reader.
fn has_room(stream: BorrowedFd<'_>) -> bool {
    let mut stream = [PollFd::from_borrowed_fd(stream, PollFlags::OUT)];
    poll(&mut stream, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}

impl Service for Publish<'_> {
    type Error = Failure;

    fn line(&mut self, number: u64, line: Line<'_>, now: Now) -> Result<Flow, Failure> {
        let Line::Bytes(bytes) = line else {
            self.bad(number, &format!("longer than {} bytes", limits::LINE_BYTES));
            return Ok(Flow::Go);
        };
        match Event::read(bytes) {
            // A blank line is no event, and no mistake either.
            Err(ReadError::Empty) => {}
            Err(error) => self.bad(number, &error.to_string()),
            Ok(read) => {
                for problem in &read.problems {
                    self.bad(number, &problem.to_string());
                }
                if let Err(why) = self.event(&read.value, now) {
                    self.bad(number, &why);
                }
            }
        }
        Ok(Flow::Go)
    }

    fn tick(&mut self, now: Now) -> Result<Flow, Failure> {
        for order in self.requests.tick(&mut self.publisher, now) {
            self.order(&order);
        }
        self.publisher.tick(now);
        self.tell();
        Ok(Flow::Go)
    }

    fn deadline(&self) -> Option<Duration> {
        [self.publisher.deadline(), self.requests.deadline()].into_iter().flatten().min()
    }

    fn wakes(&self) -> Option<BorrowedFd<'_>> {
        self.requests.wakes()
    }
}
