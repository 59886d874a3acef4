//! The crowds of the session bus in full: many processes at once, some of them killed. `cargo test` runs a few of each.

use std::time::Instant;

use super::Report;
use crate::run::{cargo, run as run_program};

/// What is run: what it shows, and the arguments that choose its test.
const CROWDS: &[(&str, &[&str])] = &[
    (
        "the control: claims without a lock",
        &["-p", "jig-session-bus", "--test", "crowd", "the_check_sees_what_happens"],
    ),
    ("1,000 races of six for nested paths", &["-p", "jig-session-bus", "--test", "crowd", "six_racers"]),
    ("64 command lines, 50 claims each", &["-p", "jig-session", "--test", "fleet", "a_crowd_of_command_lines"]),
    (
        "16 processes without locks, 300 claims each",
        &["-p", "jig-session-bus", "--test", "crowd", "no_two_hold_overlapping_paths_where"],
    ),
    (
        "the control: 32 members of one process, taken for one",
        &["-p", "jig-session-bus", "--test", "crowd", "the_check_sees_members"],
    ),
    (
        "32 members of one process, 2,000 claims each",
        &["-p", "jig-session-bus", "--test", "crowd", "no_two_members_under_one_process"],
    ),
    (
        "64 senders, 1,000 messages each, 32 readers that die",
        &["-p", "jig-session-bus", "--test", "crowd", "a_crowd_of_senders"],
    ),
    ("64 processes, 10,000 claims each", &["-p", "jig-session-bus", "--test", "crowd", "no_two_of_a_crowd"]),
];

pub(crate) fn run(report: &mut Report) -> anyhow::Result<()> {
    for (what, choice) in CROWDS {
        let begun = Instant::now();
        let mut command = cargo(&["test", "--quiet", "--release"]);
        command.args(*choice).args(["--", "--nocapture"]).env("JIG_FULL", "1");
        let ran = run_program(&mut command, |_| false)?;
        let lines = || ran.lines.iter().map(String::as_str);
        let mut wrong = Vec::new();
        if !ran.status.success() {
            wrong
                .extend(lines().filter(|line| line.contains("panicked") || line.contains("grants")).map(str::to_owned));
            wrong.push(format!("cargo test ended with {}", ran.status));
        } else if !lines().any(|line| line.contains(" passed") && !line.contains(" 0 passed")) {
            wrong.push("no such test".to_owned());
        }
        if let Some(skipped) = lines().find(|line| line.contains("SKIPPED ")) {
            report.skip(&format!("crowds, {what}"), skipped);
            continue;
        }
        let said = lines().find(|line| line.contains(" grants of ")).unwrap_or_default();
        report.check(&format!("{what}, {:.0} s {said}", begun.elapsed().as_secs_f64()), wrong);
    }
    Ok(())
}
