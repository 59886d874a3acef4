//! The programs of docs/publish.md publish what the page says.

use std::process::Stdio;

use serde_json::Value;

use crate::common::{TestEnvironment, eventually, skipped};

/// The first block of this language.
fn block(page: &str, language: &str) -> String {
    let (_, rest) = page.split_once(&format!("```{language}\n")).expect("the page has such a block");
    rest.split_once("```").expect("the block ends").0.to_owned()
}

fn row(env: &TestEnvironment) -> Option<Value> {
    env.jig(&["ls", "--json"]).json()["sessions"].as_array()?.first().cloned()
}

#[test]
fn a_program_in_any_language_publishes_through_a_pipe() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/publish.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_jig-session"));
    for (language, interpreter, flag, agent) in
        [("sh", "sh", "-c", "backup"), ("python", "python3", "-c", "trainer"), ("js", "node", "-e", "crawler")]
    {
        let env = TestEnvironment::new();
        if env.command(interpreter).arg("--version").stdout(Stdio::null()).status().is_err() {
            skipped("a_program_in_any_language_publishes_through_a_pipe", &format!("{interpreter} is not installed"));
            continue;
        }
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", program.parent().expect("a folder").display());
        let mut command = env.command(interpreter);
        let mut child = command.args([flag, &block(&page, language)]).env("PATH", path).spawn().expect("it starts");
        for (state, reason) in [("busy", None), ("busy", Some("question")), ("idle", None)] {
            let row = eventually(&format!("{language}: {state} {reason:?}"), || {
                row(&env).filter(|row| row["state"] == state && row["attention"]["reason"].as_str() == reason)
            });
            assert_eq!(row["agent"]["name"], agent, "{language}");
            assert_eq!(row["verdict"], "alive", "{language}: the process is known");
        }
        assert!(child.wait().expect("it ends").success(), "{language}");
        eventually(&format!("{language}: the end takes it away"), || row(&env).is_none().then_some(()));
    }
}
