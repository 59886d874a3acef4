//! The bridge as a Pi extension: one folder with one file in Pi's `extensions/`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jig_session_agents::pi::AGENT;
use jig_session_atomic::read_file;
use serde_json::{Value, json};

use super::{Report, pi_version};
use crate::app::App;
use crate::commands::host;
use crate::failure::{Code, Failure};

/// The bridge as it is shipped.
const BRIDGE: &str = include_str!("../../../assets/pi/index.ts");
/// The lines that are filled in at installation, up to their values, which are empty in the source.
const PROGRAM_LINE: (&str, &str) = ("const INSTALLED = ", "\"\"");
const OFFER_LINE: (&str, &str) =
    ("const OFFER: { commands: any[]; unless: string[] } = ", "{ commands: [], unless: [] }");
/// What tells a file of ours, of whatever version, from another's.
const OURS: &str = "Symbol.for(\"jig-session.bridge\")";

/// Where the bridge goes and what it runs.
pub(crate) struct Place {
    folder: PathBuf,
    /// The program the bridge starts.
    pub(super) program: String,
}

impl Place {
    /// From `PI_CODING_AGENT_DIR`, else Pi's own default, and the running program.
    pub(super) fn of(app: &App) -> Result<Self, Failure> {
        let home = app.var("HOME").map(PathBuf::from);
        let agent_dir = match (app.var("PI_CODING_AGENT_DIR"), &home) {
            (Some(dir), Some(home)) if dir == "~" || dir.starts_with("~/") => {
                home.join(dir.trim_start_matches(['~', '/']))
            }
            (Some(dir), _) => PathBuf::from(dir),
            (None, Some(home)) => home.join(".pi/agent"),
            (None, None) => {
                return Err(Failure::new(Code::Usage, "neither PI_CODING_AGENT_DIR nor HOME is set")
                    .hint("set PI_CODING_AGENT_DIR to Pi's agent folder"));
            }
        };
        if !agent_dir.is_absolute() {
            return Err(Failure::new(Code::Usage, "PI_CODING_AGENT_DIR is not an absolute path")
                .hint("give the full path of Pi's agent folder"));
        }
        let program = std::env::current_exe().map_err(|error| failed("find", Path::new("this program"), &error))?;
        let Some(program) = program.to_str() else {
            return Err(Failure::new(Code::Io, "this program's path is not UTF-8").path(&program));
        };
        Ok(Self { folder: agent_dir.join("extensions/jig-session"), program: program.to_owned() })
    }

    fn file(&self) -> PathBuf {
        self.folder.join("index.ts")
    }
}

/// What stands in the bridge's place.
enum Found {
    Nothing,
    /// A bridge of ours; the text as it is.
    Ours(String),
    /// Something we did not put there.
    Foreign,
}

/// The bridge's text for a program.
pub(super) fn bridge_for(program: &str) -> String {
    // A JSON value is a TypeScript value.
    let fill = |text: String, (line, empty): (&str, &str), value: String| {
        text.replacen(&format!("{line}{empty};"), &format!("{line}{value};"), 1)
    };
    let text = fill(BRIDGE.to_owned(), PROGRAM_LINE, json!(program).to_string());
    fill(text, OFFER_LINE, offer().to_string())
}

/// What the bridge needs to know of the program before it runs. A Pi that another one's tool started has the parent's
/// `PI_SESSION_ID`, as has every terminal that was opened from there.
fn offer() -> Value {
    let unless: Vec<&str> = AGENT.session_variable.into_iter().chain(jig_session_agents::child_markers()).collect();
    json!({ "commands": host::commands(), "unless": unless })
}

pub(super) fn install(place: &Place, app: &App) -> Result<Report, Failure> {
    let text = bridge_for(&place.program);
    let state = match look(place)? {
        Found::Foreign => return Err(foreign(place)),
        Found::Ours(found) if found == text => "unchanged",
        Found::Ours(_) => write(place, &text).map(|()| "updated")?,
        Found::Nothing => write(place, &text).map(|()| "installed")?,
    };
    Ok(report(state, place, Some(place.program.clone()), app))
}

pub(super) fn uninstall(place: &Place, app: &App) -> Result<Report, Failure> {
    let file = place.file();
    let state = match look(place)? {
        Found::Foreign => return Err(foreign(place)),
        Found::Nothing => "absent",
        Found::Ours(_) => {
            fs::remove_file(&file).map_err(|error| failed("remove", &file, &error))?;
            // The folder goes only when it holds nothing else; `extensions/` is Pi's.
            let _ = fs::remove_dir(&place.folder);
            "removed"
        }
    };
    Ok(report(state, place, None, app))
}

pub(super) fn status(place: &Place, app: &App) -> Result<Report, Failure> {
    let (state, program) = match look(place)? {
        Found::Nothing => ("absent", None),
        Found::Foreign => ("foreign", None),
        Found::Ours(text) => {
            let program = program_of(&text);
            let current = program.as_deref().is_some_and(|program| bridge_for(program) == text);
            (if current { "installed" } else { "outdated" }, program)
        }
    };
    let mut report = report(state, place, program, app);
    if let Some(program) = report.program.as_deref().filter(|program| !Path::new(program).is_file()) {
        report.limits.insert(0, format!("{program} is not there: jig-session on the PATH is run in its place"));
    }
    Ok(report)
}

fn report(state: &'static str, place: &Place, program: Option<String>, app: &App) -> Report {
    let agent = pi_version::find(app);
    let limits = agent.as_ref().map(|found| pi_version::limits(&found.version)).unwrap_or_default();
    Report { state, path: place.file().to_string_lossy().into_owned(), program, agent, limits }
}

fn look(place: &Place) -> Result<Found, Failure> {
    let file = place.file();
    match read_file(&file, BRIDGE_BYTES) {
        Ok(read) => match String::from_utf8(read.bytes) {
            Ok(text) if text.contains(OURS) => Ok(Found::Ours(text)),
            _ => Ok(Found::Foreign),
        },
        Err(problem) if problem.is_missing() => Ok(Found::Nothing),
        Err(problem) => Err(Failure::cannot_read(&file, &problem)),
    }
}

/// The bridge is far below this.
const BRIDGE_BYTES: usize = 4 << 20;

/// A Pi that starts at this moment reads the old bridge or the new one.
fn write(place: &Place, text: &str) -> Result<(), Failure> {
    let temporary = place.folder.join(format!(".index.ts.tmp-{}", std::process::id()));
    fs::create_dir_all(&place.folder).map_err(|error| failed("make the folder", &place.folder, &error))?;
    let written = fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, place.file()));
    written.map_err(|error| {
        let _ = fs::remove_file(&temporary);
        failed("write", &place.file(), &error)
    })
}

/// The program a bridge of ours was installed for.
fn program_of(text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix(PROGRAM_LINE.0))?;
    let end = line.rfind("\";")? + 1;
    let program: String = serde_json::from_str(&line[..end]).ok()?;
    (!program.is_empty()).then_some(program)
}

fn foreign(place: &Place) -> Failure {
    Failure::new(Code::Refused, "another extension has this name")
        .path(place.file())
        .hint(format!("move {} away, then install again", place.folder.display()))
}

fn failed(verb: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::new(Code::Io, format!("cannot {verb} {}: {error}", path.display())).path(path).errno(error.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app(folder: &tempfile::TempDir) -> App {
        // An empty PATH: no Pi of this machine is found and run.
        let env = [("PI_CODING_AGENT_DIR", folder.path().as_os_str()), ("PATH", std::ffi::OsStr::new("/nonexistent"))];
        App { env: env.map(|(name, value)| (name.into(), value.into())).to_vec(), json: false, color: false }
    }

    fn tree(folder: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found.extend(tree(&path));
            }
            found.push(path);
        }
        found.sort();
        found
    }

    #[test]
    fn installing_twice_changes_nothing_and_removing_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("extensions/other")).unwrap();
        let before = tree(folder.path());
        let app = app(&folder);
        let place = Place::of(&app).unwrap();
        assert_eq!(status(&place, &app).unwrap().state, "absent");
        assert_eq!(install(&place, &app).unwrap().state, "installed");
        let installed = tree(folder.path());
        assert_eq!(installed.len(), before.len() + 2);
        assert_eq!(install(&place, &app).unwrap().state, "unchanged");
        assert_eq!(tree(folder.path()), installed);
        let report = status(&place, &app).unwrap();
        assert_eq!((report.state, report.program), ("installed", Some(place.program.clone())));
        assert_eq!(uninstall(&place, &app).unwrap().state, "removed");
        assert_eq!(tree(folder.path()), before);
        assert_eq!(uninstall(&place, &app).unwrap().state, "absent");
    }

    #[test]
    fn an_older_bridge_is_updated_and_a_foreign_file_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let app = app(&folder);
        let place = Place::of(&app).unwrap();
        fs::create_dir_all(&place.folder).unwrap();
        fs::write(place.file(), format!("// older\nconst INSTALLED = \"/gone/jig-session\";\n{OURS}")).unwrap();
        let report = status(&place, &app).unwrap();
        assert_eq!((report.state, report.program.as_deref()), ("outdated", Some("/gone/jig-session")));
        assert!(report.limits[0].starts_with("/gone/jig-session is not there"));
        assert_eq!(install(&place, &app).unwrap().state, "updated");
        fs::write(place.file(), "export default function () {}").unwrap();
        assert_eq!(status(&place, &app).unwrap().state, "foreign");
        for action in [install, uninstall] {
            let Err(failure) = action(&place, &app) else { panic!("another's file was touched") };
            assert_eq!(failure.code, Code::Refused);
        }
        assert_eq!(fs::read_to_string(place.file()).unwrap(), "export default function () {}");
    }

    #[test]
    fn a_program_path_survives_as_a_string_of_the_bridge() {
        for program in ["/usr/bin/jig-session", "/with \"quotes\" and \\ and \u{e4}/jig-session"] {
            let text = bridge_for(program);
            assert_eq!(program_of(&text).as_deref(), Some(program));
            // Only these two lines are filled in.
            let lines: Vec<_> = text.lines().zip(BRIDGE.lines()).filter(|(ours, source)| ours != source).collect();
            assert_eq!((text.lines().count(), lines.len()), (BRIDGE.lines().count(), 2));
            assert_eq!(lines[1].0, format!("{}{};", OFFER_LINE.0, offer()));
        }
        assert_eq!(program_of(BRIDGE), None);
        assert!(BRIDGE.contains(OURS));
    }
}
