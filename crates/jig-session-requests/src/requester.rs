//! The requester's side of the folder: a request is put there whole, and never over one that waits.

use jig_session_atomic::{Error, PrivateDir, Removal, Stamp};

use jig_session_schema::limits::REQUEST_AGE;
use jig_session_schema::request::Request;

/// Publishes requests to one session.
#[derive(Debug)]
pub struct Requester {
    dir: PrivateDir,
    /// `<name>.json`, the name of the session's status file.
    file: String,
}

/// A request that was published; it can be withdrawn while the session has not taken it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published(Stamp);

impl Requester {
    /// The requests to the session whose status file has this name (without `.json`).
    #[must_use]
    pub fn new(dir: PrivateDir, name: &str) -> Self {
        Self { dir, file: format!("{name}.json") }
    }

    /// Publishes a request; `None` when another one waits there. One that is too old to be run by anybody
    /// ([`REQUEST_AGE`]) waits for nothing and gives way. `now` is in milliseconds since 1970.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn publish(&self, request: &Request, now: i64) -> Result<Option<Published>, Error> {
        let document = document(request);
        if let Some(published) = self.dir.create_new(&self.file, &document)? {
            return Ok(Some(Published(published)));
        }
        let Some(waits) = self.dir.stamp(&self.file)? else { return Ok(None) };
        let age = now.saturating_sub(waits.modified_ms());
        if u128::try_from(age).is_ok_and(|age| age > REQUEST_AGE.as_millis()) {
            self.dir.remove_judged(&self.file, &waits)?;
            return Ok(self.dir.create_new(&self.file, &document)?.map(Published));
        }
        Ok(None)
    }

    /// Takes an own request back; false when the session has taken it already. Another requester's stays.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn withdraw(&self, published: &Published) -> Result<bool, Error> {
        Ok(self.dir.remove_judged(&self.file, &published.0)? == Removal::Removed)
    }
}

/// The request's file.
pub(crate) fn document(request: &Request) -> Vec<u8> {
    serde_json::Value::Object(request.to_document()).to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A moment within which what was just written is young.
    const NOW: i64 = 0;

    fn asked(id: &str) -> Request {
        Request::new().id(id.into()).tools([("bash".to_owned(), false)].into_iter().collect())
    }

    #[test]
    fn a_waiting_request_is_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let requester = Requester::new(PrivateDir::open(folder.path()).unwrap(), "s-1");
        let first = requester.publish(&asked("a"), NOW).unwrap().expect("nothing waits");
        assert_eq!(requester.publish(&asked("b"), NOW).unwrap(), None);
        let path = folder.path().join("s-1.json");
        assert_eq!(Request::accept(&fs::read(&path).unwrap()), Ok(asked("a")));
        assert!(requester.withdraw(&first).unwrap());
        assert!(!path.exists());
        assert!(!requester.withdraw(&first).unwrap());
    }

    #[test]
    fn one_that_nobody_can_run_any_more_gives_way() {
        let folder = tempfile::tempdir().unwrap();
        let requester = Requester::new(PrivateDir::open(folder.path()).unwrap(), "s-1");
        let first = requester.publish(&asked("a"), NOW).unwrap().expect("nothing waits");
        let written = first.0.modified_ms();
        assert_eq!(requester.publish(&asked("b"), written + 60_000).unwrap(), None, "the session may run it still");
        requester.publish(&asked("b"), written + 60_001).unwrap().expect("the first one has no use");
        assert_eq!(Request::accept(&fs::read(folder.path().join("s-1.json")).unwrap()), Ok(asked("b")));
        assert!(!requester.withdraw(&first).unwrap(), "another's stays");
    }

    #[test]
    fn withdrawing_leaves_the_request_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let requester = Requester::new(PrivateDir::open(folder.path()).unwrap(), "s-1");
        let first = requester.publish(&asked("a"), NOW).unwrap().expect("nothing waits");
        // The session takes it, and another requester publishes the next.
        fs::rename(folder.path().join("s-1.json"), folder.path().join("taken")).unwrap();
        requester.publish(&asked("b"), NOW).unwrap().expect("nothing waits");
        assert!(!requester.withdraw(&first).unwrap());
        assert_eq!(Request::accept(&fs::read(folder.path().join("s-1.json")).unwrap()), Ok(asked("b")));
    }
}
