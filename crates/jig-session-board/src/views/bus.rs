//! Mail and claims of the session bus; mail is looked at and never taken.

use jig_session_schema::bus_result::MemberState;
use jig_session_view::line::Line;
use jig_session_view::table::{Cell, Column, Style, Table, wrap};
use jig_session_view::{bus as words, rows};

use super::{Body, fact, marked};
use crate::board::Board;

const MAIL: [Column; 4] = [
    Column::new("KIND", 5, 2),
    Column::new("FROM", 8, 0),
    Column::new("AGO", 3, 1).right(),
    Column::new("BEGINS", 10, 0),
];

const CLAIMS: [Column; 4] = [
    Column::new("PATH", 12, 0),
    Column::new("HELD BY", 8, 0),
    Column::new("SINCE", 4, 2).right(),
    Column::new("REASON", 6, 1),
];

/// Who one is on this bus.
fn me(board: &Board) -> Line {
    let bus = &board.bus;
    if let Some(trouble) = &bus.trouble {
        return Line::of(trouble, Style::Yellow);
    }
    if bus.at.is_none() {
        return Line::of("looking …", Style::Dim);
    }
    let repo = bus.status.repo.as_ref().map(|repo| rows::folder(&repo.path, &board.home)).unwrap_or_default();
    let line = Line::of(format!("{repo}  "), Style::Bold);
    match &bus.status.me {
        Some(me) => {
            let listens = match words::listens(me) {
                "" => "not listening (w begins)".to_owned(),
                how => format!("listening: {how}"),
            };
            line.with(format!("you are {}, {listens}, {} unread", me.label, me.unread), Style::Plain)
        }
        None => line.with("you are not on this bus; w joins it", Style::Dim),
    }
}

pub(super) fn inbox(board: &Board, width: usize) -> Body {
    let mut table = Table::new(&MAIL);
    for place in &board.shown.mail {
        let mail = &board.bus.mail[*place];
        let kind = if mail.kind.as_str() == "handoff" { Style::Red } else { Style::Plain };
        table.push(vec![
            Cell::new(mail.kind.as_str()).style(kind),
            Cell::new(&mail.from.label).style(Style::Bold),
            Cell::new(board.age(mail.sent_at)),
            Cell::new(mail.preview.as_deref().unwrap_or_default()),
        ]);
    }
    listed(board, &table, width, "no unread mail")
}

pub(super) fn claims(board: &Board, width: usize) -> Body {
    let own = board.bus.status.me.as_ref().map(|me| me.id.as_str());
    let mut table = Table::new(&CLAIMS);
    for place in &board.shown.claims {
        let claim = &board.bus.status.claims[*place];
        let is_own = own == Some(claim.session.as_str());
        let path = if claim.dir && claim.path != "." { format!("{}/", claim.path) } else { claim.path.clone() };
        let label = if is_own { format!("{} (you)", claim.label) } else { claim.label.clone() };
        table.push(vec![
            Cell::path(path).style(if is_own { Style::Bold } else { Style::Plain }),
            Cell::new(label).style(if claim.state == MemberState::Live { Style::Plain } else { Style::Dim }),
            Cell::new(board.age(claim.since)),
            Cell::new(claim.reason.as_deref().unwrap_or_default()),
        ]);
    }
    let mut body = listed(board, &table, width, "nothing is held");
    for (one, other) in &board.bus.status.overlaps {
        body.foot.push(Line::of(format!("{one} and {other} overlap"), Style::Yellow));
    }
    body
}

fn listed(board: &Board, table: &Table, width: usize, nothing: &str) -> Body {
    let mut head = vec![me(board), Line::new()];
    if table.is_empty() {
        let text = if board.bus.at.is_none() { "" } else { nothing };
        let lines = vec![Line::of(format!("  {text}"), Style::Dim)];
        return Body { head, lines, focus: Some(0), foot: Vec::new() };
    }
    let focus = board.list().focus();
    let (titles, lines) = marked(table.lines(Some(width.saturating_sub(2))), focus);
    head.push(titles);
    Body { head, lines, focus: Some(focus), foot: Vec::new() }
}

/// A message in full, as far as it is looked at.
pub(super) fn message(board: &Board, key: &str, width: usize) -> Vec<Line> {
    let Some(mail) = board.bus.mail.iter().find(|mail| mail.id == key) else {
        return gone("it was read, or it is over a day old");
    };
    let mut lines = vec![
        Line::new(),
        fact("from", format!("{}, {} ago", mail.from.label, board.age(mail.sent_at))),
        fact("kind", if mail.broadcast { format!("{}, to everybody", mail.kind) } else { mail.kind.to_string() }),
    ];
    if !mail.paths.is_empty() {
        lines.push(fact("about", mail.paths.join(", ")));
    }
    lines.push(Line::new());
    let text = mail.preview.as_deref().unwrap_or_default();
    lines.extend(wrap(text, width.saturating_sub(2)).iter().map(|line| Line::plain(format!(" {line}"))));
    lines.push(Line::new());
    lines.push(Line::of(" jig-session bus inbox shows it whole, and takes it", Style::Dim));
    lines
}

pub(super) fn claim(board: &Board, key: &str) -> Vec<Line> {
    let Some(claim) = board.bus.status.claims.iter().find(|claim| claim.path == key) else {
        return gone("nobody holds it any more");
    };
    vec![
        Line::new(),
        fact("path", if claim.dir { format!("{} and all below it", claim.path) } else { claim.path.clone() }),
        fact("held by", format!("{} ({})", claim.label, claim.session)),
        fact("who is", claim.state.as_str()),
        fact("since", format!("{} ago", board.age(claim.since))),
        fact("reason", claim.reason.as_deref().unwrap_or("none given")),
    ]
}

/// A member in full.
pub(super) fn member(board: &Board, key: &str) -> Vec<Line> {
    let id = key.strip_prefix("member\n").unwrap_or(key);
    let Some(member) = board.bus.status.members.iter().find(|member| member.id == id) else {
        return gone("it has left the bus");
    };
    let mut lines = vec![
        Line::new(),
        fact("label", &member.label),
        fact("id", &member.id),
        fact("agent", format!("{} {}", member.agent, member.model.as_deref().unwrap_or_default())),
        fact("state", format!("{}, last beat {} ago", member.state.as_str(), board.age(member.beat_at))),
        fact("folder", rows::folder(&member.cwd, &board.home)),
        fact("branch", member.branch.as_deref().unwrap_or("none")),
        fact("listens", Some(words::listens(member)).filter(|how| !how.is_empty()).unwrap_or("no")),
        fact("unread", member.unread.to_string()),
    ];
    let held = board.bus.status.claims.iter().filter(|claim| claim.session == member.id);
    lines.extend(held.map(|claim| fact("holds", &claim.path)));
    lines
}

pub(super) fn gone(why: &str) -> Vec<Line> {
    vec![Line::new(), Line::of(format!(" {why}"), Style::Dim)]
}
