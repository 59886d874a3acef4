//! The tests' own tools are right.

use crate::common::{Sleeper, TestEnvironment, identity, timestamp};

#[test]
fn timestamps_are_counted_right() {
    let cases = [
        (0, "1970-01-01T00:00:00.000Z"),
        (951_827_696_789, "2000-02-29T12:34:56.789Z"),
        (1_795_976_327_855, "2026-11-29T18:18:47.855Z"),
        (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
    ];
    for (ms, text) in cases {
        assert_eq!(timestamp(ms), text);
    }
}

#[test]
fn a_run_has_nothing_of_the_machine_but_the_path() {
    let env = TestEnvironment::new();
    env.set("JIG_DEBUG", "1");
    let output = crate::common::finish(env.command("env"), b"").exits(0);
    let mut names: Vec<_> = output.stdout.lines().filter_map(|line| line.split('=').next()).collect();
    names.sort_unstable();
    names.retain(|name| !["PWD", "SHLVL", "_", "OLDPWD"].contains(name));
    assert_eq!(names, ["HOME", "JIG_DEBUG", "LC_ALL", "PATH", "TMPDIR", "TZ"]);
}

#[test]
fn a_sleeper_has_an_identity_and_ends() {
    let mut sleeper = Sleeper::start();
    assert!(identity(sleeper.pid())["start"].as_str().is_some_and(|start| start.starts_with("linux:")));
    sleeper.kill();
    assert!(!std::path::Path::new(&format!("/proc/{}", sleeper.pid())).exists());
}
