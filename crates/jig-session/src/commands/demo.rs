//! `jig-session demo`: the main job, shown on a recorded session of a real Pi.
//!
//! A real `publish` runs in a throw-away folder and is fed the recording; what is printed is the program's own live
//! output: the status file's fields as they change, and `ls` as it answers at that moment.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use jig_session_agents::pi::{AGENT, Bridge};
use jig_session_atomic::{PrivateDir, read_file};
use jig_session_schema::bridge::ToHost;
use jig_session_schema::event::{Event, ToolPhase, TurnPhase};
use jig_session_schema::limits::STATUS_BYTES;
use jig_session_schema::status::{State, Status};
use serde_json::Value;

use crate::app::App;
use crate::failure::{Code, Exit, Failure, Outcome};
use jig_session_view::sanitise;

/// A tour of Pi 1.6.0: what its bridge said, with the times. Arguments of tools and texts were never in it.
const TOUR: &str = include_str!("../../assets/demo/tour.jsonl");
/// The longest pause between two lines, when a person watches.
const LONGEST_PAUSE: Duration = Duration::from_millis(700);
/// A pause after something worth reading.
const READING: Duration = Duration::from_millis(900);
/// No step takes this long, however loaded the machine is.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Do not wait between the steps
    #[arg(long)]
    fast: bool,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    let home = Home::new(app)?;
    let program = std::env::current_exe().map_err(|error| io("cannot find this program", &error))?;
    let mut demo = Demo { app, home: &home, program, fast: args.fast, shown: None, file: None };
    let mut publish = demo.publish()?;
    let played = demo.play(&mut publish);
    // Closing its input ends it, and its file goes; one that does not end is not left behind.
    drop(publish.stdin.take());
    let ended = waited(&mut publish);
    played?;
    if !ended {
        return Err(Failure::new(Code::Timeout, "publish did not end").hint("run jig-session doctor"));
    }
    demo.step("the session has ended")?;
    Ok(Exit::OK)
}

fn io(what: &str, error: &std::io::Error) -> Failure {
    Failure::new(Code::Io, format!("{what}: {error}")).errno(error.raw_os_error())
}

/// A folder of the demo's own, gone when the demo is.
struct Home(PathBuf);

impl Home {
    fn new(app: &App) -> Result<Self, Failure> {
        let parent = app.var("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
        let name = format!("jig-session-demo-{}-{}", std::process::id(), app.now().epoch_ms());
        let path = parent.join(name);
        let made = PrivateDir::open(&path).map_err(|error| {
            Failure::new(Code::Io, error.to_string()).hint("name another folder for it in TMPDIR").errno(error.errno())
        })?;
        Ok(Self(made.path().to_path_buf()))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What of a document is shown when it changes.
#[derive(PartialEq)]
struct Shown(Vec<(&'static str, String)>);

impl Shown {
    fn of(status: &Status) -> Self {
        let text = |value: Option<String>| value.unwrap_or_else(|| "-".into());
        let call = status.recent.first().map(|call| format!("{} {}", call.tool, call.outcome));
        let output = status.outputs.first().map(|output| format!("{} {}", output.action, output.path));
        Self(vec![
            ("state", status.state.to_string()),
            ("attention", text(status.attention.as_ref().map(|attention| attention.reason.to_string()))),
            ("name", text(status.name.clone())),
            ("model", text(status.model.as_ref().map(|model| model.id.clone()))),
            ("thinking", text(status.thinking.clone())),
            ("context", text(status.context.percent.map(|percent| format!("{percent}%")))),
            ("cost", text(status.usage.cost.map(|cost| format!("${cost:.5}")))),
            ("recent", text(call)),
            ("outputs", text(output)),
        ])
    }
}

struct Demo<'a> {
    app: &'a App,
    home: &'a Home,
    program: PathBuf,
    fast: bool,
    shown: Option<Shown>,
    file: Option<PathBuf>,
}

impl Demo<'_> {
    /// This program, with nothing of the caller's environment that could lead it elsewhere.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args).env_clear().env("HOME", &self.home.0).env("JIG_STATE_DIR", self.home.0.join("state"));
        for name in ["PATH", "LANG", "LC_ALL", "COLUMNS", "TERM"] {
            if let Some(value) = self.app.var(name) {
                command.env(name, value);
            }
        }
        command
    }

    fn publish(&self) -> Result<Child, Failure> {
        let mut command = self.command(&["publish", "--agent", AGENT.name]);
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        command.spawn().map_err(|error| io("cannot start publish", &error))
    }

    /// Feeds the recording, line by line, and shows what it leads to.
    fn play(&mut self, publish: &mut Child) -> Result<(), Failure> {
        let mut bridge = Bridge::new();
        let mut before = None;
        for recorded in TOUR.lines() {
            let mut recorded: Value = serde_json::from_str(recorded)
                .map_err(|error| Failure::new(Code::Io, format!("the recording does not parse: {error}")))?;
            let at = recorded["at"].as_u64().unwrap_or_default();
            let pause = Duration::from_millis(before.map_or(0, |before| at.saturating_sub(before)));
            before = Some(at);
            let mut line = recorded["line"].take();
            // It happens now, and the process that lives is the demo's.
            if let Some(fields) = line.as_object_mut() {
                fields.remove("at");
            }
            if line["t"] == "hello" {
                line["pid"] = std::process::id().into();
            }
            if !self.fast {
                thread::sleep(pause.min(LONGEST_PAUSE));
            }
            let line = ToHost::read_value(line)
                .map_err(|error| Failure::new(Code::Io, format!("the recording is no bridge v1: {error}")))?;
            for event in bridge.line(&line.value).events {
                self.feed(publish, &event)?;
                self.follow(&event)?;
            }
            if !self.fast {
                self.changes()?;
            }
        }
        Ok(())
    }

    fn feed(&self, publish: &mut Child, event: &Event) -> Result<(), Failure> {
        let stdin = publish.stdin.as_mut().ok_or_else(|| Failure::new(Code::Gone, "publish has no input any more"))?;
        let text = Value::Object(event.to_document());
        writeln!(stdin, "{text}").and_then(|()| stdin.flush()).map_err(|error| {
            // Its own message stands above this one.
            Failure::new(Code::Gone, format!("publish ended early: {error}"))
        })
    }

    /// Waits for the file to show what an event says, at the events worth a look.
    fn follow(&mut self, event: &Event) -> Result<(), Failure> {
        match event {
            Event::Session(_) if self.file.is_none() => {
                self.file = Some(self.eventually("a status file", |demo| demo.find())?);
                self.step("a session begins")
            }
            Event::Turn(turn) => {
                let state = if turn.phase == TurnPhase::Start { State::Busy } else { State::Idle };
                let says = |demo: &Self| demo.read().filter(|status| status.state == state).map(|_| ());
                self.eventually(&format!("the state {state}"), says)?;
                self.step(if state == State::Busy { "a turn starts" } else { "the turn has settled" })
            }
            Event::Tool(tool) if tool.phase == ToolPhase::Start => self.changes(),
            Event::End(_) => {
                self.eventually("the file's end", |demo| demo.read().is_none().then_some(()))?;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Says what happened, shows the fields that changed and what `ls` answers now.
    fn step(&mut self, what: &str) -> Result<(), Failure> {
        self.app.print(&format!("\n# {what}\n"))?;
        self.changes()?;
        let color = if self.app.color { "always" } else { "never" };
        let ls = self.command(&["ls", "--color", color]).stdin(Stdio::null()).stderr(Stdio::inherit()).output();
        let ls = ls.map_err(|error| io("cannot run ls", &error))?;
        self.app.print("$ jig-session ls\n")?;
        self.app.print(&String::from_utf8_lossy(&ls.stdout))?;
        if !self.fast {
            thread::sleep(READING);
        }
        Ok(())
    }

    /// The fields of the file that changed since they were shown last.
    fn changes(&mut self) -> Result<(), Failure> {
        let Some(path) = self.file.clone() else { return Ok(()) };
        let Some(status) = self.read() else {
            if self.shown.take().is_some() {
                self.app.print(&format!("{}: gone\n", path.display()))?;
            }
            return Ok(());
        };
        let now = Shown::of(&status);
        let fields =
            now.0.iter().enumerate().filter(|(index, field)| {
                self.shown.as_ref().map_or(field.1 != "-", |shown| shown.0[*index] != **field)
            });
        let fields: Vec<_> = fields.map(|(_, (name, value))| format!("{name}: {}", sanitise::clean(value))).collect();
        if self.shown.is_none() {
            self.app.print(&format!("{}\n", path.display()))?;
        }
        if !fields.is_empty() {
            self.app.print(&format!("  {}\n", fields.join(", ")))?;
        }
        self.shown = Some(now);
        Ok(())
    }

    fn sessions(&self) -> PathBuf {
        self.home.0.join("state/sessions")
    }

    fn find(&self) -> Option<PathBuf> {
        let entries = jig_session_atomic::list_folder(self.sessions()).ok()?;
        entries.flatten().map(|entry| entry.path).find(|path| path.extension().is_some_and(|kind| kind == "json"))
    }

    fn read(&self) -> Option<Status> {
        let path: &Path = self.file.as_deref()?;
        Status::read(&read_file(path, STATUS_BYTES).ok()?.bytes).ok().map(|read| read.value)
    }

    /// Asks again until there is an answer.
    fn eventually<T>(&self, what: &str, ask: impl Fn(&Self) -> Option<T>) -> Result<T, Failure> {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(answer) = ask(self) {
                return Ok(answer);
            }
            if Instant::now() > end {
                return Err(Failure::new(Code::Timeout, format!("{what} never came")).hint("run jig-session doctor"));
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Waits for a child that was signalled to end and kills it otherwise. Whether it ended by itself.
fn waited(child: &mut Child) -> bool {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if child.try_wait().is_ok_and(|status| status.is_some()) {
            return true;
        }
        thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    let _ = child.wait();
    false
}
