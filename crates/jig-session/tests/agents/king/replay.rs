//! What pi-king wrote, replayed: our listing shows what was there to be shown. With an external reader at hand
//! (`JIG_KING_READER`, a command that gets a folder as its last argument and prints a list), both are compared.

use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::{card, put, put_as, sessions};
use crate::common::{TestEnvironment, finish, now_ms, skipped};

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../jig-session-king/tests/fixtures/corpus")
}

/// A process that pi-king's name check accepts: it is called `pi` and has no argument.
struct Pi(Child);

impl Pi {
    fn start() -> Self {
        let mut command = Command::new("cat");
        command.arg0("pi").stdin(Stdio::piped()).stdout(Stdio::null());
        Self(command.spawn().expect("cat can be started"))
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Pi {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn every_write_of_the_corpus_in_its_order() {
    let env = TestEnvironment::new();
    let live = Pi::start();
    let manifest = fs::read_to_string(corpus().join("manifest.jsonl")).unwrap();
    let now = now_ms();
    let mut expected: std::collections::BTreeMap<String, Value> = std::collections::BTreeMap::new();
    for line in manifest.lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        let target = entry["target"].as_str().unwrap();
        let id = target.strip_suffix(".json").unwrap().to_owned();
        if entry["op"] == "unlink" {
            let _ = fs::remove_file(env.king_dir().join(target));
            expected.remove(&id);
            continue;
        }
        // The card as it was, of a process that runs here.
        let text = fs::read_to_string(corpus().join(entry["file"].as_str().unwrap())).unwrap();
        let mut document: Value = serde_json::from_str(&text).unwrap();
        document["pid"] = json!(live.pid());
        document["startedAt"] = json!(now as f64 + 0.25);
        put_as(&env, &id, document.to_string().as_bytes());
        expected.insert(id, document);
    }
    let listed = env.jig(&["king", "ls", "--json"]).exits(0).json();
    let mut shown: Vec<&str> = sessions(&listed);
    shown.sort_unstable();
    let wanted: Vec<&str> = expected
        .iter()
        .filter(|(_, card)| card["visible"] == true && card["status"] != "exited")
        .map(|(id, _)| id.as_str())
        .collect();
    assert_eq!(shown, wanted);
    let all = env.jig(&["king", "ls", "--all", "--json"]).exits(0).json();
    assert_eq!(sessions(&all).len(), expected.len());
    for row in all["sessions"].as_array().unwrap() {
        assert_eq!(row["record"], expected[row["session"].as_str().unwrap()], "nothing is lost");
    }
    let Some(theirs) = external(&env.king_dir()) else {
        return;
    };
    let mut theirs: Vec<&str> = theirs
        .iter()
        .filter(|row| row["status"] != "exited")
        .map(|row| row["id"].as_str().unwrap_or_default())
        .collect();
    theirs.sort_unstable();
    assert_eq!(shown, theirs);
}

/// The external reader's list for a folder; `None` when there is no reader.
#[expect(clippy::disallowed_methods, reason = "a test's own switch, read where it is used")]
fn external(folder: &Path) -> Option<Vec<Value>> {
    let reader = std::env::var_os("JIG_KING_READER")?;
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{} \"$1\"", reader.to_string_lossy())).arg("sh").arg(folder);
    let output = finish(command, b"");
    assert_eq!(output.code, 0, "{}", output.stderr);
    let Value::Array(list) = output.json() else { panic!("the reader prints a list: {}", output.stdout) };
    Some(list)
}

#[test]
fn an_external_reader_lists_what_we_list() {
    let env = TestEnvironment::new();
    let mut pi = Pi::start();
    for (id, word) in [("k-work", "working"), ("k-idle", "idle"), ("k-att", "attention"), ("k-err", "error")] {
        let mut document = card(id, pi.pid());
        document["status"] = json!(word);
        document["startedAt"] = json!(now_ms());
        put(&env, &document);
    }
    let mut hidden = card("k-hidden", pi.pid());
    hidden["visible"] = json!(false);
    put(&env, &hidden);
    let ours = env.jig(&["king", "ls", "--json"]).exits(0).json();
    let mut ours: Vec<(String, String)> = ours["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["session"].as_str().unwrap().to_owned(), row["record"]["status"].as_str().unwrap().to_owned()))
        .collect();
    ours.sort();
    assert_eq!(ours.len(), 4);
    let Some(theirs) = external(&env.king_dir()) else {
        return skipped("an_external_reader_lists_what_we_list", "JIG_KING_READER names no external reader");
    };
    let mut theirs: Vec<(String, String)> = theirs
        .iter()
        .map(|row| {
            (row["id"].as_str().unwrap_or_default().to_owned(), row["status"].as_str().unwrap_or_default().to_owned())
        })
        .collect();
    theirs.sort();
    assert_eq!(ours, theirs);
    // The process reads its stdin to its end; writing to it proves that it was alive all the time.
    assert!(pi.0.stdin.as_mut().is_some_and(|pipe| pipe.write_all(b"x").is_ok()));
}
