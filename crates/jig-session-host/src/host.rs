//! The host's loop: greets the bridge, hands each line to the part that it concerns, and asks each part when it is due.

use std::time::Duration;

use jig_session_agents::pi::{AskIdle, Bridge, Effects};
use jig_session_liveness::Machine;
use jig_session_publish::log::Log;
use jig_session_publish::serve::{self, End, Flow, Line, Service};
use jig_session_publish::{Mode, Now, Publisher, setup};
use jig_session_requests::RequestHandler;
use jig_session_schema::bridge::{self, Hello, Prompt, ToHost};
use jig_session_schema::event::Event;
use jig_session_schema::limits;
use jig_session_schema::places::{Environment, Places};
use jig_session_schema::status::{AgentName, State};
use serde_json::json;

use crate::commands::commands;
use crate::context_panel::ContextPanel;
use crate::link::{Link, Pending};
use crate::quiet::QuietPrompts;
use crate::sessions_panel::OpenEyes;
use crate::switches::SwitchState;
use crate::{Error, bus, king};

/// Pi handles the terminal's signals itself; the host ends when its input does. A host that gets SIGTERM leaves the
/// session's file to the host that the bridge starts next.
const OPTIONS: serve::Options = serve::Options {
    ends: &[signal_hook::consts::SIGTERM],
    ignored: &[signal_hook::consts::SIGINT, signal_hook::consts::SIGHUP],
    longest: limits::LINE_BYTES,
};
/// The pause before Pi is asked once more whether it is idle.
const SOON: Duration = Duration::from_millis(200);

/// Serves Pi's bridge on stdio until it ends. `eyes` opens what the panel of `/sessions` looks with.
///
/// # Errors
/// When stdio or the bus fails in a way that leaves no session to serve. The session's file is closed all the same.
pub fn run(environment: &Environment, eyes: OpenEyes) -> Result<(), Error> {
    let mut host = Host::new(environment, eyes);
    let end = serve::run(&mut host, &OPTIONS);
    host.end(matches!(end, Ok(End::Signal(_))));
    end.map(|_| ())
}

/// How far the start of the session has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The bridge has not said hello.
    Silent,
    /// The session is published; its entries were asked for.
    Greeted,
    /// The session's switches are known and are being applied again.
    Restoring,
    /// Requests are carried out.
    Ready,
    /// Nothing is published: a child of another session, or a bridge that speaks another protocol.
    Mute,
    /// The session has ended.
    Over,
}

/// The host of one Pi session.
pub(crate) struct Host {
    pub(crate) link: Link,
    pub(crate) bridge: Bridge,
    pub(crate) publisher: Publisher,
    pub(crate) requests: RequestHandler,
    pub(crate) switches: SwitchState,
    pub(crate) stage: Stage,
    /// `tui`, `rpc`, `json` or `print`.
    pub(crate) mode: String,
    pub(crate) panel: Option<ContextPanel>,
    /// Prompts that wait until the switches are known.
    prompts: Vec<Prompt>,
    pub(crate) bus: bus::Bus,
    king: king::King,
    pub(crate) quiet: QuietPrompts,
    /// The monotonic time at which Pi is asked once more whether it is idle.
    ask_idle: Option<Duration>,
    pub(crate) log: Log,
}

impl Host {
    fn new(environment: &Environment, eyes: OpenEyes) -> Self {
        let places = Places::of(environment);
        let requests = RequestHandler::new(places.requests.clone(), Box::new(Machine::new()));
        let log = Log::new(&places, "host");
        let king = king::King::of(environment, &places);
        let bus = bus::Bus::of(environment, &places, eyes);
        Self {
            link: Link::new(),
            bridge: Bridge::new(),
            publisher: setup::publisher(environment, AgentName::PI, Mode::Lasting),
            requests,
            switches: SwitchState::default(),
            stage: Stage::Silent,
            mode: String::new(),
            panel: None,
            prompts: Vec::new(),
            bus,
            king,
            quiet: QuietPrompts::default(),
            ask_idle: None,
            log,
        }
    }

    /// Pi has ended, or this process was terminated.
    fn end(&mut self, keep: bool) {
        if !self.is_mute() {
            self.leave(keep, Now::read());
        }
        self.log_notes();
    }

    fn leave(&mut self, keep: bool, now: Now) {
        self.stage = Stage::Over;
        self.requests.close(keep);
        self.bus.leave(keep);
        self.king.leave(keep, now);
        self.publisher.close(keep, now);
    }

    /// Errors go to the log: Pi's output belongs to its user.
    fn log_notes(&mut self) {
        for note in self.publisher.notes().into_iter().chain(self.requests.notes()).chain(self.king.notes()) {
            self.log.write("io", &note);
        }
    }

    fn handle(&mut self, line: &ToHost, now: Now) -> Result<(), Error> {
        if let ToHost::Hello(hello) = line {
            return self.hello(hello, line, now);
        }
        if self.is_mute() {
            // The bridge may have registered the commands before it knew.
            return if let ToHost::Command(command) = line { self.command_when_mute(command) } else { Ok(()) };
        }
        match line {
            ToHost::Prompt(prompt) if prompt.waits == Some(false) => {
                self.bus.prompted(prompt);
                self.publish(line, now)
            }
            ToHost::Prompt(prompt) => {
                // Pi waits for this answer: it comes first.
                self.prompts.push(prompt.clone());
                self.answer_prompts()?;
                self.publish(line, now)
            }
            ToHost::Guard(question) => {
                let deny = self.bus.guard(question);
                self.link.result(&question.id, json!({ "deny": deny }))
            }
            ToHost::Tool(call) => self.bus.tool(call, &mut self.link),
            // By now the call has been carried out; its answer follows as usual.
            ToHost::Cancel(_) => Ok(()),
            ToHost::Command(command) => self.command(command),
            ToHost::Key(key) => self.key(key),
            ToHost::Return(outcome) => self.returned(outcome, now),
            ToHost::Entries(page) => {
                self.publish(line, now)?;
                if let Some((received, total)) = self.bridge.missing() {
                    self.forget_usage(&format!("{received} of {total} entries of the session were received"));
                }
                // A bridge that states the total sends the switches with the first page: prompts and requests need not
                // wait for the rest.
                let knows_switches = !page.more || page.total.is_some();
                if knows_switches && self.stage == Stage::Greeted { self.restore() } else { Ok(()) }
            }
            ToHost::Lost(lost) => {
                self.publish(line, now)?;
                self.forget_usage(&format!("{} lines of the bridge were lost", lost.lines));
                self.link.entries()
            }
            ToHost::Bye(bye) => {
                self.publish(line, now)?;
                self.leave(bye.reason.as_deref() == Some("reload"), now);
                Ok(())
            }
            ToHost::Event(event) => {
                if event.event == "agent_settled" {
                    // The run may have changed anything, the bus included.
                    self.quiet.look_again();
                }
                self.publish(line, now)?;
                self.bus.event(event);
                Ok(())
            }
            _ => self.publish(line, now),
        }
    }

    fn hello(&mut self, hello: &Hello, line: &ToHost, now: Now) -> Result<(), Error> {
        self.mode = hello.mode.clone().unwrap_or_else(|| "print".to_owned());
        if hello.protocol != bridge::PROTOCOL {
            return self.refuse(&format!("the bridge speaks protocol {}", hello.protocol));
        }
        self.stage = Stage::Greeted;
        self.publish(line, now)?;
        if self.publisher.path().is_none() {
            // The child of another session: that session shows the terminal both run in.
            self.stage = Stage::Mute;
            return self.link.ready(Vec::new(), Vec::new(), false, Vec::new());
        }
        if let Some(detail) = self.publisher.status().and_then(|status| status.context_detail.as_ref()) {
            self.bridge.kept(detail);
        }
        self.king.began(hello, self.publisher.status(), now);
        self.bus.began(hello, self.publisher.status(), now);
        self.link.ready(self.bus.tools(), commands(), self.bus.guards(), self.king.wants())?;
        // Pi's start waits for `ready`, and must not wait for the disk.
        self.publisher.flush(now);
        self.link.entries()
    }

    /// Answers a bridge that this host cannot serve, so that Pi's start does not wait any longer.
    fn refuse(&mut self, why: &str) -> Result<(), Error> {
        self.log.write("unsupported", why);
        self.stage = Stage::Mute;
        self.link.ready(Vec::new(), Vec::new(), false, Vec::new())
    }

    /// Publishes what a line reports.
    fn publish(&mut self, line: &ToHost, now: Now) -> Result<(), Error> {
        let effects = self.bridge.line(line);
        self.king.line(line, now);
        self.apply(effects, now)
    }

    /// Feeds events to the publisher, and asks Pi whether it is idle where that decides the state.
    pub(crate) fn apply(&mut self, effects: Effects, now: Now) -> Result<(), Error> {
        for event in &effects.events {
            if !matches!(event, Event::End(_))
                && let Err(refused) = self.publisher.feed(event, now)
            {
                self.log.write("usage", &refused.to_string());
            }
        }
        match effects.ask_idle {
            Some(AskIdle::Now) => self.link.call("ctx.isIdle", Vec::new(), Pending::Idle),
            Some(AskIdle::Soon) => {
                self.ask_idle = Some(now.mono + SOON);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Lines were lost, so the usage is incomplete: a part of it must not be published as the whole.
    fn forget_usage(&mut self, why: &str) {
        self.publisher.forget_usage();
        let session = self.bridge.session();
        self.log.write(
            "lost",
            &format!("{why}: the usage of session {session} is unknown until it has been counted again"),
        );
    }

    /// Answers prompts once the switches are known; until then they wait, at most as long as the bridge does.
    pub(crate) fn answer_prompts(&mut self) -> Result<(), Error> {
        if self.stage != Stage::Ready {
            return Ok(());
        }
        for prompt in std::mem::take(&mut self.prompts) {
            let mut answer = json!({ "hidden": self.switches.hidden() });
            if let Some(message) = self.bus.before_prompt(&prompt) {
                answer["message"] = message;
            }
            let read = self.bus.read_mail();
            if !read.is_empty() {
                answer["read"] = json!(read);
            }
            self.link.result(&prompt.id, answer)?;
        }
        Ok(())
    }

    /// Whether nothing is published of this session, or not any more.
    fn is_mute(&self) -> bool {
        matches!(self.stage, Stage::Silent | Stage::Mute | Stage::Over)
    }
}

impl Service for Host {
    type Error = Error;

    fn line(&mut self, _number: u64, line: Line<'_>, now: Now) -> Result<Flow, Error> {
        let Line::Bytes(bytes) = line else {
            self.log.write("usage", "a line of the bridge is too long and was dropped");
            return Ok(Flow::Go);
        };
        match ToHost::read(bytes) {
            Ok(line) => self.handle(&line.value, now)?,
            // Before its hello is answered, the bridge waits.
            Err(error) if self.stage == Stage::Silent => {
                self.refuse(&format!("the bridge's first line cannot be read: {error}"))?;
            }
            // A line of a newer bridge: this host has no use for it.
            Err(_) => {}
        }
        Ok(if self.stage == Stage::Over { Flow::Stop } else { Flow::Go })
    }

    fn tick(&mut self, now: Now) -> Result<Flow, Error> {
        if self.is_mute() {
            return Ok(Flow::Go);
        }
        if self.ask_idle.is_some_and(|at| now.mono >= at) {
            self.ask_idle = None;
            self.link.call("ctx.isIdle", Vec::new(), Pending::Idle)?;
        }
        if self.stage == Stage::Ready {
            for order in self.requests.tick(&mut self.publisher, now) {
                self.order(order)?;
            }
        }
        self.publisher.tick(now);
        let idle = self.publisher.status().is_some_and(|status| status.state == State::Idle);
        self.bus.tick(idle, &mut self.link, now)?;
        if self.bus.has_looked() && !self.quiet.holds(now.wall.epoch_ms()) {
            self.quiet.look_again();
        }
        if self.stage == Stage::Ready
            && self.quiet.is_due(idle, now.mono)
            && let Some(files) = self.quiet.update(self.bus.quiet(), now.mono)
        {
            self.link.quiet(files)?;
        }
        self.king.tick(self.publisher.status(), now);
        self.log_notes();
        Ok(Flow::Go)
    }

    fn deadline(&self) -> Option<Duration> {
        if self.is_mute() {
            return None;
        }
        let requests = self.requests.deadline().filter(|_| self.stage == Stage::Ready);
        let quiet = self.quiet.deadline();
        let all =
            [self.publisher.deadline(), requests, self.ask_idle, self.bus.deadline(), self.king.deadline(), quiet];
        all.into_iter().flatten().min()
    }

    fn wakes(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        self.requests.wakes().filter(|_| self.stage == Stage::Ready)
    }
}
