//! What the table of processes says of a pane's terminal, as a pure function over that table.

use jig_session_liveness::{TerminalProcess, runs_script};

use crate::classify::TerminalProcesses;

/// Which agent a process is, by its short name and the words it was started with.
pub type AgentOf<'a> = &'a dyn Fn(&str, &[String]) -> Option<&'static str>;

/// What runs on the terminal of a pane's first process; none when that process is not in the table, or has no
/// terminal. Second, how many children the shell in the foreground has; none when no shell is.
pub fn on_terminal(
    first: u32,
    table: &[TerminalProcess],
    agent_of: AgentOf<'_>,
) -> Option<(TerminalProcesses, Option<usize>)> {
    let first = table.iter().find(|process| process.pid == first)?;
    let here: Vec<&TerminalProcess> = table.iter().filter(|process| process.terminal == first.terminal).collect();
    let in_foreground = |process: &&&TerminalProcess| Some(process.group) == first.foreground;
    let foreground: Vec<&TerminalProcess> = here.iter().filter(in_foreground).copied().collect();
    let shell = foreground.first().copied().filter(|process| foreground.len() == 1 && is_shell(process));
    let agents: Vec<(&TerminalProcess, &'static str)> = here
        .iter()
        .filter_map(|process| agent_of(&process.name, &process.command).map(|name| (*process, name)))
        .collect();
    let found = outermost(&agents, |process| Some(process.group) == first.foreground, table)
        .or_else(|| outermost(&agents, |process| shell.is_some_and(|shell| below(process, shell.pid, table)), table));
    let processes = TerminalProcesses {
        agent: found.map(|(_, name)| name),
        stopped: found.is_some_and(|(process, _)| process.stopped),
        background: found.is_some_and(|(process, _)| Some(process.group) != first.foreground),
        others: shell.is_none(),
        script: shell.is_some_and(|shell| runs_script(&shell.command)),
        line_editor: None,
    };
    let children = shell.map(|shell| table.iter().filter(|process| process.parent == shell.pid).count());
    Some((processes, children))
}

/// The agent that no other agent of these has started: a tool of an agent may be an agent too.
fn outermost<'a>(
    agents: &[(&'a TerminalProcess, &'static str)],
    counts: impl Fn(&TerminalProcess) -> bool,
    table: &[TerminalProcess],
) -> Option<(&'a TerminalProcess, &'static str)> {
    let counted = || agents.iter().filter(|(process, _)| counts(process));
    counted().find(|(process, _)| !counted().any(|(other, _)| below(process, other.pid, table))).copied()
}

/// Whether a process descends from another one. A table read while processes come and go may hold a circle.
fn below(process: &TerminalProcess, ancestor: u32, table: &[TerminalProcess]) -> bool {
    let mut parent = process.parent;
    for _ in 0..64 {
        if parent == ancestor {
            return true;
        }
        let Some(next) = table.iter().find(|process| process.pid == parent) else { return false };
        parent = next.parent;
    }
    false
}

fn is_shell(process: &TerminalProcess) -> bool {
    crate::classify::is_shell(&process.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// pid, parent, group, command; the terminal is 1.
    fn table(foreground: u32, processes: &[(u32, u32, u32, &str)]) -> Vec<TerminalProcess> {
        let process = |&(pid, parent, group, command): &(u32, u32, u32, &str)| {
            let command: Vec<String> = command.split(' ').map(str::to_owned).collect();
            let name = command[0].trim_start_matches(['-', '!']).to_owned();
            let stopped = command[0].starts_with('!');
            TerminalProcess { pid, parent, group, terminal: 1, foreground: Some(foreground), stopped, name, command }
        };
        processes.iter().map(process).collect()
    }

    fn agent(name: &str, command: &[String]) -> Option<&'static str> {
        let script = command.get(1).map(String::as_str).unwrap_or_default();
        ["pi", "claude", "codex"].into_iter().find(|known| *known == name || (name == "node" && *known == script))
    }

    fn found(foreground: u32, processes: &[(u32, u32, u32, &str)]) -> (TerminalProcesses, Option<usize>) {
        on_terminal(10, &table(foreground, processes), &agent).expect("the first process is there")
    }

    #[test]
    fn a_shell_is_a_shell_when_its_group_holds_nothing_else() {
        let (alone, children) = found(10, &[(10, 1, 10, "-bash")]);
        assert_eq!((alone, children), (TerminalProcesses::default(), Some(0)));
        let (jobs, children) = found(10, &[(10, 1, 10, "bash --norc"), (11, 10, 11, "sleep 9")]);
        assert_eq!((jobs.others, jobs.script, children), (false, false, Some(1)));
        let (script, _) = found(11, &[(10, 1, 10, "bash"), (11, 10, 11, "bash w.sh")]);
        assert_eq!((script.others, script.script), (false, true));
        let (busy, children) = found(11, &[(10, 1, 10, "bash"), (11, 10, 11, "sh -c x"), (12, 11, 11, "make")]);
        assert_eq!((busy.others, busy.agent, children), (true, None, None));
    }

    #[test]
    fn an_agent_behind_a_shells_name_is_that_agent() {
        let wrapped = [(10, 1, 10, "sh -c x"), (11, 10, 10, "node pi"), (12, 11, 10, "claude")];
        assert_eq!(found(10, &wrapped).0.agent, Some("pi"), "the outermost");
        let script = [(10, 1, 10, "bash"), (11, 10, 11, "bash w.sh"), (12, 11, 11, "codex")];
        let (processes, children) = found(11, &script);
        assert_eq!((processes.agent, processes.background, children), (Some("codex"), false, None));
    }

    #[test]
    fn an_agent_below_the_shell_is_stopped_or_in_the_background() {
        let (stopped, _) = found(10, &[(10, 1, 10, "bash"), (11, 10, 11, "!codex")]);
        assert_eq!((stopped.agent, stopped.stopped, stopped.background), (Some("codex"), true, true));
        let (running, _) = found(10, &[(10, 1, 10, "bash"), (11, 10, 11, "codex exec")]);
        assert_eq!((running.agent, running.stopped, running.background), (Some("codex"), false, true));
        let (editor, _) = found(12, &[(10, 1, 10, "bash"), (11, 10, 11, "!codex"), (12, 10, 12, "vim")]);
        assert_eq!((editor.agent, editor.others), (None, true), "something else has the terminal");
    }

    #[test]
    fn another_terminal_is_another_pane() {
        let mut processes = table(10, &[(10, 1, 10, "bash"), (11, 10, 11, "codex")]);
        processes[1].terminal = 2;
        assert_eq!(on_terminal(10, &processes, &agent).map(|(found, _)| found.agent), Some(None));
        assert_eq!(on_terminal(9, &processes, &agent), None);
    }
}
