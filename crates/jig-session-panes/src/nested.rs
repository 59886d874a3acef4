//! A tmux client inside a pane: the pane that it shows is looked at on its own server, where that can be reached.

use std::collections::HashMap;

use jig_session_liveness::TerminalProcess;
use jig_session_schema::live::PaneStatus;

use crate::observe::{ObserveOptions, Terminals, observe_panes};
use crate::pane::Pane;
use crate::tmux::{Server, Socket};

/// How many servers deep is looked.
const DEPTH: usize = 3;

/// The tmux clients in the foreground of these panes: index, process.
fn clients<'a>(panes: &[Pane], table: &'a [TerminalProcess]) -> Vec<(usize, &'a TerminalProcess)> {
    let client = |pane: &Pane| {
        let first = table.iter().find(|process| process.pid == pane.facts.pid)?;
        table.iter().find(|process| {
            process.terminal == first.terminal
                && Some(process.group) == first.foreground
                && process.name.starts_with("tmux")
        })
    };
    let shown = panes.iter().enumerate().filter(|(_, pane)| !pane.facts.dead && pane.facts.command == "tmux");
    shown.filter_map(|(index, pane)| Some((index, client(pane)?))).collect()
}

/// Gives each pane that shows another server's pane the classification of that one. Without its server, or when what
/// it shows is not on the screen, a pane stays as it is: never idle.
pub(crate) fn look_through(
    options: &ObserveOptions,
    terminals: &dyn Terminals,
    table: &[TerminalProcess],
    panes: &mut [Pane],
    depth: usize,
) {
    if depth >= DEPTH {
        return;
    }
    let mut servers: HashMap<String, Vec<(usize, u32)>> = HashMap::new();
    for (index, client) in clients(panes, table) {
        let variable = |name: &str| terminals.variable(client.pid, name);
        servers.entry(socket(&client.command, terminals.user(), &variable)).or_default().push((index, client.pid));
    }
    for (path, clients) in servers {
        let server = Server { socket: Socket::Path(path), ..options.server.clone() };
        let options = ObserveOptions { server, ..options.clone() };
        // An unreachable server leaves its clients' panes as they are.
        let Ok(shown) = shown(&options.server) else { continue };
        let wanted = |pid: &u32| shown.get(pid);
        let ids: Vec<&String> = clients.iter().filter_map(|(_, pid)| wanted(pid)).collect();
        let Ok(inner) = observe_panes(&options, terminals, table, depth + 1, &|facts, _| ids.contains(&&facts.pane_id))
        else {
            continue;
        };
        for (index, pid) in clients {
            let Some(id) = wanted(&pid) else { continue };
            if let Some(found) = inner.iter().find(|pane| pane.facts.pane_id == *id) {
                take(&mut panes[index], found);
            }
        }
    }
}

/// The pane takes what the inner one is; idle only when the outer screen shows it, and no menu or prompt of the
/// multiplexer over it.
fn take(pane: &mut Pane, inner: &Pane) {
    let visible = || inner.last_line.as_deref().is_some_and(|line| pane.text.lines().any(|row| shows(row, line)));
    if inner.facts.dead || (inner.classification.status == PaneStatus::Idle && !visible()) {
        return;
    }
    pane.classification = inner.classification;
    pane.agent.clone_from(&inner.agent);
}

/// Whether a row holds a line, blanks taken together.
fn shows(row: &str, line: &str) -> bool {
    row.split_whitespace().collect::<Vec<_>>().join(" ").contains(line)
}

/// Which pane each client of a server shows, by the client's process.
fn shown(server: &Server) -> Result<HashMap<u32, String>, crate::tmux::TmuxError> {
    let answer = server.query(&["list-clients", "-F", "#{client_pid} #{pane_id}"], &[])?;
    let text = String::from_utf8_lossy(&answer.output);
    let client = |line: &str| {
        let (pid, pane) = line.split_once(' ')?;
        Some((pid.parse().ok()?, pane.to_owned()))
    };
    Ok(text.lines().filter_map(client).collect())
}

/// The socket of a client, from its command line and its environment.
fn socket(command: &[String], user: u32, variable: &dyn Fn(&str) -> Option<String>) -> String {
    let folder = || {
        let base = variable("TMUX_TMPDIR").filter(|path| !path.is_empty()).unwrap_or_else(|| "/tmp".to_owned());
        format!("{base}/tmux-{user}")
    };
    let mut words = command.iter().skip(1).map(String::as_str);
    while let Some(word) = words.next() {
        let Some(flags) = word.strip_prefix('-') else { break };
        // Flags stand together; one with a value takes the rest of the word, or the next one.
        let Some(at) = flags.find(['L', 'S', 'c', 'f', 'T']) else { continue };
        let rest = &flags[at + 1..];
        let value = if rest.is_empty() { words.next().unwrap_or_default() } else { rest };
        match &flags[at..=at] {
            "S" => return value.to_owned(),
            "L" => return format!("{}/{value}", folder()),
            _ => {}
        }
    }
    let own = variable("TMUX").and_then(|text| text.split(',').next().map(str::to_owned));
    own.filter(|path| !path.is_empty()).unwrap_or_else(|| format!("{}/default", folder()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clients_socket() {
        let of = |line: &str, variables: &[(&str, &str)]| {
            let command: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let variable =
                |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
            socket(&command, 7, &variable)
        };
        let inside = [("TMUX", "/run/a,12,0"), ("TMUX_TMPDIR", "/run/user/7")];
        assert_eq!(of("tmux -S /x/y attach -t z", &inside), "/x/y");
        assert_eq!(of("tmux -u2Lwork attach", &inside), "/run/user/7/tmux-7/work");
        assert_eq!(of("tmux -f /dev/null -L work new", &[]), "/tmp/tmux-7/work");
        assert_eq!(of("tmux attach -L none", &inside), "/run/a");
        assert_eq!(of("tmux", &[("TMUX", "")]), "/tmp/tmux-7/default");
    }
}
