//! Readers in other languages: every example and a live status file, validated with Python's jsonschema and with ajv.
//!
//! `cargo xtask test` installs both below the target folder; without them the tests say so and return.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The target folder: cargo keeps the tests' own folder in it.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a folder above").to_path_buf()
}

/// A session that publishes until it is dropped, and its file.
struct Session {
    publisher: Child,
    file: PathBuf,
    _state: tempfile::TempDir,
}

impl Session {
    fn start() -> Self {
        let state = tempfile::tempdir().expect("a folder");
        let publisher = Command::new(env!("CARGO_BIN_EXE_jig-session"))
            .args(["publish", "--agent", "tester"])
            .env_clear()
            .env("HOME", state.path())
            .env("JIG_STATE_DIR", state.path().join("jig"))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("the program runs");
        let mut input = publisher.stdin.as_ref().expect("a pipe");
        for line in [
            format!(
                r#"{{"event":"session","schema":1,"session":"live-1","pid":{},"cwd":"/","name":"live"}}"#,
                std::process::id()
            ),
            r#"{"event":"model","model":{"provider":"acme","id":"m-2","name":"M 2"},"thinking":"low"}"#.into(),
            r#"{"event":"turn","phase":"start"}"#.into(),
            r#"{"event":"tool","phase":"start","id":"c1","tool":"edit"}"#.into(),
            r#"{"event":"usage","mode":"add","input":1000,"output":50,"cost":0.004}"#.into(),
            r#"{"event":"context","tokens":1050,"window":200000}"#.into(),
            r#"{"event":"attention","reason":"approval","id":"c1"}"#.into(),
        ] {
            writeln!(input, "{line}").expect("the publisher reads");
        }
        let session = Self { publisher, file: state.path().join("jig/sessions/live-1.json"), _state: state };
        let deadline = Instant::now() + Duration::from_secs(30);
        while !fs::read_to_string(&session.file).is_ok_and(|text| text.contains("approval")) {
            assert!(Instant::now() < deadline, "the status file never told of the attention");
            std::thread::sleep(Duration::from_millis(20));
        }
        session
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.publisher.stdin.take());
        let _ = self.publisher.wait();
    }
}

fn validates(mut command: Command, script: &str) {
    let session = Session::start();
    let output = command
        .arg(root().join("tests/readers").join(script))
        .arg(root().join("schemas"))
        .arg(&session.file)
        .output()
        .expect("the interpreter runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("and a live status file"), "{text}");
}

#[test]
fn python_reads_every_document() {
    let python = target().join("py/bin/python");
    if !python.exists() {
        skipped("python_reads_every_document", "Python's jsonschema is not installed; cargo xtask test installs it");
        return;
    }
    validates(Command::new(python), "validate.py");
}

#[test]
fn node_reads_every_document() {
    let modules = target().join("npm/node_modules");
    if !modules.join("ajv").exists() {
        skipped("node_reads_every_document", "ajv is not installed; cargo xtask test installs it");
        return;
    }
    let mut node = Command::new("node");
    node.env("NODE_PATH", modules);
    validates(node, "validate.cjs");
}

/// One line that the test command counts.
#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
fn skipped(name: &str, why: &str) {
    eprintln!("SKIPPED {name}: {why}");
}
