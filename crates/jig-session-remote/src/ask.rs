//! Asking some hosts once: all at the same time, each within the limit.

use std::io::Read;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use jig_session_schema::row::{Problem, ProblemReason};

use crate::host::Host;
use crate::ssh::Ssh;

/// No answer is longer.
const LARGEST: u64 = 16 << 20;
/// So much of what a host says on stderr is looked at.
const COMPLAINT: u64 = 4096;
/// The exit code of ssh itself.
const SSH_FAILED: i32 = 255;
/// The exit code of a shell that finds no such program.
const NOT_FOUND: i32 = 127;

/// What a host answered: the program's stdout, or why there is none.
pub type Answer = Result<Vec<u8>, NoAnswer>;

/// Why a host gave no answer.
#[derive(Clone, Debug, PartialEq)]
pub struct NoAnswer {
    /// The same as a problem of that host.
    pub problem: Problem,
    /// The exit code of its `jig-session`, if it came so far.
    pub exit: Option<i32>,
}

impl NoAnswer {
    fn of(problem: Problem) -> Self {
        Self { problem, exit: None }
    }
}

/// Asks each host for what its `jig-session` prints for these words; the answers are in the order of the hosts. After
/// `limit` a host counts as unreachable.
#[must_use]
pub fn ask(ssh: &Ssh, hosts: &[Host], words: &[String], limit: Duration) -> Vec<Answer> {
    let end = Instant::now() + limit;
    let asked: Vec<_> = hosts
        .iter()
        .map(|host| {
            let (ssh, host, words) = (ssh.clone(), host.clone(), words.to_vec());
            thread::spawn(move || answer(&ssh, &host, &words, end))
        })
        .collect();
    let answers = asked.into_iter().zip(hosts);
    answers
        .map(|(asked, host)| asked.join().unwrap_or_else(|_| Err(NoAnswer::of(problem(host, "asking it failed")))))
        .collect()
}

fn answer(ssh: &Ssh, host: &Host, words: &[String], end: Instant) -> Answer {
    let mut child = start(ssh.once(host, words), host).map_err(NoAnswer::of)?;
    let (sender, out) = channel();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let errors = thread::spawn(move || stderr.map(|pipe| some(pipe, COMPLAINT)).unwrap_or_default());
    thread::spawn(move || drop(sender.send(stdout.map(|pipe| some(pipe, LARGEST + 1)).unwrap_or_default())));
    let read = out.recv_timeout(end.saturating_duration_since(Instant::now()));
    let bytes = match read {
        Ok(bytes) if bytes.len() as u64 <= LARGEST => bytes,
        too_late_or_too_long => {
            kill(&mut child);
            let late = matches!(too_late_or_too_long, Err(RecvTimeoutError::Timeout));
            let why = if late { "no answer in time" } else { "its answer is too long" };
            return Err(NoAnswer::of(problem(host, why)));
        }
    };
    // A shared connection's master keeps stderr open: what was said so far is enough.
    let status = child.wait();
    let said = if errors.is_finished() || status.as_ref().is_ok_and(|status| !status.success()) {
        joined_soon(errors)
    } else {
        Vec::new()
    };
    match status {
        Ok(status) if status.success() => Ok(bytes),
        Ok(status) => {
            let exit = status.code().filter(|code| ![SSH_FAILED, NOT_FOUND].contains(code));
            Err(NoAnswer { problem: problem(host, &complaint(status, &said)), exit })
        }
        Err(error) => Err(NoAnswer::of(problem(host, &error.to_string()))),
    }
}

/// What a reader has got, if that comes within half a second.
fn joined_soon(reader: thread::JoinHandle<Vec<u8>>) -> Vec<u8> {
    let end = Instant::now() + Duration::from_millis(500);
    while !reader.is_finished() && Instant::now() < end {
        thread::sleep(Duration::from_millis(5));
    }
    if reader.is_finished() { reader.join().unwrap_or_default() } else { Vec::new() }
}

fn some(pipe: impl Read, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What was read before an error is what there is.
    let _ = pipe.take(most).read_to_end(&mut bytes);
    bytes
}

/// Starts ssh.
pub(crate) fn start(mut command: Command, host: &Host) -> Result<Child, Problem> {
    command.spawn().map_err(|error| {
        let program = command.get_program().to_string_lossy().into_owned();
        problem(host, &format!("cannot run {program}: {error}"))
    })
}

pub(crate) fn kill(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// Why a host gave nothing, in words.
pub(crate) fn complaint(status: ExitStatus, said: &[u8]) -> String {
    let said = String::from_utf8_lossy(said);
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = match status.code() {
        // ssh says last what went wrong.
        Some(SSH_FAILED) => lines.next_back(),
        _ => lines.next(),
    };
    let line: String = line.unwrap_or_default().chars().take(200).collect();
    match status.code() {
        Some(NOT_FOUND) => "jig-session is not installed there, or not on its PATH".to_owned(),
        Some(2) => format!("its jig-session is older and does not know this: {}", line.trim_start_matches("error: ")),
        Some(SSH_FAILED) if line.is_empty() => "ssh cannot connect".to_owned(),
        Some(code) if line.is_empty() => format!("its jig-session ended with {code}"),
        _ if line.is_empty() => format!("ssh ended with {status}"),
        _ => line,
    }
}

/// The problem of a host that gives no row.
pub(crate) fn problem(host: &Host, message: &str) -> Problem {
    let problem = Problem::new().host(Some(host.name().to_owned())).reason(ProblemReason::UNREACHABLE);
    problem.message(message.to_owned())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// A program in ssh's place: it runs what it is given last in a shell here, with that `jig-session`.
    struct Fake {
        root: tempfile::TempDir,
    }

    impl Fake {
        fn new(program: &str) -> Self {
            let fake = Self { root: tempfile::tempdir().expect("a folder") };
            let folder = fake.root.path().display().to_string();
            fake.write("jig-session", program);
            fake.write(
                "ssh",
                &format!(
                    "for line; do :; done; PATH={folder}:/usr/bin:/bin HOME={folder}; export PATH HOME; eval \"$line\""
                ),
            );
            fake
        }

        fn write(&self, name: &str, script: &str) {
            let path = self.root.path().join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
            assert!(Command::new("chmod").arg("755").arg(&path).status().expect("chmod runs").success());
        }

        fn ssh(&self) -> PathBuf {
            self.root.path().join("ssh")
        }

        fn ask(&self, words: &[&str], limit: Duration) -> Answer {
            let host = Host::new("far").expect("a host");
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            ask(&Ssh::new(None).with_program(self.ssh()), &[host], &words, limit).remove(0)
        }
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn an_answer_is_what_the_program_printed() {
        let fake = Fake::new("printf '%s|' \"$@\"");
        assert_eq!(fake.ask(&["show", "it's $HOME"], LONG), Ok(b"show|it's $HOME|".to_vec()));
    }

    #[test]
    fn every_failure_is_a_problem_of_its_host() {
        for (program, said) in [
            (
                "echo 'error: unexpected argument' >&2; exit 2",
                "its jig-session is older and does not know this: unexpected argument",
            ),
            ("exit 127", "jig-session is not installed there, or not on its PATH"),
            (
                "echo 'banner' >&2; echo 'far: Permission denied (publickey).' >&2; exit 255",
                "far: Permission denied (publickey).",
            ),
            ("exit 255", "ssh cannot connect"),
            ("echo 'error: cannot read' >&2; exit 1", "error: cannot read"),
            ("exit 3", "its jig-session ended with 3"),
        ] {
            let problem = Fake::new(program).ask(&["ls"], LONG).expect_err("no answer").problem;
            assert_eq!((problem.message.as_str(), problem.host.as_deref()), (said, Some("far")));
            assert_eq!(problem.reason, ProblemReason::UNREACHABLE);
        }
        let host = [Host::new("far").expect("a host")];
        let answers = ask(&Ssh::new(None).with_program("/nonexistent/ssh"), &host, &[], LONG);
        assert!(answers[0].as_ref().expect_err("no ssh").problem.message.starts_with("cannot run /nonexistent/ssh"));
    }

    #[test]
    fn a_host_that_hangs_is_left_after_the_limit() {
        let begun = Instant::now();
        let problem = Fake::new("exec sleep 600").ask(&["ls"], Duration::from_millis(100)).expect_err("no answer");
        assert_eq!(problem.problem.message, "no answer in time");
        assert!(begun.elapsed() < LONG);
    }
}
