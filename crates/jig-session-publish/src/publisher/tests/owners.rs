//! Whose file it is: two live processes, crashed sessions, children.

use super::*;

#[test]
fn nothing_is_taken_over_from_another_process() {
    for verdict in [Verdict::Gone, Verdict::Reused] {
        let world = World::new();
        left(&world);
        world.judge(100, verdict);
        begun(&world, "s-1", 101, 60_000);
        let after = world.read("s-1").unwrap();
        assert_eq!(after["startedAt"], json!(at(60_000).wall.to_string()), "{verdict:?}");
        for (field, right) in [
            ("recent", json!([])),
            ("outputs", json!([])),
            ("lastRequest", Value::Null),
            ("pid", json!(101)),
            ("ticket", Value::Null),
        ] {
            assert_eq!(after[field], right, "{field} {verdict:?}");
        }
    }
}

#[test]
fn of_two_live_processes_with_one_id_the_newer_owns_the_name_and_both_have_a_file() {
    let world = World::new();
    let longer = jig_session_schema::names::hashed_name("s-1").unwrap();
    let pids = || ["s-1", &longer].map(|name| world.read(name).map(|document| document["pid"].clone()));
    let mut older = begun(&world, "s-1", 100, 0);
    let mut newer = begun(&world, "s-1", 101, 1_000);
    assert_eq!(pids(), [Some(json!(101)), Some(json!(100))], "at once, before the older one has looked");
    told(&mut older, &count(1), 1_200);
    older.tick(at(20_000));
    assert_eq!((pids(), older.owned_name()), ([Some(json!(101)), Some(json!(100))], Some(longer.as_str())));
    assert_eq!(world.read(&longer).unwrap()["background"], 1);
    told(&mut newer, &count(2), 20_100);
    assert_eq!((world.read("s-1").unwrap()["background"].clone(), newer.owned_name()), (json!(2), Some("s-1")));
    newer.close(false, at(20_200));
    assert_eq!(pids(), [None, Some(json!(100))], "the older one was there all the time");
    older.close(false, at(20_300));
    assert!(world.names().is_empty());
}

#[test]
fn a_newer_process_that_came_and_went_unseen_leaves_one_file() {
    for looks in [true, false] {
        let world = World::new();
        let mut older = begun(&world, "s-1", 100, 0);
        begun(&world, "s-1", 101, 1_000).close(false, at(1_100));
        assert_eq!(world.names().len(), 1);
        if looks {
            told(&mut older, &count(3), 2_000);
            older.tick(at(12_000));
            assert_eq!(world.names().len(), 1);
            let document = world.read(older.owned_name().unwrap()).unwrap();
            assert_eq!((&document["pid"], &document["background"]), (&json!(100), &json!(3)));
        }
        older.close(false, at(20_000));
        assert!(world.names().is_empty(), "{looks}");
    }
}

#[test]
fn of_three_live_processes_with_one_id_the_two_newest_have_a_file() {
    let world = World::new();
    let mut all = [(100, 0), (101, 1_000), (102, 2_000)].map(|(pid, ms)| begun(&world, "s-1", pid, ms));
    for ms in [20_000, 30_000, 40_000] {
        all.iter_mut().for_each(|publisher| told(publisher, &count(ms), ms));
    }
    let mut pids: Vec<_> =
        world.names().iter().map(|name| world.read(&name.replace(".json", "")).unwrap()["pid"].clone()).collect();
    pids.sort_by_key(ToString::to_string);
    assert_eq!(pids, [101, 102]);
    all.iter_mut().for_each(|publisher| publisher.close(false, at(50_000)));
    assert!(world.names().is_empty());
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
    let document = world.read(older.owned_name().unwrap()).unwrap();
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
fn the_boot_clock_tells_which_began_last_when_the_time_of_day_went_back() {
    let world = World::new();
    let moment = |wall: u64, boot_ms: u64| Now { boot_ms: Some(boot_ms), ..at(wall) };
    let mut older = world.publisher();
    older.feed(&session("s-1", 100), moment(600_000, 50_000)).unwrap();
    older.tick(moment(600_000, 50_000));
    let text = fs::read(world.path("s-1")).unwrap();
    // Ten minutes earlier by the clock on the wall, a second later in truth.
    let mut newer = world.publisher();
    newer.feed(&session("s-1", 101), moment(0, 51_000)).unwrap();
    newer.tick(moment(0, 51_000));
    assert_eq!(world.read("s-1").unwrap()["startedClockMs"], 51_000);
    // Both meet the other one's document under their name, as when two writes cross.
    fs::write(world.path("s-1"), text).unwrap();
    newer.tick(moment(11_000, 62_000));
    assert_eq!(world.read("s-1").unwrap()["pid"], 101);
    older.tick(moment(611_000, 62_500));
    assert_eq!((world.read("s-1").unwrap()["pid"].clone(), newer.owned_name()), (json!(101), Some("s-1")));
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
    assert_eq!(
        (world.read("a_b").unwrap()["session"].clone(), world.read(&hashed).unwrap()["session"].clone()),
        (json!("a/b"), json!("a_b"))
    );
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
        ("unverified", 4, Verdict::Unverified),
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
    let mut hook = world.publisher_with(Mode::OneShot { begins: false, clock_ms: None }, &[]);
    told(&mut hook, &session("s-1", 101), 500);
    hook.flush(at(500));
    assert_eq!((world.read("s-1").unwrap()["pid"].clone(), hook.owned_name()), (json!(100), None));
    assert_eq!(world.names(), ["gone.json", "s-1.json"]);
    let mut start = world.publisher_with(Mode::OneShot { begins: true, clock_ms: None }, &[]);
    told(&mut start, &session("s-1", 101), 600);
    assert_eq!(world.read("s-1").unwrap()["pid"], 101);
    let longer = format!("{}.json", jig_session_schema::names::hashed_name("s-1").unwrap());
    assert_eq!(world.names(), ["gone.json", "s-1.json", &longer], "the live owner's document stays");
}

#[test]
fn a_lasting_publisher_names_itself_and_a_one_shot_use_only_one_that_lives() {
    let world = World::new();
    drop(begun(&world, "s-1", 100, 0));
    let publisher = || world.read("s-1").unwrap().get("publisher").cloned();
    let own = json!({"pid": 900, "start": start_of(900), "bootId": fake::BOOT});
    assert_eq!(
        publisher().map(|found| (found["pid"].clone(), found["start"].clone())),
        Some((own["pid"].clone(), own["start"].clone()))
    );
    let hook = |n: u64| {
        let mut hook = world.publisher_with(Mode::OneShot { begins: false, clock_ms: None }, &[]);
        told(&mut hook, &session("s-1", 100), 60_000);
        told(&mut hook, &count(n), 60_001);
    };
    hook(1);
    assert_eq!(publisher().map(|found| found["pid"].clone()), Some(json!(900)), "it lives, and stays");
    world.judge(900, Verdict::Gone);
    hook(2);
    assert_eq!(publisher(), None, "nobody keeps the file but the hooks");
}

#[test]
fn a_one_shot_use_goes_on_where_the_last_one_ended() {
    let world = World::new();
    for (ms, value) in [
        (0, json!({"event": "turn", "phase": "start"})),
        (10, json!({"event": "tool", "phase": "start", "id": "c1", "tool": "read"})),
        (20, json!({"event": "tool", "phase": "end", "id": "c1"})),
    ] {
        let mut hook = world.publisher_with(Mode::OneShot { begins: false, clock_ms: None }, &[]);
        hook.feed(&session("s-1", 100), at(ms)).unwrap();
        hook.feed_from(&event(value), &jig_session_schema::status::StateFrom::hook("X").unwrap(), at(ms)).unwrap();
        hook.flush(at(ms));
        hook.close(true, at(ms));
    }
    let document = world.read("s-1").unwrap();
    assert_eq!((&document["state"], &document["stateFrom"]), (&json!("busy"), &json!("hook:X")));
    assert_eq!(
        (&document["recent"][0]["outcome"], &document["startedAt"]),
        (&json!("ok"), &json!(at(0).wall.to_string()))
    );
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
        world.table.add(parent, None, "acme", terminal);
        world.table.add(200, Some(parent), "acme", own);
        let mut publisher = begun(&world, "below", 200, 1);
        told(&mut publisher, &turn("start"), 500);
        publisher.tick(at(60_000));
        let case = format!("{parent} {terminal:?} {own:?}");
        assert_eq!(
            (world.read("below").is_none(), publisher.owned_name().is_none(), publisher.path().is_none()),
            (child, child, child),
            "{case}"
        );
        publisher.close(false, at(60_001));
        assert!(world.read("parent").is_some());
        drop(keeper);
    }
}

#[test]
fn what_hosts_sessions_is_no_parent() {
    for (host, name) in [(1, "init"), (100, "tmux: server")] {
        let world = World::new();
        world.table.add(host, None, name, None);
        let keeper = begun(&world, "a wrong pid", host, 0);
        world.table.add(200, Some(host), "acme", None);
        begun(&world, "below", 200, 1);
        assert!(world.read("below").is_some(), "{name}");
        drop(keeper);
    }
}

#[test]
fn a_process_that_only_has_the_parents_number_is_no_parent() {
    let world = World::new();
    drop(begun(&world, "parent", 100, 0));
    world.table.put(Process { start: "linux:7".into(), ..fake::process(100) });
    world.table.add(200, Some(100), "acme", None);
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
