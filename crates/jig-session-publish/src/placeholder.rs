//! A session that stands for a program whose own session nobody has named yet.
//!
//! `jig-session run` lists every program that it starts. Most agents name their session a little later, by a hook or a
//! record; until then, or for good, the row goes under an id made of the process alone.

use jig_session_schema::status::{Process, Status};

/// The id under which a program is listed until its own session is known: `run-<pid>-<start>`.
#[must_use]
pub fn placeholder_id(pid: u32, process: Option<&Process>) -> String {
    let start = process.and_then(|process| process.start.as_deref()).unwrap_or_default();
    // The system's name before the colon is the same for every process of a machine.
    let start = start.rsplit(':').next().unwrap_or_default();
    format!("run-{pid}-{start}")
}

/// Whether a document only stands for its process.
#[must_use]
pub fn is_placeholder(status: &Status) -> bool {
    status.session.starts_with("run-")
        && status.pid.is_some_and(|pid| status.session == placeholder_id(pid, status.process.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_made_of_the_documents_own_process_is_a_placeholder() {
        let process = Process::new().start(Some("linux:4711".into()));
        assert_eq!(placeholder_id(12, Some(&process)), "run-12-4711");
        let mut status = Status::new();
        status.pid = Some(12);
        status.process = Some(process);
        for (session, expected) in [("run-12-4711", true), ("run-12-4712", false), ("run-13-4711", false), ("s", false)]
        {
            status.session = session.into();
            assert_eq!(is_placeholder(&status), expected, "{session}");
        }
    }
}
