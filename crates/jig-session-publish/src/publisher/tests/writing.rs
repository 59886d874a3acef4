//! When the file is written, restored, cut and removed.

use super::*;

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
fn without_changes_only_the_looks_every_ten_seconds_are_due() {
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
    publisher.tick(at(10_200));
    let mut after = world.read("s-1").unwrap();
    after["updatedAt"] = before["updatedAt"].clone();
    assert_eq!(after, before);
    fs::remove_dir_all(world.dir.path().join("state")).unwrap();
    publisher.tick(at(20_200));
    assert!(world.read("s-1").is_some(), "the folder is made again too");
}

/// A backup that is put aside, and a restore: what is held is not where readers look. A session that writes all the
/// time notices it as soon as a quiet one.
#[test]
fn a_state_folder_that_was_moved_away_is_followed_within_ten_seconds() {
    for busy in [false, true] {
        let world = World::new();
        let mut publisher = begun(&world, "s-1", 100, 0);
        let (state, aside) = (world.dir.path().join("state"), world.dir.path().join("aside"));
        fs::rename(&state, &aside).unwrap();
        for second in 1..=10 {
            if busy {
                told(&mut publisher, &turn(if second % 2 == 0 { "settled" } else { "start" }), second * 1000);
            }
            publisher.tick(at(second * 1000));
        }
        publisher.tick(at(10_200));
        assert_eq!(world.read("s-1").unwrap()["session"], "s-1", "busy: {busy}");
        // Moved back over what was made meanwhile.
        fs::remove_dir_all(&state).unwrap();
        fs::rename(&aside, &state).unwrap();
        publisher.tick(at(20_400));
        told(&mut publisher, &turn("start"), 20_600);
        assert_eq!(world.read("s-1").unwrap()["state"], "busy");
        assert!(publisher.notes().is_empty());
    }
}

/// Hundreds of sessions that end at once wait for no turn of those who judge others.
#[test]
fn an_own_file_goes_while_another_has_the_turn_to_remove() {
    let world = World::new();
    let mut publisher = begun(&world, "s-1", 100, 0);
    let folder = fs::File::open(world.dir.path().join("state/sessions")).unwrap();
    folder.lock().unwrap();
    told(&mut publisher, &event(json!({"event": "end"})), 100);
    assert_eq!(world.names(), [""; 0]);
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

#[test]
fn the_tickets_folder_is_read_again_every_ten_seconds() {
    let world = World::new();
    let folder = world.dir.path().join("tickets/APP-12");
    fs::create_dir_all(&folder).unwrap();
    let mut publisher = world.publisher_with(Mode::Lasting, &[("JIG_TICKET", "APP-12")]);
    told(&mut publisher, &session("s-1", 100), 0);
    let outputs = || world.read("s-1").unwrap()["outputs"].as_array().unwrap().len();
    assert_eq!(outputs(), 0);
    fs::write(folder.join("plan.md"), "x").unwrap();
    publisher.tick(at(9_999));
    assert_eq!(outputs(), 0);
    publisher.tick(at(10_000));
    assert_eq!(outputs(), 1);
    fs::remove_file(folder.join("plan.md")).unwrap();
    publisher.tick(at(20_000));
    assert_eq!(outputs(), 0);
}

#[test]
fn a_ticket_event_is_looked_up_at_once() {
    let world = World::new();
    let folder = world.dir.path().join("tickets/APP-13");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("ticket.json"), r#"{"title":"Log out"}"#).unwrap();
    let mut publisher = begun(&world, "s-1", 100, 0);
    told(&mut publisher, &event(json!({"event": "ticket", "ticket": {"key": "APP-13"}})), 500);
    assert_eq!(world.read("s-1").unwrap()["ticket"], json!({"key": "APP-13", "title": "Log out"}));
    told(&mut publisher, &event(json!({"event": "ticket", "ticket": null})), 1_000);
    assert_eq!(world.read("s-1").unwrap()["ticket"], Value::Null);
}
