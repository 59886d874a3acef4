//! What the program reports, published: under the session that its own hooks or records name, else under its process.
//!
//! A thread of its own: a slow or full disk costs nobody but the reader. The session is found by ancestry. Many
//! programs are a wrapper around the process that their hooks come from, and an agent's session may change while it
//! runs; so what is joined is whichever session's process is the program or lies below it in the same terminal.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jig_session_atomic::PrivateDir;
use jig_session_liveness::{Machine, ProcessState, Processes, Record};
use jig_session_publish::placeholder::{is_placeholder, placeholder_id};
use jig_session_publish::{Mode, Now, Publisher};
use jig_session_schema::event::{Event, SessionEvent};
use jig_session_schema::status::{AgentName, StateFrom, Status};
use jig_session_schema::time::Timestamp;
use jig_session_schema::{limits, names};

use crate::shared::Shared;
use crate::{Host, Spec};

/// How often it is looked whether a session has been named.
const LOOK: Duration = Duration::from_secs(1);
/// How long another writer of the same file is waited for.
const LOCK: Duration = Duration::from_millis(200);
/// How often the removal of a session's file waits for its turn, two seconds each time.
const TURNS: u32 = 5;

/// Publishes until the program has ended.
pub(crate) fn serve(shared: &Arc<Shared>, spec: &Spec, host: Host) {
    let mut reporter = Reporter {
        host,
        program: spec.clone(),
        machine: Machine::new(),
        begun: None,
        app: None,
        from: StateFrom::PROCESS,
    };
    loop {
        let now = shared.now();
        let mut news = shared.wait(reporter.pause(now));
        let events: Vec<Event> = news.events.drain(..).collect();
        let (pid, ended) = (news.pid, news.ended);
        if reporter.app.as_deref() != news.reports.app() && news.reports.app().is_some() {
            reporter.app = news.reports.app().map(str::to_owned);
        }
        let standing = news.reports.standing(shared.now());
        reporter.from = news.reports.source();
        drop(news);
        let now = shared.now();
        if let Some(pid) = pid {
            reporter.begin(pid, now);
            reporter.publish(&events, &standing, now);
        }
        if ended {
            return reporter.finish(now);
        }
    }
}

struct Reporter {
    host: Host,
    program: Spec,
    machine: Machine,
    begun: Option<Begun>,
    app: Option<String>,
    /// What tells the events that are published.
    from: StateFrom,
}

/// The program, once it runs.
struct Begun {
    pid: u32,
    terminal: Option<u64>,
    started: Timestamp,
    agent: AgentName,
    place: Target,
    /// The folder's time when it was looked through last.
    looked: Option<SystemTime>,
    next_look: Duration,
}

/// Where it is published.
enum Target {
    /// Under its process, by a publisher that lives as long.
    Own(Box<Publisher>),
    /// In the file of the session that hooks or records have named.
    Joined(Joined),
    /// Nowhere yet, or no longer.
    Nowhere,
}

#[derive(Clone, Debug, PartialEq)]
struct Joined {
    file: String,
    session: String,
    pid: u32,
    agent: AgentName,
    started: Option<Timestamp>,
}

impl Reporter {
    /// How long nothing needs to be done if nothing happens.
    fn pause(&self, now: Now) -> Duration {
        let Some(begun) = &self.begun else { return LOOK };
        let own = match &begun.place {
            Target::Own(publisher) => publisher.deadline(),
            _ => None,
        };
        let due = own.map_or(begun.next_look, |own| own.min(begun.next_look));
        due.saturating_sub(now.mono) + Duration::from_millis(1)
    }

    fn begin(&mut self, pid: u32, now: Now) {
        if self.begun.is_some() {
            return;
        }
        self.begun = Some(Begun {
            pid,
            terminal: self.machine.process(pid).ok().and_then(|process| process.terminal),
            started: now.wall,
            agent: self.agent(),
            place: Target::Nowhere,
            looked: None,
            next_look: now.mono,
        });
    }

    fn agent(&self) -> AgentName {
        let Spec { agent, program, arguments } = &self.program;
        crate::names::agent(agent.as_ref(), program, arguments, self.app.as_deref())
    }

    /// Publishes events; `standing` is what all of them together have come to.
    fn publish(&mut self, events: &[Event], standing: &[Event], now: Now) {
        self.renamed();
        let Some(begun) = &self.begun else { return };
        let joined = match &begun.place {
            Target::Joined(joined) if self.is_still(joined) => Some(joined.clone()),
            // A report is written first where it is known to belong.
            Target::Own(publisher) if publisher.is_written() && !events.is_empty() => {
                self.write_own(events, now);
                self.look(now)
            }
            _ => self.look(now),
        };
        match joined {
            Some(joined) => {
                self.leave_own(now);
                // What a window shows is seconds old at times: the hooks know better.
                if !events.is_empty() && self.from == StateFrom::PROGRAM_STATUS {
                    self.write_joined(&joined, events, now);
                }
                if let Some(begun) = &mut self.begun {
                    begun.place = Target::Joined(joined);
                }
            }
            None => self.be_own(events, standing, now),
        }
    }

    /// The name a program reports for itself takes precedence.
    fn renamed(&mut self) {
        let agent = self.agent();
        if let Some(begun) = self.begun.as_mut().filter(|begun| begun.agent != agent) {
            begun.agent = agent;
            if let Target::Own(publisher) = &mut begun.place {
                publisher.close(false, (self.host.clock)());
                begun.place = Target::Nowhere;
            }
        }
    }

    fn write_own(&mut self, events: &[Event], now: Now) {
        let Some(Begun { place: Target::Own(publisher), .. }) = &mut self.begun else { return };
        for event in events {
            // Only an event before the session's beginning is refused.
            let _ = publisher.feed_from(event, &self.from, now);
        }
        if events.iter().any(|event| !matches!(event, Event::Progress(_))) {
            publisher.flush(now);
        }
    }

    fn be_own(&mut self, events: &[Event], standing: &[Event], now: Now) {
        let Some(begun) = &mut self.begun else { return };
        if !matches!(begun.place, Target::Own(_)) {
            let mut publisher = (self.host.publisher)(begun.agent.clone(), Mode::Lasting);
            let session = placeholder_id(begun.pid, self.machine.identity_of(begun.pid).ok().as_ref());
            let event = session_event(&session, begun.pid, begun.started);
            let _ = publisher.feed_from(&event, &StateFrom::PROCESS, now);
            begun.place = Target::Own(Box::new(publisher));
            self.write_own(standing, now);
        } else if !events.is_empty() {
            self.write_own(events, now);
        }
        if let Some(Begun { place: Target::Own(publisher), .. }) = &mut self.begun {
            publisher.tick(now);
            for note in publisher.notes() {
                (self.host.log)(&note);
            }
        }
    }

    fn leave_own(&mut self, now: Now) {
        if let Some(Begun { place: Target::Own(publisher), .. }) = &mut self.begun {
            publisher.close(false, now);
        }
    }

    /// As short as a hook: the file is the hooks' too.
    fn write_joined(&self, joined: &Joined, events: &[Event], now: Now) {
        let Ok(dir) = PrivateDir::open(&self.host.sessions) else { return };
        let name = joined.file.strip_suffix(".json").unwrap_or(&joined.file);
        // Who cannot be waited for any longer is written past: a report in time is worth more than one event of it.
        let lock = dir.lock(names::lock_name(name), LOCK);
        let mut publisher =
            (self.host.publisher)(joined.agent.clone(), Mode::OneShot { begins: false, clock_ms: now.boot_ms });
        let begin = session_event(&joined.session, joined.pid, joined.started.unwrap_or(now.wall));
        for event in std::iter::once(&begin).chain(events) {
            let _ = publisher.feed_from(event, &self.from, now);
        }
        publisher.flush(now);
        drop(lock);
        for note in publisher.notes() {
            (self.host.log)(&note);
        }
    }

    /// Whether a joined session's file is still there and still that process's.
    fn is_still(&self, joined: &Joined) -> bool {
        let Ok(Some(dir)) = PrivateDir::open_existing(&self.host.sessions) else { return false };
        let read = dir.read(&joined.file, limits::STATUS_BYTES).ok();
        let status = read.and_then(|read| Status::read(&read.bytes).ok());
        status.is_some_and(|status| status.value.session == joined.session && status.value.pid == Some(joined.pid))
    }

    /// Looks for the session of the program, if the folder has changed since it was looked through.
    fn look(&mut self, now: Now) -> Option<Joined> {
        let begun = self.begun.as_mut()?;
        begun.next_look = now.mono + LOOK;
        let modified = std::fs::metadata(&self.host.sessions).and_then(|folder| folder.modified()).ok();
        if modified.is_none() || begun.looked == modified {
            return None;
        }
        begun.looked = modified;
        let (pid, terminal) = (begun.pid, begun.terminal);
        let dir = PrivateDir::open_existing(&self.host.sessions).ok().flatten()?;
        let machine = &self.machine;
        let mut best: Option<Joined> = None;
        let scanned = dir.scan(limits::STATUS_BYTES, |entry| {
            let (Ok((bytes, _)), Some(file)) = (entry.content, entry.name.to_str()) else { return };
            let Ok(status) = Status::read(bytes).map(|read| read.value) else { return };
            let Some(owner) = status.pid.filter(|_| !is_placeholder(&status)) else { return };
            let below = owner == pid
                || (machine.process(owner).is_ok_and(|process| terminal.is_none() || process.terminal == terminal)
                    && machine.ancestors(owner).iter().any(|ancestor| ancestor.pid == pid));
            if !below || machine.judge(&Record::of_status(&status)).verdict.is_over() {
                return;
            }
            if best.as_ref().is_none_or(|best| best.started < status.started_at) {
                best = Some(Joined {
                    file: file.to_owned(),
                    session: status.session.clone(),
                    pid: owner,
                    agent: status.agent_name(),
                    started: status.started_at,
                });
            }
        });
        scanned.ok().and(best)
    }

    /// The program has ended, or we have.
    fn finish(&mut self, now: Now) {
        let Some(begun) = &mut self.begun else { return };
        // A program that outlives its terminal keeps its file.
        let lives = |pid| {
            self.machine
                .process(pid)
                .is_ok_and(|process| matches!(process.state, ProcessState::Live | ProcessState::Stopped))
        };
        match &mut begun.place {
            Target::Own(publisher) => publisher.close(lives(begun.pid), now),
            Target::Joined(joined) if !lives(joined.pid) => {
                let joined = joined.clone();
                self.remove(&joined);
            }
            _ => {}
        }
    }

    /// Takes away the file of a session whose process is proved to be over. Not every agent says that it ends.
    fn remove(&self, joined: &Joined) {
        let Ok(Some(dir)) = PrivateDir::open_existing(&self.host.sessions) else { return };
        let name = joined.file.strip_suffix(".json").unwrap_or(&joined.file);
        let lock = dir.lock(names::lock_name(name), LOCK).ok().flatten();
        let Ok(read) = dir.read(&joined.file, limits::STATUS_BYTES) else { return };
        let Ok(status) = Status::read(&read.bytes) else { return };
        let same = status.value.session == joined.session && status.value.pid == Some(joined.pid);
        if same && self.machine.judge(&Record::of_status(&status.value)).verdict.is_over() {
            // Hundreds may end at once, and each of them waits for its turn here: nobody else waits for this one.
            for turn in 1..=TURNS {
                match dir.remove_judged(&joined.file, &read.stamp) {
                    Err(error) if turn == TURNS => (self.host.log)(&error.to_string()),
                    Err(_) => {}
                    Ok(_) => break,
                }
            }
            if let Some(lock) = lock {
                let _ = lock.remove(&dir);
            }
        }
    }
}

fn session_event(session: &str, pid: u32, at: Timestamp) -> Event {
    SessionEvent::new().at(Some(at)).session(session.to_owned()).pid(Some(pid)).into()
}
