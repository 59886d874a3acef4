//! Readers against a writer, with a control that must be caught, and many writers at once.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use serde_json::json;

use super::Report;
use super::live::{Live, PATIENCE, wait_for};
use super::scene::{Programs, Scene};

/// How many writers run at once.
const WRITERS: usize = 64;

pub(crate) fn run(programs: &Programs, short: bool, report: &mut Report) -> anyhow::Result<()> {
    let reads = if short { 100_000 } else { 1_000_000 };
    let mut places = vec![("the disk", Scene::new(programs)?)];
    let memory = Path::new("/dev/shm");
    if let Ok(scene) = Scene::inside(memory, programs) {
        places.push(("a tmpfs", scene));
    }
    for (place, scene) in &places {
        scene.clear()?;
        let whole = hammered(scene, &[], reads)?;
        let about = format!("{} reads on {place}: {} torn, {} missing", whole.reads, whole.torn, whole.missing);
        report.check(&about, whole.wrong(reads));
        scene.clear()?;
        let control = hammered(scene, &["--in-place"], reads)?;
        let about =
            format!("the control on {place}, written in place: {} of {} reads torn", control.torn, control.reads);
        let blind = (control.torn == 0).then(|| "torn reads would not have been seen".to_owned());
        report.check(&about, blind.into_iter().collect());
    }
    let (_, scene) = &places[0];
    report.check(&format!("{WRITERS} writers of one file"), one_file(scene)?);
    report.check(&format!("{WRITERS} publishers, each with its session"), publishers(scene)?);
    Ok(())
}

/// What the readers saw.
struct Seen {
    reads: usize,
    torn: usize,
    missing: usize,
    left: Vec<String>,
}

impl Seen {
    fn wrong(&self, reads: usize) -> Vec<String> {
        let mut wrong = self.left.clone();
        if self.torn + self.missing > 0 {
            wrong.push(format!("{} torn and {} missing", self.torn, self.missing));
        }
        if self.reads < reads {
            wrong.push(format!("only {} reads", self.reads));
        }
        wrong
    }
}

/// Three readers with nothing but the standard library, while another process writes one version after the other.
fn hammered(scene: &Scene, more: &[&str], reads: usize) -> anyhow::Result<Seen> {
    let mut args = vec!["a.json"];
    args.extend(more);
    let mut writer = Live::start(&scene.act("hammer", &args))?;
    let path = scene.sessions().join("a.json");
    wait_for("the first version", || fs::metadata(&path).is_ok_and(|found| found.len() > 0))?;
    let (count, torn, missing) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    // A loaded machine reads some thousands of times a second, while a writer does nothing but sync.
    let hundreds = u32::try_from(reads.div_ceil(100_000)).unwrap_or(1);
    let end = Instant::now() + PATIENCE * hundreds;
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while count.fetch_add(1, Ordering::Relaxed) < reads && Instant::now() < end {
                    match fs::read(&path) {
                        // Each byte equals the one before it: one comparison of the whole.
                        Ok(bytes) if bytes.len() == 16_384 && bytes[1..] == bytes[..16_383] => {}
                        Ok(_) => _ = torn.fetch_add(1, Ordering::Relaxed),
                        Err(_) => _ = missing.fetch_add(1, Ordering::Relaxed),
                    }
                }
            });
        }
    });
    writer.close();
    let (status, said) = writer.output()?;
    let mut left: Vec<String> = scene.leftovers().into_iter().map(|name| format!("it left {name}")).collect();
    if !status.success() {
        left.push(format!("the writer: {}", said.trim()));
    }
    let reads = count.into_inner().min(reads);
    Ok(Seen { reads, torn: torn.into_inner(), missing: missing.into_inner(), left })
}

/// Many processes replace one file at the same moment: it is whole in the end, and one of theirs.
fn one_file(scene: &Scene) -> anyhow::Result<Vec<String>> {
    scene.clear()?;
    let texts: Vec<String> = (0..WRITERS).map(|number| format!("writer {number}")).collect();
    let children: anyhow::Result<Vec<Live>> =
        texts.iter().map(|text| Live::start(&scene.act("write", &["a.json", text]))).collect();
    let mut wrong = ended(children?)?;
    match scene.content("a.json") {
        Ok(Some(text)) if texts.contains(&text) => {}
        other => wrong.push(format!("the file holds {other:?}")),
    }
    wrong.extend(scene.leftovers());
    Ok(wrong)
}

/// Many publishers in one folder: each document is there and whole while they run, and gone when they have ended.
fn publishers(scene: &Scene) -> anyhow::Result<Vec<String>> {
    scene.clear()?;
    let pid = std::process::id();
    let mut children = Vec::new();
    for number in 0..WRITERS {
        let mut child = Live::start(&scene.jig(&["publish", "--agent", "acme"], ""))?;
        let session = format!("s-{number}");
        child.line(&json!({ "event": "session", "schema": 1, "session": session, "pid": pid, "cwd": "/" }))?;
        children.push(child);
    }
    let names: Vec<String> = (0..WRITERS).map(|number| format!("s-{number}.json")).collect();
    let mut wrong = Vec::new();
    for state in ["idle", "busy"] {
        let all = || names.iter().all(|name| matches!(scene.document(name), Ok(Some(d)) if d["state"] == state));
        if let Err(error) = wait_for(&format!("the state {state} of all"), all) {
            wrong.push(format!("{error:#}"));
        }
        for child in &mut children {
            child.line(&json!({ "event": "turn", "phase": "start" }))?;
        }
    }
    wrong.extend(ended(children)?);
    let left = fs::read_dir(scene.sessions())?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    wrong.extend(left.filter(|name| name.contains(".json")).map(|name| format!("{name} is left")));
    Ok(wrong)
}

/// Closes their inputs, waits for all, and gives what those said that failed.
fn ended(mut children: Vec<Live>) -> anyhow::Result<Vec<String>> {
    let mut wrong = Vec::new();
    children.iter_mut().for_each(Live::close);
    for child in children {
        let (status, said) = child.output()?;
        if !status.success() || said.contains("panicked") {
            wrong.push(format!("one ended with {status}: {}", said.trim()));
        }
    }
    Ok(wrong)
}
