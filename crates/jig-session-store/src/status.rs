//! Status v1: from a file's bytes to a session.

use jig_session_atomic::Stamp;
use jig_session_schema::names::name_fits;
use jig_session_schema::read::{FieldProblem, ReadError};
use jig_session_schema::row::{Problem, ProblemReason, Row, Verdict};
use jig_session_schema::status::Status;

use crate::entry::{Session, problem};

/// Reads a status file, or says why it is none.
pub(crate) fn session(name: &str, path: String, bytes: &[u8], stamp: Stamp, local: bool) -> Result<Session, Problem> {
    let read = match Status::scan(bytes) {
        Ok(read) => read,
        Err(error) => return Err(unread(path, &error)),
    };
    if !name_fits(name, &read.value.session) {
        // The inner id is used for nothing, not even for the message: the file's name is the key.
        return Err(problem(path, ProblemReason::MISMATCH, "its name does not fit the session inside"));
    }
    // A pid that no process can have is worse than none: it must not be read as another number.
    if let Some(bad) = bad_pid(read.value.pid, &read.problems) {
        return Err(problem(path, ProblemReason::UNPARSABLE, bad));
    }
    let mut status = read.value;
    let (process, terminal_from, tmux_socket) =
        (status.process.take(), status.terminal_from.take(), status.tmux_socket.take());
    let publisher = status.publisher.take();
    let row = Row::of(status, path, Verdict::Unknown, None);
    Ok(Session { row, process, terminal_from, tmux_socket, publisher, visible: true, exited: false, stamp, local })
}

/// Why the process id is none that any system gives; `None` for a good one and for none at all.
pub(crate) fn bad_pid(pid: Option<u32>, problems: &[FieldProblem]) -> Option<String> {
    let ill_typed = problems.iter().find(|field| field.pointer == "/pid").map(|field| field.message.clone());
    let out_of_range =
        pid.filter(|pid| !(1..=i32::MAX.unsigned_abs()).contains(pid)).map(|_| "is out of range".to_owned());
    ill_typed.or(out_of_range).map(|why| format!("the process id {why}"))
}

/// The problem of a file without a record.
pub(crate) fn unread(path: String, error: &ReadError) -> Problem {
    let reason = ProblemReason::new(error.reason()).unwrap_or(ProblemReason::UNPARSABLE);
    problem(path, reason, error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const STAMP: Stamp = Stamp { inode: 1, size: 1, modified_ns: 1 };

    fn read(name: &str, document: &Value) -> Result<Session, Problem> {
        session(name, format!("/s/{name}.json"), document.to_string().as_bytes(), STAMP, true)
    }

    #[test]
    fn everything_beyond_the_row_is_kept() {
        let document = json!({
            "schema": 1, "session": "s-1", "pid": 7, "cwd": "/a", "agentDir": "/home/dev/.pi/agent",
            "terminal": "t7", "terminalFrom": "HC_TERMINAL_ID", "tmuxPane": "%3", "tmuxSocket": "/tmp/tmux", "state": "busy",
            "startedAt": "2026-11-29T10:00:00.000Z", "updatedAt": "2026-11-29T11:00:00.000Z", "transcript": "/t.jsonl",
            "process": { "start": "linux:5", "bootId": "b", "pidNamespace": "4", "machine": "m", "shared": true }
        });
        let session = read("s-1", &document).expect("a session");
        assert_eq!(session.terminal_from.as_deref(), Some("HC_TERMINAL_ID"));
        assert_eq!(session.tmux_socket.as_deref(), Some("/tmp/tmux"));
        assert!(session.visible && !session.exited);
        let record = session.record();
        assert_eq!((record.pid, record.start, record.boot_id), (Some(7), Some("linux:5"), Some("b")));
        assert_eq!((record.pid_namespace, record.machine, record.shared), (Some("4"), Some("m"), true));
        assert_eq!(record.written_ms, session.row.updated_at.map(|at| at.epoch_ms()), "the newest sign of the writer");
    }

    #[test]
    fn a_pid_that_no_process_can_have_is_no_session() {
        for pid in [json!(0), json!(-1), json!(2_147_483_648_u32), json!(1e300), json!("7"), json!([7]), json!(1.5)] {
            let found = read("s-1", &json!({ "schema": 1, "session": "s-1", "pid": pid, "cwd": "/a" }));
            let problem = found.expect_err("no session");
            assert_eq!(problem.reason, ProblemReason::UNPARSABLE, "{pid}");
            assert!(problem.message.contains("process id"), "{pid}: {}", problem.message);
        }
        for pid in [json!(7), json!(7.0), Value::Null] {
            assert!(read("s-1", &json!({ "schema": 1, "session": "s-1", "pid": pid, "cwd": "/a" })).is_ok(), "{pid}");
        }
    }

    #[test]
    fn the_name_is_the_key() {
        let document = json!({ "schema": 1, "session": "a/b", "pid": 7, "cwd": "/a" });
        assert!(read("a_b", &document).is_ok());
        assert!(read("a_b~c14cddc033f64b9d", &document).is_ok());
        for name in ["a.b", "A_b", "a_b~0000000000000000", "a_b~", "other"] {
            assert_eq!(read(name, &document).expect_err("no session").reason, ProblemReason::MISMATCH, "{name}");
        }
    }
}
