//! A folder with every kind of bad entry among ten good ones.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::cost;
use super::hindered::as_second_user;
use crate::common::{Sleeper, TestEnvironment, replace, status_document};

/// Contents that are no status document, each with the reason that it must be named with.
fn contents(good: &Value) -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let text = good.to_string();
    let with = |key: &str, value: Value| {
        let mut document = good.clone();
        document[key] = value;
        document.to_string().into_bytes()
    };
    let without = |key: &str| {
        let mut document = good.clone();
        document.as_object_mut().expect("an object").remove(key);
        document.to_string().into_bytes()
    };
    let utf16 = |big: bool| {
        let unit = |unit: u16| if big { unit.to_be_bytes() } else { unit.to_le_bytes() };
        std::iter::once(0xFEFF).chain(text.encode_utf16()).flat_map(unit).collect::<Vec<u8>>()
    };
    let in_place_of = |from: &str, to: &str| {
        assert!(text.contains(from), "the document holds {from}");
        text.replacen(from, to, 1).into_bytes()
    };
    let nested =
        |depth: usize| format!("{{\"deep\":{}{},{}", "[".repeat(depth), "]".repeat(depth), &text[1..]).into_bytes();
    vec![
        ("zero-length", Vec::new(), "empty"),
        ("blanks", b" \n\t ".to_vec(), "unparsable"),
        ("byte-order-mark-only", "\u{feff}".into(), "unparsable"),
        ("nul-bytes", vec![0; 4096], "unparsable"),
        ("nul-after-document", format!("{text}\0").into(), "unparsable"),
        ("truncated-by-one", text[..text.len() - 1].into(), "unparsable"),
        ("truncated-in-half", text[..text.len() / 2].into(), "unparsable"),
        ("one-brace", b"{".to_vec(), "unparsable"),
        ("one-quote", b"\"".to_vec(), "unparsable"),
        ("utf-16-little", utf16(false), "unparsable"),
        ("utf-16-big", utf16(true), "unparsable"),
        ("array", format!("[{text}]").into(), "unparsable"),
        ("empty-array", b"[]".to_vec(), "unparsable"),
        ("string", b"\"status\"".to_vec(), "unparsable"),
        ("number", b"5".to_vec(), "unparsable"),
        ("null", b"null".to_vec(), "unparsable"),
        ("true", b"true".to_vec(), "unparsable"),
        ("two-documents", format!("{text}{text}").into(), "unparsable"),
        ("two-lines", format!("{text}\n{text}\n").into(), "unparsable"),
        ("trailing-junk", format!("{text} x").into(), "unparsable"),
        ("trailing-comma", format!("{},}}", &text[..text.len() - 1]).into(), "unparsable"),
        ("leading-junk", format!("x{text}").into(), "unparsable"),
        ("nan", in_place_of("\"percent\":0.5", "\"percent\":NaN"), "unparsable"),
        ("infinity", in_place_of("\"percent\":0.5", "\"percent\":Infinity"), "unparsable"),
        ("number-too-large", in_place_of("\"percent\":0.5", "\"percent\":1e400"), "unparsable"),
        ("leading-zero", in_place_of("\"percent\":0.5", "\"percent\":00.5"), "unparsable"),
        ("hex-number", in_place_of("\"percent\":0.5", "\"percent\":0x5"), "unparsable"),
        ("plus-number", in_place_of("\"percent\":0.5", "\"percent\":+5"), "unparsable"),
        ("single-quotes", text.replace('"', "'").into(), "unparsable"),
        ("bare-key", in_place_of("\"cwd\":", "cwd:"), "unparsable"),
        ("comment", in_place_of("\"cwd\":", "/* here */\"cwd\":"), "unparsable"),
        ("no-colon", in_place_of("\"cwd\":", "\"cwd\" "), "unparsable"),
        ("no-comma", in_place_of(",\"cwd\":", " \"cwd\":"), "unparsable"),
        ("raw-newline-in-string", in_place_of("/home/dev/app", "/home\ndev/app"), "unparsable"),
        ("bad-escape", in_place_of("/home/dev/app", "\\x41"), "unparsable"),
        ("half-escape", in_place_of("/home/dev/app", "\\u12"), "unparsable"),
        ("python-none", in_place_of("\"ticket\":null", "\"ticket\":None"), "unparsable"),
        ("half-a-word", in_place_of("\"ticket\":null", "\"ticket\":nul"), "unparsable"),
        ("nested-65", nested(65), "unparsable"),
        ("nested-100000", nested(100_000), "unparsable"),
        ("unclosed-100000", "[".repeat(100_000).into(), "unparsable"),
        ("yaml", b"schema: 1\nsession: yaml\n".to_vec(), "unparsable"),
        ("html", b"<!doctype html><title>502</title>".to_vec(), "unparsable"),
        ("binary", (0..=255).collect(), "unparsable"),
        ("invalid-utf-8-outside-strings", [&[0xFF, 0xFE], text.as_bytes()].concat(), "unparsable"),
        ("schema-2", with("schema", json!(2)), "unsupported"),
        ("schema-99", with("schema", json!(99)), "unsupported"),
        ("session-missing", without("session"), "unparsable"),
        ("session-null", with("session", Value::Null), "unparsable"),
        ("session-number", with("session", json!(7)), "unparsable"),
        ("session-list", with("session", json!(["x"])), "unparsable"),
        ("session-empty", with("session", json!("")), "mismatch"),
        ("session-other", with("session", json!("good-0")), "mismatch"),
        ("session-path", with("session", json!("../../etc/passwd")), "mismatch"),
        ("session-LETTERS", with("session", json!("session-letters")), "mismatch"),
        ("session-hash~0000000000000000", with("session", json!("session-hash")), "mismatch"),
        ("over-the-limit", [text.as_bytes(), &vec![b' '; 1 << 20]].concat(), "too-large"),
    ]
}

/// Entries that are no regular files, or nobody's business; a device and another user's file only where they can be made.
fn entries(dir: &Path, good: &Value, expected: &mut BTreeMap<String, &'static str>) {
    let mut irregular = |name: &str| {
        expected.insert(format!("{name}.json"), "not-a-regular-file");
        dir.join(format!("{name}.json"))
    };
    fs::create_dir(irregular("folder")).expect("a folder");
    let fifo = Command::new("mkfifo").arg(irregular("fifo")).status().expect("mkfifo starts");
    assert!(fifo.success(), "a fifo");
    drop(UnixListener::bind(irregular("socket")).expect("a socket"));
    let target = dir.join("good-0.json");
    symlink(&target, irregular("link")).expect("a link");
    symlink("/nowhere/at/all", irregular("dangling-link")).expect("a link");
    symlink(irregular("link-to-itself"), dir.join("link-to-itself.json")).expect("a link");
    symlink("/dev/zero", irregular("link-to-endless")).expect("a link");
    symlink("/", irregular("link-to-folder")).expect("a link");

    let device = dir.join("device.json");
    if Command::new("mknod").arg(&device).args(["c", "1", "5"]).output().is_ok_and(|done| done.status.success()) {
        expected.insert("device.json".into(), "not-a-regular-file");
    }
    let huge = fs::File::create(dir.join("huge.json")).expect("a file");
    huge.set_len(1 << 34).expect("a hole");
    expected.insert("huge.json".into(), "too-large");

    let foreign = dir.join("foreign.json");
    let mut document = good.clone();
    document["session"] = json!("foreign");
    replace(&foreign, document.to_string().as_bytes());
    if chown(&foreign, Some(65_534), Some(65_534)).is_ok() {
        expected.insert("foreign.json".into(), "foreign-owner");
    } else {
        fs::remove_file(&foreign).expect("removed");
    }
}

fn reasons(problems: &Value) -> BTreeMap<String, String> {
    let name = |problem: &Value| {
        let path = problem["path"].as_str().expect("a path");
        Path::new(path).file_name().expect("a name").to_string_lossy().into_owned()
    };
    let problems = problems.as_array().expect("a list");
    problems.iter().map(|problem| (name(problem), problem["reason"].as_str().expect("a reason").to_owned())).collect()
}

/// A folder of ten good files and of every bad entry; the bad ones with the reason that each must be named with.
fn hostile_folder(env: &TestEnvironment, good: &[String], process: &Sleeper) -> BTreeMap<String, &'static str> {
    let dir = env.sessions_dir();
    for session in good {
        env.write_status(session, &status_document(session, process.pid()));
    }
    let mut expected = BTreeMap::new();
    for (name, bytes, reason) in contents(&status_document("x", process.pid())) {
        let document = String::from_utf8_lossy(&bytes).replace("\"session\":\"x\"", &format!("\"session\":\"{name}\""));
        let bytes = if std::str::from_utf8(&bytes).is_ok() { document.into_bytes() } else { bytes };
        replace(&dir.join(format!("{name}.json")), &bytes);
        expected.insert(format!("{name}.json"), reason);
    }
    entries(&dir, &status_document("x", process.pid()), &mut expected);
    // What a reader must not even look at.
    for quiet in [".hidden.json", ".s.json.tmp-1-00000000", "s.json.tmp-1", "notes.txt", ".s.lock", "json", "s.json~"] {
        fs::write(dir.join(quiet), b"{").expect("written");
    }
    assert!(expected.len() >= 60, "{} kinds", expected.len());
    expected
}

fn ten_names() -> Vec<String> {
    (0..10).map(|number| format!("good-{number}")).collect()
}

#[test]
fn ten_good_ones_among_more_than_sixty_bad_ones() {
    let env = TestEnvironment::new();
    let dir = env.sessions_dir();
    let process = Sleeper::start();
    let good = ten_names();
    let expected = hostile_folder(&env, &good, &process);

    let listed = env.jig(&["ls", "--json"]).exits(0).json();
    let mut sessions: Vec<_> = listed["sessions"].as_array().expect("a list").iter().collect();
    sessions.sort_by_key(|row| row["session"].as_str());
    let ids: Vec<_> = sessions.iter().map(|row| row["session"].as_str().expect("an id")).collect();
    assert_eq!(ids, good);
    assert!(sessions.iter().all(|row| row["verdict"] == "alive"));
    let found = reasons(&listed["problems"]);
    let wanted: BTreeMap<_, _> = expected.iter().map(|(name, reason)| (name.clone(), (*reason).to_owned())).collect();
    assert_eq!(found, wanted);

    let text = env.jig(&["ls", "--all"]).exits(0).stdout;
    let doctor = env.jig(&["doctor", "--json"]).exits(1).json();
    let checks = doctor["checks"].as_array().expect("a list");
    for (name, reason) in &expected {
        assert!(text.lines().any(|line| line.contains(name.as_str()) && line.contains(reason)), "ls --all: {name}");
        let path = dir.join(name);
        let named = checks.iter().filter(|check| check["path"] == path.to_str().expect("UTF-8"));
        assert!(
            named.clone().any(|check| check["ok"] == false && check["message"].to_string().contains(reason)),
            "doctor: {name}: {:?}",
            named.collect::<Vec<_>>()
        );
    }
}

/// At most 200 ms and 32 MiB. The time is the processor's and not the clock's: on a loaded machine a run waits for its
/// turn, which is nothing of its own doing. What it waits for by itself, such as a pause before a second look at a bad
/// file, is counted instead: fewer waits than bad entries. The least of a few runs counts, since what others do to the
/// machine's caches only adds.
#[test]
fn more_than_sixty_bad_ones_cost_little() {
    const NAME: &str = "read::hostile::more_than_sixty_bad_ones_cost_little";
    if cost::is_measured() {
        return cost::measure();
    }
    let env = TestEnvironment::new();
    let process = Sleeper::start();
    let expected = hostile_folder(&env, &ten_names(), &process);
    for args in [&["ls", "--json"][..], &["ls", "--all"], &["ls", "--all", "--json"]] {
        let least = cost::least_of(5, &env, NAME, args);
        assert!(least.cpu <= Duration::from_millis(200), "{args:?}: {least:?}");
        assert!(least.memory <= 32 << 20, "{args:?}: {least:?}");
        assert!(least.waits < expected.len() as u64, "{args:?}: {least:?}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_a_problem_and_not_the_end() {
    const NAME: &str = "a_file_that_cannot_be_read_is_a_problem_and_not_the_end";
    let env = TestEnvironment::new();
    let live = env.live("good", |_| ());
    let closed = env.write_status("closed", &status_document("closed", live.pid()));
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).expect("the mode can be set");
    let ask = |args: &[&str]| {
        // Who may read every file asks as another user, with a home of its own.
        if fs::File::open(&closed).is_ok() { as_second_user(&env, NAME, args) } else { Some(env.jig(args)) }
    };
    let Some(listed) = ask(&["ls", "--json"]) else { return };
    let listed = listed.exits(0).json();
    assert_eq!(listed["sessions"][0]["session"], "good");
    assert_eq!(reasons(&listed["problems"])["closed.json"], "unreadable");
    let Some(doctor) = ask(&["doctor", "--json"]) else { return };
    let doctor = doctor.exits(1).json();
    let checks = doctor["checks"].as_array().expect("a list");
    let bad: Vec<_> = checks.iter().filter(|check| check["ok"] == false).collect();
    assert_eq!(bad.len(), 1, "{bad:#?}");
    assert_eq!(bad[0]["path"], closed.to_str().expect("UTF-8"));
    let message = bad[0]["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("unreadable: ") && message.contains("EACCES"), "{message}");
    assert!(bad[0]["hint"].is_string());
}
