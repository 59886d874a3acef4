//! The publisher against a real folder, with a clock and a process table of the test's own.

mod beginning;
mod bounds;
mod owners;
mod writing;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use jig_session_liveness::fake::{Table, start_of};
use jig_session_liveness::{Process, Verdict, fake};
use jig_session_schema::event::Event;
use jig_session_schema::places::{Environment, Places};
use jig_session_schema::status::{AgentName, Answer};
use jig_session_schema::time::Timestamp;
use serde_json::{Value, json};

use super::{Mode, Publisher, Refused, Setup};
use crate::Now;
use crate::around::Config;

const BEGAN: i64 = 1_795_976_300_000;

/// A state folder and the processes around it.
struct World {
    dir: tempfile::TempDir,
    table: Table,
}

impl World {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), table: Table::new() }
    }

    fn judge(&self, pid: u32, verdict: Verdict) {
        self.table.set(pid, verdict);
    }

    fn publisher_with(&self, mode: Mode, variables: &[(&str, &str)]) -> Publisher {
        let state = self.dir.path().join("state");
        let own = [("HOME", "/nonexistent"), ("JIG_STATE_DIR", state.to_str().unwrap())];
        let environment = Environment::of(own.into_iter().chain(variables.iter().copied()));
        Publisher::new(Setup {
            agent: AgentName::new("acme").unwrap(),
            places: Places::of(&environment),
            environment,
            cwd: PathBuf::from("/nonexistent/app"),
            config: Config { tickets: Some(self.dir.path().join("tickets")), ..Config::default() },
            processes: Box::new(self.table.clone()),
            pid: 900,
            mode,
        })
    }

    fn publisher(&self) -> Publisher {
        self.publisher_with(Mode::Lasting, &[])
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(format!("state/sessions/{name}.json"))
    }

    fn read(&self, name: &str) -> Option<Value> {
        Some(serde_json::from_slice(&fs::read(self.path(name)).ok()?).unwrap())
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dir.path().join("state/sessions")).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| name != jig_session_atomic::MARK);
        names.sort();
        names
    }
}

/// So many milliseconds after the session began.
fn at(ms: u64) -> Now {
    let wall = Timestamp::from_epoch_ms(BEGAN + i64::try_from(ms).unwrap());
    Now { wall, mono: Duration::from_millis(ms), boot_ms: None }
}

fn event(value: Value) -> Event {
    Event::read_value(value).unwrap().value
}

fn session(id: &str, pid: u32) -> Event {
    event(json!({"event": "session", "schema": 1, "session": id, "pid": pid}))
}

fn turn(phase: &str) -> Event {
    event(json!({"event": "turn", "phase": phase}))
}

fn count(count: u64) -> Event {
    event(json!({"event": "background", "count": count}))
}

/// Feeds an event and writes what is due.
fn told(publisher: &mut Publisher, event: &Event, ms: u64) {
    publisher.feed(event, at(ms)).unwrap();
    publisher.tick(at(ms));
}

/// A publisher of `id` for process `pid`, its file written.
fn begun(world: &World, id: &str, pid: u32, ms: u64) -> Publisher {
    let mut publisher = world.publisher();
    told(&mut publisher, &session(id, pid), ms);
    publisher
}

/// The moment at which the publisher wants to be called.
fn publisher_due(publisher: &Publisher) -> Now {
    let due = publisher.deadline().unwrap();
    at(u64::try_from(due.as_millis()).unwrap())
}

/// The document of a run of `s-1` in process 100 that has done something, left by `keep`.
fn left(world: &World) -> Value {
    let mut publisher = begun(world, "s-1", 100, 0);
    for value in [
        json!({"event": "usage", "mode": "add", "input": 7, "cost": 0.5}),
        json!({"event": "tool", "phase": "start", "id": "c1", "tool": "read"}),
        json!({"event": "output", "path": "/a", "action": "written"}),
        json!({"event": "ticket", "ticket": {"key": "A-1"}}),
    ] {
        publisher.feed(&event(value), at(1)).unwrap();
    }
    publisher.answer(Answer::new().id("r1".to_owned()).ok(true).at(Some(at(1).wall)));
    told(&mut publisher, &event(json!({"event": "end", "keep": true})), 2);
    world.read("s-1").unwrap()
}
