use std::fs;

use jig_session_bus::{Call, Me};
use jig_session_schema::bus_result::{BusResult, MemberState};

use crate::town::{Town, claim, release, result, session};

fn pair() -> (Town, jig_session_bus::Me, jig_session_bus::Me) {
    let town = Town::new();
    let (a, b) = (session("s-a", 11), session("s-b", 12));
    town.join_as(&a, Some("alpha"));
    town.join_as(&b, Some("beta"));
    (town, a, b)
}

#[test]
fn one_conflict_and_nothing_is_claimed() {
    // bus-v1 91, 110
    let (town, a, b) = pair();
    let reason = Call::Claim { paths: vec!["src/api".into()], reason: Some("rework".into()) };
    town.act(&a, &reason);
    let refused = town.claim_all(&b, &["docs", "src/api/routes.ts"]);
    assert_eq!((refused.ok, refused.code.as_deref()), (false, Some("conflict")));
    assert!(refused.claimed.is_empty() && refused.already.is_empty());
    let [conflict] = refused.conflicts.as_slice() else { panic!("one conflict") };
    assert_eq!((conflict.asked.as_str(), conflict.path.as_str()), ("src/api/routes.ts", "src/api"));
    assert_eq!((conflict.session.as_str(), conflict.label.as_str(), &*conflict.agent), ("s-a", "alpha", "pi"));
    assert_eq!((conflict.state, conflict.reason.as_deref()), (MemberState::Live, Some("rework")));
    assert!(conflict.since.is_some());
    assert_eq!(town.files("claims").len(), 1);
    assert!(town.claim(&b, "docs").ok);
}

#[test]
fn prefixes_block_in_both_directions() {
    // bus-v1 92, 93, 94, 95
    for (held, asked, free) in [
        ("src/api", "src/api/routes.ts", false),
        ("src/api/routes.ts", "src/api", false),
        ("src/api", "src/api2", true),
        (".", "anything/at/all", false),
        ("docs", ".", false),
    ] {
        let (town, a, b) = pair();
        assert!(town.claim(&a, held).ok);
        assert_eq!(town.claim(&b, asked).ok, free, "{held} and {asked}");
        assert_eq!(town.check(&b, asked).ok, free, "{held} and {asked}");
    }
}

#[test]
fn what_one_holds_is_no_conflict_with_oneself() {
    // bus-v1 96, 97
    let (town, a, b) = pair();
    assert_eq!(town.claim(&a, "src").claimed, ["src"]);
    let again = town.claim_all(&a, &["src", "src/api", "src"]);
    assert_eq!((again.claimed, again.already), (vec!["src/api".to_owned()], vec!["src".to_owned()]));
    let check = town.check(&a, "src/api/x");
    assert!(check.ok);
    assert_eq!(check.own, ["src", "src/api"]);
    assert_eq!(town.check(&b, "src/api/x").conflicts.len(), 2);
}

#[test]
fn two_worktrees_share_one_set_of_paths() {
    // bus-v1 108
    let (town, a, b) = pair();
    let tree = town.base().join("tree");
    fs::create_dir_all(town.root.join(".git/worktrees/tree")).expect("a folder");
    fs::create_dir_all(&tree).expect("a folder");
    fs::write(town.root.join(".git/worktrees/tree/HEAD"), "ref: refs/heads/side\n").expect("a file");
    fs::write(town.root.join(".git/worktrees/tree/commondir"), "../..\n").expect("a file");
    fs::write(tree.join(".git"), "gitdir: ../shop/.git/worktrees/tree\n").expect("a file");
    assert!(result!(town.at(&tree, &a, &claim(&["src/new.ts"])), Claim).ok);
    assert_eq!(town.claim(&b, "src/new.ts").code.as_deref(), Some("conflict"));
    let listed = &town.status(&b).claims[0];
    assert_eq!((listed.path.as_str(), listed.session.as_str()), ("src/new.ts", "s-a"));
}

#[test]
fn bad_paths_claim_nothing() {
    // bus-v1 100, 105, 109, 114
    let (town, a, _) = pair();
    std::os::unix::fs::symlink("loop", town.root.join("loop")).expect("a link");
    for bad in ["/etc", "../x", "loop", "src/*.rs", ".git/config", "", "@"] {
        let refused = town.claim_all(&a, &["docs", bad]);
        assert_eq!((refused.ok, refused.code.as_deref()), (false, Some("refused")), "{bad:?}");
    }
    let hint = town.claim(&a, "src/*.rs").hint.expect("a hint");
    assert!(hint.contains("src/api/**"));
    assert!(town.files("claims").is_empty());
    let nothing = town.claim_all(&a, &[]);
    assert_eq!(nothing.code.as_deref(), Some("usage"));
}

#[test]
fn resources_are_claimed_by_name() {
    let (town, a, b) = pair();
    assert_eq!(town.claim(&a, "@build").claimed, ["@build"]);
    assert_eq!(town.claim(&b, "@build").code.as_deref(), Some("conflict"));
    assert!(town.claim(&b, ".").ok, "the whole repository holds no resource");
    assert!(town.claim(&b, "@port/8080").ok);
    assert_eq!(town.release(&a, &["@build"]).released, ["@build"]);
}

#[test]
fn a_session_holds_a_bounded_number_of_paths() {
    let (town, a, _) = pair();
    let many: Vec<String> = (0..65).map(|i| format!("f{i}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(town.claim_all(&a, &many).code.as_deref(), Some("refused"));
    for batch in 0..4 {
        let paths: Vec<String> = (0..64).map(|i| format!("d{batch}/{i}")).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        assert!(town.claim_all(&a, &paths).ok);
    }
    assert_eq!(town.claim(&a, "one-more").code.as_deref(), Some("refused"));
    let long = Call::Claim { paths: vec!["x".into()], reason: Some("r".repeat(201)) };
    assert!(!result!(town.act(&a, &long), Claim).ok);
}

#[test]
fn a_writer_that_knows_no_lock_is_met_or_shown() {
    let (town, a, b) = pair();
    town.claim(&a, "src");
    // The same claim as another program would link it, lock or no lock.
    let name = town.files("claims").remove(0);
    let text = fs::read_to_string(town.folder().join("claims").join(&name)).expect("a file");
    let bus = town.open();
    let other = town.claim(&a, "src/api");
    assert!(other.ok);
    let planted = town.files("claims").into_iter().find(|file| *file != name).expect("the second");
    let planted = town.folder().join("claims").join(planted);
    let foreign = fs::read_to_string(&planted).expect("a file");
    let foreign = foreign.replace("\"s-a\"", "\"s-b\"");
    fs::write(&planted, foreign).expect("a file");
    assert_eq!(town.status(&a).overlaps, [("src".to_owned(), "src/api".to_owned())]);
    assert!(text.contains("\"path\":\"src\""));
    drop((bus, b));
}

#[test]
fn a_claim_file_that_is_none_is_in_the_way_for_a_moment_only() {
    let (town, a, _) = pair();
    town.claim(&a, "src");
    let path = town.folder().join("claims").join(town.files("claims").remove(0));
    town.release(&a, &["src"]);
    fs::write(&path, "").expect("a file");
    let at = |age_ms: u64| {
        let at = std::time::UNIX_EPOCH + std::time::Duration::from_millis(crate::town::NOON as u64 - age_ms);
        fs::File::options().write(true).open(&path).expect("a file").set_modified(at).expect("a time");
    };
    at(1_000);
    assert_eq!(town.claim(&a, "src").code.as_deref(), Some("busy"));
    at(6_000);
    assert!(town.claim(&a, "src").ok, "a power cut's leftover goes to the quarantine");
    assert_eq!(town.files("quarantine").len(), 1);
}

#[test]
fn releasing_names_what_it_did_and_did_not() {
    // bus-v1 118, 119, 120, 121, 122
    let (town, a, b) = pair();
    town.claim_all(&a, &["src", "src/api", "docs"]);
    town.claim(&b, "other");
    let from_below = result!(town.at(&town.root.join("src"), &a, &release(&["src/api"])), Release);
    assert_eq!(from_below.released, ["src/api"], "the stored path, not src/src/api");
    let mixed = town.release(&a, &["src/", "other", "nothing"]);
    assert!(mixed.ok);
    assert_eq!(mixed.released, ["src"]);
    assert_eq!(mixed.not_held, ["nothing"]);
    let [held] = mixed.held_by_others.as_slice() else { panic!("one") };
    assert_eq!((held.path.as_str(), held.session.as_str(), held.label.as_str()), ("other", "s-b", "beta"));
    let nothing = town.release(&a, &["nothing"]);
    assert_eq!((nothing.ok, nothing.code.as_deref()), (false, Some("not-held")));
    let theirs = town.release(&a, &["other"]);
    assert_eq!((theirs.ok, theirs.code.as_deref()), (false, Some("not-held")));
    assert_eq!(town.status(&a).claims.len(), 2);
    town.claim_all(&a, &["x", "x/y"]);
    assert_eq!(town.release(&a, &["x"]).released, ["x"], "releasing a folder keeps what is below it");
    assert_eq!(town.status(&a).claims.len(), 3);
    let mut all = town.release_all(&a).released;
    all.sort();
    assert_eq!(all, ["docs", "x/y"]);
    let left: Vec<_> = town.status(&a).claims.into_iter().map(|claim| claim.session).collect();
    assert_eq!(left, ["s-b"]);
    assert!(town.release_all(&a).ok, "nothing to release is no failure of --all");
}

#[test]
fn a_subfolder_releases_what_it_names_there() {
    // bus-v1 118
    let (town, a, _) = pair();
    town.claim_all(&a, &["src/api", "api"]);
    let below = result!(town.at(&town.root.join("src"), &a, &release(&["api"])), Release);
    assert_eq!(below.released, ["api"], "a stored path that is spelled so goes first");
    let below = result!(town.at(&town.root.join("src"), &a, &release(&["api"])), Release);
    assert_eq!(below.released, ["src/api"], "then what the words mean here");
}

#[test]
fn what_a_killed_call_had_made_never_holds() {
    // bus-v1 91, killed between two claims of one call: its session lives on
    let town = Town::new();
    let (a, b) = (session("s-a", 11), session("s-b", 12));
    let note = town.folder().join("claiming.json");
    town.claim(&a, "docs");
    town.claim(&b, "zz");
    town.claim_all(&a, &["src/api", "src/ui"]);
    assert!(!note.exists(), "a call that has ended leaves no note");
    let held = |of: &Me| town.status(of).claims.into_iter().map(|claim| claim.path).collect::<Vec<_>>();
    assert_eq!(held(&b), ["docs", "src/api", "src/ui", "zz"]);
    // As if the call had been killed before its end. It also names what it had not made, and what is another's.
    let files: Vec<String> = town.files("claims").into_iter().filter(|name| !name.starts_with("docs")).collect();
    assert_eq!(files.len(), 3);
    let text =
        |files: &[String]| serde_json::json!({ "schema": 1, "id": a.id, "owner": a.owner, "files": files }).to_string();
    let kill = || std::fs::write(&note, text(&files)).expect("a file");
    kill();
    let lock = std::fs::File::open(town.folder().join("lock")).expect("the lock");
    lock.lock().expect("locked");
    assert_eq!(held(&b), ["docs", "zz"], "they are passed over, also while nobody can take them back");
    assert!(town.check(&b, "src").ok);
    assert!(note.exists());
    lock.unlock().expect("unlocked");
    let look = town.open().look_whole().expect("a look");
    assert_eq!(look.claims.len(), 2);
    held(&b);
    assert!(!note.exists(), "a status takes them back");
    assert_eq!(town.files("claims").len(), 2);

    for act in [0, 1, 2, 3] {
        town.release_all(&a);
        town.claim(&a, "docs");
        town.claim_all(&a, &["src/api", "src/ui"]);
        kill();
        match act {
            0 => assert!(town.claim(&b, "src").ok, "another may claim at once"),
            1 => assert_eq!(town.claim_all(&a, &["src/api", "src/ui"]).claimed.len(), 2, "and so may the session"),
            2 => assert_eq!(town.release(&a, &["src/api"]).not_held, ["src/api"]),
            _ => drop(town.join(&b)),
        }
        assert!(!note.exists(), "act {act}");
        town.release(&b, &["src"]);
    }
    std::fs::write(&note, "torn").expect("a file");
    assert!(town.claim(&b, "other").ok, "a note that says nothing stands in nobody's way");
    assert!(!note.exists());
}
