//! The panel of `/sessions`: members, own mail, claims; what one may do there concerns oneself only.

mod text;

use jig_session_schema::bridge::Key;
use jig_session_schema::bus_result::{MessageView, StatusResult};
use jig_session_schema::time::Timestamp;

use crate::show;

/// Rows that are left to Pi around the panel.
const AROUND: usize = 8;

/// What the panel shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tab {
    Sessions,
    Inbox,
    Claims,
}

impl Tab {
    const ALL: [(Self, &'static str); 3] =
        [(Self::Sessions, "Sessions"), (Self::Inbox, "Inbox"), (Self::Claims, "Claims")];

    fn next(self) -> Self {
        match self {
            Self::Sessions => Self::Inbox,
            Self::Inbox => Self::Claims,
            Self::Claims => Self::Sessions,
        }
    }
}

/// What the host has to do after a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PanelAction {
    /// Draw the panel again.
    Redraw,
    /// Close the panel.
    Close,
    /// Begin or stop listening.
    Listen(bool),
    /// Release this path.
    Release(String),
}

/// The panel's state.
pub(crate) struct BusPanel {
    scope: Tab,
    status: StatusResult,
    mail: Vec<MessageView>,
    now: Option<Timestamp>,
    focus: usize,
    top: usize,
    /// One row is open: its lines.
    open: Option<Vec<String>>,
    /// The path of a claim that is released if the next key is `y`.
    confirming: Option<String>,
    /// A line at the bottom, until the next key.
    message: String,
    width: usize,
    rows: usize,
}

impl BusPanel {
    pub(crate) fn new() -> Self {
        Self {
            scope: Tab::Sessions,
            status: StatusResult::new(),
            mail: Vec::new(),
            now: None,
            focus: 0,
            top: 0,
            open: None,
            confirming: None,
            message: String::new(),
            width: 80,
            rows: 24,
        }
    }

    /// Shows what is there now.
    pub(crate) fn show(&mut self, status: StatusResult, mail: Vec<MessageView>, now: Timestamp) {
        self.status = status;
        self.mail = mail;
        self.now = Some(now);
        self.focus = self.focus.min(self.count().saturating_sub(1));
    }

    /// Shows one line at the bottom, until the next key.
    pub(crate) fn notify(&mut self, text: String) {
        self.message = text;
    }

    /// Takes a key or a size.
    pub(crate) fn key(&mut self, key: &Key) -> PanelAction {
        self.width = show::cells(key.width, self.width).max(20);
        self.rows = show::cells(key.rows, self.rows);
        let Some(key) = key.data.as_deref() else { return PanelAction::Redraw };
        self.message.clear();
        if let Some(path) = self.confirming.take() {
            // Anything but a plain yes keeps the claim.
            return if matches!(key, "y" | "Y") { PanelAction::Release(path) } else { PanelAction::Redraw };
        }
        match key {
            "\u{1b}" if self.open.take().is_some() => {
                self.top = 0;
                PanelAction::Redraw
            }
            "\u{1b}" | "q" => PanelAction::Close,
            "\t" => {
                self.scope = self.scope.next();
                (self.focus, self.top, self.open) = (0, 0, None);
                PanelAction::Redraw
            }
            "\r" | "\n" => {
                self.open = self.opened();
                self.top = 0;
                PanelAction::Redraw
            }
            "w" => PanelAction::Listen(self.status.me.as_ref().is_none_or(|me| me.listen.is_none())),
            "x" => self.release(),
            _ => {
                self.scroll(key);
                PanelAction::Redraw
            }
        }
    }

    fn scroll(&mut self, key: &str) {
        let page = self.room() as isize;
        let by = match key {
            "\u{1b}[A" | "k" => -1,
            "\u{1b}[B" | "j" => 1,
            "\u{1b}[5~" => -page,
            "\u{1b}[6~" => page,
            "g" => isize::MIN / 2,
            "G" => isize::MAX / 2,
            _ => return,
        };
        if self.open.is_some() {
            self.top = self.top.saturating_add_signed(by);
        } else {
            self.focus = self.focus.saturating_add_signed(by).min(self.count().saturating_sub(1));
        }
    }

    /// `x` asks before it releases an own claim, and refuses another's before the bus is asked.
    fn release(&mut self) -> PanelAction {
        let Some(claim) = self.status.claims.get(self.focus).filter(|_| self.scope == Tab::Claims) else {
            return PanelAction::Redraw;
        };
        if self.status.me.as_ref().is_none_or(|me| me.id != claim.session) {
            self.message = format!("{} is held by {}: only its holder releases it", claim.path, claim.label);
        } else {
            self.confirming = Some(claim.path.clone());
        }
        PanelAction::Redraw
    }

    fn count(&self) -> usize {
        match self.scope {
            Tab::Sessions => self.status.members.len(),
            Tab::Inbox => self.mail.len(),
            Tab::Claims => self.status.claims.len(),
        }
    }

    fn room(&self) -> usize {
        self.rows.saturating_sub(AROUND).max(4)
    }
}

#[cfg(test)]
mod tests {
    use jig_session_schema::bridge::Key;
    use jig_session_schema::bus_result::{HeldClaim, Member};
    use unicode_width::UnicodeWidthStr;

    use super::*;

    fn board() -> BusPanel {
        let me = Member::new().id("s-a".into()).label("alpha".into());
        let other = Member::new().id("s-b".into()).label("be\u{1b}[2Jta".into());
        let claim = |path: &str, id: &str| HeldClaim::new().path(path.into()).session(id.into()).label(id.into());
        let status = StatusResult::new()
            .me(Some(me.clone()))
            .members(vec![me, other])
            .claims(vec![claim("docs", "s-b"), claim("src", "s-a")]);
        let mail = vec![MessageView::new().preview(Some("one two three".into()))];
        let mut board = BusPanel::new();
        board.show(status, mail, Timestamp::from_epoch_ms(1_796_000_000_000));
        board
    }

    fn press(board: &mut BusPanel, keys: &[&str]) -> PanelAction {
        keys.iter().fold(PanelAction::Redraw, |_, key| board.key(&Key::new().data(Some((*key).to_owned()))))
    }

    #[test]
    fn tab_goes_round_and_escape_leaves_a_pane_first() {
        // Behaviour 131.
        let mut board = board();
        for name in ["[Inbox]", "[Claims]", "[Sessions]"] {
            press(&mut board, &["\t"]);
            assert!(board.lines()[0].contains(name), "{:?}", board.lines());
        }
        press(&mut board, &["\r"]);
        assert!(board.lines().iter().any(|line| line.starts_with("id ")), "{:?}", board.lines());
        assert_eq!(press(&mut board, &["\u{1b}"]), PanelAction::Redraw);
        assert_eq!(press(&mut board, &["\u{1b}"]), PanelAction::Close);
        assert_eq!(press(&mut board, &["q"]), PanelAction::Close);
    }

    #[test]
    fn a_release_is_asked_for_and_only_ones_own() {
        // Behaviours 132 and 133.
        let mut board = board();
        assert_eq!(press(&mut board, &["\t", "\t", "x"]), PanelAction::Redraw);
        assert!(board.lines().last().is_some_and(|line| line.contains("only its holder")), "{:?}", board.lines());
        press(&mut board, &["j", "x"]);
        assert_eq!(board.lines().last().map(String::as_str), Some("release src? y/N"));
        assert_eq!(press(&mut board, &["n"]), PanelAction::Redraw);
        assert_eq!(press(&mut board, &["x", "\r"]), PanelAction::Redraw, "the default is no");
        assert_eq!(press(&mut board, &["x", "y"]), PanelAction::Release("src".into()));
    }

    #[test]
    fn listening_begins_and_stops_with_w() {
        let mut board = board();
        assert_eq!(press(&mut board, &["w"]), PanelAction::Listen(true));
        board.status.me = board.status.me.take().map(|me| me.listen(Some(jig_session_schema::bus::ListenMode::Next)));
        assert_eq!(press(&mut board, &["w"]), PanelAction::Listen(false));
    }

    #[test]
    fn no_line_is_too_wide_or_steers_the_terminal() {
        let mut board = board();
        for width in [20, 40, 80] {
            board.key(&Key::new().width(Some(width)).rows(Some(24)));
            for line in board.lines() {
                assert!(line.width() <= width as usize, "{width}: {line}");
                assert!(!line.chars().any(jig_session_schema::invisible::is_invisible), "{line:?}");
            }
        }
    }
}
