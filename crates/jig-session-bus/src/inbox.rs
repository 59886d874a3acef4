//! Reading mail: taken by rename, shown, and only then gone.

use std::cell::{Cell, RefCell};

use jig_session_atomic::{Moved, PrivateDir};
use jig_session_schema::bus::Message;

use crate::clock::older;
use crate::error::{Code, Error, Refusal};
use crate::room::Room;
use crate::store::{self, Bus, Read};
use crate::{limits, mail_name, told, view};

/// Mail that was taken and is not confirmed. Dropping it gives it back.
#[must_use = "mail that is not confirmed goes back into the inbox"]
pub struct Taken {
    /// Oldest first.
    pub messages: Vec<Message>,
    /// Mail that stays in the inbox.
    pub remaining: u64,
    /// Files in the inbox that are no messages, or of a newer schema.
    pub unreadable: u64,
    /// What the system could not read now: it stays, and is tried again by the next reader.
    pub failed: Option<Error>,
    /// The first message that alone is longer than the answer may be, with its length: it stays, and others were taken.
    pub too_long: Option<(Message, usize)>,
    held: Option<(PrivateDir, PrivateDir, String)>,
}

impl Taken {
    /// The messages were shown: they go. What cannot be removed now comes back, and is shown once more.
    pub fn confirm(mut self) -> Result<(), Error> {
        let Some((inbox, folder, name)) = self.held.take() else { return Ok(()) };
        for message in &self.messages {
            folder.remove(format!("{}.json", message.id))?;
        }
        remove_folder(&inbox, &name)
    }

    fn give_back(&mut self) {
        if let Some((inbox, folder, name)) = self.held.take() {
            // The next reader moves back a file that cannot be moved now, once this process has ended.
            let own = self.messages.iter().map(|message| format!("{}.json", message.id));
            let _ = move_back(&inbox, &folder, own).and_then(|()| remove_folder(&inbox, &name));
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// Unread mail that was looked at and stays.
pub struct Peeked {
    /// Oldest first.
    pub messages: Vec<Message>,
    /// Mail beyond the limit.
    pub remaining: u64,
    /// Files in the inbox that are no messages, or of a newer schema.
    pub unreadable: u64,
}

impl Bus<'_> {
    /// Validates a requested limit.
    pub fn check_limit(limit: Option<u64>) -> Result<usize, Error> {
        match limit {
            None => Ok(limits::INBOX_DEFAULT),
            Some(limit) if (1..=limits::INBOX_MOST as u64).contains(&limit) => Ok(limit as usize),
            Some(limit) => {
                let message = format!("the limit is 1 to {}, not {limit}", limits::INBOX_MOST);
                Err(Refusal::new(Code::Usage, message).into())
            }
        }
    }

    /// Takes the oldest messages of a session's inbox. Takes no lock: a message that two readers want goes to the one
    /// whose rename comes first.
    pub fn take(&self, id: &str, limit: usize) -> Result<Taken, Error> {
        self.take_where(id, limit, |_| true)
    }

    /// As [`Bus::take`], and no more than an answer has room for. A message that no answer of this kind can hold stays.
    pub fn take_within(&self, id: &str, limit: usize, room: &Room) -> Result<Taken, Error> {
        let (left, first) = (Cell::new(Some(room.units)), Cell::new(true));
        let too_long = RefCell::new(None);
        let mut taken = self.take_where(id, limit, |message| {
            let cost = (room.cost)(&view::whole(message));
            if cost > room.alone {
                too_long.borrow_mut().get_or_insert_with(|| (message.clone(), cost));
                return false;
            }
            // Once one message does not fit, all later ones stay too, which preserves the order.
            let rest = left.get().and_then(|left| left.checked_sub(cost));
            left.set(rest);
            first.replace(false) || rest.is_some()
        })?;
        taken.too_long = too_long.into_inner();
        Ok(taken)
    }

    /// Takes the oldest messages that are wanted; the others stay.
    pub fn take_where(&self, id: &str, limit: usize, wanted: impl Fn(&Message) -> bool) -> Result<Taken, Error> {
        let nothing =
            Taken { messages: Vec::new(), remaining: 0, unreadable: 0, failed: None, too_long: None, held: None };
        let Some(looked) = self.inbox_looked(id)? else { return Ok(nothing) };
        let mut names: Vec<String> = store::texts(looked.list()?).collect();
        if self.give_back(&looked, &names)? {
            names = store::texts(looked.list()?).collect();
        }
        let names = told::mail_of(names);
        if names.is_empty() {
            return Ok(nothing);
        }
        let inbox = self.inbox_made(id)?;
        let (pid, start) = self.world.this();
        let name = mail_name::taken_folder(pid, &start);
        let folder = inbox.sub(&name)?;
        let mut taken = nothing;
        let (inbox, folder, _) = &*taken.held.insert((inbox, folder, name));
        let wall_ms = self.world.now().wall_ms;
        let mut rest = names.iter();
        while taken.messages.len() < limit {
            let Some(name) = rest.next() else { break };
            // Read first: what is not a message, or not wanted, is never taken.
            let Some(file) = store::one(inbox, name, store::message, store::message_fits) else { continue };
            match &file.read {
                Read::Good(message) if wanted(message) => {
                    if inbox.move_new(name, folder, name)? == Moved::Done {
                        taken.messages.push(message.clone());
                    }
                }
                Read::Good(_) => taken.remaining += 1,
                Read::Failed(problem) => {
                    taken.unreadable += 1;
                    taken.failed = Some(Error::Entry { path: inbox.path().join(name), problem: *problem });
                }
                Read::Foreign => {
                    // A folder, a pipe or a link with the name of a letter goes the way of what is no document.
                    let stamp = inbox.stamp(name).ok().flatten();
                    let old = stamp.is_none_or(|stamp| older(wall_ms, stamp.modified_ms(), limits::UNPARSABLE_MS));
                    taken.unreadable += u64::from(!old || !self.quarantine(inbox, name)?);
                }
                _ => {
                    let moved = self.quarantine_bad(inbox, &[file], wall_ms, limits::UNPARSABLE_MS)?;
                    taken.unreadable += u64::from(moved == 0);
                }
            }
        }
        // Messages beyond the limit are counted by file name: no need to read a thousand files for a number.
        taken.remaining += rest.len() as u64;
        if taken.messages.is_empty()
            && let Some((inbox, _, name)) = taken.held.take()
        {
            remove_folder(&inbox, &name)?;
        }
        Ok(taken)
    }

    /// Looks at a session's mail. Nothing is moved, written or removed.
    pub fn peek(&self, id: &str, limit: usize) -> Result<Peeked, Error> {
        self.peek_after(id, None, limit)
    }

    /// As [`Bus::peek`], for mail after a given id: announced messages are not read again.
    pub fn peek_after(&self, id: &str, after: Option<&str>, limit: usize) -> Result<Peeked, Error> {
        let mut peeked = Peeked { messages: Vec::new(), remaining: 0, unreadable: 0 };
        let Some(inbox) = self.inbox_looked(id)? else { return Ok(peeked) };
        let mut names = told::mail(&inbox)?;
        names.retain(|name| after.is_none_or(|after| name.trim_end_matches(".json") > after));
        let mut rest = names.iter();
        while peeked.messages.len() < limit {
            let Some(name) = rest.next() else { break };
            match store::one(&inbox, name, store::message, store::message_fits).map(|file| file.read) {
                Some(Read::Good(message)) => peeked.messages.push(message),
                Some(_) => peeked.unreadable += 1,
                None => {}
            }
        }
        peeked.remaining = rest.len() as u64;
        Ok(peeked)
    }

    /// Gives back the mail of consumers that ended between taking and showing it: true when there was such a consumer.
    pub(crate) fn give_back(&self, inbox: &PrivateDir, names: &[String]) -> Result<bool, Error> {
        let this = self.world.this();
        let mut given = false;
        for name in names {
            let Some((pid, start)) = mail_name::consumer(name) else { continue };
            // A folder of this very process is another call's, unless that call has ended without giving back.
            if (pid, start) == (this.0, this.1.as_str()) || crate::world::runs(self.world, pid, start) != Some(false) {
                continue;
            }
            if let Some(folder) = inbox.sub_existing(name)? {
                given = true;
                move_back(inbox, &folder, store::texts(folder.list()?))?;
                remove_folder(inbox, name)?;
            }
        }
        Ok(given)
    }
}

fn move_back(inbox: &PrivateDir, folder: &PrivateDir, files: impl Iterator<Item = String>) -> Result<(), Error> {
    for file in files {
        // The name is the message's own: one that stands there already is the same message.
        if folder.move_new(&file, inbox, &file)? == Moved::Exists {
            folder.remove(&file)?;
        }
    }
    Ok(())
}

/// Removes a consumer's folder; one that another call of this process still uses stays.
fn remove_folder(inbox: &PrivateDir, name: &str) -> Result<(), Error> {
    match inbox.remove_sub(name) {
        Err(error) if is_not_empty(&error) => Ok(()),
        other => Ok(other.map(|_| ())?),
    }
}

pub(crate) fn is_not_empty(error: &jig_session_atomic::Error) -> bool {
    use rustix::io::Errno;
    [Errno::NOTEMPTY, Errno::EXIST].iter().any(|errno| error.errno() == Some(errno.raw_os_error()))
}
