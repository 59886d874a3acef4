//! The handler of a session's requests: looks for one, has it judged, hands out what is to be done, and answers.
//!
//! It is polled like the publisher it works for. The answer is in the status file before the taken request goes,
//! and a reload is marked as done there before it is asked for: whatever dies in between, nothing is lost without
//! a word and nothing runs twice.

mod watch;

use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::time::Duration;

use jig_session_liveness::Processes;
use jig_session_publish::{Now, Publisher};
use jig_session_schema::event::CapabilitiesEvent;
use jig_session_schema::limits;
use jig_session_schema::request::{Order, ReloadOrder, SwitchOrder};
use jig_session_schema::shape::Named;
use jig_session_schema::status::{Answer, Reload, State, Status};

use crate::inbox::{RequestInbox, Taken};
use crate::judge::{Capabilities, Judgement, Offer, Plan, Timing, judge};
use watch::Watch;

/// Requests that are answered in one go at most, so that a flood cannot keep the session's own events waiting.
const AT_ONCE: usize = 16;

/// Handles the requests of the sessions one publisher publishes, one after the other.
pub struct RequestHandler {
    folder: PathBuf,
    processes: Box<dyn Processes>,
    open: Option<Open>,
    notes: Vec<String>,
    /// What was said last about a folder that cannot be used; said again only when it changes.
    trouble: Option<String>,
}

/// The requests of the session that is published now.
struct Open {
    name: String,
    inbox: RequestInbox,
    watch: Watch,
    /// A switch whose outcome the agent has not reported yet.
    pending: Option<Pending>,
    /// Answered requests whose answer is not on disk yet.
    answered: Vec<Taken>,
    next_look: Duration,
}

struct Pending {
    taken: Taken,
    plan: Plan,
    until: Duration,
}

impl RequestHandler {
    /// A handler of the requests in this folder; nothing is read yet.
    #[must_use]
    pub fn new(folder: PathBuf, processes: Box<dyn Processes>) -> Self {
        Self { folder, processes, open: None, notes: Vec::new(), trouble: None }
    }

    /// Does what is due and gives what the agent is to do now.
    pub fn tick(&mut self, publisher: &mut Publisher, now: Now) -> Vec<Order> {
        let mut orders = Vec::new();
        if publisher.capabilities().is_some() && self.follow(publisher, now) {
            self.late(publisher, now);
            self.look(publisher, now, &mut orders);
            orders.extend(self.due_reload(publisher, now));
            self.finish(publisher, now);
        }
        orders
    }

    /// The agent's answer to a switch.
    pub fn applied(&mut self, id: &str, outcome: Result<(), String>, publisher: &mut Publisher, now: Now) {
        let Some(open) = &mut self.open else { return };
        let Some(pending) = open.pending.take_if(|pending| pending.plan.id == id) else { return };
        let (ok, message) = match &outcome {
            Ok(()) => pending.plan.done(),
            Err(why) => pending.plan.failed(why),
        };
        let reload = ok && pending.plan.reload;
        self.answer(pending.taken, pending.plan.id, ok, message, reload, publisher, now);
        self.finish(publisher, now);
    }

    /// The session ends: what was taken and not answered has nobody to be answered by any more. A kept session's
    /// next publisher finds it and answers.
    pub fn close(&mut self, keep: bool) {
        let Some(mut open) = self.open.take() else { return };
        if keep {
            return;
        }
        let taken = open.answered.drain(..).chain(open.pending.take().map(|pending| pending.taken));
        for taken in taken.collect::<Vec<_>>() {
            self.notes.extend(open.inbox.done(&taken).err().map(|error| error.to_string()));
        }
    }

    /// The monotonic time at which [`RequestHandler::tick`] has something to do.
    pub fn deadline(&self) -> Option<Duration> {
        let open = self.open.as_ref()?;
        let late = open.pending.as_ref().map_or(Duration::MAX, |pending| pending.until);
        Some(open.next_look.min(late))
    }

    /// Becomes readable when something happened in the folder.
    pub fn wakes(&self) -> Option<BorrowedFd<'_>> {
        self.open.as_ref()?.watch.fd()
    }

    /// What a person should hear of since the last call.
    pub fn notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// Follows the publisher from session to session; false when there is none whose requests are ours.
    fn follow(&mut self, publisher: &Publisher, now: Now) -> bool {
        let Some(name) = publisher.owned_name() else {
            self.open = None;
            return false;
        };
        if self.open.as_ref().is_some_and(|open| open.name == name) {
            return true;
        }
        self.open = None;
        match crate::folder(&self.folder) {
            Ok(dir) => {
                let watch = Watch::of(dir.path());
                let inbox = RequestInbox::new(dir, name);
                let next_look = now.mono;
                self.open =
                    Some(Open { name: name.to_owned(), inbox, watch, pending: None, answered: Vec::new(), next_look });
                true
            }
            Err(error) => {
                self.note_once(&error.to_string());
                false
            }
        }
    }

    fn note_once(&mut self, message: &str) {
        if self.trouble.as_deref() != Some(message) {
            self.trouble = Some(message.to_owned());
            self.notes.push(message.to_owned());
        }
    }

    /// An agent that does not tell the outcome in time has failed.
    fn late(&mut self, publisher: &mut Publisher, now: Now) {
        let over = |pending: &Pending| now.mono >= pending.until;
        let Some(id) =
            self.open.as_ref().and_then(|open| open.pending.as_ref()).filter(|p| over(p)).map(|p| p.plan.id.clone())
        else {
            return;
        };
        self.applied(&id, Err("the agent did not answer in time".into()), publisher, now);
    }

    /// Takes what waits, when it is time or the folder changed. One switch at a time is with the agent.
    fn look(&mut self, publisher: &mut Publisher, now: Now, orders: &mut Vec<Order>) {
        let Some(open) = &mut self.open else { return };
        let changed = open.watch.changed();
        if !changed && now.mono < open.next_look {
            return;
        }
        let slow = now.mono >= open.next_look;
        open.next_look = now.mono + limits::POLL_INTERVAL;
        if slow {
            // A folder that was removed and made again is another one to the system.
            open.watch.renew(open.inbox.dir().path());
            let processes = &*self.processes;
            let left = open.inbox.leftovers(|pid| processes.is_missing(pid)).unwrap_or_default();
            for taken in left {
                self.consider(taken, publisher, now, orders);
            }
        }
        for _ in 0..AT_ONCE {
            let Some(open) = &mut self.open else { return };
            if open.pending.is_some() {
                return;
            }
            match open.inbox.take() {
                Ok(Some(taken)) => self.consider(taken, publisher, now, orders),
                Ok(None) => {
                    self.trouble = None;
                    return;
                }
                Err(error) => return self.note_once(&error.to_string()),
            }
        }
        if let Some(open) = &mut self.open {
            // There may be more: look again as soon as the session's own events had their turn.
            open.next_look = now.mono;
        }
    }

    fn consider(&mut self, taken: Taken, publisher: &mut Publisher, now: Now, orders: &mut Vec<Order>) {
        let started = publisher.status().and_then(started).unwrap_or_default();
        let timing =
            Timing { written: taken.written, now: now.wall.epoch_ms(), started, interrupted: taken.interrupted };
        let offers = publisher.capabilities().map(offers).unwrap_or_default();
        let judgement = judge(taken.request.clone(), &timing, &offers, &|id: &str| publisher.answered(id).is_some());
        match judgement {
            Judgement::Repeat { id } => {
                if let Some(answer) = publisher.answered(&id).cloned() {
                    publisher.answer(answer);
                }
                if let Some(open) = &mut self.open {
                    open.answered.push(taken);
                }
            }
            Judgement::Answer { id, ok, message } => self.answer(taken, id, ok, message, false, publisher, now),
            Judgement::Run(plan) if plan.switches() => {
                let mut order = SwitchOrder::new();
                order.id.clone_from(&plan.id);
                order.tools = Named(plan.tools.clone());
                order.skills = Named(plan.skills.clone());
                orders.push(Order::Switch(order));
                if let Some(open) = &mut self.open {
                    open.pending = Some(Pending { taken, plan, until: now.mono + limits::APPLY_TIMEOUT });
                }
            }
            Judgement::Run(plan) => {
                let (ok, message) = plan.done();
                self.answer(taken, plan.id, ok, message, plan.reload, publisher, now);
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "an answer has these parts, and they have no other life")]
    fn answer(
        &mut self,
        taken: Taken,
        id: String,
        ok: bool,
        message: String,
        reload: bool,
        publisher: &mut Publisher,
        now: Now,
    ) {
        let mut answer = Answer::new();
        answer.id = id;
        answer.ok = ok;
        answer.message = message;
        answer.at = Some(now.wall);
        answer.reload = reload.then_some(Reload::Due);
        publisher.answer(answer);
        if let Some(open) = &mut self.open {
            open.answered.push(taken);
        }
    }

    /// A pending reload is triggered once the session is idle; it is recorded as done on disk first.
    fn due_reload(&mut self, publisher: &mut Publisher, now: Now) -> Option<Order> {
        let open = self.open.as_ref()?;
        let status = publisher.status()?;
        if status.state != State::Idle || open.pending.is_some() {
            return None;
        }
        let due: Vec<Answer> =
            status.recent_requests.iter().rev().filter(|answer| answer.reload == Some(Reload::Due)).cloned().collect();
        let id = due.last()?.id.clone();
        // One reload serves all pending requests for one.
        let mark = |publisher: &mut Publisher, reload: Reload| {
            for answer in &due {
                let mut answer = answer.clone();
                answer.reload = Some(reload);
                publisher.answer(answer);
            }
        };
        mark(publisher, Reload::Done);
        publisher.flush(now);
        if !publisher.is_written() {
            // Nobody could tell afterwards that it ran: it waits for a disk that takes the mark.
            mark(publisher, Reload::Due);
            return None;
        }
        let mut order = ReloadOrder::new();
        order.id = id;
        Some(Order::Reload(order))
    }

    /// Lets the taken files of answered requests go once the answers are on disk.
    fn finish(&mut self, publisher: &mut Publisher, now: Now) {
        let Some(open) = &mut self.open else { return };
        if open.answered.is_empty() {
            return;
        }
        publisher.flush(now);
        if !publisher.is_written() {
            return;
        }
        for taken in std::mem::take(&mut open.answered) {
            self.notes.extend(open.inbox.done(&taken).err().map(|error| error.to_string()));
        }
    }
}

fn started(status: &Status) -> Option<i64> {
    status.started_at.map(|at| at.epoch_ms())
}

fn offers(event: &CapabilitiesEvent) -> Capabilities {
    let tool = |tool: &jig_session_schema::event::CapabilityTool| Offer {
        name: tool.name.clone(),
        on: tool.on,
        hidden: tool.hidden == Some(true),
    };
    let skill = |skill: &jig_session_schema::event::CapabilitySkill| Offer {
        name: skill.name.clone(),
        on: skill.on,
        hidden: false,
    };
    Capabilities {
        tools: event.tools.iter().map(tool).collect(),
        skills: event.skills.iter().map(skill).collect(),
        accepts: event.accepts.iter().map(|word| word.as_str().to_owned()).collect(),
    }
}
