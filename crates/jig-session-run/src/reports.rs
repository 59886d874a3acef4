//! What a program reports of itself, as events of its session.
//!
//! [`Reports`] keeps the records as a terminal would and says what each change means: a turn begins or settles, a
//! person is waited for, subagents come and go. Texts of reports (`title`, `msg`) are never looked at: they hold
//! command lines and what people wrote.

use std::time::Duration;

use jig_session_agents::TitleTells;
use jig_session_publish::Now;
use jig_session_schema::event::{
    AttentionEvent, BackgroundEvent, ChildrenEvent, Event, ProgressEvent, TurnEvent, TurnOutcome, TurnPhase,
};
use jig_session_schema::limits;
use jig_session_schema::status::{Child, ChildState, Reason, StateFrom};
use jig_session_schema::time::Timestamp;
use jig_session_schema::words::Name;
use termstate_core::{Kind, Message, State, parse_body};
use termstate_store::Store;

/// A turn shorter than this, of which nothing else is known, is none: some agents report one by mistake.
pub const SHORTEST_TURN: Duration = Duration::from_millis(50);
/// How long the Enter key counts for the turn that follows it.
const ENTER: Duration = Duration::from_secs(2);
/// How long a program that has taken its record away while it worked has for the next one, unless it is stopped.
const GRACE: Duration = Duration::from_secs(2);

/// The records of one program and what was made of them.
#[derive(Debug, Default)]
pub struct Reports {
    store: Store,
    /// The last root report's state, also after it was taken away: a program that is stopped clears its record and
    /// gives the same one again when it goes on.
    last: Option<State>,
    turn: Turn,
    waits: Option<Reason>,
    progress: Option<u8>,
    children: Vec<Child>,
    active: u64,
    entered: Option<Duration>,
    /// When the root record was taken away while a turn was open.
    cleared: Option<Duration>,
    stopped: bool,
    /// It has reported by itself: its titles and the older progress sequence count no more.
    reported: bool,
}

/// What a program that reports nothing shows in its terminal's window: a title that its agent's file knows, or the
/// older progress sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// It works, and so many hundredths of it are done, if that is said.
    Working(Option<u8>),
    /// A person is waited for.
    Asking,
    /// It is done.
    Resting,
    /// It has failed.
    Failed,
}

impl Shown {
    /// What a window's title shows, by the beginnings that are known.
    #[must_use]
    pub fn of_title(title: &[u8], known: &[(&str, TitleTells)]) -> Option<Self> {
        let (_, tells) = known.iter().find(|(begins, _)| title.starts_with(begins.as_bytes()))?;
        Some(match tells {
            TitleTells::Working => Self::Working(None),
            TitleTells::Asking => Self::Asking,
            TitleTells::Resting => Self::Resting,
        })
    }

    /// What stands behind `9;4;`: a state, and hundredths for some of them.
    #[must_use]
    pub fn of_progress(body: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(body).ok()?;
        let (state, percent) = text.split_once(';').unwrap_or((text, ""));
        match state {
            "0" => Some(Self::Resting),
            // 4: it is paused, or warns.
            "1" | "4" => Some(Self::Working(percent.parse().ok().filter(|percent| *percent <= 100))),
            "2" => Some(Self::Failed),
            "3" => Some(Self::Working(None)),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Turn {
    #[default]
    Closed,
    /// Reported, but not believed yet.
    Held(Now),
    Open,
}

impl Reports {
    /// Takes the body of a program-status sequence. A report that breaks a rule of the protocol is none.
    pub fn report(&mut self, body: &[u8], now: Now) -> Vec<Event> {
        let Ok(message) = parse_body(body) else { return Vec::new() };
        match &message {
            Message::Feature(_) => return Vec::new(),
            Message::Clear { id: None } => return self.clear(now),
            Message::Clear { .. } => {
                self.store.apply(&message);
            }
            Message::Report(report) => {
                self.reported = true;
                self.store.apply(&message);
                if report.id.is_none() {
                    let mut events = self.root(report.state, report.kind, now);
                    events.extend(self.moved(report.progress, now));
                    events.extend(self.children(now));
                    return events;
                }
            }
        }
        self.children(now)
    }

    /// Takes what the program shows in its window, as long as it reports nothing.
    pub fn shown(&mut self, shown: Shown, now: Now) -> Vec<Event> {
        if self.reported {
            return Vec::new();
        }
        let (state, percent) = match shown {
            Shown::Working(percent) => (State::Working, percent),
            Shown::Asking => (State::Blocked, None),
            // Nobody says how it ended.
            Shown::Resting => (State::Done, None),
            Shown::Failed => (State::Error, None),
        };
        let mut events = self.root(state, None, now);
        events.extend(self.moved(percent, now));
        events
    }

    /// What tells the state.
    #[must_use]
    pub fn source(&self) -> StateFrom {
        if self.reported { StateFrom::PROGRAM_STATUS } else { StateFrom::WINDOW }
    }

    /// The terminal was reset: no record is left.
    pub fn reset(&mut self, now: Now) -> Vec<Event> {
        self.clear(now)
    }

    /// A shell's prompt begins: what worked or waited below it has ended.
    pub fn prompt(&mut self, now: Now) -> Vec<Event> {
        self.store.prompt_started();
        let mut events = self.settle(TurnOutcome::Aborted, now);
        events.extend(self.children(now));
        events
    }

    /// The Enter key went to the program.
    pub fn entered(&mut self, now: Now) {
        self.entered = Some(now.mono);
    }

    /// The program was stopped, or goes on.
    pub fn stopped(&mut self, stopped: bool, now: Now) {
        self.stopped = stopped;
        if !stopped && self.cleared.is_some() {
            self.cleared = Some(now.mono);
        }
    }

    /// Does what time alone decides.
    pub fn tick(&mut self, now: Now) -> Vec<Event> {
        let mut events = Vec::new();
        if let Turn::Held(since) = self.turn
            && now.mono >= since.mono + SHORTEST_TURN
        {
            events.extend(self.open(since.wall));
        }
        if !self.stopped && self.cleared.is_some_and(|cleared| now.mono >= cleared + GRACE) {
            events.extend(self.settle(TurnOutcome::Aborted, now));
        }
        events
    }

    /// When [`Reports::tick`] has something to do.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        let held = match self.turn {
            Turn::Held(since) => Some(since.mono + SHORTEST_TURN),
            _ => None,
        };
        let cleared = self.cleared.filter(|_| !self.stopped).map(|cleared| cleared + GRACE);
        held.into_iter().chain(cleared).min()
    }

    /// Events that bring another session's document to where this program is.
    #[must_use]
    pub fn standing(&self, now: Now) -> Vec<Event> {
        let at = Some(now.wall);
        let mut events: Vec<Event> = Vec::new();
        if self.turn == Turn::Open {
            events.push(TurnEvent::new().phase(TurnPhase::Start).at(at).into());
        }
        if self.waits == Some(Reason::ERROR) {
            events.push(settled(TurnOutcome::Error, now));
        } else if self.waits.is_some() {
            events.push(AttentionEvent::new().at(at).reason(self.waits.clone()).into());
        }
        if self.progress.is_some() {
            events.push(ProgressEvent::new().at(at).percent(self.progress).into());
        }
        if !self.children.is_empty() {
            events.push(ChildrenEvent::new().at(at).children(self.children.clone()).into());
            events.push(BackgroundEvent::new().at(at).count(self.active).into());
        }
        events
    }

    /// The name that the program gives itself.
    #[must_use]
    pub fn app(&self) -> Option<&str> {
        self.store.effective_app(None)
    }

    fn root(&mut self, state: State, kind: Option<Kind>, now: Now) -> Vec<Event> {
        let before = self.last.replace(state);
        self.cleared = None;
        let mut events = Vec::new();
        match state {
            State::Working => {
                let at_once = self.entered.take().is_some_and(|entered| now.mono <= entered + ENTER);
                match self.turn {
                    Turn::Open => events.extend(self.attend(None, now)),
                    Turn::Held(_) => {}
                    Turn::Closed if at_once => events.extend(self.open(now.wall)),
                    Turn::Closed => self.turn = Turn::Held(now),
                }
            }
            State::Blocked => {
                // Whoever asks for leave is in a turn, also where its beginning was not reported or taken back.
                match self.turn {
                    Turn::Held(since) => events.extend(self.open(since.wall)),
                    Turn::Closed if matches!(kind, Some(Kind::Permission | Kind::Question)) => {
                        events.extend(self.open(now.wall));
                    }
                    Turn::Closed | Turn::Open => {}
                }
                events.extend(self.attend(Some(reason(kind)), now));
            }
            State::Done => events.extend(self.settle(TurnOutcome::Ok, now)),
            State::Idle => events.extend(self.settle(TurnOutcome::Aborted, now)),
            // A repeated report of the same failure, as after a stop, is not a second one.
            State::Error if self.turn == Turn::Closed && before == Some(State::Error) => {}
            State::Error => {
                self.turn = Turn::Closed;
                self.waits = Some(Reason::ERROR);
                events.push(settled(TurnOutcome::Error, now));
            }
        }
        events
    }

    fn open(&mut self, at: Timestamp) -> Option<Event> {
        self.turn = Turn::Open;
        self.waits = None;
        Some(TurnEvent::new().phase(TurnPhase::Start).at(Some(at)).into())
    }

    fn settle(&mut self, outcome: TurnOutcome, now: Now) -> Vec<Event> {
        self.cleared = None;
        self.progress = None;
        match std::mem::take(&mut self.turn) {
            Turn::Open => {
                self.waits = None;
                vec![settled(outcome, now)]
            }
            Turn::Held(since) if now.mono >= since.mono + SHORTEST_TURN => {
                let start = self.open(since.wall);
                self.turn = Turn::Closed;
                start.into_iter().chain([settled(outcome, now)]).collect()
            }
            Turn::Held(_) | Turn::Closed => self.attend(None, now).into_iter().collect(),
        }
    }

    fn attend(&mut self, waits: Option<Reason>, now: Now) -> Option<Event> {
        if self.waits == waits {
            return None;
        }
        self.waits.clone_from(&waits);
        Some(AttentionEvent::new().at(Some(now.wall)).reason(waits).into())
    }

    fn moved(&mut self, progress: Option<u8>, now: Now) -> Option<Event> {
        let progress = progress.filter(|_| self.turn != Turn::Closed);
        if self.progress == progress {
            return None;
        }
        self.progress = progress;
        Some(ProgressEvent::new().at(Some(now.wall)).percent(progress).into())
    }

    /// All records are gone. That is not the end: agents clear at a stop and report again when they go on.
    fn clear(&mut self, now: Now) -> Vec<Event> {
        self.store.reset();
        let mut events = self.children(now);
        match self.turn {
            Turn::Open => self.cleared = Some(now.mono),
            Turn::Held(_) => self.turn = Turn::Closed,
            // An error stays to be seen.
            Turn::Closed if self.waits == Some(Reason::ERROR) => {}
            Turn::Closed => events.extend(self.attend(None, now)),
        }
        events
    }

    /// What the records below the root say.
    fn children(&mut self, now: Now) -> Vec<Event> {
        let below = || self.store.iter().filter_map(|(id, record)| Some((id?, record)));
        let active = below().filter(|(_, record)| record.state.is_transient()).count() as u64;
        // Those that work or wait come first where there are more than a file holds.
        let (mut children, rest): (Vec<_>, Vec<_>) = below().partition(|(_, record)| record.state.is_transient());
        children.extend(rest);
        children.truncate(limits::CHILDREN);
        let children: Vec<Child> = children.into_iter().filter_map(|(id, record)| child(id, record)).collect();
        let mut events = Vec::new();
        if children != self.children {
            self.children.clone_from(&children);
            events.push(ChildrenEvent::new().at(Some(now.wall)).children(children).into());
        }
        if active != self.active {
            self.active = active;
            events.push(BackgroundEvent::new().count(active).at(Some(now.wall)).into());
        }
        events
    }
}

fn settled(outcome: TurnOutcome, now: Now) -> Event {
    TurnEvent::new().phase(TurnPhase::Settled).at(Some(now.wall)).outcome(Some(outcome)).into()
}

/// Why a person is waited for, in our words.
fn reason(kind: Option<Kind>) -> Reason {
    match kind {
        Some(Kind::Permission) => Reason::APPROVAL,
        Some(Kind::Question) => Reason::QUESTION,
        Some(Kind::Auth) => Reason::AUTH,
        None => Reason::UNKNOWN,
    }
}

fn child(id: &str, record: &termstate_store::Record) -> Option<Child> {
    let state = match record.state {
        State::Idle => ChildState::IDLE,
        State::Working => ChildState::WORKING,
        State::Blocked => ChildState::BLOCKED,
        State::Done => ChildState::DONE,
        State::Error => ChildState::ERROR,
    };
    let kind = (record.state == State::Blocked).then(|| reason(record.kind));
    Some(Child::new().id(Name::new(id)?).state(state).kind(kind))
}
