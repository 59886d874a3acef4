//! Filters: which sessions `ls`, `watch` and `wait` mean.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::{Live, TestEnvironment, private_dir};

/// Four sessions: each of another state, agent and folder.
fn sessions(env: &TestEnvironment) -> Vec<Live> {
    let shop = private_dir(&env.work().join("shop"));
    for folder in [".git/objects", ".git/refs", "src"] {
        private_dir(&shop.join(folder));
    }
    fs::write(shop.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let session = |id: &str, agent: &str, cwd: &str, change: fn(&mut Value)| {
        env.live(id, |document| {
            document["agent"]["name"] = agent.into();
            document["cwd"] = env.work().join(cwd).to_str().unwrap().into();
            change(document);
        })
    };
    vec![
        session("asks", "claude", "shop/src", |document| {
            document["attention"] = json!({ "reason": "approval", "since": document["stateAt"] });
            document["state"] = "busy".into();
        }),
        session("works", "pi", "shop", |document| document["state"] = "busy".into()),
        session("rests", "pi", "site", |_| ()),
        session("halts", "codex", "site", |document| document["state"] = "busy".into()),
    ]
}

#[test]
fn each_option_takes_its_sessions() {
    let env = TestEnvironment::new();
    let sessions = sessions(&env);
    sessions[3].process.signal("STOP");
    let shop = env.work().join("shop");
    for (options, wanted) in [
        (&[] as &[&str], &["asks", "halts", "works", "rests"] as &[&str]),
        (&["--state", "attention"], &["asks"]),
        (&["--state", "approval"], &["asks"]),
        (&["--state", "question"], &[]),
        (&["--state", "busy"], &["works"]),
        (&["--state", "idle,stopped"], &["halts", "rests"]),
        (&["--state", "idle", "--state", "attention"], &["asks", "rests"]),
        (&["--agent", "pi"], &["works", "rests"]),
        (&["--agent", "PI,claude", "--state", "busy"], &["works"]),
        (&["--repo", "shop"], &["asks", "works"]),
        (&["--repo", "site"], &["halts", "rests"]),
        (&["--repo", "./shop/src"], &["asks", "works"]),
    ] {
        let mut args = vec!["ls", "--json"];
        args.extend(options);
        let rows = env.jig(&args).exits(0).json();
        let mut found: Vec<_> = rows["sessions"].as_array().unwrap().iter().map(|row| &row["session"]).collect();
        found.sort_by_key(|id| id.to_string());
        let mut wanted = wanted.to_vec();
        wanted.sort_unstable();
        assert_eq!(json!(found), json!(wanted), "{options:?}");
    }
    let here = env.jig_in(&shop.join("src"), &["ls", "--here"]).exits(0).stdout;
    assert!(here.contains("asks") && here.contains("works") && !here.contains("rests"), "{here}");
    let none = env.jig(&["ls", "--agent", "nobody"]).exits(0).stdout;
    assert_eq!(none, "no session matches: 4 live sessions without the filter\n");
    let wrong = env.jig(&["ls", "--state", "bsuy"]).exits(2).stderr;
    assert!(wrong.contains("no state is named \"bsuy\"") && wrong.contains("approval"), "{wrong}");
}

#[test]
fn a_session_that_stops_matching_is_told_once_more() {
    let env = TestEnvironment::new();
    let mut sessions = sessions(&env);
    let watch = env.start(&["watch", "--json", "--state", "busy"]);
    let next = || {
        let line = watch.json_line();
        (line["change"].clone(), line["session"]["session"].clone(), line["session"]["state"].clone())
    };
    let told = |change: &str, id: &str, state: &str| (json!(change), json!(id), json!(state));
    assert_eq!([next().1, next().1], [json!("works"), json!("halts")]);
    assert_eq!(next().0, "ready");
    sessions[1].rewrite(|document| document["state"] = "idle".into());
    assert_eq!(next(), told("changed", "works", "idle"));
    // What it does now is of no interest, not even that it goes.
    fs::remove_file(&sessions[1].path).unwrap();
    sessions[2].rewrite(|document| document["state"] = "busy".into());
    assert_eq!(next(), told("added", "rests", "busy"));
}

#[test]
fn a_wait_can_be_for_any_of_those_that_match() {
    let env = TestEnvironment::new();
    let mut sessions = sessions(&env);
    let wait = env.start(&["wait", "--json", "--state", "busy", "--for", "idle"]);
    assert_eq!(wait.line_within(Duration::from_millis(300)), None, "both are busy");
    sessions[3].rewrite(|document| document["state"] = "idle".into());
    assert_eq!(wait.json_line()["session"]["session"], "halts");
    let none = env.jig(&["wait", "--agent", "nobody"]).exits(4).stderr;
    assert!(none.contains("no live session matches the filter"), "{none}");
    let other = env.jig(&["wait", "works", "--agent", "codex"]).exits(4).stderr;
    assert!(other.contains("does not match the filter"), "{other}");
    assert_eq!(env.jig(&["wait"]).code, 2);
    let late = env.jig(&["wait", "--agent", "pi", "--for", "attention", "--timeout", "0"]).exits(124).stderr;
    assert!(late.contains("none of 2 sessions is attention"), "{late}");
}
