//! The actions of the bus as every surface calls them: one call in, one result document out.

use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;

use jig_session_schema::bus::{Message, Removed};
use jig_session_schema::bus_result as shown;
use jig_session_schema::bus_result::{BusResult, MemberState};
use jig_session_schema::limits::LOCK_WAIT;

use crate::buses::Buses;
use crate::claims::{Claimed, Release};
use crate::error::{Code, Error, Refusal};
use crate::inbox::Taken;
use crate::join::{Join, Listening, Me, first_of, list};
use crate::notice::Door;
use crate::overlap;
use crate::path::{self, BadPath, ClaimPath};
use crate::room::Room;
use crate::send::{EVERYBODY, NotQueued, Outgoing};
use crate::store::{Bus, Repo};
use crate::view;
use crate::world::World;

/// An action with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Who is there.
    Status,
    /// Get on the bus, or change how one is on it.
    Join {
        /// The label that is wanted.
        label: Option<String>,
        /// Raise a turn when mail comes.
        wake: bool,
        /// Receive mail notices at all.
        listen: bool,
        /// Have edits of what others hold denied.
        guard: Option<bool>,
    },
    /// Get off the bus.
    Leave,
    /// Send a message.
    Send {
        /// An id, a label, a piece of an id, or `*`.
        to: String,
        /// The text.
        text: String,
        /// What it is.
        kind: String,
        /// Paths it concerns.
        paths: Vec<String>,
        /// The message it answers.
        reply_to: Option<String>,
    },
    /// Take mail.
    Inbox {
        /// At most so many.
        limit: Option<u64>,
    },
    /// Look at mail.
    Peek {
        /// At most so many.
        limit: Option<u64>,
    },
    /// Take paths.
    Claim {
        /// Which.
        paths: Vec<String>,
        /// What for.
        reason: Option<String>,
    },
    /// Give paths back; all when there are none.
    Release {
        /// Which; `None` for all.
        paths: Option<Vec<String>>,
    },
    /// Ask who holds paths.
    Check {
        /// Which.
        paths: Vec<String>,
    },
}

/// Where an action is performed.
pub struct Context<'w> {
    /// The folder of all buses.
    pub root: &'w Path,
    /// The repository.
    pub repo: Repo,
    /// The world.
    pub world: &'w dyn World,
    /// Who acts.
    pub me: &'w Me,
    /// How much mail the answer may hold.
    pub room: Room,
}

/// What came of an action.
pub struct Done {
    /// The document.
    pub result: BusResult,
    /// The word of a refusal.
    pub code: Option<Code>,
    /// Mail in the document: to be confirmed when the document has been shown, dropped when it has not.
    pub taken: Option<Taken>,
}

impl Done {
    /// Adds what the caller should know beside the result.
    pub fn add_notes(&mut self, notes: Vec<String>) {
        macro_rules! add {
            ($($Variant:ident),*) => {
                match &mut self.result {
                    $( BusResult::$Variant(result) => result.notes.extend(notes), )*
                    _ => {}
                }
            };
        }
        add!(Status, Join, Leave, Send, Inbox, Peek, Wait, Watch, Claim, Check, Release);
    }

    /// What the caller should know beside the result.
    pub fn notes(&self) -> &[String] {
        macro_rules! notes {
            ($($Variant:ident),*) => {
                match &self.result {
                    $( BusResult::$Variant(result) => &result.notes, )*
                    _ => &[],
                }
            };
        }
        notes!(Status, Join, Leave, Send, Inbox, Peek, Wait, Watch, Claim, Check, Release)
    }
}

/// Sets the fields that every result has.
macro_rules! finish {
    ($Variant:ident, $result:expr, $refusal:expr, $unread:expr) => {{
        let refusal: Option<Refusal> = $refusal;
        let mut result = $result;
        result.ok = refusal.is_none();
        result.unread = $unread;
        let code = refusal.as_ref().map(|refusal| refusal.code);
        if let Some(refusal) = refusal {
            result.code = Some(refusal.code.into());
            result.message = Some(refusal.message);
            result.hint = refusal.hint;
        }
        Done { result: BusResult::$Variant(result), code, taken: None }
    }};
}

/// Performs an action. A refusal is a result; an error is the system's.
pub fn perform(context: &Context<'_>, call: &Call) -> Result<Done, Error> {
    perform_within(context, call, LOCK_WAIT)
}

/// As [`perform`], waiting for the lock for another time than the contract's.
pub fn perform_within(context: &Context<'_>, call: &Call, lock_wait: Duration) -> Result<Done, Error> {
    let actor = Actor { context, lock_wait, notes: RefCell::default() };
    let mut done = match actor.act(call) {
        Err(Error::Refused(refusal)) => refuse(context, call, *refusal),
        other => other?,
    };
    let removed = actor.reader().and_then(|bus| bus.take_removal(&context.me.id));
    let mut notes: Vec<String> = removed.ok().flatten().map(|removed| was_removed(&removed)).into_iter().collect();
    notes.extend(actor.notes.take());
    done.add_notes(notes);
    Ok(done)
}

/// The document of a call that was refused.
pub fn refuse(context: &Context<'_>, call: &Call, refusal: Refusal) -> Done {
    let unread = Bus::open_existing(context.root, context.repo.clone(), context.world)
        .and_then(|bus| own_unread(&bus, context.me))
        .unwrap_or_default();
    let refusal_holder = refusal.holder.clone();
    let some = Some(refusal);
    match call {
        Call::Status => finish!(Status, shown::StatusResult::new(), some, unread),
        Call::Join { .. } => finish!(Join, shown::JoinResult::new().holder(refusal_holder), some, unread),
        Call::Leave => finish!(Leave, shown::LeaveResult::new(), some, unread),
        Call::Send { .. } => finish!(Send, shown::SendResult::new(), some, unread),
        Call::Inbox { .. } => finish!(Inbox, shown::InboxResult::new(), some, unread),
        Call::Peek { .. } => finish!(Peek, shown::PeekResult::new(), some, unread),
        Call::Claim { .. } => finish!(Claim, shown::ClaimResult::new(), some, unread),
        Call::Release { .. } => finish!(Release, shown::ReleaseResult::new(), some, unread),
        Call::Check { .. } => finish!(Check, shown::CheckResult::new(), some, unread),
    }
}

/// Own unread mail; `None` when the session is no member.
fn own_unread(bus: &Bus<'_>, me: &Me) -> Result<Option<u64>, Error> {
    match bus.record(&me.id)? {
        Some(_) => Ok(Some(bus.unread(&me.id)?)),
        None => Ok(None),
    }
}

/// What a session hears that another one has taken off the bus.
fn was_removed(removed: &Removed) -> String {
    let at = removed.at.map(|at| format!(" at {at}")).unwrap_or_default();
    let (label, by, released) = (&removed.by_label, &removed.by, list(&removed.released));
    format!("this session was taken off the bus{at}: its agent had begun \"{label}\" (session {by}){released}")
}

struct Actor<'c, 'w> {
    context: &'c Context<'w>,
    lock_wait: Duration,
    notes: RefCell<Vec<String>>,
}

impl<'w> Actor<'_, 'w> {
    fn act(&self, call: &Call) -> Result<Done, Error> {
        match call {
            Call::Status => self.status(),
            Call::Join { label, wake, listen, guard } => {
                let listening = match (*listen, *wake) {
                    (false, _) => Listening::Off,
                    (true, true) => Listening::Wake,
                    (true, false) => Listening::Next,
                };
                self.join(&Join { label: label.as_deref(), listening: Some(listening), guard: *guard })
            }
            Call::Leave => self.leave(),
            Call::Send { to, text, kind, paths, reply_to } => self.send(to, text, kind, paths, reply_to.as_deref()),
            Call::Inbox { limit } => self.inbox(*limit),
            Call::Peek { limit } => self.peek(*limit),
            Call::Claim { paths, reason } => self.claim(paths, reason.as_deref()),
            Call::Release { paths } => self.release(paths.as_deref()),
            Call::Check { paths } => self.check(paths),
        }
    }

    fn me(&self) -> &Me {
        self.context.me
    }

    fn reader(&self) -> Result<Bus<'w>, Error> {
        Bus::open_existing(self.context.root, self.context.repo.clone(), self.context.world)
    }

    fn writer(&self) -> Result<Bus<'w>, Error> {
        let bus = Bus::open(self.context.root, self.context.repo.clone(), self.context.world)?;
        Ok(bus.with_lock_wait(self.lock_wait))
    }

    fn status(&self) -> Result<Done, Error> {
        let bus = self.reader()?;
        // One look serves everything: who is asking, the answer, and whether there is anything to prune.
        let look = bus.look()?;
        let is_shown = |id: &str| id == self.me().id || look.member(id).is_some_and(view::is_listed);
        let inboxes = bus.look_at_inboxes(&look, is_shown)?;
        let mut result = shown::StatusResult::new();
        for member in look.members.iter().filter(|member| view::is_listed(member)) {
            let shown = view::member(&look, member, &inboxes);
            if member.record.id == self.me().id {
                result.me = Some(shown.clone());
            }
            result.members.push(shown);
        }
        let held: Vec<_> = look.claims.iter().filter_map(|claim| Some((claim, look.holder(claim)?))).collect();
        result.claims = held.iter().map(|(claim, holder)| view::claim(claim, holder)).collect();
        result.claims.sort_by(|a, b| a.path.cmp(&b.path));
        let keys: Vec<String> = held.iter().map(|(claim, _)| bus.key(&claim.path)).collect();
        for (a, b) in overlap::overlapping(&keys) {
            let (a, b) = (held[a].0, held[b].0);
            if a.id != b.id {
                result.overlaps.push((a.path.clone(), b.path.clone()));
            }
        }
        result.unreadable = look.unreadable as u64;
        let repo = bus.repo();
        let repo = shown::Repo::new().key(repo.key.clone()).path(repo.place.root.to_string_lossy().into_owned());
        result.repo = Some(repo);
        // A member that looks is there. Neither the beat nor the pruning may keep the answer.
        let me = look.member(&self.me().id);
        if let Some(member) = me.filter(|member| member.record.owner == self.me().owner) {
            bus.beat_if_due(self.me(), member);
        }
        let _ = bus.prune_if_untidy(&look, &inboxes);
        let unread = me.map(|me| inboxes.unread(&me.record.id));
        Ok(finish!(Status, result, None, unread))
    }

    fn join(&self, join: &Join<'_>) -> Result<Done, Error> {
        let bus = self.writer()?;
        let joined = bus.join(self.me(), join)?;
        self.hear(&bus);
        self.hear_of_others();
        let record = joined.record;
        let result = shown::JoinResult::new()
            .label(Some(record.label))
            .joined(joined.joined)
            .listen(record.listen.map(|listen| listen.mode))
            .guard(record.guard == Some(true));
        Ok(finish!(Join, result, None, self.unread_after(&bus)))
    }

    fn leave(&self) -> Result<Done, Error> {
        let bus = self.reader()?;
        if bus.record(&self.me().id)?.is_none() {
            return Ok(finish!(Leave, shown::LeaveResult::new(), None, None));
        }
        let bus = self.writer()?;
        let Some(released) = bus.leave(self.me())? else {
            return Err(Refusal::new(Code::Refused, "this session is on the bus in another process")
                .hint("leave there, or join here first")
                .into());
        };
        Ok(finish!(Leave, shown::LeaveResult::new().released(released), None, None))
    }

    fn send(&self, to: &str, text: &str, kind: &str, paths: &[String], reply_to: Option<&str>) -> Result<Done, Error> {
        let paths = self.resolve(paths)?.into_iter().map(|path| path.path).collect();
        // A line end of another system is a line end.
        let text = &text.replace("\r\n", "\n");
        let outgoing = Outgoing { to, text, kind, paths, reply_to };
        Bus::check_outgoing(&outgoing)?;
        let bus = self.writer()?;
        bus.ensure_joined(self.me())?;
        let sent = bus.send(self.me(), &outgoing)?;
        let refusal = match sent.recipients.as_slice() {
            [one] if to != EVERYBODY => match one.reason {
                Some(NotQueued::InboxFull) => {
                    let message = format!("the inbox of \"{}\" is full", one.member.record.label);
                    Some(Refusal::new(Code::InboxFull, message).hint("it has to read its mail first"))
                }
                Some(NotQueued::Error) => None,
                _ => None,
            },
            _ => None,
        };
        let mut sent = sent;
        self.hear(&bus);
        self.notes.borrow_mut().extend(note(to, &sent));
        if to != EVERYBODY
            && let Some(error) = sent.recipients.iter_mut().find_map(|recipient| recipient.error.take())
        {
            // With one recipient its failure is the call's.
            return Err(error);
        }
        let result = shown::SendResult::new()
            .id(Some(sent.id.clone()))
            .kind(Some(sent.kind))
            .recipients(sent.recipients.iter().map(view::recipient).collect());
        let unread = self.unread_after(&bus);
        Ok(finish!(Send, result, refusal, unread))
    }

    /// Notes the other buses that the session is on: each has an inbox and claims of its own.
    fn hear_of_others(&self) {
        let key = &self.context.repo.key;
        let buses = Buses::new(self.context.root, self.context.world);
        for other in buses.memberships(&self.me().id).into_iter().filter(|other| other.repo.key != *key) {
            let (root, label) = (other.repo.place.root.display(), &other.member.record.label);
            let note =
                format!("also on the bus of {root} as \"{label}\"; act there with: jig-session bus --cwd '{root}' …");
            self.notes.borrow_mut().push(note);
        }
    }

    /// What the caller acts with: the tool of a server or a bridge, or commands.
    fn door(&self) -> Door {
        if self.me().timer { Door::Tool } else { Door::Command }
    }

    /// Own unread mail for the answer of an action that has happened: a count that fails does not undo it.
    fn unread_after(&self, bus: &Bus<'_>) -> Option<u64> {
        let counted = bus.unread(&self.me().id);
        counted.map_err(|error| self.notes.borrow_mut().push(format!("the unread mail is not counted: {error}"))).ok()
    }

    /// Keeps what the bus has noted for the result.
    fn hear(&self, bus: &Bus<'_>) {
        self.notes.borrow_mut().extend(bus.take_notes());
    }

    fn inbox(&self, asked: Option<u64>) -> Result<Done, Error> {
        let limit = Bus::check_limit(asked)?;
        let bus = self.writer()?;
        bus.ensure_joined(self.me())?;
        let mut room = self.context.room;
        if asked == Some(1) && !self.me().timer {
            // Whoever asks a command for one message gets it, however long.
            room.alone = usize::MAX;
        }
        let taken = bus.take_within(&self.me().id, limit, &room)?;
        // What was taken is still counted until it is confirmed. When nothing else was there, nothing has to be read.
        let left = match taken.remaining {
            0 => 0,
            _ => bus.unread(&self.me().id)?.saturating_sub(taken.messages.len() as u64),
        };
        let result = shown::InboxResult::new()
            .messages(taken.messages.iter().map(view::whole).collect())
            .remaining(left)
            .unreadable(taken.unreadable);
        let unread = Some(left);
        self.hear(&bus);
        self.notes.borrow_mut().extend(taken.failed.as_ref().map(ToString::to_string));
        self.notes.borrow_mut().extend(taken.too_long.as_ref().map(|(message, length)| {
            let label = &message.from.label;
            format!(
                "a message of \"{label}\" stays: its {length} characters are more than an answer may hold, which would be \
                 cut; when it is the oldest, take it with: jig-session bus inbox --limit 1 > FILE"
            )
        }));
        Ok(Done { taken: Some(taken), ..finish!(Inbox, result, None, unread) })
    }

    fn peek(&self, limit: Option<u64>) -> Result<Done, Error> {
        let limit = Bus::check_limit(limit)?;
        let bus = self.reader()?;
        let peeked = bus.peek(&self.me().id, limit)?;
        let mut messages = previews(&peeked.messages);
        let left = messages.split_off(self.context.room.fitting(&messages)).len() as u64;
        let result = shown::PeekResult::new()
            .messages(messages)
            .remaining(peeked.remaining + left)
            .unreadable(peeked.unreadable);
        let unread = own_unread(&bus, self.me())?;
        Ok(finish!(Peek, result, None, unread))
    }

    fn claim(&self, paths: &[String], reason: Option<&str>) -> Result<Done, Error> {
        let paths = self.resolve_some(paths)?;
        let bus = self.writer()?;
        let claimed = bus.claim(self.me(), &paths, reason)?;
        self.hear(&bus);
        let unread = self.unread_after(&bus);
        Ok(match claimed {
            Claimed::Held { claimed, already } => {
                let root = &self.context.repo.place.root;
                let missing = |path: &&String| !overlap::is_resource(path) && !root.join(path).exists();
                let missing: Vec<String> = claimed.iter().filter(missing).cloned().collect();
                if !missing.is_empty() {
                    self.notes.borrow_mut().push(format!("{} (not there yet)", first_of(&missing)));
                }
                finish!(Claim, shown::ClaimResult::new().claimed(claimed).already(already), None, unread)
            }
            Claimed::Conflicts(conflicts) => {
                let refusal = in_the_way(&conflicts, self.door());
                let conflicts = conflicts.iter().map(view::conflict).collect();
                finish!(Claim, shown::ClaimResult::new().conflicts(conflicts), Some(refusal), unread)
            }
        })
    }

    fn check(&self, paths: &[String]) -> Result<Done, Error> {
        let paths = self.resolve_some(paths)?;
        let bus = self.reader()?;
        let look = bus.look()?;
        let conflicts = bus.conflicts(&look, &self.me().id, &paths);
        let own = look.claims.iter().filter(|claim| claim.id == self.me().id && look.holder(claim).is_some());
        let own = own.filter(|claim| paths.iter().any(|path| bus.overlap(&claim.path, &path.path)));
        let own = own.map(|claim| claim.path.clone()).collect();
        let refusal = (!conflicts.is_empty()).then(|| in_the_way(&conflicts, self.door()));
        let conflicts = conflicts.iter().map(view::conflict).collect();
        let unread = own_unread(&bus, self.me())?;
        Ok(finish!(Check, shown::CheckResult::new().conflicts(conflicts).own(own), refusal, unread))
    }

    fn release(&self, paths: Option<&[String]>) -> Result<Done, Error> {
        let place = &self.context.repo.place;
        let typed: Option<Vec<(String, Result<ClaimPath, BadPath>)>> =
            paths.map(|paths| paths.iter().map(|typed| (typed.clone(), path::resolve(typed, place))).collect());
        if typed.as_ref().is_some_and(Vec::is_empty) {
            return Err(Refusal::new(Code::Usage, "no path was given").hint("release everything with --all").into());
        }
        let bus = self.writer()?;
        let release = typed.as_deref().map_or(Release::All, Release::Paths);
        let released = bus.release(self.me(), &release)?;
        self.hear(&bus);
        let nothing = released.released.is_empty() && !matches!(release, Release::All);
        let refusal = nothing.then(|| {
            let message = match released.held_by_others.first() {
                Some(claim) => format!("\"{}\" is held by {} (session {})", claim.path, claim.label, claim.id),
                None => format!("\"{}\" is not held", released.not_held.join("\", \"")),
            };
            Refusal::new(Code::NotHeld, message).hint(match self.door() {
                Door::Command => "see what is held with: jig-session bus status",
                Door::Tool => "see what is held with: session status",
            })
        });
        let others = released.held_by_others.iter().map(view::held_path).collect();
        let result =
            shown::ReleaseResult::new().released(released.released).not_held(released.not_held).held_by_others(others);
        let unread = self.unread_after(&bus);
        Ok(finish!(Release, result, refusal, unread))
    }

    fn resolve_some(&self, paths: &[String]) -> Result<Vec<ClaimPath>, Error> {
        if paths.is_empty() {
            return Err(Refusal::new(Code::Usage, "no path was given").into());
        }
        self.resolve(paths)
    }

    fn resolve(&self, paths: &[String]) -> Result<Vec<ClaimPath>, Error> {
        let resolve = |typed: &String| {
            path::resolve(typed, &self.context.repo.place).map_err(|bad| {
                let mut refusal = Refusal::new(Code::Refused, bad.to_string());
                refusal.hint = bad.hint();
                Error::from(refusal)
            })
        };
        paths.iter().map(resolve).collect()
    }
}

/// Previews of messages.
pub fn previews(messages: &[Message]) -> Vec<shown::MessageView> {
    messages.iter().map(view::preview).collect()
}

/// What a sender should know beside the result.
fn note(to: &str, sent: &crate::send::Sent) -> Option<String> {
    if to == EVERYBODY && sent.recipients.is_empty() {
        return Some("nobody is there to hear it".to_owned());
    }
    let one = sent.recipients.first().filter(|_| to != EVERYBODY)?;
    if one.reason == Some(NotQueued::Duplicate) {
        return Some(format!("the same text went to \"{}\" a moment ago", one.member.record.label));
    }
    (one.member.state == MemberState::Stale)
        .then(|| format!("\"{}\" has been silent for {} s", one.member.record.label, one.member.age_ms / 1000))
}

fn in_the_way(conflicts: &[crate::claims::Conflict], door: Door) -> Refusal {
    let first = &conflicts[0];
    let others = match conflicts.len() {
        1 => String::new(),
        more => format!(", and {} more", more - 1),
    };
    let held = format!("\"{}\" is held by {} (session {}){others}", first.claim.path, first.label, first.claim.id);
    Refusal::new(Code::Conflict, held)
        .hint(match door {
            Door::Command => format!("ask with: jig-session bus send {} --kind ask TEXT", first.label),
            Door::Tool => format!("ask with: session send to \"{}\", kind ask", first.label),
        })
        .holder(first.claim.id.clone())
}
