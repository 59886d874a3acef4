//! The command line: what can be typed, and how a run ends.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::app::App;
use crate::closed;
use crate::commands;
use crate::failure::{Code, Exit, Failure, Outcome};
use jig_session_view::sanitise;

/// Which coding-agent sessions live, what they do, and which one waits for you.
#[derive(Parser, Debug)]
#[command(name = "jig-session", version, max_term_width = 100)]
struct Cli {
    /// Print one JSON document and nothing else
    #[arg(long, global = true)]
    json: bool,
    /// Colour the output: auto, always or never
    #[arg(long, global = true, default_value = "auto", value_parser = ["auto", "always", "never"])]
    color: String,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
// Only the command that is called is built.
#[command(defer = true)]
enum Command {
    /// List the live sessions, the ones that wait for you first
    Ls(commands::ls::Args),
    /// Show one session's status file
    Show(commands::show::Args),
    /// Follow the sessions as they change
    Watch(commands::watch::Args),
    /// Wait until a session settles
    Wait(commands::wait::Args),
    /// Explain a session's verdict and state
    Explain(commands::explain::Args),
    /// Show what fills a session's context
    Context(commands::context::Args),
    /// Print every folder and file that is used
    Paths(commands::paths::Args),
    /// Check documents against their schemas
    Validate(commands::validate::Args),
    /// Print a format's JSON Schema
    Schema(commands::schema::Args),
    /// Remove what crashed sessions left behind
    Prune(commands::prune::Args),
    /// Diagnose problems and say how to fix them
    Doctor(commands::doctor::Args),
    /// Demonstrate the program on a recorded session
    Demo(commands::demo::Args),
    /// Run any program and publish what it reports of itself
    Run(commands::run::Args),
    /// Publish a session from events on stdin
    Publish(commands::publish::Args),
    /// Serve Pi's bridge on stdio
    Host(commands::host::Args),
    /// Hook entry: publish a session from a call of its agent's hook
    Hook(commands::hook::Args),
    /// Request a switch of a tool or skill, or a reload, from a session
    Request(commands::request::Args),
    /// Install, remove and show an agent's hooks
    Hooks(commands::hooks::Args),
    /// Show sessions, the bus and panes on one screen
    Board(commands::board::Args),
    /// List tmux panes and what their agents do
    Live(commands::live::Args),
    /// Plan and run an action over many panes
    Bulk(commands::bulk::Args),
    /// pi-king sessions, layout and metrics
    King(commands::king::Args),
    /// The session bus: members, mail, claims
    Bus(commands::bus::Args),
    /// Serve the session bus as an MCP server on stdio
    Mcp(commands::mcp::Args),
}

/// Runs the program with this process's arguments.
pub(crate) fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    if let Some(code) = commands::run::stage(&args) {
        return code;
    }
    if commands::sessions::is_called(&args) {
        return commands::sessions::main(args);
    }
    if let Some(code) = commands::bus::fast(&args).or_else(|| commands::hook::fast(&args)) {
        return code;
    }
    let json = args.iter().any(|arg| arg == "--json");
    let hook = args.get(1).is_some_and(|word| word == "hook");
    match Cli::try_parse_from(args) {
        // An agent would take the code of a usage error for a refusal.
        Err(error) if hook && error.use_stderr() => commands::hook::misspelled(&error),
        Ok(cli) => {
            let color = match cli.color.as_str() {
                "always" => Some(true),
                "never" => Some(false),
                _ => None,
            };
            let app = App::new(cli.json, color);
            finish(&app, dispatch(&cli.command, &app))
        }
        Err(error) => unparsed(json, &error),
    }
}

/// Why a command has no document for `--json`; `None` for one that has.
fn without_document(command: &Command) -> Option<&'static str> {
    match command {
        Command::Schema(_) => Some("a schema is JSON as it is printed: leave --json out"),
        Command::Demo(_) => Some("it runs other commands: give --json to those"),
        Command::Board(_) => Some("it is for a person at a terminal: jig-session watch --json tells a program"),
        Command::Host(_) => Some("it speaks the bridge's lines: leave --json out"),
        Command::Run(_) => Some("the output is the program's: give --json to it, behind its name"),
        Command::Mcp(_) => Some("it speaks MCP: leave --json out"),
        Command::Hooks(args) => args.without_document(),
        Command::Ls(_)
        | Command::Show(_)
        | Command::Watch(_)
        | Command::Wait(_)
        | Command::Explain(_)
        | Command::Context(_)
        | Command::Paths(_)
        | Command::Validate(_)
        | Command::Prune(_)
        | Command::Doctor(_)
        | Command::Publish(_)
        // A hook prints nothing in any form, and fails for no word of its command line.
        | Command::Hook(_)
        | Command::Request(_)
        | Command::Live(_)
        | Command::Bulk(_)
        | Command::King(_)
        | Command::Bus(_) => None,
    }
}

/// Whether a command's answer is its use. A publisher and a hook go on whatever happens to what they print, and `run`
/// leaves the output to its program.
fn answers_on_stdout(command: &Command) -> bool {
    match command {
        Command::Publish(_) | Command::Hook(_) | Command::Run(_) => false,
        Command::Bus(args) => !args.is_hook(),
        _ => true,
    }
}

fn dispatch(command: &Command, app: &App) -> Outcome {
    if let Some(hint) = without_document(command).filter(|_| app.json) {
        return Err(Failure::new(Code::Usage, "--json: this command prints no document").hint(hint));
    }
    if answers_on_stdout(command) {
        closed::require_stdout()?;
    }
    match command {
        Command::Ls(args) => commands::ls::run(args, app),
        Command::Show(args) => commands::show::run(args, app),
        Command::Watch(args) => commands::watch::run(args, app),
        Command::Wait(args) => commands::wait::run(args, app),
        Command::Explain(args) => commands::explain::run(args, app),
        Command::Context(args) => commands::context::run(args, app),
        Command::Paths(args) => commands::paths::run(args, app),
        Command::Validate(args) => commands::validate::run(args, app),
        Command::Schema(args) => commands::schema::run(args, app),
        Command::Prune(args) => commands::prune::run(args, app),
        Command::Doctor(args) => commands::doctor::run(args, app),
        Command::Demo(args) => commands::demo::run(args, app),
        Command::Run(args) => commands::run::run(args, app),
        Command::Publish(args) => commands::publish::run(args, app),
        Command::Host(args) => commands::host::run(args, app),
        Command::Hook(args) => commands::hook::run(args, app),
        Command::Request(args) => commands::request::run(args, app),
        Command::Hooks(args) => commands::hooks::run(args, app),
        Command::Board(args) => commands::board::run(args, app),
        Command::Live(args) => commands::live::run(args, app),
        Command::Bulk(args) => commands::bulk::run(args, app),
        Command::King(args) => commands::king::run(args, app),
        Command::Bus(args) => commands::bus::run(args, app),
        Command::Mcp(args) => commands::mcp::run(args, app),
    }
}

/// Help and version go to stdout with 0; anything else is a usage error, 2.
fn unparsed(json: bool, error: &clap::Error) -> ExitCode {
    let shown = matches!(error.kind(), clap::error::ErrorKind::DisplayHelp | clap::error::ErrorKind::DisplayVersion);
    if shown && let Err(failure) = closed::require_stdout() {
        return finish(&App::new(json, Some(false)), Err(failure));
    }
    if shown {
        // A reader that went away is nobody's loss here.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let text = error.to_string();
    if !json {
        // It quotes arguments, and those may be of any program: they go the way of all foreign text, without clap's colours.
        App::new(false, None).note(text.trim_end());
        return ExitCode::from(Code::Usage.exit());
    }
    let message = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
    let app = App::new(true, Some(false));
    finish(&app, Err(Failure::new(Code::Usage, message).hint("see jig-session --help")))
}

/// Prints a failure where it belongs and gives the exit code.
fn finish(app: &App, outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(Exit(code)) => ExitCode::from(code),
        // The reader closed the pipe: it has what it wanted.
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            if app.json {
                app.note(&sanitise::escape_json(&serde_json::to_string(&failure.document()).unwrap_or_default()));
            } else {
                app.note(&failure.to_string());
            }
            ExitCode::from(failure.code.exit())
        }
    }
}
