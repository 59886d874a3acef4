//! Members, claims and mail as results show them.

use jig_session_schema::bus::{Claim, Message, MessageKind};
use jig_session_schema::bus_result as shown;
use jig_session_schema::bus_result::MemberState;
use jig_session_schema::limits::{HANDOFF_PREVIEW_CHARS, PREVIEW_CHARS};

use crate::claims::Conflict;
use crate::inboxes::Inboxes;
use crate::member::{Member, Snapshot};
use crate::send::Recipient;
use crate::text;

/// A message whole, as `inbox` gives it.
pub fn whole(message: &Message) -> shown::MessageView {
    view(message).text(Some(message.text.clone()))
}

/// A message's beginning on one line, as every look gives it. A handoff keeps enough to be a card.
pub fn preview(message: &Message) -> shown::MessageView {
    let most = if message.kind == MessageKind::Handoff { HANDOFF_PREVIEW_CHARS } else { PREVIEW_CHARS };
    view(message).preview(Some(text::preview(&message.text, most)))
}

fn view(message: &Message) -> shown::MessageView {
    shown::MessageView::new()
        .id(message.id.clone())
        .kind(message.kind)
        .from(message.from.clone())
        .paths(message.paths.clone())
        .reply_to(message.reply_to.clone())
        .broadcast(message.broadcast)
        .sent_at(message.sent_at)
}

/// What stands in the way of a claim.
pub fn conflict(conflict: &Conflict) -> shown::Conflict {
    shown::Conflict::new()
        .asked(conflict.asked.clone())
        .path(conflict.claim.path.clone())
        .session(conflict.claim.id.clone())
        .label(conflict.label.clone())
        .agent(conflict.agent.clone())
        .state(conflict.state)
        .since(conflict.claim.claimed_at)
        .reason(conflict.claim.reason.clone())
}

/// A member, with the state of its inbox.
pub(crate) fn member(look: &Snapshot, member: &Member, inboxes: &Inboxes) -> shown::Member {
    let record = &member.record;
    let claims = look.claims.iter().filter(|claim| claim.id == record.id && look.holder(claim).is_some()).count();
    shown::Member::new()
        .id(record.id.clone())
        .label(record.label.clone())
        .agent(record.agent.clone())
        .model(record.model.clone())
        .branch(record.branch.clone())
        .cwd(record.cwd.clone())
        .state(member.state)
        .listen(record.listen.as_ref().map(|listen| listen.mode))
        .guard(record.guard == Some(true))
        .unread(inboxes.unread(&record.id))
        .throttled(inboxes.is_throttled(&record.id).then_some(true))
        .claims(claims as u64)
        .beat_at(record.beat_at)
}

/// A claim that holds.
pub fn claim(claim: &Claim, holder: &Member) -> shown::HeldClaim {
    shown::HeldClaim::new()
        .path(claim.path.clone())
        .dir(claim.dir)
        .session(claim.id.clone())
        .label(holder.record.label.clone())
        .state(holder.state)
        .since(claim.claimed_at)
        .reason(claim.reason.clone())
}

/// A recipient and what came of it.
pub fn recipient(recipient: &Recipient) -> shown::Recipient {
    let record = &recipient.member.record;
    shown::Recipient::new()
        .id(record.id.clone())
        .label(record.label.clone())
        .state(recipient.member.state)
        .listen(record.listen.as_ref().map(|listen| listen.mode))
        .unread(recipient.unread)
        .queued(recipient.reason.is_none())
        .reason(recipient.reason.map(|reason| reason.word().to_owned()))
}

/// A path another session holds.
pub fn held_path(claim: &Claim) -> shown::HeldPath {
    shown::HeldPath::new().path(claim.path.clone()).session(claim.id.clone()).label(claim.label.clone())
}

/// Whether a member shows in a listing: the stale ones do not, though they are not removed yet.
pub fn is_listed(member: &Member) -> bool {
    member.state != MemberState::Stale && !(member.state == MemberState::Gone && member.is_aged())
}
