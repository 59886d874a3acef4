//! The thin edge around the reducer: which file is ours, when it is written, when it goes.
//!
//! It is polled: events are fed, and [`Publisher::tick`] is called at [`Publisher::deadline`]. Nothing here waits,
//! reads a clock or the environment; a failing disk costs the feeder nothing but the file.

mod begin;
mod file;
mod repos;

use std::path::{Path, PathBuf};
use std::time::Duration;

use jig_session_atomic::PrivateDir;
use jig_session_liveness::Processes;
use jig_session_schema::event::{CapabilitiesEvent, Event, SessionEvent, ToolEvent, ToolPhase};
use jig_session_schema::limits;
use jig_session_schema::places::{Environment, Places};
use jig_session_schema::status::{AgentName, Answer, StateFrom, Status, Usage};

use crate::Now;
use crate::around::{self, Config, Named, Sources};
use crate::bounds;
use crate::reduce::{Occurrence, Order, Session};
use file::{Failing, Written};
use repos::Repositories;

/// What a publisher is made with.
pub struct Setup {
    /// The agent whose sessions are published.
    pub agent: AgentName,
    /// The environment of the publisher; the agent's, as far as the terminal goes.
    pub environment: Environment,
    /// Where the files are.
    pub places: Places,
    /// The publisher's working folder.
    pub cwd: PathBuf,
    /// Where tickets and workflows are.
    pub config: Config,
    /// The process table.
    pub processes: Box<dyn Processes>,
    /// The publisher's own process id: the agent is looked for among its ancestors.
    pub pid: u32,
    /// How the publisher is used.
    pub mode: Mode,
}

/// How a publisher is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It lives as long as the session: what crashed sessions left is removed at its start.
    Lasting,
    /// It lives for one event: it takes nothing from a live owner unless the event begins a session, and looks at no
    /// other file than its own, except once, when it creates that.
    OneShot {
        /// The event begins a session.
        begins: bool,
        /// When the event happened, by the machine's boot clock in milliseconds: the start of the process that tells
        /// it. Such processes run side by side, and their wall clocks do not tell which event came first.
        clock_ms: Option<u64>,
    },
}

impl Mode {
    /// How the events of such a publisher are put in order.
    fn order(self) -> Order {
        match self {
            Self::Lasting => Order::Arrival,
            Self::OneShot { clock_ms, .. } => Order::BootClock(clock_ms),
        }
    }
}

/// Why an event was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Another event came before the session began.
    #[error("no session has begun: the first line is a session event")]
    NotBegun,
    /// An empty id has no file name.
    #[error("the session's id is empty")]
    EmptyId,
    /// An id that a status file cannot hold: it must not be cut.
    #[error("the session's id has more than {} bytes", limits::PATH_BYTES)]
    LongId,
    /// A folder that a status file cannot hold: it must not be cut.
    #[error("cwd has more than {} bytes", limits::PATH_BYTES)]
    LongFolder,
    /// No process was named, and none of the publisher's ancestors can be the agent.
    #[error("no pid was given, and no ancestor of this process can be the agent")]
    NoProcess,
    /// A call's start needs the tool's name, its end the call's id or the tool's name.
    #[error("the call names no tool")]
    NoTool,
}

/// Who owns the file of the session that is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// This publisher.
    Us,
    /// Another live process with the same session: nothing is written or removed.
    Another,
    /// Nobody: the session is another agent's child and publishes nothing.
    Parent,
}

/// One session that is being published.
struct Live {
    session: Session,
    /// The document's name.
    file: String,
    owner: Owner,
    capabilities: Option<CapabilitiesEvent>,
    /// What stands on disk, as far as we wrote it.
    written: Option<Written>,
    /// Where the next write's bytes are made.
    text: Vec<u8>,
    /// The session has begun and not been written yet: its first write takes the name, whoever stood there.
    taking: bool,
    /// The content has changed since it was written last.
    dirty: bool,
    /// No write before this.
    next_write: Duration,
    /// Fields of which it was said that they are left out or gave way.
    reported: Vec<String>,
    /// The next look at our own file.
    next_check: Duration,
    /// The next look around.
    next_around: Duration,
}

/// Publishes the sessions of one agent, one after the other.
pub struct Publisher {
    setup: Setup,
    dir: Option<PrivateDir>,
    live: Option<Live>,
    failing: Option<Failing>,
    repositories: Repositories,
    swept: bool,
    notes: Vec<String>,
}

impl Publisher {
    /// A publisher that has not begun a session; nothing is read or written yet.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        Self {
            setup,
            dir: None,
            live: None,
            failing: None,
            repositories: Repositories::default(),
            swept: false,
            notes: Vec::new(),
        }
    }

    /// Applies an event from `publish` or a bridge.
    ///
    /// # Errors
    /// When no session has begun, or none can begin with this event.
    pub fn feed(&mut self, event: &Event, now: Now) -> Result<(), Refused> {
        self.feed_from(event, &StateFrom::EVENT, now)
    }

    /// Takes an event; `from` is what `stateFrom` says about it, such as `hook:Stop`.
    ///
    /// # Errors
    /// When no session has begun, or none can begin with this event.
    pub fn feed_from(&mut self, event: &Event, from: &StateFrom, now: Now) -> Result<(), Refused> {
        let event = &*bounds::event(event)?;
        match event {
            Event::Session(event) => self.session(event, from, now),
            // An event of a later version is meant for a later version.
            Event::Other(_) => Ok(()),
            Event::Tool(event) if !names_a_call(event) => Err(Refused::NoTool),
            Event::End(event) => {
                self.live.as_ref().ok_or(Refused::NotBegun)?;
                self.close(event.keep == Some(true), now);
                Ok(())
            }
            _ => self.change(event, from, now),
        }
    }

    fn session(&mut self, event: &SessionEvent, from: &StateFrom, now: Now) -> Result<(), Refused> {
        let event = &self.with_absolute_paths(event);
        let same = self.live.as_ref().is_some_and(|live| {
            let status = &live.session.status;
            status.session == event.session && event.pid.is_none_or(|pid| Some(pid) == status.pid)
        });
        if same {
            return self.change(&Event::Session(SessionEvent::clone(event)), from, now);
        }
        let begun = self.begin(event, from, now)?;
        self.end_former(&begun, now);
        self.live = Some(begun);
        self.sweep_once(now);
        self.look_around(now);
        Ok(())
    }

    /// The session that was published until now ends when another one begins; a new process of the same session only
    /// goes on with its file.
    fn end_former(&mut self, begun: &Live, now: Now) {
        if self.live.as_ref().is_some_and(|live| live.session.status.session != begun.session.status.session) {
            self.close(false, now);
        }
    }

    fn change(&mut self, event: &Event, from: &StateFrom, now: Now) -> Result<(), Refused> {
        let live = self.live.as_mut().ok_or(Refused::NotBegun)?;
        let repo = |path: &Path| self.repositories.root(path, now.mono);
        // Nothing happens later than now: a time ahead of it is of a clock that was set back.
        let at = event.at().unwrap_or(now.wall).min(now.wall);
        let occurrence = Occurrence { at, order: self.setup.mode.order(), from: from.clone(), repo: &repo };
        live.session.heal(now.wall);
        live.session.apply(event, &occurrence);
        live.dirty = true;
        self.report_left_out();
        let Some(live) = &mut self.live else { return Ok(()) };
        match event {
            Event::Capabilities(event) => live.capabilities = Some(event.clone()),
            Event::Ticket(_) => self.look_around(now),
            _ => {}
        }
        Ok(())
    }

    /// Looks at the ticket and the workflow, and says when to look again.
    fn look_around(&mut self, now: Now) {
        let Some(live) = &mut self.live else { return };
        if live.owner == Owner::Parent {
            live.next_around = Duration::MAX;
            return;
        }
        let config = &self.setup.config;
        let branch = repos::branch(&live.session.status.cwd);
        let sources = Sources {
            named: &live.session.memory.ticket,
            variable: self.setup.environment.get("JIG_TICKET"),
            branch: branch.as_deref(),
        };
        let seen = around::look(config, sources);
        let before = live.session.status.clone();
        live.session.around(&seen, &|path| self.repositories.root(path, now.mono));
        live.dirty |= before != live.session.status;
        let changes = config.tickets.is_some() || !config.workflows.is_empty();
        live.next_around = if changes { now.mono + limits::RESTORE_INTERVAL } else { Duration::MAX };
        self.report_left_out();
    }

    /// Says once a field what was too long for a document: an agent tells it again with each event.
    fn report_left_out(&mut self) {
        let Some(live) = &mut self.live else { return };
        for (field, bytes) in std::mem::take(&mut live.session.memory.left_out) {
            if !live.reported.iter().any(|known| known == field) {
                live.reported.push(field.to_owned());
                let most = limits::PATH_BYTES;
                self.notes
                    .push(format!("{field} is left out: a path of {bytes} bytes, more than {most}: {}", live.file));
            }
        }
    }

    /// Does what is due: writes, looks at the own file, looks around.
    pub fn tick(&mut self, now: Now) {
        let Some(live) = &mut self.live else { return };
        live.dirty |= live.session.heal(now.wall);
        if now.mono >= live.next_around {
            self.look_around(now);
        }
        let Some(live) = &self.live else { return };
        if now.mono >= live.next_check {
            self.check(now);
        }
        let Some(live) = &self.live else { return };
        if live.owner == Owner::Us && live.dirty && now.mono >= live.next_write && self.may_retry(now) {
            self.write(now);
        }
    }

    /// The monotonic time at which [`Publisher::tick`] has something to do; `None` while no session is published.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        let live = self.live.as_ref()?;
        let mut due = live.next_check.min(live.next_around);
        if live.owner == Owner::Us && live.dirty {
            let retry = self.failing.as_ref().map_or(Duration::ZERO, |failing| failing.retry_at);
            due = due.min(live.next_write.max(retry));
        }
        (due < Duration::MAX).then_some(due)
    }

    /// Writes what has changed at once, as the end of a one-shot use must.
    pub fn flush(&mut self, now: Now) {
        if self.live.as_ref().is_some_and(|live| live.owner == Owner::Us && live.dirty) {
            self.write(now);
        }
    }

    /// Ends the session: its file is removed, unless the process's next session event reuses it.
    pub fn close(&mut self, keep: bool, now: Now) {
        if keep {
            self.flush(now);
        } else {
            self.remove();
        }
        self.live = None;
    }

    /// Records the answer to a request, for the next write.
    pub fn answer(&mut self, answer: Answer) {
        if let Some(live) = &mut self.live {
            live.session.answer(answer);
            live.dirty = true;
        }
    }

    /// Usage is unknown from now on: the events that carried it were lost.
    pub fn forget_usage(&mut self) {
        if let Some(live) = &mut self.live {
            live.session.status.usage = Usage::new();
            live.dirty = true;
        }
    }

    /// The document of the session that is published, as it will be written next.
    #[must_use]
    pub fn status(&self) -> Option<&Status> {
        self.live.as_ref().map(|live| &live.session.status)
    }

    /// The answer that a request of this id got, if it is remembered.
    #[must_use]
    pub fn answered(&self, id: &str) -> Option<&Answer> {
        self.live.as_ref()?.session.answered(id)
    }

    /// The requests the session accepts: its last `capabilities` event.
    #[must_use]
    pub fn capabilities(&self) -> Option<&CapabilitiesEvent> {
        self.live.as_ref()?.capabilities.as_ref()
    }

    /// The document's name without `.json`, while this publisher owns the file: requests of that name are ours.
    #[must_use]
    pub fn owned_name(&self) -> Option<&str> {
        self.live.as_ref().filter(|live| live.owner == Owner::Us)?.file.strip_suffix(".json")
    }

    /// The status file's path, whether it is written yet or not. `None` without a session, and for a child's.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        let live = self.live.as_ref().filter(|live| live.owner != Owner::Parent)?;
        Some(self.setup.places.sessions.join(&live.file))
    }

    /// Whether what was published last is on disk.
    #[must_use]
    pub fn is_written(&self) -> bool {
        self.live.as_ref().is_some_and(|live| live.written.is_some() && !live.dirty) && self.failing.is_none()
    }

    /// What a person should hear of since the last call, for stderr or the log.
    pub fn notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }
}

fn names_a_call(event: &ToolEvent) -> bool {
    event.tool.is_some() || (event.phase == ToolPhase::End && event.id.is_some())
}

/// Continues the ticket that an event named before this publisher began; one that the variable or the branch names
/// is found again by itself.
fn remembered(status: &Status, derived: Option<&str>) -> Named {
    match &status.ticket {
        Some(ticket) if derived != Some(ticket.key.as_str()) => Named::Ticket(ticket.clone()),
        _ => Named::Unsaid,
    }
}

#[cfg(test)]
mod tests;
