//! Which process above a publisher is the agent it speaks for.
//!
//! A publisher is started by its agent, mostly through shells and programs that run other programs. Above the agent
//! come the terminal, the multiplexer, the login and the first process of the system: they outlive every session, so a
//! session that named one of them would be alive for ever. The walk ends below them.

use crate::identity::Process;
use crate::processes::Processes;

/// Programs that hold sessions of many kinds and are never an agent: what runs below one is not its doing. A name that
/// ends in `*` stands for all that begin with it; the kernel keeps 15 bytes of a name.
#[rustfmt::skip]
const HOSTS: &[&str] = &[
    // The first process, and what supervises services and containers.
    "init", "systemd", "(sd-pam)", "launchd", "containerd-shim*", "conmon", "dockerd", "docker-init", "tini",
    "dumb-init", "catatonit", "runsv", "runsvdir", "s6-svscan", "s6-supervise", "supervisord", "cron", "crond", "atd",
    "anacron", "inetd", "xinetd", "lxc-start", "[lxc monitor]*", "systemd-nspawn", "machined", "PM2 v*", "pm2",
    "Runner.Worker", "Runner.Listener", "gitlab-runner", "act_runner", "buildkite-agen*",
    // Logins.
    "login", "sshd", "sshd-session", "sshd-auth", "dropbear", "getty", "agetty", "mosh-server", "etserver",
    "etterminal", "gdm-session-wor*", "sddm-helper", "lightdm", "xrdp-sesman", "qrexec-agent", "greetd",
    "ly", "ly-dm", "lemurs", "xinit", "startx", "tailscaled", "teleport", "coder", "in.telnetd", "telnetd",
    // Multiplexers.
    "tmux*", "screen", "SCREEN", "zellij", "tmate", "dtach", "abduco", "dvtm", "byobu", "shpool", "zmx",
    "herdr", "tmux-rs", "psmux", "cmux", "wezterm-mux-server", "iTermServer*",
    // Terminals.
    "alacritty", "kitty", "foot", "footclient", "ghostty", "wezterm-gui", "xterm", "urxvt", "rxvt", "urxvtd", "st",
    "konsole", "yakuake", "gnome-terminal*", "kgx", "ptyxis*", "gnome-console", "terminator", "tilix",
    "xfce4-terminal", "lxterminal", "mate-terminal", "qterminal", "deepin-terminal", "terminology", "cool-retro-term",
    "guake", "tilda", "rio", "contour", "hyper", "tabby", "warp", "warp-terminal", "wave", "Terminal", "iTerm2",
    "mlterm", "zutty", "havoc", "termite", "sakura", "roxterm", "Eterm", "aterm", "blackbox*", "io.elementary.t*",
    "kmscon", "fbterm", "ttyd", "gotty", "WindowsTerminal", "conhost", "OpenConsole", "Relay*",
    // Editors with a terminal of their own.
    "code", "code-insiders", "codium", "cursor", "windsurf", "zed", "zed-editor", "emacs*", "vim*",
    "gvim", "nvim", "lapce", "jupyter-*", "kak", "kate", "idea", "pycharm", "goland", "webstorm", "clion", "rider", "rustrover", "phpstorm",
    // Desktops.
    "gnome-shell", "plasmashell", "kwin_wayland", "kwin_x11", "sway", "i3", "Hyprland", "niri", "river", "labwc",
    "openbox", "awesome", "bspwm", "dwm", "xfwm4", "xfce4-panel", "cinnamon", "budgie-panel", "WindowServer",
    "explorer",
];

/// Shells.
#[rustfmt::skip]
const SHELLS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "fish", "ksh", "ksh93", "mksh", "oksh", "yash", "ash", "csh", "tcsh", "rc", "es",
    "elvish", "nu", "xonsh", "osh", "ysh", "brush", "nsh", "rbash", "lksh", "pwsh", "powershell", "cmd", "busybox",
    "toybox",
];

/// Programs that run another one as their work and do nothing of their own.
#[rustfmt::skip]
const WRAPPERS: &[&str] = &[
    "env", "sudo", "sudo-rs", "doas", "su", "runuser", "pkexec", "sg", "newgrp", "setpriv", "capsh", "fakeroot",
    "chroot", "unshare", "nsenter", "bwrap", "firejail", "proot", "flatpak", "sandbox-exec", "systemd-run",
    "systemd-inhibit", "caffeinate", "nohup", "setsid", "timeout", "gtimeout", "time", "nice", "ionice", "chrt",
    "taskset", "prlimit", "cgexec", "stdbuf", "unbuffer", "script", "scriptlive", "asciinema", "expect", "xargs",
    "parallel", "watch", "entr", "watchexec", "flock", "chpst", "softlimit", "strace", "ltrace", "catchsegv",
    "dbus-run-sessio*", "dotenv", "direnv", "mise", "asdf", "nix", "nix-shell", "npm", "npm *", "npx", "pnpm", "yarn",
    "bunx", "corepack", "uv", "uvx", "pipx", "poetry", "pdm", "hatch", "rye", "make", "gmake", "just", "task",
    "cargo", "jig-session",
    // Other versions and environments of an interpreter.
    "fnm", "nodenv", "rtx", "proto", "vfox", "hermit", "volta", "volta-shim", "pnpx", "pnpm *", "bunx *", "tsx",
    "ts-node", "nodemon", "pipenv", "conda", "mamba", "micromamba", "pixi", "devbox", "devenv", "rbenv", "pyenv",
    "bundle", "mix", "gradle", "mvn",
    // Secrets put into an environment.
    "op", "doppler", "aws-vault", "chamber", "dotenvx", "infisical", "sops", "envchain", "vault", "teller",
    // Another user, other resources, another network, a look at what runs.
    "gosu", "su-exec", "numactl", "cpulimit", "choom", "ssh-agent", "gpg-agent", "rlwrap", "torsocks", "proxychains4",
    "perf", "gdb", "valgrind", "rr", "heaptrack", "hyperfine", "xvfb-run", "landrun", "distrobox", "toolbox",
    // Several programs at once.
    "mprocs", "overmind", "hivemind", "foreman", "honcho", "concurrently", "turbo", "nx", "lerna", "bacon",
];

/// Interpreters: the script they run identifies them.
const INTERPRETERS: &[&str] = &["node", "bun", "deno", "MainThread", "node-MainThread"];

/// What a process above a publisher can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Host,
    /// A shell that runs a script, or the text after `-c`.
    Script,
    /// A shell that reads what is typed, or its standard input.
    Interactive,
    Wrapper,
    Program,
}

/// The process that a publisher with this pid speaks for: the nearest process above it that is no shell and no wrapper.
/// If there are only those, the agent is a script: the outermost shell that runs one or a `-c` text, else the nearest
/// interactive shell, else the outermost wrapper. `None` when nothing is above it but what hosts every session.
#[must_use]
pub fn agent_above(processes: &dyn Processes, pid: u32) -> Option<u32> {
    let mut script = None;
    let mut interactive = None;
    let mut wrapper = None;
    for process in processes.ancestors(pid) {
        match role(&process, &processes.command_line(process.pid)) {
            Role::Host => break,
            Role::Program => return Some(process.pid),
            Role::Script => script = Some(process.pid),
            Role::Interactive => interactive = interactive.or(Some(process.pid)),
            Role::Wrapper => wrapper = Some(process.pid),
        }
    }
    script.or(interactive).or(wrapper)
}

/// Whether a process holds sessions of many kinds and outlives each of them: a multiplexer, a terminal, a login, the
/// system's first process.
#[must_use]
pub fn hosts_sessions(processes: &dyn Processes, pid: u32) -> bool {
    let Ok(process) = processes.process(pid) else { return false };
    role(&process, &processes.command_line(pid)) == Role::Host
}

/// Whether a process that inherited `TMUX_PANE` is still in that pane: the nearest program above it that hosts sessions
/// is tmux, and it shows in the terminal of the pane's first process, which stands below that. One that took a session
/// of its own (`setsid`), that another multiplexer holds by now, or that `script` gave another terminal, is not. True
/// where nothing can be seen.
#[must_use]
pub fn is_in_tmux(processes: &dyn Processes, pid: u32) -> bool {
    // Only Linux shows controlling terminals.
    let Ok(own) = processes.process(pid) else { return true };
    if cfg!(target_os = "linux") && own.terminal.is_none() {
        return false;
    }
    let mut chain = vec![own];
    let host = processes.ancestors(pid).into_iter().find(|process| {
        let is_host = role(process, &processes.command_line(process.pid)) == Role::Host;
        if !is_host {
            chain.push(process.clone());
        }
        is_host
    });
    host.is_none_or(|host| host.command.starts_with("tmux") && shows_in_last(processes, &chain))
}

/// Whether a process shows in the terminal of the last one of its ancestors in `chain`: its controlling terminal is
/// that one's, or leads there through `jig-session run`, which gives its program a terminal of its own. One that took
/// a session of its own (`setsid`) or stands behind another multiplexer does not.
#[must_use]
pub fn shows_in_last(processes: &dyn Processes, chain: &[Process]) -> bool {
    let Some(mut terminal) = chain.first().map(|process| process.terminal) else { return false };
    for process in chain {
        if process.terminal != terminal && !is_run(process, &processes.command_line(process.pid)) {
            return false;
        }
        terminal = process.terminal;
    }
    true
}

/// Whether a process is one of `jig-session run`. It goes by its program's name; its stage stands in its command line.
fn is_run(process: &Process, line: &[String]) -> bool {
    let word = |at: usize| line.get(at).map(String::as_str);
    word(1) == Some("run") && (process.command.starts_with("jig-session") || word(2) == Some("--stage"))
}

fn role(process: &Process, line: &[String]) -> Role {
    // A login shell has a dash before its name. A script that is started by its own name keeps that name, but its
    // command line begins with the interpreter.
    let started = line.first().map(|word| file_name(word.trim_start_matches('-')));
    let is = |table: &[&str]| [Some(process.command.as_str()), started].into_iter().flatten().any(|n| listed(table, n));
    if process.pid == 1 || is(HOSTS) || line.iter().any(|word| word.contains("ptyHost")) {
        return Role::Host;
    }
    if is(SHELLS) {
        return if runs_script(line) { Role::Script } else { Role::Interactive };
    }
    if is(WRAPPERS) {
        return Role::Wrapper;
    }
    let script = line.iter().skip(1).find(|word| !word.starts_with('-')).map(|word| file_name(word));
    let launcher = script.map(|name| name.trim_end_matches(".js").trim_end_matches(".cjs").trim_end_matches("-cli"));
    match launcher {
        Some(name) if is(INTERPRETERS) && listed(WRAPPERS, name) => Role::Wrapper,
        _ => Role::Program,
    }
}

fn listed(table: &[&str], name: &str) -> bool {
    table.iter().any(|entry| match entry.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == *entry || (name.len() == 15 && entry.starts_with(name)),
    })
}

fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Whether a program of this name is a shell.
#[must_use]
pub fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name.trim_start_matches('-'))
}

/// Whether a shell's command line names something to run: a script, or the text after `-c`. Else it reads its commands.
#[must_use]
pub fn runs_script(line: &[String]) -> bool {
    let mut words = line.iter().skip(1).map(String::as_str).peekable();
    if line.first().is_some_and(|word| ["busybox", "toybox"].contains(&file_name(word))) {
        words.next();
    }
    while let Some(word) = words.next() {
        match word {
            "--" => return words.next().is_some(),
            "-" => return false,
            // These take a word, and commands are still read afterwards.
            "--rcfile" | "--init-file" | "--config" | "--env-config" | "--plugin-config" | "--init-command" | "-C"
            | "--execute" | "-e"
                if takes_word(word, line) =>
            {
                _ = words.next()
            }
            "--command" | "--commands" | "-File" | "-file" | "/c" | "/C" => return true,
            _ if word.starts_with("--") => {
                if word.starts_with("--command=") {
                    return true;
                }
            }
            _ if word.starts_with(['-', '+']) => {
                let letters = &word[1..];
                if word.starts_with('-')
                    && (letters.eq_ignore_ascii_case("command") || (letters.len() < 8 && letters.contains('c')))
                {
                    return true;
                }
                if word.starts_with('-') && letters.contains('s') {
                    return false;
                }
                // These take the name of an option.
                if letters.ends_with(['o', 'O']) {
                    words.next();
                }
            }
            _ => return true,
        }
    }
    false
}

/// Whether an option takes the next word. `-C` does for fish, `-e` for nu; to other shells both are switches.
fn takes_word(option: &str, line: &[String]) -> bool {
    let shell = line.first().map_or("", |word| file_name(word.trim_start_matches('-')));
    match option {
        "-C" => shell == "fish",
        "-e" => shell == "nu",
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{Table, process};

    /// The agent of a publisher below these processes, nearest first, each written as `name: command line`; `None` or
    /// the place of the one that it is.
    fn agent(above: &[&str]) -> Option<usize> {
        let table = Table::new();
        let pid = |place: usize| u32::try_from(100 + place).expect("few");
        table.add(99, Some(if above.is_empty() { 1 } else { pid(0) }), "jig-session", None);
        for (place, text) in above.iter().enumerate() {
            let (name, line) = text.split_once(": ").expect("name and line");
            let parent = if place + 1 < above.len() { pid(place + 1) } else { 1 };
            table.add(pid(place), Some(parent), name, None);
            table.set_command_line(pid(place), line.split(' '));
        }
        table.add(1, None, "anything", None);
        agent_above(&table, 99).map(|pid| pid as usize - 100)
    }

    #[test]
    fn the_nearest_program_that_is_no_shell_and_no_wrapper() {
        for (above, place) in [
            (&["pi: pi"] as &[&str], 0),
            (&["sh: sh -c hook", "claude: claude", "zsh: -zsh"], 1),
            (&["bash: bash", "timeout: timeout 9 acme", "acme: acme", "zsh: -zsh"], 2),
            (&["sudo: sudo -u me x", "env: env A=1 x", "acme: acme"], 2),
            (&["node: node /x/codex.js", "bash: bash"], 0),
            (&["codex: codex", "node: node /x/codex.js"], 0),
            (
                &[
                    "sh: sh -c jig-session",
                    "npm exec jig-se: npm exec jig-session",
                    "sh: sh -c npx",
                    "node: node /x/pi",
                ],
                3,
            ),
            (&["node: node /usr/bin/npx jig-session hook", "sh: sh -c x", "qwen: qwen"], 2),
            (&["node: node /lib/npm/bin/npx-cli.js -y x", "gemini: gemini"], 1),
            (&["hook.sh: /bin/sh ./hook.sh", "claude: claude"], 1),
            (&["python3: python3 agent.py", "bash: bash", "tmux: server: tmux new"], 0),
            (&["script: script -qc x", "acme: acme", "tmux: server: tmux new"], 1),
        ] {
            assert_eq!(agent(above), Some(place), "{above:?}");
        }
    }

    #[test]
    fn a_script_is_an_agent_and_what_hosts_it_never() {
        for (above, place) in [
            (&["bash: bash agent.sh", "tmux: server: tmux new-session -d"] as &[&str], Some(0)),
            (&["bash: bash agent.sh"], Some(0)),
            (&["bash: bash agent.sh", "bash: bash --norc", "sshd: sshd: me@pts/0"], Some(0)),
            (&["agent.sh: /bin/bash ./agent.sh", "zsh: -zsh", "alacritty: alacritty"], Some(0)),
            (&["bash: bash inner.sh", "sh: sh -c outer", "zsh: -zsh", "login: login -p"], Some(1)),
            (&["bash: bash", "zsh: -zsh", "kitty: kitty"], Some(0)),
            (&["zsh: -zsh", "login: login"], Some(0)),
            (&["timeout: timeout 9 bash a.sh", "setsid: setsid x", "systemd: /lib/systemd/systemd --user"], Some(1)),
            (&["bash: bash a.sh", "node: node x --type=ptyHost"], Some(0)),
            (&["sh: /bin/sh -c a", "cron: /usr/sbin/cron -f"], Some(0)),
            (&["bash: bash a.sh", "gnome-terminal-: /usr/libexec/gnome-terminal-server"], Some(0)),
            (&["bash: bash a.sh", "wezterm-mux-ser: wezterm-mux-server --daemonize"], Some(0)),
            (&["bash: bash a.sh", "op: op run -- bash a.sh", "zsh: -zsh"], Some(0)),
            (&["bash: bash a.sh", "volta-shim: volta-shim x", "tailscaled: tailscaled be-child ssh"], Some(0)),
            (&["bash: bash a.sh", "PM2 v6.0.5: God : PM2 v6.0.5: God Daemon"], Some(0)),
            (&["zsh: -zsh", "emacs-29.4: emacs-29.4"], Some(0)),
            (&["tmux: server: tmux new-session -d"], None),
            (&[], None),
        ] {
            assert_eq!(agent(above), place, "{above:?}");
        }
    }

    #[test]
    fn an_inherited_pane_is_left_with_the_terminal_or_for_another_multiplexer() {
        for (terminal, host, is_in) in [
            (Some(3), "tmux: server", true),
            (None, "tmux: server", false),
            (Some(4), "SCREEN", false),
            (Some(4), "sshd", false),
            (Some(4), "systemd", false),
            (Some(4), "unheard-of", true),
        ] {
            let table = Table::new();
            table.add(5, Some(6), "pi", terminal);
            table.add(6, Some(7), "bash", terminal);
            table.add(7, None, host, None);
            assert_eq!(is_in_tmux(&table, 5), is_in, "{terminal:?} {host}");
        }
    }

    #[test]
    fn a_shell_runs_a_script_or_what_is_typed() {
        for (line, script) in [
            ("bash", false),
            ("-bash", false),
            ("bash -i", false),
            ("bash --norc --noprofile", false),
            ("bash --rcfile /x", false),
            ("zsh -l", false),
            ("zsh -o vi", false),
            ("bash -s a b", false),
            ("sh -", false),
            ("bash a.sh", true),
            ("bash -eu a.sh", true),
            ("bash -o pipefail a.sh", true),
            ("bash --norc a.sh x", true),
            ("bash -- a.sh", true),
            ("sh -c true", true),
            ("bash -lc true", true),
            ("zsh -ic true", true),
            ("fish --command true", true),
            ("fish --init-command true", false),
            ("fish -C true", false),
            ("fish -C true a.fish", true),
            ("bash -C a.sh", true),
            ("nu --config /x", false),
            ("nu -e ls", false),
            ("bash -e a.sh", true),
            ("busybox sh", false),
            ("busybox sh a.sh", true),
            ("/bin/busybox ash -c x", true),
            ("pwsh -NoLogo", false),
            ("pwsh -Command x", true),
            ("", false),
        ] {
            let line: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(runs_script(&line), script, "{line:?}");
        }
    }

    #[test]
    fn the_tables_do_not_contradict_each_other() {
        for name in SHELLS {
            assert!(!listed(HOSTS, name) && !listed(WRAPPERS, name), "{name}");
        }
        for name in WRAPPERS {
            assert!(!listed(HOSTS, name) && !listed(SHELLS, name), "{name}");
        }
        assert_eq!(role(&Process { pid: 1, ..process(1) }, &[]), Role::Host);
    }
}

#[cfg(test)]
mod pane_tests {
    use super::*;
    use crate::fake::{self, Table};

    #[test]
    fn a_pane_is_shown_in_through_its_terminal() {
        let table = Table::new();
        table.set_command_line(1, ["jig-session", "run", "--", "claude"]);
        let shows = |processes: &[(&str, Option<u64>)]| {
            let process = |(command, terminal): &(&str, Option<u64>)| Process {
                command: (*command).to_owned(),
                terminal: *terminal,
                ..fake::process(1)
            };
            shows_in_last(&table, &processes.iter().map(process).collect::<Vec<_>>())
        };
        assert!(shows(&[("bash", Some(1))]));
        assert!(shows(&[("pi", Some(1)), ("bash", Some(1))]));
        assert!(!shows(&[("pi", None), ("bash", Some(1))]), "setsid");
        assert!(!shows(&[("pi", Some(2)), ("screen", Some(2)), ("bash", Some(1))]), "another multiplexer");
        assert!(!shows(&[("pi", Some(2)), ("script", Some(1)), ("bash", Some(1))]), "script");
        assert!(shows(&[("claude", Some(2)), ("jig-session", Some(1)), ("bash", Some(1))]), "run");
        let twice = [("claude", Some(3)), ("jig-session", Some(2)), ("jig-session", Some(1)), ("bash", Some(1))];
        assert!(shows(&twice), "run in run");
        assert!(!shows(&[("pi", Some(3)), ("script", Some(2)), ("jig-session", Some(1)), ("bash", Some(1))]));
        assert!(!shows(&[("pi", Some(3)), ("script", Some(2)), ("jig-session", Some(2)), ("bash", Some(1))]));
        assert!(!shows(&[("pi", None), ("bash", Some(2)), ("jig-session", None), ("bash", Some(1))]));
        table.set_command_line(1, ["claude", "run", "--stage", "proxy", "--", "claude"]);
        let staged = [("claude", Some(2)), ("jig-session", Some(2)), ("claude", Some(1)), ("bash", Some(1))];
        assert!(shows(&staged), "run goes by its program's name");
    }

    #[test]
    fn behind_script_no_pane_is_claimed() {
        let table = Table::new();
        table.add(5, Some(4), "pi", Some(2));
        table.add(4, Some(3), "script", Some(1));
        table.add(3, Some(2), "bash", Some(1));
        table.add(2, Some(1), "tmux: server", None);
        table.add(1, None, "init", None);
        assert!(!is_in_tmux(&table, 5));
        table.add(4, Some(3), "jig-session", Some(1));
        table.set_command_line(4, ["jig-session", "run", "pi"]);
        assert!(is_in_tmux(&table, 5), "run passes it on");
        assert!(is_in_tmux(&table, 3));
    }
}
