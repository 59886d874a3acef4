//! The panel of `/sessions`: the board, drawn into Pi.

use std::path::PathBuf;

use jig_session_board::{Action, Board, Bus, Event, Key as BoardKey, Tab, plain};
use jig_session_schema::bridge::Key;

use crate::show;

/// Terminal rows that are left to Pi around the panel.
const AROUND: usize = 8;

/// What looks at sessions and panes while the panel is open, and carries out what is not the bus's. Dropping it ends it.
pub trait Eyes {
    /// What was seen since this was asked last; it never waits.
    fn seen(&mut self) -> Vec<Event>;
    /// Carries out an action, without waiting for its end.
    fn act(&mut self, action: Action);
}

/// Opens the eyes of a panel.
pub type OpenEyes = Box<dyn Fn() -> Box<dyn Eyes>>;

/// The open panel.
pub(crate) struct SessionsPanel {
    board: Board,
    eyes: Box<dyn Eyes>,
    color: bool,
    width: usize,
    rows: usize,
    shown: Vec<String>,
}

impl SessionsPanel {
    pub(crate) fn new(home: PathBuf, eyes: Box<dyn Eyes>, color: bool) -> Self {
        let board = Board::new(home).as_panel(&[Tab::Sessions, Tab::Inbox, Tab::Claims, Tab::Panes]);
        let mut panel = Self { board, eyes, color, width: show::WIDTH, rows: 24, shown: Vec::new() };
        panel.eyes.act(Action::Look(panel.board.wanted()));
        panel
    }

    /// Takes a key or a size. What the bus or the host has to do is given back.
    pub(crate) fn key(&mut self, key: &Key) -> Vec<Action> {
        self.width = show::cells(key.width, self.width).max(20);
        self.rows = show::cells(key.rows, self.rows);
        let Some(key) = key.data.as_deref().and_then(BoardKey::of_bytes) else { return Vec::new() };
        let actions = self.board.update(Event::Key(key));
        self.carry_out(actions)
    }

    /// Shows what is on the bus now.
    pub(crate) fn show_bus(&mut self, bus: Bus) {
        // A look asks for nothing.
        drop(self.board.update(Event::Bus(bus)));
    }

    /// Says a line at the bottom, until the next key.
    pub(crate) fn notify(&mut self, text: String) {
        drop(self.board.update(Event::Said(text)));
    }

    /// Takes what was seen meanwhile.
    pub(crate) fn look(&mut self) {
        for event in self.eyes.seen() {
            let actions = self.board.update(event);
            drop(self.carry_out(actions));
        }
    }

    fn carry_out(&mut self, actions: Vec<Action>) -> Vec<Action> {
        let mut left = Vec::new();
        for action in actions {
            match action {
                Action::Close | Action::Listen(_) | Action::Release(_) => left.push(action),
                action => self.eyes.act(action),
            }
        }
        left
    }

    /// The lines of the panel; none when they are what was given before.
    pub(crate) fn changed_lines(&mut self) -> Option<Vec<String>> {
        let before = std::mem::take(&mut self.shown);
        let lines = self.lines();
        (lines != before).then_some(lines)
    }

    /// The lines of the panel.
    pub(crate) fn lines(&mut self) -> Vec<String> {
        let screen = self.board.screen(self.width, self.rows.saturating_sub(AROUND));
        self.shown = plain::lines(&screen, self.color);
        self.shown.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use jig_session_schema::bus::ListenMode;
    use jig_session_schema::bus_result::{HeldClaim, Member};
    use jig_session_schema::time::Timestamp;

    use super::*;

    /// Eyes that have seen nothing and note what they are to do.
    struct Blind(Rc<RefCell<Vec<Action>>>);

    impl Eyes for Blind {
        fn seen(&mut self) -> Vec<Event> {
            Vec::new()
        }

        fn act(&mut self, action: Action) {
            self.0.borrow_mut().push(action);
        }
    }

    fn panel() -> (SessionsPanel, Rc<RefCell<Vec<Action>>>) {
        let done = Rc::default();
        let mut panel = SessionsPanel::new("/home/dev".into(), Box::new(Blind(Rc::clone(&done))), false);
        let me = Member::new().id("s-a".into()).label("alpha".into()).listen(Some(ListenMode::Next));
        let claim = |path: &str, id: &str| HeldClaim::new().path(path.into()).session(id.into()).label(id.into());
        let mut bus = Bus { at: Some(Timestamp::from_epoch_ms(1_796_000_000_000)), ..Bus::default() };
        bus.status.me = Some(me.clone());
        bus.status.members = vec![me];
        bus.status.claims = vec![claim("docs", "s-b"), claim("src", "s-a")];
        panel.show_bus(bus);
        (panel, done)
    }

    fn press(panel: &mut SessionsPanel, keys: &[&str]) -> Vec<Action> {
        keys.iter().flat_map(|key| panel.key(&Key::new().data(Some((*key).to_owned())))).collect()
    }

    #[test]
    fn tab_goes_round_and_escape_leaves_a_pane_first() {
        // Behaviour 131.
        let (mut panel, _) = panel();
        for name in ["[Inbox]", "[Claims]", "[Panes]", "[Sessions]"] {
            press(&mut panel, &["\t"]);
            assert!(panel.lines()[0].contains(name), "{:?}", panel.lines());
        }
        press(&mut panel, &["\r"]);
        assert!(panel.lines().iter().any(|line| line.contains("s-a")), "{:?}", panel.lines());
        assert_eq!(press(&mut panel, &["\u{1b}"]), []);
        assert_eq!(press(&mut panel, &["\u{1b}"]), [Action::Close]);
        assert_eq!(press(&mut panel, &["q"]), [Action::Close]);
    }

    #[test]
    fn what_is_the_buss_is_given_back_and_the_rest_is_the_eyes() {
        // Behaviours 132 and 133.
        let (mut panel, done) = panel();
        assert_eq!(press(&mut panel, &["w"]), [Action::Listen(false)]);
        press(&mut panel, &["3", "x"]);
        assert!(panel.lines().last().is_some_and(|line| line.contains("only its holder")), "{:?}", panel.lines());
        assert_eq!(press(&mut panel, &["j", "x", "n"]), []);
        assert_eq!(press(&mut panel, &["x", "y"]), [Action::Release("src".into())]);
        press(&mut panel, &["4"]);
        assert!(done.borrow().iter().all(|action| matches!(action, Action::Look(_))), "{done:?}");
        assert!(done.borrow().len() >= 3, "{done:?}");
    }

    #[test]
    fn only_what_has_changed_is_sent_again() {
        let (mut panel, _) = panel();
        assert!(panel.changed_lines().is_some());
        assert_eq!(panel.changed_lines(), None);
        panel.notify("something".into());
        assert!(panel.changed_lines().is_some());
    }
}
