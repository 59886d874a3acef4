//! Systems that show less or can do less than usual: hidden processes, file systems without locks.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::town::{Peer, Town, texts};
use crate::common::{Output, Sleeper, finish, identity, skipped};

#[test]
fn a_process_that_cannot_be_looked_at_counts_as_alive() {
    // bus-v1 48: its process folder is hidden, and signalling it is refused
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
fn the_bus_works_on_a_file_system_without_locks_and_doctor_says_so() {
    const NAME: &str = "the_bus_works_on_a_file_system_without_locks_and_doctor_says_so";
    for errno in ["ENOLCK", "EOPNOTSUPP", "ENOSYS"] {
        let town = Town::new();
        let (a, b) = (town.peer("alpha"), town.peer("beta"));
        let says = || {
            let document = town.env.jig(&["doctor", "--json"]).exits(0).json();
            let checks: Vec<Value> = document["checks"].as_array().expect("checks").clone();
            checks
                .into_iter()
                .filter(|check| check["message"].to_string().contains("fallback lock"))
                .collect::<Vec<_>>()
        };
        assert_eq!(says(), [json!(null); 0]);
        let act = |peer: &Peer, args: &[&str], code: i32| -> Option<Value> {
            let args: Vec<&str> = ["--json", "bus", "--as", &peer.id].iter().chain(args).copied().collect();
            without_locks(&town, NAME, errno, &args).map(|output| output.exits(code).json())
        };
        if act(&a, &["claim", "src", "docs"], 0).is_none() {
            return;
        }
        let refused = act(&b, &["claim", "src/api"], 3).expect("it went before");
        assert_eq!(refused["conflicts"][0]["session"], a.id.as_str());
        // Who has locks, and who has none, keep each other out.
        town.as_peer(&b, &["claim", "src/api"]).exits(3);
        act(&a, &["release", "src"], 0);
        act(&b, &["join", "gamma"], 0);
        act(&b, &["claim", "src/api"], 0);
        act(&a, &["send", "gamma", "hello"], 0);
        assert_eq!(texts(&act(&b, &["inbox"], 0).expect("it went before")), ["hello"]);
        act(&b, &["leave"], 0);
        town.as_peer(&a, &["claim", "src"]).exits(0);
        let said = says();
        assert_eq!((said.len(), &said[0]["ok"], &said[0]["check"]), (1, &json!(true), &json!("bus")));
        assert!(said[0]["message"].as_str().is_some_and(|text| text.contains(errno)), "{said:?}");
        let line = town.env.jig(&["doctor"]).exits(0).stdout;
        assert_eq!(line.lines().filter(|line| line.contains("fallback lock")).count(), 1, "{line}");
    }
}

#[test]
fn the_lock_of_files_goes_with_its_process() {
    let town = Town::new();
    let a = town.peer("alpha");
    let mut holder = Sleeper::start();
    let who = identity(holder.pid());
    std::fs::write(town.folder().join("lock.fallback"), "ENOLCK\n").expect("a file");
    let held = json!({ "schema": 1, "token": "0123456789abcdef", "pid": holder.pid(), "process": who });
    std::fs::write(town.folder().join("lock.holder"), held.to_string()).expect("a file");
    let started = Instant::now();
    let busy = town.as_peer(&a, &["claim", "src"]).exits(75).json();
    assert!(started.elapsed() >= Duration::from_millis(1900), "it waits for two seconds: {:?}", started.elapsed());
    let named = format!("process {} holds its lock", holder.pid());
    assert!(busy["message"].as_str().is_some_and(|message| message.contains(&named)), "{busy}");
    town.as_peer(&a, &["status"]).exits(0);
    holder.kill();
    town.as_peer(&a, &["claim", "src"]).exits(0);
    assert!(!town.folder().join("lock.holder").exists());
}
