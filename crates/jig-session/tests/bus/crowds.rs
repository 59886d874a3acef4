use std::process::Stdio;
use std::sync::Mutex;
use std::time::Instant;

use crate::town::{Peer, Town};

#[test]
fn of_eight_claims_at_once_one_is_granted() {
    let town = Town::new();
    let peers: Vec<Peer> = (0..8).map(|i| town.peer(&format!("p{i}"))).collect();
    for round in 0..3 {
        let path = format!("src/x{round}");
        let children: Vec<_> = peers
            .iter()
            .map(|peer| {
                let mut command = town.env.jig_command(&["--json", "bus", "--as", &peer.id, "claim", &path]);
                command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts")
            })
            .collect();
        let ends: Vec<_> = children.into_iter().map(|child| child.wait_with_output().expect("it ends")).collect();
        let count = |code| ends.iter().filter(|end| end.status.code() == Some(code)).count();
        assert_eq!((count(0), count(3)), (1, 7), "round {round}: {ends:?}");
        let holder = town.bus(&["status"]).json()["claims"]
            .as_array()
            .expect("claims")
            .iter()
            .find(|claim| claim["path"] == path.as_str())
            .expect("held")["session"]
            .clone();
        for end in ends.iter().filter(|end| end.status.code() == Some(3)) {
            let refused: serde_json::Value = serde_json::from_slice(&end.stdout).expect("a document");
            assert_eq!(refused["conflicts"][0]["session"], holder);
        }
    }
}

/// From when to when one session certainly held one path.
struct Held {
    path: &'static str,
    who: usize,
    from: Instant,
    to: Instant,
}

fn collide(a: &str, b: &str) -> bool {
    let below = |path: &str, folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    a == b || below(a, b) || below(b, a)
}

#[test]
fn a_crowd_of_command_lines_never_holds_overlapping_paths() {
    // 111, over the command line; the long form with JIG_FULL=1
    const PATHS: [&str; 6] = ["src", "src/api", "src/api/routes.ts", "src/ui", "docs", "docs/x/y"];
    let full = std::env::vars_os().any(|(name, value)| name == "JIG_FULL" && value == "1");
    let (peers, attempts) = if full { (64, 50) } else { (6, 4) };
    let town = Town::new();
    let peers: Vec<Peer> = (0..peers).map(|i| town.peer(&format!("p{i}"))).collect();
    let held: Mutex<Vec<Held>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for (who, peer) in peers.iter().enumerate() {
            let (town, held) = (&town, &held);
            scope.spawn(move || {
                for attempt in 0..attempts {
                    let path = PATHS[(who * 7 + attempt * 5) % PATHS.len()];
                    match town.as_peer(peer, &["claim", path]).code {
                        0 => {}
                        // Another holds it, or the crowd was too slow for the lock.
                        3 | 75 => continue,
                        other => panic!("claim ended with {other}"),
                    }
                    let from = Instant::now();
                    std::thread::yield_now();
                    held.lock().expect("unpoisoned").push(Held { path, who, from, to: Instant::now() });
                    // A release that met a lock held for too long is made again.
                    while town.as_peer(peer, &["release", path]).code == 75 {}
                }
            });
        }
    });
    let held = held.into_inner().expect("unpoisoned");
    assert!(!held.is_empty(), "somebody wins");
    for (i, a) in held.iter().enumerate() {
        for b in held[i + 1..].iter().filter(|b| b.who != a.who && collide(a.path, b.path)) {
            assert!(a.to < b.from || b.to < a.from, "{} holds {} while {} holds {}", a.who, a.path, b.who, b.path);
        }
    }
    assert!(town.bus(&["status"]).json()["claims"].as_array().is_some_and(Vec::is_empty), "all are released");
}
