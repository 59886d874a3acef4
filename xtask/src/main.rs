//! The project's own tasks. `cargo xtask help` lists them.
#![allow(clippy::disallowed_methods, reason = "a tool of developers reads the files that it made")]

mod bench;
mod book;
mod e2e;
mod faults;
mod fuzz;
mod package;
mod page;
mod pictures;
mod plugins;
mod release_check;
mod run;
mod schemas;
mod soak;
mod test;
mod tools;

use std::process::ExitCode;

/// A task: its name, what it is for, and what runs it with the rest of the arguments.
type Task = (&'static str, &'static str, fn(&[String]) -> anyhow::Result<ExitCode>);

const TASKS: &[Task] = &[
    ("bench", "speed and memory against the shortest straight code; --write makes docs/performance.md", bench::run_all),
    ("test", "all checks and tests; with CI=true it also installs what they need", test::run_all),
    (
        "release-check",
        "what is checked before a release only; record makes today's types the baseline",
        release_check::run_all,
    ),
    ("schemas", "write the JSON Schemas, or --check them; --release VERSION keeps a copy", schemas::run),
    ("faults", "every writing operation killed, failing, starved and raced; --short for the test command", faults::run),
    (
        "soak",
        "200 sessions of every agent for 30 minutes, or --minutes N, under faults; nothing lost, left or grown",
        soak::soak,
    ),
    (
        "fuzz",
        "the parsers under a coverage-guided fuzzer; TARGET for one, --minutes N for each, --control for the planted fault",
        fuzz::fuzz,
    ),
    ("page", "build the page of the fleet, or --check it; --pictures draws docs/pictures/fleet-*", page::run_all),
    ("pictures", "draw docs/pictures from the program itself, or --check them", pictures::run_all),
    ("plugins", "write the plugins of agents from the table of agents, or --check them", plugins::run_all),
    ("e2e", "the program against what is real: pi, the other agents, or a broker (fleet)", e2e::run_all),
];

fn main() -> anyhow::Result<ExitCode> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let name = args.first().map(String::as_str).unwrap_or("help");
    if let Some((_, _, task)) = TASKS.iter().find(|(task, ..)| *task == name) {
        return task(&args[1..]);
    }
    run::say("tasks:");
    for (task, about, _) in TASKS {
        run::say(&format!("  cargo xtask {task:13} {about}"));
    }
    Ok(if name == "help" { ExitCode::SUCCESS } else { ExitCode::from(2) })
}
