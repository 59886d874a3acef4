//! The name `sessions`: what its readers call, and how they read the answer.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::Value;

use super::tmux::{Tmux, folder, search_path, start};
use crate::common::{Output, TestEnvironment};

/// Links the program as `sessions` and gives the link.
fn link(env: &TestEnvironment) -> std::path::PathBuf {
    let bin = folder(env, "alias");
    env.jig(&["live", "alias", bin.to_str().expect("UTF-8")]).exits(0);
    bin.join("sessions")
}

fn sessions(tmux: &Tmux, link: &Path, args: &[&str]) -> Output {
    tmux.again(|| {
        let mut command = tmux.env.command(link);
        command.args(args).arg("-S").arg(&tmux.socket);
        command
    })
}

/// How a dispatcher reads it: exit code 0, one JSON document and nothing else, a list or an object that holds
/// one; of a row only `target` and `machine` matter, first one wins.
fn dispatched(output: &Output) -> Vec<(String, String)> {
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
    let document: Value = serde_json::from_str(&output.stdout).expect("stdout is exactly one document");
    let rows = document.as_array().expect("a bare list");
    rows.iter()
        .map(|row| {
            for foreign in ["state", "activity", "host", "pane", "tmux", "machineId"] {
                assert!(row.get(foreign).is_none(), "{foreign} would be read as something else");
            }
            let word = |key: &str| row[key].as_str().filter(|word| !word.trim().is_empty()).expect("text").to_owned();
            (word("machine"), word("target"))
        })
        .collect()
}

#[test]
fn a_dispatcher_finds_every_pane_once() {
    let Some(tmux) = start("a_dispatcher_finds_every_pane_once") else { return };
    tmux.new_session("router", &tmux.env.work(), "exec cat");
    tmux.run(&["new-session", "-d", "-s", "twin", "-t", "router"]);
    tmux.env.set("HASNA_MACHINE", "local");
    let link = link(&tmux.env);
    let expected = [("local".to_owned(), "keep:0.0".to_owned()), ("local".to_owned(), "router:0.0".to_owned())];
    assert_eq!(dispatched(&sessions(&tmux, &link, &["live", "--json", "--once"])), expected);
    assert_eq!(dispatched(&sessions(&tmux, &link, &["status", "--json"])), expected);
    let envelope = sessions(&tmux, &link, &["bulk", "status", "--json"]).exits(0).json();
    assert_eq!(envelope["schemaVersion"], "sessions.bulk.v1");
}

#[test]
fn under_the_name_errors_are_one_plain_line_and_one() {
    let env = TestEnvironment::new();
    let link = link(&env);
    for args in [
        &["indexed-list", "--json"][..],
        &["ls"],
        &[],
        &["live", "--json", "--status", "sleepy"],
        &["live", "explain"],
        &["bulk", "explode", "--json"],
        &["bulk", "stop", "--concurrency", "0"],
    ] {
        let mut command = env.command(&link);
        command.args(args);
        let output = crate::common::finish(command, b"").exits(1);
        assert_eq!(output.stdout, "", "{args:?}");
        assert_eq!(output.stderr.lines().count(), 1, "{args:?}: {}", output.stderr);
        assert!(output.stderr.starts_with("Error: "), "{args:?}: {}", output.stderr);
    }
    let mut command = env.command(&link);
    command.args(["bulk", "explode"]);
    let expected = "Error: unknown bulk action 'explode'. Use: status, capture, ensure, start, stop, restart, doctor\n";
    assert_eq!(crate::common::finish(command, b"").stderr, expected);
}

#[test]
fn the_link_never_replaces_anything() {
    let env = TestEnvironment::new();
    let bin = folder(&env, "bin");
    let dir = bin.to_str().expect("UTF-8");
    let output = env.jig(&["live", "alias", dir]).exits(0);
    assert!(output.stderr.contains("is not on PATH"), "{}", output.stderr);
    assert!(fs::read_link(bin.join("sessions")).is_ok());
    assert_eq!(env.jig(&["live", "alias", dir, "--json"]).exits(0).json()["made"], false);

    fs::remove_file(bin.join("sessions")).expect("the link can be removed");
    fs::write(bin.join("sessions"), "#!/bin/sh\n").expect("a file can be written");
    let output = env.jig(&["live", "alias", dir, "--json"]).exits(4);
    assert_eq!(output.error()["error"]["code"], "refused");
    assert_eq!(fs::read_to_string(bin.join("sessions")).expect("it is still there"), "#!/bin/sh\n");

    // A link to something else, even to nothing, is somebody's.
    let third = folder(&env, "third");
    symlink("/nonexistent/sessions", third.join("sessions")).expect("a link can be made");
    env.jig(&["live", "alias", third.to_str().expect("UTF-8")]).exits(4);

    // Another one on PATH is told of.
    let second = folder(&env, "second");
    let path = search_path();
    env.set("PATH", format!("{dir}:{}:{}", second.display(), path.display()));
    let output = env.jig(&["live", "alias", second.to_str().expect("UTF-8")]).exits(0);
    assert!(output.stderr.contains("PATH holds another sessions"), "{}", output.stderr);
    assert!(!output.stderr.contains("is not on PATH"), "{}", output.stderr);
}
