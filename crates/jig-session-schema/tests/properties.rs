//! What holds for every input: no bytes make a reader fail, what it has read is written and read alike, and a name made
//! of an id is safe whatever the id is. `PROPTEST_CASES` sets how many are tried.
#![allow(clippy::disallowed_methods, reason = "tests read the files that they made")]

use std::path::Path;

use jig_session_schema::bus::{Claim, Message, Record};
use jig_session_schema::formats::FORMATS;
use jig_session_schema::king::KingStatus;
use jig_session_schema::names::{self, FileName, document_name, file_name, hashed_name, name_fits, safe};
use jig_session_schema::request::Request;
use jig_session_schema::status::Status;
use jig_session_schema::time::Timestamp;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

/// One document that is always at hand; the golden ones come on top where the whole workspace is.
const STATUS: &str = r#"{"schema":1,"session":"s-1","agent":{"name":"acme","version":"1"},"name":"billing","cwd":"/app",
"agentDir":"","state":"busy","attention":{"reason":"question","since":"2026-11-29T18:18:47.855Z"},"model":{"provider":
"acme","id":"m-2","name":"M 2"},"context":{"tokens":1050,"window":200000,"percent":0.5},"usage":{"input":1000,"output":
50,"cacheRead":0,"cacheWrite":0,"cost":0.004},"tools":{"active":3,"total":4},"outputs":[{"path":"/app/a.rs","action":
"edited","at":"2026-11-29T18:18:47.855Z","repo":null}],"recent":[{"id":"c1","at":"2026-11-29T18:18:47.855Z","tool":"edit",
"outcome":"ok"}],"ticket":null,"workflow":null,"lastRequest":null,"pid":4711,"process":{"start":"linux:100"},"terminal":
null,"terminalFrom":null,"startedAt":"2026-11-29T18:18:47.855Z","updatedAt":"2026-11-29T18:18:47.855Z","later":[1]}"#;

/// Golden documents of all formats, valid and invalid.
fn documents() -> &'static [String] {
    static FOUND: std::sync::OnceLock<Vec<String>> = std::sync::OnceLock::new();
    FOUND.get_or_init(read_documents)
}

fn read_documents() -> Vec<String> {
    let mut found = vec![STATUS.to_owned()];
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/examples")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match std::fs::read_to_string(entry.path()) {
                Ok(text) => found.push(text),
                Err(_) => folders.push(entry.path()),
            }
        }
    }
    found.sort();
    found
}

fn read_as_everything(bytes: &[u8]) {
    let _ = Status::read(bytes);
    let _ = Status::scan(bytes);
    let _ = Request::read(bytes);
    let _ = KingStatus::read(bytes);
    let _ = Record::read(bytes);
    let _ = Message::read(bytes);
    let _ = Claim::read(bytes);
}

/// What our writer makes of a document is a document that it makes the same of.
fn written_alike(value: &Value) -> Result<(), TestCaseError> {
    for format in FORMATS {
        if let Some(once) = format.as_written(value.clone()) {
            let twice = format.as_written(once.clone());
            prop_assert_eq!(twice.as_ref(), Some(&once), "{}", format.name);
        }
    }
    Ok(())
}

/// Something else in the place of a part of a document.
fn part() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| serde_json::Number::from_f64(number).map_or(Value::Null, Value::Number)),
        "\\PC{0,200}".prop_map(Value::from),
        Just(serde_json::json!([])),
        Just(serde_json::json!({})),
        Just(serde_json::json!([[{ "a": [null] }]])),
        Just(Value::from("x".repeat(5000))),
    ]
}

/// Replaces one of a document's parts, counted through the whole tree.
fn replace(value: &mut Value, at: &mut usize, with: &Value) {
    if *at == 0 {
        *value = with.clone();
    }
    *at = at.wrapping_sub(1);
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, at, with)),
        Value::Object(fields) => fields.values_mut().for_each(|field| replace(field, at, with)),
        _ => {}
    }
}

fn parts(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(parts).sum(),
        Value::Object(fields) => fields.values().map(parts).sum::<usize>(),
        _ => 0,
    }
}

proptest! {
    /// Sums of other programs' numbers may be of any size; what is written is read.
    #[test]
    fn a_number_that_no_reader_holds_exactly_is_written_as_the_largest_that_is(count in any::<u64>(), percent in any::<u8>()) {
        let mut status = Status::new();
        status.session = "s-1".into();
        (status.usage.input, status.background, status.progress) = (Some(count), Some(count), Some(percent));
        status.context.tokens = Some(count);
        let read = Status::read(&serde_json::to_vec(&status).unwrap()).unwrap();
        prop_assert!(read.problems.is_empty(), "{:?}", read.problems);
        let held = Some(count.min(jig_session_schema::limits::COUNT_MAX));
        let read = read.value;
        prop_assert_eq!((read.usage.input, read.background, read.context.tokens), (held, held, held));
        prop_assert_eq!(read.progress, Some(percent.min(100)));
    }

    #[test]
    fn no_bytes_make_a_reader_fail(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        read_as_everything(&bytes);
    }

    #[test]
    fn no_text_that_looks_like_json_makes_a_reader_fail(text in "[\\[\\]{}:,\"\\\\ue0-9a-fA-F+.dD83truelns -]{0,200}") {
        read_as_everything(text.as_bytes());
    }

    #[test]
    fn no_spoilt_document_makes_a_reader_fail(
        which in any::<Index>(),
        spoilt in proptest::collection::vec((any::<Index>(), any::<u8>(), 0..4u8), 1..8),
    ) {
        let mut bytes = which.get(documents()).clone().into_bytes();
        for (at, byte, how) in spoilt {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 => _ = bytes.remove(at),
                _ => bytes.truncate(at),
            }
        }
        read_as_everything(&bytes);
        if let Ok(value) = serde_json::from_slice(&bytes) {
            written_alike(&value)?;
        }
    }

    #[test]
    fn one_ill_typed_part_makes_no_reader_fail(which in any::<Index>(), at in any::<Index>(), with in part()) {
        let Ok(mut value) = serde_json::from_str::<Value>(which.get(documents()).as_str()) else { return Ok(()) };
        let mut at = at.index(parts(&value));
        replace(&mut value, &mut at, &with);
        read_as_everything(value.to_string().as_bytes());
        written_alike(&value)?;
    }

    /// An ill-typed optional field costs that field and not the record.
    #[test]
    fn an_optional_field_costs_itself_only(
        field in prop::sample::select(vec!["name", "process", "attention", "ticket", "workflow", "outputs", "recent",
            "usage", "model", "tools", "transcript", "tmuxPane", "background", "later"]),
        with in part(),
    ) {
        let mut value: Value = serde_json::from_str(STATUS).expect("a document");
        value[field] = with;
        let read = Status::read(value.to_string().as_bytes());
        let read = read.map_err(|error| TestCaseError::fail(format!("{field}: {error}")))?;
        prop_assert_eq!(read.value.session, "s-1");
        prop_assert_eq!(read.value.pid, Some(4711));
    }

    #[test]
    fn a_name_is_safe_whatever_the_id(id in prop_oneof![any::<String>(), "[a-zA-Z0-9._/\\\\ -]{0,300}", "\\PC{0,90}"]) {
        let plain = safe(&id);
        prop_assert!(plain.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-')));
        prop_assert_eq!(plain.len(), id.encode_utf16().count(), "one for each UTF-16 code unit");
        prop_assert_eq!(safe(&plain), plain.clone());
        let Some(name) = document_name(&id) else {
            prop_assert!(id.is_empty());
            return Ok(());
        };
        for name in [name, hashed_name(&id).expect("not empty"), names::bus_name(&id).expect("not empty")] {
            prop_assert!(!name.is_empty() && name.len() <= 177 && !name.contains('/'), "{name}");
            prop_assert!(name_fits(&name, &id));
            let file = format!("{name}.json");
            if !name.starts_with('.') {
                prop_assert_eq!(file_name(&file), FileName::Document(&name));
            }
            let temporary = names::temporary_name(&name, 4711, 0xabcd);
            prop_assert_eq!(file_name(&temporary), FileName::Temporary { name: &name, pid: 4711 });
            prop_assert!(temporary.len() <= 255);
        }
    }

    #[test]
    fn no_file_name_makes_the_reader_fail(name in any::<String>(), tail in "[.tmpakenlockjs0-9a-f-]{0,40}") {
        let _ = file_name(&name);
        let _ = file_name(&format!(".{name}{tail}"));
    }

    #[test]
    fn a_time_is_written_and_read_alike(ms in -62_167_219_200_000i64..253_402_300_799_999) {
        let time = Timestamp::from_epoch_ms(ms);
        let text = time.to_string();
        prop_assert_eq!(text.len(), 24);
        prop_assert_eq!(Timestamp::parse(&text), Some(time));
    }

    #[test]
    fn no_text_makes_the_time_fail(text in prop_oneof![any::<String>(), "[0-9TtZz:. +-]{0,40}"]) {
        if let Some(time) = Timestamp::parse(&text) {
            prop_assert_eq!(Timestamp::parse(&time.to_string()), Some(time));
        }
    }
}
