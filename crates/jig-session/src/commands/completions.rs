//! `jig-session completions`: what makes a shell complete the command line, sessions included.

use std::ffi::OsStr;

use clap::Command;
use clap_complete::env::{EnvCompleter, Shells};
use clap_complete::{CompleteEnv, CompletionCandidate};
use jig_session_schema::row::Row;

use crate::app::App;
use crate::failure::{Code, Exit, Failure, Outcome};
use crate::view;
use jig_session_view::rows;
use jig_session_view::sanitise::clean;

/// The variable by which a shell's script asks what could come next.
const VARIABLE: &str = "JIG_COMPLETE";

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The shell: bash, elvish, fish, powershell or zsh
    #[arg(value_parser = ["bash", "elvish", "fish", "powershell", "zsh"])]
    shell: String,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    let shells = Shells::builtins();
    let failed = |why: String| Failure::new(Code::Io, format!("cannot write the script for {}: {why}", args.shell));
    let shell = shells.completer(&args.shell).ok_or_else(|| failed("no such shell".to_owned()))?;
    let mut script = Vec::new();
    let written =
        EnvCompleter::write_registration(shell, VARIABLE, "jig-session", "jig-session", "jig-session", &mut script);
    written.map_err(|error| failed(error.to_string()))?;
    app.print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::OK)
}

/// Answers a shell that asks what could come next, and ends; does nothing in any other run.
pub(crate) fn answer(command: fn() -> Command) {
    CompleteEnv::with_factory(command).var(VARIABLE).bin("jig-session").complete();
}

/// The live sessions whose name or id begins as typed.
pub(crate) fn sessions(typed: &OsStr) -> Vec<CompletionCandidate> {
    let app = App::new(false, Some(false));
    let (Some(typed), Ok(view)) = (typed.to_str(), view::load(&app)) else { return Vec::new() };
    let rows: Vec<&Row> = view.listed(false).map(|session| &session.row).collect();
    let mut found = Vec::new();
    for row in &rows {
        let about =
            format!("{} {} in {}", row.agent_name(), rows::state(row).0, rows::folder(&row.cwd, &app.places().home));
        let unique = |name: &&String| rows.iter().filter(|other| other.name.as_ref() == Some(name)).count() == 1;
        // A name that holds what a terminal must not get, or that two sessions have, names none.
        let name = row.name.as_ref().filter(unique).filter(|name| clean(name) == name.as_str() && !name.is_empty());
        for value in [name, Some(&row.session)].into_iter().flatten().filter(|value| value.starts_with(typed)) {
            if clean(value) == value.as_str() {
                found.push(CompletionCandidate::new(value).help(Some(clean(&about).into_owned().into())));
            }
        }
    }
    found
}
