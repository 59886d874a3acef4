//! What the board shows, as lines of styled text for a width and a height.

mod bus;
mod help;
mod panes;
mod session;
mod sessions;

use jig_session_schema::time::Timestamp;
use jig_session_view::line::Line;
use jig_session_view::table::{Style, fit};
use jig_session_view::{ages, rows};

use crate::board::{Board, Pane, Question, Section, Tab};
use crate::list::List;

/// The smallest size that is drawn for; on a smaller terminal what does not fit is cut.
const LEAST: (usize, usize) = (20, 6);
/// The lines that what was asked for has at least beside a foot.
const LEAST_ROOM: usize = 8;

/// One screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Screen {
    /// Its lines from the top; none is wider than the screen.
    pub lines: Vec<Line>,
    /// Where the cursor stands, as column and row, while something is typed.
    pub cursor: Option<(u16, u16)>,
}

/// A part of the screen that is scrolled.
pub(crate) struct Body {
    /// Lines that stay above it.
    head: Vec<Line>,
    lines: Vec<Line>,
    /// The line that is to be seen, when there is a focus.
    focus: Option<usize>,
    /// Lines that stay below it, where there is room for them.
    foot: Vec<Line>,
}

impl Body {
    fn text(lines: Vec<Line>) -> Self {
        Self { head: Vec::new(), lines, focus: None, foot: Vec::new() }
    }
}

impl Board {
    /// The screen of this size. A board in a terminal fills it; a panel is as high as what it shows.
    pub fn screen(&mut self, width: usize, height: usize) -> Screen {
        let (width, height) = (width.max(LEAST.0), height.max(LEAST.1));
        let mut body = self.body(width, height);
        let mut lines = vec![self.top_line(width)];
        lines.append(&mut body.head);
        let rest = height.saturating_sub(lines.len() + 1);
        if body.foot.len() + LEAST_ROOM > rest {
            body.foot.clear();
        }
        let room = rest.saturating_sub(body.foot.len()).max(1);
        let count = body.lines.len();
        let list = self.shown_list();
        let top = match body.focus {
            Some(line) => list.top_for(line, count, room),
            None => list.top_of(count, room),
        };
        lines.extend(body.lines.into_iter().skip(top).take(room));
        if !self.panel {
            lines.resize(height.saturating_sub(1 + body.foot.len()), Line::new());
        } else if body.foot.is_empty() {
            lines.push(Line::new());
        }
        lines.append(&mut body.foot);
        lines.truncate(height - 1);
        lines.push(self.bottom_line(width, count.saturating_sub(top + room)));
        let cursor = self.typed.open.then(|| {
            let typed = Line::plain(&self.typed.text).width() + 1;
            (as_u16(typed.min(width - 1)), as_u16(lines.len() - 1))
        });
        let lines = lines.into_iter().map(|line| line.fit(width)).collect();
        Screen { lines, cursor }
    }

    fn shown_list(&mut self) -> &mut List {
        match &mut self.pane {
            Some(Pane::Session { list, .. } | Pane::Row { list, .. } | Pane::Help { list }) => list,
            None => &mut self.lists[self.tab.place()],
        }
    }

    fn body(&self, width: usize, height: usize) -> Body {
        match (&self.pane, self.tab) {
            (Some(Pane::Help { .. }), _) => Body::text(help::lines(self.panel)),
            (Some(Pane::Session { id, section, opened, list }), _) => {
                session::body(self, id, *section, opened.as_deref(), list.focus(), width)
            }
            (Some(Pane::Row { key, .. }), Tab::Sessions) => Body::text(bus::member(self, key)),
            (Some(Pane::Row { key, .. }), Tab::Inbox) => Body::text(bus::message(self, key, width)),
            (Some(Pane::Row { key, .. }), Tab::Claims) => Body::text(bus::claim(self, key)),
            (Some(Pane::Row { key, .. }), Tab::Panes) => Body::text(panes::pane(self, key, width)),
            (None, Tab::Sessions) => sessions::body(self, width, height),
            (None, Tab::Inbox) => bus::inbox(self, width),
            (None, Tab::Claims) => bus::claims(self, width),
            (None, Tab::Panes) => panes::body(self, width),
        }
    }

    /// The tabs, and what needs somebody.
    fn top_line(&self, width: usize) -> Line {
        let mut line = Line::new();
        for tab in &self.tabs {
            let name = Tab::ALL[tab.place()].1;
            let unread = match tab {
                Tab::Inbox => self.bus.status.me.as_ref().map_or(0, |me| me.unread),
                _ => 0,
            };
            let name = if unread > 0 { format!("{name} {unread}") } else { name.to_owned() };
            // Brackets say the same without colour.
            if *tab == self.tab {
                line.push(format!("[{name}]"), Style::Bold);
            } else {
                line.push(format!(" {name} "), Style::Dim);
            }
        }
        let entries = self.sessions.entries.iter();
        let waiting = entries.clone().filter(|entry| entry.waits()).count();
        let mut words = rows::counts(entries.map(|entry| &entry.row));
        let style = if waiting > 0 { Style::Red } else { Style::Dim };
        let room = width.saturating_sub(line.width() + 2);
        // The last counts are those that matter least.
        while let Some((kept, _)) = words.rsplit_once(", ").filter(|_| Line::plain(&words).width() > room) {
            words = kept.to_owned();
        }
        let counts = match waiting {
            _ if Line::plain(&words).width() <= room => Line::of(words, style),
            0 => Line::new(),
            count if room >= 8 => Line::of(format!("{count} wait"), style),
            count => Line::of(fit(&format!("{count}!"), room), style),
        };
        line.beside(counts, width)
    }

    /// A question, what came of the last key, the filter, or the keys that do something here.
    fn bottom_line(&self, width: usize, more: usize) -> Line {
        if let Some(question) = &self.question {
            return Line::of(
                match question {
                    Question::Release(path) => format!("release {path}? y/N"),
                    Question::Reload(_) => "reload its agent once it is idle? y/N".to_owned(),
                    Question::Copy { .. } => "copy: y id, p path of its file, f folder".to_owned(),
                },
                Style::Bold,
            );
        }
        if self.typed.open {
            let line = Line::of("/", Style::Bold).with(&self.typed.text, Style::Plain);
            let wrong = self.typed.wrong.as_ref().map(|wrong| Line::of(wrong, Style::Yellow)).unwrap_or_default();
            let room = width.saturating_sub(line.width() + 3);
            return line.beside(wrong.fit(room), width);
        }
        if !self.said.is_empty() {
            return Line::of(&self.said, Style::Yellow);
        }
        let filter = if self.typed.text.is_empty() { String::new() } else { format!("  /{}", self.typed.text) };
        let below = if more > 0 { format!("  {more} more") } else { String::new() };
        let right = Line::of(below, Style::Dim).with(filter, Style::Yellow);
        let room = width.saturating_sub(right.width());
        let mut keys = Line::new();
        for (key, does) in self.keys() {
            let next = Line::of(if keys.width() > 0 { "  " } else { "" }, Style::Plain)
                .with(*key, Style::Bold)
                .with(format!(" {does}"), Style::Dim);
            // A key that is not there in whole is not there.
            if keys.width() + next.width() > room {
                break;
            }
            keys = keys.followed_by(next);
        }
        keys.beside(right, width)
    }

    /// The keys that do something here, the one that is wanted most first.
    fn keys(&self) -> &'static [(&'static str, &'static str)] {
        match (&self.pane, self.tab) {
            (Some(Pane::Session { section: Section::Requests, .. }), _) => {
                &[("Esc", "back"), ("Enter", "switch"), ("r", "reload"), ("Tab", "section"), ("a", "go there")]
            }
            (Some(Pane::Session { .. }), _) => {
                &[("Esc", "back"), ("Tab", "section"), ("a", "go there"), ("y", "copy"), ("↑↓", "scroll")]
            }
            (Some(_), _) => &[("Esc", "back"), ("↑↓", "scroll")],
            (None, Tab::Sessions) => &[
                ("?", "keys"),
                ("q", "quit"),
                ("Enter", "open"),
                ("a", "go there"),
                ("Tab", "next"),
                ("/", "filter"),
                ("y", "copy"),
            ],
            (None, Tab::Claims) => &[
                ("?", "keys"),
                ("q", "quit"),
                ("Enter", "open"),
                ("x", "release"),
                ("w", "listen"),
                ("Tab", "next"),
                ("/", "filter"),
            ],
            (None, Tab::Inbox) => {
                &[("?", "keys"), ("q", "quit"), ("Enter", "open"), ("w", "listen"), ("Tab", "next"), ("/", "filter")]
            }
            (None, Tab::Panes) => {
                &[("?", "keys"), ("q", "quit"), ("Enter", "open"), ("a", "go there"), ("Tab", "next"), ("/", "filter")]
            }
        }
    }

    pub(crate) fn age(&self, at: Option<Timestamp>) -> String {
        self.now.map(|now| ages::since(at, now)).unwrap_or_default()
    }
}

/// A name and its value.
pub(crate) fn fact(name: &str, value: impl AsRef<str>) -> Line {
    Line::of(format!(" {name:<10}"), Style::Dim).with(" ", Style::Plain).with(value, Style::Plain)
}

/// The titles of a table, and its rows, the focused one marked.
pub(crate) fn marked(mut lines: Vec<Line>, focus: usize) -> (Line, Vec<Line>) {
    let rows = lines.split_off(1.min(lines.len()));
    let titles = lines.pop().unwrap_or_default().indented(2);
    let rows = rows.into_iter().enumerate().map(|(place, line)| mark(line, place == focus)).collect();
    (titles, rows)
}

/// A row with the mark of the focus before it.
pub(crate) fn mark(line: Line, focused: bool) -> Line {
    let before = if focused { Line::of("> ", Style::Bold) } else { Line::plain("  ") };
    before.followed_by(line).selected(focused)
}

pub(crate) fn as_u16(value: usize) -> u16 {
    u16::try_from(value).unwrap_or(u16::MAX)
}
