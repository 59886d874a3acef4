//! `jig-session publish`: one JSON object a line on stdin, one status file out.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use jig_session_publish::{Mode, Now, Publisher};
use jig_session_schema::event::Event;
use jig_session_schema::limits;
use jig_session_schema::read::ReadError;
use jig_session_schema::status::AgentName;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::app::App;
use crate::clock;
use crate::failure::{Code, Exit, Failure, Outcome};
use crate::serve::{self, End, Flow, Line, Options, Service};
use crate::setup;

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
    let mut service = Publish { app, publisher: setup::publisher(app, agent, Mode::Lasting) };
    let ended = serve::run(&mut service, &OPTIONS);
    service.publisher.close(false, clock::now());
    service.tell();
    match ended? {
        End::Input | End::Service | End::Signal(_) => Ok(Exit::OK),
    }
}

/// The service: events go to the publisher, what a person should hear goes to stderr.
struct Publish<'a> {
    app: &'a App,
    publisher: Publisher,
}

impl Publish<'_> {
    /// What is said about the file. The feeder is never disturbed by it: it may not even read our stderr.
    fn tell(&mut self) {
        for note in self.publisher.notes() {
            self.app.note(&format!("jig-session: {note}"));
        }
    }

    fn bad(&self, number: u64, why: &str) {
        self.app.note(&format!("jig-session: line {number}: {why}"));
    }

    fn event(&mut self, event: &Event, now: Now) -> Result<(), String> {
        self.publisher.feed(event, now).map_err(|refused| refused.to_string())
    }
}

impl Service for Publish<'_> {
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
        self.publisher.tick(now);
        self.tell();
        Ok(Flow::Go)
    }

    fn deadline(&self) -> Option<Duration> {
        self.publisher.deadline()
    }

    fn wakes(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}
