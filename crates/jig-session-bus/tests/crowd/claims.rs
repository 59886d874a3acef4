use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use jig_session_bus::path::ClaimPath;
use jig_session_bus::{Claimed, Release, System, overlap};

use crate::worker::{
    BEAT, Dice, bus, die, folder, full, is_over, job_folder, me, nanos, say, start, variable, wait, was_killed,
};

/// Fifty-six paths, each of which overlaps others.
pub(crate) fn paths() -> Vec<String> {
    let mut paths = vec![".".to_owned()];
    for a in 0..5 {
        paths.push(format!("d{a}"));
        for b in 0..5 {
            paths.push(format!("d{a}/e{b}"));
            paths.push(format!("d{a}/e{b}/f"));
        }
    }
    paths
}

/// The file that ends a crowd before its time.
const OVER: &str = "over";

/// From when to when one process certainly held one path.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) path: String,
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) who: String,
}

/// Reads the workers' notes: `G path time` after a grant, `R path time` before a release or a death.
pub(crate) fn held(folder: &Path) -> Vec<Held> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder.join("notes")).expect("notes") {
        let path = entry.expect("an entry").path();
        let who = path.file_name().expect("a name").to_string_lossy().into_owned();
        let mut open: Vec<(String, u64)> = Vec::new();
        for line in fs::read_to_string(&path).expect("a file").lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let (path, time) = (words[1].to_owned(), words[2].parse().expect("a time"));
            match words[0] {
                "G" => open.push((path, time)),
                "R" => {
                    let at = open.iter().position(|(held, _)| *held == path).expect("what ends has begun");
                    let (path, from) = open.remove(at);
                    all.push(Held { path, from, to: time, who: who.clone() });
                }
                // A try.
                _ => {}
            }
        }
        assert!(open.is_empty(), "{who} notes every end");
    }
    all
}

/// How often one life of a worker has tried, by its notes: `T - time` a try.
pub(crate) fn tried(folder: &Path, name: &str) -> u64 {
    let notes = fs::read_to_string(folder.join("notes").join(name)).unwrap_or_default();
    notes.lines().filter(|line| line.starts_with("T ")).count() as u64
}

/// Pairs of moments at which two processes held overlapping paths.
pub(crate) fn violations(held: &[Held]) -> usize {
    let mut sorted = held.to_vec();
    sorted.sort_by_key(|held| held.from);
    let mut found = 0;
    for (i, a) in sorted.iter().enumerate() {
        for b in sorted[i + 1..].iter().take_while(|b| b.from < a.to) {
            found += usize::from(a.who != b.who && overlap(&a.path, &b.path));
        }
    }
    found
}

#[test]
fn no_two_of_a_crowd_ever_hold_overlapping_paths() {
    // bus-v1 111, 112, 115, 117
    let (workers, attempts) = if full() { (64, 10_000) } else { (8, 80) };
    let folder = folder();
    fs::create_dir(folder.path().join("notes")).expect("a folder");
    let begun = Instant::now();
    let end = begun + Duration::from_secs(if full() { 28_800 } else { 300 });
    // A long run may be given a time: what was reached by then is judged like a whole one.
    let seconds = variable("JIG_CROWD_SECONDS").and_then(|seconds| seconds.parse().ok());
    let mut over = seconds.map(|seconds| begun + Duration::from_secs(seconds));
    let begin = |worker: usize, life: usize, left: u64| {
        let job = [
            ("JIG_CROWD", folder.path().display().to_string()),
            ("JIG_CROWD_WORKER", format!("{worker}-{life}")),
            ("JIG_CROWD_ACCIDENTS", "100".to_owned()),
            ("JIG_CROWD_ATTEMPTS", left.to_string()),
        ];
        start("claims::claiming_worker", &job)
    };
    let (mut kills, mut tries) = (0, 0_u64);
    let mut crowd: Vec<_> = (0..workers).map(|worker| (worker, 0, attempts, begin(worker, 0, attempts))).collect();
    while !crowd.is_empty() {
        if over.is_some_and(|over| Instant::now() > over) {
            fs::write(folder.path().join(OVER), "").expect("a file");
            over = None;
        }
        let mut reborn = Vec::new();
        crowd.retain_mut(|(worker, life, left, child)| {
            let Some(status) = is_over(child, end) else { return true };
            let done = tried(folder.path(), &format!("{worker}-{life}"));
            tries += done;
            if was_killed(status) {
                kills += 1;
                // The next life goes on where this one died, while the crowd is thick.
                reborn.extend((*left > done).then(|| (*worker, *life + 1, *left - done)));
            } else {
                assert!(status.success(), "worker {worker}: {status}");
            }
            false
        });
        let born = reborn.into_iter().map(|(worker, life, left)| (worker, life, left, begin(worker, life, left)));
        crowd.extend(born);
        std::thread::sleep(Duration::from_millis(2));
    }
    let seconds = begun.elapsed().as_secs();
    let held = held(folder.path());
    let all = workers as u64 * attempts;
    if folder.path().join(OVER).exists() {
        assert!(tries <= all, "{tries} tries");
    } else {
        assert_eq!(tries, all);
    }
    let grants = held.len() as u64;
    let fewest = tries / if full() { 256 } else { 32 };
    assert!(grants > fewest, "somebody wins: {grants} grants of {tries}");
    let about =
        format!("{grants} grants of {tries} (of {all}), {} refused, {kills} kills, {seconds} s", tries - grants);
    assert_eq!(violations(&held), 0, "{about}");
    say(&format!("{about}, 0 overlaps"));
    // Everybody has ended or died: the whole place is free at the next call.
    let system = System::new();
    let last = bus(folder.path(), &system);
    let all = [ClaimPath { path: ".".into(), dir: true }];
    assert!(matches!(last.claim(&me(&system, "last"), &all, None), Ok(Claimed::Held { .. })));
}

/// A worker's job; nothing without one. With accidents, one in so many of its grants is its end.
#[test]
fn claiming_worker() {
    let (Some(folder), Some(name)) = (job_folder(), variable("JIG_CROWD_WORKER")) else { return };
    let Some(attempts) = variable("JIG_CROWD_ATTEMPTS").and_then(|attempts| attempts.parse::<u64>().ok()) else {
        return;
    };
    let accidents = variable("JIG_CROWD_ACCIDENTS").and_then(|accidents| accidents.parse::<u64>().ok());
    let system = System::new();
    let bus = bus(&folder, &system);
    let me = me(&system, &format!("s-{name}"));
    let mut notes = fs::File::create(folder.join("notes").join(&name)).expect("a file");
    let mut dice = Dice::new(name.bytes().fold(7, |seed, byte| seed * 31 + u64::from(byte)));
    let paths = paths();
    let mut note = |word: &str, path: &str| {
        // One write a line: a line is there or not.
        notes.write_all(format!("{word} {path} {}\n", nanos()).as_bytes()).expect("noted");
    };
    let mut beaten = Instant::now();
    let over = folder.join(OVER);
    for _ in 0..attempts {
        if over.exists() {
            break;
        }
        // A crowd that works for longer than a silent session counts as live goes on beating, as a session does.
        if beaten.elapsed() > BEAT {
            bus.beat(&me).expect("beaten");
            beaten = Instant::now();
        }
        let path = &paths[dice.roll(paths.len() as u64) as usize];
        let asked = [ClaimPath { path: path.clone(), dir: true }];
        let outcome = bus.claim(&me, &asked, None).expect("the bus works");
        note("T", "-");
        if let Claimed::Held { claimed, .. } = outcome {
            for path in &claimed {
                note("G", path);
            }
            if accidents.is_some_and(|accidents| dice.roll(accidents) == 0) {
                for path in &claimed {
                    note("R", path);
                }
                die();
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

/// The same crowd with the rule that needs no lock: look, then make the file. It must fail, or the check above sees
/// nothing.
#[test]
fn the_check_sees_what_happens_without_the_lock() {
    let folder = folder();
    for name in ["notes", "held"] {
        fs::create_dir(folder.path().join(name)).expect("a folder");
    }
    let end = Instant::now() + Duration::from_secs(120);
    // On one busy processor two workers may never meet: they are given more chances.
    for round in 0..20 {
        let crowd: Vec<_> = (0..6)
            .map(|worker| {
                let job = [
                    ("JIG_CROWD", folder.path().display().to_string()),
                    ("JIG_CROWD_CONTROL", format!("{round}-{worker}")),
                ];
                start("claims::lockless_worker", &job)
            })
            .collect();
        for mut child in crowd {
            assert!(wait(&mut child, end).success());
        }
        if violations(&held(folder.path())) > 0 {
            return;
        }
    }
    panic!("without the lock nobody ever held what another held: the check is blind");
}

#[test]
fn lockless_worker() {
    let (Some(folder), Some(name)) = (job_folder(), variable("JIG_CROWD_CONTROL")) else { return };
    let mut notes = fs::File::create(folder.join("notes").join(&name)).expect("a file");
    let mut dice = Dice::new(name.bytes().fold(7, |seed, byte| seed * 31 + u64::from(byte)));
    let paths = ["src", "src/api", "src/api/x"];
    let mut note = |word: &str, path: &str| {
        notes.write_all(format!("{word} {path} {}\n", nanos()).as_bytes()).expect("noted");
    };
    for _ in 0..60 {
        let path = paths[dice.roll(3) as usize];
        let there = fs::read_dir(folder.join("held")).expect("a folder");
        let taken = there.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        if taken.into_iter().any(|held| overlap(&held.replace('+', "/"), path)) {
            continue;
        }
        std::thread::sleep(Duration::from_micros(500));
        let file = folder.join("held").join(path.replace('/', "+"));
        if fs::File::create_new(&file).is_ok() {
            note("G", path);
            std::thread::sleep(Duration::from_micros(500));
            note("R", path);
            fs::remove_file(&file).expect("removed");
        }
    }
}
