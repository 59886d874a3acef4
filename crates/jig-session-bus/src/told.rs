//! Marks in a member's own inbox: the last message it was notified of, and what it has just sent.

use jig_session_atomic::PrivateDir;
use jig_session_schema::bus::{DeliveryMark, Record, Removed, WakeMark};
use jig_session_schema::bus_marks::{SentMark, SentMarks};
use jig_session_schema::names;
use jig_session_schema::time::Timestamp;

use crate::clock::older;
use crate::error::Error;
use crate::join::Replaced;
use crate::limits;
use crate::mail_name;
use crate::store::{self, Bus};
use crate::wake::{self, Wake};

pub(crate) const TOLD: &str = ".told";
const SENT: &str = ".sent";
pub(crate) const REMOVED: &str = ".removed";

/// Whether a file of an inbox is a mark of its owner and no mail.
pub(crate) fn is_mark(file: &str) -> bool {
    file == TOLD || file == SENT || file == crate::waiting::WAITING || (file.starts_with('.') && file.contains(".tmp-"))
}

/// What a member has been notified of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Name of the newest message announced, without `.json`.
    pub last: Option<String>,
    /// The turns that mail has raised.
    pub wakes: Vec<Wake>,
}

impl Mark {
    /// Whether a message has not been announced yet.
    pub fn is_new(&self, id: &str) -> bool {
        self.last.as_deref().is_none_or(|last| id > last)
    }
}

/// Milliseconds of the newest message announced to an inbox's owner: a later one must sort after it.
pub(crate) fn told_ms(inbox: &PrivateDir) -> Option<u64> {
    read(inbox).last.and_then(|last| mail_name::ms(&format!("{last}.json")))
}

pub(crate) fn read(inbox: &PrivateDir) -> Mark {
    let Some(told) = inbox.read(TOLD, 65_536).ok().and_then(|read| DeliveryMark::read(&read.bytes).ok()) else {
        return Mark::default();
    };
    let wakes = told.value.wakes.into_iter();
    Mark {
        last: told.value.last,
        wakes: wakes.map(|wake| Wake { from: wake.from, at_ms: wake.at.epoch_ms() }).collect(),
    }
}

/// Whether nobody has come for the word that was left for a session within a day.
pub(crate) fn is_removal_old(inbox: &PrivateDir, now_ms: i64) -> bool {
    let stamp = inbox.stamp(REMOVED).ok().flatten();
    stamp.is_some_and(|stamp| older(now_ms, stamp.modified_ms(), limits::TTL_MAIL_MS))
}

impl Bus<'_> {
    /// What a member has been notified of; empty when nothing was announced yet.
    pub fn told(&self, id: &str) -> Result<Mark, Error> {
        Ok(self.inbox_looked(id)?.map(|inbox| read(&inbox)).unwrap_or_default())
    }

    /// Moves the mark, after the notice has left: `last` is the newest message announced, `woke` the senders whose mail
    /// raised a turn.
    pub fn set_told(&self, id: &str, last: &str, woke: &[&str]) -> Result<(), Error> {
        let inbox = self.inbox_made(id)?;
        let mark = read(&inbox);
        let now = self.world.now().wall_ms;
        let mut told = DeliveryMark::new();
        let newest = mark.last.filter(|known| known.as_str() > last);
        told.last = Some(newest.unwrap_or_else(|| last.to_owned()));
        let wakes = wake::with_wake(&mark.wakes, woke, now);
        told.wakes = wakes
            .into_iter()
            .map(|wake| WakeMark::new().from(wake.from).at(Timestamp::from_epoch_ms(wake.at_ms)))
            .collect();
        inbox.write(TOLD, &store::bytes(&told))?;
        Ok(())
    }

    /// User input resets the wake budget.
    pub fn forget_wakes(&self, id: &str) -> Result<(), Error> {
        let Some(inbox) = self.inbox_looked(id)? else { return Ok(()) };
        let mark = read(&inbox);
        if !mark.wakes.is_empty() {
            inbox.write(TOLD, &store::bytes(&DeliveryMark::new().last(mark.last)))?;
        }
        Ok(())
    }

    /// Leaves word for a session that was taken off the bus. A word that cannot be left costs nothing else.
    pub(crate) fn note_removal(&self, replaced: &Replaced, by: &Record, at: Timestamp) {
        let removed = Removed::new()
            .by(by.id.clone())
            .by_label(by.label.clone())
            .released(replaced.released.clone())
            .at(Some(at));
        if let Ok(inbox) = self.inbox_made(&replaced.id) {
            let _ = inbox.write(REMOVED, &store::bytes(&removed));
        }
    }

    /// The notice left for a session that was removed from the bus; it is returned once.
    pub(crate) fn take_removal(&self, id: &str) -> Result<Option<Removed>, Error> {
        let Some(inbox) = self.inbox_looked(id)? else { return Ok(None) };
        let Some(removed) = inbox.read(REMOVED, 65_536).ok().and_then(|read| Removed::read(&read.bytes).ok()) else {
            return Ok(None);
        };
        inbox.remove(REMOVED)?;
        Ok(Some(removed.value))
    }

    /// Whether the same text went to the same peer within ten seconds.
    pub(crate) fn is_duplicate(&self, from: &str, to: &str, content: &str) -> Result<bool, Error> {
        let Some(inbox) = self.inbox_looked(from)? else { return Ok(false) };
        let key = sent_key(to, content);
        Ok(self.recently_sent(&inbox).iter().any(|sent| sent.key == key))
    }

    /// Remembers what was sent. A mark that cannot be written costs a duplicate, not a message.
    pub(crate) fn remember_sent(&self, from: &str, to: &[&str], content: &str) {
        let Ok(inbox) = self.inbox_made(from) else { return };
        let mut sent = self.recently_sent(&inbox);
        let now = self.world.now();
        sent.extend(to.iter().map(|to| {
            SentMark::new()
                .key(sent_key(to, content))
                .at(Timestamp::from_epoch_ms(now.wall_ms))
                .mono_ms(Some(now.mono_ms))
                .boot_id(now.boot_id.clone())
        }));
        let _ = inbox.write(SENT, &store::bytes(&SentMarks::new().sent(sent)));
    }

    /// What was sent within ten seconds.
    fn recently_sent(&self, inbox: &PrivateDir) -> Vec<SentMark> {
        let read = inbox.read(SENT, 65_536).ok().and_then(|read| SentMarks::read(&read.bytes).ok());
        let now = self.world.now();
        let is_recent = |mark: &SentMark| {
            now.since(mark.at.epoch_ms(), mark.mono_ms, mark.boot_id.as_deref()) < limits::DUPLICATE_MS
        };
        let mut sent = read.map(|read| read.value.sent).unwrap_or_default();
        sent.retain(is_recent);
        sent
    }
}

fn sent_key(to: &str, content: &str) -> String {
    names::hash16(&format!("{to}\n{content}"))
}

/// Names of the mail in an inbox, oldest first, without what is taken.
pub(crate) fn mail(inbox: &PrivateDir) -> Result<Vec<String>, Error> {
    Ok(mail_of(store::texts(inbox.list()?).collect()))
}

/// The mail among the names of an inbox, oldest first.
pub(crate) fn mail_of(mut names: Vec<String>) -> Vec<String> {
    names.retain(|name| mail_name::ms(name).is_some());
    names.sort();
    names
}
