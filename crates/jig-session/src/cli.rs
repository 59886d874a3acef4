//! The command line: what can be typed, and how a run ends.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::app::App;
use crate::closed;
use crate::commands;
use crate::failure::{Code, Exit, Failure, Outcome};
use crate::manual;
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
    /// One line for a status bar: who waits, and how many do what
    Statusline(commands::statusline::Args),
    /// Mark a session as seen: its finished turn waits for nobody
    Seen(commands::seen::Args),
    /// Counts, waits, cost and tokens for Prometheus
    Metrics(commands::metrics::Args),
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
    /// Share this machine's sessions through a broker
    Fleet(commands::fleet::Args),
    /// Print what makes a shell complete the command line
    Completions(commands::completions::Args),
    /// Print a command's manual page
    Man(commands::man::Args),
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
    commands::completions::answer(Cli::command);
    let json = args.iter().any(|arg| arg == "--json");
    let hook = args.get(1).is_some_and(|word| word == "hook");
    match Cli::try_parse_from(&args) {
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
        Err(error) if is_help(&error) => help(args),
        Err(error) => unparsed(json, &error),
    }
}

fn is_help(error: &clap::Error) -> bool {
    error.kind() == clap::error::ErrorKind::DisplayHelp
}

/// Help is asked for: the same command line once more, with examples.
fn help(args: Vec<OsString>) -> ExitCode {
    match manual::documented(Cli::command()).try_get_matches_from(args) {
        Err(error) => unparsed(false, &error),
        Ok(_) => ExitCode::SUCCESS,
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
        Command::Fleet(_) => Some("it shares until it is stopped: ls --fleet --json has the rows"),
        Command::Completions(_) => Some("it prints a shell's script"),
        Command::Man(_) => Some("it prints a manual page"),
        Command::Metrics(_) => Some("it prints Prometheus' text format: ls --json has the rows"),
        Command::Hooks(args) => args.without_document(),
        Command::Ls(_)
        | Command::Show(_)
        | Command::Watch(_)
        | Command::Wait(_)
        | Command::Statusline(_)
        | Command::Seen(_)
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
        Command::Statusline(args) => commands::statusline::run(args, app),
        Command::Seen(args) => commands::seen::run(args, app),
        Command::Metrics(args) => commands::metrics::run(args, app),
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
        Command::Fleet(args) => commands::fleet::run(args, app),
        Command::Mcp(args) => commands::mcp::run(args, app),
        Command::Completions(args) => commands::completions::run(args, app),
        Command::Man(args) => commands::man::run(args, app, Cli::command()),
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The paths of all commands below one.
    fn paths(command: &clap::Command, path: &str, all: &mut BTreeSet<String>) {
        all.insert(path.to_owned());
        for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
            paths(sub, format!("{path} {}", sub.get_name()).trim(), all);
        }
    }

    #[test]
    fn every_command_has_a_page_and_every_page_a_command() {
        let mut all = BTreeSet::new();
        paths(&manual::documented(Cli::command()), "", &mut all);
        let pages: BTreeSet<String> = manual::PAGES.iter().map(|page| page.path.to_owned()).collect();
        assert_eq!(pages, all, "manual/pages.txt has one block for each command");
        for page in manual::PAGES.iter() {
            assert!(!page.examples.is_empty(), "{}", page.path);
            for name in &page.formats {
                assert!(jig_session_schema::formats::Format::named(name).is_some(), "{}: {name}", page.path);
            }
        }
    }

    /// The words of an example as a shell has them; none for what is more than one command.
    fn words(line: &str) -> Option<Vec<String>> {
        let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
        for character in line.chars() {
            match character {
                '\'' => quoted = !quoted,
                ' ' if !quoted => words.push(std::mem::take(&mut word)),
                '|' | '>' if !quoted => return None,
                other => word.push(other),
            }
        }
        words.push(word);
        Some(words)
    }

    #[test]
    fn every_example_can_be_typed() {
        for page in manual::PAGES.iter() {
            for (line, _) in &page.examples {
                let Some(words) = words(line) else { continue };
                assert!(line.starts_with(format!("jig-session {}", page.path).trim()), "{line}");
                if let Err(error) = Cli::try_parse_from(words) {
                    panic!("{line}: {error}");
                }
            }
        }
    }
}
