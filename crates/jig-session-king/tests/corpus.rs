//! Files that pi-king itself wrote: read without loss, and written again byte for byte.
#![allow(clippy::disallowed_methods, reason = "tests read the files that they made")]
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

use std::fs;
use std::path::{Path, PathBuf};

use jig_session_king::writer::to_bytes;
use jig_session_schema::king::{KingState, KingStatus};
use serde_json::Value;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/corpus")
}

fn files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in ["writes", "left-on-disk"] {
        files.extend(fs::read_dir(corpus().join(folder)).unwrap().map(|entry| entry.unwrap().path()));
    }
    files.sort();
    files
}

#[test]
fn all_hundred_are_read_without_loss_and_written_byte_for_byte() {
    let files = files();
    assert_eq!(files.len(), 100);
    for file in files {
        let bytes = fs::read(&file).unwrap();
        let read = KingStatus::read(&bytes).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        assert!(read.problems.is_empty(), "{}: {:?}", file.display(), read.problems);
        assert_eq!(
            String::from_utf8(to_bytes(&read.value)).unwrap(),
            String::from_utf8(bytes).unwrap(),
            "{}",
            file.display()
        );
    }
}

#[test]
fn the_values_are_those_of_the_manifest() {
    let manifest = fs::read_to_string(corpus().join("manifest.jsonl")).unwrap();
    let mut writes = 0;
    for line in manifest.lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        if entry["op"] != "write" {
            continue;
        }
        writes += 1;
        let card = KingStatus::read(&fs::read(corpus().join(entry["file"].as_str().unwrap())).unwrap()).unwrap().value;
        assert_eq!(card.id, entry["id"].as_str().unwrap());
        assert_eq!(card.pid.map(u64::from), entry["pid"].as_u64());
        assert_eq!(card.status.as_str(), entry["status"].as_str().unwrap());
        assert_eq!(card.activity.as_deref(), entry["activity"].as_str());
        assert_eq!((Some(card.visible), card.is_fork), (entry["visible"].as_bool(), entry["isFork"].as_bool()));
        assert!(card.started_at.is_some_and(|started| started.0.fract() != 0.0), "{line}");
    }
    assert_eq!(writes, 93);
}

#[test]
fn several_cards_on_one_pid_and_an_exited_one_among_them() {
    let cards: Vec<KingStatus> =
        files().iter().map(|file| KingStatus::read(&fs::read(file).unwrap()).unwrap().value).collect();
    let shared: std::collections::BTreeSet<&str> =
        cards.iter().filter(|card| card.pid == Some(11877)).map(|card| card.id.as_str()).collect();
    assert_eq!(shared.len(), 3);
    assert!(cards.iter().any(|card| card.pid == Some(11877) && card.status == KingState::EXITED));
}

#[test]
fn versions_other_than_the_number_1_are_refused() {
    let bytes = fs::read(&files()[0]).unwrap();
    let document: Value = serde_json::from_slice(&bytes).unwrap();
    for version in ["2", "\"1\"", "0", "null", "1.5", "[1]"] {
        let mut document = document.clone();
        document["formatVersion"] = serde_json::from_str(version).unwrap();
        assert!(KingStatus::read(document.to_string().as_bytes()).is_err(), "{version}");
    }
    let mut absent = document.clone();
    absent.as_object_mut().unwrap().remove("formatVersion");
    assert!(KingStatus::read(absent.to_string().as_bytes()).is_err());
    let mut float = document;
    float["formatVersion"] = serde_json::from_str("1.0").unwrap();
    assert!(KingStatus::read(float.to_string().as_bytes()).is_ok(), "1.0 is the number 1");
}

#[test]
fn unknown_words_and_fields_survive() {
    let text = r#"{"formatVersion":1,"id":"k","cwd":"/","pid":5,"startedAt":1.5,"lastActivity":2,"status":"compacting",
        "subagents":[],"visible":true,"later":{"a":[1,null]}}"#;
    let card = KingStatus::read(text.as_bytes()).unwrap().value;
    assert_eq!(card.status.as_str(), "compacting");
    let again: Value = serde_json::from_slice(&to_bytes(&card)).unwrap();
    assert_eq!(again["later"], serde_json::json!({ "a": [1, null] }));
    assert_eq!(again["startedAt"], 1.5);
    let null =
        KingStatus::read(br#"{"formatVersion":1,"id":"k","name":null,"model":null,"subagents":null}"#).unwrap().value;
    assert_eq!((null.name, null.model, null.subagents.len()), (None, None, 0));
}
