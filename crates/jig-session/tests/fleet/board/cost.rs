//! What an open board costs that nobody looks at.

use std::io::Write;
use std::time::{Duration, Instant};

use super::{board_pid, open, until};
use crate::common::{Sleeper, status_document};
use crate::panes::tmux;

/// How long it is watched.
const WATCHED: Duration = Duration::from_secs(6);

#[test]
fn an_open_board_is_idle() {
    let Some(tmux) = tmux::start("an_open_board_is_idle") else { return };
    let env = &tmux.env;
    let process = Sleeper::start();
    for place in 0..20 {
        let session = format!("s-{place:02}");
        env.write_status(&session, &status_document(&session, process.pid()));
    }
    let pane = open(&tmux, &env.work(), (80, 24), "");
    until(&tmux, &pane, "all are listed", |screen| screen.contains("20 idle"));
    let pid = board_pid(&tmux, &pane);
    std::thread::sleep(Duration::from_secs(1));
    let (before, began) = (cpu_ms(pid), Instant::now());
    std::thread::sleep(WATCHED);
    let share = (cpu_ms(pid) - before) / began.elapsed().as_secs_f64() / 10.0;
    let memory = memory_mib(pid);
    let line = format!("an open board: {share:.2} % of a core, {memory:.1} MiB (an unoptimised build)\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
    // The limits of the optimised build are 0.5 % and 20 MiB; this one is several times slower and larger.
    assert!(share <= 2.0, "{line}");
    assert!(memory <= 40.0, "{line}");
}

/// CPU time of a process in milliseconds.
fn cpu_ms(pid: u32) -> f64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("it runs");
    let nanoseconds = |task: std::io::Result<std::fs::DirEntry>| -> Option<f64> {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse().ok()
    };
    tasks.filter_map(nanoseconds).sum::<f64>() / 1e6
}

/// Resident memory that is the process's own, in MiB.
fn memory_mib(pid: u32) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = text.lines().find(|line| line.starts_with("VmRSS:")).expect("a size");
    let kib: f64 = line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number");
    kib / 1024.0
}
