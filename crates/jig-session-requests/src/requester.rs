//! The requester's side of the folder: a request is put there whole, and never over one that waits.

use jig_session_atomic::{Error, PrivateDir, Removal, Stamp};

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

    /// Publishes a request; `None` when another one waits there.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn publish(&self, request: &Request) -> Result<Option<Published>, Error> {
        Ok(self.dir.create_new(&self.file, &document(request))?.map(Published))
    }

    /// Takes an own request back; false when the session has taken it already. Another requester's stays.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn withdraw(&self, published: &Published) -> Result<bool, Error> {
        Ok(self.dir.remove_judged(&self.file, &published.0)? == Removal::Removed)
    }
}

/// The file that asks for it.
pub(crate) fn document(request: &Request) -> Vec<u8> {
    serde_json::Value::Object(request.to_document()).to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn asked(id: &str) -> Request {
        Request::new().id(id.into()).tools([("bash".to_owned(), false)].into_iter().collect())
    }

    #[test]
    fn a_waiting_request_is_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let requester = Requester::new(PrivateDir::open(folder.path()).unwrap(), "s-1");
        let first = requester.publish(&asked("a")).unwrap().expect("nothing waits");
        assert_eq!(requester.publish(&asked("b")).unwrap(), None);
        let path = folder.path().join("s-1.json");
        assert_eq!(Request::accept(&fs::read(&path).unwrap()), Ok(asked("a")));
        assert!(requester.withdraw(&first).unwrap());
        assert!(!path.exists());
        assert!(!requester.withdraw(&first).unwrap());
    }

    #[test]
    fn withdrawing_leaves_the_request_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let requester = Requester::new(PrivateDir::open(folder.path()).unwrap(), "s-1");
        let first = requester.publish(&asked("a")).unwrap().expect("nothing waits");
        // The session takes it, and another requester publishes the next.
        fs::rename(folder.path().join("s-1.json"), folder.path().join("taken")).unwrap();
        requester.publish(&asked("b")).unwrap().expect("nothing waits");
        assert!(!requester.withdraw(&first).unwrap());
        assert_eq!(Request::accept(&fs::read(folder.path().join("s-1.json")).unwrap()), Ok(asked("b")));
    }
}
