//! What a document can hold. Each text is bounded where it comes in, and what is too large for a whole document gives
//! way, the largest list first: `state` and `attention` are written whatever else there is.

use std::borrow::Cow;

use jig_session_schema::event::Event;
use jig_session_schema::limits::{PATH_BYTES, STATUS_BYTES, TEXT_CHARS};
use jig_session_schema::shape::Unknown;
use jig_session_schema::status::{Answer, ContextDetail, Model, Status, Ticket, Workflow};

use crate::Refused;

/// An event as it is taken: ids of calls are cut, always in the same way, so that an end still finds its start.
///
/// # Errors
/// When a text that must not be cut is longer than a path: the session's id, or its folder.
pub(crate) fn event(event: &Event) -> Result<Cow<'_, Event>, Refused> {
    if let Event::Session(event) = event {
        if event.session.len() > PATH_BYTES {
            return Err(Refused::LongId);
        }
        if event.cwd.as_ref().is_some_and(|cwd| cwd.len() > PATH_BYTES) {
            return Err(Refused::LongFolder);
        }
    }
    let id = match event {
        Event::Tool(event) => event.id.as_deref(),
        Event::Decision(event) => Some(event.id.as_str()),
        Event::Attention(event) => event.id.as_deref(),
        _ => None,
    };
    if id.is_none_or(|id| kept(id) == id.len()) {
        return Ok(Cow::Borrowed(event));
    }
    let mut event = event.clone();
    match &mut event {
        Event::Tool(event) => optional(&mut event.id),
        Event::Decision(event) => text(&mut event.id),
        Event::Attention(event) => optional(&mut event.id),
        _ => {}
    }
    Ok(Cow::Owned(event))
}

/// A path that was left out, and how long it was.
pub(crate) type LeftOut = (&'static str, usize);

/// Bounds every text of a document; what was left out is added to a list. A document that fits is not touched.
pub(crate) fn document(status: &mut Status, left_out: &mut Vec<LeftOut>) {
    for (field, required) in [("cwd", &mut status.cwd), ("agentDir", &mut status.agent_dir)] {
        if required.len() > PATH_BYTES {
            left_out.push((field, required.len()));
            required.clear();
        }
    }
    path("transcript", &mut status.transcript, left_out);
    path("tmuxSocket", &mut status.tmux_socket, left_out);
    for field in
        [&mut status.name, &mut status.terminal, &mut status.terminal_from, &mut status.thinking, &mut status.tmux_pane]
    {
        optional(field);
    }
    if let Some(agent) = &mut status.agent {
        optional(&mut agent.version);
    }
    if let Some(Model { provider, id, name, .. }) = &mut status.model {
        text(id);
        optional(provider);
        optional(name);
    }
    if let Some(Ticket { key, title, url, .. }) = &mut status.ticket {
        text(key);
        optional(title);
        path("ticket.url", url, left_out);
    }
    if let Some(Workflow { name, stages, current, since, problem, .. }) = &mut status.workflow {
        stages.iter_mut().for_each(text);
        [name, current, since, problem].into_iter().for_each(optional);
    }
    entries("outputs", &mut status.outputs, |output| &output.path, left_out);
    for output in &mut status.outputs {
        path("outputs.repo", &mut output.repo, left_out);
    }
    if let Some(detail) = &mut status.context_detail {
        context(detail, left_out);
    }
}

fn context(detail: &mut ContextDetail, left_out: &mut Vec<LeftOut>) {
    for tool in &mut detail.tools {
        text(&mut tool.name);
        optional(&mut tool.source);
    }
    for skill in &mut detail.skills {
        text(&mut skill.name);
        path("contextDetail.skills.path", &mut skill.path, left_out);
    }
    entries("contextDetail.contextFiles", &mut detail.context_files, |file| &file.path, left_out);
}

/// An answer as it is kept.
pub(crate) fn answer(mut answer: Answer) -> Answer {
    text(&mut answer.message);
    answer
}

/// Where a text ends that is kept, in bytes.
fn kept(text: &str) -> usize {
    if text.len() <= TEXT_CHARS {
        return text.len();
    }
    text.char_indices().nth(TEXT_CHARS).map_or(text.len(), |(end, _)| end)
}

fn text(text: &mut String) {
    text.truncate(kept(text));
}

fn optional(field: &mut Option<String>) {
    field.iter_mut().for_each(text);
}

fn path(field: &'static str, value: &mut Option<String>, left_out: &mut Vec<LeftOut>) {
    if let Some(long) = value.take_if(|path| path.len() > PATH_BYTES) {
        left_out.push((field, long.len()));
    }
}

fn entries<T>(list: &'static str, entries: &mut Vec<T>, path: fn(&T) -> &str, left_out: &mut Vec<LeftOut>) {
    entries.retain(|entry| {
        let bytes = path(entry).len();
        if bytes > PATH_BYTES {
            left_out.push((list, bytes));
        }
        bytes <= PATH_BYTES
    });
}

/// How a field gives way; false when it has nothing more to give.
type GiveWay = fn(&mut Status) -> bool;

/// What gives way when a document is too large. Each list has what matters most at its beginning. What another version
/// put beside a value goes before the value.
const GIVE_WAY: &[(&str, GiveWay)] = &[
    ("contextDetail", context_gives_way),
    ("outputs", |status| halve(&mut status.outputs)),
    ("recent", |status| halve(&mut status.recent)),
    ("recentRequests", |status| halve(&mut status.recent_requests)),
    ("children", |status| halve(&mut status.children)),
    ("accepts", |status| status.accepts.as_mut().is_some_and(halve)),
    ("workflow", |status| status.workflow.take().is_some()),
    ("lastRequest", |status| status.last_request.take().is_some()),
    ("ticket", |status| status.ticket.as_mut().is_some_and(|ticket| forget(&mut ticket.unknown))),
    ("model", |status| status.model.as_mut().is_some_and(|model| forget(&mut model.unknown))),
    ("agent", |status| status.agent.as_mut().is_some_and(|agent| forget(&mut agent.unknown))),
    ("process", |status| status.process.as_mut().is_some_and(|process| forget(&mut process.unknown))),
    ("publisher", |status| status.publisher.as_mut().is_some_and(|publisher| forget(&mut publisher.unknown))),
    ("attention", |status| status.attention.as_mut().is_some_and(|attention| forget(&mut attention.unknown))),
    ("context", |status| forget(&mut status.context.unknown)),
    ("usage", |status| forget(&mut status.usage.unknown)),
    ("tools", |status| forget(&mut status.tools.unknown)),
];

/// The shares of single tools, skills and files go before the parts of the whole.
fn context_gives_way(status: &mut Status) -> bool {
    let Some(detail) = &mut status.context_detail else { return false };
    if detail.tools.is_empty() && detail.skills.is_empty() && detail.context_files.is_empty() {
        status.context_detail = None;
        return true;
    }
    detail.tools.clear();
    detail.skills.clear();
    detail.context_files.clear();
    true
}

fn halve<T>(list: &mut Vec<T>) -> bool {
    let before = list.len();
    list.truncate(before / 2);
    before > 0
}

fn forget(unknown: &mut Unknown) -> bool {
    !std::mem::take(unknown).fields().is_empty()
}

/// The document as bytes, in place of what the buffer held. While no reader would take it, its largest field gives way;
/// the names of those that did.
pub(crate) fn fit(status: &mut Status, text: &mut Vec<u8>) -> Vec<String> {
    let mut gave_way = Vec::new();
    loop {
        text.clear();
        // Our shapes have string keys and finite numbers or null only: into a buffer they can always be written.
        if serde_json::to_writer(&mut *text, status).is_ok() && text.len() <= STATUS_BYTES {
            return gave_way;
        }
        let Some(field) = largest_gives_way(status) else { return gave_way };
        if !gave_way.contains(&field) {
            gave_way.push(field);
        }
    }
}

fn largest_gives_way(status: &mut Status) -> Option<String> {
    let mut fields: Vec<(usize, String)> =
        status.to_document().into_iter().map(|(name, value)| (value.to_string().len(), name)).collect();
    fields.sort_unstable_by(|a, b| b.cmp(a));
    fields.into_iter().map(|(_, name)| name).find(|name| {
        if status.unknown.fields().contains_key(name) {
            return forget(&mut status.unknown);
        }
        GIVE_WAY.iter().find(|(known, _)| known == name).is_some_and(|(_, give_way)| give_way(status))
    })
}
