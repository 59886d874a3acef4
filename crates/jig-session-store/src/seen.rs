//! Done and not seen yet: which settled sessions a person has not looked at since.
//!
//! A mark is a file named like the session's, whose time says when somebody looked last. There is nothing to derive
//! before the first mark is made: who only lists would see every idle session as unseen. From then on a session without
//! a mark counts from the moment of the first one.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use jig_session_atomic::{Content, Error, MARK, PrivateDir};
use jig_session_liveness::{Machine, Processes, clock};
use jig_session_schema::belongs;
use jig_session_schema::row::{Row, Source};
use jig_session_schema::status::{Attention, Reason};

use crate::condition::Condition;

/// The marks of this machine.
#[derive(Debug, Default)]
pub struct Marks {
    /// The folder, and when the first mark was made, in milliseconds since 1970; none before that.
    folder: Option<(PrivateDir, i64)>,
}

impl Marks {
    /// Opens the folder of marks for reading. One that is not there, or not ours, gives no marks: nothing is derived.
    #[must_use]
    pub fn open(folder: &Path) -> Self {
        let dir = PrivateDir::open_own_existing(folder).ok().flatten();
        let folder = dir.and_then(|dir| {
            let first = dir.stamp(MARK).ok()??;
            Some((dir, first.modified_ms()))
        });
        Self { folder }
    }

    /// Whether a session's last turn is over and nobody has looked since.
    #[must_use]
    pub fn is_unseen(&self, row: &Row) -> bool {
        let Some((dir, first)) = &self.folder else { return false };
        if row.source != Source::Jig || row.host.is_some() || Condition::of(row) != Condition::Idle {
            return false;
        }
        // A session that has only begun is idle too.
        let Some(settled) = row.state_at.filter(|at| row.started_at.is_some_and(|started| *at > started)) else {
            return false;
        };
        let seen = stem(&row.path).and_then(|name| dir.stamp(name).ok().flatten()).map(|stamp| stamp.modified_ms());
        settled.epoch_ms() > seen.unwrap_or(*first)
    }

    /// The row as a person sees it: a turn that is done and was not seen waits for that.
    pub fn derive(&self, row: &mut Row) {
        if self.is_unseen(row) {
            row.attention = Some(Attention::new().reason(Reason::FINISHED).since(row.state_at));
        }
    }
}

/// Marks a session as seen now. Marks of sessions that have no file any more go. The mark's path.
///
/// # Errors
/// When the folder cannot be made or written, and when the row is not of a status file of this machine.
pub fn mark(folder: &Path, sessions: &Path, row: &Row) -> Result<PathBuf, Error> {
    let dir = PrivateDir::open_own(folder, in_seen)?;
    let name = stem(&row.path).unwrap_or_default();
    dir.write(name, format!("{}\n", row.session).as_bytes())?;
    sweep(&dir, sessions, false);
    Ok(dir.path().join(name))
}

/// The marks of sessions that have no file any more; removed unless it is only asked. Paths.
#[must_use]
pub fn stale_marks(folder: &Path, sessions: &Path, dry_run: bool) -> Vec<String> {
    let dir = PrivateDir::open_own_existing(folder).ok().flatten();
    dir.map(|dir| sweep(&dir, sessions, dry_run)).unwrap_or_default()
}

fn sweep(dir: &PrivateDir, sessions: &Path, dry_run: bool) -> Vec<String> {
    // Another program's folder is left as it is.
    if !dir.is_marked().unwrap_or(false) {
        return Vec::new();
    }
    if !dry_run {
        // What a writer that was killed has left; one that cannot go is nobody's trouble.
        let machine = Machine::new();
        let _ = dir.sweep(clock::wall().epoch_ms(), |pid| machine.is_missing(pid));
    }
    let mut removed = Vec::new();
    for name in dir.list().unwrap_or_default() {
        // A hidden name is our mark's, or of a file that is being written.
        let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
        let found = sessions.join(format!("{name}.json")).symlink_metadata();
        // Only a certain "no" removes anything.
        let gone = found.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
        if gone && (dry_run || dir.remove(name).unwrap_or(false)) {
            removed.push(dir.path().join(name).to_string_lossy().into_owned());
        }
    }
    removed
}

fn in_seen(name: &OsStr, content: Content<'_>) -> bool {
    match (name.to_str(), content) {
        (Some(name), Content::File(bytes)) => belongs::in_seen(name, bytes),
        _ => false,
    }
}

/// The name of a session's file without its ending.
fn stem(path: &str) -> Option<&str> {
    Path::new(path).file_name()?.to_str()?.strip_suffix(".json").filter(|stem| !stem.is_empty())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use jig_session_schema::row::Verdict;
    use jig_session_schema::status::State;
    use jig_session_schema::time::Timestamp;

    use super::*;

    struct World {
        root: tempfile::TempDir,
    }

    impl World {
        fn new() -> Self {
            let root = tempfile::tempdir().expect("a folder");
            fs::create_dir(root.path().join("sessions")).expect("made");
            Self { root }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.root.path().join(name)
        }

        fn mark(&self, row: &Row) {
            mark(&self.path("seen"), &self.path("sessions"), row).expect("marked");
        }

        fn marks(&self) -> Marks {
            Marks::open(&self.path("seen"))
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(self.path("seen")).expect("listed");
            let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
            let mut names: Vec<_> = names.filter(|name| name != MARK).collect();
            names.sort();
            names
        }

        /// The time of the file system, so that marks and rows share one clock.
        fn now_ms(&self) -> i64 {
            let file = self.path("clock");
            fs::write(&file, "").expect("written");
            let time = fs::metadata(&file).and_then(|facts| facts.modified()).expect("a time");
            Timestamp::from_system(time).epoch_ms()
        }

        fn row(&self, name: &str, settled_ms: i64) -> Row {
            let path = self.path("sessions").join(format!("{name}.json"));
            fs::write(&path, "").expect("written");
            let at = Timestamp::from_epoch_ms;
            let row = Row::new().session(name.to_owned()).state(State::Idle).verdict(Verdict::Alive);
            let row = row.path(path.to_string_lossy().into_owned()).started_at(Some(at(1000)));
            row.state_at(Some(at(settled_ms)))
        }
    }

    #[test]
    fn it_is_off_until_the_first_mark_and_then_tells_what_is_newer_than_a_mark() {
        let world = World::new();
        let old = world.now_ms() - 60_000;
        let (seen, other) = (world.row("seen", old), world.row("other", old));
        assert!(!world.marks().is_unseen(&seen) && !world.marks().is_unseen(&other));
        world.mark(&seen);
        assert_eq!(world.names(), ["seen"]);
        let marks = world.marks();
        assert!(!marks.is_unseen(&seen) && !marks.is_unseen(&other), "what was done before the first mark");
        let later = world.now_ms() + 60_000;
        for name in ["seen", "other"] {
            let mut row = world.row(name, later);
            assert!(marks.is_unseen(&row), "{name}");
            marks.derive(&mut row);
            let attention = row.attention.expect("it waits");
            assert_eq!((attention.reason, attention.since), (Reason::FINISHED, row.state_at));
            assert_eq!(row.state, State::Idle, "the state is as written");
        }
    }

    #[test]
    fn only_a_settled_turn_of_a_live_session_of_this_machine_is_unseen() {
        let world = World::new();
        world.mark(&world.row("first", 1));
        let later = world.now_ms() + 60_000;
        let done = world.row("s", later);
        let marks = world.marks();
        assert!(marks.is_unseen(&done));
        let asks = Some(Attention::new().reason(Reason::QUESTION));
        for other in [
            done.clone().state(State::Busy),
            done.clone().attention(asks),
            done.clone().started_at(Some(Timestamp::from_epoch_ms(later))),
            done.clone().started_at(None),
            done.clone().state_at(None),
            done.clone().verdict(Verdict::Gone),
            done.clone().host(Some("far".into())),
            done.clone().source(Source::PiKing),
        ] {
            assert!(!marks.is_unseen(&other), "{other:?}");
        }
    }

    #[test]
    fn marks_go_with_their_sessions_and_the_feature_stays_on() {
        let world = World::new();
        let (one, two) = (world.row("one", 1), world.row("two", 1));
        world.mark(&one);
        world.mark(&two);
        assert_eq!(world.names(), ["one", "two"]);
        fs::remove_file(&one.path).expect("removed");
        world.mark(&two);
        assert_eq!(world.names(), ["two"], "a crashed session's mark goes with the next one");
        fs::remove_file(&two.path).expect("removed");
        let stale = |dry_run| stale_marks(&world.path("seen"), &world.path("sessions"), dry_run);
        assert_eq!((stale(true).len(), world.names().len()), (1, 1));
        assert_eq!((stale(false).len(), world.names().len()), (1, 0));
        assert!(world.marks().is_unseen(&world.row("new", world.now_ms() + 60_000)));
    }

    #[test]
    fn another_program_s_folder_is_left_alone() {
        let world = World::new();
        fs::create_dir(world.path("seen")).expect("made");
        fs::write(world.path("seen/notes"), "buy milk").expect("written");
        let row = world.row("s", world.now_ms() + 60_000);
        assert!(mark(&world.path("seen"), &world.path("sessions"), &row).is_err());
        assert!(!world.marks().is_unseen(&row));
        assert_eq!(world.names(), ["notes"]);
    }
}
