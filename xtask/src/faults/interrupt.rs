//! Each call of an operation as its last one, and each call failing in every way.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Report;
use super::operations::{self, Operation, Version};
use super::scene::{Programs, Scene};
use super::strace::{Call, Ended, Fault};

/// What a call to the file system can fail with.
const ERRNOS: [&str; 20] = [
    "ENOSPC",
    "EIO",
    "EACCES",
    "EMFILE",
    "EROFS",
    "ENOENT",
    "EPERM",
    "EDQUOT",
    "ENFILE",
    "ENOMEM",
    "EXDEV",
    "EBUSY",
    "ELOOP",
    "ENAMETOOLONG",
    "ENOTDIR",
    "ESTALE",
    "EINTR",
    "EFBIG",
    "EINVAL",
    "ENODEV",
];

/// How many of them each call meets in the short form; which ones differs from call to call.
const SHORT: usize = 2;

/// How many runs of each operation the short form disturbs in each of the two ways, evenly chosen from all.
const SHORT_RUNS: usize = 40;

/// A disk or a quota may be found full only when a file is put in its place or brought to the disk.
const FULL: [&str; 2] = ["ENOSPC", "EDQUOT"];
/// The calls that do so: they meet each of [`FULL`] in the short form, too.
const PLACING: [&str; 7] = ["rename", "renameat", "renameat2", "link", "linkat", "fsync", "fdatasync"];

/// How often a call is tried again that a run did not make: threads and timers change the order of calls a little.
const TRIES: usize = 4;

/// How many threads disturb at once.
const WORKERS: usize = 2;

/// One disturbed run.
#[derive(Clone, Debug)]
struct Point {
    call: Call,
    fault: Fault,
}

impl Point {
    /// Whether the short form must not leave it out.
    fn is_due(&self) -> bool {
        let is_full = matches!(self.fault, Fault::Errno(errno) if FULL.contains(&errno));
        is_full && PLACING.contains(&self.call.name.as_str())
    }
}

/// Runs every operation, or the one that is named, under every fault.
pub(crate) fn run(programs: &Programs, only: Option<&str>, short: bool, report: &mut Report) -> anyhow::Result<()> {
    for operation in operations::all().filter(|operation| only.is_none_or(|name| name == operation.name)) {
        let points = points(operation, programs, short)?;
        let (kills, errors) = points.iter().partition::<Vec<_>, _>(|point| matches!(point.fault, Fault::Kill));
        for (what, mut points) in [("killed before each call", kills), ("each call failing", errors)] {
            if short && points.len() > SHORT_RUNS {
                let (due, others) = points.into_iter().partition::<Vec<_>, _>(|point| point.is_due());
                let chosen = SHORT_RUNS.saturating_sub(due.len()).min(others.len());
                points = (0..chosen).map(|turn| others[turn * others.len() / chosen]).chain(due).collect();
            }
            let (hit, wrong) = disturb(operation, programs, &points)?;
            let about = format!("{}, {what}: {hit} of {} runs disturbed", operation.name, points.len());
            // A fault that is met too rarely proves nothing.
            let enough = hit * 2 >= points.len() && hit > 0;
            let missed = (!enough).then(|| "too few of the faults were met".to_owned());
            report.check(&about, wrong.into_iter().chain(missed).collect());
        }
    }
    Ok(())
}

/// Every call of an undisturbed run, with every fault that it is to meet.
fn points(operation: &Operation, programs: &Programs, short: bool) -> anyhow::Result<Vec<Point>> {
    let scene = Scene::new(programs)?;
    set(operation, &scene)?;
    let calls = (operation.run)(&scene).calls(&scene.state(), &scene.log())?;
    let done =
        (operation.found)(&scene).map_err(|wrong| anyhow::anyhow!("{}, undisturbed: {wrong}", operation.name))?;
    anyhow::ensure!(done == Version::New, "{}, undisturbed, did nothing", operation.name);
    let mut points = Vec::new();
    for (number, call) in calls.iter().enumerate() {
        points.push(Point { call: call.clone(), fault: Fault::Kill });
        let errnos = if short { SHORT } else { ERRNOS.len() };
        let placing = short && PLACING.contains(&call.name.as_str());
        let due = FULL.into_iter().filter(|_| placing);
        let others = (0..errnos).map(|turn| ERRNOS[(number * errnos + turn) % ERRNOS.len()]);
        for errno in due.chain(others.filter(|errno| !placing || !FULL.contains(errno))) {
            points.push(Point { call: call.clone(), fault: Fault::Errno(errno) });
        }
    }
    Ok(points)
}

fn set(operation: &Operation, scene: &Scene) -> anyhow::Result<()> {
    scene.clear()?;
    (operation.prepare)(scene)
}

/// Runs the points on a few threads; gives how many were met and what was wrong.
fn disturb(operation: &Operation, programs: &Programs, points: &[&Point]) -> anyhow::Result<(usize, Vec<String>)> {
    let (next, hit) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let wrong = Mutex::new(Vec::new());
    let worker = || -> anyhow::Result<()> {
        let scene = Scene::new(programs)?;
        set(operation, &scene)?;
        scene.keep()?;
        while let Some(point) = points.get(next.fetch_add(1, Ordering::Relaxed)) {
            for _ in 0..TRIES {
                scene.restore()?;
                let ended =
                    (operation.run)(&scene).with_fault(&point.call, point.fault, &scene.state(), &scene.log())?;
                if let Err(what) = judge(operation, &scene, point, &ended) {
                    let line: String = point.call.line.chars().take(160).collect();
                    let text = ended.text.trim().replace('\n', " | ");
                    let mut wrong = wrong.lock().expect("no worker panics");
                    wrong.push(format!("{:?} at {line}: {what}; it said: {text}", point.fault));
                }
                if ended.hit {
                    hit.fetch_add(1, Ordering::Relaxed);
                    break;
                }
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    })?;
    Ok((hit.into_inner(), wrong.into_inner().expect("no worker panics")))
}

/// What must hold after a disturbed run, and after the next one.
fn judge(operation: &Operation, scene: &Scene, point: &Point, ended: &Ended) -> Result<(), String> {
    if ended.text.contains("panicked") || ended.status.code() == Some(101) {
        return Err("it panicked".to_owned());
    }
    let found = (operation.found)(scene)?;
    if let (Fault::Errno(errno), true) = (point.fault, ended.hit) {
        told(operation, scene, point, ended, found, errno)?;
    }
    let next = (operation.next)(scene).plainly().map_err(|error| error.to_string())?;
    if !next.status.success() {
        return Err(format!("the next run ended with {}: {}", next.status, next.text.trim()));
    }
    (operation.found)(scene).map_err(|wrong| format!("after the next run: {wrong}"))?;
    match scene.leftovers() {
        left if left.is_empty() => Ok(()),
        left => Err(format!("after the next run there is {}", left.join(", "))),
    }
}

/// A failure is told with its path and errno, and leaves no temporary.
fn told(
    operation: &Operation,
    scene: &Scene,
    point: &Point,
    ended: &Ended,
    found: Version,
    errno: &str,
) -> Result<(), String> {
    let failed = !ended.status.success();
    // A call that says "not there" is believed by what only looks whether something is there, and one that says "a link"
    // or "a device" by what reads regular files only.
    const NO_FILE: [&str; 7] = [
        "not-a-regular-file",
        "it is not a regular file",
        "not-found",
        "nobody on this bus",
        "is not held",
        "1 unreadable",
        "was changed meanwhile",
    ];
    let no_file =
        ["ELOOP", "ENODEV", "ENOTDIR"].contains(&errno) && NO_FILE.iter().any(|word| ended.text.contains(word));
    let unsaid = found == Version::Old && errno != "ENOENT" && !no_file;
    if (failed && errno != "ENOENT" && !no_file) || unsaid {
        let said = ended.text.contains(errno) && ended.text.contains(&*scene.state().to_string_lossy());
        if !said {
            return Err("what failed is not told with its path and errno".to_owned());
        }
        if !failed && !operation.silent {
            return Err("it failed and ended with code 0".to_owned());
        }
    }
    let left = scene.leftovers();
    if !left.is_empty() && !point.call.name.starts_with("unlink") {
        return Err(format!("it left {}", left.join(", ")));
    }
    Ok(())
}
