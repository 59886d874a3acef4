//! The rows of the verdict table that need a hindered look: a `/proc` that hides, a look that fails, a file system that
//! is not of this machine. The real program is run as another user or behind strace.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::verdicts::{booted, explained, old_without_identity, says};
use crate::common::{Output, TestEnvironment, finish, skipped};

const SECOND_USER: [&str; 5] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"];

/// Gives the home to another user, with a copy of the program that this one can start. `None`, and said so, where there
/// is no other user to be.
fn given_away(env: &TestEnvironment, test: &str) -> Option<PathBuf> {
    let program = env.root().join("jig-session");
    if !program.exists() {
        // By another program: a descriptor open for writing, inherited by a child that another test is just starting,
        // would make the copy busy.
        let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_jig-session")).arg(&program).status();
        assert!(copied.expect("cp starts").success());
    }
    let given = Command::new("chown").args(["-R", "65534:65534"]).arg(env.root()).output();
    let can = Command::new(SECOND_USER[0]).args(&SECOND_USER[1..]).arg("true").output();
    if !succeeded(given) || !succeeded(can) {
        skipped(test, "there is no second user to ask as");
        return None;
    }
    Some(program)
}

fn succeeded(output: std::io::Result<std::process::Output>) -> bool {
    output.is_ok_and(|output| output.status.success())
}

/// Runs the program as another user, to whom the home is given.
pub(crate) fn as_second_user(env: &TestEnvironment, test: &str, args: &[&str]) -> Option<Output> {
    let program = given_away(env, test)?;
    let mut command = env.command(SECOND_USER[0]);
    command.args(&SECOND_USER[1..]).arg(program).args(args);
    Some(finish(command, b""))
}

/// `/proc` may hide the processes of others: they exist, and their start cannot be read.
#[test]
fn a_hidden_process_is_unverified() {
    const NAME: &str = "a_hidden_process_is_unverified";
    const HIDING: &str = "mount -t proc -o hidepid=2 proc /proc && exec \"$0\" \"$@\"";
    let env = TestEnvironment::new();
    let mut live = env.live("hidden", |_| ());
    let Some(program) = given_away(&env, NAME) else { return };
    // The process stays root's, the one that asks is another user's.
    let hiding = |program: &Path, args: &[&str]| {
        let mut command = env.command("unshare");
        command.args(["--mount", "sh", "-c", HIDING]).args(SECOND_USER).arg(program).args(args);
        command
    };
    let trial = finish(hiding(Path::new("true"), &[]), b"");
    if trial.code != 0 {
        return skipped(NAME, &format!("a process folder that hides cannot be mounted here: {}", trial.stderr.trim()));
    }
    let ask = |args: &[&str]| finish(hiding(&program, args), b"").exits(0);

    let document = ask(&["explain", "hidden", "--json"]).json();
    says(&document, "unverified", Some("start unreadable"), "9");
    let observed = &document["identity"]["observed"];
    assert_eq!((&observed["exists"], &observed["process"]), (&json!(true), &Value::Null), "{document:#}");
    let text = ask(&["explain", "hidden"]).stdout;
    assert!(text.contains("unverified (start unreadable)") && text.contains("there, hidden"), "{text}");
    let listed = ask(&["ls", "--json"]).json();
    assert_eq!(listed["sessions"][0]["verdict"], "unverified", "{listed:#}");
    assert_eq!(ask(&["prune", "--json"]).json()["removed"], json!([]));

    // That a process has ended is seen all the same.
    live.process.kill();
    says(&ask(&["explain", "hidden", "--json"]).json(), "gone", None, "5");
}

/// The program behind strace, which does `inject` to the calls that name `path`, or to all; `None` where strace cannot
/// trace.
fn under_strace(env: &TestEnvironment, test: &str, inject: &str, path: Option<&str>, args: &[&str]) -> Option<Output> {
    let trial = Command::new("strace").args(["-o", "/dev/null", "true"]).output();
    if !succeeded(trial) {
        skipped(test, "strace is not installed, or may not trace");
        return None;
    }
    let mut command = env.command("strace");
    command.args(["-f", "-o", "/dev/null", "-e", inject]);
    command.args(path.iter().flat_map(|path| ["-P", *path]));
    command.arg(env!("CARGO_BIN_EXE_jig-session")).args(args);
    Some(finish(command, b""))
}

/// No descriptor, no memory, a `/proc` that answers with an error: nothing is concluded, and nothing removed.
#[test]
fn a_look_that_fails_proves_nothing() {
    const NAME: &str = "a_look_that_fails_proves_nothing";
    let env = TestEnvironment::new();
    // Its start is another one: a look that succeeds would call it reused.
    let live = env.live("unseen", |document| document["process"]["start"] = "linux:1".into());
    let stat = format!("/proc/{}/stat", live.pid());
    for (errno, name) in [("EMFILE", "24"), ("ENOMEM", "12"), ("EIO", "5")] {
        let ask = |args: &[&str]| under_strace(&env, NAME, &format!("inject=openat:error={errno}"), Some(&stat), args);
        let Some(output) = ask(&["explain", "unseen", "--json"]) else { return };
        let document = output.exits(0).json();
        says(&document, "unknown", Some("probe failed"), "12");
        let observed = &document["identity"]["observed"];
        assert_eq!((&observed["exists"], &observed["process"]), (&Value::Null, &Value::Null), "{document:#}");
        let notes = document["notes"].to_string();
        assert!(notes.contains("could not be looked at") && notes.contains(&format!("os error {name}")), "{notes}");
        let Some(output) = ask(&["explain", "unseen"]) else { return };
        let text = output.exits(0).stdout;
        assert!(text.contains("unknown (probe failed)") && text.contains("could not be looked at"), "{text}");
        let Some(output) = ask(&["prune", "--json"]) else { return };
        let pruned = output.exits(0).json();
        assert_eq!(pruned["removed"], json!([]), "{errno}");
        assert_eq!(pruned["kept"][0]["path"], live.path.to_str().expect("UTF-8"), "{errno}: {pruned:#}");
    }
    says(&explained(&env, "unseen"), "reused", None, "8");
}

/// A restart of this machine says nothing about a process whose file lies on another machine's disk.
#[test]
fn an_old_document_on_a_network_disk_is_unknown() {
    const NAME: &str = "an_old_document_on_a_network_disk_is_unknown";
    let env = TestEnvironment::new();
    let _live = old_without_identity(&env, "far", booted() - Duration::from_secs(120));
    says(&explained(&env, "far"), "gone", Some("rebooted"), "3c");
    // The kernel's answer to "which file system" begins with its number: here it becomes that of NFS.
    let inject = "inject=fstatfs:poke_exit=@arg2=6969000000000000";
    let Some(output) = under_strace(&env, NAME, inject, None, &["explain", "far", "--json"]) else { return };
    if output.stderr.contains("poke_exit") {
        return skipped(NAME, "this strace is older than 5.11");
    }
    says(&output.exits(0).json(), "unknown", Some("no identity"), "3c");
}

/// Publishers go on without a word to their agents when the disk is full: `doctor` is where it is learnt.
#[test]
fn a_full_disk_is_found() {
    const SCRIPT: &str = r#"
        state=$1; mount -t tmpfs -o size=64k,mode=700 full "$state" || exit 9
        printf '{"event":"session","schema":1,"session":"s-1","pid":%s}\n' $$ | "$0" publish --agent x
        "$0" doctor --json; echo
        head -c 1000000 /dev/zero > "$state/fill" 2>/dev/null
        exec "$0" doctor --json
    "#;
    let env = TestEnvironment::new();
    std::fs::create_dir_all(env.state_dir()).expect("made");
    let mut command = env.command("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", SCRIPT]);
    command.arg(env!("CARGO_BIN_EXE_jig-session")).arg(env.state_dir());
    let output = finish(command, b"");
    let documents: Vec<Value> = output.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let [before, full] = documents.as_slice() else {
        return skipped("a_full_disk_is_found", &format!("no file system can be mounted here: {}", output.stderr));
    };
    let room = |document: &Value| {
        let checks = document["checks"].as_array().expect("a list");
        checks.iter().find(|check| check["check"] == "room").cloned().unwrap_or_default()
    };
    assert_eq!(room(before)["ok"], true, "{before}");
    assert_eq!(room(full)["ok"], false, "{full}");
    assert!(room(full)["hint"].as_str().is_some_and(|hint| hint.contains("disk is full")), "{full}");
    assert_eq!(output.code, 1);
}
