//! Every path that a reading command opens may hold something else than a file of ours: a pipe that nobody writes, a
//! folder, a link to nowhere, a file without end, a device. No command may hang on it or break, whoever put it there.
//!
//! Which paths those are is not listed here: strace tells, so that a new one is not forgotten.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::common::{Live, Output, TestEnvironment, finish, skipped};

/// What reads, each with what it gets on its input.
#[rustfmt::skip]
const COMMANDS: &[(&[&str], &str)] = &[
    (&["ls", "--all"], ""), (&["show", "claude-1"], ""), (&["explain", "claude-1"], ""), (&["context", "pi-1"], ""),
    (&["doctor"], ""), (&["paths"], ""), (&["prune", "-n"], ""), (&["live"], ""), (&["bulk", "doctor"], ""),
    (&["wait", "pi-1", "--timeout", "0"], ""), (&["king", "ls", "--all"], ""), (&["king", "metrics"], ""),
    (&["king", "fingerprint"], ""), (&["hooks", "status"], ""), (&["bus", "status"], ""), (&["bus", "check", "x"], ""),
    (&["publish", "--agent", "x"], "{\"event\":\"turn\",\"phase\":\"start\"}\n"),
    (&["hook", "claude"], "{\"session_id\":\"claude-1\",\"hook_event_name\":\"Stop\",\"cwd\":\"/\"}"),
];

/// What stands there instead.
const KINDS: [&str; 5] = ["a pipe", "a folder", "a link to nowhere", "a huge file", "a device"];

fn put(kind: &str, path: &Path) {
    let made = match kind {
        "a pipe" => Command::new("mkfifo").arg(path).status().is_ok_and(|status| status.success()),
        "a folder" => fs::create_dir(path).is_ok(),
        "a link to nowhere" => symlink("/nonexistent/x", path).is_ok(),
        "a huge file" => fs::File::create(path).and_then(|file| file.set_len(1 << 40)).is_ok(),
        // Only root makes a device; anybody may link to one.
        _ => {
            let made = Command::new("mknod").arg(path).args(["c", "1", "5"]).output();
            made.is_ok_and(|output| output.status.success()) || symlink("/dev/zero", path).is_ok()
        }
    };
    assert!(made, "{kind} at {}", path.display());
}

fn take_away(path: &Path) {
    let is_folder = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    let _ = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
}

/// A home with something at each of the places that are known.
fn furnished(env: &TestEnvironment) -> Vec<Live> {
    let work = env.work();
    let git = work.join(".git");
    fs::create_dir_all(git.join("refs/heads")).expect("made");
    fs::write(git.join("HEAD"), "ref: refs/heads/main\n").expect("written");
    fs::write(git.join("config"), "[core]\n").expect("written");
    let transcript = env.home().join("t.jsonl");
    let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let live = ["claude", "codex", "gemini", "opencode", "copilot", "qwen", "pi"].map(|agent| {
        env.live(&format!("{agent}-1"), |document| {
            document["agent"] = json!({ "name": agent });
            document["cwd"] = text(&work).into();
            document["transcript"] = text(&transcript).into();
            document["agentDir"] = text(&env.home().join(format!(".{agent}"))).into();
            document["state"] = "busy".into();
            document["stateFrom"] = "hook:PreToolUse".into();
        })
    });
    // Younger than the states: then it is read.
    fs::write(&transcript, "{\"type\":\"user\"}\n").expect("written");
    let king = env.king_dir();
    let card =
        json!({ "formatVersion": 1, "id": "k-1", "cwd": text(&work), "pid": 1, "status": "idle", "visible": true });
    fs::write(king.join("k-1.json"), card.to_string()).expect("written");
    env.jig(&["king", "pin", "k-1"]);
    fs::create_dir_all(work.join("logs/2026-11-29")).expect("made");
    fs::write(work.join("logs/2026-11-29/1.json"), "{}").expect("written");
    env.set("PI_KING_CALL_LOGS", work.join("logs"));
    fs::write(env.requests_dir().join("pi-1.json"), "{\"schema\":1,\"id\":\"r\",\"reload\":true}").expect("written");
    env.jig(&["bus", "join", "api"]);
    env.jig(&["bus", "claim", "src/"]);
    live.into()
}

fn run(env: &TestEnvironment, before: &[&str], args: &[&str], input: &str) -> Output {
    let mut command = env.command(before[0]);
    command.args(&before[1..]).arg(env!("CARGO_BIN_EXE_jig-session")).args(args).current_dir(env.work());
    finish(command, input.as_bytes())
}

/// A file is looked at before it is opened, and not opened when it is not there.
const CALLS: &str =
    "trace=open,openat,openat2,stat,lstat,statx,newfstatat,readlink,readlinkat,access,faccessat,faccessat2";

/// The paths below the home that a command opens, or tries to.
fn opened(env: &TestEnvironment, args: &[&str], input: &str) -> BTreeSet<PathBuf> {
    let log = env.root().join("strace.log");
    let log_name = log.to_str().expect("UTF-8");
    let strace = ["strace", "-f", "-y", "-s", "4096", "-e", CALLS, "-o", log_name];
    run(env, &strace, args, input);
    let text = fs::read_to_string(&log).expect("strace writes");
    take_away(&log);
    let paths = text.lines().filter(|line| !line.contains("O_EXCL")).filter_map(|line| {
        // `openat(5</folder>, "name"`, `statx(AT_FDCWD</folder>, "name"`, `access("name"`.
        let (folder, name) = line.split_once('(')?.1.split_once('"')?;
        let name = name.split('"').next().filter(|name| !name.is_empty())?;
        let folder = folder.split_once('<').and_then(|(_, rest)| rest.split('>').next()).unwrap_or("/");
        // Without a `.` at its end.
        Some(Path::new(folder).join(name).components().collect::<PathBuf>())
    });
    let home = env.root();
    paths.filter(|path| path.starts_with(home) && path != home && *path != env.work() && *path != env.home()).collect()
}

#[test]
fn whatever_stands_in_place_of_a_file_no_command_hangs_or_breaks() {
    const NAME: &str = "whatever_stands_in_place_of_a_file_no_command_hangs_or_breaks";
    let env = TestEnvironment::new();
    if !env.command("strace").arg("-V").output().is_ok_and(|output| output.status.success()) {
        return skipped(NAME, "strace is not installed");
    }
    env.set("TMUX_TMPDIR", env.root().join("tmp"));
    let _sessions = furnished(&env);
    let mut paths: BTreeMap<PathBuf, Vec<(&[&str], &str)>> = BTreeMap::new();
    for (args, input) in COMMANDS {
        for path in opened(&env, args, input) {
            paths.entry(path).or_default().push((args, input));
        }
    }
    if paths.is_empty() {
        return skipped(NAME, "strace may not follow programs here");
    }
    let names: Vec<String> = paths.keys().map(|path| path.display().to_string()).collect();
    for known in ["config.json", "claude-1.json", "t.jsonl", "HEAD", "layout.json", "settings.json", "config.toml"] {
        assert!(names.iter().any(|name| name.ends_with(known)), "{known} is opened by none: {names:#?}");
    }
    let mut wrong = Vec::new();
    for (path, commands) in &paths {
        let Some(folder) = path.parent() else { continue };
        let made = !folder.exists();
        if fs::create_dir_all(folder).is_err() {
            continue;
        }
        let aside = path.with_extension("aside");
        let was_there = fs::rename(path, &aside).is_ok();
        for (at, kind) in KINDS.iter().enumerate() {
            put(kind, path);
            // All kinds with the command that opens it first, and each of the others with one kind.
            for (place, (args, input)) in commands.iter().enumerate() {
                if place > 0 && place % KINDS.len() != at {
                    continue;
                }
                let output = run(&env, &["timeout", "-s", "KILL", "20"], args, input);
                let said = !output.stdout.is_empty() || !output.stderr.is_empty();
                // 137: it was killed when its time was over. 101, 134, 139: it broke.
                let broke = [101, 134, 137, 139].contains(&output.code) || output.stderr.contains("panicked");
                if broke || (output.code != 0 && !said) {
                    wrong.push(format!("{} is {kind}: {args:?} ends with {}", path.display(), output.code));
                }
            }
            // A command may have put its own file there.
            take_away(path);
        }
        if was_there {
            fs::rename(&aside, path).expect("it is put back");
        }
        if made {
            let _ = fs::remove_dir(folder);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(fs::symlink_metadata("/dev/zero").is_ok_and(|found| found.file_type().is_char_device()));
}
