//! The publisher against a real folder, with a clock and a process table of the test's own.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use jig_session_liveness::Verdict;
use jig_session_schema::event::Event;
use jig_session_schema::places::{Environment, Places};
use jig_session_schema::status::{AgentName, Answer, Process, Status};
use jig_session_schema::time::Timestamp;
use serde_json::{Value, json};

use super::{Mode, Publisher, Refused, Setup};
use crate::Now;
use crate::around::Config;
use crate::processes::{Ancestor, Processes};

const BEGAN: i64 = 1_795_976_300_000;

/// The processes that there are, each by its id: whether it lives, and what is above it.
#[derive(Default)]
struct Table {
    verdicts: HashMap<u32, Verdict>,
    above: HashMap<u32, Vec<Ancestor>>,
    terminals: HashMap<u32, u64>,
}

#[derive(Clone, Default)]
struct Fake(Rc<RefCell<Table>>);

fn start_of(pid: u32) -> String {
    format!("linux:{}", pid * 10)
}

impl Processes for Fake {
    fn identity(&self, pid: u32) -> Option<Process> {
        Some(Process::new().start(Some(start_of(pid))))
    }

    fn verdict(&self, record: &Status) -> Verdict {
        let known = record.pid.and_then(|pid| self.0.borrow().verdicts.get(&pid).copied());
        known.unwrap_or(Verdict::Alive)
    }

    fn ancestors(&self, pid: u32) -> Vec<Ancestor> {
        self.0.borrow().above.get(&pid).cloned().unwrap_or_default()
    }

    fn terminal(&self, pid: u32) -> Option<u64> {
        self.0.borrow().terminals.get(&pid).copied()
    }

    fn is_gone(&self, pid: u32) -> bool {
        self.0.borrow().verdicts.get(&pid) == Some(&Verdict::Gone)
    }
}

/// A state folder and the processes around it.
struct World {
    dir: tempfile::TempDir,
    table: Fake,
}

impl World {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), table: Fake::default() }
    }

    fn judge(&self, pid: u32, verdict: Verdict) {
        self.table.0.borrow_mut().verdicts.insert(pid, verdict);
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
            config: Config::default(),
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
        names.sort();
        names
    }
}

/// So many milliseconds after the session began.
fn at(ms: u64) -> Now {
    let wall = Timestamp::from_epoch_ms(BEGAN + i64::try_from(ms).unwrap());
    Now { wall, mono: Duration::from_millis(ms) }
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

#[test]
fn a_new_session_is_written_at_once_with_the_agents_process() {
    let world = World::new();
    begun(&world, "s-1", 100, 0);
    let document = world.read("s-1").unwrap();
    for (field, right) in [
        ("schema", json!(1)),
        ("session", json!("s-1")),
        ("pid", json!(100)),
        ("process", json!({"start": start_of(100)})),
        ("agent", json!({"name": "acme"})),
        ("cwd", json!("/nonexistent/app")),
        ("agentDir", json!("")),
        ("state", json!("idle")),
        ("stateFrom", json!("event")),
        ("startedAt", json!(at(0).wall.to_string())),
        ("updatedAt", json!(at(0).wall.to_string())),
        ("terminal", Value::Null),
        ("outputs", json!([])),
    ] {
        assert_eq!(document[field], right, "{field}");
    }
}

#[test]
fn a_burst_is_written_every_hundred_milliseconds_and_its_last_state_lands() {
    let world = World::new();
    let mut publisher = begun(&world, "s-1", 100, 0);
    let mut versions = Vec::new();
    for ms in 1..=250 {
        told(&mut publisher, &count(ms), ms);
        versions.push(world.read("s-1").unwrap()["background"].clone());
    }
    versions.dedup();
    assert_eq!(versions, [Value::Null, json!(100), json!(200)]);
    let due = publisher.deadline().unwrap();
    assert_eq!(due, Duration::from_millis(300));
    publisher.tick(at(300));
    assert_eq!(world.read("s-1").unwrap()["background"], 250);
}

#[test]
fn nothing_is_written_when_nothing_changed() {
    let world = World::new();
    let mut publisher = begun(&world, "s-1", 100, 0);
    told(&mut publisher, &count(1), 200);
    let before = fs::read(world.path("s-1")).unwrap();
    told(&mut publisher, &count(1), 400);
    publisher.tick(at(5_000));
    assert_eq!(fs::read(world.path("s-1")).unwrap(), before, "`updatedAt` stands too");
}

#[test]
fn without_changes_only_the_look_at_the_own_file_is_due() {
    let world = World::new();
    assert_eq!(world.publisher().deadline(), None);
    assert_eq!(begun(&world, "s-1", 100, 500).deadline(), Some(Duration::from_millis(10_500)));
}

#[test]
fn a_vanished_file_is_back_within_ten_seconds() {
    let world = World::new();
    let mut publisher = begun(&world, "s-1", 100, 0);
    told(&mut publisher, &turn("start"), 200);
    let before = world.read("s-1").unwrap();
    fs::remove_file(world.path("s-1")).unwrap();
    publisher.tick(publisher_due(&publisher));
    let mut after = world.read("s-1").unwrap();
    after["updatedAt"] = before["updatedAt"].clone();
    assert_eq!(after, before);
    fs::remove_dir_all(world.dir.path().join("state")).unwrap();
    publisher.tick(publisher_due(&publisher));
    assert!(world.read("s-1").is_some(), "the folder is made again too");
}

/// The moment at which the publisher wants to be called.
fn publisher_due(publisher: &Publisher) -> Now {
    let due = publisher.deadline().unwrap();
    at(u64::try_from(due.as_millis()).unwrap())
}

#[test]
fn a_file_that_was_damaged_is_written_again() {
    let world = World::new();
    let mut publisher = begun(&world, "s-1", 100, 0);
    fs::write(world.path("s-1"), "").unwrap();
    publisher.tick(at(10_000));
    assert_eq!(world.read("s-1").unwrap()["session"], "s-1");
}

#[test]
fn the_end_removes_the_file_and_keep_leaves_it() {
    let world = World::new();
    let mut publisher = begun(&world, "s-1", 100, 0);
    told(&mut publisher, &count(3), 1);
    told(&mut publisher, &event(json!({"event": "end", "keep": true})), 2);
    assert_eq!(world.read("s-1").unwrap()["background"], 3, "the last state is on disk");
    let mut publisher = begun(&world, "s-1", 100, 1000);
    told(&mut publisher, &event(json!({"event": "end"})), 1001);
    assert_eq!(world.names(), Vec::<String>::new());
}

#[test]
fn another_id_ends_the_former_session() {
    let world = World::new();
    let mut publisher = begun(&world, "s-1", 100, 0);
    told(&mut publisher, &session("s-2", 100), 1);
    assert_eq!(world.names(), ["s-2.json"]);
}

#[test]
fn events_before_a_session_are_refused() {
    let world = World::new();
    let mut publisher = world.publisher();
    assert_eq!(publisher.feed(&turn("start"), at(0)), Err(Refused::NotBegun));
    assert_eq!(publisher.feed(&event(json!({"event": "end"})), at(0)), Err(Refused::NotBegun));
    assert_eq!(publisher.feed(&event(json!({"event": "later"})), at(0)), Ok(()));
    assert_eq!(publisher.feed(&session("", 100), at(0)), Err(Refused::EmptyId));
    let without = event(json!({"event": "session", "schema": 1, "session": "s-1"}));
    assert_eq!(publisher.feed(&without, at(0)), Err(Refused::NoProcess));
    told(&mut publisher, &session("s-1", 100), 0);
    for call in [json!({"event": "tool", "phase": "start", "id": "c"}), json!({"event": "tool", "phase": "end"})] {
        assert_eq!(publisher.feed(&event(call), at(0)), Err(Refused::NoTool));
    }
}

#[test]
fn the_agent_is_the_nearest_ancestor_that_is_no_shell_or_wrapper() {
    let world = World::new();
    let above = |pid: u32, name: &str| Ancestor { pid, name: name.into(), ..Ancestor::default() };
    let line = vec![above(800, "bash"), above(700, "timeout"), above(600, "acme"), above(500, "zsh"), above(1, "init")];
    world.table.0.borrow_mut().above.insert(900, line);
    let mut publisher = world.publisher();
    told(&mut publisher, &event(json!({"event": "session", "schema": 1, "session": "s-1"})), 0);
    assert_eq!(world.read("s-1").unwrap()["pid"], 600);
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

#[test]
fn the_document_of_the_same_process_is_continued() {
    let world = World::new();
    let before = left(&world);
    let mut publisher = begun(&world, "s-1", 100, 60_000);
    let after = world.read("s-1").unwrap();
    for field in ["startedAt", "process", "recent", "usage", "outputs", "lastRequest", "recentRequests", "state", "stateAt", "ticket"] {
        assert_eq!(after[field], before[field], "{field}");
    }
    told(&mut publisher, &event(json!({"event": "tool", "phase": "end", "id": "c1"})), 60_200);
    assert_eq!(world.read("s-1").unwrap()["recent"][0]["outcome"], "ok");
    assert!(publisher.answered("r1").is_some());
}

#[test]
fn a_document_that_is_continued_and_not_changed_is_not_written_again() {
    let world = World::new();
    drop(begun(&world, "s-1", 100, 0));
    let before = fs::read(world.path("s-1")).unwrap();
    let mut hook = world.publisher_with(Mode::OneShot { begins: false }, &[]);
    told(&mut hook, &session("s-1", 100), 60_000);
    hook.flush(at(60_000));
    assert_eq!(fs::read(world.path("s-1")).unwrap(), before);
    told(&mut hook, &count(1), 60_001);
    assert_eq!(world.read("s-1").unwrap()["background"], 1);
}

#[test]
fn a_document_that_no_reader_would_take_is_cut_or_not_written() {
    let world = World::new();
    let mut publisher = begun(&world, "s-1", 100, 0);
    let files: Vec<_> = (0..1000).map(|n| json!({"path": format!("/{n}/{}", "x".repeat(1100)), "tokens": 1})).collect();
    let detail = json!({"at": at(0).wall.to_string(), "basis": "estimate", "window": 1, "total": 1, "parts": [], "tools": [],
        "skills": [], "contextFiles": files});
    told(&mut publisher, &event(json!({"event": "context", "tokens": 1, "window": 2, "detail": detail})), 500);
    let document = world.read("s-1").unwrap();
    assert_eq!((&document["context"]["tokens"], &document["contextDetail"]), (&json!(1), &Value::Null));
    let name = json!({"event": "session", "schema": 1, "session": "s-1", "name": "x".repeat(1 << 20)});
    told(&mut publisher, &event(name), 1000);
    assert_eq!((world.read("s-1").unwrap(), publisher.notes().len()), (document, 1));
}

#[test]
fn nothing_is_taken_over_from_another_process() {
    for verdict in [Verdict::Gone, Verdict::Reused] {
        let world = World::new();
        left(&world);
        world.judge(100, verdict);
        begun(&world, "s-1", 101, 60_000);
        let after = world.read("s-1").unwrap();
        assert_eq!(after["startedAt"], json!(at(60_000).wall.to_string()), "{verdict:?}");
        for (field, right) in [("recent", json!([])), ("outputs", json!([])), ("lastRequest", Value::Null), ("pid", json!(101)), ("ticket", Value::Null)] {
            assert_eq!(after[field], right, "{field} {verdict:?}");
        }
    }
}

#[test]
fn a_new_process_in_the_same_publisher_begins_anew() {
    let world = World::new();
    let mut publisher = begun(&world, "s-1", 100, 0);
    told(&mut publisher, &count(3), 1);
    told(&mut publisher, &session("s-1", 101), 500);
    let document = world.read("s-1").unwrap();
    assert_eq!((&document["pid"], document.get("background")), (&json!(101), None));
}

#[test]
fn of_two_live_processes_with_one_id_the_newer_owns_the_file() {
    let world = World::new();
    let mut older = begun(&world, "s-1", 100, 0);
    let mut newer = begun(&world, "s-1", 101, 1_000);
    assert_eq!(world.read("s-1").unwrap()["pid"], 101);
    told(&mut older, &count(1), 1_200);
    older.tick(at(20_000));
    assert_eq!((world.read("s-1").unwrap()["pid"].clone(), older.owned_name()), (json!(101), None));
    told(&mut newer, &count(2), 20_100);
    assert_eq!((world.read("s-1").unwrap()["background"].clone(), newer.owned_name()), (json!(2), Some("s-1")));
    older.close(false, at(20_200));
    assert!(world.read("s-1").is_some(), "what another owns is not removed");
    newer.close(false, at(20_300));
    assert!(world.read("s-1").is_none());
}

#[test]
fn a_session_that_begins_takes_the_file_even_when_the_clock_was_set_back() {
    let world = World::new();
    drop(begun(&world, "s-1", 100, 5_000));
    begun(&world, "s-1", 101, 1_000);
    assert_eq!(world.read("s-1").unwrap()["pid"], 101);
}

#[test]
fn the_older_process_writes_again_once_the_owner_is_gone() {
    let world = World::new();
    let mut older = begun(&world, "s-1", 100, 0);
    let newer = begun(&world, "s-1", 101, 1_000);
    told(&mut older, &count(7), 2_000);
    drop(newer);
    older.tick(at(12_000));
    assert_eq!(world.read("s-1").unwrap()["pid"], 101, "it may still live");
    world.judge(101, Verdict::Gone);
    older.tick(at(22_000));
    let document = world.read("s-1").unwrap();
    assert_eq!((&document["pid"], &document["background"]), (&json!(100), &json!(7)));
}

#[test]
fn a_race_of_two_owners_ends_with_the_newer() {
    let world = World::new();
    let mut older = begun(&world, "s-1", 100, 0);
    told(&mut older, &count(1), 500);
    let text = fs::read(world.path("s-1")).unwrap();
    let mut newer = begun(&world, "s-1", 101, 1_000);
    // The older one's write was under way when the newer one began.
    fs::write(world.path("s-1"), text).unwrap();
    newer.tick(at(11_000));
    assert_eq!(world.read("s-1").unwrap()["pid"], 101);
    older.tick(at(11_500));
    assert_eq!(world.read("s-1").unwrap()["pid"], 101);
}

#[test]
fn a_document_of_a_newer_format_is_left_alone() {
    let world = World::new();
    let mut publisher = begun(&world, "s-1", 100, 0);
    let newer = json!({"schema": 2, "session": "s-1"}).to_string();
    fs::write(world.path("s-1"), &newer).unwrap();
    told(&mut publisher, &count(1), 500);
    publisher.close(false, at(600));
    assert_eq!(fs::read_to_string(world.path("s-1")).unwrap(), newer);
}

#[test]
fn two_ids_with_one_safe_name_have_two_files() {
    let world = World::new();
    let mut first = begun(&world, "a/b", 100, 0);
    let mut second = begun(&world, "a_b", 101, 1);
    let hashed = jig_session_schema::names::hashed_name("a_b").unwrap();
    assert_eq!((first.owned_name(), second.owned_name()), (Some("a_b"), Some(hashed.as_str())));
    told(&mut first, &count(1), 500);
    told(&mut second, &count(2), 500);
    assert_eq!((world.read("a_b").unwrap()["session"].clone(), world.read(&hashed).unwrap()["session"].clone()), (json!("a/b"), json!("a_b")));
    second.close(true, at(600));
    first.close(false, at(600));
    assert_eq!(begun(&world, "a_b", 101, 700).owned_name(), Some(hashed.as_str()), "its own file is found again");
}

#[test]
fn the_name_of_a_session_that_is_over_is_free() {
    let world = World::new();
    drop(begun(&world, "a/b", 100, 0));
    world.judge(100, Verdict::Gone);
    assert_eq!(begun(&world, "a_b", 101, 1).owned_name(), Some("a_b"));
}

#[test]
fn what_crashed_sessions_left_is_removed_at_the_start() {
    let world = World::new();
    for (id, pid, verdict) in [
        ("gone", 1, Verdict::Gone),
        ("reused", 2, Verdict::Reused),
        ("alive", 3, Verdict::Alive),
        ("unverified", 4, Verdict::AliveUnverified),
        ("unknown", 5, Verdict::Unknown),
    ] {
        drop(begun(&world, id, pid, 0));
        world.judge(pid, verdict);
    }
    let sessions = world.dir.path().join("state/sessions");
    fs::write(sessions.join("broken.json"), "{").unwrap();
    fs::write(sessions.join(".s.json.tmp-1-0123abcd"), "").unwrap();
    fs::write(sessions.join(".s.json.tmp-3-0123abcd"), "").unwrap();
    let mut publisher = begun(&world, "own", 100, 1);
    let right = [".s.json.tmp-3-0123abcd", "alive.json", "broken.json", "own.json", "unknown.json", "unverified.json"];
    assert_eq!(world.names(), right);
    assert_eq!(publisher.notes(), Vec::<String>::new());
}

#[test]
fn a_one_shot_use_sweeps_nothing_and_takes_nothing_from_a_live_owner() {
    let world = World::new();
    drop(begun(&world, "gone", 1, 0));
    drop(begun(&world, "s-1", 100, 0));
    world.judge(1, Verdict::Gone);
    let mut hook = world.publisher_with(Mode::OneShot { begins: false }, &[]);
    told(&mut hook, &session("s-1", 101), 500);
    hook.flush(at(500));
    assert_eq!((world.read("s-1").unwrap()["pid"].clone(), hook.owned_name()), (json!(100), None));
    assert_eq!(world.names(), ["gone.json", "s-1.json"]);
    let mut start = world.publisher_with(Mode::OneShot { begins: true }, &[]);
    told(&mut start, &session("s-1", 101), 600);
    assert_eq!(world.read("s-1").unwrap()["pid"], 101);
    assert_eq!(world.names(), ["gone.json", "s-1.json"]);
}

#[test]
fn a_one_shot_use_goes_on_where_the_last_one_ended() {
    let world = World::new();
    for (ms, value) in [
        (0, json!({"event": "turn", "phase": "start"})),
        (10, json!({"event": "tool", "phase": "start", "id": "c1", "tool": "read"})),
        (20, json!({"event": "tool", "phase": "end", "id": "c1"})),
    ] {
        let mut hook = world.publisher_with(Mode::OneShot { begins: false }, &[]);
        hook.feed(&session("s-1", 100), at(ms)).unwrap();
        hook.feed_from(&event(value), &jig_session_schema::status::StateFrom::hook("X").unwrap(), at(ms)).unwrap();
        hook.flush(at(ms));
        hook.close(true, at(ms));
    }
    let document = world.read("s-1").unwrap();
    assert_eq!((&document["state"], &document["stateFrom"]), (&json!("busy"), &json!("hook:X")));
    assert_eq!((&document["recent"][0]["outcome"], &document["startedAt"]), (&json!("ok"), &json!(at(0).wall.to_string())));
}

#[test]
fn a_child_of_a_live_session_writes_nothing() {
    // The parent's process, whether it has a terminal, and whether the agent below it has the same, another or none.
    for (parent, terminal, own, child) in [
        (100, Some(34), None, true),
        (100, Some(34), Some(34), true),
        (100, Some(34), Some(35), false),
        (100, None, None, true),
        (100, None, Some(35), false),
        (101, Some(34), None, false),
    ] {
        let world = World::new();
        let keeper = begun(&world, "parent", 100, 0);
        let above = Ancestor { pid: parent, name: "acme".into(), start: Some(start_of(parent)), terminal };
        {
            let mut table = world.table.0.borrow_mut();
            table.above.insert(200, vec![above]);
            table.terminals.extend(own.map(|own| (200, own)));
        }
        let mut publisher = begun(&world, "below", 200, 1);
        told(&mut publisher, &turn("start"), 500);
        publisher.tick(at(60_000));
        let case = format!("{parent} {terminal:?} {own:?}");
        assert_eq!((world.read("below").is_none(), publisher.owned_name().is_none(), publisher.path().is_none()), (child, child, child), "{case}");
        publisher.close(false, at(60_001));
        assert!(world.read("parent").is_some());
        drop(keeper);
    }
}

#[test]
fn a_process_that_only_has_the_parents_number_is_no_parent() {
    let world = World::new();
    drop(begun(&world, "parent", 100, 0));
    let above = Ancestor { pid: 100, name: "acme".into(), start: Some("linux:7".into()), terminal: None };
    world.table.0.borrow_mut().above.insert(200, vec![above]);
    begun(&world, "below", 200, 1);
    assert!(world.read("below").is_some());
}

#[test]
fn a_marked_child_writes_nothing() {
    for marker in ["PI_SUBAGENT_RUN_ID", "PI_SUBAGENT_CHILD_AGENT", "PI_SUBAGENT_CHILD_INDEX", "PI_CREW_WORKER"] {
        let world = World::new();
        let mut publisher = world.publisher_with(Mode::Lasting, &[(marker, "1")]);
        told(&mut publisher, &session("s-1", 100), 0);
        publisher.close(false, at(1));
        assert_eq!(world.names(), Vec::<String>::new(), "{marker}");
    }
}

#[test]
fn the_terminal_is_named_by_its_outermost_host() {
    let all = [("TMUX_PANE", "%3"), ("KITTY_WINDOW_ID", "4"), ("WEZTERM_PANE", "5"), ("HC_TERMINAL_ID", "t7")];
    for (known, value, from) in [(4, "t7", "HC_TERMINAL_ID"), (3, "5", "WEZTERM_PANE"), (2, "4", "KITTY_WINDOW_ID"), (1, "%3", "TMUX_PANE")] {
        let world = World::new();
        let mut publisher = world.publisher_with(Mode::Lasting, &all[..known]);
        told(&mut publisher, &session("s-1", 100), 0);
        let document = world.read("s-1").unwrap();
        assert_eq!((&document["terminal"], &document["terminalFrom"]), (&json!(value), &json!(from)));
        assert_eq!(document["tmuxPane"], "%3", "whatever names the terminal");
    }
}

#[test]
fn the_tmux_socket_is_the_servers() {
    let world = World::new();
    let mut publisher = world.publisher_with(Mode::Lasting, &[("TMUX_PANE", "%3"), ("TMUX", "/tmp/tmux-0/default,123,0")]);
    told(&mut publisher, &session("s-1", 100), 0);
    assert_eq!(world.read("s-1").unwrap()["tmuxSocket"], "/tmp/tmux-0/default");
}

#[test]
fn a_terminal_that_the_event_names_is_not_mixed_with_the_publishers() {
    for (given, terminal, from) in [
        (json!({"terminal": "x1"}), json!("x1"), Value::Null),
        (json!({"terminal": "x1", "terminalFrom": "X"}), json!("x1"), json!("X")),
        (json!({"terminal": null}), Value::Null, Value::Null),
    ] {
        let world = World::new();
        let mut publisher = world.publisher_with(Mode::Lasting, &[("HC_TERMINAL_ID", "t7")]);
        let mut begin = json!({"event": "session", "schema": 1, "session": "s-1", "pid": 100});
        begin.as_object_mut().unwrap().extend(given.as_object().unwrap().clone());
        told(&mut publisher, &event(begin), 0);
        let document = world.read("s-1").unwrap();
        assert_eq!((&document["terminal"], &document["terminalFrom"]), (&terminal, &from), "{given}");
    }
}

#[test]
fn a_folder_that_cannot_be_used_is_told_once_and_tried_again() {
    let world = World::new();
    let sessions = world.dir.path().join("state/sessions");
    fs::create_dir(world.dir.path().join("state")).unwrap();
    fs::write(&sessions, "in the way").unwrap();
    let mut publisher = begun(&world, "s-1", 100, 0);
    let notes = publisher.notes();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains(sessions.to_str().unwrap()), "it names the path: {notes:?}");
    let mut tries = Vec::new();
    for _ in 0..8 {
        let now = publisher_due(&publisher);
        tries.push(now.mono.as_secs());
        told(&mut publisher, &count(tries.len() as u64), u64::try_from(now.mono.as_millis()).unwrap());
    }
    assert_eq!(publisher.notes(), Vec::<String>::new(), "the same error is not told again");
    assert!(tries.windows(2).all(|pair| pair[1] - pair[0] <= 30), "{tries:?}");
    fs::remove_file(&sessions).unwrap();
    publisher.tick(at(1000 * (tries[7] + 31)));
    assert_eq!(world.read("s-1").unwrap()["background"], 8);
    assert_eq!(publisher.notes().len(), 1, "that it works again is told too");
}

#[test]
fn another_error_is_told() {
    let world = World::new();
    let mut publisher = begun(&world, "s-1", 100, 0);
    publisher.notes();
    // A folder under the file's name: the rename fails, and not for want of space.
    fs::remove_file(world.path("s-1")).unwrap();
    fs::create_dir(world.path("s-1")).unwrap();
    told(&mut publisher, &count(1), 500);
    let notes = publisher.notes();
    assert_eq!(notes.len(), 1);
    assert!(notes[0].contains("s-1.json"), "{notes:?}");
    assert_eq!(world.names(), ["s-1.json"], "no temporary file stays");
}

#[cfg(unix)]
#[test]
fn only_this_user_can_read_what_is_written() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    begun(&world, "s-1", 100, 0);
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(world.path("s-1")), mode(world.dir.path().join("state/sessions"))), (0o600, 0o700));
}
