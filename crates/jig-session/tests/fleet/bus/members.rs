use std::process::Stdio;
use std::time::{Duration, Instant};

use super::town::{Town, texts};
use crate::common::{DEADLINE, Sleeper};

#[test]
fn the_seeds_workflow_from_join_to_release() {
    let town = Town::new();
    let (core, web) = (town.peer("billing-core"), town.peer("web"));
    let claimed = town.as_peer(&core, &["claim", "src/api", "--reason", "contract v2"]).exits(0).json();
    assert_eq!(claimed["claimed"], serde_json::json!(["src/api"]));
    let refused = town.as_peer(&web, &["claim", "src/api/routes.ts", "docs"]).exits(3).json();
    assert_eq!((&refused["ok"], &refused["code"]), (&false.into(), &"conflict".into()));
    assert_eq!(refused["conflicts"][0]["label"], "billing-core");
    let event = town.as_peer(&core, &["send", "*", "--kind", "event", "contract v2: ids are text"]).exits(0).json();
    assert_eq!(event["recipients"][0]["label"], "web");
    let got = town.as_peer(&web, &["inbox"]).exits(0).json();
    assert_eq!(texts(&got), ["contract v2: ids are text"]);
    let released = town.as_peer(&core, &["release", "--all"]).exits(0).json();
    assert_eq!(released["released"], serde_json::json!(["src/api"]));
    town.as_peer(&web, &["claim", "src/api/routes.ts"]).exits(0);
    let left = town.as_peer(&web, &["leave"]).exits(0).json();
    assert_eq!(left["released"], serde_json::json!(["src/api/routes.ts"]));
    assert_eq!(left["unread"], serde_json::Value::Null);
}

#[test]
fn refusals_have_their_exit_codes_and_a_result_on_stdout() {
    let town = Town::new();
    let (a, b) = (town.peer("alpha"), town.peer("beta"));
    town.as_peer(&a, &["claim", "src"]).exits(0);
    let table: [(&[&str], i32, &str); 10] = [
        (&["claim", "src/api"], 3, "conflict"),
        (&["check", "src/api"], 3, "conflict"),
        (&["send", "nobody", "x"], 4, "not-found"),
        (&["send", "beta", "x"], 4, "refused"),
        (&["send", "*", "x"], 4, "refused"),
        (&["join", "alpha"], 4, "label-held"),
        (&["claim", "/etc/passwd"], 4, "refused"),
        (&["release", "docs"], 1, "not-held"),
        (&["inbox", "--limit", "51"], 2, "usage"),
        (&["wait", "--timeout", "0"], 124, "timeout"),
    ];
    for (args, code, word) in table {
        let result = town.as_peer(&b, args).exits(code).json();
        assert_eq!(result["ok"], false, "{args:?}");
        assert_eq!(result["code"], word, "{args:?}");
        assert!(result["message"].as_str().is_some_and(|message| !message.is_empty()), "{args:?}");
        assert_eq!(result["unread"], 0, "{args:?}");
    }
    assert!(town.text(&b, &["claim", "src/api"]).exits(3).stderr.contains("bus send alpha"), "a way out for people");
    town.as_peer(&a, &["claim"]).exits(2);
    // bus-v1 113
    town.as_peer(&b, &["claim", "--force", "src"]).exits(2);
}

#[test]
fn a_killed_owner_frees_its_claims_at_the_next_call() {
    // bus-v1 34, 115
    let town = Town::new();
    let (mut a, b) = (town.peer("alpha"), town.peer("beta"));
    town.as_peer(&a, &["claim", "src"]).exits(0);
    town.as_peer(&b, &["claim", "src/api"]).exits(3);
    a.process.kill();
    let status = town.bus(&["status"]).json();
    assert_eq!((&status["members"][0]["state"], &status["claims"]), (&"gone".into(), &serde_json::json!([])));
    town.as_peer(&b, &["claim", "src/api"]).exits(0);
    // bus-v1 58
    let refused = town.as_peer(&b, &["send", "alpha", "x"]).exits(4).json();
    assert!(refused["message"].as_str().is_some_and(|message| message.contains("gone")));
}

#[test]
fn a_zombie_is_gone_and_a_stopped_process_is_not() {
    // bus-v1 46, 116
    let town = Town::new();
    let (mut a, b) = (town.peer("alpha"), town.peer("beta"));
    town.as_peer(&a, &["claim", "src"]).exits(0);
    a.process.signal("STOP");
    town.as_peer(&b, &["claim", "src"]).exits(3);
    a.process.signal("CONT");
    a.process.zombie();
    town.as_peer(&b, &["claim", "src"]).exits(0);
}

#[test]
fn a_record_of_another_process_with_that_pid_is_gone() {
    // bus-v1 35, 36, 38, 47
    let town = Town::new();
    let (a, b) = (town.peer("alpha"), town.peer("beta"));
    town.as_peer(&a, &["claim", "src"]).exits(0);
    let path = town.folder().join("sessions/s-alpha.json");
    let original: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&path).expect("a file")).expect("a document");
    let state = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut document = original.clone();
        change(&mut document);
        std::fs::write(&path, document.to_string()).expect("a file");
        // The look alone, so that nothing is pruned between the cases.
        let free = town.as_peer(&b, &["check", "src"]).code == 0;
        if free { "free" } else { "held" }
    };
    assert_eq!(state(&|_| {}), "held");
    assert_eq!(state(&|record| record["process"]["start"] = "linux:1".into()), "free");
    assert_eq!(state(&|record| record["process"]["bootId"] = "0".repeat(36).into()), "free");
    for (pid, word) in [(0i64, "0"), (-1, "negative"), (4_000_000_000, "too large")] {
        assert_eq!(state(&|record| record["pid"] = pid.into()), "held", "{word}: no evidence is not death");
    }
    assert_eq!(state(&|record| record["process"]["pidNamespace"] = "1".into()), "held");
    assert_eq!(
        state(&|record| {
            record["process"]["bootId"] = "0".repeat(36).into();
            record["process"]["machine"] = "f".repeat(16).into();
        }),
        "held",
        "another machine's member follows its beat"
    );
    assert_eq!(state(&|record| record["pid"] = serde_json::Value::Null), "held");
}

#[test]
fn a_stopped_lock_holder_is_named_and_reading_goes_on() {
    // bus-v1 136
    let town = Town::new();
    let a = town.peer("alpha");
    let lock = std::fs::File::open(town.folder().join("lock")).expect("the lock");
    lock.lock().expect("locked");
    let started = Instant::now();
    let busy = town.as_peer(&a, &["claim", "src"]).exits(75).json();
    assert!(started.elapsed() >= Duration::from_millis(1900), "it waits for two seconds: {:?}", started.elapsed());
    assert_eq!(busy["code"], "busy");
    assert!(busy["message"].as_str().is_some_and(|message| message.contains("process ")), "{busy}");
    town.as_peer(&a, &["status"]).exits(0);
    town.as_peer(&a, &["peek"]).exits(0);
    drop(lock);
    town.as_peer(&a, &["claim", "src"]).exits(0);
}

#[test]
fn a_read_only_state_folder_fails_clearly() {
    // bus-v1 14
    let town = Town::new();
    std::fs::write(town.env.root().join("file"), "").expect("a file");
    town.env.set("JIG_STATE_DIR", town.env.root().join("file/state"));
    let failed = town.bus(&["join", "alpha"]).exits(1);
    assert_eq!(failed.stdout, "");
    let error = failed.error();
    assert!(error["error"]["path"].as_str().is_some_and(|path| path.contains("file")), "{error}");
    assert!(error["error"]["errno"].is_number(), "{error}");
}

#[test]
fn mail_that_cannot_be_shown_stays() {
    // bus-v1 80
    let town = Town::new();
    let (a, b) = (town.peer("alpha"), town.peer("beta"));
    town.as_peer(&b, &["send", "alpha", "keep me"]).exits(0);
    if !std::path::Path::new("/dev/full").exists() {
        crate::common::skipped("mail_that_cannot_be_shown_stays", "there is no /dev/full here");
        return;
    }
    let full = std::fs::File::options().write(true).open("/dev/full").expect("/dev/full");
    let mut command = town.env.jig_command(&["bus", "--as", "alpha", "inbox"]);
    let status = command.stdout(Stdio::from(full)).stderr(Stdio::null()).status().expect("it starts");
    assert_eq!(status.code(), Some(1));
    // A pipe whose reader is gone: the exit code is 1 here, unlike in every other command.
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = town.env.jig_command(&["bus", "--as", "alpha", "inbox"]);
    let status = command.stdout(Stdio::from(writer)).stderr(Stdio::null()).status().expect("it starts");
    assert_eq!(status.code(), Some(1));
    assert_eq!(texts(&town.as_peer(&a, &["inbox"]).json()), ["keep me"]);
}

#[test]
fn wait_ends_when_mail_comes() {
    let town = Town::new();
    let (a, b) = (town.peer("alpha"), town.peer("beta"));
    let waiting = town.env.start(&["--json", "bus", "--as", "alpha", "wait", "--kind", "handoff"]);
    town.as_peer(&b, &["send", "alpha", "not this"]).exits(0);
    town.as_peer(&b, &["send", "alpha", "--kind", "handoff", "take over"]).exits(0);
    let result = waiting.json_line();
    assert_eq!(result["messages"][0]["preview"], "take over");
    assert_eq!(result["messages"][0].get("text"), None);
    assert_eq!(texts(&town.as_peer(&a, &["inbox"]).json()), ["not this", "take over"], "waiting takes nothing");
}

#[test]
fn watch_reports_a_burst_once() {
    // bus-v1 127, 128
    let town = Town::new();
    let (a, b) = (town.peer("alpha"), town.peer("beta"));
    town.as_peer(&b, &["send", "alpha", "one"]).exits(0);
    town.as_peer(&b, &["send", "alpha", "two"]).exits(0);
    let watching = town.env.start(&["--json", "bus", "--as", "alpha", "watch", "--follow"]);
    let first = watching.json_line();
    assert_eq!(first["messages"].as_array().map(Vec::len), Some(2), "mail from before is one report");
    town.as_peer(&b, &["send", "alpha", "three"]).exits(0);
    let second = watching.json_line();
    assert_eq!(second["messages"][0]["preview"], "three");
    assert_eq!(second["messages"].as_array().map(Vec::len), Some(1));
    drop(a);
}

#[test]
fn an_ask_can_wait_for_its_answer_and_two_cannot_wait_for_each_other() {
    // bus-v1 65
    let town = Town::new();
    let (a, b) = (town.peer("alpha"), town.peer("beta"));
    let asking =
        town.env.start(&["--json", "bus", "--as", "alpha", "send", "beta", "--kind", "ask", "--wait", "60", "port?"]);
    let end = Instant::now() + DEADLINE;
    let question = loop {
        let got = town.as_peer(&b, &["peek"]).json();
        if let Some(question) = got["messages"].get(0) {
            break question["id"].as_str().expect("an id").to_owned();
        }
        assert!(Instant::now() < end, "the question never came");
    };
    let mutual = town.as_peer(&b, &["send", "alpha", "--kind", "ask", "--wait", "60", "and yours?"]).exits(4).json();
    assert!(mutual["message"].as_str().is_some_and(|message| message.contains("waits for an answer")), "{mutual}");
    town.as_peer(&b, &["send", "alpha", "something else"]).exits(0);
    town.as_peer(&b, &["send", "alpha", "--reply-to", &question, "8080"]).exits(0);
    let answered = asking.json_line();
    assert_eq!(answered["reply"]["text"], "8080");
    assert_eq!(texts(&town.as_peer(&a, &["inbox"]).json()), ["something else"], "only the answer was taken");
    let late = town.as_peer(&a, &["send", "beta", "--kind", "ask", "--wait", "0", "anyone?"]).exits(124).json();
    assert_eq!((&late["code"], &late["recipients"][0]["queued"]), (&"timeout".into(), &true.into()));
}

#[test]
fn a_text_comes_from_words_stdin_or_a_file() {
    let town = Town::new();
    let (a, _b) = (town.peer("alpha"), town.peer("beta"));
    town.bus(&["--as", "beta", "send", "alpha", "two", "words"]).exits(0);
    let args = ["--json", "bus", "--as", "beta", "send", "alpha"];
    town.env.jig_stdin(&args, b"a `backtick` and $HOME\nsecond line\n").exits(0);
    let file = town.env.root().join("text");
    std::fs::write(&file, "from a file\n").expect("a file");
    town.bus(&["--as", "beta", "send", "alpha", "--file", file.to_str().expect("text")]).exits(0);
    town.bus(&["--as", "beta", "send", "alpha", "--", "--not-an-option"]).exits(0);
    assert_eq!(
        texts(&town.as_peer(&a, &["inbox"]).json()),
        ["two words", "a `backtick` and $HOME\nsecond line", "from a file", "--not-an-option"]
    );
}

#[test]
fn every_file_and_folder_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let town = Town::new();
    let (_a, b) = (town.peer("alpha"), town.peer("beta"));
    town.as_peer(&b, &["claim", "src"]).exits(0);
    town.as_peer(&b, &["send", "alpha", "x"]).exits(0);
    let mut left = vec![town.env.state_dir().join("bus")];
    let mut seen = 0;
    while let Some(path) = left.pop() {
        let about = path.symlink_metadata().expect("an entry");
        let mode = about.permissions().mode() & 0o7777;
        assert_eq!(mode, if about.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
        seen += 1;
        if about.is_dir() {
            left.extend(std::fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("an entry").path()));
        }
    }
    assert!(seen > 8, "{seen} entries");
}

#[test]
fn a_planted_link_is_not_written_through() {
    // A bus folder that is somebody's link to elsewhere.
    let town = Town::new();
    let a = town.peer("alpha");
    let outside = town.env.root().join("outside");
    std::fs::create_dir(&outside).expect("a folder");
    let claims = town.folder().join("claims");
    std::os::unix::fs::symlink(&outside, &claims).expect("a link");
    let failed = town.as_peer(&a, &["claim", "src"]).exits(1);
    assert_eq!(failed.error()["error"]["code"], "unsafe-dir");
    assert_eq!(std::fs::read_dir(&outside).expect("a folder").count(), 0);
}

#[test]
fn git_variables_change_nothing() {
    // bus-v1 20
    let town = Town::new();
    let key = || town.bus(&["status"]).json()["repo"]["key"].clone();
    let before = key();
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR"] {
        town.env.set(name, "/nonexistent");
    }
    assert_eq!(key(), before);
}

#[test]
fn two_joins_at_once_with_one_label_have_one_winner() {
    // bus-v1 31
    let town = Town::new();
    for round in 0..5 {
        let label = format!("only-{round}");
        let processes: Vec<Sleeper> = (0..4).map(|_| Sleeper::start()).collect();
        let children: Vec<_> = processes
            .iter()
            .enumerate()
            .map(|(i, process)| {
                let (id, pid) = (format!("s-{round}-{i}"), process.pid().to_string());
                let mut command = town.env.jig_command(&["bus", "join", &label, "--id", &id, "--pid", &pid]);
                command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts")
            })
            .collect();
        let codes: Vec<_> = children.into_iter().map(|mut child| child.wait().expect("it ends").code()).collect();
        assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 1, "{codes:?}");
        assert_eq!(codes.iter().filter(|code| **code == Some(4)).count(), 3, "{codes:?}");
    }
}

#[test]
fn a_wait_for_an_answer_ends_with_whom_it_waits_for() {
    let town = Town::new();
    let (a, mut dyer) = (town.peer("alpha"), town.peer("dyer"));
    let mut command =
        town.env.jig_command(&["bus", "--as", &a.id, "send", "dyer", "--kind", "ask", "--wait", "600", "will you?"]);
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn();
    let child = child.expect("it starts");
    let end = std::time::Instant::now() + crate::common::DEADLINE;
    while town.as_peer(&dyer, &["peek"]).json()["messages"] == serde_json::json!([]) {
        assert!(std::time::Instant::now() < end, "nothing was asked");
    }
    dyer.process.kill();
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.starts_with("gone: ") && !said.contains("refused"), "{said}");
    let late = town.text(&a, &["wait", "--timeout", "0"]).exits(124).stderr;
    assert!(late.starts_with("timeout: "), "{late}");
}

#[test]
fn a_text_is_taken_as_it_is_meant_or_refused_with_the_way_out() {
    let town = Town::new();
    let (a, b) = (town.peer("alpha"), town.peer("beta"));
    town.as_peer(&a, &["send", "beta", "one\r\ntwo"]).exits(0);
    assert_eq!(texts(&town.as_peer(&b, &["inbox"]).json()), ["one\ntwo"]);
    let bell = town.as_peer(&a, &["send", "beta", "a\u{7}"]).exits(4).json();
    assert!(bell["message"].as_str().is_some_and(|words| words.contains("U+0007")), "{bell}");
    assert!(bell["hint"].as_str().is_some_and(|words| words.contains("line feed")), "{bell}");
    // Beyond what is read at once, the count is still the true one.
    let long = town.env.root().join("long");
    std::fs::write(&long, "\u{e9}".repeat(100_000)).expect("a file");
    let refused = town.as_peer(&a, &["send", "beta", "--file", long.to_str().expect("text")]).exits(4);
    assert!(refused.error()["error"]["message"].as_str().is_some_and(|words| words.contains("100000")), "{refused:?}");
    // A flag behind the text is a flag.
    let sent = town.env.jig(&["bus", "--as", &a.id, "send", "beta", "hello", "--json"]).exits(0).json();
    assert_eq!(sent["ok"], true);
    town.env.jig(&["bus", "--as", &a.id, "send", "beta", "hello", "--nonsense"]).exits(2);
    assert_eq!(texts(&town.as_peer(&b, &["inbox"]).json()), ["hello"]);
}
