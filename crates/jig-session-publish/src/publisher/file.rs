//! The file: written in one step, restored when it vanishes, left alone when another owns it, removed at the end.

use std::time::Duration;

use jig_session_atomic::{Content, PrivateDir, Reason, Stamp};
use jig_session_liveness::Record;
use jig_session_schema::status::Status;
use jig_session_schema::time::Timestamp;
use jig_session_schema::{belongs, limits, names};

use super::{Owner, Publisher};
use crate::Now;
use crate::bounds;

/// The first pause after a failed write.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What we wrote last.
pub(super) struct Written {
    pub(super) stamp: Stamp,
    pub(super) text: Vec<u8>,
    /// The `updatedAt` in the text.
    pub(super) at: Option<Timestamp>,
}

impl Written {
    /// A document that stands there already.
    pub(super) fn of(status: &Status, stamp: Stamp) -> Self {
        let mut text = Vec::new();
        // A document that cannot be serialized never equals the last one, so the write is tried and its error reported.
        let _ = serde_json::to_writer(&mut text, status);
        Self { stamp, text, at: status.updated_at }
    }

    /// Whether a document says nothing new: it is this text, or this text with another `updatedAt`.
    fn says(&self, text: &[u8], at: Timestamp) -> bool {
        self.text == text || self.at.is_some_and(|before| differs_in((&self.text, before), (text, at)))
    }
}

/// Whether two texts of one length differ in one place only, where each has its time. A document has its `updatedAt`
/// once, so no other time can be meant.
fn differs_in((one, one_at): (&[u8], Timestamp), (other, other_at): (&[u8], Timestamp)) -> bool {
    let (one_at, other_at) = (one_at.to_string(), other_at.to_string());
    let place = || {
        let from =
            first_difference(one, other)?.checked_sub(first_difference(one_at.as_bytes(), other_at.as_bytes())?)?;
        let (one, other) = (one.get(from..)?, other.get(from..)?);
        Some(one.strip_prefix(one_at.as_bytes())? == other.strip_prefix(other_at.as_bytes())?)
    };
    one.len() == other.len() && place() == Some(true)
}

/// Where two texts differ first. Long equal parts are passed over in pieces.
fn first_difference(one: &[u8], other: &[u8]) -> Option<usize> {
    const PIECE: usize = 64;
    let piece = one.chunks(PIECE).zip(other.chunks(PIECE)).position(|(one, other)| one != other)? * PIECE;
    let within = one[piece..].iter().zip(&other[piece..]).position(|(one, other)| one != other)?;
    Some(piece + within)
}

/// Writes that fail.
pub(super) struct Failing {
    /// What was said about it; said again only when it changes.
    message: String,
    pause: Duration,
    pub(super) retry_at: Duration,
}

/// What stands under our name.
pub(super) enum Existing {
    Nothing,
    /// A file that holds no document of ours, nor one that anybody could own.
    Unreadable,
    /// A document of a format newer than this program: nobody here may judge it.
    Foreign,
    Document(Box<Status>, Stamp),
}

impl Publisher {
    /// The folder, opened when it is first needed, and again after it could not be.
    pub(super) fn dir(&mut self, now: Now) -> Option<&PrivateDir> {
        if self.dir.is_none() && self.may_retry(now) {
            match PrivateDir::open_own(&self.setup.places.sessions, in_sessions) {
                Ok(dir) => {
                    let path = dir.path().display();
                    self.notes.extend(dir.notices().iter().map(|notice| format!("{path}: {notice}")));
                    self.dir = Some(dir);
                }
                Err(error) => self.failed(&error, now),
            }
        }
        self.dir.as_ref()
    }

    /// Whether the pause after a failure is over.
    pub(super) fn may_retry(&self, now: Now) -> bool {
        self.failing.as_ref().is_none_or(|failing| now.mono >= failing.retry_at)
    }

    pub(super) fn write(&mut self, now: Now) {
        if self.dir(now).is_none() || !self.still_ours(now) {
            return;
        }
        let (Some(dir), Some(live)) = (&self.dir, &mut self.live) else { return };
        live.dirty = false;
        let status = &mut live.session.status;
        status.updated_at = Some(now.wall);
        for field in bounds::fit(status, &mut live.text) {
            if !live.reported.contains(&field) {
                self.notes.push(format!("{field} is cut: the document is larger than a reader takes: {}", live.file));
                live.reported.push(field);
            }
        }
        if let Some(written) = live.written.as_ref().filter(|written| written.says(&live.text, now.wall)) {
            status.updated_at = written.at;
            return;
        }
        match dir.write(&live.file, &live.text) {
            Ok(stamp) => {
                // The buffers change places: a document is written often, and what it needs is the same each time.
                let former = live.written.take().map_or_else(Vec::new, |written| written.text);
                let text = std::mem::replace(&mut live.text, former);
                live.written = Some(Written { stamp, text, at: status.updated_at });
                live.taking = false;
                live.next_write = now.mono + limits::WRITE_INTERVAL;
                if self.failing.take().is_some() {
                    self.notes.push(format!("the status file is written again: {}", live.file));
                }
            }
            Err(error) => {
                live.dirty = true;
                self.failed(&error, now);
            }
        }
    }

    /// One message per change of error; the pauses between tries grow.
    fn failed(&mut self, error: &jig_session_atomic::Error, now: Now) {
        let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
        let told = format!("{error}{hint}; the session goes on unpublished and is tried again");
        self.pause(error.to_string(), now, told);
    }

    fn pause(&mut self, message: String, now: Now, told: String) {
        let last = self.failing.take();
        let pause = last.as_ref().map_or(FIRST_PAUSE, |last| (last.pause * 2).min(LONGEST_PAUSE));
        if last.is_none_or(|last| last.message != message) {
            self.notes.push(told);
        }
        self.failing = Some(Failing { message, pause, retry_at: now.mono + pause });
    }

    /// Looks whether our file is still there and still ours.
    pub(super) fn check(&mut self, now: Now) {
        if let Some(live) = &mut self.live {
            live.next_check = now.mono + limits::RESTORE_INTERVAL;
            if live.owner == Owner::Parent {
                live.next_check = Duration::MAX;
                return;
            }
        }
        self.follow_the_path(now);
        if self.still_ours(now)
            && let (Some(dir), Some(live)) = (&self.dir, &mut self.live)
            && let Ok(stamp) = dir.stamp(&live.file)
            && live.written.as_ref().map(|written| written.stamp) != stamp
        {
            live.written = None;
            live.dirty = true;
        }
    }

    /// A state folder that was moved away (a backup, a restore) is held on, and all looks fine through what is held. So
    /// we check whether the path still names the open folder; if not, we reopen the path, where readers look.
    fn follow_the_path(&mut self, now: Now) {
        let Some(dir) = self.dir.as_ref().filter(|dir| !dir.is_current()) else { return };
        match dir.refresh() {
            Ok(()) => {
                if let Some(live) = &mut self.live {
                    (live.written, live.dirty) = (None, true);
                }
            }
            Err(error) => self.failed(&error, now),
        }
    }

    /// Whether we may write. A look at the file's version is all it costs while nobody else has touched it.
    fn still_ours(&mut self, now: Now) -> bool {
        if self.dir(now).is_none() {
            return true;
        }
        let (Some(dir), Some(live)) = (&self.dir, &mut self.live) else { return false };
        if live.taking {
            return true;
        }
        let untouched = match dir.stamp(&live.file) {
            Ok(stamp) => live.written.as_ref().map(|written| written.stamp) == stamp && live.owner == Owner::Us,
            Err(_) => true,
        };
        if untouched {
            return true;
        }
        let ours = &live.session.status;
        let processes = &*self.setup.processes;
        let longer = names::hashed_name(&ours.session).map(|name| format!("{name}.json"));
        let other_name = longer.filter(|name| *name != live.file);
        let owner = match found(dir, &live.file) {
            Existing::Nothing => {
                // A newer process of this session moved our document aside before it took the name.
                if let Some(name) = other_name
                    && let Existing::Document(moved, _) = found(dir, &name)
                    && moved.session == ours.session
                    && same_process(&moved, ours)
                {
                    live.file = name;
                    live.written = None;
                    live.dirty = true;
                }
                Owner::Us
            }
            Existing::Unreadable => Owner::Us,
            Existing::Foreign => Owner::Another,
            Existing::Document(other, _) if same_process(&other, ours) && other.session == ours.session => Owner::Us,
            Existing::Document(other, _) if processes.judge(&Record::of_status(&other)).verdict.is_over() => Owner::Us,
            // Two live processes with one id: the one whose session began last owns the name.
            Existing::Document(other, _) if other.session == ours.session && began_later(ours, &other) => Owner::Us,
            // The older one of them takes the longer name, as does a session whose safe name another one has.
            Existing::Document(other, _) => match other_name {
                Some(name) => {
                    live.file = name;
                    live.written = None;
                    live.dirty = true;
                    Owner::Us
                }
                None if other.session == ours.session => Owner::Another,
                None => Owner::Us,
            },
        };
        if owner != live.owner {
            live.owner = owner;
            live.dirty = true;
            live.written = None;
        }
        owner == Owner::Us
    }

    /// Removes our file; one that another process owns by now stays.
    pub(super) fn remove(&mut self) {
        let (Some(dir), Some(live)) = (&self.dir, &self.live) else { return };
        if live.owner != Owner::Us {
            return;
        }
        let ours = &live.session.status;
        // A newer process of this session may have moved our document aside since we looked.
        let moved = names::hashed_name(&ours.session).map(|name| format!("{name}.json"));
        if let Some(moved) = moved.filter(|name| *name != live.file)
            && let Existing::Document(found, stamp) = found(dir, &moved)
            && found.session == ours.session
            && same_process(&found, ours)
            && let Err(error) = dir.remove_own(&moved, &stamp)
        {
            self.notes.push(error.to_string());
        }
        let file = &live.file;
        // The version that we wrote last needs no look into it.
        let written = live.written.as_ref().map(|written| written.stamp);
        let stamp = match written.filter(|stamp| dir.stamp(file).ok().flatten() == Some(*stamp)) {
            Some(stamp) => stamp,
            None => match found(dir, file) {
                Existing::Document(found, stamp) if found.session == ours.session && same_process(&found, ours) => {
                    stamp
                }
                Existing::Unreadable => {
                    if let Err(problem) = dir.read(file, limits::STATUS_BYTES) {
                        let path = dir.path().join(file);
                        self.notes.push(format!("cannot read {}: {problem}; the file is left", path.display()));
                    }
                    return;
                }
                _ => return,
            },
        };
        if let Err(error) = dir.remove_own(file, &stamp) {
            self.notes.push(error.to_string());
        }
        // That a person has seen the session goes with it. A mark that stays is removed with the next one that is made.
        let marks = PrivateDir::open_own_existing(&self.setup.places.seen).ok().flatten();
        if let (Some(marks), Some(name)) = (marks, file.strip_suffix(".json")) {
            let _ = marks.remove(name);
        }
    }
}

/// What belongs into the folder of status files.
fn in_sessions(name: &std::ffi::OsStr, content: Content<'_>) -> bool {
    match content {
        Content::File(bytes) => name.to_str().is_some_and(|name| belongs::in_sessions(name, bytes)),
        Content::Folder | Content::Other => false,
    }
}

/// What stands under a name.
pub(super) fn found(dir: &PrivateDir, file: &str) -> Existing {
    match dir.read(file, limits::STATUS_BYTES) {
        Err(problem) if problem.reason == Reason::Missing => Existing::Nothing,
        Err(_) => Existing::Unreadable,
        Ok(read) => match Status::read(&read.bytes) {
            Ok(status) => Existing::Document(Box::new(status.value), read.stamp),
            Err(jig_session_schema::read::ReadError::Unsupported { .. }) => Existing::Foreign,
            Err(_) => Existing::Unreadable,
        },
    }
}

/// Whether a session began after another one of the same id: by the boot clock, if both are of the same run of the
/// machine, else by the time of day, which may have been set back between them.
fn began_later(ours: &Status, other: &Status) -> bool {
    let boot = |status: &Status| status.process.as_ref()?.boot_id.clone();
    match (ours.started_clock_ms, other.started_clock_ms) {
        (Some(one), Some(two)) if boot(ours).is_some() && boot(ours) == boot(other) => one > two,
        _ => ours.started_at > other.started_at,
    }
}

/// Whether two documents name the same process.
pub(super) fn same_process(one: &Status, other: &Status) -> bool {
    Record::of_status(one).same_process(&Record::of_status(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_with_another_updated_at_says_nothing_new() {
        let time = |ms: i64| Timestamp::from_epoch_ms(1_796_000_000_000 + ms);
        let text = |background: u32, nested: Timestamp, at: Timestamp| {
            let rest = "x".repeat(200);
            format!(r#"{{"background":{background},"own":{{"updatedAt":"{nested}"}},"updatedAt":"{at}","z":"{rest}"}}"#)
        };
        let stamp = Stamp { inode: 1, size: 1, modified_ns: 1 };
        let written = Written { stamp, text: text(1, time(0), time(0)).into(), at: Some(time(0)) };
        let says = |text: String, at| written.says(text.as_bytes(), at);
        for later in [0, 1, 9_999, 86_400_000 * 400] {
            assert!(says(text(1, time(0), time(later)), time(later)), "{later}");
            assert!(!says(text(2, time(0), time(later)), time(later)), "{later}: a number");
            assert!(!says(text(10, time(0), time(later)), time(later)), "{later}: a longer one");
        }
        assert!(!says(text(1, time(1), time(1)), time(1)), "another time beside it");
        assert!(!says(text(1, time(1), time(0)), time(0)), "only another time");
        assert!(!says(text(1, time(0), time(1)).replace('x', "y"), time(1)), "the text after it");
    }
}
