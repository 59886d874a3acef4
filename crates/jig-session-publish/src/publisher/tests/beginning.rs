//! How a session begins: its process, its terminal, what is continued.

use super::*;

#[test]
fn a_new_session_is_written_at_once_with_the_agents_process() {
    let world = World::new();
    begun(&world, "s-1", 100, 0);
    let document = world.read("s-1").unwrap();
    for (field, right) in [
        ("schema", json!(1)),
        ("session", json!("s-1")),
        ("pid", json!(100)),
        ("process", json!({"start": start_of(100), "bootId": fake::BOOT})),
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
fn relative_paths_are_those_of_the_publishers_folder() {
    let world = World::new();
    let mut publisher = world.publisher();
    let told = |publisher: &mut Publisher, more: Value, ms| {
        let mut line = json!({"event": "session", "schema": 1, "session": "s-1", "pid": 100});
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        told(publisher, &event(line), ms);
        world.read("s-1").unwrap()
    };
    for (ms, (relative, absolute)) in (0..).zip([
        (".", "/nonexistent/app"),
        ("..", "/nonexistent"),
        ("sub/./x/", "/nonexistent/app/sub/x"),
        ("", "/nonexistent/app"),
        ("/elsewhere/../x", "/elsewhere/../x"),
    ]) {
        let document = told(&mut publisher, json!({"cwd": relative, "transcript": "t.jsonl"}), ms * 1000);
        assert_eq!(document["cwd"], absolute, "{relative}");
        assert_eq!(document["transcript"], "/nonexistent/app/t.jsonl");
    }
}

#[test]
fn a_process_that_cannot_be_the_agent_is_named_and_taken() {
    let world = World::new();
    world.table.add(10, Some(1), "tmux: server", None);
    world.table.add(1, None, "systemd", None);
    world.table.set(4_194_999, Verdict::Gone);
    for (pid, said) in [(10, "hosts sessions"), (1, "hosts sessions"), (4_194_999, "no such process")] {
        let mut publisher = world.publisher();
        told(&mut publisher, &session("s-1", pid), 0);
        let notes = publisher.notes();
        assert!(notes.len() == 1 && notes[0].contains(said) && notes[0].contains(&format!("pid {pid}")), "{notes:?}");
        assert_eq!(world.read("s-1").unwrap()["pid"], pid);
    }
    let mut publisher = begun(&world, "s-2", 100, 0);
    assert_eq!(publisher.notes(), [""; 0]);
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
    let line = [(900, "jig-session"), (800, "bash"), (700, "timeout"), (600, "acme"), (500, "zsh"), (1, "init")];
    for (place, (pid, command)) in line.iter().enumerate() {
        world.table.add(*pid, line.get(place + 1).map(|(parent, _)| *parent), command, None);
    }
    let mut publisher = world.publisher();
    told(&mut publisher, &event(json!({"event": "session", "schema": 1, "session": "s-1"})), 0);
    assert_eq!(world.read("s-1").unwrap()["pid"], 600);
}

#[test]
fn the_document_of_the_same_process_is_continued() {
    let world = World::new();
    let before = left(&world);
    let mut publisher = begun(&world, "s-1", 100, 60_000);
    let after = world.read("s-1").unwrap();
    for field in [
        "startedAt",
        "process",
        "recent",
        "usage",
        "outputs",
        "lastRequest",
        "recentRequests",
        "state",
        "stateAt",
        "ticket",
    ] {
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
    let mut hook = world.publisher_with(Mode::OneShot { begins: false, clock_ms: None }, &[]);
    told(&mut hook, &session("s-1", 100), 60_000);
    hook.flush(at(60_000));
    assert_eq!(fs::read(world.path("s-1")).unwrap(), before);
    told(&mut hook, &count(1), 60_001);
    assert_eq!(world.read("s-1").unwrap()["background"], 1);
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
fn the_terminal_is_named_by_its_outermost_host() {
    let all = [("TMUX_PANE", "%3"), ("KITTY_WINDOW_ID", "4"), ("WEZTERM_PANE", "5"), ("HC_TERMINAL_ID", "t7")];
    for (known, value, from) in
        [(4, "t7", "HC_TERMINAL_ID"), (3, "5", "WEZTERM_PANE"), (2, "4", "KITTY_WINDOW_ID"), (1, "%3", "TMUX_PANE")]
    {
        let world = World::new();
        world.table.add(100, None, "acme", Some(34));
        let mut publisher = world.publisher_with(Mode::Lasting, &all[..known]);
        told(&mut publisher, &session("s-1", 100), 0);
        let document = world.read("s-1").unwrap();
        assert_eq!((&document["terminal"], &document["terminalFrom"]), (&json!(value), &json!(from)));
        assert_eq!(document["tmuxPane"], "%3", "whatever names the terminal");
    }
}

#[test]
fn an_inherited_pane_that_the_process_left_is_not_named() {
    let world = World::new();
    let variables = [("TMUX_PANE", "%3"), ("TMUX", "/tmp/tmux-0/default,123,0"), ("KITTY_WINDOW_ID", "4")];
    for (known, terminal) in [(3, json!("4")), (2, Value::Null)] {
        let mut publisher = world.publisher_with(Mode::Lasting, &variables[..known]);
        told(&mut publisher, &session("s-1", 100), 0);
        let document = world.read("s-1").unwrap();
        assert_eq!((&document["tmuxPane"], &document["tmuxSocket"]), (&Value::Null, &Value::Null));
        assert_eq!(document["terminal"], terminal);
        publisher.close(false, at(1));
    }
}

#[test]
fn the_tmux_socket_is_the_servers() {
    let world = World::new();
    world.table.add(100, None, "acme", Some(34));
    let mut publisher =
        world.publisher_with(Mode::Lasting, &[("TMUX_PANE", "%3"), ("TMUX", "/tmp/tmux-0/default,123,0")]);
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
