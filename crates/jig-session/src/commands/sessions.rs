//! The program under the name `sessions`: only what the contract of that name has, errors as plain text, exit code 1.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use super::{bulk, live};
use crate::app::App;
use crate::closed;
use crate::failure::{Exit, Failure, Outcome};

/// Live tmux panes and bulk actions over them.
#[derive(Parser, Debug)]
#[command(name = "sessions", version, disable_help_subcommand = true, max_term_width = 100)]
struct Cli {
    /// Print one JSON document and nothing else
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
#[command(defer = true)]
enum Command {
    /// List tmux panes and what their agents do
    Live(live::List),
    /// The same as live
    Status(live::List),
    /// Plan and run an action over many panes
    Bulk(bulk::Args),
}

/// Whether the program was called by this name.
pub(crate) fn is_called(args: &[OsString]) -> bool {
    args.first().and_then(|name| std::path::Path::new(name).file_stem()).is_some_and(|name| name == "sessions")
}

/// Runs the program under this name.
pub(crate) fn main(args: Vec<OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => return unparsed(&error),
    };
    let app = App::new(cli.json, None);
    let outcome = closed::require_stdout().and_then(|()| match &cli.command {
        Command::Live(list) | Command::Status(list) => live::list(list, &app),
        Command::Bulk(args) => bulk::run(args, &app),
    });
    finish(&app, outcome)
}

fn finish(app: &App, outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(Exit(code)) => ExitCode::from(code),
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(Failure { message, .. }) => {
            app.note(&format!("Error: {message}"));
            ExitCode::FAILURE
        }
    }
}

fn unparsed(error: &clap::Error) -> ExitCode {
    use clap::error::ErrorKind::{DisplayHelp, DisplayVersion};
    if matches!(error.kind(), DisplayHelp | DisplayVersion) {
        // A reader that went away is nobody's loss here.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let text = error.to_string();
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("unknown command");
    let message = first.strip_prefix("error: ").unwrap_or(first);
    App::new(false, Some(false)).note(&format!("Error: {message}"));
    ExitCode::FAILURE
}
