//! Looking at the two folders: one directory read, one bounded read a file.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jig_session_atomic::{EntryProblem, Error, PrivateDir, Reason, Stamp};
use jig_session_liveness::Processes;
use jig_session_schema::limits::STATUS_BYTES;
use jig_session_schema::places::KING_DIR;
use jig_session_schema::row::{Problem, ProblemReason};

use crate::card;
use crate::entry::{Session, problem};
use crate::status;

/// A file whose stamp is at least this much older than the look at it is what it was: within one tick of the file
/// system's clock a second write can leave the same time, the same size and even the same inode number.
const TICK_MS: i64 = 25;
/// How long a writer that does not replace its file may take to finish it.
const SECOND_LOOK: Duration = Duration::from_millis(20);

/// What one look gave, in no order and not joined.
#[derive(Debug, Default)]
pub struct Scan {
    /// Every session of both folders, judged.
    pub sessions: Vec<Session>,
    /// Every entry that gave none.
    pub problems: Vec<Problem>,
}

/// The two folders. A store that looks again reads only what has changed.
#[derive(Debug)]
pub struct Store {
    own: Folder,
    king: Folder,
    buffer: Vec<u8>,
}

impl Store {
    /// The contract's own folder of status files, and pi-king's.
    #[must_use]
    pub fn new(sessions: &Path, king: &Path) -> Self {
        let own = Folder::new(sessions, |path| PrivateDir::open_own_existing(path), status::session);
        let king = Folder::new(
            king,
            |path| PrivateDir::open_existing(path).map_err(|error| error.named_by(KING_DIR)),
            card::session,
        );
        Self { own, king, buffer: Vec::new() }
    }

    /// The folders, for [`crate::Hints`].
    #[must_use]
    pub fn folders(&self) -> [&Path; 2] {
        [&self.own.path, &self.king.path]
    }

    /// Looks once. A folder that is not there is empty.
    ///
    /// # Errors
    /// When the contract's own folder cannot be read. pi-king's is another program's: what is wrong with it is one
    /// problem among the others.
    pub fn look(&mut self, processes: &dyn Processes) -> Result<Scan, Error> {
        let mut look = Scan::default();
        self.own.read_all(&mut self.buffer, &mut look)?;
        if let Err(error) = self.king.read_all(&mut self.buffer, &mut look) {
            look.problems.push(folder_problem(&self.king.path, &error));
        }
        judge_all(&mut look, processes);
        Ok(look)
    }

    /// Looks again: a file whose stamp is the one that was read, and old enough to be believed, is not read again.
    /// `now_ms` is the reader's time in milliseconds since 1970.
    ///
    /// # Errors
    /// As [`Store::look`].
    pub fn look_again(&mut self, processes: &dyn Processes, now_ms: i64) -> Result<Scan, Error> {
        let mut look = Scan::default();
        self.own.read_changed(&mut self.buffer, &mut look, now_ms)?;
        if let Err(error) = self.king.read_changed(&mut self.buffer, &mut look, now_ms) {
            look.problems.push(folder_problem(&self.king.path, &error));
        }
        judge_all(&mut look, processes);
        Ok(look)
    }
}

fn judge_all(look: &mut Scan, processes: &dyn Processes) {
    for session in &mut look.sessions {
        session.judge(processes);
    }
}

fn folder_problem(path: &Path, error: &Error) -> Problem {
    let reason = match error.fault() {
        jig_session_atomic::Fault::ForeignOwner { .. } => ProblemReason::FOREIGN_OWNER,
        _ => ProblemReason::UNREADABLE,
    };
    problem(path.to_string_lossy().into_owned(), reason, error.to_string())
}

/// From a file's name without `.json`, its path and its bytes to what it says.
type Reader = fn(&str, String, &[u8], Stamp, bool) -> Result<Session, Problem>;

/// Opens a folder for reading, as far as it is there.
type Open = fn(&Path) -> Result<Option<PrivateDir>, Error>;

#[derive(Debug)]
struct Folder {
    path: PathBuf,
    open: Open,
    reader: Reader,
    kept: HashMap<OsString, CachedFile>,
}

/// A file as it was read last.
#[derive(Clone, Debug)]
struct CachedFile {
    stamp: Stamp,
    /// The stamp was old enough when it was taken.
    settled: bool,
    content: Result<Session, Problem>,
}

impl Folder {
    fn new(path: &Path, open: Open, reader: Reader) -> Self {
        Self { path: path.to_owned(), open, reader, kept: HashMap::new() }
    }

    fn read_all(&self, buffer: &mut Vec<u8>, look: &mut Scan) -> Result<(), Error> {
        let Some(dir) = (self.open)(&self.path)? else { return Ok(()) };
        let place = OpenFolder::of(&dir);
        for name in dir.documents()? {
            // One that is gone between the listing and the reading is none.
            if let Some((_, content)) = self.read(&place, &name, buffer) {
                look.add(content);
            }
        }
        Ok(())
    }

    fn read_changed(&mut self, buffer: &mut Vec<u8>, look: &mut Scan, now_ms: i64) -> Result<(), Error> {
        let Some(dir) = (self.open)(&self.path)? else {
            self.kept.clear();
            return Ok(());
        };
        let place = OpenFolder::of(&dir);
        let mut before = std::mem::take(&mut self.kept);
        for name in dir.documents()? {
            let unchanged = before
                .remove(&name)
                .filter(|kept| kept.settled && dir.stamp(&name).is_ok_and(|stamp| stamp == Some(kept.stamp)));
            let kept = match unchanged {
                Some(kept) => kept,
                None => match self.read(&place, &name, buffer) {
                    Some((stamp, content)) => CachedFile::new(stamp, content, now_ms),
                    None => continue,
                },
            };
            look.add(kept.content.clone());
            self.kept.insert(name, kept);
        }
        Ok(())
    }

    /// Reads one file; `None` when it is not there any more.
    fn read(
        &self,
        place: &OpenFolder<'_>,
        name: &OsStr,
        buffer: &mut Vec<u8>,
    ) -> Option<(Option<Stamp>, Result<Session, Problem>)> {
        let first = self.read_once(place, name, buffer)?;
        let (Some(stamp), Err(problem)) = &first else { return Some(first) };
        let half = problem.reason == ProblemReason::UNPARSABLE || problem.reason == ProblemReason::EMPTY;
        // Somebody writes into it at this moment: what was read may be half of it.
        if half && place.dir.stamp(name).is_ok_and(|now| now.is_some_and(|now| now != *stamp)) {
            std::thread::sleep(SECOND_LOOK);
            return self.read_once(place, name, buffer);
        }
        Some(first)
    }

    fn read_once(
        &self,
        place: &OpenFolder<'_>,
        name: &OsStr,
        buffer: &mut Vec<u8>,
    ) -> Option<(Option<Stamp>, Result<Session, Problem>)> {
        // Nearly every name is text, and this way is the quicker one to know it.
        let shown = name.to_str().map_or_else(|| name.to_string_lossy(), Cow::Borrowed);
        let path = place.path(&shown);
        match place.dir.read_into(name, STATUS_BYTES, buffer) {
            Ok(stamp) => {
                let stem = shown.strip_suffix(".json").unwrap_or(&shown);
                Some((Some(stamp), (self.reader)(stem, path, buffer, stamp, place.local)))
            }
            Err(error) if error.reason == Reason::Missing => None,
            Err(error) => Some((error.stamp, Err(unread(path, &error)))),
        }
    }
}

fn unread(path: String, error: &EntryProblem) -> Problem {
    let reason = ProblemReason::new(error.reason.word()).unwrap_or(ProblemReason::UNREADABLE);
    problem(path, reason, error.to_string())
}

impl CachedFile {
    fn new(stamp: Option<Stamp>, content: Result<Session, Problem>, now_ms: i64) -> Self {
        let settled = stamp.is_some_and(|stamp| now_ms.saturating_sub(stamp.modified_ms()) >= TICK_MS);
        Self { stamp: stamp.unwrap_or(Stamp { inode: 0, size: 0, modified_ns: 0 }), settled, content }
    }
}

impl Scan {
    fn add(&mut self, content: Result<Session, Problem>) {
        match content {
            Ok(session) => self.sessions.push(session),
            Err(problem) => self.problems.push(problem),
        }
    }
}

/// The folder that is read now.
struct OpenFolder<'a> {
    dir: &'a PrivateDir,
    prefix: String,
    local: bool,
}

impl<'a> OpenFolder<'a> {
    fn of(dir: &'a PrivateDir) -> Self {
        let mut prefix = dir.path().to_string_lossy().into_owned();
        prefix.push('/');
        Self { dir, prefix, local: dir.is_local() }
    }

    fn path(&self, name: &str) -> String {
        let mut path = String::with_capacity(self.prefix.len() + name.len());
        path.push_str(&self.prefix);
        path.push_str(name);
        path
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use jig_session_liveness::fake::Table;
    use jig_session_liveness::{Judgement, Rule};
    use jig_session_schema::row::{Detail, Verdict};
    use serde_json::json;

    use super::*;

    /// Process 1 is stopped, 2 is gone, and every other one runs.
    fn table() -> Table {
        let table = Table::new();
        table.judge_as(1, Judgement { verdict: Verdict::Alive, detail: Some("stopped"), rule: Rule::SameStart });
        table.set(2, Verdict::Gone);
        table
    }

    struct Fixture {
        root: tempfile::TempDir,
        store: Store,
    }

    impl Fixture {
        fn new() -> Self {
            let root = tempfile::tempdir().expect("a folder");
            for name in ["sessions", "king"] {
                fs::create_dir(root.path().join(name)).expect("made");
            }
            let store = Store::new(&root.path().join("sessions"), &root.path().join("king"));
            Self { root, store }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.root.path().join("sessions").join(name)
        }

        fn write(&self, id: &str, pid: u32, cwd: &str) {
            let document = json!({ "schema": 1, "session": id, "pid": pid, "cwd": cwd, "state": "idle" });
            let temporary = self.path(&format!(".{id}.json.tmp-1-00000000"));
            fs::write(&temporary, document.to_string()).expect("written");
            fs::rename(temporary, self.path(&format!("{id}.json"))).expect("renamed");
        }

        fn again(&mut self, now_ms: i64) -> Vec<(String, String)> {
            let look = self.store.look_again(&table(), now_ms).expect("a look");
            let mut found: Vec<_> = look.sessions.into_iter().map(|s| (s.row.session, s.row.cwd)).collect();
            found.sort();
            found
        }
    }

    #[test]
    fn a_look_judges_every_session_and_names_every_problem() {
        let mut fixture = Fixture::new();
        fixture.write("alive", 1, "/a");
        fixture.write("gone", 2, "/a");
        fs::write(fixture.path("bad.json"), "{").expect("written");
        fs::create_dir(fixture.path("folder.json")).expect("made");
        fs::write(fixture.path("empty.json"), "").expect("written");
        for quiet in [".alive.json.tmp-1-00000000", "notes", ".hidden.json"] {
            fs::write(fixture.path(quiet), "{").expect("written");
        }
        let table = table();
        let mut look = fixture.store.look(&table).expect("a look");
        assert_eq!(table.judged(), 2);
        look.sessions.sort_by(|a, b| a.row.session.cmp(&b.row.session));
        let verdicts: Vec<_> = look.sessions.iter().map(|s| (s.row.verdict, s.row.detail.clone())).collect();
        assert_eq!(verdicts, [(Verdict::Alive, Some(Detail::STOPPED)), (Verdict::Gone, None)]);
        let real = fs::canonicalize(fixture.path("alive.json")).expect("there");
        assert_eq!(look.sessions[0].row.path, real.to_string_lossy());
        let mut problems: Vec<_> = look.problems.iter().map(|problem| problem.reason.to_string()).collect();
        problems.sort();
        assert_eq!(problems, ["empty", "not-a-regular-file", "unparsable"]);
    }

    #[test]
    fn a_session_whose_publisher_is_gone_or_stopped_is_unknown_and_stays() {
        // Publisher 3 runs; what is judged of the others is the table's.
        let cases = [
            (10, Some(3), Verdict::Alive, None),
            (10, Some(2), Verdict::Unknown, Some(Detail::NO_PUBLISHER)),
            (10, Some(1), Verdict::Unknown, Some(Detail::NO_PUBLISHER)),
            // Nobody is named: nothing is concluded.
            (10, None, Verdict::Alive, None),
            // Of an agent that is gone or stopped the publisher says nothing.
            (2, Some(2), Verdict::Gone, None),
            (1, Some(2), Verdict::Alive, Some(Detail::STOPPED)),
        ];
        for (pid, publisher, verdict, detail) in cases {
            let mut fixture = Fixture::new();
            let start = |pid: u32| jig_session_liveness::fake::start_of(pid);
            let mut document = json!({ "schema": 1, "session": "s", "pid": pid, "cwd": "/a", "state": "idle",
                "process": { "start": start(pid) } });
            if let Some(publisher) = publisher {
                document["publisher"] = json!({ "pid": publisher, "start": start(publisher) });
            }
            fs::write(fixture.path("s.json"), document.to_string()).expect("written");
            let look = fixture.store.look(&table()).expect("a look");
            let row = &look.sessions[0].row;
            assert_eq!((row.verdict, row.detail.clone()), (verdict, detail), "{pid} {publisher:?}");
        }
    }

    #[test]
    fn no_folder_is_empty_and_a_bad_one_an_error() {
        let mut fixture = Fixture::new();
        fs::remove_dir(fixture.root.path().join("sessions")).expect("removed");
        let look = fixture.store.look(&table()).expect("a look");
        assert!(look.sessions.is_empty() && look.problems.is_empty());
        fs::write(fixture.root.path().join("sessions"), "").expect("written");
        let error = fixture.store.look(&table()).expect_err("no folder");
        assert!(error.is_unsafe() && error.to_string().contains("sessions"), "{error}");
        assert!(fixture.store.look_again(&table(), 0).is_err());
    }

    #[test]
    fn another_programs_bad_folder_is_a_problem() {
        let mut fixture = Fixture::new();
        fixture.write("alive", 1, "/a");
        fs::remove_dir(fixture.root.path().join("king")).expect("removed");
        fs::write(fixture.root.path().join("king"), "").expect("written");
        let look = fixture.store.look(&table()).expect("a look");
        assert_eq!(look.sessions.len(), 1);
        assert_eq!(look.problems[0].reason, ProblemReason::UNREADABLE);
    }

    #[test]
    fn looking_again_finds_what_came_changed_and_went() {
        let mut fixture = Fixture::new();
        let late = i64::MAX / 2;
        fixture.write("a", 1, "/one");
        assert_eq!(fixture.again(late), [("a".into(), "/one".into())]);
        fixture.write("a", 1, "/two");
        fixture.write("b", 1, "/one");
        assert_eq!(fixture.again(late), [("a".into(), "/two".into()), ("b".into(), "/one".into())]);
        fs::remove_file(fixture.path("a.json")).expect("removed");
        assert_eq!(fixture.again(late), [("b".into(), "/one".into())]);
        fs::remove_dir_all(fixture.root.path().join("sessions")).expect("removed");
        assert_eq!(fixture.again(late), []);
    }

    #[test]
    fn an_unchanged_file_is_not_read_again_once_it_is_old_enough() {
        let mut fixture = Fixture::new();
        fixture.write("a", 1, "/one");
        let path = fixture.path("a.json");
        let stamp = fs::metadata(&path).and_then(|facts| facts.modified()).expect("a time");
        let written = stamp.duration_since(std::time::UNIX_EPOCH).expect("past 1970").as_millis();
        let written = i64::try_from(written).expect("fits");
        // Content can change under the same size, time and inode: only a read detects it.
        let change = |cwd: &str| {
            let text = fs::read_to_string(&path).expect("read");
            let at = text.find("/one").or_else(|| text.find("/two")).expect("a folder");
            fs::write(&path, [&text[..at], cwd, &text[at + 4..]].concat()).expect("written");
            fs::File::options().write(true).open(&path).and_then(|file| file.set_modified(stamp)).expect("set");
        };
        assert_eq!(fixture.again(written + TICK_MS - 1), [("a".into(), "/one".into())]);
        change("/two");
        assert_eq!(fixture.again(written + TICK_MS), [("a".into(), "/two".into())], "it was too young to be believed");
        change("/one");
        assert_eq!(fixture.again(written + TICK_MS), [("a".into(), "/two".into())], "now it is believed");
        fixture.write("a", 1, "/six");
        assert_eq!(fixture.again(written + TICK_MS), [("a".into(), "/six".into())]);
    }

    #[test]
    fn a_clock_that_was_set_back_is_never_a_reason_to_believe() {
        let kept =
            CachedFile::new(Some(Stamp { inode: 1, size: 1, modified_ns: 1_000_000_000 }), Err(Problem::new()), 0);
        assert!(!kept.settled);
    }
}
