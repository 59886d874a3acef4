//! `jig-session hooks`: puts what an agent needs to publish into the agent's own configuration, and takes it out.

mod entries;
mod pi;
mod pi_version;

use serde_json::{Value, json};

use crate::app::App;
use crate::failure::{Code, Exit, Failure, Outcome};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand, Debug)]
#[command(defer = true)]
enum Action {
    /// Install the hooks; once more changes nothing
    Install(Which),
    /// Remove the hooks and nothing else
    Uninstall(Which),
    /// Say what is installed and what the agent found here cannot do
    Status(Which),
    /// Print what would be installed
    Print(Which),
}

#[derive(clap::Args, Debug)]
struct Which {
    /// The agent: pi; with --mcp, --bus or --guard also claude, codex, gemini, copilot, droid, cursor, opencode
    agent: String,
    /// The session bus as an MCP server in the agent's configuration
    #[arg(long)]
    mcp: bool,
    /// Hook entries that tell the agent of mail on the session bus
    #[arg(long)]
    bus: bool,
    /// A hook entry that denies edits of paths that another session holds
    #[arg(long)]
    guard: bool,
}

/// What an action found or did, as it is printed.
pub(crate) struct Report {
    /// `installed`, `updated`, `unchanged`, `removed`, `absent`, `outdated`, `foreign`.
    state: &'static str,
    /// The file that is ours.
    path: String,
    /// The program the installed hooks run.
    program: Option<String>,
    /// The agent that was found: where, and its version.
    agent: Option<pi_version::Found>,
    /// What this version of the agent cannot do, as sentences.
    limits: Vec<String>,
}

impl Report {
    fn document(&self, agent: &str) -> Value {
        json!({
            "schema": 1,
            "agent": agent,
            "state": self.state,
            "path": self.path,
            "program": self.program,
            "found": self.agent.as_ref().map(|found| json!({ "path": found.path, "version": found.version })),
            "limits": self.limits,
        })
    }

    fn text(&self, agent: &str) -> String {
        let mut text = format!("{agent}: {} {}\n", self.state, self.path);
        if let Some(program) = &self.program {
            text.push_str(&format!("runs: {program} host\n"));
        }
        match &self.agent {
            Some(found) => text.push_str(&format!("found: {agent} {} at {}\n", found.version, found.path)),
            None => text.push_str(&format!("found: no {agent} on the PATH\n")),
        }
        for limit in &self.limits {
            text.push_str(&format!("  {limit}\n"));
        }
        text
    }
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    let (Action::Install(which) | Action::Uninstall(which) | Action::Status(which) | Action::Print(which)) =
        &args.action;
    let asked = entries::Asked { mcp: which.mcp, bus: which.bus, guard: which.guard };
    if asked.anything() {
        let deed = match &args.action {
            Action::Install(_) => entries::Deed::Install,
            Action::Uninstall(_) => entries::Deed::Uninstall,
            Action::Status(_) => entries::Deed::Status,
            Action::Print(_) => entries::Deed::Print,
        };
        return entries::run(deed, &which.agent, asked, app);
    }
    if which.agent != "pi" {
        return Err(Failure::new(Code::Unsupported, format!("no hooks for {:?}", which.agent))
            .hint("any agent can publish by lines on stdin: see jig-session publish --help"));
    }
    let place = pi::Place::of(app)?;
    let report = match &args.action {
        Action::Install(_) => pi::install(&place, app)?,
        Action::Uninstall(_) => pi::uninstall(&place, app)?,
        Action::Status(_) => pi::status(&place, app)?,
        Action::Print(_) => {
            app.print(&pi::bridge_for(&place.program))?;
            return Ok(Exit::OK);
        }
    };
    if app.json {
        app.print_json(&report.document(&which.agent))?;
    } else {
        app.print(&report.text(&which.agent))?;
    }
    Ok(Exit::OK)
}
