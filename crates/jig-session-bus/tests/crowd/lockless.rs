//! A crowd on a file system without locks, whose members are killed while they hold the lock of files.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use jig_session_bus::path::ClaimPath;
use jig_session_bus::{Claimed, Release, System};

use crate::claims::{held, paths, violations};
use crate::worker::{Dice, bus, folder, full, job_folder, me, nanos, say, start_by, variable, was_killed};

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
    left: usize,
    child: Child,
    /// When it was killed by us.
    killed: Option<u64>,
}

impl Worker {
    fn begin(folder: &Path, number: usize, life: usize, left: usize) -> Self {
        let job = [
            ("JIG_CROWD", folder.display().to_string()),
            ("JIG_CROWD_LOCKLESS", format!("{number}-{life}")),
            ("JIG_CROWD_ATTEMPTS", left.to_string()),
        ];
        let by = refuse(if number.is_multiple_of(2) { "ENOLCK" } else { "EOPNOTSUPP" });
        let child = start_by(&by, "lockless::lockless_claimer", &job);
        Self { number, life, left, child, killed: None }
    }

    /// Notes the ends of what it held when it was killed; gives how often it had tried.
    fn bury(&self, folder: &Path) -> usize {
        let notes = folder.join("notes").join(format!("{}-{}", self.number, self.life));
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
        count("T", "-")
    }
}

#[test]
fn no_two_hold_overlapping_paths_where_there_are_no_locks() {
    // 111, 112, 115, 117
    if !can_refuse() {
        let name = "no_two_hold_overlapping_paths_where_there_are_no_locks";
        let _ = writeln!(std::io::stderr(), "SKIPPED {name}: python3, or a kernel that filters calls, is not there");
        return;
    }
    let (workers, attempts, most_kills) = if full() { (16, 300, 60) } else { (6, 40, 8) };
    let folder = folder();
    fs::create_dir(folder.path().join("notes")).expect("a folder");
    let end = Instant::now() + Duration::from_secs(if full() { 1800 } else { 300 });
    let mut crowd: Vec<Worker> = (0..workers).map(|number| Worker::begin(folder.path(), number, 0, attempts)).collect();
    let system = System::new();
    let last = bus(folder.path(), &system);
    let (mut kills, mut tried) = (0, 0);
    let mut next_kill = Instant::now();
    while !crowd.is_empty() {
        assert!(Instant::now() < end, "the crowd does not end: {kills} kills, {tried} tries of those that ended");
        let mut reborn = Vec::new();
        crowd.retain_mut(|worker| {
            let Some(status) = worker.child.try_wait().expect("ours") else { return true };
            let done = worker.bury(folder.path());
            tried += done;
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
    assert!(tried >= workers * attempts, "{tried} tries");
    assert!(held.len() > attempts / 4, "somebody wins: {} grants of {tried}", held.len());
    assert!(kills >= 3, "{kills} holders were killed");
    let about = format!("{} grants of {tried}, {kills} holders killed", held.len());
    assert_eq!(violations(&held), 0, "{about}");
    say(&about);
    // Everybody has ended or died: the whole place is free at the next call, also of one that has locks.
    let all = [ClaimPath { path: ".".into(), dir: true }];
    assert!(matches!(last.claim(&me(&system, "last"), &all, None), Ok(Claimed::Held { .. })));
    assert!(last.prune_if_free().expect("pruned"), "the lock is free");
    assert_eq!(standing(last.path()), [0; 0], "and no file of the lock is left");
    assert!(last.path().join("lock.fallback").exists(), "the lock of files was taken");
}

/// A worker's job; nothing without one.
#[test]
fn lockless_claimer() {
    let (Some(folder), Some(name)) = (job_folder(), variable("JIG_CROWD_LOCKLESS")) else { return };
    let Some(attempts) = variable("JIG_CROWD_ATTEMPTS").and_then(|attempts| attempts.parse::<u64>().ok()) else {
        return;
    };
    let system = System::new();
    let bus = bus(&folder, &system);
    let me = me(&system, &format!("s-{name}"));
    let mut notes = fs::File::create(folder.join("notes").join(&name)).expect("a file");
    let mut dice = Dice::new(name.bytes().fold(7, |seed, byte| seed * 31 + u64::from(byte)));
    let paths = paths();
    let mut note = |word: &str, path: &str| {
        notes.write_all(format!("{word} {path} {}\n", nanos()).as_bytes()).expect("noted");
    };
    for _ in 0..attempts {
        let path = &paths[dice.roll(paths.len() as u64) as usize];
        let asked = [ClaimPath { path: path.clone(), dir: true }];
        let claimed = bus.claim(&me, &asked, None).expect("the bus works");
        note("T", "-");
        if let Claimed::Held { claimed, .. } = claimed {
            for path in &claimed {
                note("G", path);
            }
            std::thread::yield_now();
            for path in &claimed {
                note("R", path);
            }
            bus.release(&me, &Release::All).expect("released");
        }
    }
    bus.leave(&me).expect("left");
}
