//! What one run of the program costs. The system tells it of all children that a process has waited for together, and
//! the tests of one program share a process: so the run is the only child of this test program, started once more.

use std::io::Write;
use std::process::Command;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};

use crate::common::{TestEnvironment, finish};

/// The variable that tells the test program to measure, with the arguments of the run, one a line.
const MEASURED: &str = "JIG_READ_TEST_MEASURED";

/// What a run cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// The processor's time, the program's and the kernel's for it.
    pub(crate) cpu: Duration,
    /// The most memory that it held at once, in bytes. It is never less than what its starter holds: a started process
    /// begins in that one's memory.
    pub(crate) memory: u64,
    /// How often it gave the processor away to wait for something.
    pub(crate) waits: u64,
}

#[expect(clippy::disallowed_methods, reason = "how the test program is told what it is started for")]
fn asked() -> Option<String> {
    std::env::var(MEASURED).ok()
}

/// Whether this process is the one that measures.
pub(crate) fn is_measured() -> bool {
    asked().is_some()
}

/// Runs the program and prints what it cost.
pub(crate) fn measure() {
    let args = asked().unwrap_or_default();
    let mut command = Command::new(env!("CARGO_BIN_EXE_jig-session"));
    command.args(args.lines()).env_remove(MEASURED);
    let output = finish(command, b"").exits(0);
    assert!(output.stdout.contains("good-9"), "it listed the folder: {output:?}");
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the system tells it");
    let time = [usage.user_time(), usage.system_time()];
    let micros: i64 = time.iter().map(|time| time.tv_sec() * 1_000_000 + time.tv_usec()).sum();
    let [waits, kib] = [usage.voluntary_context_switches(), usage.max_rss()];
    // Past the test runner, which keeps what a test prints for itself.
    writeln!(std::io::stderr(), "cost {micros} {kib} {waits}").expect("it is heard");
}

/// The least that a run with these arguments cost, each figure by itself. `test` is the test that measures when asked.
pub(crate) fn least_of(runs: usize, env: &TestEnvironment, test: &str, args: &[&str]) -> Cost {
    let own = std::env::current_exe().expect("the test program has a path");
    let run = |_| {
        let mut command = env.command(&own);
        command.args([test, "--exact", "--test-threads=1"]).env(MEASURED, args.join("\n"));
        let output = finish(command, b"").exits(0);
        let line = output.stderr.lines().find_map(|line| line.strip_prefix("cost ")).map(str::to_owned);
        let line = line.unwrap_or_else(|| panic!("it measures: {output:?}"));
        let mut numbers = line.split(' ').map(|number| number.parse::<u64>().expect("a number"));
        let mut next = || numbers.next().expect("three numbers");
        Cost { cpu: Duration::from_micros(next()), memory: next() << 10, waits: next() }
    };
    let least = |one: Cost, other: Cost| Cost {
        cpu: one.cpu.min(other.cpu),
        memory: one.memory.min(other.memory),
        waits: one.waits.min(other.waits),
    };
    (0..runs).map(run).reduce(least).expect("at least one run")
}
