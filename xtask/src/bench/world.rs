//! The programs that are measured, and throw-away folders full of what they read.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use crate::run;

/// The built programs.
pub(super) struct Programs {
    ours: PathBuf,
    baselines: PathBuf,
}

impl Programs {
    /// Builds both sides statically; ours is `with` where one is named.
    pub(super) fn build(with: Option<PathBuf>) -> anyhow::Result<Self> {
        let target = host()?;
        let folder = run::target().join("bench");
        let built = |manifest: &Path, rest: &[&str]| -> anyhow::Result<()> {
            let manifest = manifest.to_string_lossy().into_owned();
            let mut command = run::cargo(&["build", "--quiet", "--manifest-path", &manifest, "--target", &target]);
            command.args(rest).env("CARGO_TARGET_DIR", &folder).env("RUSTFLAGS", "-C target-feature=+crt-static");
            ensure!(command.status().context("cannot run cargo")?.success(), "cannot build {manifest}");
            Ok(())
        };
        if with.is_none() {
            built(&run::root().join("Cargo.toml"), &["--profile", "dist", "--package", "jig-session"])?;
        }
        built(&run::root().join("xtask/baselines/Cargo.toml"), &["--release", "--features", "writer"])?;
        let out = folder.join(&target);
        // A program is measured as it is installed: copied. What a linker has just written lies in the page cache in
        // pieces, and starts slower.
        let (installed, baselines) = (folder.join("installed"), out.join("release"));
        fs::create_dir_all(&installed)?;
        let install = |program: PathBuf| -> anyhow::Result<PathBuf> {
            let copy = installed.join(program.file_name().context("a program has a name")?);
            let _ = fs::remove_file(&copy);
            fs::copy(&program, &copy).with_context(|| format!("cannot copy {}", program.display()))?;
            Ok(copy)
        };
        for name in ["parse-records", "publish-loop", "read-files", "replace-file"] {
            install(baselines.join(name))?;
        }
        let ours = install(with.unwrap_or_else(|| out.join("dist/jig-session")))?;
        Ok(Self { ours, baselines: installed })
    }

    /// `jig-session` in a world.
    pub(super) fn jig(&self, world: &World, args: &[&str]) -> Command {
        let mut command = world.command(&self.ours);
        command.args(args);
        command
    }

    /// Where `jig-session` lies.
    pub(super) fn ours(&self) -> &Path {
        &self.ours
    }

    /// A baseline.
    pub(super) fn baseline(&self, name: &str, args: &[&Path]) -> Command {
        let mut command = Command::new(self.baselines.join(name));
        command.args(args);
        command
    }
}

/// A copy of a program in the state in which its memory is measured: read from the disk, as after a restart. What was
/// just written lies in the page cache in large pieces, which the kernel counts whole for each process that touches them:
/// the same program then takes up to two MiB more, as it was written.
pub(super) fn as_read(program: &Path) -> anyhow::Result<PathBuf> {
    let copy = program.with_extension("read");
    let _ = fs::remove_file(&copy);
    fs::copy(program, &copy).with_context(|| format!("cannot copy {}", program.display()))?;
    let file = fs::File::open(&copy)?;
    file.sync_all()?;
    #[cfg(target_os = "linux")]
    nix::fcntl::posix_fadvise(&file, 0, 0, nix::fcntl::PosixFadviseAdvice::POSIX_FADV_DONTNEED)?;
    Ok(copy)
}

fn host() -> anyhow::Result<String> {
    let mut command = Command::new("rustc");
    let output = command.arg("-vV").output().context("cannot run rustc")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc names no host")?;
    Ok(host.to_owned())
}

/// A home of its own, removed at the end.
pub(super) struct World {
    root: PathBuf,
}

impl World {
    /// A new one on the disk of the build, or in the folder given.
    pub(super) fn new(name: &str, under: Option<&Path>) -> anyhow::Result<Self> {
        let folder = under.map_or_else(|| run::target().join("bench/worlds"), Path::to_path_buf);
        let root = folder.join(format!("jig-bench-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let world = Self { root };
        for folder in [world.sessions(), world.king(), world.work()] {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        }
        Ok(world)
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn sessions(&self) -> PathBuf {
        self.root.join("state/sessions")
    }

    pub(super) fn king(&self) -> PathBuf {
        self.root.join("king/session-status")
    }

    pub(super) fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    /// A program that sees nothing but this world.
    pub(super) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.work()).env("HOME", &self.root).env("TZ", "UTC");
        command.env("JIG_STATE_DIR", self.root.join("state")).env("PI_KING_STATUS_DIR", self.king());
        command.env("PATH", run::variable("PATH").unwrap_or_default());
        command
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// Processes that do nothing, for files to name.
pub(super) struct Sleepers(Vec<Child>);

impl Sleepers {
    pub(super) fn start(count: usize) -> anyhow::Result<Self> {
        let mut all = Self(Vec::with_capacity(count));
        for _ in 0..count {
            let mut command = Command::new("sleep");
            command.arg("3600").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            all.0.push(command.spawn().context("cannot run sleep")?);
        }
        Ok(all)
    }

    pub(super) fn pid(&self, index: usize) -> u32 {
        self.0[index % self.0.len()].id()
    }
}

impl Drop for Sleepers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Fills the folder of sessions with `count` status files of the processes' sessions.
pub(super) fn fill_sessions(world: &World, sleepers: &Sleepers, count: usize) -> anyhow::Result<()> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    let namespace = fs::read_link("/proc/self/ns/pid")?.to_string_lossy().replace(|c: char| !c.is_ascii_digit(), "");
    for index in 0..count {
        let pid = sleepers.pid(index);
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let start =
            stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(19)).unwrap_or("0").to_owned();
        let id = format!("01a22868-0000-7000-8000-{index:012}");
        let process = json!({ "start": format!("linux:{start}"), "bootId": boot.trim(), "pidNamespace": namespace });
        let document = status(&id, pid, &process, index);
        fs::write(world.sessions().join(format!("{id}.json")), document.to_string())?;
    }
    Ok(())
}

/// A status document as a session in the middle of its work has it.
fn status(id: &str, pid: u32, process: &Value, index: usize) -> Value {
    let at = "2026-11-29T18:18:47.855Z";
    let file = |n: usize, repo: bool| {
        json!({ "path": format!("/home/dev/app/src/module/file{n}.rs"), "action": "edited", "at": at,
                "repo": if repo { json!("/home/dev/app") } else { Value::Null } })
    };
    let outputs: Vec<Value> = (0..10).map(|n| file(n, n % 2 == 0)).collect();
    let recent: Vec<Value> =
        (0..15).map(|n| json!({ "at": at, "tool": "bash", "outcome": "ok", "id": format!("call-{n}") })).collect();
    json!({
        "schema": 1, "session": id, "pid": pid, "cwd": format!("/home/dev/app{}", index % 20), "terminal": "t1",
        "terminalFrom": "HC_TERMINAL_ID", "agentDir": "/home/dev/.pi/agent",
        "model": { "provider": "acme", "id": "m-2", "name": "M 2" }, "thinking": "medium",
        "state": if index.is_multiple_of(3) { "busy" } else { "idle" },
        "context": { "tokens": 48_211, "window": 200_000, "percent": 24.1 },
        "usage": { "input": 481_000, "output": 9050, "cacheRead": 400_000, "cacheWrite": 0, "cost": 1.25 },
        "tools": { "active": 12, "total": 17 }, "ticket": null, "workflow": null, "outputs": outputs,
        "recent": recent, "contextDetail": null, "lastRequest": null, "startedAt": at, "updatedAt": at,
        "agent": { "name": "pi", "version": "1.6.0" }, "name": format!("session {index}"), "process": process,
        "stateFrom": "event", "stateAt": at, "accepts": ["tools", "skills", "reload"],
    })
}

/// Fills pi-king's folder with `count` cards as it writes them.
pub(super) fn fill_cards(world: &World, sleepers: &Sleepers, count: usize) -> anyhow::Result<()> {
    for index in 0..count {
        let id = format!("01a22867-0000-7000-8000-{index:012}");
        let transcript = format!("/home/dev/.pi/agent/sessions/--home-dev-app--/2026-11-29T17-43-44-391Z_{id}.jsonl");
        let card = json!({
            "formatVersion": 1, "id": id, "name": format!("session {index}"), "cwd": "/home/dev/app", "project": "app",
            "model": "m-2", "pid": sleepers.pid(index), "startedAt": 4_102_444_800_000.25,
            "lastActivity": 4_102_444_900_000_i64, "status": "idle", "activity": "Done: fix the parser",
            "title": "● app", "sessionFile": transcript, "subagents": [], "visible": true, "contextPct": 12,
            "startupFingerprint": "2f3e29980346b92c", "isFork": false,
        });
        fs::write(world.king().join(format!("{id}.json")), serde_json::to_vec_pretty(&card)?)?;
    }
    Ok(())
}

/// Fills a folder of call logs with `count` records over ten days.
pub(super) fn fill_calls(root: &Path, count: usize) -> anyhow::Result<()> {
    for index in 0..count {
        let (day, second) = (20 + index % 10, index * 7 % 86_400);
        let stamp = format!(
            "2026-11-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
            second / 3600,
            second / 60 % 60,
            second % 60,
            index % 1000
        );
        let folder = root.join(&stamp[..10]);
        if index < 10 {
            fs::create_dir_all(&folder)?;
        }
        let record = json!({
            "summary": {
                "id": format!("req-{index}"), "status": if index % 50 == 0 { 503 } else { 200 },
                "provider": "acme", "model": format!("omni-acme/m-{}", index % 5), "timestamp": stamp,
                "duration": 900 + index % 4000, "path": "/v1/chat/completions", "stream": true,
                "tokens": { "in": 12_000 + index % 900, "out": 300, "cacheRead": 9000, "cacheWrite": 0, "reasoning": 20 },
            },
            "request": { "messages": 14, "tools": ["read", "bash", "edit", "write"], "maxTokens": 8192 },
            "response": { "finish": "stop", "chunks": 120 },
        });
        fs::write(folder.join(format!("{index}.json")), record.to_string())?;
    }
    Ok(())
}
