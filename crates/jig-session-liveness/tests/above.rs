//! Which process above a publisher is its agent, in real trees of processes.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use jig_session_liveness::{Machine, agent_above, is_in_tmux};
use jig_session_testing::child::is_root;
use jig_session_testing::{skipped, until};

/// The file that the process at the end of a tree writes its answer to.
const ANSWER: &str = "JIG_ABOVE_ANSWER";
/// What the program in the middle of a tree starts.
const WORK: &str = "JIG_ABOVE_WORK";

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from)
}

/// Not a test by itself: the publisher at the end of a tree.
#[test]
fn end_of_the_tree() {
    let Some(path) = variable(ANSWER) else { return };
    let answer = agent_above(&Machine::new(), std::process::id()).map_or_else(String::new, |pid| pid.to_string());
    let in_tmux = is_in_tmux(&Machine::new(), std::process::id());
    fs::write(path.with_file_name("in-tmux"), in_tmux.to_string()).expect("written");
    let half = path.with_extension("half");
    fs::write(&half, answer).expect("written");
    fs::rename(half, path).expect("renamed");
}

/// Not a test by itself: an agent that is a program of its own.
#[test]
fn agent_in_the_tree() {
    let Some(work) = variable(WORK) else { return };
    fs::write(work.with_file_name("expected"), std::process::id().to_string()).expect("written");
    let text = fs::read_to_string(&work).expect("the work");
    let status = Command::new("sh").args(["-c", &format!("{text}\n:")]).env_remove(WORK).status();
    assert!(status.expect("sh runs").success());
}

/// A folder with a publisher and with scripts that start it.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The shell text that starts the publisher.
    fn publisher(&self) -> String {
        let own = std::env::current_exe().expect("the test program has a path");
        let answer = self.path("answer");
        format!("{ANSWER}='{}' '{}' end_of_the_tree --exact -q >/dev/null", answer.display(), own.display())
    }

    /// A script; the process that runs it is the expected one if `expected`.
    fn script(&self, name: &str, text: &str, expected: bool) -> String {
        let note = if expected { format!("echo $$ > '{}'\n", self.path("expected").display()) } else { String::new() };
        let path = self.path(name);
        fs::write(&path, format!("#!/bin/sh\n{note}{text}\n:\n")).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("made executable");
        path.display().to_string()
    }

    /// A script that is the agent and starts the publisher.
    fn agent_script(&self) -> String {
        self.script("agent.sh", &self.publisher(), true)
    }

    /// Starts an agent that is a program, which does this; the shell text is the hook's command line.
    fn agent_program(&self, work: &str) {
        fs::write(self.path("work"), work).expect("written");
        let own = std::env::current_exe().expect("the test program has a path");
        let mut command = Command::new(own);
        command.args(["agent_in_the_tree", "--exact", "-q"]).env(WORK, self.path("work")).current_dir(self.0.path());
        let output = command.stdin(Stdio::null()).output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }

    /// What the publisher found, and what it should have found.
    #[track_caller]
    fn answers(&self, case: &str) {
        let number = |name: &str| fs::read_to_string(self.path(name)).ok().map(|text| text.trim().to_owned());
        until(case, || number("answer").is_some());
        assert_eq!(number("answer"), number("expected"), "{case}");
    }
}

/// A tmux server of the test's own.
struct Tmux(PathBuf);

impl Tmux {
    fn run(&self, arguments: &[&str]) {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&self.0).args(["-f", "/dev/null"]).args(arguments);
        let status = command.env_remove("TMUX").env_remove("TMUX_PANE").status().expect("tmux runs");
        assert!(status.success(), "{arguments:?}");
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = Command::new("tmux").arg("-S").arg(&self.0).arg("kill-server").stderr(Stdio::null()).status();
    }
}

fn has(program: &str) -> bool {
    let finds = |folder: PathBuf| folder.join(program).is_file();
    variable("PATH").is_some_and(|path| std::env::split_paths(&path).any(finds))
}

fn has_all(test: &str, programs: &[&str]) -> bool {
    let missing: Vec<_> = programs.iter().filter(|program| !has(program)).collect();
    if !missing.is_empty() {
        skipped(test, &format!("no {missing:?} here"));
    }
    missing.is_empty()
}

#[test]
fn a_script_in_a_pane_is_the_agent_whatever_started_it() {
    if !has_all("a_script_in_a_pane_is_the_agent_whatever_started_it", &["tmux", "script", "timeout", "nohup"]) {
        return;
    }
    for before in ["", "exec ", "bash ", "exec bash -eu ", "timeout 60 ", "env A=1 nohup nice ", "script -qec "] {
        let tree = Tree::new();
        let tmux = Tmux(tree.path("tmux"));
        let script = tree.agent_script();
        let line = if before.starts_with("script") {
            format!("{before}{script} /dev/null")
        } else {
            format!("{before}{script}")
        };
        // A shell that tmux starts for the line itself, and that stays, is the outermost that runs something.
        tmux.run(&["new-session", "-d", "-x", "80", "-y", "24", "sleep 60"]);
        // nohup leaves a file where it is started.
        let folder = tree.path("").display().to_string();
        tmux.run(&["new-window", "-d", "-c", &folder, &format!("exec {}", line.trim_start_matches("exec "))]);
        tree.answers(before);
        // What nohup starts holds nothing of the pane open: tmux closes it, and the terminal is gone.
        if !before.contains("nohup") {
            // The pane shows the terminal of `script`, not that of what runs in it.
            let shown = if before.starts_with("script") { "false" } else { "true" };
            assert_eq!(fs::read_to_string(tree.path("in-tmux")).expect("there"), shown, "{before}");
        }
    }
}

#[test]
fn a_session_of_its_own_is_in_no_pane() {
    if !has_all("a_session_of_its_own_is_in_no_pane", &["tmux", "setsid", "script"]) {
        return;
    }
    // Its parent waits in the pane, or is gone; or it has a terminal that no tmux holds.
    for (before, after) in
        [("setsid -w ", ""), ("setsid -f ", "; sleep 60"), ("setsid -f script -qec ", " /dev/null; sleep 60")]
    {
        let tree = Tree::new();
        let tmux = Tmux(tree.path("tmux"));
        let go = tree.path("go");
        let wait = format!("until [ -e '{}' ]; do sleep 0.01; done\n{}", go.display(), tree.publisher());
        let script = tree.script("agent.sh", &wait, true);
        let started = tree.path("started");
        let line = format!("{before}{script}{}", after.replace(';', &format!("; : > '{}';", started.display())));
        tmux.run(&["new-session", "-d", "-x", "80", "-y", "24", &line]);
        if !after.is_empty() {
            until("a start", || started.exists());
        }
        fs::write(go, "").expect("written");
        tree.answers(before);
        assert_eq!(fs::read_to_string(tree.path("in-tmux")).expect("there"), "false", "{before}");
    }
}

#[test]
fn what_is_typed_at_a_prompt_belongs_to_the_shell() {
    if !has_all("what_is_typed_at_a_prompt_belongs_to_the_shell", &["tmux", "bash"]) {
        return;
    }
    let tree = Tree::new();
    let tmux = Tmux(tree.path("tmux"));
    tmux.run(&["new-session", "-d", "-x", "200", "-y", "24", "exec bash --norc --noprofile"]);
    let line = format!("echo $$ > {}; {}", tree.path("expected").display(), tree.publisher());
    tmux.run(&["send-keys", "-l", &line]);
    tmux.run(&["send-keys", "Enter"]);
    tree.answers("typed");
}

#[test]
fn the_first_process_is_never_the_agent() {
    if !has_all("the_first_process_is_never_the_agent", &["setsid"]) {
        return;
    }
    let tree = Tree::new();
    let go = tree.path("go");
    let wait = format!("until [ -e '{}' ]; do sleep 0.01; done\n{}", go.display(), tree.publisher());
    let script = tree.script("agent.sh", &wait, true);
    // Its parent ends at once, so it goes to the first process.
    let status = Command::new("setsid").args(["-f", "sh", &script]).stdin(Stdio::null()).status();
    assert!(status.expect("setsid runs").success());
    fs::write(go, "").expect("written");
    tree.answers("setsid");
}

#[test]
fn a_program_is_the_agent_behind_what_runs_its_hook() {
    let tree = Tree::new();
    let publisher = tree.publisher();
    let hook = tree.script("hook.sh", &publisher, false);
    let inner = tree.script("inner.sh", &format!("bash -c '{}; :'", hook), false);
    let mut lines = vec![
        ("itself", publisher.clone()),
        ("a script by its own name", hook.clone()),
        ("scripts in scripts", inner),
        ("env, nohup, timeout", format!("env A=1 nohup timeout 60 nice {hook} 2>/dev/null")),
        ("its own session", format!("setsid -w {hook}")),
    ];
    if has("script") {
        lines.push(("a terminal of its own", format!("script -qec {hook} /dev/null")));
    }
    match is_root() {
        true => lines.push(("another user's name", format!("su root -c {hook}"))),
        false => skipped("a_program_is_the_agent_behind_what_runs_its_hook (su)", "only root becomes another user"),
    }
    if has_all("a_program_is_the_agent_behind_what_runs_its_hook (npx)", &["npx", "node"]) {
        fs::create_dir_all(tree.path("node_modules/.bin")).expect("made");
        fs::copy(&hook, tree.path("node_modules/.bin/hook")).expect("copied");
        fs::write(tree.path("package.json"), "{}").expect("written");
        lines.push(("npx", "npx --offline --no hook".to_owned()));
    }
    for (case, line) in lines {
        let _ = fs::remove_file(tree.path("answer"));
        tree.agent_program(&line);
        tree.answers(case);
    }
}

#[test]
fn a_launcher_in_node_is_not_the_program_that_it_launches() {
    if !has_all("a_launcher_in_node_is_not_the_program_that_it_launches", &["node"]) {
        return;
    }
    // As codex is installed by npm: a script starts the real program and waits for it.
    let tree = Tree::new();
    fs::write(tree.path("work"), tree.publisher()).expect("written");
    let launcher = "require('child_process').spawn(process.argv[1], process.argv.slice(2), {stdio: 'inherit'})\
                    .on('exit', code => process.exit(code))";
    let own = std::env::current_exe().expect("the test program has a path");
    let mut command = Command::new("node");
    command.args(["-e", launcher, "--"]).arg(own).args(["agent_in_the_tree", "--exact", "-q"]);
    let status = command.env(WORK, tree.path("work")).stdin(Stdio::null()).stdout(Stdio::null()).status();
    assert!(status.expect("node runs").success());
    tree.answers("launcher");
}
