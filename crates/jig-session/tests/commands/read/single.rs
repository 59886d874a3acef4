//! `show`, SESSION arguments, `paths`, `prune` and `doctor`.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::common::{Sleeper, TestEnvironment, eventually, finish, now_ms, private_dir, replace, status_document};

#[test]
fn show_gives_the_document_as_it_is() {
    let env = TestEnvironment::new();
    let live = env.live("s-1", |document| {
        document["fromTheFuture"] = json!({ "z": 1, "a": [2] });
        document["outputs"] = json!([{ "path": "/x", "action": "edited", "at": document["startedAt"], "repo": null }]);
    });
    let shown = env.jig(&["show", "s-1", "--json"]).exits(0).json();
    assert_eq!(shown["document"], live.document);
    assert_eq!(shown["session"]["session"], "s-1");
    assert_eq!(
        shown.as_object().map(|map| map.keys().cloned().collect::<Vec<_>>()).unwrap_or_default(),
        ["schema", "at", "session", "document"]
    );
    let text = env.jig(&["show", "s-1"]).exits(0).stdout;
    assert!(text.contains("s-1") && text.contains("/x") && text.contains("/home/dev/app"), "{text}");
}

#[test]
fn a_panes_number_is_one_of_one_server() {
    let env = TestEnvironment::new();
    let in_pane = |id: &str, socket: Option<&str>| {
        env.live(id, |document| {
            document["tmuxPane"] = "%0".into();
            document["tmuxSocket"] = socket.into();
        })
    };
    let _sessions = [in_pane("one-1", Some("/tmp/tmux-1/default")), in_pane("two-2", Some("/tmp/tmux-1/work"))];
    let shown = |env: &TestEnvironment, wanted: &str| {
        env.jig(&["show", wanted, "--json"]).exits(0).json()["session"]["session"].as_str().map(str::to_owned)
    };
    let ambiguous = env.jig(&["show", "%0", "--json"]).exits(4).error();
    assert_eq!(ambiguous["error"]["code"], "ambiguous", "without $TMUX it is a number of any server");
    assert_eq!(ambiguous["error"]["candidates"], json!(["one-1", "two-2"]));
    for wanted in ["/tmp/tmux-1/work:%0", "work:%0"] {
        assert_eq!(shown(&env, wanted).as_deref(), Some("two-2"), "{wanted}");
    }
    assert_eq!(env.jig(&["show", "elsewhere:%0", "--json"]).exits(4).error()["error"]["code"], "not-found");
    env.set("TMUX", "/tmp/tmux-1/default,123,0");
    assert_eq!(shown(&env, "%0").as_deref(), Some("one-1"));
    assert_eq!(shown(&env, "work:%0").as_deref(), Some("two-2"));
    env.set("TMUX", "/tmp/tmux-1/third,123,0");
    assert_eq!(env.jig(&["wait", "%0", "--json"]).exits(4).error()["error"]["code"], "not-found");
}

#[test]
fn a_stopped_session_is_called_stopped_and_nobody_waits_for_it() {
    let env = TestEnvironment::new();
    let live = env.live("s-1", |document| document["state"] = "busy".into());
    live.process.signal("STOP");
    let stopped = || env.jig(&["ls"]).exits(0).stdout.contains("stopped").then_some(());
    eventually("it is seen to be stopped", stopped);
    for what in ["settled", "idle", "busy", "attention"] {
        let error = env.jig(&["wait", "s-1", "--for", what, "--json"]).exits(1).error();
        assert_eq!(error["error"]["code"], "stopped", "{what}");
    }
    live.process.signal("CONT");
    eventually("it goes on", || stopped().is_none().then_some(()));
    env.jig(&["wait", "s-1", "--for", "busy"]).exits(0);
}

#[test]
fn a_session_is_named_in_many_ways() {
    let env = TestEnvironment::new();
    let _sessions = [
        env.live("019fb27c-6804", |document| document["name"] = "billing".into()),
        env.live("019fb27c-9911", |document| {
            document["tmuxPane"] = "%3".into();
            document["terminal"] = "t7".into();
        }),
        env.live("abcd", |document| document["name"] = "019fb27c-9911".into()),
        env.live("abcdef", |_| ()),
    ];
    let shown = |wanted: &str| {
        env.jig(&["show", wanted, "--json"]).exits(0).json()["session"]["session"].as_str().map(str::to_owned)
    };
    for (wanted, session) in [
        ("019fb27c-6804", "019fb27c-6804"),
        ("6804", "019fb27c-6804"),
        ("billing", "019fb27c-6804"),
        ("%3", "019fb27c-9911"),
        ("t7", "019fb27c-9911"),
        ("019fb27c-9911", "019fb27c-9911"),
        ("abcd", "abcd"),
        ("abcde", "abcdef"),
    ] {
        assert_eq!(shown(wanted).as_deref(), Some(session), "{wanted}");
    }
    let error = env.jig(&["show", "019fb", "--json"]).exits(4).error();
    assert_eq!(error["error"]["code"], "ambiguous");
    assert_eq!(error["error"]["candidates"], json!(["019fb27c-6804", "019fb27c-9911"]));
    for unknown in ["680", "nosuch", "bill", "%33"] {
        assert_eq!(env.jig(&["show", unknown, "--json"]).exits(4).error()["error"]["code"], "not-found", "{unknown}");
    }
}

#[test]
fn sessions_of_one_name_are_told_apart_wherever_they_are_shown() {
    let env = TestEnvironment::new();
    let ids = ["019fb27c-6804-7fa5-8000-00000000aaaa", "019fb27c-6804-7fa5-8000-00000000bbbb"];
    let _sessions = [("/home/dev/shop/api", "busy"), ("/home/dev/blog/api", "idle")].map(|(cwd, state)| {
        let id = if state == "busy" { ids[0] } else { ids[1] };
        env.live(id, |document| {
            document["name"] = "api".into();
            document["cwd"] = cwd.into();
            document["state"] = state.into();
        })
    });
    let error = env.jig(&["show", "api", "--json"]).exits(4).error();
    assert_eq!(error["error"]["candidates"], json!(ids));
    let matches = [("busy", "/home/dev/shop/api"), ("idle", "/home/dev/blog/api")];
    for (index, (state, cwd)) in matches.into_iter().enumerate() {
        let expected = json!({ "session": ids[index], "agent": "pi", "state": state, "cwd": cwd });
        assert_eq!(error["error"]["matches"][index], expected);
    }
    let text = env.jig(&["show", "api"]).exits(4).stderr;
    assert!(text.contains(&format!("\n  {}  pi  busy  /home/dev/shop/api\n", ids[0])), "{text}");
    // What the table and `watch` show beside the name, a SESSION argument takes.
    let table = env.jig(&["ls"]).exits(0).stdout;
    let watch = env.start(&["watch"]);
    let watched = watch.line() + &watch.line();
    for (part, id) in [("aaaa", ids[0]), ("bbbb", ids[1])] {
        assert!(table.contains(&format!("api ({part})")), "{table}");
        assert!(watched.contains(&format!("api ({part})")), "{watched}");
        assert_eq!(env.jig(&["show", part, "--json"]).exits(0).json()["session"]["session"], id);
    }
}

#[test]
fn a_live_session_goes_before_one_that_ended() {
    let env = TestEnvironment::new();
    let mut dead = env.live("dead", |document| document["name"] = "api".into());
    dead.process.kill();
    assert_eq!(env.jig(&["show", "api", "--json"]).exits(0).json()["session"]["session"], "dead");
    let _live = env.live("live", |document| document["name"] = "api".into());
    assert_eq!(env.jig(&["show", "api", "--json"]).exits(0).json()["session"]["session"], "live");
}

#[test]
fn a_dot_is_the_session_of_this_process_or_terminal() {
    let env = TestEnvironment::new();
    env.jig(&["show", ".", "--json"]).exits(4);
    let _other = env.live("pane", |document| {
        document["tmuxPane"] = "%3".into();
        document["tmuxSocket"] = "/tmp/tmux-1/default".into();
    });
    let _third = env.live("third", |document| {
        document["tmuxPane"] = "%3".into();
        document["tmuxSocket"] = "/tmp/tmux-1/other".into();
        document["terminal"] = "t7".into();
        document["terminalFrom"] = "HC_TERMINAL_ID".into();
    });
    env.set("TMUX", "/tmp/tmux-1/default,123,0").set("TMUX_PANE", "%3");
    assert_eq!(env.jig(&["show", ".", "--json"]).exits(0).json()["session"]["session"], "pane");
    env.set("TMUX", "/tmp/tmux-1/third,123,0").set("HC_TERMINAL_ID", "t7");
    assert_eq!(env.jig(&["show", ".", "--json"]).exits(0).json()["session"]["session"], "third");
    // The shell is an ancestor of the program, and what it runs in outranks the terminal.
    let script = format!(
        "sed s/4242/$$/ < document > {sessions}/.x && mv {sessions}/.x {sessions}/mine.json; {jig} show . --json; true",
        sessions = env.sessions_dir().display(),
        jig = env!("CARGO_BIN_EXE_jig-session")
    );
    let mut document = status_document("mine", std::process::id());
    document["pid"] = json!(4242);
    document.as_object_mut().expect("an object").remove("process");
    fs::write(env.work().join("document"), document.to_string()).expect("written");
    let mut shell = env.command("sh");
    shell.arg("-c").arg(script);
    assert_eq!(finish(shell, b"").exits(0).json()["session"]["session"], "mine");
}

#[test]
fn paths_follow_the_environment() {
    let env = TestEnvironment::new();
    let document = env.jig(&["paths", "--json"]).exits(0).json();
    assert_eq!(document["sessions"]["path"], env.state_dir().join("sessions").to_str().expect("UTF-8"));
    assert_eq!((&document["sessions"]["exists"], &document["sessions"]["realPath"]), (&json!(false), &Value::Null));
    let sessions = env.sessions_dir();
    let document = env.jig(&["paths", "--json"]).exits(0).json();
    assert_eq!(
        (&document["sessions"]["exists"], &document["sessions"]["realPath"]),
        (&json!(true), &json!(fs::canonicalize(sessions).expect("there").to_str().expect("UTF-8")))
    );
    for key in ["stateDir", "sessions", "requests", "bus", "log", "king", "config"] {
        assert!(document[key]["path"].is_string(), "{key}");
    }
    env.set("JIG_STATE_DIR", "relative/folder");
    let output = env.jig(&["paths"]).exits(0);
    assert!(output.stderr.contains("JIG_STATE_DIR"), "{}", output.stderr);
    assert!(!output.stdout.contains("relative/folder"), "{}", output.stdout);
    let doctor = env.jig(&["doctor", "--json"]).exits(1).json();
    let checks = doctor["checks"].as_array().expect("a list");
    assert!(checks.iter().any(|check| check["ok"] == false && check["message"].to_string().contains("JIG_STATE_DIR")));
}

#[test]
fn without_a_home_variable_the_password_database_names_the_home() {
    let env = TestEnvironment::new();
    let entry = std::process::Command::new("sh").args(["-c", "getent passwd \"$(id -u)\""]).output().expect("a shell");
    let entry = String::from_utf8_lossy(&entry.stdout).trim().to_owned();
    let Some(home) = entry.split(':').nth(5).filter(|home| home.starts_with('/')) else {
        let _ = writeln!(std::io::stdout(), "SKIPPED without_a_home_variable: this user has no home in the database");
        return;
    };
    let home = home.trim_end_matches('/');
    for value in [None, Some(""), Some("relative")] {
        let run = |args: &[&str]| {
            let mut command = env.jig_command(args);
            match value {
                Some(value) => command.env("HOME", value),
                None => command.env_remove("HOME"),
            };
            finish(command, b"")
        };
        let paths = run(&["paths", "--json"]).exits(0).json();
        assert_eq!(paths["stateDir"]["path"], format!("{home}/.local/state/jig"), "{value:?}");
        assert_eq!(paths["king"]["path"], format!("{home}/.pi/king/session-status"), "{value:?}");
        // Where Pi's settings are looked for.
        let fingerprint = run(&["king", "fingerprint", "--json"]);
        let text = fingerprint.stdout + &fingerprint.stderr;
        assert!(text.contains(&format!("{home}/.pi/agent")), "{value:?}: {text}");
    }
}

#[test]
fn prune_removes_what_is_proved_dead_and_nothing_else() {
    let env = TestEnvironment::new();
    let dir = env.sessions_dir();
    let alive = env.live("alive", |_| ());
    let mut gone = env.live("gone", |_| ());
    gone.process.kill();
    let reused = env.live("reused", |document| document["process"]["start"] = "linux:1".into());
    let unknown = env.live("unknown", |document| document["process"]["pidNamespace"] = "1".into());
    let bad_new = dir.join("bad-new.json");
    replace(&bad_new, b"{");
    let bad_old = dir.join("bad-old.json");
    replace(&bad_old, b"{");
    let old = UNIX_EPOCH + Duration::from_millis(now_ms().unsigned_abs()) - Duration::from_secs(25 * 3600);
    fs::File::options()
        .write(true)
        .open(&bad_old)
        .and_then(|file| file.set_modified(old))
        .expect("the time can be set");
    let dead_pid = gone.pid();
    let temporary = dir.join(format!(".x.json.tmp-{dead_pid}-0badcafe"));
    let busy_temporary = dir.join(format!(".x.json.tmp-{}-0badcafe", alive.pid()));
    let foreign = dir.join("notes.txt");
    for path in [&temporary, &busy_temporary, &foreign] {
        fs::write(path, "x").expect("written");
    }
    let king = env.king_dir().join("k.json");
    fs::write(&king, "{").expect("written");

    let planned = env.jig(&["prune", "--dry-run", "--json"]).exits(0).json();
    assert!(gone.path.exists() && bad_old.exists(), "a dry run removes nothing");
    let pruned = env.jig(&["prune", "--json"]).exits(0).json();
    assert_eq!(planned["removed"], pruned["removed"]);
    let removed: Vec<_> =
        pruned["removed"].as_array().expect("a list").iter().map(|entry| entry["path"].clone()).collect();
    for path in [&gone.path, &reused.path, &bad_old, &temporary] {
        assert!(!path.exists(), "{path:?}");
        assert!(removed.contains(&json!(path.to_str().expect("UTF-8"))), "{path:?}: {pruned:#}");
    }
    assert_eq!(removed.len(), 4, "{pruned:#}");
    for path in [&alive.path, &unknown.path, &bad_new, &busy_temporary, &foreign, &king] {
        assert!(path.exists(), "{path:?}");
    }
    let kept: Vec<_> = pruned["kept"].as_array().expect("a list").iter().map(|entry| entry["path"].clone()).collect();
    assert!(kept.contains(&json!(unknown.path.to_str().expect("UTF-8"))), "{pruned:#}");
    assert!(kept.contains(&json!(bad_new.to_str().expect("UTF-8"))), "{pruned:#}");
    assert_eq!(env.jig(&["prune", "--json"]).exits(0).json()["removed"], json!([]), "nothing is left to remove");
}

#[test]
fn prune_removes_locks_that_nobody_holds_and_no_session_has() {
    let env = TestEnvironment::new();
    let dir = env.sessions_dir();
    let _live = env.live("live", |_| ());
    let lock = |name: &str| {
        let path = dir.join(format!(".{name}.lock"));
        (fs::File::create(&path).expect("made"), path)
    };
    let (_, of_live) = lock("live");
    let (held, of_hook) = lock("hook");
    held.lock().expect("locked");
    let (_, of_nobody) = lock("nobody");
    let pruned = env.jig(&["prune", "--json"]).exits(0).json();
    assert_eq!(pruned["removed"], json!([{ "path": of_nobody.to_str().expect("UTF-8"), "verdict": "gone" }]));
    assert!(of_live.exists() && of_hook.exists() && !of_nobody.exists());
    drop(held);
    env.jig(&["prune"]).exits(0);
    assert!(of_live.exists() && !of_hook.exists());
}

#[test]
fn doctor_is_content_with_a_clean_home_and_names_what_is_open() {
    let env = TestEnvironment::new();
    let _live = env.live("s-1", |_| ());
    let document = env.jig(&["doctor", "--json"]).exits(0).json();
    assert_eq!(document["ok"], true, "{document:#}");
    assert!(document["checks"].as_array().is_some_and(|checks| checks.iter().all(|check| check["ok"] == true)));
    fs::set_permissions(env.sessions_dir(), fs::Permissions::from_mode(0o755)).expect("the mode can be set");
    let document = env.jig(&["doctor", "--json"]).exits(1).json();
    let checks = document["checks"].as_array().expect("a list");
    let bad: Vec<_> = checks.iter().filter(|check| check["ok"] == false).collect();
    assert!(
        bad.iter()
            .any(|check| check["path"] == env.sessions_dir().to_str().expect("UTF-8") && check["hint"].is_string()),
        "{bad:#?}"
    );
}

#[test]
fn pi_kings_files_are_rows_of_their_own() {
    let env = TestEnvironment::new();
    let process = Sleeper::start();
    let dir = env.king_dir();
    let card = |id: &str, status: &str, visible: bool| {
        let now = now_ms();
        let document = json!({
            "formatVersion": 1, "id": id, "cwd": "/home/dev/app", "project": "app", "model": "m-2", "pid": process.pid(),
            "startedAt": now as f64 - 5000.5, "lastActivity": now, "status": status, "activity": "a\nb", "title": "t",
            "subagents": [{ "id": "a", "description": "d", "status": "running", "startedAt": now }],
            "visible": visible, "contextPct": 12, "isFork": false
        });
        replace(&dir.join(format!("{id}.json")), serde_json::to_string_pretty(&document).expect("JSON").as_bytes());
    };
    for (id, status) in [("a", "working"), ("b", "trust"), ("c", "background"), ("d", "attention"), ("e", "error")] {
        card(id, status, true);
    }
    card("f", "daydreaming", true);
    card("hidden", "idle", false);
    card("over", "exited", true);
    private_dir(&env.sessions_dir());
    let document = env.jig(&["ls", "--json"]).exits(0).json();
    assert_eq!(document["problems"], json!([]));
    let rows = document["sessions"].as_array().expect("a list");
    let row = |id: &str| rows.iter().find(|row| row["session"] == id).unwrap_or_else(|| panic!("{id}: {document:#}"));
    for (id, state, reason) in [
        ("a", "busy", Value::Null),
        ("b", "busy", json!("approval")),
        ("c", "idle", Value::Null),
        ("d", "idle", json!("finished")),
        ("e", "idle", json!("error")),
        ("f", "busy", Value::Null),
    ] {
        assert_eq!((&row(id)["state"], &row(id)["attention"]["reason"]), (&json!(state), &reason), "{id}");
    }
    assert_eq!(rows.len(), 6, "not the hidden one and not the one that is over");
    let a = row("a");
    assert_eq!(a["source"], "pi-king");
    assert_eq!(
        (&a["agent"]["name"], &a["stateFrom"], &a["verdict"]),
        (&json!("pi"), &json!("pi-king"), &json!("unverified"))
    );
    assert_eq!(a["model"], json!({ "provider": null, "id": "m-2", "name": "m-2" }));
    assert_eq!((&a["context"]["percent"], &a["background"], &a["usage"]), (&json!(12.0), &json!(1), &Value::Null));
    assert_eq!((&a["stateAt"], &a["terminal"]), (&a["updatedAt"], &Value::Null));

    let all = env.jig(&["ls", "--all", "--json"]).exits(0).json();
    let over = all["sessions"].as_array().expect("a list").iter().find(|row| row["session"] == "over").expect("listed");
    assert_eq!((&over["state"], &over["detail"]), (&json!("idle"), &json!("exited")));
    let explained = env.jig(&["explain", "over", "--json"]).exits(0).json();
    assert_eq!(explained["session"]["detail"], "exited");
    assert!(explained["notes"].to_string().contains("the card says that the session ended"), "{explained:#}");

    // The same session in both folders is one row, from the status file; and a hidden card does not hide it.
    env.write_status("a", &status_document("a", process.pid()));
    env.write_status("hidden", &status_document("hidden", process.pid()));
    let document = env.jig(&["ls", "--json"]).exits(0).json();
    let sources: Vec<_> = document["sessions"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|row| row["session"] == "a" || row["session"] == "hidden")
        .map(|row| row["source"].clone())
        .collect();
    assert_eq!(sources, [json!("jig"), json!("jig")]);
    // Unless that one is dead and the card is not.
    let mut dead = status_document("a", process.pid());
    dead["process"]["start"] = "linux:1".into();
    env.write_status("a", &dead);
    let document = env.jig(&["ls", "--json"]).exits(0).json();
    let a = document["sessions"].as_array().expect("a list").iter().find(|row| row["session"] == "a").cloned();
    assert_eq!(a.expect("listed")["source"], "pi-king");
}

#[test]
fn show_tells_all_that_the_file_says() {
    let env = TestEnvironment::new();
    let _live = env.live("s-1", |document| {
        document["transcript"] = "/t/s-1.jsonl".into();
        document["thinking"] = "high".into();
        document["progress"] = 40.into();
        document["accepts"] = json!(["tools", "reload"]);
        document["children"] = json!([{ "id": "c-1", "state": "blocked", "kind": "question" }]);
        document["usage"] = json!({ "input": 12345, "output": 6, "cacheRead": 7, "cacheWrite": 8, "cost": 0.5 });
        document["tomorrow"] = json!({ "field": ["of a later", "version"], "deep": { "er": true } });
        document["recent"] =
            json!([{ "at": document["startedAt"], "tool": "bash", "outcome": "denied", "answer": "always", "id": "t-9" }]);
        document["outputs"] = (0..20)
            .map(|n| json!({ "path": format!("/x/{n}.rs"), "action": "edited", "at": document["startedAt"], "repo": "/x" }))
            .collect();
    });
    let text = env.jig(&["show", "s-1"]).exits(0).stdout;
    let has = |line: &str| text.lines().any(|found| found.split_whitespace().collect::<Vec<_>>().join(" ") == line);
    for line in [
        "transcript /t/s-1.jsonl",
        "thinking high",
        "progress 40",
        "accepts tools reload",
        "children.0.state blocked",
        "children.0.kind question",
        "usage.input 12345",
        "tomorrow.field of a later version",
        "tomorrow.deep.er true",
        "recent.0.answer always",
        "recent.0.id t-9",
        "outputs.19.repo /x",
    ] {
        assert!(has(line), "{line:?} is missing in\n{text}");
    }
    assert!(text.contains("/x/19.rs"), "{text}");
}
