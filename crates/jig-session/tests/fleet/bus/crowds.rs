use std::io::Write;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::town::{Peer, Town};
use crate::common::{Output, Sleeper};

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

/// Fifty-six paths, each of which overlaps others.
fn paths() -> Vec<String> {
    let folders = (0..5).map(|a| format!("d{a}"));
    let below = (0..25).flat_map(|n| [format!("d{}/e{}", n / 5, n % 5), format!("d{}/e{}/f", n / 5, n % 5)]);
    std::iter::once(".".to_owned()).chain(folders).chain(below).collect()
}

/// From when to when one session certainly held one path.
struct Held {
    path: String,
    who: String,
    from: Instant,
    to: Instant,
}

fn collide(a: &str, b: &str) -> bool {
    let below = |path: &str, folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    a == b || a == "." || b == "." || below(a, b) || below(b, a)
}

/// A command that meets a lock held for too long is given again.
fn patiently(mut command: impl FnMut() -> Output) -> Output {
    loop {
        let output = command();
        if output.code != 75 {
            return output;
        }
    }
}

#[test]
fn a_crowd_of_command_lines_never_holds_overlapping_paths() {
    // bus-v1 111, 115, over the command line; the long form with JIG_FULL=1
    let full = std::env::vars_os().any(|(name, value)| name == "JIG_FULL" && value == "1");
    let (peers, attempts, death) = if full { (64, 50, 100) } else { (6, 4, 5) };
    let (town, paths) = (Town::new(), paths());
    let held: Mutex<Vec<Held>> = Mutex::new(Vec::new());
    let (grants, deaths, busy) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for who in 0..peers {
            let (town, paths, held, grants, deaths, busy) = (&town, &paths, &held, &grants, &deaths, &busy);
            scope.spawn(move || {
                let born = |life: usize| {
                    let peer = Peer { id: format!("s-{who}-{life}"), process: Sleeper::start() };
                    let (label, pid) = (format!("p{who}-{life}"), peer.process.pid().to_string());
                    patiently(|| town.bus(&["join", &label, "--id", &peer.id, "--pid", &pid])).exits(0);
                    peer
                };
                let mut life = 0;
                let mut peer = born(life);
                for attempt in 0..attempts {
                    let path = &paths[(who * 7 + attempt * 5) % paths.len()];
                    match town.as_peer(&peer, &["claim", path]).code {
                        0 => {}
                        3 => continue,
                        // The crowd was too slow for the lock.
                        75 => {
                            busy.fetch_add(1, Ordering::Relaxed);
                            continue;
                        }
                        other => panic!("claim ended with {other}"),
                    }
                    let from = Instant::now();
                    std::thread::yield_now();
                    let note = Held { path: path.clone(), who: peer.id.clone(), from, to: Instant::now() };
                    held.lock().expect("unpoisoned").push(note);
                    if (grants.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(death) {
                        // Its process dies while it holds the path, which is free from then on.
                        deaths.fetch_add(1, Ordering::Relaxed);
                        peer.process.kill();
                        life += 1;
                        peer = born(life);
                    } else {
                        patiently(|| town.as_peer(&peer, &["release", path])).exits(0);
                    }
                }
            });
        }
    });
    let held = held.into_inner().expect("unpoisoned");
    let (deaths, busy) = (deaths.into_inner(), busy.into_inner());
    let about = format!("{} grants of {}, {deaths} killed, {busy} busy", held.len(), peers * attempts);
    if full {
        let _ = writeln!(std::io::stdout(), "{about}");
    }
    assert!(held.len() >= peers, "somebody wins: {about}");
    for (i, a) in held.iter().enumerate() {
        for b in held[i + 1..].iter().filter(|b| b.who != a.who && collide(&a.path, &b.path)) {
            assert!(a.to < b.from || b.to < a.from, "{} holds {} while {} holds {}", a.who, a.path, b.who, b.path);
        }
    }
    assert!(town.bus(&["status"]).json()["claims"].as_array().is_some_and(Vec::is_empty), "all are released");
    let last = town.peer("last");
    town.as_peer(&last, &["claim", "."]).exits(0);
}
