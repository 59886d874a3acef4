//! `jig-session hook AGENT [EVENT]`: prints nothing, ends with 0 whatever happens, and waits for nobody.

use std::ffi::OsString;
use std::io::Write;
use std::process::{Command, ExitCode, Stdio};

use jig_session_callbacks as callbacks;
use jig_session_publish::log::Log;

use crate::app::App;
use crate::failure::{Exit, Outcome};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The agent that calls, such as claude
    agent: String,
    /// The event's name, where the payload does not contain it
    event: Option<String>,
    /// Read the agent's status line instead of an event
    #[arg(long)]
    statusline: bool,
    /// The command that prints the status line: it gets the same payload, and its output is passed on
    #[arg(long, value_name = "CMD", requires = "statusline")]
    then: Option<String>,
}

/// Runs `hook AGENT [EVENT]` without the command line's parser; `None` for every other command line.
pub(crate) fn fast(args: &[OsString]) -> Option<ExitCode> {
    let words: Vec<&str> = args.iter().skip(1).take(4).map(|word| word.to_str()).collect::<Option<_>>()?;
    let ("hook", rest) = (*words.first()?, words.get(1..)?) else { return None };
    if args.len() > 4 || rest.iter().any(|word| word.starts_with('-')) {
        return None;
    }
    match rest {
        [agent] => callbacks::hook(agent, None, &App::new(false, Some(false)).environment()),
        [agent, event] => callbacks::hook(agent, Some(event), &App::new(false, Some(false)).environment()),
        _ => return None,
    }
    Some(ExitCode::SUCCESS)
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    if !args.statusline {
        callbacks::hook(&args.agent, args.event.as_deref(), &app.environment());
        return Ok(Exit::OK);
    }
    let bytes = callbacks::payload().unwrap_or_default();
    // The user's own line is drawn first: publishing must not be seen.
    let shown = args.then.as_deref().map(|command| passed_on(command, &bytes));
    callbacks::publish(&args.agent, Some("statusline"), &bytes, &app.environment());
    Ok(Exit(shown.unwrap_or_default()))
}

/// A command line that is none of ours, from an agent's configuration: it is logged, and the agent goes on.
pub(crate) fn misspelled(error: &clap::Error) -> ExitCode {
    let text = error.to_string();
    let app = App::new(false, Some(false));
    Log::new(&app.places(), "hook").write("usage", text.lines().next().unwrap_or_default());
    ExitCode::SUCCESS
}

/// Runs the command of the status line with the same payload. Its output goes where ours would; its code is ours.
fn passed_on(command: &str, payload: &[u8]) -> u8 {
    let started = Command::new("/bin/sh").arg("-c").arg(command).stdin(Stdio::piped()).spawn();
    let Ok(mut child) = started else { return 127 };
    if let Some(mut input) = child.stdin.take() {
        // A command that does not read its input is not wrong.
        let _ = input.write_all(payload);
    }
    let code = child.wait().ok().and_then(|status| status.code());
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
