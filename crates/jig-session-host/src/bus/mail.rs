//! Mail inside Pi: the notice before a prompt, waking, and the prompts that need not be asked about.

use std::path::Path;

use jig_session_bus::{Bus as Store, Door, Me, Notice, World, limits};
use jig_session_schema::bridge::{Prompt, SeenFile};
use jig_session_schema::bus::Message;
use serde_json::{Value, json};

use super::{Bus, NOTICE, own_member};
use crate::Error;
use crate::link::{Link, Pending};
use crate::quiet::{self, Uncertain};

impl Bus {
    /// Whether the mail was looked at since the last call: the beat of our own record changes its file, and mail may
    /// have been read.
    pub(crate) fn has_looked(&mut self) -> bool {
        std::mem::take(&mut self.looked)
    }

    /// The files that `before_prompt` depends on, if it has nothing to announce: as long as they do not change, neither
    /// does the answer.
    pub(crate) fn quiet(&self) -> Result<Vec<SeenFile>, Uncertain> {
        let me = self.me.as_ref().ok_or(Uncertain::News)?;
        if self.sent_notice.is_some() || !self.announced.is_empty() {
            return Err(Uncertain::News);
        }
        let seen = |path: &Path| quiet::seen(path, self.system.now().wall_ms);
        if let Ok(nobody) = seen(&self.root)
            && nobody.at.is_none()
        {
            return Ok(vec![nobody]);
        }
        // What cannot be read now may hold mail.
        let unreadable = |_| Uncertain::News;
        let bus = self.store().ok_or(Uncertain::News)?;
        let record = seen(&bus.record_path(&me.id).map_err(unreadable)?)?;
        let inbox = seen(&bus.inbox_path(&me.id).map_err(unreadable)?);
        match self.announces_mail(&bus, me).map_err(unreadable)? {
            None => Ok(vec![record]),
            Some(all) if unannounced(&bus, &me.id, all).map_err(unreadable)?.is_empty() => Ok(vec![record, inbox?]),
            Some(_) => Err(Uncertain::News),
        }
    }

    /// Whether mail is announced before a prompt: `None` when it is not, `Some(true)` when all unread mail is, announced
    /// before or not.
    fn announces_mail(&self, bus: &Store<'_>, me: &Me) -> Result<Option<bool>, jig_session_bus::Error> {
        let member = bus.member(&me.id)?;
        let listens = member.as_ref().is_some_and(|member| member.record.listen.is_some());
        let came_back = self.came_back && member.is_none();
        Ok((listens || came_back).then_some(came_back))
    }

    /// The messages to announce before a prompt.
    fn mail_to_announce(&self, bus: &Store<'_>, me: &Me) -> Result<Vec<Message>, jig_session_bus::Error> {
        self.announces_mail(bus, me)?.map_or(Ok(Vec::new()), |all| unannounced(bus, &me.id, all))
    }

    /// A prompt is sent without waiting for an answer.
    pub(crate) fn prompted(&mut self, prompt: &Prompt) {
        self.came_back = false;
        if let Some(bus) = self.store() {
            self.reset_wakes(&bus, prompt);
        }
    }

    /// A prompt of the user, or of a program in the user's place, resets the count of wakes.
    fn reset_wakes(&self, bus: &Store<'_>, prompt: &Prompt) {
        if prompt.message_type.as_deref() != Some("custom")
            && let Some(me) = &self.me
        {
            let _ = bus.forget_wakes(&me.id);
        }
    }

    /// A message to add to the prompt that is about to be sent.
    pub(crate) fn before_prompt(&mut self, prompt: &Prompt) -> Option<Value> {
        let me = self.me.clone()?;
        let bus = self.store()?;
        self.reset_wakes(&bus, prompt);
        let notice = Notice::of(&self.mail_to_announce(&bus, &me).unwrap_or_default(), Door::Tool);
        drop(bus);
        self.came_back = false;
        let notice = notice?;
        let message = self.notice(&notice);
        self.sent_notice = Some(notice);
        Some(message)
    }

    /// Starts one turn for mail that was not announced yet, if the session joined with `wake`.
    pub(super) fn wake(&mut self, me: &Me, link: &mut Link) -> Result<(), Error> {
        let Some(bus) = self.store_for_writing() else { return Ok(()) };
        let Some(member) = own_member(&bus, me) else { return Ok(()) };
        // Mail that may not wake the session is announced at its next turn.
        let Some(notice) = bus.wake_notice(&member).unwrap_or_default() else { return Ok(()) };
        bus.record_notice(&me.id, &notice)?;
        drop(bus);
        let message = self.notice(&notice);
        let how = json!({ "triggerTurn": true, "deliverAs": "followUp" });
        link.call("pi.sendMessage", vec![message, how], Pending::Nothing)
    }

    fn notice(&mut self, notice: &Notice) -> Value {
        self.announced.extend(notice.messages.iter().cloned());
        json!({
            "customType": NOTICE,
            "content": notice.text,
            "display": true,
            "details": { "ids": notice.messages },
        })
    }

    /// Announced messages that have been read since: the bridge takes their notices out of the model's context.
    pub(crate) fn read_mail(&mut self) -> Vec<String> {
        let Some(me) = self.me.as_ref().filter(|_| !self.announced.is_empty()) else { return Vec::new() };
        let Some(inbox) = self.store().and_then(|bus| bus.peek(&me.id, limits::INBOX_MOST).ok()) else {
            return Vec::new();
        };
        let more = inbox.remaining > 0;
        let is_unread = |id: &String| more || inbox.messages.iter().any(|message| message.id == *id);
        let (unread, read) = std::mem::take(&mut self.announced).into_iter().partition(is_unread);
        self.announced = unread;
        read
    }
}

/// Unread mail that was not announced, oldest first; with `all`, announced mail too.
fn unannounced(bus: &Store<'_>, session: &str, all: bool) -> Result<Vec<Message>, jig_session_bus::Error> {
    if all { Ok(bus.peek_after(session, None, limits::UNREAD)?.messages) } else { bus.unannounced(session) }
}
