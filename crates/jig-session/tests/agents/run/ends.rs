//! How a run ends: the program's code, its signal, its last words, and what is left when a side is killed.

use std::fs;
use std::os::unix::process::ExitStatusExt;

use super::screen::Screen;
use crate::common::{TestEnvironment, eventually};

#[test]
fn the_exit_status_is_the_programs() {
    let env = TestEnvironment::new();
    Screen::run(&env, &["sh", "-c", "exit 7"]).ends_with(7);
    Screen::run(&env, &["true"]).ends_with(0);
    for signal in [9, 15, 6] {
        let status = Screen::run(&env, &["sh", "-c", &format!("kill -{signal} $$")]).end();
        assert_eq!(status.signal(), Some(signal));
        assert!(!status.core_dumped());
    }
}

#[test]
fn what_cannot_be_started_says_so_with_the_codes_of_a_shell() {
    let env = TestEnvironment::new();
    fs::write(env.work().join("plain"), "x").expect("written");
    for (program, code) in [("no-such-program", 127), ("./plain", 126)] {
        let mut screen = Screen::run(&env, &[program]);
        screen.ends_with(code);
        assert!(screen.text().contains(&format!("cannot run {program}")), "{}", screen.text());
    }
    assert_eq!(env.jig(&["run"]).code, 2);
    assert_eq!(env.jig(&["run", "--", "no-such-program"]).code, 127, "without a terminal as well");
    assert_eq!(env.jig(&["run", "--", "sh", "-c", "exit 3"]).code, 3);
}

#[test]
fn a_program_that_ends_at_once_loses_nothing() {
    let env = TestEnvironment::new();
    for _ in 0..20 {
        let mut screen = Screen::run(&env, &["sh", "-c", "printf '%04000d' 7; exec printf last"]);
        screen.ends_with(0);
        assert!(screen.text().ends_with("7last"), "{} bytes: {}", screen.text().len(), screen.text());
    }
}

#[test]
fn a_program_that_opens_its_terminal_anew_loses_nothing() {
    let env = TestEnvironment::new();
    let line = "exec >/dev/null 2>&1 </dev/null; printf one >/dev/tty; printf two >/dev/tty";
    let mut screen = Screen::run(&env, &["sh", "-c", line]);
    screen.ends_with(0);
    assert_eq!(screen.text(), "onetwo");
}

#[test]
fn what_is_left_in_the_background_lives_on() {
    let env = TestEnvironment::new();
    let file = env.work().join("after");
    let line = "(exec >/dev/null 2>&1 </dev/null; sleep 0.5; echo lived > after) & exit 0";
    Screen::run(&env, &["sh", "-c", line]).ends_with(0);
    eventually("the job in the background goes on", || file.exists().then_some(()));
}

#[test]
fn a_terminal_that_goes_hangs_up_the_program() {
    let env = TestEnvironment::new();
    let hung = env.work().join("hung");
    let mut screen = Screen::run(
        &env,
        // A shell cannot trap what was ignored when it began, as below `nohup`.
        &[
            "env",
            "--default-signal=HUP",
            "sh",
            "-c",
            "trap 'echo hup > hung; exit 1' HUP; echo ready; while :; do sleep 0.05; done",
        ],
    );
    screen.wait_for("ready");
    screen.hang_up();
    eventually("the program is told", || hung.exists().then_some(()));
    assert!(!screen.end().success());
}

#[test]
fn below_nohup_too_a_terminal_that_goes_hangs_up_who_wants_to_know() {
    let env = TestEnvironment::new();
    let program = "trap 'echo hup >> hung; exit 1' HUP; echo ready; while :; do sleep 0.05; done";
    let line = format!("trap '' HUP; exec \"$J\" run -- env --default-signal=HUP sh -c \"{program}\"");
    let mut screen = Screen::shell(&env, &line);
    screen.wait_for("ready");
    screen.hang_up();
    let hung = env.work().join("hung");
    eventually("the program is told", || hung.exists().then_some(()));
    assert!(!screen.end().success());
    assert_eq!(fs::read_to_string(hung).expect("written"), "hup\n", "once");
}

#[test]
fn a_program_that_ignores_the_hang_up_reads_the_end() {
    let env = TestEnvironment::new();
    let read = env.work().join("read");
    let mut screen = Screen::run(&env, &["sh", "-c", "trap '' HUP; echo ready; cat; echo over > read"]);
    screen.wait_for("ready");
    screen.hang_up();
    eventually("its terminal has ended", || read.exists().then_some(()));
    screen.end();
}

/// The process ids of the monitor and the program of a run.
fn below(proxy: u32) -> (u32, u32) {
    let child = |pid: u32| {
        eventually("a child", || {
            let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
            children.split_whitespace().next()?.parse().ok()
        })
    };
    let monitor = child(proxy);
    (monitor, child(monitor))
}

fn is_gone(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_none_or(|rest| rest.trim().is_empty() || rest.trim().starts_with('Z'))
}

fn kill(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("a pid");
    rustix::process::kill_process(pid, signal).expect("a process of this test's own");
}

#[test]
fn whichever_side_is_killed_nothing_is_left() {
    use rustix::process::Signal;
    let env = TestEnvironment::new();
    for (killed, signal) in
        [(0, Signal::KILL), (0, Signal::TERM), (1, Signal::KILL), (1, Signal::TERM), (2, Signal::KILL)]
    {
        let mut screen = Screen::run(&env, &["cat"]);
        screen.send("x\r");
        screen.wait_for_times("x", 2);
        let proxy = screen.pid();
        let (monitor, program) = below(proxy);
        kill([proxy, monitor, program][killed], signal);
        screen.end();
        for pid in [monitor, program] {
            eventually(&format!("{pid} ends after {killed} got {signal:?}"), || is_gone(pid).then_some(()));
        }
    }
    assert_eq!(env.jig(&["ls", "--json"]).json()["sessions"].as_array().map(Vec::len), Some(0));
}

#[test]
fn a_state_folder_that_cannot_be_written_is_nobodys_trouble() {
    let env = TestEnvironment::new();
    env.set("JIG_STATE_DIR", "/dev/null/nowhere");
    let mut screen =
        Screen::run(&env, &["sh", "-c", "printf '\\033]7501;state=working\\033\\\\'; sleep 0.3; printf all"]);
    screen.ends_with(0);
    assert_eq!(screen.text(), "\x1b]7501;state=working\x1b\\all");
}
