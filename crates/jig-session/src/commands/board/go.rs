//! To a session's tmux pane, and texts into the clipboard. Nothing is typed into any pane.

use std::process::{Command, Stdio};

use jig_session_board::Id;
use jig_session_liveness::{Machine, Processes};
use jig_session_panes::tmux::{PaneFacts, Server, Socket, list};

use super::Shared;
use crate::view;

/// Goes to the pane in which the session's process runs, whatever pane its file names: numbers are given anew by a
/// server that was started again.
pub(super) fn to_session(shared: &Shared, id: &Id) {
    match find(shared, id) {
        Ok((server, pane)) => go(shared, &server, &pane),
        Err(why) => shared.say(why),
    }
}

/// Goes to a pane of the server of this terminal.
pub(super) fn to_pane(shared: &Shared, pane: &str) {
    go(shared, &Server::default(), pane);
}

fn find(shared: &Shared, id: &Id) -> Result<(Server, String), String> {
    let view = view::load(&shared.app).map_err(|failure| failure.message)?;
    let session = view.sessions.iter().find(|session| Id::of(&session.row) == *id);
    let session = session.ok_or("the session has ended")?;
    let pid = session.row.pid.filter(|_| session.row.verdict.is_alive());
    let pid = pid.ok_or("nothing proves that its process runs")?;
    let mut chain = vec![pid];
    chain.extend(Machine::new().ancestors(pid).into_iter().map(|process| process.pid));
    let recorded = session.tmux_socket.clone().map(|path| Server { socket: Socket::Path(path), ..Server::default() });
    let mut trouble = None;
    for server in recorded.into_iter().chain([Server::default()]) {
        match list(&server, false) {
            Ok(panes) => {
                let holds = |pid: &u32| panes.iter().find(|pane| !pane.dead && pane.pid == *pid);
                if let Some(pane) = chain.iter().find_map(holds) {
                    return Ok((server, PaneFacts::clone(pane).pane_id));
                }
            }
            Err(error) => trouble = Some(error.to_string()),
        }
    }
    let terminal = session.row.terminal.as_deref().filter(|terminal| !terminal.starts_with('%'));
    Err(match (trouble, terminal) {
        (Some(trouble), _) => trouble,
        (None, Some(terminal)) => format!("it is in no tmux pane, but in terminal {terminal}"),
        (None, None) => "it is in no tmux pane".to_owned(),
    })
}

/// Switches this client where the board is in that server, and attaches to it where it is in none.
fn go(shared: &Shared, server: &Server, pane: &str) {
    let inside = shared.app.var("TMUX").and_then(|tmux| tmux.split(',').next());
    let same = inside.is_some_and(|inside| match &server.socket {
        Socket::Path(path) => is_same(inside, path),
        _ => true,
    });
    let select = ["select-window", "-t", pane, ";", "select-pane", "-t", pane, ";"];
    let words = |last: [&'static str; 2]| [&select[..], &last, &[pane]].concat();
    match inside {
        Some(_) if same => match server.execute(&server.argv(&words(["switch-client", "-t"]))) {
            Ok(done) if done.code == Some(0) => {}
            Ok(done) => shared.say(format!("tmux: {}", done.errors)),
            Err(error) => shared.say(error.to_string()),
        },
        Some(_) => {
            let argv = server.argv(&["attach", "-t", pane]);
            shared.say(format!("it is on another tmux server: {}", argv.join(" ")));
        }
        None => {
            let argv = server.argv(&words(["attach-session", "-t"]));
            let mut command = Command::new(&argv[0]);
            command.args(&argv[1..]);
            shared.outlet.run(command);
        }
    }
}

fn is_same(one: &str, other: &str) -> bool {
    let real = |path: &str| std::fs::canonicalize(path).ok();
    one == other || (real(one).is_some() && real(one) == real(other))
}

/// Into the terminal's clipboard. tmux takes no such request of a program in a pane unless it is set to, but it has a
/// command of its own for it.
pub(super) fn copy(shared: &Shared, text: String) {
    let in_tmux = shared.app.var("TMUX").is_some();
    let tmux = |words: &[&str]| {
        let mut command = Command::new("tmux");
        command.args(words).arg("--").arg(&text).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    if in_tmux && tmux(&["set-buffer", "-w"]) {
        shared.say(format!("copied: {text}"));
    } else {
        shared.outlet.copy(text);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn one_server_has_several_names() {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("default");
        std::fs::write(&socket, "").expect("written");
        std::os::unix::fs::symlink(&socket, folder.path().join("link")).expect("linked");
        let text = |path: &Path| path.to_string_lossy().into_owned();
        assert!(is_same(&text(&socket), &text(&folder.path().join("link"))));
        assert!(!is_same(&text(&socket), &text(&folder.path().join("other"))));
    }
}
