//! Whatever bytes a file holds, reading ends in a record or in an error that names what is wrong.

use jig_session_schema::formats::FORMATS;
use jig_session_schema::status::Status;
use jig_session_schema::{json, names, time::Timestamp};
use proptest::prelude::*;
use serde_json::{Map, Value};

/// JSON with the contract's own keys, so that the readers get beyond the first one.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        prop::sample::select(vec![
            "busy",
            "idle",
            "ok",
            "event",
            "session",
            "2026-11-29T18:18:47.855Z",
            "add",
            "start"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..8)
                .prop_map(|entries| Value::Object(entries.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn key() -> impl Strategy<Value = String> {
    let keys: Vec<String> = Status::FIELDS.iter().map(|field| field.name.to_owned()).collect();
    prop_oneof![
        prop::sample::select(keys),
        prop::sample::select(vec![
            "event", "t", "op", "action", "id", "phase", "reason", "tokens", "path", "at", "tool"
        ])
        .prop_map(str::to_owned),
        ".{0,6}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = json::parse(&bytes);
        prop_assert_eq!(Status::scan(&bytes).is_ok(), Status::read(&bytes).is_ok());
    }

    #[test]
    fn every_reader_takes_any_json(document in value()) {
        for format in FORMATS {
            // What a reader takes, our writer writes so that every reader takes it whole.
            if let Some(written) = format.as_written(document.clone()) {
                prop_assert_eq!(format.check(written.clone()), Ok(vec![]), "{} {}", format.name, written);
            }
        }
    }

    #[test]
    fn the_quick_reader_agrees_with_the_lenient_one(mut document in value(), rest in value()) {
        if let (Value::Object(map), Value::Object(rest)) = (&mut document, rest) {
            map.extend(rest);
            map.insert("schema".into(), 1.into());
        }
        let text = document.to_string();
        let (quick, slow) = (Status::scan(text.as_bytes()), Status::read(text.as_bytes()));
        prop_assert_eq!(quick.is_ok(), slow.is_ok());
        if let (Ok(quick), Ok(slow)) = (quick, slow) {
            prop_assert!(quick.problems.iter().all(|problem| slow.problems.contains(problem)), "{text}");
            prop_assert_eq!((quick.value.session, quick.value.pid, quick.value.cwd), (slow.value.session, slow.value.pid, slow.value.cwd));
        }
    }

    #[test]
    fn names_are_safe_and_fit_their_ids(id in "\\PC{0,200}") {
        for name in [names::document_name(&id), names::bus_name(&id)].into_iter().flatten() {
            prop_assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-~".contains(&b)), "{}", name);
            prop_assert!(!name.starts_with('.'), "{} would not be seen", name);
            prop_assert!(name.len() <= 177);
            prop_assert!(names::name_fits(&name, &id));
        }
    }

    #[test]
    fn times_come_back(ms in any::<i64>()) {
        let time = Timestamp::from_epoch_ms(ms);
        prop_assert_eq!(Timestamp::parse(&time.to_string()), Some(time));
    }

    #[test]
    fn no_text_panics_as_a_time(text in "\\PC{0,40}") {
        let _ = Timestamp::parse(&text);
    }
}
