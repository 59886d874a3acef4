//! Demo sessions: real publishers in a throw-away home, told of the same afternoon each time.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use jig_session_schema::time::Timestamp;
use serde_json::{Value, json};

/// A minute, and the half by which ages are off the full one: a slow machine does not make the next of it.
const MINUTE: i64 = 60_000;
const HALF: i64 = 20_000;

/// One session: agent, name, folder, model, context, cost, minutes since it began, terminal, and what happened to it.
struct Session {
    agent: &'static str,
    version: &'static str,
    name: &'static str,
    folder: &'static str,
    model: &'static str,
    percent: u64,
    cost: f64,
    began: i64,
    terminal: &'static str,
    events: &'static [(i64, &'static str)],
}

/// Minutes ago, and the event.
const SESSIONS: &[Session] = &[
    Session {
        agent: "claude",
        version: "2.1.332",
        name: "billing",
        folder: "shop/api",
        model: "Opus 5",
        percent: 71,
        cost: 4.18,
        began: 190,
        terminal: "%3",
        events: &[
            (60, r#"{"event":"ticket","ticket":{"key":"APP-12","title":"Invoices round wrongly"}}"#),
            (31, r#"{"event":"output","path":"src/tax.rs","action":"edited"}"#),
            (18, r#"{"event":"output","path":"src/invoice.rs","action":"edited"}"#),
            (12, r#"{"event":"turn","phase":"start"}"#),
            (11, r#"{"event":"tool","phase":"start","id":"c1","tool":"grep"}"#),
            (11, r#"{"event":"tool","phase":"end","id":"c1","outcome":"ok"}"#),
            (9, r#"{"event":"tool","phase":"start","id":"c2","tool":"edit"}"#),
            (9, r#"{"event":"tool","phase":"end","id":"c2","outcome":"ok"}"#),
            (8, r#"{"event":"tool","phase":"start","id":"c3","tool":"github","action":"list_issues"}"#),
            (8, r#"{"event":"tool","phase":"end","id":"c3","outcome":"error"}"#),
            (7, r#"{"event":"tool","phase":"start","id":"c4","tool":"bash"}"#),
            (7, r#"{"event":"attention","reason":"approval","id":"c4"}"#),
        ],
    },
    Session {
        agent: "codex",
        version: "0.171.0",
        name: "migrate to v2",
        folder: "shop/api",
        model: "GPT-6",
        percent: 88,
        cost: 12.05,
        began: 370,
        terminal: "t7",
        events: &[
            (1, r#"{"event":"turn","phase":"start"}"#),
            (1, r#"{"event":"background","count":2}"#),
            (1, r#"{"event":"tool","phase":"start","id":"c1","tool":"shell"}"#),
        ],
    },
    Session {
        agent: "pi",
        version: "1.6.0",
        name: "flaky test",
        folder: "shop/web",
        model: "M 2",
        percent: 18,
        cost: 0.62,
        began: 44,
        terminal: "%7",
        events: &[
            (5, r#"{"event":"turn","phase":"start"}"#),
            (3, r#"{"event":"tool","phase":"start","id":"c1","tool":"read"}"#),
            (3, r#"{"event":"tool","phase":"end","id":"c1","outcome":"ok"}"#),
            (2, r#"{"event":"attention","reason":"question"}"#),
        ],
    },
    Session {
        agent: "gemini",
        version: "0.61.0",
        name: "docs",
        folder: "site",
        model: "Gemini 4",
        percent: 6,
        cost: 0.05,
        began: 200,
        terminal: "%9",
        events: &[
            (190, r#"{"event":"turn","phase":"start"}"#),
            (189, r#"{"event":"tool","phase":"start","id":"c1","tool":"write"}"#),
            (189, r#"{"event":"tool","phase":"end","id":"c1","outcome":"ok"}"#),
            (185, r#"{"event":"turn","phase":"settled"}"#),
        ],
    },
    Session {
        agent: "opencode",
        version: "1.18.33",
        name: "upgrade the theme",
        folder: "site",
        model: "Sonnet 5",
        percent: 42,
        cost: 1.37,
        began: 95,
        terminal: "%12",
        events: &[
            (4, r#"{"event":"turn","phase":"start"}"#),
            (4, r#"{"event":"tool","phase":"start","id":"c1","tool":"edit"}"#),
            (4, r#"{"event":"tool","phase":"end","id":"c1","outcome":"ok"}"#),
        ],
    },
];

/// The sessions, alive as long as this value.
pub(super) struct Scene {
    root: PathBuf,
    program: PathBuf,
    publishers: Vec<Child>,
    agents: Vec<Child>,
}

impl Scene {
    pub(super) fn begin(program: &Path) -> anyhow::Result<Self> {
        let root = std::env::temp_dir().join(format!("jig-pictures-{}", std::process::id()));
        let mut scene = Self { root, program: program.to_path_buf(), publishers: Vec::new(), agents: Vec::new() };
        for repository in ["shop", "site"] {
            let git = scene.home().join(repository).join(".git");
            for folder in ["objects", "refs"] {
                fs::create_dir_all(git.join(folder)).context("cannot make the demo's folders")?;
            }
            fs::write(git.join("HEAD"), "ref: refs/heads/main\n").context("cannot make the demo's folders")?;
        }
        let bin = scene.root.join("bin");
        fs::create_dir_all(&bin).context("cannot make the demo's folders")?;
        std::os::unix::fs::symlink(program, bin.join("jig-session")).context("cannot link the program")?;
        for session in SESSIONS {
            scene.publish(session)?;
        }
        scene.wait()?;
        Ok(scene)
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Nothing of the caller's that could lead the program elsewhere.
    pub(super) fn environment(&self, command: &mut Command) {
        let path = crate::run::variable("PATH").unwrap_or_default();
        command
            .env_clear()
            .env("HOME", self.home())
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            .env("TERM", "xterm-256color");
        command.env("PATH", format!("{}:{path}", self.root.join("bin").display()));
        command.env("JIG_STATE_DIR", self.root.join("state"));
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        self.environment(&mut command);
        command.args(args).current_dir(self.home());
        command
    }

    fn publish(&mut self, session: &Session) -> anyhow::Result<()> {
        let folder = self.home().join(session.folder);
        fs::create_dir_all(&folder).context("cannot make the demo's folders")?;
        let agent = Command::new("sleep").arg("900").stdin(Stdio::null()).spawn().context("cannot start sleep")?;
        let pid = agent.id();
        self.agents.push(agent);
        let mut command = self.command(&["publish", "--agent", session.agent]);
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let mut publisher = command.spawn().context("cannot start publish")?;
        let stdin = publisher.stdin.as_mut().context("publish has no input")?;
        let at = |minutes: i64| Timestamp::from_epoch_ms(now_ms() - minutes * MINUTE - HALF).to_string();
        let first = json!({
            "event": "session", "schema": 1, "session": format!("019fb27c-{}", session.name.replace(' ', "-")),
            "pid": pid, "cwd": folder, "name": session.name, "version": session.version,
            "terminal": session.terminal, "terminalFrom": "TMUX_PANE", "at": at(session.began),
        });
        let model =
            json!({ "event": "model", "model": { "provider": null, "id": session.model, "name": session.model }});
        let tokens = session.percent * 2000;
        let context = json!({ "event": "context", "tokens": tokens, "window": 200_000 });
        let usage = json!({
            "event": "usage", "mode": "set", "input": tokens * 6, "output": tokens / 9, "cacheRead": tokens * 5,
            "cacheWrite": tokens, "cost": session.cost,
        });
        let mut lines = vec![first, model, context, usage];
        for (minutes, text) in session.events {
            let mut event: Value = serde_json::from_str(text).with_context(|| format!("no event: {text}"))?;
            event["at"] = at(*minutes).into();
            lines.push(event);
        }
        for line in lines {
            writeln!(stdin, "{line}").context("publish ended early")?;
        }
        stdin.flush().context("publish ended early")?;
        self.publishers.push(publisher);
        Ok(())
    }

    /// Waits until every session is listed.
    fn wait(&self) -> anyhow::Result<()> {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let output = self.command(&["ls", "--json"]).output().context("cannot run ls")?;
            let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            let rows = document["sessions"].as_array().cloned().unwrap_or_default();
            let ready = |row: &Value| row["usage"]["cost"].is_number() && row["stateFrom"].is_string();
            if rows.len() == SESSIONS.len() && rows.iter().all(ready) {
                return Ok(());
            }
            if Instant::now() > end {
                bail!("the demo's sessions never came: {document}");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        for mut publisher in self.publishers.drain(..) {
            drop(publisher.stdin.take());
            let _ = publisher.wait();
        }
        for mut agent in self.agents.drain(..) {
            let _ = agent.kill();
            let _ = agent.wait();
        }
        let _ = fs::remove_dir_all(&self.root);
    }
}

fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or_default()
}
