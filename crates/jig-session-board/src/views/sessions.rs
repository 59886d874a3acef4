//! The list of sessions, by repository or folder.

use jig_session_schema::bus_result::Member;
use jig_session_schema::row::Verdict;
use jig_session_schema::status::ChildState;
use jig_session_view::line::Line;
use jig_session_view::table::{Cell, Column, Style, Table};
use jig_session_view::{ages, bus as bus_words, rows};

use super::{Body, mark};
use crate::arrange::{Heading, Item};
use crate::board::Board;
use crate::model::Entry;

/// The columns on a screen of this width.
fn columns(width: usize) -> [Column; 12] {
    let gauge = if gauge_cells(width).is_some() { 10 } else { 4 };
    [
        Column::new("STATE", 8, 0),
        Column::new("FOR", 3, 2).right(),
        Column::new("AGENT", 6, 4),
        Column::new("SESSION", 12, 0),
        Column::new("MODEL", 6, 7).yields(),
        Column::new("CONTEXT", gauge, 3),
        Column::new("COST", 6, 6).right(),
        Column::new("LAST CALL", 9, 5).yields(),
        Column::new("BG", 2, 8).right(),
        Column::new("BUS", 6, 11),
        Column::new("TERM", 3, 9),
        Column::new("AGE", 3, 10).right(),
    ]
}

/// From which width of the screen on there is a gauge, and of how many cells.
const GAUGES: [(usize, usize); 2] = [(120, 8), (76, 5)];
/// From these shares on a context is nearly full, and full.
const FULL: [f64; 2] = [65.0, 85.0];
/// On a lower screen every line counts, and no empty one stands between two groups.
const ROOMY: usize = 20;

pub(super) fn body(board: &Board, width: usize, height: usize) -> Body {
    let items = &board.shown.sessions;
    if items.is_empty() {
        return Body::text(nothing(board));
    }
    let mut table = Table::new(&columns(width));
    let mut members = Table::new(&MEMBERS);
    for item in items {
        match item {
            Item::Session(place) => table.push(cells(board, &board.sessions.entries[*place], width)),
            Item::Member(place) => members.push(member_cells(board, &board.bus.status.members[*place])),
            Item::Group(_) => {}
        }
    }
    let room = width.saturating_sub(2);
    let mut sessions = table.lines(Some(room)).into_iter();
    let titles = sessions.next().unwrap_or_default().indented(2);
    let mut members = members.lines(Some(room)).into_iter().skip(1);
    let (mut lines, mut focus, mut row) = (Vec::with_capacity(items.len() + 8), 0, 0);
    for item in items {
        let line = match item {
            Item::Group(heading) => {
                if !lines.is_empty() && height >= ROOMY {
                    lines.push(Line::new());
                }
                lines.push(title_of(board, heading, width));
                continue;
            }
            Item::Session(_) => sessions.next(),
            Item::Member(_) => members.next(),
        };
        let focused = row == board.list().focus();
        if focused {
            // The first row is seen with its heading.
            focus = if row == 0 { 0 } else { lines.len() };
        }
        row += 1;
        lines.push(mark(line.unwrap_or_default(), focused));
    }
    let mut foot: Vec<Line> = board.sessions.problems.iter().map(|text| Line::of(text, Style::Yellow)).collect();
    foot.extend(band(board));
    Body { head: vec![titles], lines, focus: Some(focus), foot }
}

/// The figures of the call logs.
pub(super) fn band(board: &Board) -> Vec<Line> {
    let lines = board.band.iter().map(|text| Line::of(text, Style::Dim));
    let rule = (!board.band.is_empty()).then(Line::new);
    rule.into_iter().chain(lines).collect()
}

fn nothing(board: &Board) -> Vec<Line> {
    if board.sessions.at.is_none() {
        return vec![Line::new(), Line::of("  looking …", Style::Dim)];
    }
    if !board.sessions.entries.is_empty() {
        let hidden = board.sessions.entries.len();
        let text = format!("  none of {hidden} sessions matches the filter; Esc takes it away");
        return vec![Line::new(), Line::plain(text)];
    }
    let mut lines = vec![Line::new(), Line::of("  No live session.", Style::Bold), Line::new()];
    for (command, about) in [
        ("jig-session hooks install AGENT", "has an agent publish its sessions"),
        ("jig-session run PROGRAM", "publishes any program in a terminal"),
        ("jig-session demo", "plays a recorded session"),
    ] {
        lines.push(Line::plain(format!("  {command:<34}")).with(about, Style::Dim));
    }
    lines.push(Line::new());
    lines.extend(board.sessions.problems.iter().map(|text| Line::of(format!("  {text}"), Style::Yellow)));
    lines
}

fn title_of(board: &Board, heading: &Heading, width: usize) -> Line {
    let counted = |count: usize, one: &str, many: &str| format!("  {count} {}", if count == 1 { one } else { many });
    match heading {
        Heading::Pinned { count } => {
            Line::of("pinned", Style::Bold).with(counted(*count, "session", "sessions"), Style::Dim)
        }
        Heading::Members { count } => {
            let repo = board.bus.status.repo.as_ref().map_or("", |repo| repo.path.as_str());
            let line = Line::of(format!("session bus {}", rows::folder(repo, &board.home)), Style::Bold);
            line.with(counted(*count, "member without a row above", "members without a row above"), Style::Dim)
        }
        Heading::Folder { path, count, waiting } => {
            let counts = Line::of(counted(*count, "session", "sessions"), Style::Dim);
            let waits = if *waiting > 0 { counted(*waiting, "needs you", "need you") } else { Default::default() };
            let counts = counts.with(waits, Style::Red);
            let room = width.saturating_sub(counts.width());
            let path = if path.is_empty() { "no folder".to_owned() } else { rows::folder(path, &board.home) };
            Line::of(shortened(&path, room), Style::Bold).followed_by(counts)
        }
    }
}

/// A path that keeps its end, where paths differ.
pub(super) fn shortened(path: &str, room: usize) -> String {
    let path = jig_session_view::sanitise::clean(path);
    let count = path.chars().count();
    if count <= room || room == 0 {
        return path.into_owned();
    }
    let end: String = path.chars().skip(count - room.saturating_sub(1)).collect();
    format!("…{end}")
}

fn cells(board: &Board, entry: &Entry, width: usize) -> Vec<Cell> {
    let row = &entry.row;
    let (state, style) = state(entry);
    let quiet = style == Style::Dim || row.verdict != Verdict::Alive;
    let plain = if quiet { Style::Dim } else { Style::Plain };
    let host = row.host.as_ref().map(|host| format!(" @{host}")).unwrap_or_default();
    let model = row.model.as_ref().map_or("", |model| model.name.as_deref().unwrap_or(&model.id));
    let (context, context_style) = gauge(row.context.percent, width);
    vec![
        Cell::new(state).style(style),
        Cell::new(board.age(rows::in_state_since(row))).style(if style == Style::Red { style } else { plain }),
        Cell::new(&*row.agent_name()).style(plain),
        Cell::new(format!("{}{host}", rows::title(row))).of(&row.session).style(if quiet {
            Style::Dim
        } else {
            Style::Bold
        }),
        Cell::new(model).style(plain),
        Cell::new(context).style(if quiet { Style::Dim } else { context_style }),
        Cell::new(ages::dollars(row.usage.as_ref().and_then(|usage| usage.cost))).style(plain),
        Cell::new(last_call(entry)).style(plain),
        Cell::new(background(entry)).style(plain),
        Cell::new(on_bus(board, entry)).style(plain),
        Cell::new(row.terminal.as_deref().or(row.tmux_pane.as_deref()).unwrap_or_default()).style(Style::Dim),
        match entry.lost {
            Some(at) => Cell::new(format!("last seen {}", board.age(Some(at)))).style(Style::Dim),
            None => Cell::new(board.age(row.started_at)).style(Style::Dim),
        },
    ]
}

/// The state in one or two words, and how it is shown.
pub(super) fn state(entry: &Entry) -> (String, Style) {
    let (state, style) = rows::state(&entry.row);
    (state, if entry.lost.is_some() { Style::Dim } else { style })
}

/// How full the context is, as a bar and in percent; what is full has a mark that needs no colour.
pub(super) fn gauge(percent: Option<f64>, width: usize) -> (String, Style) {
    let Some(percent) = percent.filter(|percent| percent.is_finite()) else { return (String::new(), Style::Plain) };
    let style = match percent {
        _ if percent >= FULL[1] => Style::Red,
        _ if percent >= FULL[0] => Style::Yellow,
        _ => Style::Plain,
    };
    let mark = if percent >= FULL[1] { "!" } else { "" };
    let number = format!("{}{mark}", ages::percent(Some(percent)));
    let Some(cells) = gauge_cells(width) else { return (number, style) };
    // Anything at all shows one cell, and only a full one all of them.
    let share = percent.clamp(0.0, 100.0) / 100.0;
    let full = (share * cells as f64).round() as usize;
    let full = full.clamp(usize::from(percent >= 1.0), if percent >= 99.5 { cells } else { cells - 1 });
    (format!("{}{} {number:>4}", "━".repeat(full), "┄".repeat(cells - full)), style)
}

fn gauge_cells(width: usize) -> Option<usize> {
    GAUGES.iter().find(|(least, _)| width >= *least).map(|(_, cells)| *cells)
}

/// The newest call: what it was, and how it ended unless it went well.
fn last_call(entry: &Entry) -> String {
    let Some(call) = &entry.recent else { return String::new() };
    let action = call.action.as_ref().map(|action| format!(" {action}")).unwrap_or_default();
    let outcome = match call.outcome.as_str() {
        "ok" => String::new(),
        "running" => " …".to_owned(),
        other => format!(" ({other})"),
    };
    format!("{}{action}{outcome}", call.tool)
}

/// How many run in the background; marked when one of them waits for somebody.
pub(super) fn background(entry: &Entry) -> String {
    let count = entry.row.background.unwrap_or_default();
    let blocked = entry.children.iter().filter(|child| child.state == ChildState::BLOCKED).count();
    match (count, blocked) {
        (0, 0) => String::new(),
        (count, 0) => count.to_string(),
        (count, _) => format!("{count}!"),
    }
}

/// The session's label on the bus, and its unread mail.
fn on_bus(board: &Board, entry: &Entry) -> String {
    let member = board.bus.status.members.iter().find(|member| member.id == entry.row.session);
    match member {
        None => String::new(),
        Some(member) if member.unread == 0 => member.label.clone(),
        Some(member) => format!("{} +{}", member.label, member.unread),
    }
}

const MEMBERS: [Column; 6] = [
    Column::new("", 8, 0),
    Column::new("", 4, 0),
    Column::new("", 4, 4),
    Column::new("", 4, 3),
    Column::new("", 4, 2),
    Column::new("", 4, 1).right(),
];

fn member_cells(board: &Board, member: &Member) -> Vec<Cell> {
    let counted = |count: u64, word: &str| if count == 0 { String::new() } else { format!("{count} {word}") };
    let listens = bus_words::listens(member);
    vec![
        Cell::new(&member.label).style(Style::Bold),
        Cell::new(member.state.as_str()),
        Cell::new(&*member.agent),
        Cell::new(if listens.is_empty() { String::new() } else { format!("listens: {listens}") }),
        Cell::new([counted(member.unread, "unread"), counted(member.claims, "held")].join(" ").trim()),
        Cell::new(board.age(member.beat_at)).style(Style::Dim),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gauge_says_what_its_number_says() {
        for (percent, text) in [
            (0.0, "┄┄┄┄┄   0%"),
            (0.4, "┄┄┄┄┄   0%"),
            (1.0, "━┄┄┄┄   1%"),
            (18.0, "━┄┄┄┄  18%"),
            (50.0, "━━━┄┄  50%"),
            (84.9, "━━━━┄  85%"),
            (99.0, "━━━━┄ 99%!"),
            (100.0, "━━━━━ 100%!"),
            (140.0, "━━━━━ 140%!"),
        ] {
            assert_eq!(gauge(Some(percent), 80).0, text);
        }
        assert_eq!(gauge(Some(71.2), 40), ("71%".into(), Style::Yellow));
        assert_eq!(gauge(None, 80).0, "");
        assert_eq!(gauge(Some(f64::NAN), 80).0, "");
    }

    #[test]
    fn a_long_path_keeps_its_end() {
        assert_eq!(shortened("~/shop/api", 20), "~/shop/api");
        assert_eq!(shortened("~/a/very/long/path/api", 10), "…/path/api");
        assert_eq!(shortened("abc", 0), "abc");
    }
}
