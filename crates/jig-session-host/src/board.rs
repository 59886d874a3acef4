//! The panel of `/sessions`: members, own mail, claims; what one may do there concerns oneself only.

use jig_session_schema::bridge::Key;
use jig_session_schema::bus_result::{MessageView, StatusResult};
use jig_session_schema::time::Timestamp;

use crate::show;
use jig_session_view::bus::listens;
use jig_session_view::table::{fit, wrap};
use jig_session_view::{ages, sanitise};

/// Rows that are left to Pi around the panel.
const AROUND: usize = 8;

/// What the panel shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Sessions,
    Inbox,
    Claims,
}

impl Scope {
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

/// What a key asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Nothing but a look.
    Nothing,
    /// Close the panel.
    Close,
    /// Begin or stop listening.
    Listen(bool),
    /// Release this path.
    Release(String),
}

/// The panel's state.
pub(crate) struct Board {
    scope: Scope,
    status: StatusResult,
    mail: Vec<MessageView>,
    now: Option<Timestamp>,
    focus: usize,
    top: usize,
    /// One row is open: its lines.
    open: Option<Vec<String>>,
    /// A claim that is to be released, once `y` was pressed.
    asked: Option<String>,
    said: String,
    width: usize,
    rows: usize,
}

impl Board {
    pub(crate) fn new() -> Self {
        Self {
            scope: Scope::Sessions,
            status: StatusResult::new(),
            mail: Vec::new(),
            now: None,
            focus: 0,
            top: 0,
            open: None,
            asked: None,
            said: String::new(),
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

    /// Says one line at the bottom, until the next key.
    pub(crate) fn say(&mut self, text: String) {
        self.said = text;
    }

    /// Takes a key or a size.
    pub(crate) fn key(&mut self, key: &Key) -> Deed {
        self.width = show::cells(key.width, self.width).max(20);
        self.rows = show::cells(key.rows, self.rows);
        let Some(key) = key.data.as_deref() else { return Deed::Nothing };
        self.said.clear();
        if let Some(path) = self.asked.take() {
            // Anything but a plain yes keeps the claim.
            return if matches!(key, "y" | "Y") { Deed::Release(path) } else { Deed::Nothing };
        }
        match key {
            "\u{1b}" if self.open.take().is_some() => {
                self.top = 0;
                Deed::Nothing
            }
            "\u{1b}" | "q" => Deed::Close,
            "\t" => {
                self.scope = self.scope.next();
                (self.focus, self.top, self.open) = (0, 0, None);
                Deed::Nothing
            }
            "\r" | "\n" => {
                self.open = self.opened();
                self.top = 0;
                Deed::Nothing
            }
            "w" => Deed::Listen(self.status.me.as_ref().is_none_or(|me| me.listen.is_none())),
            "x" => self.release(),
            _ => {
                self.scroll(key);
                Deed::Nothing
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
    fn release(&mut self) -> Deed {
        let Some(claim) = self.status.claims.get(self.focus).filter(|_| self.scope == Scope::Claims) else {
            return Deed::Nothing;
        };
        if self.status.me.as_ref().is_none_or(|me| me.id != claim.session) {
            self.said = format!("{} is held by {}: only its holder releases it", claim.path, claim.label);
        } else {
            self.asked = Some(claim.path.clone());
        }
        Deed::Nothing
    }

    fn count(&self) -> usize {
        match self.scope {
            Scope::Sessions => self.status.members.len(),
            Scope::Inbox => self.mail.len(),
            Scope::Claims => self.status.claims.len(),
        }
    }

    fn room(&self) -> usize {
        self.rows.saturating_sub(AROUND).max(4)
    }

    /// The lines of the panel; none is wider than the terminal, and no foreign character steers it.
    pub(crate) fn lines(&mut self) -> Vec<String> {
        let room = self.room();
        let mut lines = vec![self.head(), String::new()];
        match &self.open {
            Some(all) => {
                self.top = self.top.min(all.len().saturating_sub(room));
                lines.extend(all.iter().skip(self.top).take(room).cloned());
            }
            None => {
                let rows = self.rows_of_scope();
                self.top = self.top.min(self.focus).max((self.focus + 1).saturating_sub(room));
                if rows.is_empty() {
                    lines.push(self.nothing().to_owned());
                }
                for (i, row) in rows.iter().enumerate().skip(self.top).take(room) {
                    lines.push(format!("{} {row}", if i == self.focus { '>' } else { ' ' }));
                }
            }
        }
        lines.push(String::new());
        lines.push(match (&self.asked, self.said.is_empty()) {
            (Some(path), _) => format!("release {path}? y/N"),
            (None, false) => self.said.clone(),
            (None, true) => self.help().to_owned(),
        });
        lines.into_iter().map(|line| self.fit(&line)).collect()
    }

    fn head(&self) -> String {
        let scopes: Vec<String> = Scope::ALL
            .iter()
            .map(|(scope, name)| if *scope == self.scope { format!("[{name}]") } else { format!(" {name} ") })
            .collect();
        let me = match &self.status.me {
            Some(me) => {
                let listens = if me.listen.is_none() { "not listening" } else { listens(me) };
                format!("you are {} · {listens} · {} unread", me.label, me.unread)
            }
            None => "you are not on this bus".to_owned(),
        };
        format!("{}   {me}", scopes.join(" "))
    }

    fn help(&self) -> &'static str {
        match (&self.open, self.scope) {
            (Some(_), _) => "up, down, g, G scroll · Esc back",
            (None, Scope::Claims) => "Tab scope · Enter open · w listen · x release · q close",
            (None, _) => "Tab scope · Enter open · w listen · q close",
        }
    }

    fn nothing(&self) -> &'static str {
        match self.scope {
            Scope::Sessions => "nobody is on this bus",
            Scope::Inbox => "no unread mail",
            Scope::Claims => "nothing is held",
        }
    }

    fn age(&self, at: Option<Timestamp>) -> String {
        self.now.map(|now| ages::since(at, now)).unwrap_or_default()
    }

    fn rows_of_scope(&self) -> Vec<String> {
        match self.scope {
            Scope::Sessions => self
                .status
                .members
                .iter()
                .map(|member| {
                    let listens = if member.listen.is_none() { "-" } else { listens(member) };
                    format!(
                        "{:<20} {:<5} {:<8} {:<5} {:>3} unread {:>3} claims  {:>4}  {}",
                        member.label,
                        member.state,
                        member.agent,
                        listens,
                        member.unread,
                        member.claims,
                        self.age(member.beat_at),
                        member.branch.as_deref().unwrap_or_default()
                    )
                })
                .collect(),
            Scope::Inbox => self
                .mail
                .iter()
                .map(|mail| {
                    let preview = mail.preview.as_deref().unwrap_or_default();
                    format!("{:<8} {:<16} {:>4}  {preview}", mail.kind, mail.from.label, self.age(mail.sent_at))
                })
                .collect(),
            Scope::Claims => self
                .status
                .claims
                .iter()
                .map(|claim| {
                    let reason = claim.reason.as_deref().unwrap_or_default();
                    format!("{:<32} {:<16} {:>4}  {reason}", claim.path, claim.label, self.age(claim.since))
                })
                .collect(),
        }
    }

    /// The focused row in full.
    fn opened(&self) -> Option<Vec<String>> {
        match self.scope {
            Scope::Sessions => self.status.members.get(self.focus).map(|member| {
                let mut lines = vec![
                    format!("label    {}", member.label),
                    format!("id       {}", member.id),
                    format!("agent    {} {}", member.agent, member.model.as_deref().unwrap_or_default()),
                    format!("state    {}, last beat {} ago", member.state, self.age(member.beat_at)),
                    format!("folder   {}", member.cwd),
                    format!("branch   {}", member.branch.as_deref().unwrap_or("none")),
                    format!("unread   {}", member.unread),
                ];
                let claims = self.status.claims.iter().filter(|claim| claim.session == member.id);
                lines.extend(claims.map(|claim| format!("holds    {}", claim.path)));
                lines
            }),
            Scope::Inbox => self.mail.get(self.focus).map(|mail| {
                let mut lines = vec![format!("{} from {}, {} ago", mail.kind, mail.from.label, self.age(mail.sent_at))];
                if !mail.paths.is_empty() {
                    lines.push(format!("about {}", mail.paths.join(", ")));
                }
                lines.push(String::new());
                lines.extend(wrap(mail.preview.as_deref().unwrap_or_default(), self.width.saturating_sub(2)));
                lines.push(String::new());
                lines.push("session inbox reads it whole, and takes it".to_owned());
                lines
            }),
            Scope::Claims => self.status.claims.get(self.focus).map(|claim| {
                vec![
                    format!("path     {}", claim.path),
                    format!("held by  {} ({})", claim.label, claim.session),
                    format!("since    {} ago", self.age(claim.since)),
                    format!("reason   {}", claim.reason.as_deref().unwrap_or("none")),
                ]
            }),
        }
    }

    fn fit(&self, line: &str) -> String {
        fit(&sanitise::clean(line), self.width)
    }
}

#[cfg(test)]
mod tests {
    use jig_session_schema::bridge::Key;
    use jig_session_schema::bus_result::{HeldClaim, Member};
    use unicode_width::UnicodeWidthStr;

    use super::*;

    fn board() -> Board {
        let me = Member::new().id("s-a".into()).label("alpha".into());
        let other = Member::new().id("s-b".into()).label("be\u{1b}[2Jta".into());
        let claim = |path: &str, id: &str| HeldClaim::new().path(path.into()).session(id.into()).label(id.into());
        let status = StatusResult::new()
            .me(Some(me.clone()))
            .members(vec![me, other])
            .claims(vec![claim("docs", "s-b"), claim("src", "s-a")]);
        let mail = vec![MessageView::new().preview(Some("one two three".into()))];
        let mut board = Board::new();
        board.show(status, mail, Timestamp::from_epoch_ms(1_796_000_000_000));
        board
    }

    fn press(board: &mut Board, keys: &[&str]) -> Deed {
        keys.iter().fold(Deed::Nothing, |_, key| board.key(&Key::new().data(Some((*key).to_owned()))))
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
        assert_eq!(press(&mut board, &["\u{1b}"]), Deed::Nothing);
        assert_eq!(press(&mut board, &["\u{1b}"]), Deed::Close);
        assert_eq!(press(&mut board, &["q"]), Deed::Close);
    }

    #[test]
    fn a_release_is_asked_for_and_only_ones_own() {
        // Behaviours 132 and 133.
        let mut board = board();
        assert_eq!(press(&mut board, &["\t", "\t", "x"]), Deed::Nothing);
        assert!(board.lines().last().is_some_and(|line| line.contains("only its holder")), "{:?}", board.lines());
        press(&mut board, &["j", "x"]);
        assert_eq!(board.lines().last().map(String::as_str), Some("release src? y/N"));
        assert_eq!(press(&mut board, &["n"]), Deed::Nothing);
        assert_eq!(press(&mut board, &["x", "\r"]), Deed::Nothing, "the default is no");
        assert_eq!(press(&mut board, &["x", "y"]), Deed::Release("src".into()));
    }

    #[test]
    fn listening_begins_and_stops_with_w() {
        let mut board = board();
        assert_eq!(press(&mut board, &["w"]), Deed::Listen(true));
        board.status.me = board.status.me.take().map(|me| me.listen(Some(jig_session_schema::bus::ListenMode::Next)));
        assert_eq!(press(&mut board, &["w"]), Deed::Listen(false));
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
