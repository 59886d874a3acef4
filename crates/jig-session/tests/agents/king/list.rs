//! `king ls`, `king dismiss`, `king fingerprint`.

use std::fs;

use serde_json::{Value, json};

use super::{card, dead_pid, put, sessions};
use crate::common::{Sleeper, TestEnvironment};

fn row<'a>(document: &'a Value, id: &str) -> &'a Value {
    document["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["session"] == id)
        .unwrap_or_else(|| panic!("{id}: {document}"))
}

#[test]
fn visible_live_cards_are_listed_with_their_record() {
    let env = TestEnvironment::new();
    let live = Sleeper::start();
    put(&env, &card("k-1", live.pid()));
    let mut hidden = card("k-2", live.pid());
    hidden["visible"] = json!(false);
    put(&env, &hidden);
    let mut moved_on = card("k-3", live.pid());
    moved_on["status"] = json!("exited");
    put(&env, &moved_on);
    put(&env, &card("k-4", dead_pid()));

    let listed = env.jig(&["king", "ls", "--json"]).exits(0).json();
    assert_eq!(sessions(&listed), ["k-1"]);
    let one = row(&listed, "k-1");
    assert_eq!(
        (&one["source"], &one["verdict"], &one["state"]),
        (&json!("pi-king"), &json!("unverified"), &json!("idle"))
    );
    assert_eq!(one["record"], card_again(&env, "k-1"), "the file as it was read");
    assert_eq!(one["restartNeeded"], Value::Null, "there are no settings to compare with");

    let all = env.jig(&["king", "ls", "--all", "--json"]).exits(0).json();
    let mut ids = sessions(&all);
    ids.sort_unstable();
    assert_eq!(ids, ["k-1", "k-2", "k-3", "k-4"]);
    assert_eq!((&row(&all, "k-3")["detail"], &row(&all, "k-3")["state"]), (&json!("exited"), &json!("idle")));
    assert_eq!(row(&all, "k-4")["verdict"], "gone");
}

fn card_again(env: &TestEnvironment, id: &str) -> Value {
    serde_json::from_slice(&fs::read(env.king_dir().join(format!("{id}.json"))).unwrap()).unwrap()
}

#[test]
fn several_sessions_on_one_process_are_all_listed() {
    let env = TestEnvironment::new();
    let live = Sleeper::start();
    for id in ["k-1", "k-2", "k-3"] {
        put(&env, &card(id, live.pid()));
    }
    assert_eq!(sessions(&env.jig(&["king", "ls", "--json"]).exits(0).json()), ["k-1", "k-2", "k-3"]);
}

#[test]
fn the_folder_does_not_follow_pis_own_folder() {
    let env = TestEnvironment::new();
    let live = Sleeper::start();
    put(&env, &card("k-1", live.pid()));
    env.set("PI_CODING_AGENT_DIR", env.work().join("elsewhere"));
    assert_eq!(sessions(&env.jig(&["king", "ls", "--json"]).exits(0).json()), ["k-1"]);
    env.set("PI_KING_STATUS_DIR", env.work().join("nobody"));
    assert!(sessions(&env.jig(&["king", "ls", "--json"]).exits(0).json()).is_empty());
}

#[test]
fn what_is_wrong_with_the_folder_names_the_variable_that_leads_to_it() {
    let env = TestEnvironment::new();
    let live = Sleeper::start();
    put(&env, &card("k-1", live.pid()));
    let file = env.work().join("no-folder");
    fs::write(&file, "x").unwrap();
    env.set("PI_KING_STATUS_DIR", &file);
    for args in [&["king", "ls"][..], &["king", "dismiss", "k-1"], &["king", "pin", "k-1"], &["doctor"]] {
        let ran = env.jig(args);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        let about: Vec<&str> = said.lines().filter(|line| line.contains("another folder")).collect();
        assert!(about.iter().all(|line| line.contains("with PI_KING_STATUS_DIR")), "{args:?}: {said}");
        assert!(!about.is_empty(), "{args:?}: {said}");
    }
}

#[test]
fn restart_is_needed_when_what_a_start_loads_has_changed() {
    let env = TestEnvironment::new();
    let live = Sleeper::start();
    let agent = env.home().join(".pi/agent");
    fs::create_dir_all(agent.join("extensions")).unwrap();
    fs::write(agent.join("settings.json"), r#"{"theme":"dark"}"#).unwrap();
    let cwd = env.work().to_str().unwrap().to_owned();
    let printed = env.jig(&["king", "fingerprint", "--cwd", &cwd]).exits(0).stdout;
    let value = printed.trim();
    assert!(value.len() == 16 && value.bytes().all(|byte| byte.is_ascii_hexdigit()), "{printed}");
    assert_eq!(
        env.jig(&["king", "fingerprint", "--json"]).exits(0).json()["fingerprint"],
        value,
        "it is this folder's"
    );

    let mut same = card("k-same", live.pid());
    same["cwd"] = json!(cwd);
    same["startupFingerprint"] = json!(value);
    put(&env, &same);
    let mut unstamped = same.clone();
    unstamped["id"] = json!("k-none");
    unstamped.as_object_mut().unwrap().remove("startupFingerprint");
    put(&env, &unstamped);
    let needed = |id: &str| row(&env.jig(&["king", "ls", "--json"]).exits(0).json(), id)["restartNeeded"].clone();
    assert_eq!((needed("k-same"), needed("k-none")), (json!(false), json!(true)));
    fs::write(agent.join("extensions/new.ts"), "x").unwrap();
    assert_eq!(needed("k-same"), json!(true));

    fs::write(agent.join("settings.json"), "{").unwrap();
    assert_eq!(needed("k-same"), Value::Null);
    let error = env.jig(&["king", "fingerprint", "--json"]).exits(4);
    assert_eq!((error.stdout.as_str(), &error.error()["error"]["code"]), ("", &json!("not-found")));
}

#[test]
fn people_see_the_name_the_layout_gives_and_no_control_character() {
    let env = TestEnvironment::new();
    let live = Sleeper::start();
    let mut hostile = card("k-1", live.pid());
    hostile["activity"] = json!("first\nsecond \u{1b}]0;pwned\u{7} \u{202e}x");
    put(&env, &hostile);
    let mut other = card("k-2", live.pid());
    other["status"] = json!("error");
    other["name"] = json!("second");
    put(&env, &other);
    let out = env.jig(&["king", "ls"]).exits(0).stdout;
    assert!(out.lines().all(|line| !line.chars().any(|c| c.is_control() || c == '\u{202e}')), "{out:?}");
    assert!(out.find("second").unwrap() < out.find("billing").unwrap(), "who waits comes first:\n{out}");
    env.jig(&["king", "pin", "k-1"]).exits(0);
    env.jig(&["king", "name", "k-1", "the bill"]).exits(0);
    let out = env.jig(&["king", "ls"]).exits(0).stdout;
    assert!(out.find("* the bill").unwrap() < out.find("second").unwrap(), "pins come first:\n{out}");
}

#[test]
fn only_what_has_ended_is_dismissed() {
    let env = TestEnvironment::new();
    let live = Sleeper::start();
    put(&env, &card("k-live", live.pid()));
    put(&env, &card("k-dead", dead_pid()));
    let mut exited = card("k-exited", live.pid());
    exited["status"] = json!("exited");
    put(&env, &exited);
    let kept = |id: &str| env.king_dir().join(format!("{id}.json")).exists();

    let error = env.jig(&["king", "dismiss", "k-live", "--json"]).exits(4).error();
    assert_eq!(error["error"]["code"], "refused");
    assert!(kept("k-live"));
    let done = env.jig(&["king", "dismiss", "k-dead", "--json"]).exits(0).json();
    assert_eq!((&done["verdict"], kept("k-dead")), (&json!("gone"), false));
    env.jig(&["king", "dismiss", "xited"]).exits(0);
    assert!(!kept("k-exited"));
    assert_eq!(env.jig(&["king", "dismiss", "k-nobody", "--json"]).exits(4).error()["error"]["code"], "not-found");
}

#[test]
fn dismiss_goes_by_the_folders_entry_and_never_by_the_id_inside() {
    let env = TestEnvironment::new();
    let victim = env.home().join(".pi/king/victim.json");
    fs::create_dir_all(victim.parent().unwrap()).unwrap();
    fs::write(&victim, "{}").unwrap();
    let mut sly = card("../victim", dead_pid());
    sly["status"] = json!("exited");
    super::put_as(&env, "sly-card", sly.to_string().as_bytes());
    env.jig(&["king", "dismiss", "../victim"]).exits(4);
    assert!(victim.exists());
    env.jig(&["king", "dismiss", "sly-card"]).exits(0);
    assert!(victim.exists() && !env.king_dir().join("sly-card.json").exists());
}

#[test]
fn what_is_no_card_is_not_dismissed() {
    let env = TestEnvironment::new();
    for (name, bytes) in
        [("torn-file", &b"{\"formatVersion\":1,"[..]), ("new-file", br#"{"formatVersion":2,"id":"new-file"}"#)]
    {
        super::put_as(&env, name, bytes);
        assert_eq!(
            env.jig(&["king", "dismiss", name, "--json"]).exits(4).error()["error"]["code"],
            "refused",
            "{name}"
        );
        assert!(env.king_dir().join(format!("{name}.json")).exists());
    }
}
