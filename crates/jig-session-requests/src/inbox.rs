//! The session's side of the folder: requests are taken by rename, so that of two takers one gets it, and a
//! taken file stays until its answer is on disk, so that a request is never lost without a word.

use std::collections::HashSet;
use std::ffi::OsString;

use jig_session_atomic::{Error, Leftover, LeftoverKind, Moved, PrivateDir, Reason};

use jig_session_schema::limits::REQUEST_BYTES;
use jig_session_schema::request::{NotARequest, Request};

/// Takes one session's requests.
#[derive(Debug)]
pub struct RequestInbox {
    dir: PrivateDir,
    /// `<name>.json`, the name of the session's status file.
    file: String,
    /// Files this inbox took and has not finished with.
    ours: HashSet<OsString>,
}

/// A request this process has taken. It stays on disk until [`RequestInbox::done`].
#[derive(Clone, Debug, PartialEq)]
pub struct Taken {
    name: OsString,
    /// The request, or why it is invalid.
    pub request: Result<Request, NotARequest>,
    /// When its file was written, in epoch milliseconds; 0 when that cannot be read.
    pub written: i64,
    /// Another process had taken it and is gone.
    pub interrupted: bool,
}

impl RequestInbox {
    /// The requests of the session whose status file has this name (without `.json`).
    #[must_use]
    pub fn new(dir: PrivateDir, name: &str) -> Self {
        Self { dir, file: format!("{name}.json"), ours: HashSet::new() }
    }

    /// The folder, for a watch on it.
    #[must_use]
    pub fn dir(&self) -> &PrivateDir {
        &self.dir
    }

    /// Takes the waiting request, if there is one.
    ///
    /// # Errors
    /// When the folder cannot be used. Nothing is lost by it: the file waits.
    pub fn take(&mut self) -> Result<Option<Taken>, Error> {
        self.dir.refresh()?;
        let Some(name) = self.dir.take(&self.file)? else { return Ok(None) };
        self.ours.insert(name.clone());
        Ok(self.read(name, false))
    }

    /// Takes over what processes that are gone had taken and not answered. `is_gone` judges a process id.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn leftovers(&mut self, mut is_gone: impl FnMut(u32) -> bool) -> Result<Vec<Taken>, Error> {
        let mut found = Vec::new();
        for name in self.dir.list()? {
            let Some(leftover) = Leftover::parse(&name) else { continue };
            if leftover.kind != LeftoverKind::Taken || leftover.file != self.file || self.ours.contains(&name) {
                continue;
            }
            // One that bears our own number and is not ours is of an earlier process that had it.
            if leftover.pid != std::process::id() && !is_gone(leftover.pid) {
                continue;
            }
            let Some(own) = self.take_over(&name)? else { continue };
            self.ours.insert(own.clone());
            found.extend(self.read(own, true));
        }
        Ok(found)
    }

    /// Puts our own number into a leftover's name: of two successors one gets it.
    fn take_over(&self, name: &OsString) -> Result<Option<OsString>, Error> {
        let unique = name.to_str().and_then(|name| name.rsplit_once('-')).map_or("", |(_, unique)| unique);
        let own = OsString::from(format!(".{}.taken-{}-{unique}", self.file, std::process::id()));
        if own == *name {
            return Ok(Some(own));
        }
        Ok((self.dir.move_new(name, &self.dir, &own)? == Moved::Done).then_some(own))
    }

    /// The answer is on disk: the taken file goes.
    ///
    /// # Errors
    /// When it cannot be removed; a later look would find it again and repeat the answer.
    pub fn done(&mut self, taken: &Taken) -> Result<(), Error> {
        self.ours.remove(&taken.name);
        match self.dir.remove(&taken.name) {
            // Whatever else stands under a request's name (a folder, say) is no request; it was answered as one.
            Err(error) => self.dir.remove_sub(&taken.name).map(|_| ()).map_err(|_| error),
            Ok(_) => Ok(()),
        }
    }

    fn read(&mut self, name: OsString, interrupted: bool) -> Option<Taken> {
        let (request, stamp) = match self.dir.read(&name, REQUEST_BYTES) {
            Ok(read) => (Request::accept(&read.bytes), Some(read.stamp)),
            Err(problem) if problem.reason == Reason::Missing => {
                // Somebody removed it under our hands: there is nobody to answer.
                self.ours.remove(&name);
                return None;
            }
            Err(problem) => (Err(NotARequest::default()), problem.stamp),
        };
        Some(Taken { name, request, written: stamp.map_or(0, |stamp| stamp.modified_ms()), interrupted })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::requester::{Requester, document};

    fn inbox(folder: &tempfile::TempDir) -> RequestInbox {
        RequestInbox::new(PrivateDir::open(folder.path().join("requests")).unwrap(), "s-1")
    }

    fn names(inbox: &RequestInbox) -> Vec<OsString> {
        inbox.dir.list().unwrap()
    }

    fn asked(id: &str) -> Request {
        Request::new().id(id.into()).reload(Some(true))
    }

    #[test]
    fn a_request_is_taken_once_and_its_file_stays_until_it_is_answered() {
        let folder = tempfile::tempdir().unwrap();
        let (mut one, mut two) = (inbox(&folder), inbox(&folder));
        assert_eq!(one.take().unwrap(), None);
        let requester = Requester::new(PrivateDir::open(folder.path().join("requests")).unwrap(), "s-1");
        requester.publish(&asked("a"), 0).unwrap().expect("nothing waits");
        let taken = one.take().unwrap().expect("a request waits");
        assert_eq!(two.take().unwrap(), None);
        assert_eq!(taken.request, Ok(asked("a")));
        assert!(!taken.interrupted && taken.written > 0);
        // The other inbox runs in the same process, so only the file's own inbox knows that it is not a leftover.
        assert!(one.leftovers(|_| true).unwrap().is_empty());
        assert_eq!(names(&one).len(), 1);
        one.done(&taken).unwrap();
        assert!(names(&one).is_empty());
    }

    #[test]
    fn what_a_dead_taker_left_is_taken_over_once_and_only_of_this_session() {
        let folder = tempfile::tempdir().unwrap();
        let mut inbox = inbox(&folder);
        for name in
            [".s-1.json.taken-4000001-0123abcd", ".s-2.json.taken-4000001-0123abcd", ".s-1.json.tmp-4000001-0123abcd"]
        {
            fs::write(folder.path().join("requests").join(name), document(&asked("a"))).unwrap();
        }
        assert!(inbox.leftovers(|_| false).unwrap().is_empty(), "its taker lives");
        let left = inbox.leftovers(|pid| pid == 4_000_001).unwrap();
        assert_eq!(left.len(), 1);
        assert!(left[0].interrupted);
        assert_eq!(left[0].request, Ok(asked("a")));
        assert!(inbox.leftovers(|_| true).unwrap().is_empty());
        inbox.done(&left[0]).unwrap();
        assert_eq!(names(&inbox).len(), 2);
    }

    #[test]
    fn a_successor_that_dies_too_leaves_it_to_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let mut first = inbox(&folder);
        fs::write(folder.path().join("requests/.s-1.json.taken-4000001-0123abcd"), document(&asked("a"))).unwrap();
        assert_eq!(first.leftovers(|_| true).unwrap().len(), 1);
        drop(first);
        let left = inbox(&folder).leftovers(|_| true).unwrap();
        assert_eq!(left.len(), 1);
        assert_eq!(left[0].request, Ok(asked("a")));
    }

    #[test]
    fn what_is_no_request_is_taken_too_so_that_it_is_answered_and_goes() {
        let folder = tempfile::tempdir().unwrap();
        let mut inbox = inbox(&folder);
        let path = folder.path().join("requests/s-1.json");
        let big = format!(r#"{{"schema":1,"id":"a","later":"{}"}}"#, "x".repeat(REQUEST_BYTES));
        let plant: [&dyn Fn(); 5] = [
            &|| fs::write(&path, "").unwrap(),
            &|| fs::write(&path, &big).unwrap(),
            &|| fs::write(&path, "{").unwrap(),
            &|| fs::create_dir(&path).unwrap(),
            &|| symlink("/dev/zero", &path).unwrap(),
        ];
        for plant in plant {
            plant();
            let taken = inbox.take().unwrap().expect("taken");
            assert_eq!(taken.request.as_ref().unwrap_err().message, "not a request");
            inbox.done(&taken).unwrap();
            assert!(names(&inbox).is_empty());
        }
    }

    #[test]
    fn a_folder_that_was_removed_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut inbox = inbox(&folder);
        fs::remove_dir(folder.path().join("requests")).unwrap();
        assert_eq!(inbox.take().unwrap(), None);
        fs::write(folder.path().join("requests/s-1.json"), document(&asked("a"))).unwrap();
        assert_eq!(inbox.take().unwrap().expect("taken").request, Ok(asked("a")));
    }
}
