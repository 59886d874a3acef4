//! Systems that show less or can do less than usual: hidden processes, file systems without locks.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::common::{Output, finish, skipped};
use crate::town::{Town, texts};

#[test]
fn a_process_that_cannot_be_looked_at_counts_as_alive() {
    // 48: its process folder is hidden, and signalling it is refused
    const NAME: &str = "a_process_that_cannot_be_looked_at_counts_as_alive";
    const HIDING: &str = "mount -t proc -o hidepid=2 proc /proc && \
        exec setpriv --reuid=65534 --regid=65534 --clear-groups -- \"$0\" \"$@\"";
    let town = Town::new();
    let mut peer = town.peer("api");
    town.as_peer(&peer, &["claim", "src"]).exits(0);
    // The program, and everything it is to read, must be the other user's.
    let program = town.env.root().join("jig-session");
    // By another program: a descriptor open for writing, inherited by a child that another test is just starting, would
    // make the copy busy.
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_jig-session")).arg(&program).status();
    assert!(copied.expect("cp starts").success());
    let given = Command::new("chown").args(["-R", "65534:65534"]).arg(town.env.root()).output();
    if !given.is_ok_and(|output| output.status.success()) {
        return skipped(NAME, "only root can give files away");
    }
    let hiding = |program: &Path, args: &[&str]| -> Output {
        let mut command = town.env.command("unshare");
        command.args(["--mount", "sh", "-c", HIDING]).arg(program).args(args);
        finish(command, b"")
    };
    let trial = hiding(Path::new("true"), &[]);
    if trial.code != 0 {
        return skipped(NAME, &format!("a process folder that hides cannot be mounted here: {}", trial.stderr.trim()));
    }
    if hiding(&program, &["--version"]).code != 0 {
        return skipped(NAME, "the temporary folder cannot be reached by another user");
    }
    let state = || hiding(&program, &["--json", "bus", "status"]).exits(0).json();
    let seen = state();
    assert_eq!((&seen["members"][0]["state"], seen["claims"].as_array().map(Vec::len)), (&json!("live"), Some(1)));
    hiding(&program, &["--json", "bus", "check", "src/api"]).exits(3);
    peer.process.kill();
    assert_eq!(state()["members"][0]["state"], "gone", "that it has ended is seen all the same");
}

/// The program behind strace, on a file system whose locks fail so; `None` where strace cannot be used.
fn without_locks(town: &Town, test: &str, errno: &str, args: &[&str]) -> Option<Output> {
    let trial = Command::new("strace").args(["-o", "/dev/null", "true"]).output();
    if !trial.is_ok_and(|trial| trial.status.success()) {
        skipped(test, "strace is not installed, or may not trace");
        return None;
    }
    let inject = format!("inject=flock:error={errno}");
    let mut command = town.env.command("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=flock", "-e", &inject]);
    command.arg(PathBuf::from(env!("CARGO_BIN_EXE_jig-session"))).args(args);
    Some(finish(command, b""))
}

#[test]
fn a_file_system_without_locks_is_named_and_reading_goes_on() {
    const NAME: &str = "a_file_system_without_locks_is_named_and_reading_goes_on";
    let town = Town::new();
    let (a, b) = (town.peer("alpha"), town.peer("beta"));
    let lock = town.folder().join("lock").to_string_lossy().into_owned();
    for errno in ["ENOLCK", "ENOSYS", "EOPNOTSUPP"] {
        let ask = |args: &[&str]| without_locks(&town, NAME, errno, args);
        for act in [&["claim", "src"][..], &["release", "--all"], &["join"]] {
            let args: Vec<&str> = ["--json", "bus", "--as", &a.id].iter().chain(act).copied().collect();
            let Some(refused) = ask(&args) else { return };
            let error = refused.exits(1).error();
            let error = &error["error"];
            assert_eq!(error["path"], lock.as_str(), "{error}");
            assert!(error["message"].as_str().is_some_and(|message| message.contains(errno)), "{error}");
            assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("JIG_STATE_DIR")), "{error}");
        }
        // Nothing of this needs the lock.
        let word = format!("under {errno}");
        let ask = |args: &[&str]| ask(args).map(|output| output.exits(0));
        ask(&["--json", "bus", "--as", &a.id, "send", "beta", &word]);
        ask(&["--json", "bus", "--as", &b.id, "status"]);
        ask(&["--json", "bus", "--as", &b.id, "check", "src"]);
        let Some(read) = ask(&["--json", "bus", "--as", &b.id, "inbox"]) else { return };
        assert_eq!(texts(&read.json()), [word]);
    }
    assert!(town.bus(&["status"]).json()["claims"].as_array().is_some_and(Vec::is_empty));
}
