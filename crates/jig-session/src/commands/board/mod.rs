//! `jig-session board`: the sessions, the bus and the panes on one screen.
//!
//! The board itself is a crate of its own and reads nothing. Here are its eyes, one thread each for the sessions, the
//! bus, the panes and the figures, which look only at what is on the screen, and its hands.

mod bus;
mod go;
pub(crate) mod sessions;

use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use jig_session_board::terminal::{self, End, Feed};
use jig_session_board::{Action, Board, Change, Event, Id, Panes, Tab, Wanted};
use jig_session_host::{Eyes, OpenEyes};
use jig_session_schema::request::Request;
use jig_session_schema::row::Source;
use jig_session_schema::shape::Named;
use jig_session_store::Nudge;

use crate::app::App;
use crate::broker::FleetArgs;
use crate::commands::filter::FilterArgs;
use crate::commands::{king, live};
use crate::elsewhere::Elsewhere;
use crate::failure::{Code, Exit, Failure, Outcome};
use crate::on::OnArgs;
use crate::view;

/// The pause between two looks at the panes: each starts tmux twice.
const PANES: Duration = Duration::from_secs(2);
/// The pause between two readings of the call logs.
const FIGURES: Duration = Duration::from_secs(60);
/// How long a session has for its answer.
const ANSWER: Duration = Duration::from_secs(10);

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Show sessions that ended too, and cards that ask not to be listed
    #[arg(long, short)]
    all: bool,
    /// Begin with this filter, as it is typed behind /: words, state:busy, agent:claude, repo:shop
    #[arg(value_name = "FILTER")]
    filter: Vec<String>,
    #[command(flatten)]
    which: FilterArgs,
    #[command(flatten)]
    on: OnArgs,
    #[command(flatten)]
    fleet: FleetArgs,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    view::note_ignored(app);
    let board =
        Board::new(app.places().home).filtered(format!("{} {}", args.filter.join(" "), args.which.typed()).trim());
    let elsewhere = Elsewhere::open(Some(&args.on), &args.fleet, app)?;
    let all = args.all;
    let app = app.clone();
    let color = app.color;
    let end = terminal::run(board, color, |feed| {
        let mut hands = Hands::start(app, Arc::new(feed), (all, elsewhere), true);
        Box::new(move |action| hands.act(action))
    });
    match end {
        Ok(End::Closed) => Ok(Exit::OK),
        Ok(End::Signal(signal)) => {
            // Whoever sent it sees the program end by it.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
            Ok(Exit::OK)
        }
        Err(error) => Err(Failure::new(Code::Io, format!("cannot show the board: {error}"))
            .errno(error.raw_os_error())
            .hint("it needs a terminal; jig-session ls prints the list")),
    }
}

/// Where looks and answers go to.
trait Outlet: Send + Sync {
    /// What was seen; false when the board is closed.
    fn send(&self, event: Event) -> bool;
    /// A program that wants the terminal.
    fn run(&self, command: Command);
    /// A text for the terminal's clipboard.
    fn copy(&self, text: String);
}

impl Outlet for Feed {
    fn send(&self, event: Event) -> bool {
        Self::send(self, event)
    }

    fn run(&self, command: Command) {
        Self::run(self, command);
    }

    fn copy(&self, text: String) {
        Self::copy(self, text);
    }
}

/// Into a panel of Pi's, whose terminal is not ours: what needs it is said instead.
impl Outlet for Sender<Event> {
    fn send(&self, event: Event) -> bool {
        Self::send(self, event).is_ok()
    }

    fn run(&self, command: Command) {
        let words: Vec<_> = std::iter::once(command.get_program()).chain(command.get_args()).collect();
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        let _ = Self::send(self, Event::Said(format!("in another terminal: {}", words.join(" "))));
    }

    fn copy(&self, text: String) {
        let _ = Self::send(self, Event::Said(text));
    }
}

/// The eyes of a panel in Pi; they close when they are dropped, since nobody takes what they see.
struct PanelEyes {
    hands: Hands,
    events: Receiver<Event>,
}

impl Eyes for PanelEyes {
    fn seen(&mut self) -> Vec<Event> {
        self.events.try_iter().collect()
    }

    fn act(&mut self, action: Action) {
        self.hands.act(action);
    }
}

/// What opens the eyes of a panel in Pi. The bus is the host's own, which acts there for the session.
pub(crate) fn eyes(app: &App) -> OpenEyes {
    let app = app.clone();
    Box::new(move || {
        let (sender, events) = channel();
        Box::new(PanelEyes {
            hands: Hands::start(app.clone(), Arc::new(sender), (false, Elsewhere::default()), false),
            events,
        })
    })
}

/// What is on the screen, and what has each eye look at once.
#[derive(Clone)]
struct Shared {
    app: Arc<App>,
    outlet: Arc<dyn Outlet>,
    wanted: Arc<Mutex<Wanted>>,
}

impl Shared {
    fn wanted(&self) -> Wanted {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn say(&self, text: impl Into<String>) {
        // A board that is closed wants to hear nothing.
        let _ = self.outlet.send(Event::Said(text.into()));
    }
}

/// What carries out actions; nothing here waits.
struct Hands {
    shared: Shared,
    nudges: Vec<Nudge>,
    panes: Sender<()>,
}

impl Hands {
    fn start(app: App, outlet: Arc<dyn Outlet>, sessions: (bool, Elsewhere), with_bus: bool) -> Self {
        let shared = Shared { app: Arc::new(app), outlet, wanted: Arc::default() };
        let (panes, look) = channel();
        let mut nudges = vec![sessions::start(&shared, sessions.0, sessions.1)];
        if with_bus {
            nudges.push(bus::start(&shared));
        }
        let of_panes = shared.clone();
        thread::spawn(move || look_at_panes(&of_panes, &look));
        let of_figures = shared.clone();
        thread::spawn(move || look_at_figures(&of_figures));
        Self { shared, nudges, panes }
    }

    fn look(&self) {
        self.nudges.iter().for_each(Nudge::now);
        let _ = self.panes.send(());
    }

    fn act(&mut self, action: Action) {
        let shared = self.shared.clone();
        let nudges = self.nudges.clone();
        let done = move || nudges.iter().for_each(Nudge::now);
        match action {
            Action::Look(wanted) => {
                *self.shared.wanted.lock().unwrap_or_else(PoisonError::into_inner) = wanted;
                self.look();
            }
            Action::Listen(on) => in_background(move || {
                shared.say(bus::listen(&shared.app, on));
                done();
            }),
            Action::Release(path) => in_background(move || {
                shared.say(bus::release(&shared.app, path));
                done();
            }),
            Action::Ask(id, change) => in_background(move || {
                shared.say(ask(&shared.app, &id, &change));
                done();
            }),
            Action::GoTo(id) => in_background(move || go::to_session(&shared, &id)),
            Action::GoToPane(pane) => in_background(move || go::to_pane(&shared, &pane)),
            Action::Copy(text) => in_background(move || go::copy(&shared, text)),
            Action::Seen(id) => in_background(move || {
                seen(&shared.app, &id);
                done();
            }),
            Action::Close | Action::Suspend | Action::Redraw => {}
        }
    }
}

fn in_background(work: impl FnOnce() + Send + 'static) {
    // What could not be started says nothing; the next key tries again.
    let _ = thread::Builder::new().spawn(work);
}

/// Marks a session as seen. One that cannot be marked is shown as unseen once more; nothing else hangs on it.
fn seen(app: &App, id: &Id) {
    let places = app.places();
    let Ok(view) = view::load(app) else { return };
    let row = view.rows().find(|row| Id::of(row) == *id && row.source == Source::Jig && row.host.is_none());
    if let Some(row) = row {
        let _ = jig_session_store::mark(&places.seen, &places.sessions, row);
    }
}

/// Asks a session, and says what it answers.
fn ask(app: &App, id: &Id, change: &Change) -> String {
    let row = match view::load(app) {
        Ok(view) => view.rows().find(|row| Id::of(row) == *id).cloned(),
        Err(failure) => return failure.message,
    };
    let Some(row) = row else { return "the session has ended".to_owned() };
    let one = |name: &str, on: bool| {
        let mut names = Named::default();
        names.insert(name.to_owned(), on);
        names
    };
    let asked = Request::new().id(format!("board-{}-{}", app.now().epoch_ms(), std::process::id()));
    let asked = match change {
        Change::Tool(name, on) => asked.tools(one(name, *on)),
        Change::Skill(name, on) => asked.skills(one(name, *on)),
        Change::Reload => asked.reload(Some(true)),
    };
    match jig_session_requests::ask(&app.places().requests, &row, &asked, ANSWER) {
        Ok(reply) => reply.words().to_owned(),
        Err(error) => error.to_string(),
    }
}

fn look_at_panes(shared: &Shared, look: &Receiver<()>) {
    loop {
        if shared.wanted().tab == Tab::Panes && !shared.outlet.send(Event::Panes(panes(&shared.app))) {
            return;
        }
        let limit = if shared.wanted().tab == Tab::Panes { PANES } else { FIGURES };
        match look.recv_timeout(limit) {
            Err(RecvTimeoutError::Disconnected) => return,
            // Several wishes are one look.
            Ok(()) => while look.try_recv().is_ok() {},
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

fn panes(app: &App) -> Panes {
    let at = Some(app.now());
    match live::observed(app) {
        Ok((rows, rules)) => Panes { at, rows, rules, trouble: None },
        Err(failure) => Panes { at, trouble: Some(failure.message), ..Panes::default() },
    }
}

fn look_at_figures(shared: &Shared) {
    loop {
        let band = king::metrics::band(&shared.app);
        if band.is_empty() || !shared.outlet.send(Event::Band(band)) {
            return;
        }
        thread::sleep(FIGURES);
    }
}
