//! Readers against a writer, with a control that must be caught, and many writers at once.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::json;

use super::Report;
use super::scene::{Programs, Scene};
use super::strace::Run;

/// How many writers run at once.
const WRITERS: usize = 64;

/// How long anything may take before it counts as hung.
const PATIENCE: Duration = Duration::from_secs(120);

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
    let mut writer = start(&scene.act("hammer", &args))?;
    let path = scene.sessions().join("a.json");
    wait_for("the first version", || fs::metadata(&path).is_ok_and(|found| found.len() > 0))?;
    let (count, torn, missing) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let end = Instant::now() + PATIENCE;
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
    drop(writer.stdin.take());
    let output = writer.wait_with_output().context("cannot wait for the writer")?;
    let mut left: Vec<String> = scene.leftovers().into_iter().map(|name| format!("it left {name}")).collect();
    if !output.status.success() {
        left.push(format!("the writer: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let reads = count.into_inner().min(reads);
    Ok(Seen { reads, torn: torn.into_inner(), missing: missing.into_inner(), left })
}

/// Many processes replace one file at the same moment: it is whole in the end, and one of theirs.
fn one_file(scene: &Scene) -> anyhow::Result<Vec<String>> {
    scene.clear()?;
    let texts: Vec<String> = (0..WRITERS).map(|number| format!("writer {number}")).collect();
    let children: Result<Vec<Child>, _> =
        texts.iter().map(|text| start(&scene.act("write", &["a.json", text]))).collect();
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
        let mut child = start(&scene.jig(&["publish", "--agent", "acme"], ""))?;
        let first =
            json!({ "event": "session", "schema": 1, "session": format!("s-{number}"), "pid": pid, "cwd": "/" });
        writeln!(child.stdin.as_mut().context("it is piped")?, "{first}")?;
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
            let _ = writeln!(
                child.stdin.as_mut().context("it is piped")?,
                "{}",
                json!({ "event": "turn", "phase": "start" })
            );
        }
    }
    wrong.extend(ended(children)?);
    let left = fs::read_dir(scene.sessions())?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    wrong.extend(left.filter(|name| name.contains(".json")).map(|name| format!("{name} is left")));
    Ok(wrong)
}

/// Closes their inputs, waits for all, and gives what those said that failed.
fn ended(children: Vec<Child>) -> anyhow::Result<Vec<String>> {
    let mut wrong = Vec::new();
    let mut children = children;
    for child in &mut children {
        drop(child.stdin.take());
    }
    for child in children {
        let output = child.wait_with_output().context("cannot wait for a writer")?;
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        if !output.status.success() || said.contains("panicked") {
            wrong.push(format!("one ended with {}: {said}", output.status));
        }
    }
    Ok(wrong)
}

fn start(run: &Run) -> anyhow::Result<Child> {
    let program: &PathBuf = &run.program;
    let mut command = Command::new(program);
    command.args(&run.args).env_clear().envs(run.env.iter().map(|(name, value)| (name, value)));
    command.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().with_context(|| format!("cannot run {}", program.display()))
}

fn wait_for(what: &str, mut holds: impl FnMut() -> bool) -> anyhow::Result<()> {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        anyhow::ensure!(Instant::now() < end, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
