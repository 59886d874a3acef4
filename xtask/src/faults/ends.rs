//! Many sessions that end at the same moment: each takes its file with it.

use std::fs;
use std::process::Command;
use std::time::Instant;

use serde_json::json;

use super::Report;
use super::live::{Live, wait_for};
use super::scene::{Programs, Scene};

pub(crate) fn run(programs: &Programs, short: bool, report: &mut Report) -> anyhow::Result<()> {
    let scene = Scene::new(programs)?;
    // Three pipes a program are more than some systems let one process open when it asks for nothing.
    let own = std::process::id().to_string();
    let _ = Command::new("prlimit").args(["--pid", &own, "--nofile=4096:"]).output();
    let (publishers, agents) = if short { (200, 40) } else { (500, 100) };
    let (left, seconds) = closed_at_once(&scene, publishers)?;
    report.check(&format!("{publishers} sessions that end at once: {} left after {seconds:.1} s", left.len()), left);
    if Command::new("tmux").arg("-V").output().is_err() {
        report.skip("ends", "tmux is not installed: apt-get install tmux");
        return Ok(());
    }
    let (left, seconds) = terminals_killed(&scene, agents)?;
    let about = format!("tmux kill-server over {agents} agents under run: {} left after {seconds:.1} s", left.len());
    report.check(&about, left);
    Ok(())
}

/// Documents in the folder.
fn documents(scene: &Scene) -> Vec<String> {
    let names = fs::read_dir(scene.sessions()).into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.ends_with(".json") || name.ends_with(".tmp")).collect()
}

/// Publishers whose agents close their pipes in one moment; what is left, and how long the last one took.
fn closed_at_once(scene: &Scene, count: usize) -> anyhow::Result<(Vec<String>, f64)> {
    scene.clear()?;
    let pid = std::process::id();
    let mut children = Vec::new();
    for number in 0..count {
        let mut child = Live::start(&scene.jig(&["publish", "--agent", "acme"], ""))?;
        child.line(
            &json!({ "event": "session", "schema": 1, "session": format!("s-{number}"), "pid": pid, "cwd": "/" }),
        )?;
        children.push(child);
    }
    wait_for("the file of each", || documents(scene).len() == count)?;
    let begun = Instant::now();
    children.iter_mut().for_each(Live::close);
    for child in children {
        child.output()?;
    }
    Ok((documents(scene), begun.elapsed().as_secs_f64()))
}

/// A terminal server that is ended with all its panes, in each of which `run` publishes a program.
fn terminals_killed(scene: &Scene, count: usize) -> anyhow::Result<(Vec<String>, f64)> {
    scene.clear()?;
    let socket = scene.state().with_file_name("tmux.socket");
    let program = scene.jig(&[], "").program;
    let tmux = |args: &[&str]| {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&socket).args(["-f", "/dev/null"]).args(args);
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("TERM", "screen");
        command.envs(scene.jig(&[], "").env).env("SHELL", "/bin/sh");
        command.output()
    };
    let agent = format!("exec {} run --agent acme -- sleep 600", program.display());
    for number in 0..count {
        let first: &[&str] =
            if number == 0 { &["new-session", "-d", "-s", "crowd"] } else { &["new-window", "-d", "-t", "crowd:"] };
        let ran = tmux(&[first, &[&agent]].concat())?;
        anyhow::ensure!(ran.status.success(), "tmux: {}", String::from_utf8_lossy(&ran.stderr).trim());
    }
    let there = wait_for("the file of each agent in a pane", || documents(scene).len() == count);
    let begun = Instant::now();
    tmux(&["kill-server"])?;
    there?;
    // The programs get a hang-up; nobody waits for them but this look.
    let _ = wait_for("the end of all", || documents(scene).is_empty());
    Ok((documents(scene), begun.elapsed().as_secs_f64()))
}
