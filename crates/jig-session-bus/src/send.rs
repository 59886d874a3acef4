//! Sending: one file a recipient, on the disk before it is reported.

use jig_session_atomic::{PrivateDir, Sync};
use jig_session_schema::bus::{Message, MessageKind, Sender};
use jig_session_schema::bus_result::MemberState as State;
use jig_session_schema::time::Timestamp;
use serde_json::json;

use crate::clock::Moment;
use crate::error::{Code, Error, Refusal};
use crate::join::Me;
use crate::member::{Lives, Member};
use crate::room::units;
use crate::store::{self, Bus, SESSIONS};
use crate::target;
use crate::told;
use crate::{limits, mail_name, text};

/// Everybody: an event's target.
pub const EVERYBODY: &str = "*";

/// What is to be sent.
#[derive(Clone, Debug, Default)]
pub struct Outgoing<'a> {
    /// An id, a label, a piece of an id, or `*`.
    pub to: &'a str,
    /// The text.
    pub text: &'a str,
    /// What it is.
    pub kind: &'a str,
    /// The repository's paths it is about, as they are stored.
    pub paths: Vec<String>,
    /// The id of the message this one answers.
    pub reply_to: Option<&'a str>,
}

/// Why a recipient got nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotQueued {
    /// The same text went to it a moment ago.
    Duplicate,
    /// It has too much unread mail.
    InboxFull,
    /// Its process ended.
    Gone,
    /// The system refused.
    Error,
}

impl NotQueued {
    /// The word in results.
    pub fn word(self) -> &'static str {
        match self {
            Self::Duplicate => "duplicate",
            Self::InboxFull => "inbox-full",
            Self::Gone => "gone",
            Self::Error => "error",
        }
    }
}

/// One recipient and what came of it.
#[derive(Debug)]
pub struct Recipient {
    /// Its record.
    pub member: Member,
    /// Its unread mail, this message included.
    pub unread: u64,
    /// Why it got nothing; `None` when the message is queued.
    pub reason: Option<NotQueued>,
    /// What the system said.
    pub error: Option<Error>,
}

/// What came of sending.
#[derive(Debug)]
pub struct Sent {
    /// The message's id, the same for every recipient.
    pub id: String,
    /// Its kind.
    pub kind: MessageKind,
    /// Who was meant. Empty for an event that nobody is there to hear.
    pub recipients: Vec<Recipient>,
}

impl Bus<'_> {
    /// Checks what can be checked before the session joins for it.
    pub fn check_outgoing(outgoing: &Outgoing<'_>) -> Result<MessageKind, Error> {
        let refuse = |message: String| Err(Error::from(Refusal::new(Code::Refused, message)));
        let Some(kind) = MessageKind::parse(outgoing.kind) else {
            let kinds: Vec<&str> = MessageKind::ALL.iter().map(|kind| kind.as_str()).collect();
            return refuse(format!("\"{}\" is no kind of message: it is one of {}", outgoing.kind, kinds.join(", ")));
        };
        if outgoing.to == EVERYBODY && kind != MessageKind::Event {
            return refuse("only an event goes to everybody".to_owned());
        }
        if let Err(bad) = text::check(outgoing.text) {
            let mut refusal = Refusal::new(Code::Refused, bad.to_string());
            refusal.hint = bad.hint().map(str::to_owned);
            return Err(refusal.into());
        }
        let length = units(&json!([outgoing.text, outgoing.paths]).to_string());
        if length > limits::CONTENT_UNITS {
            let most = limits::CONTENT_UNITS;
            let message = format!("the text and its paths take {length} characters of an answer, which has {most}");
            return Err(Refusal::new(Code::Refused, message).hint("name fewer paths, or their folder").into());
        }
        if outgoing.paths.len() > limits::MESSAGE_PATHS {
            return refuse(format!("a message names at most {} paths", limits::MESSAGE_PATHS));
        }
        Ok(kind)
    }

    /// Sends a message. Takes no lock; the sender has joined.
    pub fn send(&self, me: &Me, outgoing: &Outgoing<'_>) -> Result<Sent, Error> {
        let kind = Self::check_outgoing(outgoing)?;
        let now = self.world.now();
        let (mut members, failed) = self.addressed(me, outgoing.to, &now)?;
        let sender = members.iter().find(|member| member.record.id == me.id);
        let mut from = Sender::new();
        from.id.clone_from(&me.id);
        from.label = sender.map(|member| member.record.label.clone()).unwrap_or_else(|| me.id.clone());
        from.agent.clone_from(&me.agent);
        let broadcast = outgoing.to == EVERYBODY;
        if broadcast {
            // Nobody is left out because a record cannot be read just now.
            if let Some(failed) = failed {
                return Err(failed);
            }
            members.retain(|member| member.state == State::Live && member.record.id != me.id);
        } else {
            let place = match find(me, outgoing.to, &members) {
                Ok(place) => place,
                // Whoever is not found may be the one that cannot be read.
                Err(refusal) => return Err(failed.unwrap_or(refusal)),
            };
            members = vec![members.swap_remove(place)];
        }
        let content = format!("{}\n{}\n{}", outgoing.kind, outgoing.paths.join("\0"), outgoing.text);
        let mut ready: Vec<(Member, Result<Ready, NotQueued>, Option<Error>)> = Vec::new();
        for member in members {
            let (place, error) = match self.prepare(me, &member, &content) {
                Ok(place) => (place, None),
                Err(error) => (Err(NotQueued::Error), Some(error)),
            };
            ready.push((member, place, error));
        }
        // One id for all, after everything that any of the recipients has seen.
        let newest = ready.iter().filter_map(|(_, place, _)| place.as_ref().ok()?.newest).max();
        let mut message = Message::new();
        message.kind = kind;
        message.from = from;
        message.broadcast = broadcast;
        message.text = outgoing.text.to_owned();
        message.paths.clone_from(&outgoing.paths);
        message.reply_to = outgoing.reply_to.map(str::to_owned);
        message.sent_at = Some(Timestamp::from_epoch_ms(now.wall_ms));
        message.sent_mono = Some(now.mono_ms);
        message.boot_id.clone_from(&now.boot_id);
        let ms = mail_name::next(now.wall_ms, newest.max(self.last_ms.get()));
        self.last_ms.set(Some(ms));
        message.id = mail_name::id(ms, self.world.random());
        let mut recipients = Vec::new();
        for (member, place, mut error) in ready {
            message.to.clone_from(&member.record.id);
            message.to_label.clone_from(&member.record.label);
            let (unread, reason) = match place {
                Ok(place) => match self.put(&place.inbox, &message) {
                    // Of a full inbox the names are counted: a storm must not read it whole for each message.
                    Ok(()) if place.unread >= limits::INBOX_MOST as u64 => (place.unread + 1, None),
                    Ok(()) => (self.unread(&member.record.id).unwrap_or(place.unread + 1), None),
                    Err(failed) => {
                        error = Some(failed);
                        (place.unread, Some(NotQueued::Error))
                    }
                },
                Err(reason) => (self.unread(&member.record.id).unwrap_or(0), Some(reason)),
            };
            recipients.push(Recipient { member, unread, reason, error });
        }
        let queued = recipients.iter().filter(|recipient| recipient.reason.is_none());
        let queued: Vec<&str> = queued.map(|recipient| recipient.member.record.id.as_str()).collect();
        if !queued.is_empty() {
            self.remember_sent(&me.id, &queued, &content);
        }
        Ok(Sent { id: message.id, kind, recipients })
    }

    /// The members among whom a target is looked for, the sender included, and what of them could not be read. A target
    /// that is the id of somebody who is there needs no other record.
    fn addressed(&self, me: &Me, to: &str, now: &Moment) -> Result<(Vec<Member>, Option<Error>), Error> {
        let mut lives = Lives::new(self.world);
        let mut members: Vec<Member> = Vec::new();
        let by_id = if to == EVERYBODY || to == me.id || to.is_empty() { None } else { self.record(to)? };
        if let Some(target) = by_id.map(|record| lives.judge(record, now)).filter(|target| target.state != State::Gone)
        {
            members.extend(self.record(&me.id)?.map(|record| lives.judge(record, now)));
            members.push(target);
            return Ok((members, None));
        }
        let (records, _) = store::scan(self.looked(SESSIONS)?, store::record, store::record_fits)?;
        let mut failed = None;
        for file in records {
            match file.read {
                store::Read::Good(record) => members.push(lives.judge(record, now)),
                store::Read::Failed(problem) => {
                    failed = Some(Error::Entry { path: self.path().join(SESSIONS).join(&file.name), problem });
                }
                _ => {}
            }
        }
        Ok((members, failed))
    }

    /// Looks whether a recipient can take the message.
    fn prepare(&self, me: &Me, member: &Member, content: &str) -> Result<Result<Ready, NotQueued>, Error> {
        let id = &member.record.id;
        if member.state == State::Gone {
            return Ok(Err(NotQueued::Gone));
        }
        if self.is_duplicate(&me.id, id, content)? {
            return Ok(Err(NotQueued::Duplicate));
        }
        let inbox = self.inbox_made(id)?;
        let (newest, unread) = seen(&inbox)?;
        if unread >= limits::UNREAD as u64 {
            return Ok(Err(NotQueued::InboxFull));
        }
        Ok(Ok(Ready { inbox, newest, unread }))
    }

    /// Writes one message so that it outlives a power cut.
    fn put(&self, inbox: &PrivateDir, message: &Message) -> Result<(), Error> {
        let name = format!("{}.json", message.id);
        // The name holds chance: it is free, or this very message stands there.
        inbox.create_new_synced(name, &store::bytes(message), Sync::FileAndName)?;
        Ok(())
    }

    /// Unread mail of one session, mail that is taken and not confirmed included.
    pub fn unread(&self, id: &str) -> Result<u64, Error> {
        match self.inbox_looked(id)? {
            Some(inbox) => readable(&inbox),
            None => Ok(0),
        }
    }
}

/// An inbox that can take a message.
struct Ready {
    inbox: PrivateDir,
    newest: Option<u64>,
    unread: u64,
}

/// The messages that a reader of an inbox would get: other files and newer schemas are not unread mail.
pub(crate) fn readable(inbox: &PrivateDir) -> Result<u64, Error> {
    let mut unread = 0;
    for name in store::texts(inbox.list()?) {
        if mail_name::ms(&name).is_some() {
            let file = store::one(inbox, &name, store::message, store::message_fits);
            // What cannot be read just now is still there.
            unread +=
                u64::from(file.is_some_and(|file| matches!(file.read, store::Read::Good(_) | store::Read::Failed(_))));
        } else if mail_name::consumer(&name).is_some()
            && let Some(taken) = inbox.sub_existing(&name)?
        {
            unread += store::texts(taken.list()?).filter(|name| mail_name::ms(name).is_some()).count() as u64;
        }
    }
    Ok(unread)
}

/// The newest message an inbox has seen, and how many it holds.
fn seen(inbox: &PrivateDir) -> Result<(Option<u64>, u64), Error> {
    let mut newest = told::told_ms(inbox);
    let mut count = 0;
    each_name(inbox, |ms| {
        count += 1;
        newest = newest.max(Some(ms));
    })?;
    Ok((newest, count))
}

/// The milliseconds in the names of all mail of an inbox, mail that is taken and not confirmed included.
fn each_name(inbox: &PrivateDir, mut each: impl FnMut(u64)) -> Result<(), Error> {
    let names: Vec<String> = store::texts(inbox.list()?).collect();
    names.iter().filter_map(|name| mail_name::ms(name)).for_each(&mut each);
    for folder in names.iter().filter(|name| mail_name::consumer(name).is_some()) {
        if let Some(taken) = inbox.sub_existing(folder)? {
            store::texts(taken.list()?).filter_map(|name| mail_name::ms(&name)).for_each(&mut each);
        }
    }
    Ok(())
}

/// The one member that is meant, or why there is none.
fn find(me: &Me, to: &str, members: &[Member]) -> Result<usize, Error> {
    let place = target::choose(to, members)?;
    let member = &members[place];
    if member.record.id == me.id {
        return Err(Refusal::new(Code::Refused, format!("\"{to}\" is this session itself")).into());
    }
    if member.state == State::Gone {
        let record = &member.record;
        return Err(Refusal::new(Code::Refused, format!("\"{}\" (session {}) is gone", record.label, record.id))
            .hint("its process ended; mail waits for sessions that are live or stale")
            .into());
    }
    Ok(place)
}
