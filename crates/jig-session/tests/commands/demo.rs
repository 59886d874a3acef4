//! `jig-session demo`: what it shows, and that nothing of it stays.

use std::fs;

use crate::common::TestEnvironment;

#[test]
fn the_main_job_is_shown_on_a_recorded_session_and_nothing_stays() {
    let env = TestEnvironment::new();
    let output = env.jig(&["demo", "--fast"]).exits(0);
    for shown in [
        "state/sessions/01a22887-f2ad-708d-9062-703adb12ef79.json",
        "state: idle",
        "state: busy",
        "name: billing-core",
        "recent: bash aborted",
        "outputs: edited /home/dev/project/notes/plan.md",
        "attention: error",
        ": gone",
        "$ jig-session ls",
    ] {
        assert!(output.stdout.contains(shown), "{shown} is shown:\n{}", output.stdout);
    }
    assert_eq!(output.stderr, "");
    let listed = output.stdout.matches("billing-core").count();
    assert!(listed >= 2, "`ls` names the session:\n{}", output.stdout);
    assert_eq!(fs::read_dir(env.root().join("tmp")).unwrap().count(), 0, "the folder is gone");
    assert!(!env.state_dir().exists(), "the caller's own folder is not touched");
}
