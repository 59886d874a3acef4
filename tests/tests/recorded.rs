//! Every recording in the repository, read by the type of its own contract: no line gives a problem. A recording in a
//! form of another program says so here, so that a new file cannot be forgotten.
#![allow(clippy::disallowed_methods, reason = "tests read files of the repository")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use jig_session_schema::bridge::{FromHost, ToHost};
use jig_session_schema::formats::Format;
use serde_json::Value;

/// What a recording holds.
#[derive(Clone, Copy, Debug)]
enum Holds {
    /// `{ way?, line }`: lines of `bridge.v1`, to the host unless `way` is `out`.
    Bridge,
    /// One document of this format.
    Document(&'static str),
    /// Another program's form, or a test's own.
    Foreign(&'static str),
}

/// By a part of the path.
const RECORDINGS: &[(&str, Holds)] = &[
    ("jig-session-fleet/page/", Holds::Foreign("the page's npm packages and compiler settings")),
    ("fixtures/pi/0.73.1/bridge.jsonl", Holds::Bridge),
    ("fixtures/pi/1.6.0/bridge.jsonl", Holds::Bridge),
    ("fixtures/pi/0.73.1/session-", Holds::Foreign("Pi's transcripts")),
    ("fixtures/pi/1.6.0/session-", Holds::Foreign("Pi's transcripts")),
    ("assets/demo/tour.jsonl", Holds::Bridge),
    ("fixtures/corpus/writes/", Holds::Document("pi-king.v1")),
    ("fixtures/corpus/left-on-disk/", Holds::Document("pi-king.v1")),
    ("fixtures/corpus/manifest.jsonl", Holds::Foreign("which write became which file")),
    ("fixtures/hooks/", Holds::Foreign("payloads and records of agents, and what was true at each")),
    ("jig-session-panes/tests/fixtures/", Holds::Foreign("captured screens and what they show")),
    ("fleet/bus/recorded/hooks.jsonl", Holds::Foreign("payloads of agents")),
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates")
}

/// The JSON files below a folder, but for those that are built.
fn recordings(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("an entry").path();
        let is = |extension| path.extension().is_some_and(|of| of == extension);
        if path.is_dir() && !path.ends_with("target") {
            recordings(&path, out);
        } else if is("json") || is("jsonl") {
            out.push(path);
        }
    }
}

fn values(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("a readable recording");
    let parse = |text: &str| serde_json::from_str(text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if path.extension().is_some_and(|of| of == "json") { vec![parse(&text)] } else { text.lines().map(parse).collect() }
}

/// What the contract's type says against a recorded line of the bridge.
fn bridge_problems(recorded: &Value) -> Vec<String> {
    let line = recorded["line"].clone();
    let (known, problems) = if recorded["way"] == "out" {
        let read = FromHost::read_value(line).expect("a line of the host");
        (!matches!(read.value, FromHost::Other(_)), read.problems)
    } else {
        let read = ToHost::read_value(line).expect("a line to the host");
        (!matches!(read.value, ToHost::Other(_)), read.problems)
    };
    let unknown = (!known).then(|| "its word is unknown".to_owned());
    problems.iter().map(ToString::to_string).chain(unknown).collect()
}

#[test]
fn every_recorded_line_is_what_its_contract_says() {
    let mut files = Vec::new();
    recordings(&crates(), &mut files);
    let mut read: BTreeMap<String, usize> = BTreeMap::new();
    for file in files {
        let name = file.to_string_lossy().replace('\\', "/");
        let holds = RECORDINGS.iter().find(|(part, _)| name.contains(part)).map(|(_, holds)| *holds);
        let holds = holds.unwrap_or_else(|| panic!("{name}: say in RECORDINGS what it holds"));
        for (number, value) in values(&file).into_iter().enumerate() {
            let problems = match holds {
                Holds::Foreign(form) => {
                    assert!(!form.is_empty());
                    continue;
                }
                Holds::Bridge => bridge_problems(&value),
                Holds::Document(format) => {
                    let format = Format::named(format).expect("a format of the contract");
                    let problems = format.check(value).unwrap_or_else(|error| panic!("{name}: {error}"));
                    problems.iter().map(ToString::to_string).collect()
                }
            };
            assert_eq!(problems, Vec::<String>::new(), "{name}, line {}", number + 1);
            *read.entry(format!("{holds:?}")).or_default() += 1;
        }
    }
    assert!(read["Bridge"] > 300 && read["Document(\"pi-king.v1\")"] >= 100, "{read:?}");
}
