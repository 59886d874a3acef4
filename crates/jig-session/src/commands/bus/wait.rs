//! `bus wait` and `bus watch`: blocking until mail comes, for an agent's background task or a person's second window.

use std::time::{Duration, Instant};

use jig_session_actor::{Actor, Options};
use jig_session_bus::{Code as Word, Done, Mark, limits, previews};
use jig_session_schema::bus::Message;
use jig_session_schema::bus_result::{BusResult, MessageView, WaitResult, WatchResult};
use jig_session_store::Hints;

use super::send::seconds;
use super::{find, finish, print};
use crate::app::App;
use crate::failure::{Failure, Outcome};

/// Waits until there is unread mail; what is there already ends the wait at once.
pub(crate) fn wait(timeout: Option<f64>, kind: Option<&str>, options: &Options<'_>, app: &App) -> Outcome {
    let timeout = timeout.map(seconds).transpose()?;
    let actor = find(app, options)?;
    let end = timeout.map(|timeout| Instant::now() + timeout);
    let mut mail = Mail::of(&actor)?;
    loop {
        mail.renew();
        let seen = unread(&actor, None)?;
        let wanted = |message: &Message| kind.is_none_or(|kind| message.kind.as_str() == kind);
        let messages: Vec<Message> = seen.messages.iter().filter(|message| wanted(message)).cloned().collect();
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        if !messages.is_empty() || left.is_some_and(|left| left.is_zero()) {
            let (shown, left) = within(&actor, &messages);
            let mut result = WaitResult::new()
                .messages(shown)
                .remaining(seen.remaining + left)
                .unreadable(seen.unreadable)
                .unread(seen.unread)
                .ok(!messages.is_empty());
            let code = messages.is_empty().then_some(Word::Timeout);
            if let Some(code) = code {
                result.code = Some(code.into());
                result.message = Some("no mail came in time".to_owned());
            }
            return finish(app, Done { result: BusResult::Wait(result), code, taken: None });
        }
        mail.wait(left);
    }
}

/// Reports new mail, one report a burst. With `follow` it goes on until it is ended.
pub(crate) fn watch(follow: bool, options: &Options<'_>, app: &App) -> Outcome {
    app.end_with_reader();
    let actor = find(app, options)?;
    let mut mark = Mark::default();
    let mut mail = Mail::of(&actor)?;
    loop {
        mail.renew();
        let seen = unread(&actor, mark.last.as_deref())?;
        let new = seen.messages;
        let (shown, left) = within(&actor, &new);
        if let Some(last) = shown.last() {
            mark.last = Some(last.id.clone());
            let result = WatchResult::new()
                .messages(shown)
                .remaining(seen.remaining + left)
                .unreadable(seen.unreadable)
                .unread(seen.unread)
                .ok(true);
            let result = BusResult::Watch(result);
            if !follow {
                return finish(app, Done { result, code: None, taken: None });
            }
            if app.json { app.print_json(&result)? } else { print(app, &result)? }
        }
        mail.wait(None);
    }
}

/// Previews of as many messages as one output holds, and how many are left: the next report begins with those.
fn within(actor: &Actor, messages: &[Message]) -> (Vec<MessageView>, u64) {
    let mut shown = previews(messages);
    let left = shown.split_off(actor.room.fitting(&shown));
    (shown, left.len() as u64)
}

struct Unread {
    messages: Vec<Message>,
    remaining: u64,
    unreadable: u64,
    unread: Option<u64>,
}

/// The unread mail, and a beat: who waits is there.
fn unread(actor: &Actor, after: Option<&str>) -> Result<Unread, Failure> {
    let bus = actor.bus()?;
    let peeked = bus.peek_after(&actor.me.id, after, limits::INBOX_MOST)?;
    let member = bus.member(&actor.me.id)?;
    if let Some(member) = &member
        && member.record.owner == actor.me.owner
    {
        bus.beat_if_due(&actor.me, member);
    }
    let unread = member.map(|_| bus.unread(&actor.me.id)).transpose()?;
    Ok(Unread { messages: peeked.messages, remaining: peeked.remaining, unreadable: peeked.unreadable, unread })
}

/// A member's inbox, to be woken when mail comes: by the system's notice of a new file, else by looking again.
pub(super) struct Mail(Hints);

impl Mail {
    /// The inbox of who acts; it is made if it is not there, since a folder that is not there cannot be watched.
    pub(super) fn of(actor: &Actor) -> Result<Self, Failure> {
        let bus = actor.bus()?;
        if bus.member(&actor.me.id)?.is_some() {
            actor.bus_made()?.open_inbox(&actor.me.id)?;
        }
        Ok(Self(Hints::new(&[&bus.inbox_path(&actor.me.id)?])))
    }

    /// Called before each look.
    pub(super) fn renew(&mut self) {
        self.0.renew();
    }

    /// Waits for a notice, for the next look, or until the end if that comes first.
    pub(super) fn wait(&self, left: Option<Duration>) {
        let look = Duration::from_millis(limits::WATCH_MS);
        self.0.wait(left.map_or(look, |left| left.min(look)));
    }
}
