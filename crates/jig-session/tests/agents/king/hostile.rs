//! Many bad files among a few good ones.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::{Value, json};

use super::{card, put, put_as, sessions};
use crate::common::{Sleeper, TestEnvironment, skipped};

/// Makes a card odd.
type Change = fn(&mut Value);

/// Texts that are no card: what a crashed, a foreign or a hostile writer may leave.
fn bad_texts() -> Vec<Vec<u8>> {
    let whole = card("x", 1).to_string();
    let mut texts: Vec<Vec<u8>> = [
        "",
        " ",
        "\n",
        "\0",
        "null",
        "true",
        "5",
        "-1.5",
        "\"hi\"",
        "[]",
        "[{}]",
        "{}",
        "{",
        "}",
        "{]",
        "{\"a\"",
        "{\"a\":}",
        "{'a':1}",
        "{a:1}",
        "{\"a\":1,}",
        "NaN",
        "{\"pid\":NaN}",
        "{\"pid\":Infinity}",
        "undefined",
        "{\"formatVersion\":1}",
        "{\"formatVersion\":1,\"id\":null}",
        "{\"formatVersion\":1,\"id\":7}",
        "{\"formatVersion\":1,\"id\":[]}",
        "{\"formatVersion\":1,\"id\":{}}",
        "{\"formatVersion\":1,\"id\":\"\"}",
        "{\"formatVersion\":1,\"id\":true}",
        "{\"id\":\"x\"}",
        "{\"formatVersion\":null,\"id\":\"x\"}",
        "{\"formatVersion\":\"1\",\"id\":\"x\"}",
        "{\"formatVersion\":0,\"id\":\"x\"}",
        "{\"formatVersion\":2,\"id\":\"x\"}",
        "{\"formatVersion\":-1,\"id\":\"x\"}",
        "{\"formatVersion\":1.5,\"id\":\"x\"}",
        "{\"formatVersion\":1e9,\"id\":\"x\"}",
        "{\"formatVersion\":[1],\"id\":\"x\"}",
        "{\"formatVersion\":{},\"id\":\"x\"}",
        "{\"formatVersion\":true,\"id\":\"x\"}",
        "// {}",
        "<html></html>",
        "formatVersion: 1",
        "%PDF-1.7",
        "x=1&y=2",
        "{\"schema\":1,\"session\":\"x\"}",
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .collect();
    // Cut off, doubled, with a tail, in UTF-16, nested without end, larger than a card may be.
    texts.push(whole.as_bytes()[..whole.len() / 2].to_vec());
    texts.push(whole.as_bytes()[..whole.len() - 1].to_vec());
    texts.push(format!("{whole}{whole}").into_bytes());
    texts.push(format!("{whole} x").into_bytes());
    texts.push(whole.encode_utf16().flat_map(u16::to_le_bytes).collect());
    texts.push(vec![0; 4096]);
    texts.push(vec![0xff; 64]);
    texts.push(
        format!("{{\"formatVersion\":1,\"id\":\"x\",\"deep\":{}{}}}", "[".repeat(5000), "]".repeat(5000)).into_bytes(),
    );
    texts.push("[".repeat(100_000).into_bytes());
    texts.push(format!("{{\"formatVersion\":1,\"id\":\"x\",\"activity\":\"{}\"}}", "y".repeat(2 << 20)).into_bytes());
    texts
}

#[test]
fn sixty_five_bad_files_hide_none_of_ten_good_ones_and_each_is_named() {
    let env = TestEnvironment::new();
    let live = Sleeper::start();
    let good: Vec<String> = (0..10).map(|n| format!("good-{n}")).collect();
    for id in &good {
        put(&env, &card(id, live.pid()));
    }
    let mut bad = Vec::new();
    for (n, text) in bad_texts().iter().enumerate() {
        let name = format!("bad-{n}");
        put_as(&env, &name, text);
        bad.push(name);
    }
    // Well-formed, but of another session than the name says.
    put_as(&env, "bad-stem", card("good-1", live.pid()).to_string().as_bytes());
    put_as(&env, "bad-path", card("../../etc/passwd", live.pid()).to_string().as_bytes());
    bad.extend(["bad-stem".to_owned(), "bad-path".to_owned()]);
    let folder = env.king_dir();
    fs::create_dir(folder.join("bad-folder.json")).unwrap();
    symlink("good-1.json", folder.join("bad-link.json")).unwrap();
    symlink("bad-loop.json", folder.join("bad-loop.json")).unwrap();
    symlink("/dev/zero", folder.join("bad-device.json")).unwrap();
    bad.extend(["bad-folder", "bad-link", "bad-loop", "bad-device"].map(str::to_owned));
    match Command::new("mkfifo").arg(folder.join("bad-pipe.json")).status() {
        Ok(status) if status.success() => bad.push("bad-pipe".to_owned()),
        _ => skipped("a pipe among the cards", "mkfifo is not there"),
    }
    assert!(bad.len() >= 64, "{} kinds", bad.len());

    let listed = env.jig(&["king", "ls", "--json"]).exits(0).json();
    assert_eq!(sessions(&listed), good.iter().map(String::as_str).collect::<Vec<_>>());
    let named: Vec<&str> =
        listed["problems"].as_array().unwrap().iter().map(|problem| problem["path"].as_str().unwrap()).collect();
    let told = |name: &String| named.iter().any(|path| path.ends_with(&format!("/{name}.json")));
    let silent: Vec<&String> = bad.iter().filter(|name| !told(name)).collect();
    assert!(silent.is_empty(), "not named: {silent:?}");
    assert_eq!(named.len(), bad.len(), "nothing else is a problem");
    assert!(
        listed["problems"]
            .as_array()
            .unwrap()
            .iter()
            .all(|problem| problem["reason"].is_string() && problem["message"].is_string())
    );
    assert_eq!(fs::read_dir(&folder).unwrap().count(), good.len() + bad.len(), "a reader removes nothing");

    // The same in the joined listing, and for who looks after what is wrong.
    let ls = env.jig(&["ls", "--json"]).exits(0).json();
    assert_eq!(sessions(&ls), good.iter().map(String::as_str).collect::<Vec<_>>());
    let doctor = env.jig(&["doctor", "--json"]);
    let unnamed: Vec<&String> = bad.iter().filter(|name| !doctor.stdout.contains(&format!("/{name}.json"))).collect();
    assert!(unnamed.is_empty(), "doctor does not name {unnamed:?}");
}

#[test]
fn odd_but_whole_cards_are_listed() {
    let env = TestEnvironment::new();
    let live = Sleeper::start();
    let odd: [(&str, Change); 9] = [
        ("odd-null", |card| card["name"] = Value::Null),
        ("odd-word", |card| card["status"] = json!("compacting")),
        ("odd-string-start", |card| card["startedAt"] = json!("1795974219108")),
        ("odd-no-start", |card| drop(card.as_object_mut().unwrap().remove("startedAt"))),
        ("odd-negative", |card| card["startedAt"] = json!(-5)),
        ("odd-name", |card| card["name"] = json!({ "first": "x" })),
        ("odd-subagents", |card| card["subagents"] = json!("none")),
        ("odd-later", |card| card["later"] = json!({ "a": [1, 2] })),
        ("odd-no-cwd", |card| drop(card.as_object_mut().unwrap().remove("cwd"))),
    ];
    for (id, change) in &odd {
        let mut document = card(id, live.pid());
        change(&mut document);
        put(&env, &document);
    }
    let text = card("odd-bom", live.pid()).to_string();
    put_as(&env, "odd-bom", format!("\u{feff}{text}").as_bytes());
    let text = card("odd-surrogate", live.pid()).to_string().replace("Done: fix it", "cut \\ud83d");
    put_as(&env, "odd-surrogate", text.as_bytes());
    let text = card("odd-twice", live.pid()).to_string().replacen('{', "{\"status\":\"exited\",", 1);
    put_as(&env, "odd-twice", text.as_bytes());
    let listed = env.jig(&["king", "ls", "--json"]).exits(0).json();
    assert_eq!(sessions(&listed).len(), odd.len() + 3, "{:?}", listed["problems"]);
}
