//! `jig-session host`: the other end of Pi's bridge. One process a session, started by the bridge, over its stdio.
//!
//! Lines of Pi become events for the publisher; requests become calls of Pi's own functions. It ends when Pi ends,
//! however that happens, because its input ends then.

mod board;
mod bus;
mod king;
mod link;
mod panel;
mod quiet;
mod show;
mod switches;

use std::time::Duration;

use jig_session_agents::pi::{AskIdle, Bridge, Told};
use jig_session_liveness::Machine;
use jig_session_publish::{Mode, Now, Publisher};
use jig_session_schema::bridge::{self, CommandDefinition};
use jig_session_schema::event::Event;
use jig_session_schema::limits;
use jig_session_schema::places::{Environment, Places};
use jig_session_schema::request::Order;
use jig_session_schema::status::{AgentName, State};
use serde_json::{Value, json};

use crate::app::App;
use crate::clerk::Clerk;
use crate::failure::{Exit, Failure, Outcome};
use crate::log::Log;
use crate::serve::{self, End, Flow, Line, Service};
use crate::setup;

use link::{Link, Then};
use panel::ContextPanel;
use quiet::Quiet;
use switches::{Kept, Switching};

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
pub(crate) fn commands() -> Vec<CommandDefinition> {
    let of = |(name, about): &(&str, &str)| CommandDefinition::new().name((*name).into()).description((*about).into());
    COMMANDS.iter().map(of).collect()
}

#[derive(clap::Args, Debug)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args, app: &App) -> Outcome {
    let mut host = Host::new(app);
    let end = serve::run(&mut host, &OPTIONS);
    host.end(matches!(end, Ok(End::Signal(_))));
    end.map(|_| Exit::OK)
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
    clerk: Clerk,
    kept: Kept,
    stage: Stage,
    /// `tui`, `rpc`, `json` or `print`.
    mode: String,
    panel: Option<ContextPanel>,
    /// Prompts that wait for the switches to be known.
    prompts: Vec<Value>,
    bus: bus::Bus,
    king: king::King,
    quiet: Quiet,
    /// When Pi is asked again whether it is idle.
    ask_idle: Option<Duration>,
    log: Log,
}

impl Host {
    fn new(app: &App) -> Self {
        let environment = Environment::new(app.env.iter().cloned());
        let places = Places::of(&environment);
        let clerk = Clerk::new(places.requests.clone(), Box::new(Machine::new()));
        let log = Log::new(&places, "host");
        let king = king::King::of(&environment, &places);
        let bus = bus::Bus::of(&environment, &places);
        Self {
            link: Link::new(),
            bridge: Bridge::new(),
            publisher: setup::publisher(app, AgentName::PI, Mode::Lasting),
            clerk,
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
            self.leave(keep, crate::clock::now());
        }
        self.note();
    }

    fn leave(&mut self, keep: bool, now: Now) {
        self.stage = Stage::Over;
        self.clerk.close(keep);
        self.bus.leave(keep, now);
        self.king.leave(keep, now);
        self.publisher.close(keep, now);
    }

    /// What went wrong goes to the log: Pi's own output is its user's.
    fn note(&mut self) {
        for note in self.publisher.notes().into_iter().chain(self.clerk.notes()).chain(self.king.notes()) {
            self.log.write("io", &note);
        }
    }

    fn take(&mut self, line: &Value, now: Now) -> Result<(), Failure> {
        let kind = line["t"].as_str().unwrap_or_default();
        if kind == "hello" {
            return self.hello(line, now);
        }
        if self.is_unwanted() {
            // The bridge may have offered the commands before it knew.
            return if kind == "command" { self.mute(line) } else { Ok(()) };
        }
        match kind {
            "prompt" if line["waits"] == false => {
                self.bus.prompted(line);
                self.tell(line, now)?;
            }
            "prompt" => {
                // Pi waits for the answer, and for nothing else.
                self.prompts.push(line.clone());
                self.answer_prompts()?;
                self.tell(line, now)?;
            }
            "guard" => {
                let deny = self.bus.guard(line);
                self.link.result(id(line), json!({ "deny": deny }))?;
            }
            "tool" => self.bus.tool(line, &mut self.link)?,
            "cancel" => self.bus.cancel(line, &mut self.link)?,
            "command" => self.command(line)?,
            "key" => self.key(line)?,
            "return" => self.returned(line, now)?,
            "entries" => {
                self.tell(line, now)?;
                if line["more"] != true && self.stage == Stage::Greeted {
                    self.restore()?;
                }
            }
            "bye" => {
                self.tell(line, now)?;
                self.leave(line["reason"] == "reload", now);
            }
            _ => {
                if line["event"].as_str() == Some("agent_settled") {
                    // A run does what it likes, also with the bus.
                    self.quiet.ask_again();
                }
                self.tell(line, now)?;
                self.bus.told(line, &mut self.link)?;
            }
        }
        Ok(())
    }

    fn hello(&mut self, line: &Value, now: Now) -> Result<(), Failure> {
        self.mode = line["mode"].as_str().unwrap_or("print").to_owned();
        if line["protocol"].as_u64() != Some(bridge::PROTOCOL) {
            self.log.write("unsupported", &format!("the bridge speaks protocol {}", line["protocol"]));
            self.stage = Stage::Mute;
            return self.link.ready(Vec::new(), Vec::new(), false, Vec::new());
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
        self.king.began(line, self.publisher.status(), now);
        self.bus.began(line, self.publisher.status(), now);
        self.link.ready(self.bus.tools(), commands(), self.bus.guards(), self.king.wants())?;
        // Pi's start waits for that answer, not for the disk.
        self.publisher.flush(now);
        self.link.entries()
    }

    /// Turns a line into events and feeds them.
    fn tell(&mut self, line: &Value, now: Now) -> Result<(), Failure> {
        let told = self.bridge.line(line);
        self.king.line(line, now);
        self.feed(told, now)
    }

    fn feed(&mut self, told: Told, now: Now) -> Result<(), Failure> {
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

    /// After a start, a reload or a resume: what was switched in this session is switched again.
    fn restore(&mut self) -> Result<(), Failure> {
        if let Some(kept) = self.bridge.switches() {
            self.kept = Kept::read(kept);
        }
        if self.kept.is_empty() {
            return self.restored();
        }
        self.stage = Stage::Restoring;
        let again = self.kept.again();
        self.switch(again)
    }

    fn restored(&mut self) -> Result<(), Failure> {
        self.stage = Stage::Ready;
        // The host before this one may have told of a set that was never stored, or have died before it told of one.
        self.link.skills(self.kept.hidden())?;
        self.quiet.ask_again();
        self.answer_prompts()
    }

    /// A prompt that comes before the switches are known waits for them, as long as the bridge waits.
    fn answer_prompts(&mut self) -> Result<(), Failure> {
        if self.stage != Stage::Ready {
            return Ok(());
        }
        for line in std::mem::take(&mut self.prompts) {
            let mut answer = json!({ "hidden": self.kept.hidden() });
            if let Some(message) = self.bus.before_prompt(&line) {
                answer["message"] = message;
            }
            let read = self.bus.read_mail();
            if !read.is_empty() {
                answer["read"] = json!(read);
            }
            self.link.result(id(&line), answer)?;
        }
        Ok(())
    }

    /// Nothing of this session is wanted, or not any more.
    fn is_unwanted(&self) -> bool {
        matches!(self.stage, Stage::Silent | Stage::Mute | Stage::Over)
    }

    fn order(&mut self, order: Order) -> Result<(), Failure> {
        match order {
            Order::Switch(order) => self.switch(Switching::asked(order.id, order.tools.0, order.skills.0)),
            // Pi runs the command as if the user had typed it; only a command can reload.
            Order::Reload(_) => self.link.call(
                "pi.sendUserMessage",
                vec![json!("/session-reload"), json!({ "expandPromptTemplates": true })],
                Then::Nothing,
            ),
            _ => Ok(()),
        }
    }

    fn switch(&mut self, switching: Switching) -> Result<(), Failure> {
        self.link.call("pi.getActiveTools", Vec::new(), Then::Active(switching))
    }

    fn returned(&mut self, line: &Value, now: Now) -> Result<(), Failure> {
        let Some(then) = self.link.returned(line) else { return Ok(()) };
        let result = &line["result"];
        let error = line["error"].as_str();
        match then {
            Then::Nothing => Ok(()),
            Then::Idle => {
                let told = self.bridge.idle(result.as_bool().filter(|_| error.is_none()));
                self.feed(told, now)
            }
            Then::Active(switching) => match error {
                Some(why) => self.switched(&switching, Err(why.to_owned()), now),
                None => self.set_active(switching, result, now),
            },
            Then::Set(switching) => match error {
                Some(why) => self.switched(&switching, Err(why.to_owned()), now),
                None => self.link.call("pi.getActiveTools", Vec::new(), Then::Verify(switching)),
            },
            Then::Verify(switching) => self.verify(switching, result, now),
            Then::Stored(switching) => {
                let outcome = error.map_or(Ok(()), |why| Err(why.to_owned()));
                self.switched(&switching, outcome, now)
            }
        }
    }

    fn set_active(&mut self, switching: Switching, active: &Value, now: Now) -> Result<(), Failure> {
        match self.kept.wanted(&switching, active) {
            Some(wanted) => self.link.call("pi.setActiveTools", vec![json!(wanted)], Then::Set(switching)),
            None => self.verify(switching, active, now),
        }
    }

    /// Pi's own list says what was done; the skills are ours to leave out.
    fn verify(&mut self, switching: Switching, active: &Value, now: Now) -> Result<(), Failure> {
        if let Err(why) = switching.holds_in(active) {
            return self.switched(&switching, Err(why), now);
        }
        self.kept.take(&switching);
        let hidden = self.kept.hidden();
        for event in self.bridge.switched(Some(active), Some(&hidden)) {
            let _ = self.publisher.feed(&event, now);
        }
        self.link.skills(hidden)?;
        if switching.request().is_none() {
            return self.switched(&switching, Ok(()), now);
        }
        let entry = vec![json!(jig_session_schema::request::SWITCHES_ENTRY), self.kept.entry()];
        self.link.call("pi.appendEntry", entry, Then::Stored(switching))
    }

    fn switched(&mut self, switching: &Switching, outcome: Result<(), String>, now: Now) -> Result<(), Failure> {
        match switching.request() {
            Some(id) => self.clerk.applied(id, outcome, &mut self.publisher, now),
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
    fn mute(&mut self, line: &Value) -> Result<(), Failure> {
        let text = "jig-session shows nothing of this session: it is another one's child, or its bridge is outdated";
        show::text(&mut self.link, &self.mode, id(line), text.to_owned())
    }

    fn command(&mut self, line: &Value) -> Result<(), Failure> {
        match line["name"].as_str().unwrap_or_default() {
            "session-reload" => self.link.reload(id(line)),
            "session-file" => {
                let text = show::session_file(&self.publisher);
                show::text(&mut self.link, &self.mode, id(line), text)
            }
            "context" if self.mode == "tui" => {
                let mut panel = ContextPanel::new(self.publisher.status());
                self.link.panel(panel.lines())?;
                self.panel = Some(panel);
                self.link.done(id(line), None)
            }
            "context" => {
                let lines = show::context(self.publisher.status(), show::WIDTH, false);
                show::text(&mut self.link, &self.mode, id(line), lines.join("\n"))
            }
            _ => self.bus.command(line, &mut self.link),
        }
    }

    fn key(&mut self, line: &Value) -> Result<(), Failure> {
        let Some(panel) = &mut self.panel else { return self.bus.key(line, &mut self.link) };
        if line["closed"] == true {
            self.panel = None;
            return Ok(());
        }
        if panel.key(line) {
            let lines = panel.lines();
            return self.link.panel(lines);
        }
        self.panel = None;
        self.link.close_panel()
    }
}

impl Service for Host {
    fn line(&mut self, _number: u64, line: Line<'_>, now: Now) -> Result<Flow, Failure> {
        let Line::Bytes(bytes) = line else {
            self.log.write("usage", "a line of the bridge is too long and was dropped");
            return Ok(Flow::Go);
        };
        // A line that is not JSON, or not known, is not for us.
        if let Ok(line) = serde_json::from_slice::<Value>(bytes) {
            self.take(&line, now)?;
        }
        Ok(if self.stage == Stage::Over { Flow::Stop } else { Flow::Go })
    }

    fn tick(&mut self, now: Now) -> Result<Flow, Failure> {
        if self.is_unwanted() {
            return Ok(Flow::Go);
        }
        if self.ask_idle.is_some_and(|at| now.mono >= at) {
            self.ask_idle = None;
            self.link.call("ctx.isIdle", Vec::new(), Then::Idle)?;
        }
        if self.stage == Stage::Ready {
            for order in self.clerk.tick(&mut self.publisher, now) {
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
        let clerk = self.clerk.deadline().filter(|_| self.stage == Stage::Ready);
        let quiet = self.quiet.deadline();
        let all = [self.publisher.deadline(), clerk, self.ask_idle, self.bus.deadline(), self.king.deadline(), quiet];
        all.into_iter().flatten().min()
    }

    fn wakes(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        self.clerk.wakes().filter(|_| self.stage == Stage::Ready)
    }
}

/// The id of a question.
fn id(line: &Value) -> String {
    line["id"].as_str().unwrap_or_default().to_owned()
}
