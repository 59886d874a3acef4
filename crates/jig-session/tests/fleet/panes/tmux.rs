//! A tmux server of a test's own.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common::{Output, TestEnvironment, eventually, finish, install_program, skipped};

/// A server on a socket in the test's own folder; killed when dropped.
pub(crate) struct Tmux {
    pub(crate) env: TestEnvironment,
    pub(crate) socket: PathBuf,
}

/// Starts a server with one session, `keep`, that runs `cat`; none, and one line on stderr, without tmux 3.2.
pub(crate) fn start(test: &str) -> Option<Tmux> {
    let env = TestEnvironment::new();
    let Some(version) = version(&env) else {
        skipped(test, "tmux is not installed");
        return None;
    };
    if version < (3, 2) {
        skipped(test, "tmux is older than 3.2");
        return None;
    }
    let tmux = Tmux { socket: env.root().join("tmux"), env };
    let dir = tmux.env.work();
    let first = ["new-session", "-d", "-x", "100", "-y", "30", "-s", "keep", "-c", dir.to_str()?, "exec cat"];
    let output = finish(tmux.command(&first), b"");
    if output.code != 0 {
        // Without pseudo-terminals there is no tmux to test.
        skipped(test, &format!("tmux cannot open a session: {}", output.stderr.trim()));
        return None;
    }
    Some(tmux)
}

fn version(env: &TestEnvironment) -> Option<(u32, u32)> {
    let mut command = env.command("tmux");
    let output = command.arg("-V").stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let number = text.split_whitespace().nth(1)?.trim_start_matches(|c: char| !c.is_ascii_digit()).to_owned();
    let mut parts = number.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().unwrap_or(0));
    Some((parts.next()?, parts.next().unwrap_or(0)))
}

impl Tmux {
    /// A tmux command on this server, not yet started.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.env.command("tmux");
        command.args(["-u", "-f", "/dev/null", "-S"]).arg(&self.socket).args(args);
        command
    }

    /// Runs a tmux command that must work; gives its stdout without the last line end.
    #[track_caller]
    pub(crate) fn run(&self, args: &[&str]) -> String {
        let output = finish(self.command(args), b"").exits(0);
        output.stdout.trim_end_matches('\n').to_owned()
    }

    /// A new session in `dir`; gives its pane's id.
    #[track_caller]
    pub(crate) fn new_session(&self, name: &str, dir: &Path, program: &str) -> String {
        let dir = dir.to_str().expect("the folder's name is UTF-8");
        let size = ["-x", "100", "-y", "30"];
        let mut args = vec!["new-session", "-d", "-P", "-F", "#{pane_id}", "-s", name, "-c", dir];
        args.extend(size);
        args.push(program);
        self.run(&args)
    }

    /// One format of one pane.
    #[track_caller]
    pub(crate) fn tell(&self, pane: &str, format: &str) -> String {
        self.run(&["display-message", "-p", "-t", pane, format])
    }

    /// Waits until a format of a pane has this value.
    #[track_caller]
    pub(crate) fn until(&self, pane: &str, format: &str, value: &str) {
        eventually(&format!("{format} of {pane} is {value}"), || (self.tell(pane, format) == value).then_some(()));
    }

    /// Waits until a pane's screen contains this.
    #[track_caller]
    pub(crate) fn shows(&self, pane: &str, text: &str) {
        eventually(&format!("{pane} shows {text}"), || {
            self.run(&["capture-pane", "-p", "-t", pane]).contains(text).then_some(())
        });
    }

    /// Whether a pane is there.
    pub(crate) fn has(&self, pane: &str) -> bool {
        self.run(&["list-panes", "-a", "-F", "#{pane_id}"]).lines().any(|line| line == pane)
    }

    /// The program with `-S` of this server behind the command's words, not yet started.
    pub(crate) fn jig_command(&self, args: &[&str]) -> Command {
        let mut command = self.env.jig_command(args);
        command.arg("-S").arg(&self.socket);
        command
    }

    /// Runs the program on this server; asks again while a loaded machine keeps the server silent.
    pub(crate) fn jig(&self, args: &[&str]) -> Output {
        self.again(|| self.jig_command(args))
    }

    /// Runs what is made here, again while a loaded machine keeps the server silent.
    pub(crate) fn again(&self, make: impl Fn() -> Command) -> Output {
        eventually("the server answers", || {
            let output = finish(make(), b"");
            (!output.stderr.contains("does not answer")).then_some(output)
        })
    }

    /// The rows of `live --json` with these options.
    #[track_caller]
    pub(crate) fn rows(&self, options: &[&str]) -> Vec<Value> {
        let mut args = vec!["live", "--json"];
        args.extend(options);
        let output = self.jig(&args).exits(0);
        output.json().as_array().expect("a list").clone()
    }

    /// The row of one pane.
    #[track_caller]
    pub(crate) fn row(&self, pane: &str) -> Value {
        let rows = self.rows(&[]);
        rows.iter().find(|row| row["paneId"] == pane).unwrap_or_else(|| panic!("no row of {pane} in {rows:?}")).clone()
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = self.command(&["kill-server"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

/// The targets of rows, in their order.
pub(crate) fn targets(rows: &[Value]) -> Vec<String> {
    rows.iter().map(|row| row["target"].as_str().unwrap_or_default().to_owned()).collect()
}

/// A folder below the working folder.
pub(crate) fn folder(env: &TestEnvironment, name: &str) -> PathBuf {
    let path = env.work().join(name);
    fs::create_dir_all(&path).expect("the folder can be made");
    path
}

/// The `PATH` of these tests, under which tmux is found.
pub(crate) fn search_path() -> OsString {
    std::env::vars_os().find(|(name, _)| name == "PATH").expect("PATH is set").1
}

/// Puts a script named `tmux` first on PATH. `$real` is the real program with its arguments to follow.
pub(crate) fn wrap(env: &TestEnvironment, script: &str) {
    let path = search_path();
    let real = std::env::split_paths(&path).map(|folder| folder.join("tmux")).find(|file| file.is_file());
    let real = real.expect("tmux is on PATH");
    let bin = folder(env, "bin");
    let text = bin.join("tmux.sh");
    fs::write(&text, format!("#!/bin/sh\nreal='{}'\n{script}\nexec \"$real\" \"$@\"\n", real.display()))
        .expect("it can be written");
    install_program(&text, &bin.join("tmux"));
    let mut folders = vec![bin];
    folders.extend(std::env::split_paths(&path));
    env.set("PATH", std::env::join_paths(folders).expect("no folder holds a colon"));
}

/// Pi's editor at rest.
pub(crate) const PI_AT_REST: &str =
    " Done.\n\n────────────────────\n\n────────────────────\n~/app\n0.7%/200k (auto)   m\n";

/// A program that draws this and then waits.
pub(crate) fn draws(screen: &str) -> String {
    assert!(!screen.contains(['\'', '\\']), "fit for printf between quotes");
    let text = screen.replace('%', "%%").replace('\n', "\\n");
    format!("printf '{text}'; exec cat")
}
