//! The state folder is the root of trust: whoever could steer it gets nothing read, written or removed.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::common::{MARK, Output, Sleeper, TestEnvironment, finish, names_in, private_dir, skipped, status_document};

const OTHER: u32 = 65534;

/// Commands that read and commands that write, each with its standard input.
fn commands() -> Vec<(Vec<&'static str>, String)> {
    let begin =
        json!({"event": "session", "schema": 1, "session": "s-9", "pid": std::process::id()}).to_string() + "\n";
    let quiet = |args: &[&'static str]| (args.to_vec(), String::new());
    vec![
        quiet(&["ls", "--json"]),
        quiet(&["show", "s-1"]),
        quiet(&["explain", "s-1"]),
        quiet(&["prune"]),
        quiet(&["doctor"]),
        quiet(&["request", "s-1", "--reload", "--wait", "0"]),
        quiet(&["bus", "status"]),
        quiet(&["bus", "join", "--as", "s-1"]),
        quiet(&["bus", "claim", "src", "--as", "s-1"]),
        (vec!["publish", "--agent", "pi"], begin),
    ]
}

fn run(env: &TestEnvironment, args: &[&str], input: &str) -> Output {
    finish(env.jig_command(args), input.as_bytes())
}

/// Everything below a folder: path, kind, mode, owner, size; links are not followed.
fn tree(root: &Path) -> Vec<(PathBuf, u32, u32, u64)> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let about = fs::symlink_metadata(&folder).expect("it is there");
        found.push((folder.clone(), about.mode(), about.uid(), if about.is_dir() { 0 } else { about.len() }));
        if about.is_dir() {
            folders.extend(fs::read_dir(&folder).expect("listed").map(|entry| entry.expect("an entry").path()));
        }
    }
    found.sort();
    found
}

/// A state folder as its user left it: a dead session's file and a folder for each purpose.
fn state(folder: &Path) {
    for name in ["sessions", "requests", "bus", "log", "king"] {
        private_dir(&folder.join(name));
        fs::write(folder.join(name).join(MARK), "").expect("written");
    }
    fs::write(folder.join("sessions/s-1.json"), dead("s-1").to_string()).expect("written");
}

/// A document whose process is gone.
fn dead(session: &str) -> serde_json::Value {
    let mut document = status_document(session, std::process::id());
    let mut over = Sleeper::start();
    over.kill();
    (document["pid"], document["process"]) = (over.pid().into(), serde_json::Value::Null);
    document
}

/// No command reads, writes or removes anything below `place`, and each says why.
#[track_caller]
fn all_refuse(env: &TestEnvironment, what: &str, place: &Path) {
    let before = tree(place);
    for (args, input) in commands() {
        let output = run(env, &args, &input);
        let said = format!("{}{}", output.stdout, output.stderr);
        // A publisher goes on, and tries again: its agent must not notice.
        let code = i32::from(args[0] != "publish");
        assert_eq!(output.code, code, "{what}: {args:?}: {said}");
        assert!(said.contains("cannot open"), "{what}: {args:?}: {said}");
        assert!(said.contains("JIG_STATE_DIR"), "{what}: {args:?} names no way out: {said}");
        assert_eq!(tree(place), before, "{what}: {args:?} changed something");
    }
}

/// Makes a state folder unsafe; the second path is free.
type Spoil = fn(&Path, &Path);

#[test]
fn a_state_folder_that_others_can_steer_is_used_by_nobody() {
    let made: [(&str, Spoil); 6] = [
        ("writable by all", |path, _| mode(path, 0o777)),
        ("writable by a group", |path, _| mode(path, 0o775)),
        ("another user's", |path, _| chown(path, Some(OTHER), None).expect("given away")),
        ("another user's link", |path, aside| {
            moved_behind_a_link(path, aside);
            lchown(path, Some(OTHER), None).expect("given away");
        }),
        ("a link to another user's", |path, aside| {
            moved_behind_a_link(path, aside);
            chown(aside, Some(OTHER), None).expect("given away");
        }),
        ("another user's, with one folder of ours", |path, _| {
            chown(path, Some(OTHER), None).expect("given away");
            fs::remove_dir_all(path.join("bus")).expect("removed");
        }),
    ];
    for (what, make) in made {
        if what.contains("another user") && !rustix::process::geteuid().is_root() {
            skipped("a_state_folder_that_others_can_steer_is_used_by_nobody", "only root can give a folder away");
            continue;
        }
        let env = TestEnvironment::new();
        let folder = private_dir(&env.root().join("shared")).join("jig");
        state(&folder);
        make(&folder, &env.root().join("aside"));
        env.set("JIG_STATE_DIR", &folder);
        all_refuse(&env, what, env.root());
    }
}

fn mode(path: &Path, bits: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(bits)).expect("the mode can be set");
}

fn moved_behind_a_link(path: &Path, aside: &Path) {
    fs::rename(path, aside).expect("renamed");
    symlink(aside, path).expect("linked");
}

/// `sudo jig-session` with the user's home: root's folders would lock the user out.
#[test]
fn root_makes_nothing_in_another_users_home() {
    if !rustix::process::geteuid().is_root() {
        return skipped("root_makes_nothing_in_another_users_home", "this is not root");
    }
    let env = TestEnvironment::new();
    fs::create_dir_all(env.home().join(".local/state")).expect("made");
    for folder in [env.home(), env.home().join(".local"), env.home().join(".local/state")] {
        chown(folder, Some(OTHER), None).expect("given away");
    }
    let before = tree(&env.home());
    for (args, input) in commands() {
        run(&env, &args, &input);
        assert_eq!(tree(&env.home()), before, "{args:?} made something");
    }
    let refused = env.jig(&["bus", "join", "--as", "s-1"]).exits(1);
    assert!(refused.stderr.contains("belongs to user 65534, and this is user 0"), "{}", refused.stderr);
}

/// `JIG_STATE_DIR` pointed at another program's folder by mistake: that program loses nothing.
#[test]
fn another_programs_folder_is_left_as_it_is() {
    let env = TestEnvironment::new();
    let folder = private_dir(&env.root().join("other"));
    env.set("JIG_STATE_DIR", &folder);
    let dead = dead("dead");
    for (path, content) in [
        ("settings.json", "{}"),
        ("sessions/dead.json", &dead.to_string()),
        ("sessions/half.json", "{\"user\": 1"),
        ("sessions/empty.json", ""),
        ("sessions/.cache.json.tmp-4000001-0123abcd", "x"),
        ("sessions/.cache.lock", ""),
        ("sessions/index.db", "x"),
        ("requests/queue.json", "{\"url\":1}"),
        ("requests/.q.json.tmp-4000001-0123abcd", "x"),
        ("bus/system_bus_socket", "x"),
        ("log/app.log", "x"),
        ("king/crown.txt", "x"),
    ] {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(&path, content).expect("written");
        let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        fs::File::options().write(true).open(&path).and_then(|file| file.set_modified(old)).expect("set");
    }
    for name in ["sessions", "requests", "bus", "log", "king"] {
        mode(&folder.join(name), 0o755);
    }
    let before = tree(&folder);
    for (args, input) in commands() {
        let output = run(&env, &args, &input);
        assert_eq!(tree(&folder), before, "{args:?} changed something: {output:?}");
    }
    let pruned = env.jig(&["prune", "--json"]).exits(0).json();
    assert_eq!(pruned["removed"], json!([]));
    assert!(pruned["kept"][0]["reason"].as_str().is_some_and(|why| why.contains(MARK)), "{pruned:#}");
    let refused = env.jig(&["bus", "join", "--as", "s-1", "--json"]).exits(1).error();
    assert_eq!(refused["error"]["code"], "unsafe-dir");
    assert!(refused["error"]["message"].as_str().is_some_and(|text| text.contains("another program's")), "{refused}");
}

/// Files of before the mark are taken over by the next publisher, and then pruned as ever.
#[test]
fn a_folder_of_before_the_mark_is_adopted_by_a_writer() {
    let env = TestEnvironment::new();
    let sessions = private_dir(&env.state_dir().join("sessions"));
    fs::write(sessions.join("gone.json"), dead("gone").to_string()).expect("written");
    fs::write(sessions.join("empty.json"), "").expect("written");
    env.jig(&["prune"]).exits(0);
    assert_eq!(names_in(&sessions), ["empty.json", "gone.json"]);
    let begin =
        json!({"event": "session", "schema": 1, "session": "s-9", "pid": std::process::id()}).to_string() + "\n";
    run(&env, &["publish", "--agent", "pi"], &begin).exits(0);
    assert!(sessions.join(MARK).exists());
    env.jig(&["prune"]).exits(0);
    assert_eq!(names_in(&sessions), ["empty.json"]);
}

/// What cannot be parsed is removed only if it begins as a document of ours does.
#[test]
fn a_broken_file_that_was_never_ours_stays() {
    let env = TestEnvironment::new();
    let sessions = env.sessions_dir();
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    for (name, content) in [
        ("ours.json", "{\"schema\":1,\"sess"),
        ("brace.json", "{"),
        ("empty.json", ""),
        ("theirs.json", "{\"user\""),
        ("text.json", "hi"),
        ("nul.json", "\0\0"),
    ] {
        fs::write(sessions.join(name), content).expect("written");
        let file = fs::File::options().write(true).open(sessions.join(name)).expect("there");
        file.set_modified(old).expect("set");
    }
    env.jig(&["prune"]).exits(0);
    assert_eq!(names_in(&sessions), ["nul.json", "text.json", "theirs.json"]);
}
