//! The session bus inside Pi: the tool `session`, the notice before a prompt, the guard question, waking.

mod commands;
mod mail;
mod tool;

use std::path::{Path, PathBuf};
use std::time::Duration;

use jig_session_bus::who::IdSource;
use jig_session_bus::{
    Bus as Store, Buses, Call, Context, Done, Me, Member, Notice, Room, System, World, limits, perform,
};
use jig_session_liveness::Processes;
use jig_session_publish::Now;
use jig_session_schema::bridge::{BridgeEvent, Hello};
use jig_session_schema::bus_result::MemberState;
use jig_session_schema::places::{Environment, Places};
use jig_session_schema::status::{AgentName, Status};
use jig_session_schema::time::Timestamp;

use crate::Error;
use crate::link::Link;
use crate::sessions_panel::{OpenEyes, SessionsPanel};

/// The `customType` of a notice in Pi's transcript.
const NOTICE: &str = "jig-session.notice";
/// How much mail one answer may hold. Pi hands on what a tool of an extension says as it is, so one message always fits.
const ROOM: Room = Room { units: limits::ANSWER_UNITS, alone: usize::MAX, cost: jig_session_view::bus::units };
/// The pause between two looks at the inbox of a session that listens.
const WATCH: Duration = Duration::from_millis(limits::WATCH_MS);
/// The pause between two looks of an open panel.
const PANEL: Duration = Duration::from_millis(250);
/// The pause between two beats.
const BEAT: Duration = Duration::from_millis(limits::BEAT_MS);

/// The bus's side of one Pi session.
pub(crate) struct Bus {
    root: PathBuf,
    system: System,
    /// `JIG_BUS_GUARD=1`.
    guard: bool,
    /// The session, once it has said hello.
    me: Option<Me>,
    cwd: PathBuf,
    mode: String,
    /// Whether the session is on the bus, as far as this host has seen.
    joined: bool,
    /// The session was started or resumed: waiting mail is announced once, whether it has joined or not.
    came_back: bool,
    was_idle: bool,
    next_beat: Duration,
    next_look: Duration,
    /// The mail of the idle session was read since [`Bus::has_looked`] was asked.
    looked: bool,
    /// A notice that is on its way to Pi; it is recorded as announced once it has been written.
    sent_notice: Option<Notice>,
    /// The messages that notices in the transcript announce, and that are unread as far as this host knows.
    announced: Vec<String>,
    panel: Option<SessionsPanel>,
    next_panel: Duration,
    eyes: OpenEyes,
    home: PathBuf,
    /// Colour is wanted in the panel.
    color: bool,
}

impl Bus {
    pub(crate) fn of(environment: &Environment, places: &Places, eyes: OpenEyes) -> Self {
        Self {
            root: places.bus.clone(),
            system: System::new(),
            guard: environment.get("JIG_BUS_GUARD") == Some("1"),
            me: None,
            cwd: PathBuf::new(),
            mode: String::new(),
            joined: false,
            came_back: false,
            was_idle: false,
            next_beat: Duration::ZERO,
            next_look: Duration::ZERO,
            looked: false,
            sent_notice: None,
            announced: Vec::new(),
            panel: None,
            next_panel: Duration::ZERO,
            eyes,
            home: places.home.clone(),
            color: environment.get("NO_COLOR").is_none_or(str::is_empty),
        }
    }

    /// The session began, or goes on.
    pub(crate) fn began(&mut self, hello: &Hello, status: Option<&Status>, now: Now) {
        let session = hello.session.clone();
        let process = self.system.machine().identity_of(hello.pid).ok();
        self.cwd = hello.cwd.clone().into();
        self.mode = hello.mode.clone().unwrap_or_default();
        self.me = Some(Me {
            owner: Me::owner_of(&session, Some(hello.pid), process.as_ref(), self.system.random()),
            id: session,
            agent: AgentName::PI,
            model: status.and_then(|status| status.model.as_ref()?.name.clone()),
            pid: Some(hello.pid),
            process,
            name: hello.name.clone().filter(|name| !name.is_empty()),
            source: IdSource::Agent { replaces: true },
            timer: true,
        });
        self.came_back = matches!(hello.reason.as_deref(), Some("resume" | "startup"));
        self.next_look = now.mono;
        self.next_beat = now.mono;
        // A reload keeps record, claims and listening.
        self.joined = self.me.as_ref().zip(self.store()).is_some_and(|(me, bus)| own_member(&bus, me).is_some());
    }

    /// An event of Pi, after the publisher has taken it.
    pub(crate) fn event(&mut self, event: &BridgeEvent) {
        if event.event == "session_info_changed"
            && let Some(me) = &mut self.me
        {
            me.name.clone_from(&event.data.name);
        }
    }

    /// After every batch of lines, and at the deadline.
    pub(crate) fn tick(&mut self, idle: bool, link: &mut Link, now: Now) -> Result<(), Error> {
        let Some(me) = self.me.clone() else { return Ok(()) };
        if let Some(notice) = self.sent_notice.take()
            && let Some(bus) = self.store_for_writing()
        {
            // The host writes without a buffer: the notice has left.
            let _ = bus.record_notice(&me.id, &notice);
        }
        let settled = idle && !self.was_idle;
        self.was_idle = idle;
        if self.joined && now.mono >= self.next_beat {
            self.next_beat = now.mono + BEAT;
            if let Some(bus) = self.store_for_writing() {
                // False: another process has taken over the record. A failed beat is made up for by the next one.
                self.joined = bus.beat(&me).unwrap_or(true);
            }
        }
        if now.mono >= self.next_look || settled {
            self.next_look = now.mono + WATCH;
            if let Some(mut panel) = self.panel.take() {
                self.refresh(&mut panel);
                self.panel = Some(panel);
            }
            if self.joined && idle {
                self.wake(&me, link)?;
                self.looked = true;
            }
        }
        if let Some(panel) = self.panel.as_mut().filter(|_| now.mono >= self.next_panel) {
            self.next_panel = now.mono + PANEL;
            panel.look();
            if let Some(lines) = panel.changed_lines() {
                link.panel(lines)?;
            }
        }
        Ok(())
    }

    /// The monotonic time at which `tick` is wanted.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        if self.panel.is_some() {
            return Some(self.next_look.min(self.next_panel));
        }
        self.joined.then_some(self.next_beat.min(self.next_look))
    }

    /// The session ends, or is reloaded.
    pub(crate) fn leave(&mut self, keep: bool) {
        if let Some(me) = self.me.take().filter(|_| !keep && self.joined)
            && let Some(bus) = self.store_for_writing()
        {
            // If this fails, the record is pruned once the process is gone.
            let _ = bus.leave(&me);
        }
    }

    fn perform(&self, me: &Me, call: &Call) -> Result<Done, Error> {
        // A join chooses the bus by the working folder; everything else uses the bus that the session has joined.
        let repo = match call {
            Call::Join { .. } => self.buses().of_folder(&self.cwd, None),
            _ => self.buses().of_session(&me.id, &self.cwd, None),
        };
        Ok(perform(&Context { root: &self.root, repo: repo?, world: &self.system, me, room: ROOM }, call)?)
    }

    fn buses(&self) -> Buses<'_> {
        Buses::new(&self.root, &self.system)
    }

    fn store(&self) -> Option<Store<'_>> {
        // Without any bus on this machine, looking for the repository would be wasted time.
        if !self.root.exists() {
            return None;
        }
        self.opened(Store::open_existing)
    }

    fn store_for_writing(&self) -> Option<Store<'_>> {
        self.opened(Store::open)
    }

    fn opened<'b>(
        &'b self,
        open: impl FnOnce(&Path, jig_session_bus::Repo, &'b dyn World) -> Result<Store<'b>, jig_session_bus::Error>,
    ) -> Option<Store<'b>> {
        let repo = match &self.me {
            Some(me) => self.buses().of_session(&me.id, &self.cwd, None),
            None => self.buses().of_folder(&self.cwd, None),
        };
        let repo = repo.ok()?;
        open(&self.root, repo, &self.system).ok()
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_epoch_ms(self.system.now().wall_ms)
    }
}

/// This session's record, unless a newer pane or a dead process left it.
fn own_member(bus: &Store<'_>, me: &Me) -> Option<Member> {
    let member = bus.member(&me.id).ok()??;
    (member.record.owner == me.owner && member.state != MemberState::Gone).then_some(member)
}
