use std::fs;

use jig_session_bus::who::IdSource;
use jig_session_bus::{Call, Listening, Me};
use jig_session_schema::bus::{ListenMode, Record};
use jig_session_schema::bus_result::BusResult;

use crate::town::{Town, calls, claim, git_init, join, message, names, release, result, session, tree};

#[test]
fn a_reader_is_no_member() {
    // bus-v1 1, 2, 7
    let town = Town::new();
    let me = session("s-a", 11);
    let status = town.status(&me);
    assert!(status.ok && status.me.is_none() && status.members.is_empty() && status.unread.is_none());
    let peeked = town.peek(&me);
    assert!(peeked.ok && peeked.messages.is_empty() && peeked.unread.is_none());
    assert!(town.check(&me, "src").ok);
    assert!(!town.bus.exists(), "looking makes nothing");

    town.join(&session("s-b", 12));
    let before = town.files("sessions");
    town.status(&me);
    town.peek(&me);
    assert_eq!(town.files("sessions"), before);
}

#[test]
fn join_makes_one_record_and_keeps_its_beginning() {
    // bus-v1 4, 5
    let town = Town::new();
    let me = session("s-a", 11);
    let first = town.join(&me);
    assert!(first.ok && first.joined);
    assert_eq!(first.label.as_deref(), Some("shop"));
    assert_eq!(first.unread, Some(0));
    assert_eq!(town.files("sessions"), ["s-a.json"]);
    let read = || Record::read(&fs::read(town.folder().join("sessions/s-a.json")).expect("a file")).expect("one").value;
    let began = read().joined_at;
    town.pass(5_000);
    let second = town.join(&me);
    assert!(second.ok && !second.joined);
    assert_eq!(town.files("sessions"), ["s-a.json"]);
    assert_eq!(read().joined_at, began);
    assert_ne!(read().beat_at, began);
}

#[test]
fn every_act_that_needs_an_address_joins_first() {
    // bus-v1 6
    let acts: [(&str, Call); 4] = [
        ("send", message("s-b", "hello", "message")),
        ("inbox", Call::Inbox { limit: None }),
        ("claim", claim(&["src"])),
        ("release", release(&["src"])),
    ];
    for (name, act) in acts {
        let town = Town::new();
        town.join_as(&session("s-b", 12), Some("b"));
        town.act(&session("s-a", 11), &act);
        assert_eq!(town.files("sessions"), ["s-a.json", "s-b.json"], "{name}");
        let me = town.status(&session("s-a", 11)).me.expect("a member");
        assert_eq!(me.listen, Some(ListenMode::Next), "{name}");
    }
}

#[test]
fn leaving_takes_record_claims_and_an_empty_inbox() {
    // bus-v1 8, 10, 32
    let town = Town::new();
    let (a, b) = (session("s-a", 11), session("s-b", 12));
    town.join_as(&a, Some("billing"));
    town.join_as(&b, Some("other"));
    town.claim(&a, "src/api");
    town.claim(&b, "docs");
    town.send(&a, "other", "x");
    town.send(&b, "billing", "y");
    assert_eq!(town.texts(&a), ["y"]);
    let left = town.leave(&a);
    assert!(left.ok);
    assert_eq!(left.released, ["src/api"]);
    assert_eq!(left.unread, None);
    assert_eq!(town.files("sessions"), ["s-b.json"]);
    assert_eq!(town.files("inbox"), ["s-b"]);
    assert_eq!(town.files("claims").len(), 1);
    assert_eq!(town.join_as(&a, Some("billing")).label.as_deref(), Some("billing"));
    assert!(town.leave(&session("s-z", 13)).ok, "who is not there has left");
}

#[test]
fn unread_mail_outlives_the_membership() {
    // bus-v1 9, 11, 12
    let town = Town::new();
    let (a, b) = (session("s-a", 11), session("s-b", 12));
    town.join_as(&a, Some("a"));
    town.join_as(&b, Some("b"));
    town.send(&b, "a", "wait for me");
    town.leave(&a);
    assert_eq!(town.files("inbox/s-a").iter().filter(|name| name.ends_with(".json")).count(), 1);
    let resumed = session("s-a", 21);
    assert!(town.status(&resumed).me.is_none(), "a resumed session is off the bus until it joins");
    assert_eq!(town.join(&resumed).unread, Some(1));
    let peeked = town.peek(&resumed);
    assert_eq!(peeked.messages[0].preview.as_deref(), Some("wait for me"));
    assert_eq!(town.texts(&resumed), ["wait for me"]);
}

#[test]
fn the_same_session_name_gives_the_same_label() {
    // bus-v1 10
    let town = Town::new();
    let named = |pid| Me { name: Some("billing core".into()), ..session("s-a", pid) };
    assert_eq!(town.join(&named(11)).label.as_deref(), Some("billing-core"));
    town.leave(&named(11));
    assert_eq!(town.join(&named(12)).label.as_deref(), Some("billing-core"));
}

#[test]
fn one_repository_is_one_bus() {
    // bus-v1 15, 16, 17, 18, 19
    let town = Town::new();
    let base = town.base();
    let key = |path: &std::path::Path| jig_session_bus::find_repo(path, None).expect("a repository").key;

    let tree = base.join("tree");
    fs::create_dir_all(town.root.join(".git/worktrees/tree")).expect("a folder");
    fs::create_dir_all(&tree).expect("a folder");
    fs::write(town.root.join(".git/worktrees/tree/HEAD"), "ref: refs/heads/side\n").expect("a file");
    fs::write(town.root.join(".git/worktrees/tree/commondir"), "../..\n").expect("a file");
    fs::write(tree.join(".git"), "gitdir: ../shop/.git/worktrees/tree\n").expect("a file");
    assert_eq!(key(&tree), key(&town.root), "two worktrees share one bus");
    let found = jig_session_bus::find_repo(&tree, None).expect("a repository");
    assert_eq!((found.place.root, found.branch.as_deref()), (tree.clone(), Some("side")));

    let clone = base.join("clone/shop");
    git_init(&clone.join(".git"));
    assert_ne!(key(&clone), key(&town.root), "two clones do not");
    assert!(key(&clone).starts_with("shop-"));

    let plain = base.join("plain/deep");
    fs::create_dir_all(&plain).expect("a folder");
    assert!(key(&plain).starts_with("deep-"), "outside git the folder itself counts");
    std::os::unix::fs::symlink(&plain, base.join("link")).expect("a link");
    assert_eq!(key(&base.join("link")), key(&plain));
    assert_eq!(key(&town.root.join("src/api")), key(&town.root));

    let sub = town.root.join("vendor/sub");
    fs::create_dir_all(&sub).expect("a folder");
    git_init(&town.root.join(".git/modules/sub"));
    fs::write(sub.join(".git"), "gitdir: ../../.git/modules/sub\n").expect("a file");
    assert_ne!(key(&sub), key(&town.root), "a submodule has its own");
}

#[test]
fn a_moved_repository_has_a_new_bus_that_can_be_told_from_the_old_one() {
    // bus-v1 21
    let town = Town::new();
    town.join(&session("s-a", 11));
    let old = town.folder();
    let moved = town.base().join("moved");
    fs::rename(&town.root, &moved).expect("moved");
    let found = jig_session_bus::find_repo(&moved, None).expect("a repository");
    assert_ne!(town.bus.join(found.key), old);
    let about: serde_json::Value =
        serde_json::from_slice(&fs::read(old.join("bus.json")).expect("a file")).expect("JSON");
    assert_eq!(about["commonDir"], town.root.join(".git").to_str().expect("text"), "the old one names its repository");
    assert_eq!(about["isGit"], true);
}

#[test]
fn listening_is_a_mode_of_the_record() {
    // bus-v1 124, 125, 126
    let town = Town::new();
    let me = session("s-a", 11);
    let ask = |wake, listen| Call::Join { label: None, wake, listen, guard: None };
    let listen = |call: &Call| result!(town.act(&me, call), Join).listen;
    let on_disk = || {
        let bytes = fs::read(town.folder().join("sessions/s-a.json")).expect("a file");
        let record: serde_json::Value = serde_json::from_slice(&bytes).expect("JSON");
        record.get("listen").cloned()
    };
    assert_eq!(listen(&join(None)), Some(ListenMode::Next));
    assert_eq!(listen(&ask(true, true)), Some(ListenMode::Wake));
    town.claim(&me, "src");
    assert_eq!(on_disk().expect("listening")["mode"], "wake", "an act that joins changes no mode");
    assert_eq!(listen(&ask(false, true)), Some(ListenMode::Next));
    assert_eq!(listen(&ask(true, false)), None);
    assert_eq!(on_disk(), None, "absent when not listening");
    assert_eq!(listen(&join(None)), Some(ListenMode::Next));
    assert_eq!(Listening::Off, Listening::Off);
}

#[test]
fn the_newer_pane_of_one_session_owns_its_record() {
    // bus-v1 123
    let town = Town::new();
    let (old, new, other) = (session("s-a", 11), session("s-a", 21), session("s-b", 12));
    town.join(&old);
    town.claim(&old, "src/api");
    assert!(!town.join(&new).joined, "the newer pane takes the record over");
    let record = |town: &Town| fs::read(town.folder().join("sessions/s-a.json")).expect("a file");
    let before = record(&town);
    let left = town.leave(&old);
    assert!(!left.ok && left.released.is_empty());
    assert_eq!(record(&town), before);
    assert!(!town.open().beat(&old).expect("read"), "the older pane stops beating");
    assert_eq!(record(&town), before);
    let released = town.release_all(&old);
    assert!(released.released.is_empty());
    let named = town.release(&old, &["src/api"]);
    assert!(named.released.is_empty() && named.held_by_others.len() == 1);
    assert!(!town.claim(&other, "src").ok, "the claim stays with the session");
    assert_eq!(town.release(&new, &["src/api"]).released, ["src/api"]);
}

#[test]
fn an_agent_that_begins_another_session_in_place_leaves_the_former_one_and_says_so() {
    let town = Town::new();
    town.join_as(&session("s-1", 11), Some("api"));
    town.claim(&session("s-1", 11), "src");
    let cleared = town.join_as(&session("s-2", 11), Some("api"));
    assert!(cleared.ok && cleared.joined, "its own former label is free: {cleared:?}");
    assert_eq!(town.files("sessions"), ["s-2.json"]);
    assert!(town.files("claims").is_empty());
    let said = "\"api\" (session s-1), which this agent had before, left the bus; released: src";
    assert_eq!(cleared.notes, [said]);

    // Whoever was removed hears of it at its next call, whatever that is, and once.
    town.status(&session("s-2", 11));
    let heard = town.status(&session("s-1", 11)).notes;
    assert!(heard[0].contains("begun \"api\" (session s-2); released: src"), "{heard:?}");
    assert!(town.status(&session("s-1", 11)).notes.is_empty());
}

#[test]
fn ids_of_one_process_are_members_of_their_own_and_stand_in_each_others_way() {
    let town = Town::new();
    let kinds = [IdSource::Given, IdSource::Agent { replaces: false }, IdSource::Own];
    for (i, source) in kinds.into_iter().enumerate() {
        let me = |id: &str| Me { source, ..session(&format!("{id}-{i}"), 11) };
        let (one, two) = (me("one"), me("two"));
        assert!(town.join(&one).ok && town.claim(&one, &format!("src/{i}")).ok);
        assert!(town.join(&two).notes.is_empty(), "{source:?} replaces nobody");
        assert!(!town.check(&two, &format!("src/{i}")).ok);
        let refused = town.claim(&two, &format!("src/{i}/x"));
        assert_eq!((refused.ok, refused.conflicts[0].session.as_str()), (false, one.id.as_str()));
    }
    assert_eq!(town.files("sessions").len(), 6);
    // An id that a user gave or that was made up is no former id of the agent whose process it shares.
    town.join(&session("s-agent", 11));
    let left = town.files("sessions");
    assert_eq!(left, ["one-0.json", "one-2.json", "s-agent.json", "two-0.json", "two-2.json"]);
}

#[test]
fn a_claim_that_cannot_be_read_is_refused_with_what_helps() {
    let town = Town::new();
    let me = session("s-a", 11);
    town.claim(&me, "src");
    let file = town.folder().join("claims").join(&town.files("claims")[0]);
    town.release_all(&me);
    fs::write(&file, r#"{"schema":2,"path":"src"}"#).expect("a file");
    let newer = town.claim(&me, "src");
    assert_eq!(newer.code.as_deref(), Some("refused"));
    assert!(newer.message.expect("words").contains("newer version"));
    fs::remove_file(&file).expect("removed");
    std::os::unix::fs::symlink("/etc/hostname", &file).expect("a link");
    let foreign = town.claim(&me, "src");
    assert_eq!(foreign.code.as_deref(), Some("refused"));
    let hint = foreign.hint.expect("a way out");
    assert!(hint.contains(file.to_str().expect("text")) && !hint.contains("try again"), "{hint}");
    fs::remove_file(&file).expect("removed");
    // The holder's record is of a newer version: what it holds stays held.
    let other = session("s-b", 12);
    assert!(town.claim(&other, "docs").ok);
    fs::write(town.folder().join("sessions/s-b.json"), r#"{"schema":2,"id":"s-b"}"#).expect("a file");
    let held = town.claim(&me, "docs/x");
    assert_eq!((held.ok, held.code.as_deref()), (false, Some("conflict")), "{held:?}");
}

#[test]
fn a_beat_renews_and_never_waits() {
    let town = Town::new();
    let me = calls(session("s-a", 11));
    town.join(&me);
    let bytes = || fs::read(town.folder().join("sessions/s-a.json")).expect("a file");
    let first = bytes();
    town.pass(59_000);
    town.status(&me);
    assert_eq!(bytes(), first, "not due yet");
    town.pass(2_000);
    town.status(&me);
    let second = bytes();
    assert_ne!(second, first);
    town.pass(61_000);
    let held = fs::File::open(town.folder().join("lock")).expect("the lock");
    held.lock().expect("locked");
    town.status(&me);
    assert_eq!(bytes(), second, "the lock is held: the call goes on without a beat");
}

#[test]
fn a_held_lock_refuses_changes_and_no_reads() {
    // bus-v1 136, without the process
    let town = Town::new();
    let (a, b) = (session("s-a", 11), session("s-b", 12));
    town.join_as(&a, Some("a"));
    town.join_as(&b, Some("b"));
    let held = fs::File::open(town.folder().join("lock")).expect("the lock");
    held.lock().expect("locked");
    let refused = town.claim(&a, "src");
    assert!(!refused.ok);
    assert_eq!(refused.code.as_deref(), Some("busy"));
    assert!(refused.message.expect("words").contains("900"), "it names who holds the lock");
    assert!(town.status(&a).ok);
    assert!(town.send(&a, "b", "x").ok, "mail does not wait");
    assert_eq!(town.texts(&b), ["x"]);
}

#[test]
fn looking_touches_nothing() {
    // bus-v1 3, 81: what the board polls
    let town = Town::new();
    let (a, b) = (session("s-a", 11), session("s-b", 12));
    town.join_as(&a, Some("a"));
    town.join_as(&b, Some("b"));
    town.claim(&a, "src");
    town.send(&a, "b", "x");
    let before = tree(&town.bus);
    town.peek(&b);
    town.check(&b, "src");
    town.open().look().expect("looked");
    assert_eq!(tree(&town.bus), before);
    assert_eq!(names(&town.folder()), ["bus.json", "claims", "inbox", "lock", "repo.json", "sessions"]);
}

#[test]
fn guard_is_kept_until_it_is_changed() {
    let town = Town::new();
    let me = session("s-a", 11);
    let ask = |guard| Call::Join { label: None, wake: false, listen: true, guard };
    let guard = |call: &Call| match town.act(&me, call).result {
        BusResult::Join(result) => result.guard,
        other => panic!("{other:?}"),
    };
    assert!(!guard(&ask(None)));
    assert!(guard(&ask(Some(true))));
    assert!(guard(&ask(None)));
    assert!(!guard(&ask(Some(false))));
}
