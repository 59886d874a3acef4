//! `jig-session host`: the other end of Pi's bridge. One process a session, started by the bridge, over its stdio.
//!
//! Lines of Pi become events for the publisher; requests become calls of Pi's own functions. It ends when Pi ends,
//! however that happens, because its input ends then.

use std::time::Duration;

use jig_session_agents::pi::{AskIdle, Bridge, Told};
use jig_session_liveness::Machine;
use jig_session_publish::log::Log;
use jig_session_publish::serve::{self, End, Flow, Line, Service};
use jig_session_publish::{Mode, Now, Publisher, setup};
use jig_session_requests::RequestHandler;
use jig_session_schema::bridge::{self, CommandCall, CommandDefinition, Hello, Key, Prompt, Return, ToHost};
use jig_session_schema::event::Event;
use jig_session_schema::limits;
use jig_session_schema::places::{Environment, Places};
use jig_session_schema::request::Order;
use jig_session_schema::status::{AgentName, State};
use serde_json::{Value, json};

use crate::link::{Link, Then};
use crate::panel::ContextPanel;
use crate::quiet::Quiet;
use crate::switches::{Kept, Switching};
use crate::{Error, bus, king, show};

/// Signals of the terminal are Pi's to answer; the host ends with its input. A terminated host leaves its file to
/// the one that the bridge starts next.
const OPTIONS: serve::Options = serve::Options {
    ends: &[signal_hook::consts::SIGTERM],
    ignored: &[signal_hook::consts::SIGINT, signal_hook::consts::SIGHUP],
    longest: limits::LINE_BYTES,
};
/// The pause before Pi is asked again whether it is idle.
const SOON: Duration = Duration::from_millis(200);

/// What a user can type in Pi.
const COMMANDS: &[(&str, &str)] = &[
    ("context", "Show what fills the context"),
    ("session-file", "Say where this session's status file is, and the terminal it names"),
    ("session-reload", "Reload Pi once it is idle"),
    ("sessions", "Show who is on this repository's session bus, your mail and all claims"),
    ("team", "team join [LABEL]: put this session on the repository's session bus"),
];

/// The commands to register.
pub fn commands() -> Vec<CommandDefinition> {
    let of = |(name, about): &(&str, &str)| CommandDefinition::new().name((*name).into()).description((*about).into());
    COMMANDS.iter().map(of).collect()
}

/// Serves Pi's bridge on stdio until it ends.
///
/// # Errors
/// When stdio or the bus fails in a way that leaves no session to serve. The session's file is closed all the same.
pub fn run(environment: &Environment) -> Result<(), Error> {
    let mut host = Host::new(environment);
    let end = serve::run(&mut host, &OPTIONS);
    host.end(matches!(end, Ok(End::Signal(_))));
    end.map(|_| ())
}

/// How far the greeting is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing has been said.
    Silent,
    /// The session is published; its entries are on their way.
    Greeted,
    /// Its entries are known; what was switched in it is being switched again.
    Restoring,
    /// Requests can be taken.
    Ready,
    /// Nothing is wanted of this session: a child, or a bridge of another protocol.
    Mute,
    /// The session has ended.
    Over,
}

/// The host of one Pi session.
struct Host {
    link: Link,
    bridge: Bridge,
    publisher: Publisher,
    requests: RequestHandler,
    kept: Kept,
    stage: Stage,
    /// `tui`, `rpc`, `json` or `print`.
    mode: String,
    panel: Option<ContextPanel>,
    /// Prompts that wait for the switches to be known.
    prompts: Vec<Prompt>,
    bus: bus::Bus,
    king: king::King,
    quiet: Quiet,
    /// When Pi is asked again whether it is idle.
    ask_idle: Option<Duration>,
    log: Log,
}

impl Host {
    fn new(environment: &Environment) -> Self {
        let places = Places::of(environment);
        let requests = RequestHandler::new(places.requests.clone(), Box::new(Machine::new()));
        let log = Log::new(&places, "host");
        let king = king::King::of(environment, &places);
        let bus = bus::Bus::of(environment, &places);
        Self {
            link: Link::new(),
            bridge: Bridge::new(),
            publisher: setup::publisher(environment, AgentName::PI, Mode::Lasting),
            requests,
            kept: Kept::default(),
            stage: Stage::Silent,
            mode: String::new(),
            panel: None,
            prompts: Vec::new(),
            bus,
            king,
            quiet: Quiet::default(),
            ask_idle: None,
            log,
        }
    }

    /// Pi is gone, or this process is to go.
    fn end(&mut self, keep: bool) {
        if !self.is_unwanted() {
            self.leave(keep, Now::read());
        }
        self.note();
    }

    fn leave(&mut self, keep: bool, now: Now) {
        self.stage = Stage::Over;
        self.requests.close(keep);
        self.bus.leave(keep, now);
        self.king.leave(keep, now);
        self.publisher.close(keep, now);
    }

    /// What went wrong goes to the log: Pi's own output is its user's.
    fn note(&mut self) {
        for note in self.publisher.notes().into_iter().chain(self.requests.notes()).chain(self.king.notes()) {
            self.log.write("io", &note);
        }
    }

    fn take(&mut self, line: &ToHost, now: Now) -> Result<(), Error> {
        if let ToHost::Hello(hello) = line {
            return self.hello(hello, line, now);
        }
        if self.is_unwanted() {
            // The bridge may have offered the commands before it knew.
            return if let ToHost::Command(command) = line { self.mute(command) } else { Ok(()) };
        }
        match line {
            ToHost::Prompt(prompt) if prompt.waits == Some(false) => {
                self.bus.prompted(prompt);
                self.tell(line, now)
            }
            ToHost::Prompt(prompt) => {
                // Pi waits for the answer, and for nothing else.
                self.prompts.push(prompt.clone());
                self.answer_prompts()?;
                self.tell(line, now)
            }
            ToHost::Guard(question) => {
                let deny = self.bus.guard(question);
                self.link.result(&question.id, json!({ "deny": deny }))
            }
            ToHost::Tool(call) => self.bus.tool(call, &mut self.link),
            // A call was broken off: what was to be done is done by then, so its answer is left to come.
            ToHost::Cancel(_) => Ok(()),
            ToHost::Command(command) => self.command(command),
            ToHost::Key(key) => self.key(key),
            ToHost::Return(outcome) => self.returned(outcome, now),
            ToHost::Entries(page) => {
                self.tell(line, now)?;
                if let Some((come, total)) = self.bridge.missing() {
                    self.uncounted(&format!("{come} of {total} entries of the session came"));
                }
                // A bridge that says how many there are brings the switches with the first of them: prompts and requests
                // need not wait for the rest.
                let knows_switches = !page.more || page.total.is_some();
                if knows_switches && self.stage == Stage::Greeted { self.restore() } else { Ok(()) }
            }
            ToHost::Lost(lost) => {
                self.tell(line, now)?;
                self.uncounted(&format!("{} lines of the bridge did not come", lost.lines));
                self.link.entries()
            }
            ToHost::Bye(bye) => {
                self.tell(line, now)?;
                self.leave(bye.reason.as_deref() == Some("reload"), now);
                Ok(())
            }
            ToHost::Event(event) => {
                if event.event == "agent_settled" {
                    // A run does what it likes, also with the bus.
                    self.quiet.ask_again();
                }
                self.tell(line, now)?;
                self.bus.event(event);
                Ok(())
            }
            _ => self.tell(line, now),
        }
    }

    fn hello(&mut self, hello: &Hello, line: &ToHost, now: Now) -> Result<(), Error> {
        self.mode = hello.mode.clone().unwrap_or_else(|| "print".to_owned());
        if hello.protocol != bridge::PROTOCOL {
            return self.refuse(&format!("the bridge speaks protocol {}", hello.protocol));
        }
        self.stage = Stage::Greeted;
        self.tell(line, now)?;
        if self.publisher.path().is_none() {
            // A child of another session: it runs in that one's terminal and is that one's to show.
            self.stage = Stage::Mute;
            return self.link.ready(Vec::new(), Vec::new(), false, Vec::new());
        }
        if let Some(detail) = self.publisher.status().and_then(|status| status.context_detail.as_ref()) {
            self.bridge.kept(detail);
        }
        self.king.began(hello, self.publisher.status(), now);
        self.bus.began(hello, self.publisher.status(), now);
        self.link.ready(self.bus.tools(), commands(), self.bus.guards(), self.king.wants())?;
        // Pi's start waits for that answer, not for the disk.
        self.publisher.flush(now);
        self.link.entries()
    }

    /// Answers a bridge that this host cannot serve, so that Pi's start does not wait for more.
    fn refuse(&mut self, why: &str) -> Result<(), Error> {
        self.log.write("unsupported", why);
        self.stage = Stage::Mute;
        self.link.ready(Vec::new(), Vec::new(), false, Vec::new())
    }

    /// Turns a line into events and feeds them.
    fn tell(&mut self, line: &ToHost, now: Now) -> Result<(), Error> {
        let told = self.bridge.line(line);
        self.king.line(line, now);
        self.feed(told, now)
    }

    fn feed(&mut self, told: Told, now: Now) -> Result<(), Error> {
        for event in &told.events {
            if !matches!(event, Event::End(_))
                && let Err(refused) = self.publisher.feed(event, now)
            {
                self.log.write("usage", &refused.to_string());
            }
        }
        match told.ask_idle {
            Some(AskIdle::Now) => self.link.call("ctx.isIdle", Vec::new(), Then::Idle),
            Some(AskIdle::Soon) => {
                self.ask_idle = Some(now.mono + SOON);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// What was used is not known any more: a part would look like the whole.
    fn uncounted(&mut self, why: &str) {
        self.publisher.forget_usage();
        let session = self.bridge.session();
        self.log.write("lost", &format!("{why}: what session {session} used is unknown until all is counted anew"));
    }

    /// After a start, a reload or a resume: what was switched in this session is switched again.
    fn restore(&mut self) -> Result<(), Error> {
        if let Some(kept) = self.bridge.switches() {
            self.kept = Kept::of(kept);
        }
        if self.kept.is_empty() {
            return self.restored();
        }
        self.stage = Stage::Restoring;
        let again = self.kept.again();
        self.switch(again)
    }

    fn restored(&mut self) -> Result<(), Error> {
        self.stage = Stage::Ready;
        // The host before this one may have told of a set that was never stored, or have died before it told of one.
        self.link.skills(self.kept.hidden())?;
        self.quiet.ask_again();
        self.answer_prompts()
    }

    /// A prompt that comes before the switches are known waits for them, as long as the bridge waits.
    fn answer_prompts(&mut self) -> Result<(), Error> {
        if self.stage != Stage::Ready {
            return Ok(());
        }
        for prompt in std::mem::take(&mut self.prompts) {
            let mut answer = json!({ "hidden": self.kept.hidden() });
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

    /// Nothing of this session is wanted, or not any more.
    fn is_unwanted(&self) -> bool {
        matches!(self.stage, Stage::Silent | Stage::Mute | Stage::Over)
    }

    fn order(&mut self, order: Order) -> Result<(), Error> {
        match order {
            Order::Switch(order) => self.switch(Switching::asked(order.id, order.tools, order.skills)),
            // Pi runs the command as if the user had typed it; only a command can reload.
            Order::Reload(_) => self.link.call(
                "pi.sendUserMessage",
                vec![json!("/session-reload"), json!({ "expandPromptTemplates": true })],
                Then::Nothing,
            ),
            _ => Ok(()),
        }
    }

    fn switch(&mut self, switching: Switching) -> Result<(), Error> {
        self.link.call("pi.getActiveTools", Vec::new(), Then::Active(switching))
    }

    fn returned(&mut self, outcome: &Return, now: Now) -> Result<(), Error> {
        let Some(then) = self.link.returned(&outcome.id) else { return Ok(()) };
        let result = &outcome.result;
        let error = outcome.error.as_deref();
        match then {
            Then::Nothing => Ok(()),
            Then::Idle => {
                let told = self.bridge.idle(result.as_bool().filter(|_| error.is_none()));
                self.feed(told, now)
            }
            Then::Active(switching) => match error {
                Some(why) => self.switched(&switching, Err(why.to_owned()), now),
                None => self.set_active(switching, names(result), now),
            },
            Then::Set(switching) => match error {
                Some(why) => self.switched(&switching, Err(why.to_owned()), now),
                None => self.link.call("pi.getActiveTools", Vec::new(), Then::Verify(switching)),
            },
            Then::Verify(switching) => self.verify(switching, &names(result), now),
            Then::Stored(switching) => {
                let outcome = error.map_or(Ok(()), |why| Err(why.to_owned()));
                self.switched(&switching, outcome, now)
            }
        }
    }

    fn set_active(&mut self, switching: Switching, active: Vec<String>, now: Now) -> Result<(), Error> {
        match self.kept.wanted(&switching, &active) {
            Some(wanted) => self.link.call("pi.setActiveTools", vec![json!(wanted)], Then::Set(switching)),
            None => self.verify(switching, &active, now),
        }
    }

    /// Pi's own list says what was done; the skills are ours to leave out.
    fn verify(&mut self, switching: Switching, active: &[String], now: Now) -> Result<(), Error> {
        if let Err(why) = switching.holds_in(active) {
            return self.switched(&switching, Err(why), now);
        }
        self.kept.take(&switching);
        let hidden = self.kept.hidden();
        for event in self.bridge.switched(active, &hidden) {
            let _ = self.publisher.feed(&event, now);
        }
        self.link.skills(hidden)?;
        if switching.request().is_none() {
            return self.switched(&switching, Ok(()), now);
        }
        let entry = vec![json!(jig_session_schema::request::SWITCHES_ENTRY), json!(self.kept.entry())];
        self.link.call("pi.appendEntry", entry, Then::Stored(switching))
    }

    fn switched(&mut self, switching: &Switching, outcome: Result<(), String>, now: Now) -> Result<(), Error> {
        match switching.request() {
            Some(id) => self.requests.applied(id, outcome, &mut self.publisher, now),
            None => {
                if let Err(why) = outcome {
                    self.log.write("io", &format!("the session's switches were not applied again: {why}"));
                }
                return self.restored();
            }
        }
        Ok(())
    }

    /// A command in a session that nothing is shown of.
    fn mute(&mut self, command: &CommandCall) -> Result<(), Error> {
        let text = "jig-session shows nothing of this session: it is another one's child, or its bridge is outdated";
        show::text(&mut self.link, &self.mode, &command.id, text.to_owned())
    }

    fn command(&mut self, command: &CommandCall) -> Result<(), Error> {
        match command.name.as_str() {
            "session-reload" => self.link.reload(&command.id),
            "session-file" => {
                let text = show::session_file(&self.publisher);
                show::text(&mut self.link, &self.mode, &command.id, text)
            }
            "context" if self.mode == "tui" => {
                let mut panel = ContextPanel::new(self.publisher.status());
                self.link.panel(panel.lines())?;
                self.panel = Some(panel);
                self.link.done(&command.id, None)
            }
            "context" => {
                let lines = show::context(self.publisher.status(), show::WIDTH, false);
                show::text(&mut self.link, &self.mode, &command.id, lines.join("\n"))
            }
            _ => self.bus.command(command, &mut self.link),
        }
    }

    fn key(&mut self, key: &Key) -> Result<(), Error> {
        let Some(panel) = &mut self.panel else { return self.bus.key(key, &mut self.link) };
        if key.closed == Some(true) {
            self.panel = None;
            return Ok(());
        }
        if panel.key(key) {
            let lines = panel.lines();
            return self.link.panel(lines);
        }
        self.panel = None;
        self.link.close_panel()
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
            Ok(line) => self.take(&line.value, now)?,
            // A bridge that cannot even greet waits for an answer.
            Err(error) if self.stage == Stage::Silent => {
                self.refuse(&format!("the bridge's first line is not known here: {error}"))?;
            }
            // A line that is not known is not for us.
            Err(_) => {}
        }
        Ok(if self.stage == Stage::Over { Flow::Stop } else { Flow::Go })
    }

    fn tick(&mut self, now: Now) -> Result<Flow, Error> {
        if self.is_unwanted() {
            return Ok(Flow::Go);
        }
        if self.ask_idle.is_some_and(|at| now.mono >= at) {
            self.ask_idle = None;
            self.link.call("ctx.isIdle", Vec::new(), Then::Idle)?;
        }
        if self.stage == Stage::Ready {
            for order in self.requests.tick(&mut self.publisher, now) {
                self.order(order)?;
            }
        }
        self.publisher.tick(now);
        let idle = self.publisher.status().is_some_and(|status| status.state == State::Idle);
        self.bus.tick(idle, self.publisher.status(), &mut self.link, now)?;
        if self.bus.has_looked() && !self.quiet.holds(now.wall.epoch_ms()) {
            self.quiet.ask_again();
        }
        if self.stage == Stage::Ready
            && self.quiet.is_due(idle, now.mono)
            && let Some(files) = self.quiet.news(self.bus.quiet(), now.mono)
        {
            self.link.quiet(files)?;
        }
        self.king.tick(self.publisher.status(), now);
        self.note();
        Ok(Flow::Go)
    }

    fn deadline(&self) -> Option<Duration> {
        if self.is_unwanted() {
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

/// The names in a list of Pi's.
fn names(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
