//! A file system that is full, and one that is read-only, in a mount namespace that nobody else sees.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::Context;
use serde_json::json;

use super::Report;
use super::live::{Live, wait_for};
use super::operations::{OPERATIONS, Operation, Version};
use super::scene::{Programs, Scene};
use crate::run::{run as run_program, say, target};

/// Which operations need room or a writable folder. Removing needs no room, so it is only tried on the read-only one.
const NEEDS_ROOM: [&str; 5] = ["write", "create", "publish", "publish-first", "request"];

/// Starts this program again in a mount namespace of its own and counts its lines.
pub(crate) fn run(report: &mut Report) -> anyhow::Result<()> {
    let folder = target().join("faults").join(format!("{}-starve", std::process::id()));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let own = std::env::current_exe().context("this program has no path")?;
    let mut command = Command::new("unshare");
    command.arg("--mount").arg(own).args(["faults", "starve-inside"]).arg(&folder);
    let ran = run_program(&mut command, |_| false);
    let _ = fs::remove_dir_all(&folder);
    let ran = match ran {
        Ok(ran) if ran.lines.iter().any(|line| line == "inside") => ran,
        Ok(ran) => {
            report.skip("starve", &format!("no file system can be mounted here: {}", ran.lines.join("; ")));
            return Ok(());
        }
        Err(error) => {
            report.skip("starve", &format!("{error:#}"));
            return Ok(());
        }
    };
    let mut checks = 0;
    for line in &ran.lines {
        if let Some(about) = line.strip_prefix("ok ") {
            checks += 1;
            report.check(about, Vec::new());
        } else if let Some((about, wrong)) = line.strip_prefix("wrong ").and_then(|rest| rest.split_once('\t')) {
            checks += 1;
            report.check(about, vec![wrong.to_owned()]);
        }
    }
    if !ran.status.success() || checks == 0 {
        report.check("starve", vec![format!("it ended with {}: {}", ran.status, ran.lines.join("; "))]);
    }
    Ok(())
}

/// Inside the namespace: mounts, starves, and prints one line a check.
pub(crate) fn inside(folder: &str) -> anyhow::Result<ExitCode> {
    let folder = Path::new(folder);
    let mounted = mount(&["-t", "tmpfs", "-o", "size=256k,nr_inodes=256", "tmpfs"], folder);
    if let Err(error) = mounted {
        say(&format!("{error:#}"));
        return Ok(ExitCode::SUCCESS);
    }
    say("inside");
    let programs = Programs::build()?;
    for operation in OPERATIONS {
        let scene = Scene::inside(folder, &programs)?;
        if NEEDS_ROOM.contains(&operation.name) {
            let filler = Filler { path: folder.join("filler") };
            let wrong = starved(operation, &scene, "ENOSPC", || filler.fill(), || filler.empty());
            tell(&format!("{} on a full file system", operation.name), wrong);
        }
        let read_only = || mount(&["-o", "remount,ro"], folder);
        let writable = || mount(&["-o", "remount,rw"], folder);
        let wrong = starved(operation, &scene, "EROFS", read_only, writable);
        tell(&format!("{} on a read-only file system", operation.name), wrong);
    }
    let scene = Scene::inside(folder, &programs)?;
    let filler = Filler { path: folder.join("filler") };
    tell("a running publisher on a file system that fills up and is emptied", resumed(&scene, &filler));
    Ok(ExitCode::SUCCESS)
}

/// A publisher that runs on while there is no room says so once, and goes on by itself when there is room again.
fn resumed(scene: &Scene, filler: &Filler) -> anyhow::Result<()> {
    scene.clear()?;
    let mut publisher = Live::start(&scene.jig(&["publish", "--agent", "acme"], ""))?;
    publisher
        .line(&json!({ "event": "session", "schema": 1, "session": "s-1", "pid": std::process::id(), "cwd": "/" }))?;
    let state = |wanted: &str| matches!(scene.document("s-1.json"), Ok(Some(document)) if document["state"] == wanted);
    wait_for("the first document", || state("idle"))?;
    filler.fill()?;
    publisher.line(&json!({ "event": "turn", "phase": "start" }))?;
    let told = publisher.stderr_until("ENOSPC");
    let old = state("idle");
    filler.empty()?;
    let told = told?;
    let path = scene.state();
    anyhow::ensure!(told.contains(&*path.to_string_lossy()), "it does not name the path: {told}");
    anyhow::ensure!(old, "the old document was not kept");
    wait_for("the document once there is room", || state("busy"))?;
    let ended = publisher.end()?;
    anyhow::ensure!(ended.success(), "it ended with {ended}");
    anyhow::ensure!(scene.document("s-1.json") == Ok(None), "its file is left");
    let left = scene.leftovers();
    anyhow::ensure!(left.is_empty(), "it left {}", left.join(", "));
    Ok(())
}

fn tell(about: &str, result: anyhow::Result<()>) {
    match result {
        Ok(()) => say(&format!("ok {about}")),
        Err(error) => say(&format!("wrong {about}\t{}", format!("{error:#}").replace('\n', " | "))),
    }
}

/// The operation fails while it is starved, says so, keeps what was there, and succeeds once it is fed again.
fn starved(
    operation: &Operation,
    scene: &Scene,
    errno: &str,
    starve: impl Fn() -> anyhow::Result<()>,
    feed: impl Fn() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    scene.clear()?;
    (operation.prepare)(scene)?;
    starve()?;
    let ended = (operation.run)(scene).plainly();
    let found = (operation.found)(scene);
    let left = scene.leftovers();
    feed()?;
    let ended = ended?;
    let text = ended.text.trim();
    let found = found.map_err(anyhow::Error::msg)?;
    anyhow::ensure!(found == Version::Old, "it claims to have worked: {text}");
    anyhow::ensure!(!text.contains("panicked"), "it panicked: {text}");
    anyhow::ensure!(operation.silent || !ended.status.success(), "it failed and ended with code 0: {text}");
    let path = scene.state();
    let said = text.contains(errno) && text.contains(&*path.to_string_lossy());
    anyhow::ensure!(said, "what failed is not told with its path and errno: {text}");
    anyhow::ensure!(left.is_empty(), "it left {}", left.join(", "));
    let again = (operation.run)(scene).plainly()?;
    anyhow::ensure!(again.status.success(), "fed again it ended with {}: {}", again.status, again.text.trim());
    let found = (operation.found)(scene).map_err(anyhow::Error::msg)?;
    anyhow::ensure!(found == Version::New, "fed again it did nothing: {}", again.text.trim());
    Ok(())
}

fn mount(options: &[&str], folder: &Path) -> anyhow::Result<()> {
    let output = Command::new("mount").args(options).arg(folder).output().context("cannot run mount")?;
    let said = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "mount {}: {}", options.join(" "), said.trim());
    Ok(())
}

/// A file that takes all the room there is.
struct Filler {
    path: PathBuf,
}

impl Filler {
    fn fill(&self) -> anyhow::Result<()> {
        let mut file = fs::File::create(&self.path).context("cannot make the filler")?;
        for size in [64 * 1024, 4096, 512, 1] {
            while file.write_all(&vec![0; size]).is_ok() {}
        }
        Ok(())
    }

    fn empty(&self) -> anyhow::Result<()> {
        fs::remove_file(&self.path).context("cannot remove the filler")
    }
}
