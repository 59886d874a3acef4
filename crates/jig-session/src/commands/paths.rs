//! `jig-session paths`: every folder and file that is used.

use std::path::Path;

use jig_session_schema::documents::{PathEntry, Paths};

use crate::app::App;
use crate::failure::{Exit, Outcome};
use crate::view;
use jig_session_view::sanitise::clean;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args, app: &App) -> Outcome {
    let places = app.places();
    let all: [(&str, &Path); 8] = [
        ("state", &places.state_dir),
        ("sessions", &places.sessions),
        ("requests", &places.requests),
        ("bus", &places.bus),
        ("log", &places.log),
        ("pi-king", &places.king),
        ("config", &places.config),
        ("seen", &places.seen),
    ];
    if app.json {
        let [state_dir, sessions, requests, bus, log, king, config, seen] = all.map(|(_, path)| place(path));
        let mut paths = Paths::new();
        (paths.state_dir, paths.sessions, paths.requests) = (state_dir, sessions, requests);
        (paths.bus, paths.log, paths.king, paths.config) = (bus, log, king, config);
        paths.seen = Some(seen);
        app.print_json(&paths)?;
    } else {
        let mut out = String::new();
        for (name, path) in all {
            let place = place(path);
            let real = place.real_path.filter(|real| *real != place.path);
            let note = match (place.exists, real) {
                (false, _) => "  (not there yet)".to_owned(),
                (true, Some(real)) => format!("  -> {}", clean(&real)),
                (true, None) => String::new(),
            };
            out.push_str(&format!("{name:<9} {}{note}\n", clean(&place.path)));
        }
        app.print(&out)?;
    }
    view::note_ignored(app);
    Ok(Exit::OK)
}

fn place(path: &Path) -> PathEntry {
    let real = std::fs::canonicalize(path).ok();
    let mut place = PathEntry::new();
    place.path = path.to_string_lossy().into_owned();
    place.exists = real.is_some();
    place.real_path = real.map(|real| real.to_string_lossy().into_owned());
    place
}
