//! Which bus a session acts on, and which one a file belongs to, wherever the caller stands.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::town::{Peer, Town, texts};
use crate::common::{Output, Sleeper};

/// A second worktree of the town's repository.
fn worktree(town: &Town, folder: &Path) -> PathBuf {
    let name = folder.file_name().expect("a name").to_str().expect("text");
    let git = town.env.work().join(".git/worktrees").join(name);
    std::fs::create_dir_all(&git).expect("a folder");
    std::fs::create_dir_all(folder.join("src")).expect("a folder");
    std::fs::write(git.join("HEAD"), "ref: refs/heads/other\n").expect("a file");
    std::fs::write(git.join("commondir"), "../..\n").expect("a file");
    std::fs::write(folder.join(".git"), format!("gitdir: {}\n", git.display())).expect("a file");
    folder.to_owned()
}

fn guard(town: &Town, cwd: &Path, file: &Path) -> Output {
    let payload = json!({
        "session_id": "s-beta", "cwd": cwd, "tool_name": "Edit", "tool_input": { "file_path": file },
    });
    town.env.jig_stdin(&["bus", "guard", "claude"], payload.to_string().as_bytes()).exits(0)
}

fn at(town: &Town, cwd: &Path, session: &str, args: &[&str]) -> Output {
    let all: Vec<&str> = ["--json", "bus"].iter().chain(args).copied().collect();
    let mut command = town.env.jig_command(&all);
    command.current_dir(cwd).env("JIG_BUS_SESSION", session).env_remove("PWD");
    crate::common::finish(command, b"")
}

fn join_at(town: &Town, cwd: &Path, label: &str) -> Peer {
    let peer = Peer { id: format!("s-{label}"), process: Sleeper::start() };
    let pid = peer.process.pid().to_string();
    at(town, cwd, &peer.id, &["join", label, "--id", &peer.id, "--pid", &pid, "--guard"]).exits(0);
    peer
}

#[test]
fn a_held_file_is_held_whoever_writes_it_from_wherever() {
    let town = Town::new();
    let work = town.env.work().to_owned();
    let a = town.peer("alpha");
    town.as_peer(&a, &["claim", "src"]).exits(0);
    let sibling = worktree(&town, &town.env.root().join("sibling"));
    let nested = worktree(&town, &work.join(".claude/worktrees/x"));
    let outside = town.env.root().join("outside");
    std::fs::create_dir(&outside).expect("a folder");
    for home in [&work, &sibling, &nested, &outside, &town.env.root().to_owned()] {
        let b = join_at(&town, home, "beta");
        // Neither the session's own folder nor the one that the agent has changed to decides.
        for cwd in [&work, &sibling, &nested, &outside] {
            for file in [work.join("src/a.ts"), sibling.join("src/a.ts"), nested.join("src/new/a.ts")] {
                let denied = guard(&town, cwd, &file);
                assert!(denied.stdout.contains("src is held by alpha"), "{home:?} {cwd:?} {file:?}: {denied:?}");
            }
            assert_eq!(guard(&town, cwd, &work.join("docs/x")).stdout, "");
            assert_eq!(guard(&town, cwd, &outside.join("src/a.ts")).stdout, "");
        }
        drop(b);
    }
}

#[test]
fn a_path_of_another_worktree_is_named_by_its_own() {
    let town = Town::new();
    let sibling = worktree(&town, &town.env.root().join("sibling"));
    let a = town.peer("alpha");
    let file = sibling.join("src/a.ts");
    let claimed = town.as_peer(&a, &["claim", file.to_str().expect("text")]).exits(0).json();
    assert_eq!(claimed["claimed"], json!(["src/a.ts"]));
    let _b = join_at(&town, &sibling, "beta");
    let absolute = town.env.work().join("src/a.ts");
    at(&town, &sibling, "s-beta", &["check", absolute.to_str().expect("text")]).exits(3);
    // Another repository's path is refused with the way to its bus.
    let other = town.env.root().join("other");
    for folder in [".git/objects", ".git/refs", "src"] {
        std::fs::create_dir_all(other.join(folder)).expect("a folder");
    }
    std::fs::write(other.join(".git/HEAD"), "ref: refs/heads/main\n").expect("a file");
    let refused = town.as_peer(&a, &["claim", other.join("src").to_str().expect("text")]).exits(4).json();
    assert!(refused["message"].as_str().is_some_and(|words| words.contains("in another repository")), "{refused}");
    assert!(refused["hint"].as_str().is_some_and(|hint| hint.contains("--cwd")), "{refused}");
}

#[test]
fn a_session_reads_its_mail_wherever_its_shell_stands() {
    let town = Town::new();
    let plain = town.env.root().join("plain");
    for folder in ["src", "hg/.hg", "hg/a/b", "sub/.git/objects", "sub/.git/refs"] {
        std::fs::create_dir_all(plain.join(folder)).expect("a folder");
    }
    std::fs::write(plain.join("sub/.git/HEAD"), "ref: refs/heads/main\n").expect("a file");
    let (_top, _peer) = (join_at(&town, &plain, "top"), join_at(&town, &plain, "peer"));
    for cwd in ["src", "hg", "sub", "."] {
        at(&town, &plain, "s-peer", &["send", "top", &format!("to {cwd}")]).exits(0);
        let inbox = at(&town, &plain.join(cwd), "s-top", &["inbox"]).exits(0).json();
        assert_eq!(texts(&inbox), [format!("to {cwd}")]);
        at(&town, &plain.join(cwd), "s-top", &["send", "peer", &format!("from {cwd}")]).exits(0);
        let status = at(&town, &plain.join(cwd), "s-top", &["status"]).json();
        assert_eq!(status["members"].as_array().map(Vec::len), Some(2), "no phantom is born: {status}");
    }
    // Who is new below a folder with a live bus is on that bus: its files are the same.
    let new = at(&town, &plain.join("src"), "s-new", &["inbox"]).exits(0).json();
    assert!(new["notes"][0].as_str().is_some_and(|note| note.starts_with("joined the bus of ")), "{new}");
    let claimed = at(&town, &plain.join("src"), "s-new", &["claim", "x"]).exits(0).json();
    assert_eq!(claimed["claimed"], json!(["src/x"]));
    at(&town, &plain, "s-top", &["claim", "src"]).exits(3);
    // A folder that is named or joined in is meant, and whoever is elsewhere too hears of it.
    let there = at(&town, &plain.join("sub"), "s-top", &["join"]).exits(0).json();
    assert_eq!(there["joined"], true);
    let note = there["notes"][0].as_str().expect("a note");
    assert!(note.contains("also on the bus of") && note.contains("as \"top\""), "{note}");
    // A root of Mercurial is one from every folder below it.
    let deep = at(&town, &plain.join("hg/a/b"), "s-hg", &["join"]).exits(0).json();
    assert_eq!(deep["joined"], true);
    let status = at(&town, &plain.join("hg"), "s-hg", &["status"]).json();
    assert_eq!(status["repo"]["path"], plain.join("hg").to_str().expect("text"));
}

#[test]
fn a_folder_put_under_version_control_and_a_moved_one_keep_their_bus() {
    let town = Town::new();
    let plain = town.env.root().join("plain");
    std::fs::create_dir_all(plain.join("src")).expect("a folder");
    let a = join_at(&town, &plain, "alpha");
    at(&town, &plain, &a.id, &["claim", "src"]).exits(0);
    for folder in [".git/objects", ".git/refs"] {
        std::fs::create_dir_all(plain.join(folder)).expect("a folder");
    }
    std::fs::write(plain.join(".git/HEAD"), "ref: refs/heads/main\n").expect("a file");
    let b = join_at(&town, &plain, "beta");
    at(&town, &plain, &b.id, &["claim", "src/x"]).exits(3);
    assert!(guard(&town, &plain, &plain.join("src/x")).stdout.contains("alpha"));
    // Moved: whoever comes finds the bus by the folder itself.
    let moved = town.env.root().join("moved");
    std::fs::rename(&plain, &moved).expect("moved");
    let c = join_at(&town, &moved, "gamma");
    at(&town, &moved, &c.id, &["claim", "src/x"]).exits(3);
    at(&town, &moved, &a.id, &["release", "--all"]).exits(0);
    let said = |state: &str| {
        let doctor: Value = town.env.jig(&["doctor", "--json"]).json();
        let checks = doctor["checks"].as_array().expect("checks").clone();
        let about = checks.into_iter().filter(|check| check["check"] == "bus").map(|check| check.to_string());
        let about: Vec<String> = about.collect();
        assert!(about.iter().any(|check| check.contains(state)), "{state}: {about:?}");
        about.join(" ")
    };
    assert!(!said("3 live members").contains("rm -r"));
    // Something else in the old place: the moved folder's bus is not taken for it.
    std::fs::create_dir_all(plain.join("src")).expect("a folder");
    let d = at(&town, &plain, "s-delta", &["join", "delta"]).exits(0).json();
    assert_eq!(d["joined"], true);
    assert_eq!(at(&town, &plain, "s-delta", &["status"]).json()["members"].as_array().map(Vec::len), Some(1));
    drop((a, b, c));
}
