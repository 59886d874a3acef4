//! `jig-session king fingerprint`: what a Pi started now would load, as one value.

use std::path::{Path, PathBuf};

use jig_session_king::fingerprint;
use jig_session_schema::king_documents::KingFingerprint;

use crate::app::App;
use crate::failure::{Code, Exit, Failure, Outcome};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The folder Pi would be started in; left out: this one
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    let here = std::env::current_dir().map_err(|error| {
        Failure::new(Code::Io, format!("cannot find the working folder: {error}"))
            .hint("name the folder with --cwd")
            .errno(error.raw_os_error())
    })?;
    let cwd = args.cwd.as_ref().map_or_else(|| here.clone(), |cwd| here.join(cwd));
    let agent_dir = agent_dir(app);
    let Some(value) = fingerprint::compute(&agent_dir, &cwd) else {
        let settings = agent_dir.join("settings.json");
        let message = format!("no fingerprint: {} is missing or is not JSON", settings.display());
        return Err(Failure::new(Code::NotFound, message).hint("start Pi once, or mend the file").path(settings));
    };
    if app.json {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let document =
            KingFingerprint::new().cwd(text(&cwd)).agent_dir(text(&agent_dir)).fingerprint(value.to_string());
        app.print_json(&document)?;
    } else {
        app.print(&format!("{value}\n"))?;
    }
    Ok(Exit::OK)
}

/// Pi's folder as a Pi started in this environment would find it.
pub(super) fn agent_dir(app: &App) -> PathBuf {
    fingerprint::agent_dir(|name| app.var(name), &app.places().home)
}
