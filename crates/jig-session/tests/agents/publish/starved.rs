//! `publish` on a file system that is full or read-only: the session goes on, one message a change of error, and the
//! file is there again by itself. The file system is a small one of the publisher's own, in a mount namespace that
//! nobody else sees; the test reaches into it through `/proc/<pid>/root`.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use super::{PUBLISH, begin, read};
use crate::common::{Running, TestEnvironment, eventually, finish, names_in, private_dir, skipped};

const MOUNTED: &str = "mount -t tmpfs -o size=256k,mode=0700 tmpfs \"$0\" && exec \"$@\"";

/// A running `publish` with a file system of its own under its state folder.
struct Starved {
    publish: Running,
    /// Where the file system is mounted, as the publisher sees it.
    place: PathBuf,
}

impl Starved {
    fn start(env: &TestEnvironment, test: &str) -> Option<Self> {
        let place = private_dir(&env.home().join(".local/state"));
        let inside = |program: &str, args: &[&str]| {
            let mut command = env.command("unshare");
            command.args(["--mount", "sh", "-c", MOUNTED]).arg(&place).arg(program).args(args);
            command
        };
        let trial = finish(inside("true", &[]), b"");
        if trial.code != 0 {
            skipped(test, &format!("no file system can be mounted here: {}", trial.stderr.trim()));
            return None;
        }
        let publish = Running::start(inside(env!("CARGO_BIN_EXE_jig-session"), &PUBLISH));
        let starved = Self { publish, place };
        // The namespace is there before the program is, and the mount too.
        eventually("the program runs", || starved.runs().then_some(()));
        Some(starved)
    }

    fn runs(&self) -> bool {
        let name = fs::read_to_string(format!("/proc/{}/comm", self.publish.pid())).unwrap_or_default();
        name.trim() == "jig-session"
    }

    /// A place in the publisher's file system, as the test reaches it.
    fn inside(&self, name: &str) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.publish.pid()));
        root.join(self.place.strip_prefix("/").unwrap()).join(name)
    }

    fn sessions(&self) -> PathBuf {
        self.inside("jig/sessions")
    }

    fn document(&self) -> Option<Value> {
        read(&self.sessions().join("s-1.json"))
    }

    fn until(&self, what: &str, says: impl Fn(&Value) -> bool) {
        eventually(what, || self.document().filter(&says));
    }

    /// Takes all the room there is.
    fn fill(&self) {
        let mut file = File::create(self.inside("filler")).unwrap();
        while file.write_all(&[0; 512]).is_ok() {}
    }

    fn empty(&self) {
        fs::remove_file(self.inside("filler")).unwrap();
    }

    /// `ro` or `rw`. Refused by the system while a file is open for writing, so it is asked again.
    fn remount(&self, how: &str) {
        eventually("the file system is mounted anew", || {
            let mut command = Command::new("nsenter");
            command.arg(format!("--mount=/proc/{}/ns/mnt", self.publish.pid()));
            command.args(["mount", "-o", &format!("remount,{how}")]).arg(&self.place);
            finish(command, b"").code.eq(&0).then_some(())
        });
    }

    /// The feeder goes on feeding as if nothing were wrong.
    fn feed(&mut self, counts: std::ops::Range<u64>) {
        for count in counts {
            self.publish.send(&json!({"event": "background", "count": count}).to_string());
        }
    }

    /// The next message names the file or folder and the error.
    #[track_caller]
    fn tells(&self, errno: &str) {
        let told = self.publish.error_line();
        let path = self.place.join("jig");
        assert!(told.contains(errno) && told.contains(path.to_str().unwrap()), "{told}");
        assert!(told.contains("goes on unpublished"), "{told}");
    }
}

#[test]
fn a_full_and_then_read_only_disk_is_told_once_each_and_publishing_resumes() {
    let env = TestEnvironment::new();
    let name = "a_full_and_then_read_only_disk_is_told_once_each_and_publishing_resumes";
    let Some(mut starved) = Starved::start(&env, name) else { return };
    starved.publish.send(&begin("s-1", std::process::id()));
    starved.until("the session is published", |document| document["state"] == "idle");

    starved.fill();
    starved.publish.send(r#"{"event":"turn","phase":"start"}"#);
    starved.tells("ENOSPC");
    // Each try makes a temporary file and takes it away, which the folder's time shows.
    let modified = || fs::metadata(starved.sessions()).and_then(|data| data.modified()).unwrap();
    let before = modified();
    eventually("it is tried again", || (modified() != before).then_some(()));
    starved.feed(0..1000);
    assert_eq!(starved.document().unwrap()["state"], "idle", "the last document is whole");

    starved.remount("ro");
    starved.tells("EROFS");
    starved.feed(1000..2000);
    assert_eq!(starved.document().unwrap()["state"], "idle", "the last document is whole");

    starved.remount("rw");
    starved.empty();
    starved.until("it is written again", |document| document["background"] == 1999);
    assert_eq!(starved.document().unwrap()["state"], "busy");
    let again = starved.publish.error_line();
    assert!(again.contains("written again"), "nothing else was told between: {again}");
    let left = names_in(&starved.sessions()).len();
    assert_eq!(left, 1, "no temporary file stays");
    let output = starved.publish.end().exits(0);
    assert_eq!((output.stdout, output.stderr), (String::new(), String::new()));
}

#[test]
fn a_session_begins_and_ends_on_a_read_only_disk() {
    let env = TestEnvironment::new();
    let Some(mut starved) = Starved::start(&env, "a_session_begins_and_ends_on_a_read_only_disk") else { return };
    starved.remount("ro");
    starved.publish.send(&begin("s-1", std::process::id()));
    starved.tells("EROFS");
    starved.feed(0..1000);
    starved.remount("rw");
    starved.until("it is written after all", |document| document["background"] == 999);
    assert!(starved.publish.error_line().contains("written again"));

    starved.remount("ro");
    let place = starved.place;
    let output = starved.publish.end().exits(0);
    assert!(output.stdout.is_empty());
    let told: Vec<_> = output.stderr.lines().collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("EROFS") && told[0].contains(place.to_str().unwrap()), "{told:?}");
}
