//! Removing what crashed sessions left: only what is proved dead, and only the version that was judged.
//!
//! pi-king's folder is another program's: nothing is ever removed there.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::ErrorKind::NotFound;
use std::path::Path;
use std::time::Duration;

use jig_session_atomic::{Error, MARK, PrivateDir, Reason, Removal, Stamp};
use jig_session_liveness::{Processes, Record};
use jig_session_schema::belongs::{begins_like_ours, in_requests};
use jig_session_schema::limits::{REQUEST_AGE, REQUEST_BYTES, STATUS_BYTES, UNPARSABLE_AGE};
use jig_session_schema::names::{FileName, file_name, lock_name};
use jig_session_schema::row::ProblemReason;
use jig_session_schema::status::Status;

use crate::status;

/// A temporary this old belongs to nobody: no write lasts an hour.
const ABANDONED_MS: i64 = 3_600_000;

/// What was removed and what was left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Path, and why it could go: a verdict's word, or `unparsable`.
    pub removed: Vec<(String, String)>,
    /// Path, and why it stays, of what looks left behind.
    pub kept: Vec<(String, String)>,
    /// Something that should have gone could not be removed.
    pub failed: bool,
}

/// How to prune.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The reader's time, in milliseconds since 1970.
    pub now_ms: i64,
    /// When this run of the machine began, in milliseconds since 1970.
    pub booted_ms: Option<i64>,
    /// Only say what would be removed.
    pub dry_run: bool,
}

/// Prunes the folders of status files and of requests. A request goes when it is too old to be run and its session has
/// no file; what a session could still answer waits for it.
///
/// # Errors
/// When a folder cannot be read. A single file that cannot be removed is reported in the result.
pub fn prune(sessions: &Path, requests: &Path, plan: &Plan, processes: &dyn Processes) -> Result<Pruned, Error> {
    let mut pruned = Pruned::default();
    if let Some(dir) = marked(sessions, &mut pruned)? {
        let mut pruner = Pruner { dir: &dir, plan, processes, pruned: &mut pruned };
        let mut names = dir.list()?;
        names.sort_unstable();
        for name in &names {
            pruner.document(name);
        }
        for name in &names {
            pruner.temporary(name);
        }
        pruner.locks(&names);
    }
    if let Some(dir) = marked(requests, &mut pruned)? {
        let mut pruner = Pruner { dir: &dir, plan, processes, pruned: &mut pruned };
        for name in dir.list()? {
            pruner.temporary(&name);
            pruner.request(&name, sessions);
        }
    }
    Ok(pruned)
}

/// A folder that this project alone writes. Without the mark it may be another program's, however much it looks like
/// ours: nothing is removed there.
fn marked(path: &Path, pruned: &mut Pruned) -> Result<Option<PrivateDir>, Error> {
    let Some(dir) = PrivateDir::open_own_existing(path)? else { return Ok(None) };
    if dir.is_marked()? {
        return Ok(Some(dir));
    }
    if !dir.list()?.is_empty() {
        let why = format!("no {MARK} in it says that the folder is jig-session's: nothing is removed there");
        pruned.kept.push((dir.path().to_string_lossy().into_owned(), why));
    }
    Ok(None)
}

struct Pruner<'a> {
    dir: &'a PrivateDir,
    plan: &'a Plan,
    processes: &'a dyn Processes,
    pruned: &'a mut Pruned,
}

impl Pruner<'_> {
    fn document(&mut self, name: &OsStr) {
        let Some(FileName::Document(stem)) = name.to_str().map(file_name) else { return };
        let mut bytes = Vec::new();
        let stamp = match self.dir.read_into(name, STATUS_BYTES, &mut bytes) {
            Ok(stamp) => stamp,
            Err(problem) => {
                return match (problem.reason, problem.stamp) {
                    (Reason::Empty, Some(stamp)) => self.unparsable(name, &stamp, "empty"),
                    (Reason::Missing, _) => {}
                    (Reason::Unreadable, _) => self.keep(name, &format!("unreadable: {problem}")),
                    _ => self.keep(name, problem.reason.word()),
                };
            }
        };
        match status::session(stem, String::new(), &bytes, stamp, self.dir.is_local()) {
            Ok(session) => {
                let judged = self.processes.judge(&session.record());
                if judged.verdict.is_over() {
                    self.remove(name, &stamp, judged.verdict.as_str());
                } else if !judged.verdict.is_alive() {
                    let why = judged.detail.unwrap_or(judged.rule.text());
                    self.keep(name, &format!("{}: {why}", judged.verdict.as_str()));
                }
            }
            // What parses and is wrong in another way may be a newer program's: it is nobody's to remove.
            Err(problem) if problem.reason == ProblemReason::UNPARSABLE && Status::scan(&bytes).is_err() => {
                if begins_like_ours(&bytes) {
                    self.unparsable(name, &stamp, "unparsable");
                } else {
                    self.keep(name, "unparsable, and it does not begin like a document of ours");
                }
            }
            Err(problem) => self.keep(name, &problem.reason),
        }
    }

    /// A file that nobody can read is removed when no writer can still be at it.
    fn unparsable(&mut self, name: &OsStr, stamp: &Stamp, word: &str) {
        let modified = stamp.modified_ms();
        let old =
            u128::from(self.plan.now_ms.saturating_sub(modified).max(0).unsigned_abs()) > UNPARSABLE_AGE.as_millis();
        let before_boot = self.plan.booted_ms.is_some_and(|boot| modified < boot);
        if old || before_boot {
            self.remove(name, stamp, word);
        } else {
            self.keep(name, &format!("{word} for less than a day"));
        }
    }

    /// A temporary goes with its writer. Its name says who that was, its time when that one was last at work.
    fn temporary(&mut self, name: &OsStr) {
        let Some(FileName::Temporary { pid, .. }) = name.to_str().map(file_name) else { return };
        let Ok(Some(stamp)) = self.dir.stamp(name) else { return };
        let at = Some(stamp.modified_ms());
        let record = Record { written_ms: at, local: self.dir.is_local(), ..Record::of(Some(pid), None) };
        let judged = self.processes.judge(&record);
        let abandoned = self.plan.now_ms.saturating_sub(stamp.modified_ms()) > ABANDONED_MS;
        if judged.verdict.is_over() {
            self.remove(name, &stamp, judged.verdict.as_str());
        } else if abandoned {
            self.remove(name, &stamp, "abandoned");
        }
    }

    /// A request that nobody may run any more, to a session that is not there to say so.
    fn request(&mut self, name: &OsStr, sessions: &Path) {
        let Some(FileName::Document(_)) = name.to_str().map(file_name) else { return };
        let mut bytes = Vec::new();
        let Ok(stamp) = self.dir.read_into(name, REQUEST_BYTES, &mut bytes) else { return };
        let age = self.plan.now_ms.saturating_sub(stamp.modified_ms());
        let is_request = name.to_str().is_some_and(|name| in_requests(name, &bytes));
        let is_stale = u128::try_from(age).is_ok_and(|age| age > REQUEST_AGE.as_millis());
        if is_stale && is_request && sessions.join(name).symlink_metadata().is_err_and(|error| error.kind() == NotFound)
        {
            self.remove(name, &stamp, "stale");
        }
    }

    /// A lock without a session belongs to nobody, if nobody holds it.
    fn locks(&mut self, names: &[std::ffi::OsString]) {
        let documents: BTreeSet<String> = match self.dir.documents() {
            Ok(documents) => documents.iter().filter_map(|name| name.to_str()).map(str::to_owned).collect(),
            Err(_) => return,
        };
        for name in names {
            let Some(FileName::Lock(stem)) = name.to_str().map(file_name) else { continue };
            if documents.contains(&format!("{stem}.json")) {
                continue;
            }
            let Ok(Some(lock)) = self.dir.lock(lock_name(stem), Duration::ZERO) else { continue };
            let path = self.path(name);
            if self.plan.dry_run {
                self.pruned.removed.push((path, "gone".into()));
            } else if let Err(error) = lock.remove(self.dir) {
                self.failed(path, &error);
            } else {
                self.pruned.removed.push((path, "gone".into()));
            }
        }
    }

    fn remove(&mut self, name: &OsStr, stamp: &Stamp, why: &str) {
        let path = self.path(name);
        if self.plan.dry_run {
            self.pruned.removed.push((path, why.to_owned()));
            return;
        }
        match self.dir.remove_judged(name, stamp) {
            Ok(Removal::Removed) => self.pruned.removed.push((path, why.to_owned())),
            Ok(Removal::Missing) => {}
            Ok(Removal::Changed) => self.pruned.kept.push((path, "it changed meanwhile".into())),
            Err(error) => self.failed(path, &error),
        }
    }

    fn failed(&mut self, path: String, error: &Error) {
        self.pruned.failed = true;
        self.pruned.kept.push((path, error.to_string()));
    }

    fn keep(&mut self, name: &OsStr, why: &str) {
        let path = self.path(name);
        self.pruned.kept.push((path, why.to_owned()));
    }

    fn path(&self, name: &OsStr) -> String {
        self.dir.path().join(name).to_string_lossy().into_owned()
    }
}
