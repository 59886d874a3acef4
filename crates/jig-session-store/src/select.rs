//! Which session a person means: an id, a part of one, a name, a terminal, or `.` for the session of this terminal.
//!
//! The first rule that matches anything decides, so that an exact id is never made ambiguous by a longer one.
//!
//! A pane's number is one of one tmux server: `%3` means the server of this terminal, `SOCKET:%3` another one.

use std::ffi::OsStr;
use std::path::Path;

use jig_session_liveness::Processes;
use jig_session_schema::places::Environment;

use crate::entry::Session;
use crate::join::is_live;

/// A part of an id must be at least this long.
const PART: usize = 4;

/// The rules in the order in which they are tried.
const RULES: [fn(&Session, &Wanted<'_>) -> bool; 4] = [
    |session, wanted| session.row.session == wanted.text,
    |session, wanted| match &wanted.pane {
        Some(pane) => pane.is_of(session),
        None => session.row.terminal.as_deref() == Some(wanted.text),
    },
    |session, wanted| session.row.name.as_deref() == Some(wanted.text),
    |session, wanted| {
        let (id, part) = (&session.row.session, wanted.text);
        part.len() >= PART && (id.starts_with(part) || id.ends_with(part))
    },
];

/// What a SESSION argument can mean.
struct Wanted<'a> {
    text: &'a str,
    pane: Option<Pane<'a>>,
}

/// A pane of one tmux server, or of any when the terminal is in none.
struct Pane<'a> {
    number: &'a str,
    socket: Option<&'a str>,
}

impl<'a> Wanted<'a> {
    /// The argument, in a terminal whose `TMUX` is this.
    fn of(text: &'a str, tmux: Option<&'a str>) -> Self {
        let is_number = |text: &str| {
            text.strip_prefix('%')
                .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
        };
        let pane = match text.rsplit_once(':') {
            Some((socket, number)) if is_number(number) => Some(Pane { number, socket: Some(socket) }),
            _ if is_number(text) => Some(Pane { number: text, socket: tmux.and_then(socket_of) }),
            _ => None,
        };
        Self { text, pane }
    }
}

impl Pane<'_> {
    /// Whether a session recorded this pane.
    fn is_of(&self, session: &Session) -> bool {
        let recorded = session.row.tmux_pane.as_deref().or(session.row.terminal.as_deref());
        recorded == Some(self.number)
            && self.socket.is_none_or(|socket| is_socket(session.tmux_socket.as_deref(), socket))
    }
}

/// The socket in the value of `TMUX`.
fn socket_of(tmux: &str) -> Option<&str> {
    tmux.split(',').next().filter(|socket| !socket.is_empty())
}

/// Whether a recorded socket is the one that is meant: its path, or the name that `tmux -L` takes.
fn is_socket(recorded: Option<&str>, meant: &str) -> bool {
    let Some(recorded) = recorded.map(Path::new) else { return false };
    let one_file = || Some(std::fs::canonicalize(recorded).ok()? == std::fs::canonicalize(meant).ok()?);
    recorded == Path::new(meant) || recorded.file_name() == Some(OsStr::new(meant)) || one_file() == Some(true)
}

/// The sessions that a word names, of which one alone is an answer. `.` is the session whose process is above this one,
/// else the one of this terminal, as its environment says.
#[must_use]
pub fn select<'a>(
    sessions: &'a [Session],
    word: &str,
    env: &Environment,
    processes: &dyn Processes,
) -> Vec<&'a Session> {
    if word == HERE {
        return here(sessions, env, processes);
    }
    choose(sessions, &Wanted::of(word, env.get("TMUX")))
}

/// The word for the session of this terminal.
pub const HERE: &str = ".";

/// Whether a word is a pane's number, with or without the server that it is one of.
#[must_use]
pub fn is_pane(word: &str) -> bool {
    Wanted::of(word, None).pane.is_some()
}

/// Whether a word is too short to be taken for a part of an id.
#[must_use]
pub fn is_too_short(word: &str) -> bool {
    word.len() < PART
}

/// The sessions that the argument names, by the first rule that matches any. Live ones are matched first: a name that a
/// crashed session also had names the live one.
fn choose<'a>(sessions: &'a [Session], wanted: &Wanted<'_>) -> Vec<&'a Session> {
    for live in [true, false] {
        for rule in RULES {
            let matches = |session: &&Session| is_live(&session.row) == live && rule(session, wanted);
            let found: Vec<_> = sessions.iter().filter(matches).collect();
            if !found.is_empty() {
                return found;
            }
        }
    }
    Vec::new()
}

/// `.`: the session whose process this one descends from, else the session of this terminal.
fn here<'a>(sessions: &'a [Session], env: &Environment, processes: &dyn Processes) -> Vec<&'a Session> {
    let live: Vec<&Session> = sessions.iter().filter(|s| is_live(&s.row) && s.row.host.is_none()).collect();
    let of_pid = |pid: u32| live.iter().copied().filter(|s| s.row.pid == Some(pid)).collect::<Vec<_>>();
    let above = processes
        .ancestors(std::process::id())
        .into_iter()
        .map(|process| of_pid(process.pid))
        .find(|found| !found.is_empty());
    above.unwrap_or_else(|| in_this_terminal(env, &live))
}

/// A pane number alone names nothing, since servers share numbers: the socket must be the same too. In the same way a
/// terminal's name counts only beside the variable that it came from.
fn in_this_terminal<'a>(env: &Environment, live: &[&'a Session]) -> Vec<&'a Session> {
    let socket = env.get("TMUX").and_then(socket_of);
    if let (Some(socket), Some(pane)) = (socket, env.get("TMUX_PANE")) {
        let same =
            |s: &&Session| s.row.tmux_pane.as_deref() == Some(pane) && is_socket(s.tmux_socket.as_deref(), socket);
        let found: Vec<_> = live.iter().copied().filter(same).collect();
        if !found.is_empty() {
            return found;
        }
    }
    for variable in ["HC_TERMINAL_ID", "WEZTERM_PANE", "KITTY_WINDOW_ID"] {
        let Some(terminal) = env.get(variable) else { continue };
        let same =
            |s: &&Session| s.row.terminal.as_deref() == Some(terminal) && s.terminal_from.as_deref() == Some(variable);
        let found: Vec<_> = live.iter().copied().filter(same).collect();
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use jig_session_liveness::fake::Table;
    use jig_session_schema::row::{Row, Verdict};

    use super::*;

    /// Sessions by id, name, terminal, pane, socket and whether they live.
    fn sessions() -> Vec<Session> {
        let table = [
            ("aaaa-1111", "api", "%3", "/tmp/tmux-0/default", Verdict::Alive),
            ("aaaa-2222", "web", "%3", "/tmp/tmux-0/other", Verdict::Alive),
            ("bbbb-3333", "api", "term-7", "", Verdict::Gone),
            ("web", "docs", "", "", Verdict::Alive),
        ];
        let session = |(id, name, terminal, socket, verdict): (&str, &str, &str, &str, Verdict)| {
            let mut row = Row::new();
            (row.session, row.name, row.terminal, row.verdict) =
                (id.into(), Some(name.into()), Some(terminal.into()), verdict);
            row.tmux_pane = terminal.starts_with('%').then(|| terminal.into());
            let tmux_socket = Some(socket.to_owned()).filter(|socket| !socket.is_empty());
            Session { tmux_socket, ..Session::elsewhere(row) }
        };
        table.into_iter().map(session).collect()
    }

    #[test]
    fn the_first_rule_that_matches_decides() {
        let (tmux, plain) = ("/tmp/tmux-0/default,1,0", "");
        let table: [(&str, &str, &[&str]); 13] = [
            (plain, "aaaa-1111", &["aaaa-1111"]),
            // An exact id goes before a name.
            (plain, "web", &["web"]),
            // A live one goes before one that ended.
            (plain, "api", &["aaaa-1111"]),
            (plain, "term-7", &["bbbb-3333"]),
            (plain, "aaaa", &["aaaa-1111", "aaaa-2222"]),
            (plain, "2222", &["aaaa-2222"]),
            (plain, "222", &[]),
            (plain, "a-11", &[]),
            // Without a server the number is one of any.
            (plain, "%3", &["aaaa-1111", "aaaa-2222"]),
            (tmux, "%3", &["aaaa-1111"]),
            (tmux, "other:%3", &["aaaa-2222"]),
            (tmux, "/tmp/tmux-0/other:%3", &["aaaa-2222"]),
            (tmux, "%33", &[]),
        ];
        let sessions = sessions();
        for (tmux, word, ids) in table {
            let env = Environment::of([("TMUX", tmux)]);
            let found = select(&sessions, word, &env, &Table::new());
            assert_eq!(found.iter().map(|found| found.row.session.as_str()).collect::<Vec<_>>(), ids, "{word}");
        }
    }

    #[test]
    fn here_is_this_terminals_session_by_its_socket() {
        let sessions = sessions();
        for (socket, id) in [("/tmp/tmux-0/default", "aaaa-1111"), ("/tmp/tmux-0/other", "aaaa-2222")] {
            let tmux = format!("{socket},1,0");
            let env = Environment::of([("TMUX", tmux.as_str()), ("TMUX_PANE", "%3")]);
            let found = select(&sessions, HERE, &env, &Table::new());
            assert_eq!(found.iter().map(|found| found.row.session.as_str()).collect::<Vec<_>>(), [id]);
        }
        assert!(select(&sessions, HERE, &Environment::default(), &Table::new()).is_empty());
    }
}
