//! `jig-session live alias DIR`: this program under the name `sessions`, which readers of that contract call.

use std::path::{Path, PathBuf};

use jig_session_schema::live::LiveAlias;

use crate::app::App;
use crate::failure::{Code, Exit, Failure, Outcome};

/// The name those readers call.
const NAME: &str = "sessions";

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The folder the link is made in; it should be on PATH
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

pub(super) fn run(args: &Args, app: &App) -> Outcome {
    let program = std::env::current_exe().map_err(|error| {
        Failure::new(Code::Io, format!("cannot tell where this program is: {error}")).errno(error.raw_os_error())
    })?;
    let link = args.dir.join(NAME);
    let made = make(&program, &link)?;
    for note in notes(app, &args.dir, &link) {
        app.note(&note);
    }
    if app.json {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        app.print_json(&LiveAlias::new().link(text(&link)).target(text(&program)).made(made))?;
    } else {
        let verb = if made { "linked" } else { "is already linked:" };
        app.print(&format!("{verb} {} -> {}\n", link.display(), program.display()))?;
    }
    Ok(Exit::OK)
}

/// Makes the link; false when it is there already. Anything else of that name is left alone.
fn make(program: &Path, link: &Path) -> Result<bool, Failure> {
    if std::fs::symlink_metadata(link).is_ok() {
        if std::fs::read_link(link).is_ok_and(|target| target == program) {
            return Ok(false);
        }
        let message = format!("{} exists and is not replaced", link.display());
        return Err(Failure::new(Code::Refused, message).path(link).hint("remove it first, or name another folder"));
    }
    symlink(program, link).map_err(|error| {
        Failure::new(Code::Io, format!("cannot link {}: {error}", link.display()))
            .path(link)
            .errno(error.raw_os_error())
            .hint("name a folder that exists and that you may write to")
    })?;
    Ok(true)
}

#[cfg(unix)]
fn symlink(program: &Path, link: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(program, link)
}

#[cfg(not(unix))]
fn symlink(_program: &Path, _link: &Path) -> std::io::Result<()> {
    Err(std::io::Error::from(std::io::ErrorKind::Unsupported))
}

/// What a person should know: another `sessions` on PATH, or a folder that is not on it.
fn notes(app: &App, dir: &Path, link: &Path) -> Vec<String> {
    let path = app.env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone()).unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let mut notes = Vec::new();
    for folder in &folders {
        let other = folder.join(NAME);
        if other != link && other.exists() && real(&other) != real(link) {
            notes.push(format!("warning: PATH holds another {NAME}: {}", other.display()));
        }
    }
    if !folders.iter().any(|folder| folder == dir || (real(folder).is_some() && real(folder) == real(dir))) {
        notes.push(format!("warning: {} is not on PATH", dir.display()));
    }
    notes
}
