//! The folder of requests.

use std::ffi::OsStr;
use std::path::Path;

use jig_session_atomic::{Content, Error, PrivateDir};
use jig_session_schema::belongs;

/// Opens the folder of requests for a [`crate::RequestInbox`] or a [`crate::Requester`], made when missing.
///
/// # Errors
/// When it, or the state folder that holds it, is not safe or is another program's, and when the system refuses.
pub fn folder(path: &Path) -> Result<PrivateDir, Error> {
    PrivateDir::open_own(path, in_requests)
}

fn in_requests(name: &OsStr, content: Content<'_>) -> bool {
    match content {
        Content::File(bytes) => name.to_str().is_some_and(|name| belongs::in_requests(name, bytes)),
        Content::Folder | Content::Other => false,
    }
}
