//! A list with a focus, or a text that is scrolled: where it stands.

use crate::keys::Key;

/// Lines that a page moves by, before the screen's size is known.
const PAGE: usize = 10;

/// Where a list stands. The focus is on a row and follows it when the rows change their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct List {
    focus: usize,
    /// What tells the focused row apart.
    key: Option<String>,
    /// The first line that is shown.
    top: usize,
    page: usize,
}

impl List {
    pub(crate) fn focus(&self) -> usize {
        self.focus
    }

    /// Moves the focus within `count` rows.
    pub(crate) fn key(&mut self, key: Key, count: usize) {
        let last = count.saturating_sub(1);
        if let Some(focus) = moved(self.focus, self.page, key) {
            self.focus = focus.min(last);
            self.key = None;
        }
    }

    /// Scrolls a text; the end is known when it is drawn.
    pub(crate) fn scroll(&mut self, key: Key) {
        if let Some(top) = moved(self.top, self.page, key) {
            self.top = top;
        }
    }

    /// Takes the rows as they are now: the focus stays on its row, or near where it was.
    pub(crate) fn follow(&mut self, keys: &[String]) {
        if let Some(place) = self.key.as_ref().and_then(|key| keys.iter().position(|other| other == key)) {
            self.focus = place;
        }
        self.focus = self.focus.min(keys.len().saturating_sub(1));
        self.key = keys.get(self.focus).cloned();
    }

    /// The first line to show of `count`, when `line` is to be seen in `room` lines.
    pub(crate) fn top_for(&mut self, line: usize, count: usize, room: usize) -> usize {
        self.page = room.saturating_sub(1).max(1);
        self.top = self.top.min(line).max((line + 1).saturating_sub(room)).min(count.saturating_sub(room));
        self.top
    }

    /// The first line to show of a text of `count` lines in `room`.
    pub(crate) fn top_of(&mut self, count: usize, room: usize) -> usize {
        self.page = room.saturating_sub(1).max(1);
        self.top = self.top.min(count.saturating_sub(room));
        self.top
    }
}

fn moved(from: usize, page: usize, key: Key) -> Option<usize> {
    let page = if page == 0 { PAGE } else { page };
    Some(match key {
        Key::Up | Key::Char('k') => from.saturating_sub(1),
        Key::Down | Key::Char('j') => from.saturating_add(1),
        Key::PageUp => from.saturating_sub(page),
        Key::PageDown | Key::Char(' ') => from.saturating_add(page),
        Key::Home | Key::Char('g') => 0,
        Key::End | Key::Char('G') => usize::MAX / 2,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(names: &str) -> Vec<String> {
        names.chars().map(|name| name.to_string()).collect()
    }

    #[test]
    fn the_focus_stays_on_its_row_and_near_it_when_that_is_gone() {
        let mut list = List::default();
        list.follow(&keys("abc"));
        list.key(Key::Down, 3);
        list.follow(&keys("abc"));
        list.follow(&keys("bca"));
        assert_eq!(list.focus(), 0, "b is first now");
        list.follow(&keys("xcb"));
        assert_eq!(list.focus(), 2);
        list.follow(&keys("xc"));
        assert_eq!(list.focus(), 1, "b is gone");
        list.follow(&[]);
        assert_eq!(list.focus(), 0);
    }

    #[test]
    fn keys_move_within_the_rows() {
        let mut list = List::default();
        list.top_for(0, 30, 10);
        for (key, focus) in [
            (Key::Up, 0),
            (Key::Down, 1),
            (Key::PageDown, 10),
            (Key::End, 29),
            (Key::PageUp, 20),
            (Key::Char('g'), 0),
            (Key::Char('G'), 29),
            (Key::Char('x'), 29),
        ] {
            list.key(key, 30);
            assert_eq!(list.focus(), focus, "{key:?}");
        }
        list.key(Key::Down, 0);
        assert_eq!(list.focus(), 0);
    }

    #[test]
    fn the_focused_line_is_seen() {
        let mut list = List::default();
        assert_eq!(list.top_for(0, 30, 10), 0);
        assert_eq!(list.top_for(12, 30, 10), 3);
        assert_eq!(list.top_for(5, 30, 10), 3, "it is seen already");
        assert_eq!(list.top_for(1, 30, 10), 1);
        assert_eq!(list.top_for(29, 30, 40), 0);
    }
}
