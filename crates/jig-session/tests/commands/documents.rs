//! What the commands print with `--json` is what the contract's formats say, key for key.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use jig_session_schema::formats::Format;
use serde_json::Value;

/// A state folder of its own with one publishing session.
struct World {
    folder: tempfile::TempDir,
    publisher: Option<Child>,
}

impl World {
    fn new() -> Self {
        let mut world = Self { folder: tempfile::tempdir().expect("a folder"), publisher: None };
        let mut publisher = world
            .command(&["publish", "--agent", "tester"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program runs");
        let session = format!(
            r#"{{"event":"session","schema":1,"session":"doc-1","pid":{},"cwd":"/","name":"documents"}}"#,
            std::process::id()
        );
        let input = publisher.stdin.as_mut().expect("a pipe");
        for line in
            [session.as_str(), r#"{"event":"turn","phase":"start"}"#, r#"{"event":"attention","reason":"question"}"#]
        {
            writeln!(input, "{line}").expect("the publisher reads");
        }
        world.publisher = Some(publisher);
        let file = world.path().join("jig/sessions/doc-1.json");
        eventually("the status file", || fs::read_to_string(&file).is_ok_and(|text| text.contains("question")));
        world
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jig-session"));
        command
            .args(args)
            .env_clear()
            .env("HOME", self.path())
            .env("JIG_STATE_DIR", self.path().join("jig"))
            .env("PATH", "/usr/bin:/bin")
            .current_dir(self.path())
            .stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("the program runs")
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(mut publisher) = self.publisher.take() {
            drop(publisher.stdin.take());
            let _ = publisher.wait();
        }
    }
}

fn eventually(what: &str, mut there: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !there() {
        assert!(Instant::now() < deadline, "{what} never came");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The text is one document of the format, written as the contract writes it.
fn is(format: &str, text: &[u8]) {
    let shown = String::from_utf8_lossy(text);
    let value: Value = serde_json::from_slice(text).unwrap_or_else(|error| panic!("{format}: {error}: {shown}"));
    let format = Format::named(format).expect("a format");
    assert_eq!(format.check(value.clone()), Ok(vec![]), "{}: {shown}", format.name);
    let written = format.as_written(value.clone()).expect("a document");
    assert_eq!(value.to_string(), written.to_string(), "{}: other keys, or another order", format.name);
}

#[test]
fn reading_commands_print_their_documents() {
    let world = World::new();
    for (format, args) in [
        ("ls.v1", &["ls", "--json"][..]),
        ("ls.v1", &["ls", "--all", "--json"]),
        ("show.v1", &["show", "doc-1", "--json"]),
        ("wait.v1", &["wait", "doc-1", "--for", "attention", "--json"]),
        ("explain.v1", &["explain", "doc-1", "--json"]),
        ("context.v1", &["context", "doc-1", "--json"]),
        ("paths.v1", &["paths", "--json"]),
        ("prune.v1", &["prune", "--json"]),
        ("doctor.v1", &["doctor", "--json"]),
    ] {
        let output = world.run(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {output:?}");
        is(format, &output.stdout);
    }
    let file = world.path().join("jig/sessions/doc-1.json");
    is("status.v1", &fs::read(file).expect("the status file"));
}

/// With something to tell: files that are removed, kept, invalid and to be mended.
#[test]
fn findings_print_their_documents() {
    let world = World::new();
    let sessions = world.path().join("jig/sessions");
    let dead = r#"{"schema":1,"session":"dead","pid":1,"process":{"start":"linux:0","bootId":"0","machine":"0"}}"#;
    fs::write(sessions.join("half.json"), "{").expect("written");
    fs::write(sessions.join("other.json"), dead).expect("written");
    fs::write(sessions.join("gone.json"), dead.replace(r#""dead""#, r#""gone""#)).expect("written");
    let temporary = sessions.join(".s.json.tmp-2147483646-0badcafe");
    fs::write(&temporary, "x").expect("written");
    let two_hours = Duration::from_secs(2 * 3600);
    let old = fs::metadata(&temporary).and_then(|data| data.modified()).expect("a time") - two_hours;
    let file = fs::File::options().write(true).open(&temporary).expect("opened");
    file.set_modified(old).expect("the time can be set");
    drop(file);
    let (half, status) = (sessions.join("half.json"), sessions.join("doc-1.json"));
    let [half, status] = [half, status].map(|path| path.to_str().expect("UTF-8").to_owned());
    for (format, exit, args, holds) in [
        ("validate.v1", 1, &["validate", &half, &status, "/nonsense", "--json"][..], "cannot be read"),
        ("doctor.v1", 1, &["doctor", "--json"], "\"hint\""),
        ("prune.v1", 0, &["prune", "--json"], "abandoned"),
        ("prune.v1", 0, &["prune", "--dry-run", "--json"], "\"kept\":[{"),
    ] {
        let output = world.run(args);
        assert_eq!(output.status.code(), Some(exit), "{args:?}: {output:?}");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(holds), "{args:?}: {text}");
        is(format, &output.stdout);
    }
}

#[test]
fn errors_print_their_document() {
    let world = World::new();
    for args in [&["show", "nobody", "--json"][..], &["nonsense", "--json"], &["schema", "x", "--json"]] {
        let output = world.run(args);
        assert_ne!(output.status.code(), Some(0), "{args:?}");
        assert!(output.stdout.is_empty(), "{args:?}: {output:?}");
        is("error.v1", &output.stderr);
        let exit = serde_json::from_slice::<Value>(&output.stderr).expect("a document")["exit"].as_i64();
        assert_eq!(exit, output.status.code().map(i64::from), "{args:?}");
    }
}

/// `--json` is refused where there is no document, instead of being ignored.
#[test]
fn a_command_without_a_document_refuses_json() {
    let world = World::new();
    let commands: [&[&str]; 6] =
        [&["schema"], &["schema", "status.v1"], &["demo"], &["host"], &["mcp"], &["hooks", "print", "pi"]];
    for command in commands {
        let output = world.run(&[command, &["--json"]].concat());
        assert_eq!(output.status.code(), Some(2), "{command:?}: {output:?}");
        assert!(output.stdout.is_empty(), "{command:?}: {output:?}");
        is("error.v1", &output.stderr);
    }
}

#[test]
fn the_commands_around_panes_and_cards_print_their_documents() {
    let world = World::new();
    let bin = world.path().join("bin");
    fs::create_dir(&bin).expect("a folder");
    for (format, args) in [
        ("live-explain.v1", &["live", "explain"][..]),
        ("live-alias.v1", &["live", "alias", bin.to_str().expect("UTF-8")]),
        ("king-ls.v1", &["king", "ls"]),
        ("king-metrics.v1", &["king", "metrics"]),
    ] {
        let output = world.run(&[args, &["--json"]].concat());
        assert_eq!(output.status.code(), Some(0), "{args:?}: {output:?}");
        is(format, &output.stdout);
    }
}

#[test]
fn watch_prints_its_lines() {
    let world = World::new();
    let log: PathBuf = world.path().join("watch.jsonl");
    let mut watch = world
        .command(&["watch", "--json"])
        .stdout(fs::File::create(&log).expect("a file"))
        .spawn()
        .expect("the program runs");
    eventually("the line ready", || fs::read_to_string(&log).is_ok_and(|text| text.contains("\"ready\"")));
    watch.kill().expect("it is ours");
    watch.wait().expect("an end");
    let text = fs::read_to_string(&log).expect("the lines");
    assert!(text.lines().count() >= 2, "{text}");
    text.lines().for_each(|line| is("watch.v1", line.as_bytes()));
}

#[test]
fn the_bus_prints_its_results() {
    let world = World::new();
    let cwd = world.path().to_str().expect("UTF-8");
    for (who, action, rest) in [
        ("doc-1", "join", &["writer"][..]),
        ("doc-2", "join", &["reader"]),
        ("doc-2", "join", &["writer"]),
        ("doc-1", "claim", &["src", "--reason", "a test"]),
        ("doc-2", "claim", &["src/api.rs"]),
        ("doc-2", "check", &["src/api.rs"]),
        ("doc-1", "check", &["src/api.rs"]),
        ("doc-1", "send", &["reader", "hello"]),
        ("doc-1", "send", &["nobody", "hello"]),
        ("doc-1", "status", &[]),
        ("doc-2", "peek", &[]),
        ("doc-2", "inbox", &[]),
        ("doc-2", "release", &["src", "other"]),
        ("doc-1", "release", &["src"]),
        ("doc-1", "leave", &[]),
    ] {
        // Refused or not, the result is on stdout. What follows a message's text would be taken for text.
        let mut command = world.command(&[&["bus", action, "--json", "--cwd", cwd][..], rest].concat());
        let output = command.env("JIG_BUS_SESSION", who).output().expect("the program runs");
        is("bus-result.v1", &output.stdout);
    }
}
