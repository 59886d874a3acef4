//! The pictures of the README: the program itself on demo sessions in a real terminal, drawn as SVG.
//!
//! What stands in them comes from `tmux capture-pane`, so a picture is old when the program looks otherwise than it did.

mod scene;
mod svg;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::run::{cargo, root, run, say, target};
use scene::Scene;
use svg::{Theme, picture};

/// How long a screen may take to look as it should, however loaded the machine is.
const PATIENCE: Duration = Duration::from_secs(60);

/// A picture: its name, the size of the terminal, what is run there, and what its screen has when it is ready. Keys are
/// pressed one after the other, each when the text beside it is on the screen.
struct Shot {
    name: &'static str,
    size: (u16, u16),
    command: &'static str,
    keys: &'static [(&'static str, &'static str)],
    ready: &'static str,
}

const SHOTS: &[Shot] = &[
    Shot { name: "board", size: (100, 13), command: "jig-session board", keys: &[], ready: "Gemini 4" },
    Shot {
        name: "board-session",
        size: (100, 22),
        command: "jig-session board",
        keys: &[("Gemini 4", "Enter")],
        ready: "OUTCOME",
    },
    Shot { name: "ls", size: (100, 10), command: "jig-session ls", keys: &[], ready: "idle" },
];

/// `cargo xtask pictures` writes them; `--check` says which are old.
pub(crate) fn run_all(args: &[String]) -> anyhow::Result<ExitCode> {
    let check = match args {
        [] => false,
        [flag] if flag == "--check" => true,
        _ => bail!("cargo xtask pictures [--check]"),
    };
    if !run(Command::new("tmux").arg("-V"), |_| false).is_ok_and(|ran| ran.status.success()) {
        say("SKIPPED pictures: tmux is not installed");
        return Ok(ExitCode::SUCCESS);
    }
    let built = run(&mut cargo(&["build", "--quiet", "-p", "jig-session"]), |_| true)?;
    if !built.status.success() {
        bail!("cargo build ended with {}", built.status);
    }
    let old = drawn(&target().join("debug/jig-session"), check)?;
    if old.is_empty() {
        say(&format!("{} passed", SHOTS.len() * Theme::ALL.len()));
        return Ok(ExitCode::SUCCESS);
    }
    for name in &old {
        say(&format!("error: docs/pictures/{name} is not what the program shows now: cargo xtask pictures"));
    }
    Ok(ExitCode::FAILURE)
}

/// Draws all pictures; gives the names of those that are not what is in the repository when they are only checked.
fn drawn(program: &Path, check: bool) -> anyhow::Result<Vec<String>> {
    let folder = root().join("docs/pictures");
    let mut old = Vec::new();
    let scene = Scene::begin(program)?;
    for shot in SHOTS {
        let screen = taken(&scene, shot)?;
        for theme in &Theme::ALL {
            let text = picture(&screen, shot.size, theme, &format!("{} in a terminal", shot.command));
            let path = folder.join(format!("{}-{}.svg", shot.name, theme.name));
            if !check {
                fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
                fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
            } else if fs::read_to_string(&path).ok().as_deref() != Some(&text) {
                old.push(format!("{}-{}.svg", shot.name, theme.name));
            }
        }
    }
    Ok(old)
}

/// The screen of a shot, with its styles as escape sequences.
fn taken(scene: &Scene, shot: &Shot) -> anyhow::Result<String> {
    let tmux = Tmux::start(scene, shot)?;
    for (before, key) in shot.keys {
        tmux.shows(before)?;
        tmux.run(&["send-keys", "-t", "0", key])?;
    }
    tmux.shows(shot.ready)?;
    // What comes in pieces has come: two looks that show the same.
    let mut last = String::new();
    let end = Instant::now() + PATIENCE;
    loop {
        let now = tmux.run(&["capture-pane", "-e", "-p", "-N", "-t", "0"])?;
        if now == last {
            return Ok(now);
        }
        if Instant::now() > end {
            bail!("the screen of {} never stands still:\n{now}", shot.name);
        }
        last = now;
        thread::sleep(Duration::from_millis(300));
    }
}

/// A tmux server of one shot, ended with it.
struct Tmux {
    socket: PathBuf,
}

impl Tmux {
    fn start(scene: &Scene, shot: &Shot) -> anyhow::Result<Self> {
        // A socket each: a server that is just ending still takes a client, and then fails it.
        let tmux = Self { socket: scene.root().join(format!("tmux-{}", shot.name)) };
        let (width, height) = (shot.size.0.to_string(), shot.size.1.to_string());
        let script = format!("printf '$ {0}\\n'; {0}; exec sleep 600", shot.command);
        let script = if shot.command.contains("board") { format!("exec {}", shot.command) } else { script };
        let mut command = tmux.command();
        scene.environment(&mut command);
        command.args(["new-session", "-d", "-x", &width, "-y", &height, "-c"]).arg(scene.home()).arg(script);
        let ran = run(&mut command, |_| true)?;
        if !ran.status.success() {
            bail!("tmux cannot open a session: {}", ran.lines.join(" "));
        }
        tmux.run(&["set-option", "-g", "status", "off"])?;
        tmux.run(&["resize-window", "-t", "0", "-x", &width, "-y", &height])?;
        Ok(tmux)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-u", "-f", "/dev/null", "-S"]).arg(&self.socket);
        command
    }

    fn run(&self, args: &[&str]) -> anyhow::Result<String> {
        let output = self.command().args(args).output().context("cannot run tmux")?;
        if !output.status.success() {
            bail!("tmux {} failed: {}", args.join(" "), String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn shows(&self, text: &str) -> anyhow::Result<()> {
        let end = Instant::now() + PATIENCE;
        loop {
            let screen = self.run(&["capture-pane", "-p", "-t", "0"])?;
            if screen.contains(text) {
                return Ok(());
            }
            if Instant::now() > end {
                bail!("no {text:?} in\n{screen}");
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = self.run(&["kill-server"]);
    }
}
