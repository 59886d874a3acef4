//! The board in a terminal: drawn with ratatui, and whatever ends or stops it, the terminal is as it was.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crossterm::event::{self, DisableBracketedPaste, EnableBracketedPaste};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{clipboard::CopyToClipboard, cursor, execute};
use ratatui::Terminal;
use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::layout::Position;
use ratatui::style::{Color, Modifier, Style as Shown};
use signal_hook::consts::{
    SIGABRT, SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGPROF, SIGQUIT, SIGSYS, SIGTERM, SIGTRAP, SIGTSTP, SIGUSR1, SIGUSR2,
    SIGVTALRM, SIGXCPU,
};
use signal_hook::iterator::Signals;

use jig_session_view::table::Style;

use crate::board::{Action, Board, Event};
use crate::keys::Key;
use crate::views::Screen;

/// Signals that end a program that does not ask for them.
///
/// Those of a fault in the program itself (`SIGSEGV`, `SIGBUS`, `SIGILL`, `SIGFPE`) cannot be waited for by a thread.
const ENDS: [i32; 13] = [
    SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGALRM, SIGUSR1, SIGUSR2, SIGABRT, SIGPROF, SIGSYS, SIGTRAP, SIGVTALRM, SIGXCPU,
];
/// How long the reader of keys waits before it looks whether it is to leave the terminal to another program.
const TURN: Duration = Duration::from_millis(200);

/// Where looks are sent to; it can be given to any thread.
#[derive(Clone, Debug)]
pub struct Feed(Sender<Message>);

impl Feed {
    /// Sends what was seen; false when the board is closed.
    #[must_use]
    pub fn send(&self, event: Event) -> bool {
        self.0.send(Message::Event(event)).is_ok()
    }

    /// Gives the terminal to this program until it ends.
    pub fn run(&self, command: Command) {
        // A board that is closed lends nothing.
        let _ = self.0.send(Message::Run(Box::new(command)));
    }

    /// Puts a text into the terminal's clipboard.
    pub fn copy(&self, text: String) {
        let _ = self.0.send(Message::Copy(text));
    }
}

#[allow(clippy::large_enum_variant, reason = "one at a time, and moved once")]
#[derive(Debug)]
enum Message {
    Event(Event),
    Input(event::Event),
    Signal(i32),
    Run(Box<Command>),
    Copy(String),
    /// The terminal can be read no more.
    Closed,
}

/// How the board ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It was closed.
    Closed,
    /// By a signal.
    Signal(i32),
}

/// Shows the board until it is closed. `act` carries out what is to be done beside closing, stopping and drawing, and
/// must not wait: what takes time reports through the feed.
///
/// # Errors
/// When stdout is no terminal, or the terminal cannot be set up or written.
pub fn run(mut board: Board, color: bool, start: impl FnOnce(Feed) -> Box<dyn FnMut(Action)>) -> io::Result<End> {
    if !io::stdout().is_terminal() {
        return Err(io::Error::other("stdout is no terminal"));
    }
    let (sender, messages) = channel();
    // Before anything is changed: a signal that comes at once finds the board ready for it.
    listen(&sender)?;
    let mut seat = Seat::take()?;
    let gate = read_keys(&sender)?;
    let mut act = start(Feed(sender));
    seat.draw(&mut board, color)?;
    act(Action::Look(board.wanted()));
    loop {
        let Ok(message) = messages.recv() else { return Ok(End::Closed) };
        let mut message = Some(message);
        let mut actions = Vec::new();
        // What has come meanwhile is drawn once.
        while let Some(now) = message.take() {
            match now {
                Message::Event(event) => actions.extend(board.update(event)),
                Message::Input(event) => actions.extend(input(&mut board, &mut seat, &event)),
                Message::Signal(SIGCONT) => actions.push(Action::Redraw),
                Message::Signal(SIGTSTP) => actions.push(Action::Suspend),
                Message::Signal(signal) => return Ok(End::Signal(signal)),
                Message::Run(command) => {
                    if let Some(text) = seat.lend(&gate, *command)? {
                        actions.extend(board.update(Event::Said(text)));
                    }
                }
                Message::Copy(text) => {
                    execute!(io::stdout(), CopyToClipboard::to_clipboard_from(&text))?;
                    actions.extend(board.update(Event::Said(format!("copied: {text}"))));
                }
                Message::Closed => return Ok(End::Closed),
            }
            if actions.is_empty() {
                message = messages.try_recv().ok();
            }
        }
        for action in actions {
            match action {
                Action::Close => return Ok(End::Closed),
                Action::Redraw => seat.forget()?,
                Action::Suspend => seat.suspend()?,
                action => act(action),
            }
        }
        seat.draw(&mut board, color)?;
    }
}

fn input(board: &mut Board, seat: &mut Seat, event: &event::Event) -> Vec<Action> {
    match event {
        event::Event::Key(key) => Key::of_event(key).map(|key| board.update(Event::Key(key))).unwrap_or_default(),
        // What is pasted is never a key: a text could hold the one that releases a claim.
        event::Event::Paste(text) => {
            board.paste(text);
            Vec::new()
        }
        event::Event::Resize(..) => {
            seat.shown = None;
            Vec::new()
        }
        _ => Vec::new(),
    }
}

/// Every signal that ends or stops a program becomes a message, in the order in which they come.
fn listen(sender: &Sender<Message>) -> io::Result<()> {
    let mut signals = Signals::new(ENDS.iter().chain(&[SIGTSTP, SIGCONT]))?;
    let sender = sender.clone();
    thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            if sender.send(Message::Signal(signal)).is_err() {
                return;
            }
        }
    })?;
    Ok(())
}

/// Whether keys are read: another program may have the terminal.
type Gate = Arc<(AtomicBool, Mutex<()>)>;

fn read_keys(sender: &Sender<Message>) -> io::Result<Gate> {
    let gate: Gate = Arc::default();
    let (sender, closed) = (sender.clone(), Arc::clone(&gate));
    thread::Builder::new().name("keys".into()).spawn(move || {
        loop {
            if closed.0.load(Ordering::Acquire) {
                thread::sleep(TURN / 4);
                continue;
            }
            let turn = closed.1.lock().unwrap_or_else(PoisonError::into_inner);
            let read = match event::poll(TURN) {
                Ok(true) => event::read().map(Some),
                Ok(false) => Ok(None),
                Err(error) => Err(error),
            };
            drop(turn);
            let message = match read {
                Ok(None) => continue,
                Ok(Some(event)) => Message::Input(event),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => Message::Closed,
            };
            let over = matches!(message, Message::Closed);
            if sender.send(message).is_err() || over {
                return;
            }
        }
    })?;
    Ok(gate)
}

/// The terminal, as long as the board has it. Dropping gives it back.
struct Seat {
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
    /// What is on the screen.
    shown: Option<Screen>,
}

impl Seat {
    fn take() -> io::Result<Self> {
        give_back_on_panic();
        let backend = CrosstermBackend::new(BufWriter::new(io::stdout()));
        enter()?;
        let terminal = Terminal::new(backend).inspect_err(|_| give_back())?;
        Ok(Self { terminal, shown: None })
    }

    /// Draws the board if it looks otherwise than it did.
    fn draw(&mut self, board: &mut Board, color: bool) -> io::Result<()> {
        let size = self.terminal.size()?;
        let screen = board.screen(size.width.into(), size.height.into());
        if self.shown.as_ref() == Some(&screen) {
            return Ok(());
        }
        self.terminal.draw(|frame| {
            paint(frame.buffer_mut(), &screen, color);
            if let Some((column, row)) = screen.cursor {
                frame.set_cursor_position(Position::new(column, row));
            }
        })?;
        self.shown = Some(screen);
        Ok(())
    }

    /// What is on the screen is not known any more.
    fn forget(&mut self) -> io::Result<()> {
        self.shown = None;
        self.terminal.clear()
    }

    /// Stops as Ctrl-Z stops any program, where a shell can let it go on.
    fn suspend(&mut self) -> io::Result<()> {
        if has_shell() {
            give_back();
            // Nothing more is to be done here until somebody continues us.
            let _ = nix::sys::signal::raise(nix::sys::signal::SIGSTOP);
            enter()?;
        }
        self.forget()
    }

    /// Gives the terminal to another program; a line to show when that fails.
    fn lend(&mut self, gate: &Gate, mut command: Command) -> io::Result<Option<String>> {
        gate.0.store(true, Ordering::Release);
        let turn = gate.1.lock().unwrap_or_else(PoisonError::into_inner);
        give_back();
        let ended = command.status();
        enter()?;
        drop(turn);
        gate.0.store(false, Ordering::Release);
        self.forget()?;
        let name = command.get_program().to_string_lossy().into_owned();
        Ok(match ended {
            Err(error) => Some(format!("cannot start {name}: {error}")),
            Ok(status) if !status.success() => Some(format!("{name} ended with {status}")),
            Ok(_) => None,
        })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        give_back();
    }
}

fn enter() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste, cursor::Hide).inspect_err(|_| give_back())
}

/// The terminal as it was; it can be done twice. Where it is gone there is nothing to give back.
fn give_back() {
    let _ = execute!(io::stdout(), DisableBracketedPaste, LeaveAlternateScreen, cursor::Show);
    let _ = disable_raw_mode();
    let _ = io::stdout().flush();
}

/// A panic is reported on the user's own screen, and ends the program whichever thread it was in.
fn give_back_on_panic() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        give_back();
        before(panic);
        std::process::exit(101);
    }));
}

/// Whether a shell of the same terminal session is above: a program that nobody can continue must not stop. It is the
/// kernel's rule for Ctrl-Z.
fn has_shell() -> bool {
    use nix::unistd::{getpgid, getpgrp, getppid, getsid};
    let parent = getppid();
    let session = getsid(None).ok();
    session.is_some() && getsid(Some(parent)).ok() == session && getpgid(Some(parent)).ok() != Some(getpgrp())
}

/// Puts a screen into a buffer of its size.
pub fn paint(buffer: &mut Buffer, screen: &Screen, color: bool) {
    let area = buffer.area;
    for (row, line) in (area.top()..area.bottom()).zip(&screen.lines) {
        let mut column = area.left();
        for span in line.spans() {
            let left = usize::from(area.right().saturating_sub(column));
            (column, _) = buffer.set_stringn(column, row, span.text(), left, shown(span.style(), color));
        }
        if line.selected {
            let whole = ratatui::layout::Rect { x: area.left(), y: row, width: area.width, height: 1 };
            buffer.set_style(whole, Shown::new().add_modifier(Modifier::REVERSED));
        }
    }
}

/// Without colour what is bold and dim stays.
fn shown(style: Style, color: bool) -> Shown {
    let plain = Shown::new();
    let fg = |shown: Shown, which| if color { shown.fg(which) } else { shown };
    match style {
        Style::Plain => plain,
        Style::Bold => plain.add_modifier(Modifier::BOLD),
        Style::Dim => plain.add_modifier(Modifier::DIM),
        Style::Red => fg(plain.add_modifier(Modifier::BOLD), Color::Red),
        Style::Yellow => fg(plain, Color::Yellow),
        Style::Green => fg(plain, Color::Green),
        Style::Color(code) => fg(plain, ansi(code)),
    }
}

/// The colour of an escape sequence's number.
fn ansi(code: u8) -> Color {
    const COLORS: [Color; 16] = [
        Color::Black,
        Color::Red,
        Color::Green,
        Color::Yellow,
        Color::Blue,
        Color::Magenta,
        Color::Cyan,
        Color::Gray,
        Color::DarkGray,
        Color::LightRed,
        Color::LightGreen,
        Color::LightYellow,
        Color::LightBlue,
        Color::LightMagenta,
        Color::LightCyan,
        Color::White,
    ];
    let place = match code {
        30..=37 => code - 30,
        90..=97 => code - 90 + 8,
        _ => return Color::Reset,
    };
    COLORS[usize::from(place)]
}

/// Draws a screen on any backend; tests have one of their own.
///
/// # Errors
/// When the backend cannot be written.
pub fn draw_on<B: Backend>(terminal: &mut Terminal<B>, screen: &Screen, color: bool) -> Result<(), B::Error> {
    terminal.draw(|frame| paint(frame.buffer_mut(), screen, color)).map(|_| ())
}
