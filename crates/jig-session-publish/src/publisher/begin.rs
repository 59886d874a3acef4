//! How a session begins: whose process it is, which file is its own, what is continued, and whether it is a child.

use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;

use jig_session_atomic::Stamp;
use jig_session_liveness::{Process, Processes, Record, agent_above, hosts_sessions, is_in_tmux};
use jig_session_schema::event::{Event, SessionEvent};
use jig_session_schema::shape::Patch;
use jig_session_schema::status::{self, Agent, State, StateFrom, Status};
use jig_session_schema::time::Timestamp;
use jig_session_schema::{limits, names};

use super::file::{Existing, Written, found, same_process};
use super::{Live, Mode, Owner, Publisher, Refused, remembered};
use crate::Now;
use crate::reduce::outputs::absolute;
use crate::reduce::{Memory, Occurrence, Session};

/// Variables that name the terminal, the outermost host first.
const TERMINALS: [&str; 4] = ["HC_TERMINAL_ID", "WEZTERM_PANE", "KITTY_WINDOW_ID", "TMUX_PANE"];

/// Where a session's document belongs, and what stands there.
struct DocumentSlot {
    name: String,
    /// The document of this session and this process: it is continued.
    own: Option<(Box<Status>, Stamp)>,
    /// Another live process has the same session.
    taken: bool,
}

impl Publisher {
    /// Begins the session of an event, or continues it from its own document.
    pub(super) fn begin(&mut self, event: &SessionEvent, from: &StateFrom, now: Now) -> Result<Live, Refused> {
        let pid =
            event.pid.or_else(|| agent_above(&*self.setup.processes, self.setup.pid)).ok_or(Refused::NoProcess)?;
        if event.pid.is_some() {
            self.doubt(pid);
        }
        let at = event.at.unwrap_or(now.wall).min(now.wall);
        let mut fresh = self.fresh(event, pid, at, now);
        fresh.state_from = Some(from.clone());
        let place = self.place(&fresh, now).ok_or(Refused::EmptyId)?;
        let (status, written) = match place.own {
            Some((own, stamp)) => {
                let written = Written::of(&own, stamp);
                (*own, Some(written))
            }
            None => (fresh, None),
        };
        let continued = written.is_some();
        let begins = !matches!(self.setup.mode, Mode::OneShot { begins: false, .. });
        let owner = match place.taken && !begins {
            _ if !continued && self.is_child(pid) => Owner::Parent,
            true => Owner::Another,
            false => Owner::Us,
        };
        if place.taken
            && owner == Owner::Us
            && let (Some(dir), Some(longer)) = (&self.dir, names::hashed_name(&status.session))
        {
            // The other process goes on: its document stays, under the longer name. Where that cannot be done, it
            // writes it itself when it next looks.
            let _ = dir.move_new(format!("{}.json", place.name), dir, format!("{longer}.json"));
        }
        let mut session = Session { status, memory: Memory::default() };
        session.status.publisher = self.publisher(session.status.publisher.take());
        if continued {
            let derived = self.derived_ticket(&session.status);
            session.memory.ticket = remembered(&session.status, derived.as_deref());
        }
        let repo = |path: &std::path::Path| self.repositories.root(path, now.mono);
        let occurrence = Occurrence { at, order: self.setup.mode.order(), from: from.clone(), repo: &repo };
        session.heal(now.wall);
        session.apply(&Event::Session(event.clone()), &occurrence);
        Ok(Live {
            session,
            file: format!("{}.json", place.name),
            owner,
            capabilities: None,
            // Only a name that was looked at is taken.
            taking: owner == Owner::Us && !continued && self.dir.is_some(),
            written,
            dirty: true,
            reported: Vec::new(),
            next_write: Duration::ZERO,
            next_check: now.mono + limits::RESTORE_INTERVAL,
            text: Vec::new(),
            next_around: Duration::MAX,
        })
    }

    /// The event with its paths from the root: a reader in another folder could not tell what a relative one means.
    pub(super) fn with_absolute_paths<'a>(&self, event: &'a SessionEvent) -> Cow<'a, SessionEvent> {
        let relative = |path: &str| !Path::new(path).is_absolute();
        let patched = |path: &Patch<String>| matches!(path, Patch::Set(path) if relative(path));
        if !event.cwd.as_deref().is_some_and(relative) && !patched(&event.transcript) {
            return Cow::Borrowed(event);
        }
        let whole = |path: &str| absolute(&self.setup.cwd, Path::new(path)).to_string_lossy().into_owned();
        let mut event = event.clone();
        event.cwd = event.cwd.map(|cwd| if relative(&cwd) { whole(&cwd) } else { cwd });
        if let Patch::Set(transcript) = &mut event.transcript
            && relative(transcript)
        {
            *transcript = whole(transcript);
        }
        Cow::Owned(event)
    }

    /// Says it when a process that was named cannot be the agent: the id is taken as it is, since the one who named it
    /// may know better, but readers will not show what is expected.
    fn doubt(&mut self, pid: u32) {
        let processes = &*self.setup.processes;
        if processes.is_missing(pid) {
            self.notes.push(format!("pid {pid}: no such process runs here, so readers take the session for ended"));
        } else if hosts_sessions(processes, pid) {
            let name = processes.process(pid).map(|process| process.command).unwrap_or_default();
            self.notes.push(format!("pid {pid} ({name}) hosts sessions and is no agent: the session would never end"));
        }
    }

    /// Who keeps the document up to date from now on: this process, as long as it lasts. A one-shot use leaves the
    /// one that does so, and takes out one that does no longer.
    fn publisher(&self, before: Option<status::Publisher>) -> Option<status::Publisher> {
        let processes = &*self.setup.processes;
        if self.setup.mode == Mode::Lasting {
            let own = processes.identity_of(self.setup.pid).ok()?;
            let publisher = status::Publisher::new().pid(self.setup.pid).start(own.start?);
            return Some(publisher.boot_id(own.boot_id).pid_namespace(own.pid_namespace));
        }
        before.filter(|publisher| {
            let judged = processes.judge(&Record::of_publisher(publisher, None));
            judged.verdict.is_alive() && judged.detail.is_none()
        })
    }

    /// The document of a session that begins now.
    fn fresh(&self, event: &SessionEvent, pid: u32, at: Timestamp, now: Now) -> Status {
        let environment = &self.setup.environment;
        let mut status = Status::new();
        status.agent = Some(Agent::new().name(self.setup.agent.clone()));
        status.session.clone_from(&event.session);
        status.pid = Some(pid);
        status.process = self.setup.processes.identity_of(pid).ok();
        status.cwd = self.setup.cwd.to_string_lossy().into_owned();
        status.state = State::Idle;
        status.started_at = Some(at);
        status.started_clock_ms = match self.setup.mode {
            Mode::OneShot { clock_ms: Some(clock_ms), .. } => Some(clock_ms),
            _ => now.boot_ms,
        };
        status.updated_at = Some(at);
        status.state_at = Some(at);
        let pane = environment.get("TMUX_PANE").filter(|_| is_in_tmux(&*self.setup.processes, pid));
        let variable = |name: &&str| if **name == *"TMUX_PANE" { pane } else { environment.get(name) };
        // A terminal that the event names comes with its own variable, or with none.
        if matches!(event.terminal, Patch::Keep)
            && let Some((variable, value)) = TERMINALS.iter().find_map(|name| Some((*name, variable(name)?)))
        {
            status.terminal = Some(value.to_owned());
            status.terminal_from = Some(variable.to_owned());
        }
        if let Some(pane) = pane {
            status.tmux_pane = Some(pane.to_owned());
            let socket = environment.get("TMUX").and_then(|tmux| tmux.split(',').next());
            status.tmux_socket = socket.map(str::to_owned);
        }
        status
    }

    /// The name under which the session's document stands; `None` for an empty id.
    fn place(&mut self, fresh: &Status, now: Now) -> Option<DocumentSlot> {
        let plain = names::document_name(&fresh.session)?;
        let hashed = names::hashed_name(&fresh.session)?;
        let free = |name: &str| DocumentSlot { name: name.to_owned(), own: None, taken: false };
        if self.dir(now).is_none() {
            return Some(free(&plain));
        }
        let dir = self.dir.as_ref()?;
        let processes = &*self.setup.processes;
        let mut place = None;
        for name in [&plain, &hashed] {
            let Existing::Document(other, stamp) = found(dir, &format!("{name}.json")) else {
                place = place.or_else(|| Some(free(name)));
                continue;
            };
            if other.session != fresh.session {
                // A live session's name is not free; the longer one is.
                if processes.judge(&Record::of_status(&other)).verdict.is_over() {
                    place = place.or_else(|| Some(free(name)));
                }
                continue;
            }
            if same_process(&other, fresh) {
                return Some(DocumentSlot { name: name.clone(), own: Some((other, stamp)), taken: false });
            }
            let taken = !processes.judge(&Record::of_status(&other)).verdict.is_over();
            place = place.or_else(|| Some(DocumentSlot { name: name.clone(), own: None, taken }));
        }
        Some(place.unwrap_or_else(|| free(&hashed)))
    }

    /// A child publishes nothing: it is marked as one, or it runs below a live session's process in that process's
    /// terminal, or in none.
    fn is_child(&self, pid: u32) -> bool {
        let environment = &self.setup.environment;
        if jig_session_agents::child_markers().any(|marker| environment.get(marker).is_some()) {
            return true;
        }
        let processes = &*self.setup.processes;
        // What hosts sessions is nobody's parent, whoever took it for an agent: all sessions run below it.
        let mut ancestors = processes.ancestors(pid);
        ancestors.retain(|ancestor| !hosts_sessions(processes, ancestor.pid));
        if ancestors.is_empty() {
            return false;
        }
        let own_terminal = processes.process(pid).ok().and_then(|process| process.terminal);
        let Some(dir) = &self.dir else { return false };
        let mut child = false;
        let scanned = dir.scan(limits::STATUS_BYTES, |entry| {
            let Ok((bytes, _)) = entry.content else { return };
            if child {
                return;
            }
            let Ok(record) = Status::read(bytes) else { return };
            // `jig-session run` lists a program until the agent in it says which session it is: that is no parent.
            if crate::placeholder::is_placeholder(&record.value) {
                return;
            }
            child = ancestors.iter().any(|ancestor| {
                is_of(processes, &record.value, ancestor)
                    && (own_terminal.is_none() || own_terminal == ancestor.terminal)
            });
        });
        scanned.is_ok() && child
    }

    /// Removes what crashed sessions left, once in a lasting publisher's life.
    pub(super) fn sweep_once(&mut self, now: Now) {
        if self.swept || self.setup.mode != Mode::Lasting {
            return;
        }
        self.swept = true;
        let (Some(dir), Some(live)) = (&self.dir, &self.live) else { return };
        let processes = &*self.setup.processes;
        let mut over: Vec<(std::ffi::OsString, Stamp)> = Vec::new();
        let scanned = dir.scan(limits::STATUS_BYTES, |entry| {
            let Ok((bytes, stamp)) = entry.content else { return };
            if entry.name.to_str() == Some(&live.file) {
                return;
            }
            if Status::read(bytes)
                .is_ok_and(|record| processes.judge(&Record::of_status(&record.value)).verdict.is_over())
            {
                over.push((entry.name.to_owned(), stamp));
            }
        });
        let mut errors: Vec<String> = scanned.err().map(|error| error.to_string()).into_iter().collect();
        for (name, stamp) in over {
            errors.extend(dir.remove_judged(&name, &stamp).err().map(|error| error.to_string()));
        }
        let swept = dir.sweep(now.wall.epoch_ms(), |pid| processes.is_missing(pid));
        errors.extend(swept.err().map(|error| error.to_string()));
        self.notes.extend(errors);
    }

    /// The ticket that the variable or the branch names, without what events say.
    fn derived_ticket(&self, status: &Status) -> Option<String> {
        let branch = super::repos::branch(&status.cwd);
        let sources = crate::around::Sources {
            named: &crate::around::Named::Unsaid,
            variable: self.setup.environment.get("JIG_TICKET"),
            branch: branch.as_deref(),
        };
        crate::around::look(&self.setup.config, sources).ticket.map(|ticket| ticket.key)
    }
}

/// Whether a record is of exactly this process. A record without a start names nothing surely enough to silence
/// another session.
fn is_of(processes: &dyn Processes, status: &Status, ancestor: &Process) -> bool {
    let record = Record::of_status(status);
    let identity = processes.identity(ancestor.start.clone());
    record.is_proof() && record.same_process(&Record::of(Some(ancestor.pid), Some(&identity)))
}
