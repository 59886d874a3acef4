//! Whatever ends or stops the board, the terminal is as it was.

use super::{board_pid, open, press, types, until};
use crate::common::eventually;
use crate::panes::tmux::{self, Tmux};

/// The shell is back on its own screen, its terminal reads lines and shows its cursor.
#[track_caller]
fn is_as_it_was(tmux: &Tmux, pane: &str, how: &str) {
    tmux.until(pane, "#{alternate_on}", "0");
    tmux.until(pane, "#{cursor_flag}", "1");
    types(
        tmux,
        pane,
        &format!("clear; stty -a | tr ' ;' '\\n\\n' | grep -xE -e '-?(icanon|echo|isig|opost)' | xargs echo {how}:"),
    );
    until(tmux, pane, &format!("after {how} the terminal is as it was"), |screen| {
        screen.lines().any(|line| line.starts_with(&format!("{how}: ")) && !line.contains(" -"))
    });
}

#[test]
fn every_end_gives_the_terminal_back() {
    let Some(tmux) = tmux::start("every_end_gives_the_terminal_back") else { return };
    let pane = open(&tmux, &tmux.env.work(), (80, 24), "");
    let again = |signal: &str| {
        is_as_it_was(&tmux, &pane, signal);
        types(&tmux, &pane, &format!("clear; {} board", crate::common::program().display()));
        tmux.shows(&pane, "[Sessions]");
    };
    press(&tmux, &pane, &["q"]);
    again("q");
    press(&tmux, &pane, &["C-c"]);
    again("Ctrl-C");
    for signal in
        ["TERM", "HUP", "INT", "QUIT", "USR1", "USR2", "ALRM", "ABRT", "XCPU", "VTALRM", "PROF", "SYS", "TRAP"]
    {
        let pid = board_pid(&tmux, &pane);
        let status = std::process::Command::new("kill").arg(format!("-{signal}")).arg(pid.to_string()).status();
        assert!(status.expect("kill can be started").success());
        eventually("it has ended", || (!std::path::Path::new(&format!("/proc/{pid}")).exists()).then_some(()));
        again(signal);
    }
}

/// Not a test of its own: the board that panics in a pane, in the thread that draws or in another one.
#[test]
fn a_board_that_panics() {
    let Ok(where_to) = std::env::var("JIG_TEST_PANIC") else { return };
    let board = jig_session_board::Board::new(String::new());
    let _ = jig_session_board::terminal::run(board, true, |_| {
        Box::new(move |_| match where_to.as_str() {
            "drawing" => panic!("on purpose"),
            _ => drop(std::thread::spawn(|| panic!("on purpose"))),
        })
    });
}

#[test]
fn a_panic_gives_the_terminal_back_and_is_reported() {
    let Some(tmux) = tmux::start("a_panic_gives_the_terminal_back_and_is_reported") else { return };
    let pane = super::shell(&tmux, &tmux.env.work(), (100, 24));
    let this = std::env::current_exe().expect("this program");
    for place in ["drawing", "elsewhere"] {
        let test = "--exact board::leaving::a_board_that_panics --nocapture";
        types(&tmux, &pane, &format!("clear; JIG_TEST_PANIC={place} {} {test}; echo ended with $?", this.display()));
        until(&tmux, &pane, "the panic is reported", |screen| {
            screen.contains("on purpose") && screen.contains("ended with 101")
        });
        is_as_it_was(&tmux, &pane, place);
    }
}

#[test]
fn it_stops_and_goes_on_like_any_program() {
    let Some(tmux) = tmux::start("it_stops_and_goes_on_like_any_program") else { return };
    let pane = open(&tmux, &tmux.env.work(), (80, 24), "");
    for stop in ["C-z", "TSTP"] {
        if stop == "TSTP" {
            let pid = board_pid(&tmux, &pane);
            let status = std::process::Command::new("kill").args(["-TSTP", &pid.to_string()]).status();
            assert!(status.expect("kill can be started").success());
        } else {
            press(&tmux, &pane, &[stop]);
        }
        is_as_it_was(&tmux, &pane, stop);
        types(&tmux, &pane, "fg");
        tmux.until(&pane, "#{alternate_on}", "1");
        tmux.shows(&pane, "[Sessions]");
        press(&tmux, &pane, &["?"]);
        until(&tmux, &pane, "its keys work", |screen| screen.contains("What the words mean"));
        press(&tmux, &pane, &["Escape"]);
    }
}

#[test]
fn without_a_terminal_it_says_what_to_do() {
    let env = crate::common::TestEnvironment::new();
    let output = env.jig(&["board"]).exits(1);
    assert!(output.stderr.contains("stdout is no terminal") && output.stderr.contains("jig-session ls"), "{output:?}");
    env.jig(&["board", "--json"]).exits(2);
}
