//! Stop and go on, foreground and background, in a real shell and without one.

use super::screen::{SIZE, Screen};
use crate::common::{TestEnvironment, eventually};

/// Waits until the program in `run` has a row: from then on the terminal's keys go to it. A Ctrl-Z typed sooner would
/// stop `run` itself before anything is published.
fn is_published(env: &TestEnvironment, program: &str) {
    eventually("the program is published", || {
        let rows = env.jig(&["ls", "--json"]).json();
        (rows["sessions"][0]["agent"]["name"] == program).then_some(())
    });
}

/// An interactive shell.
fn bash(env: &TestEnvironment) -> Screen {
    let mut command = env.command("setsid");
    command.args(["-c", "bash", "--norc", "--noprofile", "-i"]).env("TERM", "xterm").env("PS1", "PROMPT ");
    command.env("J", env!("CARGO_BIN_EXE_jig-session"));
    let screen = Screen::start(command);
    screen.wait_for("PROMPT");
    screen
}

#[test]
fn a_stopped_program_is_a_stopped_job_and_goes_on() {
    let env = TestEnvironment::new();
    let mut screen = bash(&env);
    screen.send("$J run -- cat\r");
    is_published(&env, "cat");
    screen.send("first\r");
    screen.wait_for_times("first", 2);
    screen.send("\x1a");
    screen.wait_for("Stopped");
    let rows = eventually("the row says stopped", || {
        let rows = env.jig(&["ls", "--json"]).json();
        (rows["sessions"][0]["detail"] == "stopped").then_some(rows)
    });
    assert_eq!(rows["sessions"][0]["agent"]["name"], "cat");
    screen.send("fg\r");
    screen.send("second\r");
    screen.wait_for_times("second", 2);
    let prompts = screen.text().matches("PROMPT").count();
    screen.send("\x04");
    screen.wait_for_times("PROMPT", prompts + 1);
    screen.send("exit 5\r");
    screen.ends_with(5);
}

#[test]
fn without_a_shell_a_stop_is_none() {
    let env = TestEnvironment::new();
    let mut screen = Screen::run(&env, &["sh", "-c", "kill -TSTP $$; echo on; exit 4"]);
    screen.ends_with(4);
    assert!(screen.text().contains("on"));
}

#[test]
fn a_run_in_the_background_stops_when_it_reads_and_leaves_the_terminal_alone() {
    let env = TestEnvironment::new();
    let mut screen = bash(&env);
    screen.send("$J run -- cat &\r");
    screen.send("jobs; echo still-here\r");
    screen.wait_for_times("still-here", 2);
    eventually("the job has stopped", || {
        screen.send("jobs\r");
        std::thread::sleep(std::time::Duration::from_millis(50));
        screen.text().contains("Stopped").then_some(())
    });
    screen.send("fg\r");
    screen.send("read-me\r");
    screen.wait_for_times("read-me", 2);
    let prompts = screen.text().matches("PROMPT").count();
    screen.send("\x04");
    screen.wait_for_times("PROMPT", prompts + 1);
    screen.send("exit 6\r");
    screen.ends_with(6);
}

#[test]
fn the_size_is_the_terminals_and_follows_it() {
    let env = TestEnvironment::new();
    let line = "stty size; trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.05; done";
    let mut screen = Screen::run(&env, &["sh", "-c", line]);
    screen.wait_for(&format!("{} {}", SIZE.ws_row, SIZE.ws_col));
    screen.wait_for("ready");
    screen.resize(50, 120);
    screen.wait_for("50 120");
    screen.ends_with(0);
}

#[test]
fn ctrl_c_reaches_a_program_that_floods_a_terminal_that_does_not_read() {
    let env = TestEnvironment::new();
    // A shell cannot trap what was ignored when it began, as it is below a program that was started with `&`.
    let mut screen = Screen::run(
        &env,
        &[
            "env",
            "--default-signal=INT",
            "sh",
            "-c",
            "trap 'echo got > got; exit 3' INT; while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done",
        ],
    );
    screen.wait_for("yyy");
    screen.reads(false);
    // Both terminals fill up.
    std::thread::sleep(std::time::Duration::from_millis(300));
    screen.send("\x03");
    let got = env.work().join("got");
    eventually("the program is interrupted", || got.exists().then_some(()));
    screen.reads(true);
    screen.ends_with(3);
}

#[test]
fn a_run_within_a_run_only_executes() {
    let env = TestEnvironment::new();
    let mut screen = Screen::run(
        &env,
        &["sh", "-c", "tty; \"$J\" run -- tty; \"$J\" ls --json | tr ',' '\\n' | grep -c '\"session\"'"],
    );
    screen.ends_with(0);
    let text = screen.text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], lines[1], "{text}");
    assert!(lines[0].starts_with("/dev/pts/"));
}

#[test]
fn what_is_redirected_stays_so() {
    let env = TestEnvironment::new();
    let mut screen =
        Screen::shell(&env, "\"$J\" run -- sh -c 'echo out; test -t 1 && echo tty; echo err >&2' 2>errors");
    screen.ends_with(0);
    assert_eq!(screen.text().replace('\r', ""), "out\ntty\n");
    assert_eq!(std::fs::read_to_string(env.work().join("errors")).expect("written"), "err\n");

    let mut screen = Screen::shell(&env, "echo in | \"$J\" run -- cat > output");
    screen.ends_with(0);
    assert_eq!(
        (screen.text().as_str(), std::fs::read_to_string(env.work().join("output")).expect("written").as_str()),
        ("", "in\n")
    );

    let mut screen = Screen::shell(&env, "bash -c '\"$J\" run -- cat <(echo substituted)'");
    screen.ends_with(0);
    assert!(screen.text().contains("substituted"), "{}", screen.text());
}

#[test]
fn in_tmux_the_pane_goes_by_the_programs_name_and_the_row_names_the_pane() {
    let env = TestEnvironment::new();
    let socket = env.root().join("tmux");
    let tmux = |args: &[&str]| {
        let mut command = env.command("tmux");
        command.args(["-u", "-f", "/dev/null", "-S"]).arg(&socket).args(args);
        command.output()
    };
    let line = format!("exec {} run -- cat", env!("CARGO_BIN_EXE_jig-session"));
    let started = tmux(&["new-session", "-d", "-x", "90", "-y", "20", "-s", "s", &line]);
    if !started.is_ok_and(|output| output.status.success()) {
        crate::common::skipped("in_tmux", "tmux cannot open a session");
        return;
    }
    let ask = |args: &[&str]| {
        let output = tmux(args).expect("tmux answers");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    eventually("the pane goes by the program's name", || {
        (ask(&["display", "-p", "-t", "s", "#{pane_current_command}"]) == "cat").then_some(())
    });
    let row = eventually("the row", || env.jig(&["ls", "--json"]).json()["sessions"].get(0).cloned());
    assert_eq!(row["tmuxPane"], ask(&["display", "-p", "-t", "s", "#{pane_id}"]).as_str());
    ask(&["send-keys", "-t", "s", "typed", "Enter"]);
    eventually("keys reach the program", || {
        (ask(&["capture-pane", "-p", "-t", "s"]).matches("typed").count() == 2).then_some(())
    });
    // No shell is above it: a stop is none, and the pane does not freeze.
    ask(&["send-keys", "-t", "s", "C-z"]);
    ask(&["send-keys", "-t", "s", "again", "Enter"]);
    eventually("it goes on", || (ask(&["capture-pane", "-p", "-t", "s"]).matches("again").count() == 2).then_some(()));
    ask(&["kill-server"]);
    eventually("nothing is left", || {
        env.jig(&["ls", "--json"]).json()["sessions"].as_array().is_some_and(Vec::is_empty).then_some(())
    });
}
