//! The reducer: one event and one session in, the session after it out. Pure; what it cannot know is handed in.

mod calls;
pub(crate) mod outputs;
mod state;
mod usage;

use std::path::{Path, PathBuf};

use jig_session_schema::event::{Event, SessionEvent};
use jig_session_schema::limits;
use jig_session_schema::shape::Patch;
use jig_session_schema::status::{Answer, StateFrom, Status};
use jig_session_schema::time::Timestamp;

use crate::around::{Named, Seen};
use crate::bounds;

/// One session as its publisher holds it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Session {
    /// The document: all that outlives this publisher.
    pub status: Status,
    /// What only a lasting publisher can hold.
    pub memory: Memory,
}

/// What is known beside the document; it is lost with the publisher, and the document is right without it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// Decisions whose call has not started yet, the oldest first.
    decisions: std::collections::VecDeque<calls::Early>,
    /// The call that waits for a person.
    waiting: Option<String>,
    /// What events said about the ticket.
    pub ticket: Named,
    /// Paths that no document can hold, for a line in the log.
    pub(crate) left_out: Vec<bounds::LeftOut>,
}

/// How an event's place among the others is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Events of one stream happened in the order in which they arrive, whatever a wall clock says.
    #[default]
    Arrival,
    /// Each event comes from a process of its own, and one may overtake another: they are put in order by the
    /// machine's boot clock, in milliseconds. Without it, they are taken as they arrive.
    BootClock(Option<u64>),
}

/// What an event is applied with.
#[derive(Clone)]
pub struct Occurrence<'a> {
    /// When it happened.
    pub at: Timestamp,
    /// How its place among the others is known.
    pub order: Order,
    /// What sets `stateFrom`: `event`, or `hook:` and the hook's event.
    pub from: StateFrom,
    /// The root of the repository that holds a path.
    pub repo: &'a dyn Fn(&Path) -> Option<PathBuf>,
}

impl Session {
    /// Applies one event to a session that has begun. `session` changes the fields that it gives; whether it begins
    /// another session is the publisher's to say. `end` and `applied` are the publisher's too, and change nothing here.
    pub fn apply(&mut self, event: &Event, occurrence: &Occurrence<'_>) {
        match event {
            Event::Session(event) => self.given(event),
            Event::Model(event) => {
                event.model.clone().apply(&mut self.status.model);
                event.thinking.clone().apply(&mut self.status.thinking);
            }
            Event::Turn(event) => self.turn(event, occurrence),
            Event::Tool(event) => self.tool(event, occurrence),
            Event::Decision(event) => self.decision(event),
            Event::Attention(event) => self.attention(event, occurrence),
            Event::Usage(event) => usage::apply(&mut self.status.usage, event),
            Event::Context(event) => usage::context(&mut self.status, event, occurrence.at),
            Event::Capabilities(event) => {
                let on = event.tools.iter().filter(|tool| tool.on).count();
                self.status.tools.active = Some(on as u64);
                self.status.tools.total = Some(event.tools.len() as u64);
                self.status.accepts = Some(event.accepts.clone());
            }
            Event::Output(event) => self.output(event, occurrence),
            Event::Ticket(event) => self.memory.ticket = event.ticket.clone().map_or(Named::None, Named::Ticket),
            Event::Background(event) => self.status.background = Some(event.count),
            Event::Children(event) => {
                self.status.children.clone_from(&event.children);
                self.status.children.truncate(limits::CHILDREN);
            }
            Event::Progress(event) => self.status.progress = event.percent.map(|percent| percent.min(100)),
            _ => {}
        }
        bounds::document(&mut self.status, &mut self.memory.left_out);
    }

    /// The fields that a `session` event gives: left out is unchanged, null clears.
    fn given(&mut self, event: &SessionEvent) {
        let status = &mut self.status;
        if let Some(cwd) = &event.cwd {
            status.cwd.clone_from(cwd);
        }
        match &event.agent_dir {
            Patch::Keep => {}
            Patch::Clear => status.agent_dir.clear(),
            Patch::Set(dir) => status.agent_dir.clone_from(dir),
        }
        if let Some(agent) = &mut status.agent {
            event.version.clone().apply(&mut agent.version);
        }
        for (given, field) in [
            (&event.name, &mut status.name),
            (&event.transcript, &mut status.transcript),
            (&event.terminal, &mut status.terminal),
            (&event.terminal_from, &mut status.terminal_from),
        ] {
            given.clone().apply(field);
        }
    }

    /// Takes what was found around the session: the ticket, its files, the workflow.
    pub fn around(&mut self, seen: &Seen, repo: &dyn Fn(&Path) -> Option<PathBuf>) {
        self.status.ticket.clone_from(&seen.ticket);
        self.status.workflow.clone_from(&seen.workflow);
        outputs::ticket_files(&mut self.status.outputs, &seen.files, repo);
        bounds::document(&mut self.status, &mut self.memory.left_out);
    }

    /// Records the answer to a request: newest first, one per id.
    pub fn answer(&mut self, answer: Answer) {
        let answer = bounds::answer(answer);
        let recent = &mut self.status.recent_requests;
        recent.retain(|known| known.id != answer.id);
        recent.insert(0, answer.clone());
        recent.truncate(limits::RECENT_REQUESTS);
        self.status.last_request = Some(answer);
    }

    /// The recorded answer to the request with this id.
    #[must_use]
    pub fn answered(&self, id: &str) -> Option<&Answer> {
        self.status.recent_requests.iter().find(|answer| answer.id == id)
    }
}

#[cfg(test)]
mod tests;
