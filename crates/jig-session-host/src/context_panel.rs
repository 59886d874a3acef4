//! The panel of `/context`: lines that fit the terminal, scrolled by keys, closed by any other usual key.

use jig_session_schema::bridge::Key;
use jig_session_schema::status::Status;

use crate::show;

/// Rows that are left to Pi around the panel.
const AROUND: usize = 8;
/// Keys that scroll, and by how many lines.
const SCROLL: &[(&str, isize)] =
    &[("\u{1b}[A", -1), ("k", -1), ("\u{1b}[B", 1), ("j", 1), ("\u{1b}[5~", -10), ("\u{1b}[6~", 10), (" ", 10)];
/// Keys that close it.
const CLOSE: &[&str] = &["q", "\u{1b}", "\r", "\n"];

pub(crate) struct ContextPanel {
    status: Option<Status>,
    width: usize,
    rows: usize,
    top: usize,
}

impl ContextPanel {
    /// Shows the context as it is now.
    pub(crate) fn new(status: Option<&Status>) -> Self {
        Self { status: status.cloned(), width: show::WIDTH, rows: 24, top: 0 }
    }

    /// Takes a key or a size; false: the panel is to be closed.
    pub(crate) fn key(&mut self, key: &Key) -> bool {
        self.width = show::cells(key.width, self.width);
        self.rows = show::cells(key.rows, self.rows);
        let Some(key) = &key.data else { return true };
        if CLOSE.contains(&key.as_str()) {
            return false;
        }
        if let Some((_, by)) = SCROLL.iter().find(|(name, _)| *name == *key) {
            self.top = self.top.saturating_add_signed(*by);
        }
        true
    }

    /// What fits.
    pub(crate) fn lines(&mut self) -> Vec<String> {
        let all = show::context(self.status.as_ref(), self.width, true);
        let room = self.rows.saturating_sub(AROUND).max(4);
        self.top = self.top.min(all.len().saturating_sub(room));
        let more = if all.len() > room { "up and down scroll, q closes" } else { "q closes" };
        let mut lines: Vec<_> = all.into_iter().skip(self.top).take(room).collect();
        lines.push(String::new());
        lines.push(more.to_owned());
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_scrolls_within_its_lines_and_closes() {
        let mut panel = ContextPanel::new(None);
        assert!(panel.key(&Key::new().width(Some(40)).rows(Some(30))));
        assert_eq!(panel.lines().last().map(String::as_str), Some("q closes"));
        assert!(panel.key(&Key::new().data(Some("\u{1b}[B".to_owned()))));
        panel.lines();
        assert_eq!(panel.top, 0, "there is nothing below");
        for key in CLOSE {
            assert!(!panel.key(&Key::new().data(Some((*key).to_owned()))), "{key:?}");
        }
    }
}
