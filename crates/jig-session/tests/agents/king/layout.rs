//! `king pin`, `unpin`, `order`, `name`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::{card, put};
use crate::common::{Sleeper, TestEnvironment};

fn layout(env: &TestEnvironment) -> Value {
    serde_json::from_slice(&fs::read(env.home().join(".pi/king/layout.json")).unwrap()).unwrap()
}

#[test]
fn edits_keep_what_others_put_there_and_replace_the_file_whole() {
    let env = TestEnvironment::new();
    let live = Sleeper::start();
    for id in ["aaaa-1111", "bbbb-2222", "cccc-3333"] {
        put(&env, &card(id, live.pid()));
    }
    let file = env.home().join(".pi/king/layout.json");
    let before =
        json!({ "theme": { "dark": true }, "pinned": ["cccc-3333"], "lastSelected": "bbbb-2222", "order": ["old"] });
    fs::write(&file, before.to_string()).unwrap();
    env.jig(&["king", "pin", "aaaa", "2222"]).exits(0);
    env.jig(&["king", "unpin", "cccc-3333"]).exits(0);
    env.jig(&["king", "order", "bbbb", "aaaa"]).exits(0);
    let out = env.jig(&["king", "name", "aaaa-1111", "first", "--json"]).exits(0).json();
    assert_eq!(out["names"], json!({ "aaaa-1111": "first" }));
    let after = layout(&env);
    assert_eq!(
        after,
        json!({
            "theme": { "dark": true }, "pinned": ["aaaa-1111", "bbbb-2222"], "lastSelected": "bbbb-2222",
            "order": ["bbbb-2222", "aaaa-1111", "old"], "names": { "aaaa-1111": "first" },
        })
    );
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(fs::read_to_string(&file).unwrap().starts_with("{\n  \"theme\""), "two blanks, its keys in their order");
    env.jig(&["king", "name", "aaaa-1111"]).exits(0);
    assert_eq!(layout(&env)["names"], json!({}));
    let names: Vec<_> = fs::read_dir(file.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "no temporary is left: {names:?}");
}

#[test]
fn a_session_that_went_can_still_be_unpinned_and_an_unknown_one_cannot_be_pinned() {
    let env = TestEnvironment::new();
    env.king_dir();
    fs::write(env.home().join(".pi/king/layout.json"), r#"{"pinned":["long-gone"]}"#).unwrap();
    env.jig(&["king", "unpin", "long-gone"]).exits(0);
    assert_eq!(layout(&env)["pinned"], json!([]));
    assert_eq!(env.jig(&["king", "pin", "nobody", "--json"]).exits(4).error()["error"]["code"], "not-found");
}

#[test]
fn an_ambiguous_part_of_an_id_changes_nothing() {
    let env = TestEnvironment::new();
    let live = Sleeper::start();
    for id in ["aaaa-1", "aaaa-2"] {
        put(&env, &card(id, live.pid()));
    }
    let error = env.jig(&["king", "pin", "aaaa", "--json"]).exits(4).error();
    assert_eq!(
        (&error["error"]["code"], &error["error"]["candidates"]),
        (&json!("ambiguous"), &json!(["aaaa-1", "aaaa-2"]))
    );
    assert!(!env.home().join(".pi/king/layout.json").exists());
}

#[test]
fn a_layout_that_is_not_understood_is_not_written_over() {
    let env = TestEnvironment::new();
    let live = Sleeper::start();
    put(&env, &card("aaaa-1", live.pid()));
    let file = env.home().join(".pi/king/layout.json");
    for text in ["{ torn", "[]"] {
        fs::write(&file, text).unwrap();
        let error = env.jig(&["king", "pin", "aaaa-1", "--json"]).exits(1).error();
        assert!(error["error"]["path"].as_str().unwrap().ends_with("layout.json"), "{error}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
        // A listing shows the sessions all the same.
        assert!(env.jig(&["king", "ls"]).exits(0).stdout.contains("billing"));
    }
}
