//! The board in a real terminal: keys, sizes, files that change underneath, the bus, other panes, signals.

mod cost;
mod hands;
mod leaving;
mod screen;

use std::path::Path;

use crate::common::{eventually, program};
use crate::panes::tmux::Tmux;

/// A shell in a pane of its own, of this size, in this folder.
pub(crate) fn shell(tmux: &Tmux, dir: &Path, size: (u16, u16)) -> String {
    let (width, height) = (size.0.to_string(), size.1.to_string());
    let dir = dir.to_str().expect("the folder's name is UTF-8");
    let args = ["new-session", "-d", "-P", "-F", "#{pane_id}", "-s", "board", "-x", &width, "-y", &height, "-c", dir];
    let pane = tmux.run(&[&args[..], &["env PS1='ready> ' sh -i"]].concat());
    tmux.run(&["set-option", "-g", "status", "off"]);
    tmux.run(&["resize-window", "-t", &pane, "-x", &width, "-y", &height]);
    tmux.shows(&pane, "ready>");
    pane
}

/// Types a line into a shell.
pub(crate) fn types(tmux: &Tmux, pane: &str, line: &str) {
    tmux.run(&["send-keys", "-t", pane, "-l", line]);
    tmux.run(&["send-keys", "-t", pane, "Enter"]);
}

/// Presses keys by tmux's names.
pub(crate) fn press(tmux: &Tmux, pane: &str, keys: &[&str]) {
    for key in keys {
        tmux.run(&["send-keys", "-t", pane, key]);
    }
}

/// The board in a shell of its own, once it shows its tabs.
fn open(tmux: &Tmux, dir: &Path, size: (u16, u16), before: &str) -> String {
    let pane = shell(tmux, dir, size);
    types(tmux, &pane, &format!("{before} {} board", program().display()));
    tmux.shows(&pane, "[Sessions]");
    pane
}

fn capture(tmux: &Tmux, pane: &str) -> String {
    tmux.run(&["capture-pane", "-p", "-t", pane])
}

/// Waits until the screen is as it should be.
#[track_caller]
pub(crate) fn until(tmux: &Tmux, pane: &str, what: &str, ready: impl Fn(&str) -> bool) {
    let last = std::cell::RefCell::new(String::new());
    let end = std::time::Instant::now() + crate::common::DEADLINE;
    loop {
        *last.borrow_mut() = capture(tmux, pane);
        if ready(&last.borrow()) {
            return;
        }
        assert!(std::time::Instant::now() < end, "never {what}:\n{}", last.borrow());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// The process that a pane's shell runs in front.
fn board_pid(tmux: &Tmux, pane: &str) -> u32 {
    let shell: u32 = tmux.tell(pane, "#{pane_pid}").parse().expect("a pid");
    eventually("the board runs", || {
        let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).ok()?;
        children.split_whitespace().next()?.parse().ok()
    })
}
