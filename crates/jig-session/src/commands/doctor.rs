//! `jig-session doctor`: what is wrong, and how to mend it.

use std::path::Path;

use jig_session_atomic::{EntryProblem, Notice, PrivateDir};
use jig_session_liveness::{Machine, Processes};
use jig_session_publish::{log, setup};
use jig_session_schema::documents::{Check, Doctor};
use jig_session_schema::places::{KING_DIR, Places};
use jig_session_schema::row::{Detail, ProblemReason, Source};
use jig_session_schema::status::{AgentName, Status};
use jig_session_schema::time::Timestamp;
use jig_session_store::Hints;

use crate::app::App;
use crate::failure::{Exit, Failure, Outcome};
use crate::view::{self, View};
use jig_session_view::sanitise::clean;
use jig_session_view::table::Style;

/// The variable that names the state folder.
const STATE_DIR: &str = "JIG_STATE_DIR";

#[derive(clap::Args, Debug)]
pub(crate) struct Args {}

/// What the check of the state folder is called.
const STATE: &str = "state folder";

/// Errors in the log count for this long.
const RECENT_MS: i64 = 24 * 3_600_000;

pub(crate) fn run(_args: &Args, app: &App) -> Outcome {
    let places = app.places();
    let mut checks = environment(&places);
    checks.extend(folders(&places));
    checks.extend(room(&places));
    checks.push(process());
    checks.push(watches(&places));
    match view::load(app) {
        Ok(view) => checks.extend(files(&view)),
        Err(failure) => checks.push(bad("sessions", failure.message, failure.hint, failure.path.as_deref())),
    }
    checks.extend(jig_session_bus::checks(&places.bus));
    checks.extend(crate::commands::hooks::checks(app));
    checks.push(config(&places));
    checks.push(log(&places, app.now()));

    let mut doctor = Doctor::new();
    doctor.at = app.now();
    doctor.ok = checks.iter().all(|check| check.ok);
    doctor.checks = checks;
    if app.json {
        app.print_json(&doctor)?;
    } else {
        app.print(&text(&doctor, app.color))?;
    }
    Ok(if doctor.ok { Exit::OK } else { Exit::FINDINGS })
}

fn good(check: &str, message: impl Into<String>) -> Check {
    Check::new().check(check.into()).ok(true).message(message.into())
}

fn bad(check: &str, message: impl Into<String>, hint: Option<String>, path: Option<&Path>) -> Check {
    let mut bad = Check::new().check(check.into()).ok(false).message(message.into());
    bad.hint = hint;
    bad.path = path.map(|path| path.to_string_lossy().into_owned());
    bad
}

/// A file that stands where one of ours belongs and cannot be read.
fn unread(check: &str, path: &Path, problem: &EntryProblem) -> Check {
    let failure = Failure::cannot_read(path, problem);
    bad(check, failure.message, failure.hint, Some(path))
}

/// Variables that were set and do not count.
fn environment(places: &Places) -> Vec<Check> {
    if places.ignored.is_empty() {
        return vec![good("environment", "every variable that is set counts")];
    }
    let ignored = places.ignored.iter();
    let hint = || Some("give an absolute path, or unset it".to_owned());
    ignored
        .map(|ignored| {
            bad("environment", format!("{} counts as unset: it {}", ignored.name, ignored.why), hint(), None)
        })
        .collect()
}

/// Every folder is a folder of ours that keeps others out, or not there yet.
fn folders(places: &Places) -> Vec<Check> {
    let own: Open = |path| PrivateDir::open_own_existing(path);
    let all: [(&str, &Path, &str, Open); 7] = [
        (STATE, &places.state_dir, STATE_DIR, |path| PrivateDir::check_state(path)),
        ("sessions folder", &places.sessions, STATE_DIR, own),
        ("requests folder", &places.requests, STATE_DIR, own),
        ("bus folder", &places.bus, STATE_DIR, own),
        ("log folder", &places.log, STATE_DIR, own),
        ("archive folder", &places.king_archive, STATE_DIR, own),
        ("pi-king folder", &places.king, KING_DIR, |path| {
            PrivateDir::open_existing(path).map_err(|error| error.named_by(KING_DIR))
        }),
    ];
    all.into_iter().flat_map(|(name, path, variable, open)| folder(name, path, variable, open)).collect()
}

/// Opens and verifies a folder for reading.
type Open = fn(&Path) -> Result<Option<PrivateDir>, jig_session_atomic::Error>;

/// `variable` names another folder in its place.
fn folder(name: &str, path: &Path, variable: &str, open: Open) -> Vec<Check> {
    let dir = match open(path) {
        Ok(None) => return vec![good(name, format!("{} is not there yet", path.display()))],
        Ok(Some(dir)) => dir,
        Err(error) => return vec![bad(name, error.to_string(), error.hint(), Some(path))],
    };
    let mut checks = Vec::new();
    for notice in dir.notices() {
        let message = format!("{}: {notice}", dir.path().display());
        checks.push(match notice {
            Notice::ModeOpen { .. } => {
                let hint = format!(
                    "chmod 700 {}; where that changes nothing, name a folder on another file system with {variable}",
                    jig_session_hooks::shell_word(&dir.path().display().to_string())
                );
                bad(name, message, Some(hint), Some(dir.path()))
            }
            Notice::ModesNotHeld => {
                let hint = format!("name a folder on another file system with {variable}");
                bad(name, message, Some(hint), Some(dir.path()))
            }
            _ => good(name, message),
        });
    }
    if checks.is_empty() {
        let what = if name == STATE { "is this user's" } else { "is private" };
        checks.push(good(name, format!("{} {what}", path.display())));
    }
    checks
}

/// A status file with long lists is about this large.
const USUAL_BYTES: usize = 32 << 10;

/// Whether what publishers have to write finds room: on a full disk their files stay as they were. Nothing is made that
/// is not there yet.
fn room(places: &Places) -> Option<Check> {
    let dir = PrivateDir::open_own_existing(&places.sessions).ok()??;
    Some(match dir.try_write(&[b' '; USUAL_BYTES]) {
        Ok(()) => good("room", "status files can be written"),
        Err(error) => {
            let hint = match error.errno().map(rustix::io::Errno::from_raw_os_error) {
                Some(rustix::io::Errno::NOSPC | rustix::io::Errno::DQUOT) => {
                    "the disk is full: until there is room, what sessions show is old; remove something, or name a \
                     folder elsewhere with JIG_STATE_DIR"
                }
                _ => "until it can be written, what sessions show is old",
            };
            bad("room", error.to_string(), Some(hint.to_owned()), Some(&places.sessions))
        }
    })
}

/// Verdicts need the identity of processes.
fn process() -> Check {
    match Machine::new().identity_of(std::process::id()) {
        Ok(identity) if identity.boot_id.is_some() => good("processes", "the identity of processes can be read"),
        Ok(_) => good("processes", "the start of processes can be read, the run of the machine cannot"),
        Err(error) => {
            let hint = "without it a session is alive or unknown, never proved: is /proc mounted?";
            bad("processes", error.to_string(), Some(hint.to_owned()), None)
        }
    }
}

fn watches(places: &Places) -> Check {
    let mut hints = Hints::new(&[&places.sessions, &places.king]);
    hints.renew();
    match hints.trouble() {
        None => good("watches", "changes are noticed at once"),
        Some(trouble) => {
            let hint = "watch looks every 2 s instead; raise fs.inotify.max_user_watches or max_user_instances";
            bad("watches", trouble, Some(hint.to_owned()), None)
        }
    }
}

/// Each file that gives no session, each field that could not be read, and how many sessions crashed.
fn files(view: &View) -> Vec<Check> {
    let mut checks = Vec::new();
    for problem in &view.problems {
        let message = format!("{}: {}", problem.reason, problem.message);
        checks.push(bad("file", message, advice(&problem.reason), problem.path.as_deref().map(Path::new)));
    }
    for session in view.sessions.iter().filter(|session| session.row.source == Source::Jig) {
        let Ok(document) = view::document(&session.row) else { continue };
        let Ok(read) = Status::read_value(document.into()) else { continue };
        for field in &read.problems {
            let hint = "its publisher writes this field in another form than the contract's".to_owned();
            let path = Path::new(&session.row.path);
            checks.push(bad("field", format!("{field} and is taken as unknown"), Some(hint), Some(path)));
        }
    }
    for row in view.rows().filter(|row| row.detail == Some(Detail::NO_PUBLISHER)) {
        let message = format!("nobody keeps the file of {} up to date: its publisher is gone or stopped", row.session);
        let hint = match row.agent.as_ref().map(|agent| &agent.name) {
            Some(name) if *name == AgentName::PI => "let a stopped one go on, or type /reload in that Pi",
            _ => "let a stopped one go on, or begin the session anew",
        };
        checks.push(bad("publisher", message, Some(hint.to_owned()), Some(Path::new(&row.path))));
    }
    let over = view.rows().filter(|row| row.verdict.is_over() && row.source == Source::Jig).count();
    let count = view.sessions.len();
    let mut sessions = good("sessions", format!("{count} of {} files give a session", count + view.problems.len()));
    if over > 0 {
        sessions.message.push_str(&format!("; {over} ended without removing theirs"));
        sessions.hint = Some("remove them with: jig-session prune".to_owned());
    }
    checks.push(sessions);
    checks
}

/// The way out of each kind of problem.
fn advice(reason: &ProblemReason) -> Option<String> {
    let hint = match reason.as_str() {
        "not-a-regular-file" | "foreign-owner" => "nobody of ours put it there: remove it",
        "too-large" => "no status file is that large: remove it",
        "empty" | "unparsable" => {
            "its writer or a power cut left it half-written; jig-session prune removes it after a day"
        }
        "unsupported" => "a newer program wrote it: update this one",
        "mismatch" => "it was renamed or copied by hand: remove it",
        "unreadable" => "make it readable for you: chmod 600",
        _ => return None,
    };
    Some(hint.to_owned())
}

fn config(places: &Places) -> Check {
    match setup::configuration(places) {
        Ok(None) => good("configuration", "none, and none is needed"),
        Err(problem) => unread("configuration", &places.config, &problem),
        Ok(Some(bytes)) => match jig_session_schema::json::parse_object(&bytes) {
            Ok(_) => good("configuration", "it can be read"),
            Err(error) => {
                let hint = "mend or remove it; until then it counts as empty".to_owned();
                bad("configuration", error.to_string(), Some(hint), Some(&places.config))
            }
        },
    }
}

/// What failed silently, such as a hook, is in the log.
fn log(places: &Places, now: Timestamp) -> Check {
    let file = places.log_file();
    let lines = match log::lines(places) {
        Ok(lines) => lines,
        Err(problem) => return unread("log", &file, &problem),
    };
    let mut recent = lines.iter().rev().take_while(|line| now.since_ms(line.at) < RECENT_MS);
    let Some(last) = recent.next() else { return good("log", "no errors were logged in the last day") };
    let count = recent.count() + 1;
    let message = format!("{count} errors in the last day; the last one: {}: {}", last.command, last.message);
    bad("log", message, Some("it stops counting after a day".to_owned()), Some(&file))
}

fn text(doctor: &Doctor, color: bool) -> String {
    let mut out = String::new();
    for check in &doctor.checks {
        let (mark, style) = if check.ok { ("ok ", Style::Green) } else { ("BAD", Style::Red) };
        out.push_str(&style.paint(mark, color));
        out.push_str(&format!("  {}: {}\n", clean(&check.check), clean(&check.message)));
        if let Some(path) = check.path.as_deref().filter(|path| !check.message.contains(*path)) {
            out.push_str(&format!("     {}\n", clean(path)));
        }
        if let Some(hint) = &check.hint {
            out.push_str(&format!("     hint: {}\n", clean(hint)));
        }
    }
    let bad = doctor.checks.iter().filter(|check| !check.ok).count();
    out.push_str(&if bad == 0 { "\nall is well\n".to_owned() } else { format!("\n{bad} to mend\n") });
    out
}
