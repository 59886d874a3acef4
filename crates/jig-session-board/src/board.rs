//! The board's state: what a key does, and what a look changes.

use jig_session_schema::bus_result::HeldClaim;
use jig_session_schema::live::LiveRow;
use jig_session_schema::time::Timestamp;

use crate::arrange::{Item, Shown};
use crate::filter::Typed;
use crate::keys::Key;
use crate::list::List;
use crate::model::{Bus, Change, Entry, Home, Id, Opened, Panes, Sessions};

/// What is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tab {
    /// Live sessions.
    #[default]
    Sessions,
    /// One's own mail.
    Inbox,
    /// Paths that are held.
    Claims,
    /// tmux panes.
    Panes,
}

impl Tab {
    /// All of them, in their order, with their names.
    pub const ALL: [(Self, &'static str); 4] =
        [(Self::Sessions, "Sessions"), (Self::Inbox, "Inbox"), (Self::Claims, "Claims"), (Self::Panes, "Panes")];

    pub(crate) fn place(self) -> usize {
        Self::ALL.iter().position(|(tab, _)| *tab == self).unwrap_or_default()
    }
}

/// What of an opened session is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Section {
    /// Ticket, workflow, outputs, calls.
    #[default]
    Work,
    /// What fills the context.
    Context,
    /// What can be asked of it, and what it answered.
    Requests,
    /// Why its verdict and state are what they are.
    Evidence,
}

impl Section {
    /// All of them, in their order, with their names.
    pub const ALL: [(Self, &'static str); 4] =
        [(Self::Work, "Work"), (Self::Context, "Context"), (Self::Requests, "Requests"), (Self::Evidence, "Evidence")];

    fn place(self) -> usize {
        Self::ALL.iter().position(|(section, _)| *section == self).unwrap_or_default()
    }
}

/// What reaches the board.
#[allow(clippy::large_enum_variant, reason = "one at a time, and moved once")]
#[derive(Clone, Debug)]
pub enum Event {
    /// A key.
    Key(Key),
    /// A look at the sessions.
    Sessions(Sessions),
    /// A look at the bus.
    Bus(Bus),
    /// A look at the panes.
    Panes(Panes),
    /// A look at the opened session.
    Opened(Box<Opened>),
    /// The figures of the call logs, in lines.
    Band(Vec<String>),
    /// What came of an action, in a line.
    Said(String),
    /// Time has gone on.
    Now(Timestamp),
}

/// What the board wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Close the board.
    Close,
    /// Stop, as Ctrl-Z does.
    Suspend,
    /// Draw everything anew.
    Redraw,
    /// Look at these from now on.
    Look(Wanted),
    /// Begin or stop listening for mail; who is not on the bus joins under the derived label.
    Listen(bool),
    /// Release an own claim.
    Release(String),
    /// Ask a session for a change, and tell what it answers.
    Ask(Id, Change),
    /// Go to a session's tmux pane.
    GoTo(Id),
    /// Go to a tmux pane by its id.
    GoToPane(String),
    /// Put a text into the clipboard.
    Copy(String),
    /// A person has looked at the session.
    Seen(Id),
}

/// What is on the screen, so that nothing else need be looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The tab. The sessions are always wanted.
    pub tab: Tab,
    /// The session that is opened.
    pub open: Option<Id>,
}

/// What stands over a list.
#[derive(Clone, Debug)]
pub(crate) enum Pane {
    /// A session.
    Session { id: Id, section: Section, opened: Option<Box<Opened>>, list: List },
    /// One row of another list in full: its key finds it again.
    Row { key: String, list: List },
    /// The keys.
    Help { list: List },
}

/// A question in the last line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// Release this claim?
    Release(String),
    /// Reload this session's agent?
    Reload(Id),
    /// What to copy of a session: id, file, folder.
    Copy { id: String, file: String, folder: String },
}

/// The board.
#[derive(Debug)]
pub struct Board {
    pub(crate) home: Home,
    /// It is a panel in another program: Escape closes it, and there is no Ctrl-Z.
    pub(crate) panel: bool,
    pub(crate) tabs: Vec<Tab>,
    pub(crate) sessions: Sessions,
    pub(crate) bus: Bus,
    pub(crate) panes: Panes,
    pub(crate) band: Vec<String>,
    pub(crate) now: Option<Timestamp>,
    pub(crate) tab: Tab,
    pub(crate) lists: [List; 4],
    pub(crate) pane: Option<Pane>,
    pub(crate) question: Option<Question>,
    pub(crate) typed: Typed,
    pub(crate) shown: Shown,
    pub(crate) said: String,
    wanted: Wanted,
}

impl Board {
    /// A board on which nothing has been seen yet; folders are shown relative to `home`.
    #[must_use]
    pub fn new(home: impl Into<Home>) -> Self {
        Self {
            home: home.into(),
            panel: false,
            tabs: Tab::ALL.iter().map(|(tab, _)| *tab).collect(),
            sessions: Sessions::default(),
            bus: Bus::default(),
            panes: Panes::default(),
            band: Vec::new(),
            now: None,
            tab: Tab::Sessions,
            lists: Default::default(),
            pane: None,
            question: None,
            typed: Typed::default(),
            shown: Shown::default(),
            said: String::new(),
            wanted: Wanted::default(),
        }
    }

    /// The same as a panel of another program, with these tabs.
    #[must_use]
    pub fn as_panel(mut self, tabs: &[Tab]) -> Self {
        self.panel = true;
        self.tabs = tabs.to_vec();
        self
    }

    /// The same with this typed as its filter.
    #[must_use]
    pub fn filtered(mut self, text: &str) -> Self {
        self.typed.set(text.to_owned());
        self
    }

    /// Opens a session.
    #[must_use]
    pub fn opened(mut self, id: Id, section: Section) -> Self {
        self.pane = Some(Pane::Session { id, section, opened: None, list: List::default() });
        self
    }

    /// What is to be looked at.
    #[must_use]
    pub fn wanted(&self) -> Wanted {
        let open = match &self.pane {
            Some(Pane::Session { id, .. }) => Some(id.clone()),
            _ => None,
        };
        Wanted { tab: self.tab, open }
    }

    /// Takes what happened; gives what is to be done, in this order.
    pub fn update(&mut self, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        match event {
            Event::Key(key) => self.key(key, &mut actions),
            Event::Sessions(sessions) => {
                self.now = sessions.at.max(self.now);
                self.sessions = sessions;
            }
            Event::Bus(bus) => {
                self.now = bus.at.max(self.now);
                self.bus = bus;
            }
            Event::Panes(panes) => {
                self.now = panes.at.max(self.now);
                self.panes = panes;
            }
            Event::Opened(now) => {
                if let Some(Pane::Session { id, opened, .. }) = &mut self.pane
                    && *id == now.id
                {
                    *opened = Some(now);
                }
            }
            Event::Band(band) => self.band = band,
            Event::Said(said) => self.said = said,
            Event::Now(now) => self.now = Some(now),
        }
        self.refocus();
        let wanted = self.wanted();
        if wanted != self.wanted {
            self.wanted = wanted.clone();
            actions.push(Action::Look(wanted));
        }
        actions
    }

    /// After a look the focus stays on the row that it was on.
    fn refocus(&mut self) {
        self.shown = Shown::of(&self.sessions, &self.bus, &self.panes, &mut self.typed);
        for (tab, _) in Tab::ALL {
            let keys = self.keys_of(tab);
            self.lists[tab.place()].follow(&keys);
        }
    }

    /// What tells the rows of a tab apart, in their order.
    pub(crate) fn keys_of(&self, tab: Tab) -> Vec<String> {
        match tab {
            Tab::Sessions => self.rows().map(|item| self.key_of_item(item)).collect(),
            Tab::Inbox => self.shown.mail.iter().map(|place| self.bus.mail[*place].id.clone()).collect(),
            Tab::Claims => self.shown.claims.iter().map(|place| self.bus.status.claims[*place].path.clone()).collect(),
            Tab::Panes => self.shown.panes.iter().map(|place| self.panes.rows[*place].pane_id.clone()).collect(),
        }
    }

    /// The rows of the list of sessions, without the headings.
    fn rows(&self) -> impl Iterator<Item = &Item> {
        self.shown.sessions.iter().filter(|item| !matches!(item, Item::Group(_)))
    }

    fn key_of_item(&self, item: &Item) -> String {
        match item {
            Item::Session(place) => key_of(&Id::of(&self.sessions.entries[*place].row)),
            Item::Member(place) => format!("member\n{}", self.bus.status.members[*place].id),
            Item::Group(_) => String::new(),
        }
    }

    fn focused_claim(&self) -> Option<&HeldClaim> {
        let place = self.shown.claims.get(self.lists[Tab::Claims.place()].focus())?;
        self.bus.status.claims.get(*place)
    }

    fn focused_pane(&self) -> Option<&LiveRow> {
        self.panes.rows.get(*self.shown.panes.get(self.lists[Tab::Panes.place()].focus())?)
    }

    pub(crate) fn list(&self) -> &List {
        &self.lists[self.tab.place()]
    }

    fn list_mut(&mut self) -> &mut List {
        &mut self.lists[self.tab.place()]
    }

    /// The entry of a session.
    pub(crate) fn entry(&self, id: &Id) -> Option<&Entry> {
        self.sessions.entries.iter().find(|entry| Id::of(&entry.row) == *id)
    }

    /// The session that the focus is on, or that is opened.
    fn meant(&self) -> Option<&Entry> {
        match &self.pane {
            Some(Pane::Session { id, .. }) => self.entry(id),
            _ if self.tab == Tab::Sessions => match self.rows().nth(self.list().focus())? {
                Item::Session(place) => self.sessions.entries.get(*place),
                _ => None,
            },
            _ => None,
        }
    }

    fn key(&mut self, key: Key, actions: &mut Vec<Action>) {
        self.said.clear();
        match key {
            Key::Interrupt => return actions.push(Action::Close),
            Key::Suspend if !self.panel => return actions.push(Action::Suspend),
            Key::Redraw => return actions.push(Action::Redraw),
            _ => {}
        }
        if let Some(question) = self.question.take() {
            return answer(question, key, actions);
        }
        if self.typed.open {
            return self.type_filter(key);
        }
        match key {
            Key::Char('?') => self.pane = Some(Pane::Help { list: List::default() }),
            Key::Char('w') if !matches!(self.pane, Some(Pane::Help { .. })) => {
                actions.push(Action::Listen(self.bus.status.me.as_ref().is_none_or(|me| me.listen.is_none())));
            }
            Key::Char('a') => self.go(actions),
            Key::Char('y') => self.copy(actions),
            _ if self.pane.is_some() => self.key_in_pane(key, actions),
            _ => self.key_in_list(key, actions),
        }
    }

    /// A text that was pasted: it goes into the filter that is being typed, and nowhere else.
    pub fn paste(&mut self, text: &str) {
        if self.typed.open {
            let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            self.typed.set(format!("{}{line}", self.typed.text));
            self.refocus();
        }
    }

    fn key_in_list(&mut self, key: Key, actions: &mut Vec<Action>) {
        match key {
            Key::Char('q') => actions.push(Action::Close),
            Key::Esc if !self.typed.text.is_empty() => self.typed.set(String::new()),
            Key::Esc if self.panel => actions.push(Action::Close),
            Key::Tab | Key::Right | Key::Char('l') => self.turn(1),
            Key::BackTab | Key::Left | Key::Char('h') => self.turn(-1),
            Key::Char(digit @ '1'..='4') => {
                let place = digit as usize - '1' as usize;
                if let Some(tab) = self.tabs.get(place) {
                    self.tab = *tab;
                }
            }
            Key::Char('/') => self.typed.open = true,
            Key::Char('x') if self.tab == Tab::Claims => self.release(),
            Key::Enter => self.open(actions),
            _ => {
                let count = self.keys_of(self.tab).len();
                self.list_mut().key(key, count);
            }
        }
    }

    fn key_in_pane(&mut self, key: Key, actions: &mut Vec<Action>) {
        let ask = self.requested(key);
        let Some(pane) = &mut self.pane else { return };
        match (pane, key) {
            (_, Key::Esc | Key::Char('q')) => self.pane = None,
            (Pane::Session { section, list, .. }, Key::Tab | Key::Right | Key::Char('l')) => {
                *section = Section::ALL[(section.place() + 1) % Section::ALL.len()].0;
                *list = List::default();
            }
            (Pane::Session { section, list, .. }, Key::BackTab | Key::Left | Key::Char('h')) => {
                *section = Section::ALL[(section.place() + Section::ALL.len() - 1) % Section::ALL.len()].0;
                *list = List::default();
            }
            (Pane::Session { section, list, .. }, Key::Char(digit @ '1'..='4')) => {
                *section = Section::ALL[digit as usize - '1' as usize].0;
                *list = List::default();
            }
            (Pane::Session { id, section: Section::Requests, opened, list }, key) => match (ask, key) {
                (Some(Ok(Change::Reload)), _) => self.question = Some(Question::Reload(id.clone())),
                (Some(Ok(change)), _) => {
                    self.said = format!("asked: {}", change.words());
                    actions.push(Action::Ask(id.clone(), change));
                }
                (Some(Err(why)), _) => self.said = why,
                (None, key) => {
                    let count = opened.as_ref().map_or(0, |opened| crate::requests::switches(opened).len());
                    list.key(key, count);
                }
            },
            (Pane::Session { list, .. } | Pane::Row { list, .. } | Pane::Help { list }, key) => list.scroll(key),
        }
    }

    /// What a key in the section Requests asks for, or why it cannot be asked; none for another key.
    fn requested(&self, key: Key) -> Option<Result<Change, String>> {
        let Some(Pane::Session { id, section: Section::Requests, opened, list }) = &self.pane else { return None };
        if !matches!(key, Key::Enter | Key::Char(' ' | 'r')) {
            return None;
        }
        let entry = self.entry(id);
        if id.host.is_some() {
            return Some(Err("the session is on another machine: ask there".to_owned()));
        }
        if entry.is_none_or(|entry| entry.row.verdict.is_over()) {
            return Some(Err("the session has ended".to_owned()));
        }
        let opened = opened.as_ref()?;
        let change = match key {
            Key::Char('r') => Change::Reload,
            _ => crate::requests::switches(opened).get(list.focus())?.change(),
        };
        Some(crate::requests::refusal(opened, &change).map_or(Ok(change), Err))
    }

    fn type_filter(&mut self, key: Key) {
        let mut text = self.typed.text.clone();
        match key {
            Key::Enter => self.typed.open = false,
            Key::Esc => {
                self.typed.open = false;
                text.clear();
            }
            Key::Backspace if text.pop().is_none() => {
                self.typed.open = false;
            }
            Key::Char(character) => text.push(character),
            Key::Up | Key::Down | Key::PageUp | Key::PageDown => {
                let count = self.keys_of(self.tab).len();
                self.list_mut().key(key, count);
            }
            _ => {}
        }
        self.typed.set(text);
    }

    fn turn(&mut self, by: isize) {
        let count = self.tabs.len().max(1);
        let place = self.tabs.iter().position(|tab| *tab == self.tab).unwrap_or_default();
        let next = (place + count).saturating_add_signed(by) % count;
        self.tab = self.tabs.get(next).copied().unwrap_or_default();
    }

    fn open(&mut self, actions: &mut Vec<Action>) {
        match self.tab {
            Tab::Sessions if self.meant().is_some() => {
                let Some(id) = self.meant().map(|entry| Id::of(&entry.row)) else { return };
                actions.push(Action::Seen(id.clone()));
                self.pane = Some(Pane::Session { id, section: Section::Work, opened: None, list: List::default() });
            }
            tab => {
                let keys = self.keys_of(tab);
                if let Some(key) = keys.get(self.list().focus()) {
                    self.pane = Some(Pane::Row { key: key.clone(), list: List::default() });
                }
            }
        }
    }

    fn go(&mut self, actions: &mut Vec<Action>) {
        if let Some(entry) = self.meant() {
            let id = Id::of(&entry.row);
            if let Some(host) = &id.host {
                self.said = format!("the session is on {host}: go there first");
            } else {
                actions.extend([Action::Seen(id.clone()), Action::GoTo(id)]);
            }
        } else if self.tab == Tab::Panes
            && let Some(pane) = self.focused_pane()
        {
            actions.push(Action::GoToPane(pane.pane_id.clone()));
        }
    }

    fn copy(&mut self, actions: &mut Vec<Action>) {
        let focus = self.list().focus();
        if let Some(entry) = self.meant() {
            let row = &entry.row;
            self.question =
                Some(Question::Copy { id: row.session.clone(), file: row.path.clone(), folder: row.cwd.clone() });
            return;
        }
        let text = match self.tab {
            Tab::Sessions => None,
            Tab::Inbox => self.keys_of(Tab::Inbox).get(focus).cloned(),
            Tab::Claims => self.focused_claim().map(|claim| claim.path.clone()),
            Tab::Panes => self.focused_pane().map(|pane| pane.target.clone()),
        };
        actions.extend(text.map(Action::Copy));
    }

    /// `x` asks before it releases an own claim, and refuses another's before the bus is asked.
    fn release(&mut self) {
        let Some(claim) = self.focused_claim() else { return };
        if self.bus.status.me.as_ref().is_none_or(|me| me.id != claim.session) {
            self.said = format!("{} is held by {}: only its holder releases it", claim.path, claim.label);
        } else {
            self.question = Some(Question::Release(claim.path.clone()));
        }
    }
}

/// Anything but a plain yes leaves everything as it is.
fn answer(question: Question, key: Key, actions: &mut Vec<Action>) {
    match (question, key) {
        (Question::Release(path), Key::Char('y' | 'Y')) => actions.push(Action::Release(path)),
        (Question::Reload(id), Key::Char('y' | 'Y')) => actions.push(Action::Ask(id, Change::Reload)),
        (Question::Copy { id, .. }, Key::Char('y' | 'i')) => actions.push(Action::Copy(id)),
        (Question::Copy { file, .. }, Key::Char('p')) => actions.push(Action::Copy(file)),
        (Question::Copy { folder, .. }, Key::Char('f')) => actions.push(Action::Copy(folder)),
        _ => {}
    }
}

/// The key of a session in its list.
pub(crate) fn key_of(id: &Id) -> String {
    format!("{}\n{}", id.host.as_deref().unwrap_or_default(), id.session)
}
