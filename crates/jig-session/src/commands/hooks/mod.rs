//! `jig-session hooks`: puts what an agent needs to publish into the agent's own configuration, and takes it out.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use jig_session_agents::{ALL, Agent, Hooks, Plugin, Seen};
use jig_session_hooks::{
    Content, Deed, Part, Target, apply, changes, found, is_ours, parts_of, run_line, stable_program,
};
use jig_session_schema::documents::Check;
use jig_session_schema::hooks::{HooksAgent, HooksDocument, HooksEntry, HooksState, InstalledProgram};

use crate::app::App;
use crate::failure::{Code, Exit, Failure, Outcome};
use jig_session_view::sanitise::clean;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand, Debug)]
#[command(defer = true)]
enum Action {
    /// Install what makes an agent publish its sessions; repeating it changes nothing
    Install(Which),
    /// Remove what was installed and nothing else
    Uninstall(Which),
    /// Show what is installed, by default for every agent found on PATH
    Status(Which),
    /// Print what would be installed
    Print(Print),
}

#[derive(clap::Args, Debug)]
struct Which {
    /// The agent, such as claude, codex, opencode, gemini, copilot, qwen or pi
    agent: Option<String>,
    /// Every agent found on PATH
    #[arg(long, conflicts_with = "agent")]
    all: bool,
    #[command(flatten)]
    parts: Parts,
    /// The project's own configuration below this folder, not the user's
    #[arg(long)]
    project: bool,
}

#[derive(clap::Args, Debug)]
struct Print {
    /// The agent
    agent: String,
    /// A shell alias that starts the agent under `jig-session run`
    #[arg(long)]
    run: bool,
    #[command(flatten)]
    parts: Parts,
}

#[derive(clap::Args, Debug)]
struct Parts {
    /// The session bus as an MCP server
    #[arg(long)]
    mcp: bool,
    /// Hooks that announce mail on the session bus
    #[arg(long)]
    bus: bool,
    /// A hook that denies edits of paths that another session holds
    #[arg(long)]
    guard: bool,
    /// The status line, wrapped around your own: model, context and cost
    #[arg(long)]
    statusline: bool,
}

impl Parts {
    /// The parts that were named.
    fn named(&self) -> Vec<Part> {
        let all = [
            (self.statusline, Part::Statusline),
            (self.mcp, Part::Mcp),
            (self.bus, Part::Bus),
            (self.guard, Part::Guard),
        ];
        all.into_iter().filter(|(named, _)| *named).map(|(_, part)| part).collect()
    }
}

impl Args {
    /// Why there is no document for `--json`, when there is none.
    pub(crate) fn without_document(&self) -> Option<&'static str> {
        matches!(self.action, Action::Print(_)).then_some("what is printed is the configuration: leave --json out")
    }
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    let (deed, which) = match &args.action {
        Action::Install(which) => (Deed::Install, which),
        Action::Uninstall(which) => (Deed::Uninstall, which),
        Action::Status(which) => (Deed::Status, which),
        Action::Print(which) => return print(which, app),
    };
    let setup = Setup::of(app)?;
    let agents = agents(deed, which, app)?;
    let project = which.project.then(|| std::env::current_dir().unwrap_or_default());
    let mut document = HooksDocument::new();
    for agent in agents {
        let parts = wanted(deed, agent, &which.parts)?;
        document.agents.push(setup.report(deed, agent, &parts, project.as_deref(), app));
    }
    if app.json {
        app.print_json(&document)?;
    } else {
        app.print(&text(&document, deed))?;
    }
    // What an agent's own plugin brings is refused to who names that agent; among all of them it is there already.
    let refused = |entry: &HooksEntry| {
        let named = deed == Deed::Install && which.agent.is_some();
        by_hand(entry) || named && entry.problem.is_some()
    };
    let any = document.agents.iter().flat_map(|agent| &agent.entries).any(refused);
    Ok(if any { Exit(Code::Refused.exit()) } else { Exit::OK })
}

/// Whether the entry could not be made, so that only a person can add it.
fn by_hand(entry: &HooksEntry) -> bool {
    entry.state == HooksState::REFUSED || entry.state == HooksState::FOREIGN
}

/// The agents that are meant.
fn agents(deed: Deed, which: &Which, app: &App) -> Result<Vec<&'static Agent>, Failure> {
    if let Some(name) = &which.agent {
        return named(name).map(|agent| vec![agent]);
    }
    if !which.all && deed != Deed::Status {
        let hint = "name one, or --all for every agent found on PATH; see: jig-session hooks status";
        return Err(Failure::new(Code::Usage, "no agent is named").hint(hint));
    }
    let on_path = on_path(app);
    if on_path.is_empty() && deed != Deed::Status {
        return Err(Failure::new(Code::NotFound, "no known agent is on PATH").hint(known()));
    }
    Ok(on_path)
}

fn named(name: &str) -> Result<&'static Agent, Failure> {
    let agent = jig_session_agents::named(name).filter(|agent| !parts_of(agent).is_empty());
    agent.ok_or_else(|| {
        let message = format!("no hooks for {name:?}");
        Failure::new(Code::Unsupported, message).hint(format!("{}; any program: jig-session run PROGRAM", known()))
    })
}

fn known() -> String {
    let names: Vec<&str> = ALL.iter().filter(|agent| !parts_of(agent).is_empty()).map(|agent| agent.name).collect();
    format!("known are {}", names.join(", "))
}

/// The agents on PATH that something can be installed for.
pub(crate) fn on_path(app: &App) -> Vec<&'static Agent> {
    let Some(path) = app.os_var("PATH") else { return Vec::new() };
    let there = |agent: &&&Agent| !parts_of(agent).is_empty() && jig_session_hooks::is_on_path(agent, path);
    ALL.iter().filter(there).copied().collect()
}

/// The parts to work on: those that were named, else the session for an installation and everything otherwise.
fn wanted(deed: Deed, agent: &Agent, parts: &Parts) -> Result<Vec<Part>, Failure> {
    let named = parts.named();
    let has = parts_of(agent);
    if named.is_empty() {
        return Ok(if deed == Deed::Install { vec![Part::Session] } else { has });
    }
    for part in &named {
        if !has.contains(part) {
            let message = format!("{} has no {} entry", agent.name, part.word());
            let hint = match (&agent.hooks, part) {
                (Hooks::Plugin(_), Part::Guard) => {
                    format!("what it loads guards edits: jig-session hooks install {}", agent.name)
                }
                (Hooks::Plugin(Plugin { brings: Some(brings), .. }), _) => {
                    format!("{brings}: jig-session hooks install {}", agent.name)
                }
                _ => {
                    let words: Vec<String> = has.iter().map(|part| part.word().to_string()).collect();
                    format!("it has: {}", words.join(", "))
                }
            };
            return Err(Failure::new(Code::Unsupported, message).hint(hint));
        }
    }
    Ok(named)
}

/// What every action needs of this run.
struct Setup {
    home: std::path::PathBuf,
    program: String,
}

impl Setup {
    fn of(app: &App) -> Result<Self, Failure> {
        let exe = std::env::current_exe().map_err(|error| {
            Failure::new(Code::Io, format!("cannot find this program: {error}")).errno(error.raw_os_error())
        })?;
        let typed = std::env::args_os().next().unwrap_or_default();
        let folder = std::env::current_dir().unwrap_or_default();
        let program = stable_program(&typed, app.os_var("PATH"), &folder, &exe);
        let Some(program) = program.to_str() else {
            return Err(Failure::new(Code::Io, "this program's path is not UTF-8").path(&program));
        };
        if !is_ours(program) {
            let message = format!("entries are known by the name jig-session, and this program is {program}");
            let hint = "give it that name, or a link of that name on PATH, and run that";
            return Err(Failure::new(Code::Unsupported, message).hint(hint).path(program));
        }
        Ok(Self { home: app.places().home, program: program.to_owned() })
    }

    fn target<'a>(&'a self, project: Option<&'a Path>, variable: &'a dyn Fn(&str) -> Option<&'a str>) -> Target<'a> {
        Target { variable, home: &self.home, project, program: &self.program, plugin: &plugin_text }
    }

    fn report(&self, deed: Deed, agent: &Agent, parts: &[Part], project: Option<&Path>, app: &App) -> HooksAgent {
        let variable = |name: &str| app.var(name);
        let mut report = HooksAgent::new().agent(agent.name.to_owned());
        report.found = app.os_var("PATH").and_then(|path| found(agent, path));
        report.entries = apply(deed, agent, parts, &self.target(project, &variable));
        report.notes = notes(deed, agent, &report);
        report.notes.extend(to_reload(agent, &report, app));
        report
    }
}

/// The text of the file that an agent loads.
fn plugin_text(agent: &Agent, program: &str) -> Option<String> {
    jig_session_host::bridge::plugin(agent.name, program).or_else(|| jig_session_hooks::plugin(agent.name, program))
}

/// What a person should know of an agent.
fn notes(deed: Deed, agent: &Agent, report: &HooksAgent) -> Vec<String> {
    let mut notes = Vec::new();
    let changed = |entry: &HooksEntry| entry.state == HooksState::INSTALLED || entry.state == HooksState::UPDATED;
    if deed == Deed::Install && report.entries.iter().any(changed) {
        notes.extend(agent.hooks.commands().and_then(|commands| commands.trust).map(str::to_owned));
    }
    let version = report.found.as_ref().and_then(|found| found.version.as_deref());
    notes.extend(version.into_iter().flat_map(|version| jig_session_hooks::limits(agent, version)));
    if agent.seen == Seen::Documented {
        notes.push(format!("{}: from its documents, not tried with the program itself", agent.title));
    }
    notes
}

/// The running sessions of an agent that can load its file anew: they go on with what was there before.
fn to_reload(agent: &Agent, report: &HooksAgent, app: &App) -> Vec<String> {
    let changed = [HooksState::INSTALLED, HooksState::UPDATED, HooksState::REMOVED];
    let Hooks::Plugin(Plugin { reload: Some(reload), .. }) = &agent.hooks else { return Vec::new() };
    if !report.entries.iter().any(|entry| changed.contains(&entry.state)) {
        return Vec::new();
    }
    // What cannot be listed now is no reason to fail: the installation is done.
    let Ok(view) = crate::view::load(app) else { return Vec::new() };
    let is_running = |row: &&jig_session_schema::row::Row| {
        row.agent_name().as_str() == agent.name && jig_session_store::is_live(row)
    };
    let note = |row: &jig_session_schema::row::Row| {
        let pid = row.pid.map_or_else(|| "?".to_owned(), |pid| pid.to_string());
        let (title, cwd) = (agent.title, clean(&row.cwd));
        format!("{title} {pid} in {cwd} goes on with what it has loaded: type {reload} there")
    };
    view.rows().filter(is_running).map(note).collect()
}

fn text(document: &HooksDocument, deed: Deed) -> String {
    let mut out = String::new();
    for agent in &document.agents {
        let found = |found: &InstalledProgram| match &found.version {
            Some(version) => format!("{version} at {}", found.path),
            None => format!("at {}", found.path),
        };
        let found = agent.found.as_ref().map_or_else(|| "not on PATH".to_owned(), found);
        out.push_str(&format!("{}: {}\n", agent.agent, clean(&found)));
        for entry in &agent.entries {
            out.push_str(&format!("  {:<10} {:<9} {}\n", entry.part, entry.state, clean(&entry.path)));
            if let Some(problem) = &entry.problem {
                out.push_str(&format!("             {}\n", clean(problem)));
            }
            if by_hand(entry) {
                let flag = if entry.part == jig_session_schema::hooks::HooksPart::SESSION {
                    String::new()
                } else {
                    format!(" --{}", entry.part)
                };
                out.push_str(&format!(
                    "             nothing was changed; to add it by hand: jig-session hooks print {}{flag}\n",
                    agent.agent
                ));
            }
            if let Some(program) = entry.program.as_ref().filter(|_| deed != Deed::Uninstall) {
                out.push_str(&format!("             runs {}\n", clean(program)));
            }
        }
        for note in &agent.notes {
            out.push_str(&format!("  {note}\n"));
        }
    }
    if document.agents.is_empty() {
        out.push_str(&format!("no known agent is on PATH; {}\n", known()));
        out.push_str("any other program publishes with: jig-session run PROGRAM\n");
    } else if deed == Deed::Status {
        let absent = |agent: &&HooksAgent| {
            agent.entries.iter().any(|entry| {
                entry.part == jig_session_schema::hooks::HooksPart::SESSION && entry.state == HooksState::ABSENT
            })
        };
        let names: Vec<&str> = document.agents.iter().filter(absent).map(|agent| agent.agent.as_str()).collect();
        if let Some(first) = names.first() {
            out.push_str(&format!("to make it publish: jig-session hooks install {first}\n"));
        }
    }
    out
}

fn print(which: &Print, app: &App) -> Outcome {
    let agent = named(&which.agent)?;
    let setup = Setup::of(app)?;
    if which.run {
        app.print(&run_line(agent.name, &setup.program))?;
        return Ok(Exit::OK);
    }
    let named = which.parts.named();
    let parts = if named.is_empty() { vec![Part::Session] } else { wanted(Deed::Install, agent, &which.parts)? };
    let variable = |name: &str| app.var(name);
    let target = setup.target(None, &variable);
    let mut by_file: Vec<(jig_session_settings::Format, Vec<jig_session_settings::Entry>)> = Vec::new();
    for change in parts.iter().flat_map(|part| changes(agent, *part, &target)) {
        match change.content {
            Content::File { text, .. } => app.print(&text)?,
            Content::Entries(format, entries) => match by_file.last_mut().filter(|(other, _)| *other == format) {
                Some((_, all)) => all.extend(entries),
                None => by_file.push((format, entries)),
            },
        }
    }
    for (format, entries) in by_file {
        app.print(&jig_session_settings::render(format, &entries))?;
    }
    Ok(Exit::OK)
}

/// What somebody can do who sees no session.
pub(crate) fn next_steps(app: &App) -> String {
    let agents: Vec<&str> = on_path(app).iter().map(|agent| agent.name).collect();
    let mut steps = String::new();
    let mut step = |command: &str, what: &str| steps.push_str(&format!("  {command:<36} {what}\n"));
    if let Some(first) = agents.first() {
        step(
            &format!("jig-session hooks install {first}"),
            &format!("sessions publish (on PATH: {})", agents.join(", ")),
        );
        step("jig-session hooks status", "what is installed, agent by agent");
    }
    step("jig-session run PROGRAM", "any program publishes, nothing is installed");
    step("jig-session live", "agents in tmux panes, without any file");
    step("jig-session demo", "a recorded session, to see how it looks");
    steps
}

/// How long an installed program may take to say its version.
const RUN_WAIT: Duration = Duration::from_secs(2);

/// Whether what is installed works, for `doctor`: an entry whose program is gone makes every event of its agent fail.
pub(crate) fn checks(app: &App) -> Vec<Check> {
    let Ok(setup) = Setup::of(app) else { return Vec::new() };
    let variable = |name: &str| app.var(name);
    let target = setup.target(None, &variable);
    let mut checks = Vec::new();
    let mut installed = 0;
    for agent in ALL.iter().filter(|agent| !parts_of(agent).is_empty()) {
        for entry in apply(Deed::Status, agent, &parts_of(agent), &target) {
            let name = format!("hooks of {}", agent.name);
            let again = format!("jig-session hooks install {}", agent.name);
            let mut check = Check::new().check(name).path(Some(entry.path.clone()));
            if let Some(problem) = &entry.problem {
                if entry.state != HooksState::REFUSED {
                    continue;
                }
                checks.push(check.message(problem.clone()).hint(Some("mend that file".to_owned())));
                continue;
            }
            let Some(program) = &entry.program else { continue };
            installed += 1;
            if let Err(why) = answers(program, app.os_var("PATH")) {
                check.message = format!("the {} entry runs {program}, which {why}", entry.part);
                check.hint = Some(again);
                checks.push(check);
            }
        }
    }
    if checks.is_empty() {
        let message = match installed {
            0 => "nothing is installed in agents' configurations".to_owned(),
            1 => "the one entry in an agent's configuration runs a program that answers".to_owned(),
            _ => format!("the {installed} entries in agents' configurations run a program that answers"),
        };
        checks.push(Check::new().check("hooks".to_owned()).ok(true).message(message));
    }
    if installed == 0 {
        let agents: Vec<&str> = on_path(app).iter().map(|agent| agent.name).collect();
        if let Some(first) = agents.first() {
            checks.push(
                Check::new()
                    .check("agents".to_owned())
                    .ok(true)
                    .message(format!("on PATH and not publishing: {}", agents.join(", ")))
                    .hint(Some(format!("jig-session hooks install {first}"))),
            );
        }
    }
    checks
}

/// Whether a program that an entry names runs and is this one.
fn answers(program: &str, path: Option<&OsStr>) -> Result<(), String> {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    if let Some(path) = path {
        command.env("PATH", path);
    }
    let mut child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => "is not there".to_owned(),
        _ => format!("does not start: {error}"),
    })?;
    let end = Instant::now() + RUN_WAIT;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => break,
            Ok(Some(status)) => return Err(format!("fails: {status}")),
            Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(5)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return Err("does not answer".to_owned());
            }
        }
    }
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    if output.stdout.starts_with(b"jig-session ") { Ok(()) } else { Err("is another program".to_owned()) }
}
