//! The panel of `/context`: lines that fit the terminal, scrolled by keys, closed by any other usual key.

use jig_session_schema::status::Status;
use serde_json::Value;

use super::show;

/// Rows that are left to Pi around the panel.
const AROUND: usize = 8;
/// Keys that scroll, and by how many lines.
const SCROLL: &[(&str, isize)] =
    &[("\u{1b}[A", -1), ("k", -1), ("\u{1b}[B", 1), ("j", 1), ("\u{1b}[5~", -10), ("\u{1b}[6~", 10), (" ", 10)];
/// Keys that close it.
const CLOSE: &[&str] = &["q", "\u{1b}", "\r", "\n"];

pub(super) struct ContextPanel {
    status: Option<Status>,
    width: usize,
    rows: usize,
    top: usize,
}

impl ContextPanel {
    /// Shows the context as it is now.
    pub(super) fn new(status: Option<&Status>) -> Self {
        Self { status: status.cloned(), width: show::WIDTH, rows: 24, top: 0 }
    }

    /// Takes a key or a size; false: the panel is to be closed.
    pub(super) fn key(&mut self, line: &Value) -> bool {
        let number = |name: &str| line[name].as_u64().and_then(|number| usize::try_from(number).ok());
        if let Some(width) = number("width") {
            self.width = width;
        }
        if let Some(rows) = number("rows") {
            self.rows = rows;
        }
        let Some(key) = line["data"].as_str() else { return true };
        if CLOSE.contains(&key) {
            return false;
        }
        if let Some((_, by)) = SCROLL.iter().find(|(name, _)| *name == key) {
            self.top = self.top.saturating_add_signed(*by);
        }
        true
    }

    /// What fits.
    pub(super) fn lines(&mut self) -> Vec<String> {
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
    use serde_json::json;

    use super::*;

    #[test]
    fn it_scrolls_within_its_lines_and_closes() {
        let mut panel = ContextPanel::new(None);
        assert!(panel.key(&json!({ "width": 40, "rows": 30 })));
        assert_eq!(panel.lines().last().map(String::as_str), Some("q closes"));
        assert!(panel.key(&json!({ "data": "\u{1b}[B" })));
        panel.lines();
        assert_eq!(panel.top, 0, "there is nothing below");
        for key in CLOSE {
            assert!(!panel.key(&json!({ "data": key })), "{key:?}");
        }
    }
}
