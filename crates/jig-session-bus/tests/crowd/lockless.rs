//! A crowd on a file system without locks, whose members are killed while they hold the lock of files.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use jig_session_bus::path::ClaimPath;
use jig_session_bus::{Claimed, System};

use crate::claims::{held, tried, violations};
use crate::worker::{bus, folder, full, me, nanos, say, start_by, was_killed};

/// Starts what follows without locks: the kernel refuses them.
fn refuse(errno: &str) -> Vec<String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/locks/refuse.py");
    ["python3", script, errno].map(str::to_owned).to_vec()
}

/// Whether locks can be refused here.
fn can_refuse() -> bool {
    let by = refuse("ENOLCK");
    Command::new(&by[0]).args(&by[1..]).arg("true").status().is_ok_and(|status| status.success())
}

/// The processes that stand in the files of the lock: its holder, and heirs of the dead.
fn standing(bus: &Path) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(bus) else { return Vec::new() };
    let files = entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with("lock.holder"));
    let pid = |path: PathBuf| {
        let file: serde_json::Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        u32::try_from(file["pid"].as_u64()?).ok()
    };
    files.filter_map(|entry| pid(entry.path())).collect()
}

struct Worker {
    number: usize,
    life: usize,
    left: u64,
    child: Child,
    /// When it was killed by us.
    killed: Option<u64>,
}

impl Worker {
    fn begin(folder: &Path, number: usize, life: usize, left: u64) -> Self {
        let job = [
            ("JIG_CROWD", folder.display().to_string()),
            ("JIG_CROWD_WORKER", format!("{number}-{life}")),
            ("JIG_CROWD_ATTEMPTS", left.to_string()),
        ];
        let by = refuse(if number.is_multiple_of(2) { "ENOLCK" } else { "EOPNOTSUPP" });
        let child = start_by(&by, "claims::claiming_worker", &job);
        Self { number, life, left, child, killed: None }
    }

    /// Notes the ends of what it held when it was killed; gives how often it had tried.
    fn bury(&self, folder: &Path) -> u64 {
        let name = format!("{}-{}", self.number, self.life);
        let notes = folder.join("notes").join(&name);
        let text = fs::read_to_string(&notes).unwrap_or_default();
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(' ').collect()).collect();
        let count = |word: &str, path: &str| lines.iter().filter(|line| line[0] == word && line[1] == path).count();
        let mut held: Vec<&str> = lines.iter().filter(|line| line[0] == "G").map(|line| line[1]).collect();
        held.sort_unstable();
        held.dedup();
        held.retain(|path| count("G", path) > count("R", path));
        if !held.is_empty() {
            let mut notes = fs::File::options().append(true).open(notes).expect("its notes");
            for path in held {
                // Until it was killed it certainly held what it had noted.
                writeln!(notes, "R {path} {}", self.killed.expect("it was killed by us")).expect("noted");
            }
        }
        tried(folder, &name)
    }
}

#[test]
fn no_two_hold_overlapping_paths_where_there_are_no_locks() {
    // bus-v1 111, 112, 115, 117
    if !can_refuse() {
        let name = "no_two_hold_overlapping_paths_where_there_are_no_locks";
        let _ = writeln!(std::io::stderr(), "SKIPPED {name}: python3, or a kernel that filters calls, is not there");
        return;
    }
    let (workers, attempts, most_kills) = if full() { (16, 300_u64, 60) } else { (6, 40, 8) };
    let folder = folder();
    fs::create_dir(folder.path().join("notes")).expect("a folder");
    let end = Instant::now() + Duration::from_secs(if full() { 1800 } else { 300 });
    let mut crowd: Vec<Worker> = (0..workers).map(|number| Worker::begin(folder.path(), number, 0, attempts)).collect();
    let system = System::new();
    let last = bus(folder.path(), &system);
    let (mut kills, mut tries) = (0, 0);
    let mut next_kill = Instant::now();
    while !crowd.is_empty() {
        assert!(Instant::now() < end, "the crowd does not end: {kills} kills, {tries} tries of those that ended");
        let mut reborn = Vec::new();
        crowd.retain_mut(|worker| {
            let Some(status) = worker.child.try_wait().expect("ours") else { return true };
            let done = worker.bury(folder.path());
            tries += done;
            if was_killed(status) {
                reborn.push((worker.number, worker.life + 1, worker.left.saturating_sub(done).max(1)));
            } else {
                assert!(status.success(), "worker {}: {status}", worker.number);
            }
            false
        });
        crowd.extend(reborn.into_iter().map(|(number, life, left)| Worker::begin(folder.path(), number, life, left)));
        // Who stands in a file of the lock holds it, or takes it over, or is about to give it back.
        if kills < most_kills
            && Instant::now() >= next_kill
            && let Some(pid) = standing(last.path()).last()
            && let Some(worker) = crowd.iter_mut().find(|worker| worker.child.id() == *pid && worker.killed.is_none())
        {
            worker.killed = Some(nanos());
            worker.child.kill().expect("killed");
            kills += 1;
            next_kill = Instant::now() + Duration::from_millis(40);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let held = held(folder.path());
    assert!(tries >= workers as u64 * attempts, "{tries} tries");
    assert!(held.len() as u64 > attempts / 4, "somebody wins: {} grants of {tries}", held.len());
    assert!(kills >= 3, "{kills} holders were killed");
    let about = format!("{} grants of {tries}, {kills} holders killed", held.len());
    assert_eq!(violations(&held), 0, "{about}");
    say(&about);
    // Everybody has ended or died: the whole place is free at the next call, also of one that has locks.
    let all = [ClaimPath { path: ".".into(), dir: true }];
    assert!(matches!(last.claim(&me(&system, "last"), &all, None), Ok(Claimed::Held { .. })));
    assert!(last.prune_if_free().expect("pruned"), "the lock is free");
    assert_eq!(standing(last.path()), [0; 0], "and no file of the lock is left");
    assert!(last.path().join("lock.fallback").exists(), "the lock of files was taken");
}
