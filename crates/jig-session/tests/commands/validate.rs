//! `jig-session schema` and `jig-session validate`, as they are typed.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_jig-session"))
        .args(args)
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .expect("the program runs")
}

fn examples(format: &str, kind: &str) -> Vec<PathBuf> {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/examples").join(format).join("v1").join(kind);
    let mut files: Vec<_> =
        fs::read_dir(folder).expect("examples").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn the_printed_schema_is_the_committed_one() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    let reader = run(&["schema", "status.v1"]);
    assert_eq!(reader.stdout, fs::read(folder.join("status.v1.schema.json")).expect("the file"));
    let writer = run(&["schema", "--writer", "status.v1"]);
    assert_eq!(writer.stdout, fs::read(folder.join("writer/status.v1.schema.json")).expect("the file"));
}

#[test]
fn all_schemas_are_written_as_they_are_committed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    let place = tempfile::tempdir().expect("a folder");
    let all = place.path().join("vendored/jig");
    let output = run(&["schema", "--all", &all.to_string_lossy()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for format in jig_session_schema::formats::FORMATS {
        for side in [jig_session_schema::shape::Side::Reader, jig_session_schema::shape::Side::Writer] {
            let name = format.schema_file(side);
            assert_eq!(fs::read(all.join(&name)).expect(&name), fs::read(folder.join(&name)).expect(&name), "{name}");
        }
    }
    let version = fs::read_to_string(all.join("VERSION")).expect("the version");
    assert_eq!(version.trim_end(), env!("CARGO_PKG_VERSION"));
    // A second time it is brought up to date.
    assert!(run(&["schema", "--all", &all.to_string_lossy()]).status.success());
}

#[test]
fn a_format_is_found_without_its_version() {
    assert_eq!(run(&["schema", "status"]).stdout, run(&["schema", "status.v1"]).stdout);
    assert_eq!(run(&["schema", "--writer", "nothing"]).status.code(), Some(4), "no such format");
}

#[test]
fn every_format_is_listed_and_an_unknown_one_is_named() {
    let list = String::from_utf8(run(&["schema"]).stdout).expect("text");
    for format in jig_session_schema::formats::FORMATS {
        assert!(list.lines().any(|line| line.split_whitespace().next() == Some(format.name)), "{}", format.name);
    }
    let output = run(&["schema", "status.v9"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(4), 0));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("status.v9") && error.contains("status.v1"), "{error}");
}

#[test]
fn all_examples_are_told_apart_and_judged() {
    for format in jig_session_schema::formats::FORMATS {
        let name = format.name.strip_suffix(".v1").expect("version 1");
        let valid = examples(name, "valid");
        let mut args = vec!["validate", "--json"];
        args.extend(valid.iter().map(|path| path.to_str().expect("UTF-8")));
        let output = run(&args);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        for file in document(&output)["files"].as_array().expect("files") {
            assert_eq!((&file["format"], &file["ok"]), (&json!(format.name), &json!(true)), "{file}");
        }
        let invalid = examples(name, "invalid");
        let mut args = vec!["validate", "--json", "--format", format.name];
        args.extend(invalid.iter().map(|path| path.to_str().expect("UTF-8")));
        let output = run(&args);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        for file in document(&output)["files"].as_array().expect("files") {
            assert_eq!(file["ok"], json!(false), "{file}");
            assert!(file["problems"].as_array().is_some_and(|problems| !problems.is_empty()), "{file}");
        }
    }
}

#[test]
fn a_file_of_lines_names_the_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("events.jsonl");
    fs::write(
        &file,
        "{\"event\":\"session\",\"schema\":1,\"session\":\"s-1\"}\n\n{\"event\":\"turn\"}\nnot json\n{\"event\":\"end\"}\n",
    )
    .expect("written");
    let output = run(&["validate", "--json", file.to_str().expect("UTF-8")]);
    assert_eq!(output.status.code(), Some(1));
    let found = document(&output);
    assert_eq!(found["files"][0]["format"], "event.v1");
    let pointers: Vec<_> =
        found["files"][0]["problems"].as_array().expect("problems").iter().map(|p| &p["pointer"]).collect();
    assert_eq!(pointers, ["line 3 /phase", "line 4"]);
}

#[test]
fn stdin_is_a_file_too() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_jig-session"))
        .args(["validate", "-", "--json"])
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    child.stdin.take().expect("a pipe").write_all(br#"{"schema":1,"id":"x","tools":{"bash":1}}"#).expect("written");
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        document(&output)["files"][0]["problems"],
        json!([{ "pointer": "/tools/bash", "message": "is not true or false" }])
    );
}

#[test]
fn what_is_no_file_is_a_finding_and_hides_no_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let good = folder.path().join("good.json");
    fs::write(&good, r#"{"schema":1,"session":"s-1"}"#).expect("written");
    let odd = folder.path().join("odd.json");
    fs::write(&odd, "{\"x\":1}").expect("written");
    let missing = folder.path().join("missing.json");
    let args =
        [folder.path(), missing.as_path(), odd.as_path(), good.as_path()].map(|path| path.to_str().expect("UTF-8"));
    let output = run(&[&["validate", "--json"][..], &args[..]].concat());
    assert_eq!(output.status.code(), Some(1));
    let found = document(&output);
    let oks: Vec<_> = found["files"].as_array().expect("files").iter().map(|file| file["ok"].as_bool()).collect();
    assert_eq!(oks, [Some(false), Some(false), Some(false), Some(true)]);
    assert!(found["files"][1]["problems"][0]["message"].as_str().is_some_and(|text| text.contains("cannot be read")));
}

#[test]
fn strict_names_what_only_a_writer_must_keep() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("s-1.json");
    fs::write(&file, r#"{"schema":1,"session":"s-1","pid":1,"startedAt":"2026-11-29T18:18:47Z"}"#).expect("written");
    let path = file.to_str().expect("UTF-8");
    assert_eq!(run(&["validate", path]).status.code(), Some(0));
    let output = run(&["validate", "--strict", path, "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let found = document(&output).to_string();
    assert!(found.contains("\"/usage\"") && found.contains("\"/startedAt\""), "{found}");
}

#[test]
fn what_a_reader_takes_and_a_writer_must_not_write_is_found_by_strict() {
    let whole = examples("status", "valid").into_iter().find_map(|path| {
        let bytes = fs::read(&path).ok()?;
        let output = run(&["validate", "--strict", path.to_str()?]);
        output.status.success().then(|| serde_json::from_slice::<Value>(&bytes).expect("JSON"))
    });
    let whole = whole.expect("one of the examples is as a writer writes it");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("s.json");
    let name = file.to_str().expect("UTF-8");
    for (pointer, value) in [
        ("/cwd", json!("app")),
        ("/cwd", json!("~/app")),
        ("/cwd", json!("")),
        ("/transcript", json!("t.jsonl")),
        ("/outputs/0/path", json!("src/x.rs")),
    ] {
        let mut document = whole.clone();
        document["outputs"] = json!([{ "path": "/x", "action": "edited", "at": document["startedAt"], "repo": null }]);
        document["transcript"] = json!("/t.jsonl");
        *document.pointer_mut(pointer).expect("the field") = value;
        fs::write(&file, document.to_string()).expect("written");
        assert!(run(&["validate", name]).status.success(), "{pointer}: a reader takes it");
        let found = document_of(&["validate", "--strict", "--json", name]);
        assert_eq!(found["files"][0]["problems"][0]["pointer"], pointer, "{found}");
    }
}

fn document_of(args: &[&str]) -> Value {
    document(&run(args))
}
