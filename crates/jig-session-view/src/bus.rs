//! Results for people: what happened, in a line or a table, every foreign word cleaned.

use jig_session_schema::bus::ListenMode;
use jig_session_schema::bus_result::{
    BusResult, ClaimResult, Conflict, HeldClaim, JoinResult, Member, MemberState, MessageView, SendResult, StatusResult,
};
use jig_session_schema::time::Timestamp;

use crate::table::{Cell, Column, Style, Table};
use crate::{ages, sanitise};

const MEMBERS: [Column; 9] = [
    Column::new("LABEL", 10, 0),
    Column::new("STATE", 4, 0),
    Column::new("AGENT", 4, 0),
    Column::new("LISTENS", 4, 4),
    Column::new("UNREAD", 6, 0).right(),
    Column::new("CLAIMS", 6, 0).right(),
    Column::new("BRANCH", 6, 3),
    Column::new("BEAT", 4, 2).right(),
    Column::new("ID", 8, 1),
];

const CLAIMS: [Column; 5] = [
    Column::new("PATH", 12, 0),
    Column::new("HELD BY", 8, 0),
    Column::new("SINCE", 4, 2).right(),
    Column::new("REASON", 6, 1).yields(),
    Column::new("ID", 8, 3),
];

/// A result as plain lines, for a place that is no terminal of ours: what was done, or why not.
pub fn listing(result: &BusResult, now: Timestamp) -> String {
    let mut out = text(result, now, None, false);
    if let Some((word, message, hint)) = refusal(result) {
        line(&mut out, &format!("{word}: {}", clean(message)));
        if let Some(hint) = hint {
            line(&mut out, &format!("hint: {}", clean(hint)));
        }
    }
    out
}

/// A result as text; empty when there is nothing to say.
pub fn text(result: &BusResult, now: Timestamp, width: Option<usize>, color: bool) -> String {
    let mut out = String::new();
    match result {
        BusResult::Status(result) => status(result, now, width, color, &mut out),
        BusResult::Join(result) if result.ok => joined(result, &mut out),
        BusResult::Leave(result) if result.ok => {
            out.push_str("off the bus");
            list(", released ", &result.released, &mut out);
        }
        BusResult::Send(result) => sent(result, now, &mut out),
        // What a bus that was joined this moment has not got says nothing about mail.
        BusResult::Inbox(result) if result.ok && result.messages.is_empty() && !result.notes.is_empty() => {}
        BusResult::Inbox(result) if result.ok => {
            mail(&result.messages, result.remaining, result.unreadable, now, &mut out)
        }
        BusResult::Peek(result) if result.ok => {
            mail(&result.messages, result.remaining, result.unreadable, now, &mut out)
        }
        BusResult::Wait(result) if result.ok => {
            mail(&result.messages, result.remaining, result.unreadable, now, &mut out)
        }
        BusResult::Watch(result) if result.ok => {
            mail(&result.messages, result.remaining, result.unreadable, now, &mut out)
        }
        BusResult::Claim(result) => claimed(result, now, &mut out),
        BusResult::Check(result) => {
            if result.ok {
                out.push_str("free");
                list(", yours: ", &result.own, &mut out);
            }
            conflicts(&result.conflicts, now, &mut out);
        }
        BusResult::Release(result) => {
            if !result.released.is_empty() || result.ok {
                out.push_str(if result.released.is_empty() { "nothing to release" } else { "" });
                list("released ", &result.released, &mut out);
            }
            for path in &result.not_held {
                line(&mut out, &format!("{} is not held", clean(path)));
            }
            for held in &result.held_by_others {
                line(
                    &mut out,
                    &format!("{} is held by {} ({})", clean(&held.path), clean(&held.label), clean(&held.session)),
                );
            }
        }
        _ => {}
    }
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    out
}

/// Why it was not done, in a word and in words, and the way out.
pub fn refusal(result: &BusResult) -> Option<(&str, &str, Option<&str>)> {
    macro_rules! common {
        ($($Variant:ident),*) => {
            match result {
                $( BusResult::$Variant(result) => {
                    (result.ok, result.code.as_deref(), result.message.as_deref(), result.hint.as_deref())
                } )*
                _ => return None,
            }
        };
    }
    let (ok, code, message, hint) = common!(Status, Join, Leave, Send, Inbox, Peek, Wait, Watch, Claim, Check, Release);
    let word = code.map_or("refused", word);
    if ok { None } else { Some((word, message?, hint)) }
}

/// What a code is called before its words: only what a rule or another session forbids was refused.
fn word(code: &str) -> &str {
    match code {
        "conflict" | "refused" | "label-held" | "inbox-full" => "refused",
        "timeout" | "gone" | "busy" | "not-held" => code,
        _ => "error",
    }
}

fn status(result: &StatusResult, now: Timestamp, width: Option<usize>, color: bool, out: &mut String) {
    if let Some(repo) = &result.repo {
        line(out, &format!("bus of {}", clean(&repo.path)));
    }
    match &result.me {
        Some(me) => line(out, &format!("you are {} ({}), {}", clean(&me.label), clean(&me.id), about(me))),
        None => line(out, "you are not on it; join with: jig-session bus join LABEL"),
    }
    if !result.members.is_empty() {
        out.push('\n');
        let mut table = Table::new(&MEMBERS);
        for member in &result.members {
            table.push(member_row(member, now, result.me.as_ref().is_some_and(|me| me.id == member.id)));
        }
        out.push_str(&table.render(width, color));
    }
    if !result.claims.is_empty() {
        out.push('\n');
        let mut table = Table::new(&CLAIMS);
        for claim in &result.claims {
            table.push(claim_row(claim, now));
        }
        out.push_str(&table.render(width, color));
    }
    for (a, b) in &result.overlaps {
        line(out, &format!("overlap: {} and {} are held by different sessions", clean(a), clean(b)));
    }
    if result.unreadable > 0 {
        line(out, &format!("{} unreadable file(s); see: jig-session doctor", result.unreadable));
    }
}

fn about(me: &Member) -> String {
    let listens = match me.listen {
        Some(ListenMode::Wake) if me.throttled == Some(true) => "mail wakes you, but throttled: six wakes of one peer",
        Some(ListenMode::Wake) => "mail wakes you",
        Some(_) => "mail is announced at your next turn",
        None => "not listening",
    };
    let guard = if me.guard { ", guarded" } else { "" };
    format!("{listens}{guard}, {} unread", me.unread)
}

/// How a member listens, in one word and what holds it back.
pub fn listens(member: &Member) -> &'static str {
    match member.listen {
        Some(ListenMode::Wake) if member.throttled == Some(true) => "wake, throttled",
        listen => listen.map_or("", ListenMode::as_str),
    }
}

fn member_row(member: &Member, now: Timestamp, own: bool) -> Vec<Cell> {
    let state = Cell::new(member.state.as_str()).style(match member.state {
        MemberState::Live => Style::Green,
        MemberState::Stale => Style::Yellow,
        _ => Style::Dim,
    });
    let label = Cell::new(&member.label).of(&member.id).style(if own { Style::Bold } else { Style::Plain });
    let unread = Cell::new(count(member.unread)).style(Style::Yellow);
    vec![
        label,
        state,
        Cell::new(&*member.agent),
        Cell::new(listens(member)),
        unread,
        Cell::new(count(member.claims)),
        Cell::new(member.branch.as_deref().unwrap_or_default()),
        Cell::new(ages::since(member.beat_at, now)),
        Cell::path(&member.id).style(Style::Dim),
    ]
}

fn claim_row(claim: &HeldClaim, now: Timestamp) -> Vec<Cell> {
    let path = if claim.dir && claim.path != "." { format!("{}/", claim.path) } else { claim.path.clone() };
    vec![
        Cell::path(path),
        Cell::new(&claim.label).of(&claim.session),
        Cell::new(ages::since(claim.since, now)),
        Cell::new(claim.reason.as_deref().unwrap_or_default()),
        Cell::path(&claim.session).style(Style::Dim),
    ]
}

fn count(count: u64) -> String {
    if count == 0 { String::new() } else { count.to_string() }
}

fn joined(result: &JoinResult, out: &mut String) {
    let what = if result.joined { "joined as" } else { "on the bus as" };
    out.push_str(&format!("{what} {}", clean(result.label.as_deref().unwrap_or_default())));
    out.push_str(match result.listen {
        Some(ListenMode::Wake) => ", mail wakes you",
        Some(_) => ", mail is announced at your next turn",
        None => ", not listening",
    });
    if result.guard {
        out.push_str(", guarded");
    }
    if let Some(unread) = result.unread.filter(|unread| *unread > 0) {
        out.push_str(&format!(", {unread} unread"));
    }
}

fn sent(result: &SendResult, now: Timestamp, out: &mut String) {
    for to in &result.recipients {
        let label = clean(&to.label);
        let told = match to.listen {
            Some(ListenMode::Wake) => "mail wakes it",
            Some(_) => "it sees it at its next turn",
            None => "it does not listen",
        };
        let what = match to.reason.as_deref() {
            None => format!("queued for {label} ({}, {told}, {} unread)", to.state, to.unread),
            Some(reason) => format!("not queued for {label}: {}", clean(reason)),
        };
        line(out, &what);
    }
    if result.ok && result.recipients.is_empty() {
        line(out, "queued for nobody");
    }
    if let Some(reply) = &result.reply {
        message(reply, now, out);
    }
}

fn claimed(result: &ClaimResult, now: Timestamp, out: &mut String) {
    if !result.claimed.is_empty() {
        list("claimed ", &result.claimed, out);
        out.push('\n');
    }
    if !result.already.is_empty() {
        list("held already: ", &result.already, out);
        out.push('\n');
    }
    conflicts(&result.conflicts, now, out);
}

fn conflicts(conflicts: &[Conflict], now: Timestamp, out: &mut String) {
    for conflict in conflicts {
        // What is in the way may be a folder above, or a file below.
        let asked = if conflict.asked == conflict.path { String::new() } else { format!("{}: ", conflict.asked) };
        let mut text = format!(
            "{}{} is held by {} ({}, {}) for {}",
            clean(&asked),
            clean(&conflict.path),
            clean(&conflict.label),
            clean(&conflict.session),
            clean(&conflict.agent),
            ages::since(conflict.since, now),
        );
        if let Some(reason) = &conflict.reason {
            text.push_str(&format!(": {}", clean(reason)));
        }
        line(out, &text);
    }
}

fn mail(messages: &[MessageView], remaining: u64, unreadable: u64, now: Timestamp, out: &mut String) {
    for view in messages {
        message(view, now, out);
    }
    if messages.is_empty() && remaining == 0 {
        line(out, "no mail");
    }
    if remaining > 0 {
        line(out, &format!("{remaining} more"));
    }
    if unreadable > 0 {
        line(out, &format!("{unreadable} unreadable"));
    }
}

/// The UTF-16 units of a message as text, or a few more: what an output that may be cut can hold is counted by them.
pub fn units(view: &MessageView) -> usize {
    /// An age is longest in its largest unit.
    const AGE: usize = 12;
    let mut out = String::new();
    message(view, view.sent_at.unwrap_or_default(), &mut out);
    out.encode_utf16().count() + AGE
}

/// A headline, then the text with a bar before each line, so that no message can look like the program's own words.
fn message(view: &MessageView, now: Timestamp, out: &mut String) {
    let everybody = if view.broadcast { " to everybody" } else { "" };
    let age = ages::since(view.sent_at, now);
    line(out, &format!("{} from {}{everybody}, {age} ago  [{}]", view.kind, clean(&view.from.label), clean(&view.id)));
    if let Some(answered) = &view.reply_to {
        line(out, &format!("answers [{}]", clean(answered)));
    }
    if !view.paths.is_empty() {
        let mut paths = String::new();
        list("about ", &view.paths, &mut paths);
        line(out, &paths);
    }
    let text = view.text.as_deref().or(view.preview.as_deref()).unwrap_or_default();
    for part in text.split('\n') {
        line(out, &format!("  | {}", clean(&part.replace('\t', "    "))));
    }
}

fn list(before: &str, words: &[String], out: &mut String) {
    if words.is_empty() {
        return;
    }
    out.push_str(before);
    out.push_str(&words.iter().map(|word| clean(word).into_owned()).collect::<Vec<_>>().join(", "));
}

fn line(out: &mut String, text: &str) {
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(text);
    out.push('\n');
}

fn clean(text: &str) -> std::borrow::Cow<'_, str> {
    sanitise::clean(text)
}
