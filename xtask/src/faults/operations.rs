//! The operations under test, as a table. A new one needs four short functions and a row.

use std::os::unix::fs::DirBuilderExt;

use serde_json::{Value, json};

use super::scene::Scene;
use super::strace::Run;

/// What an interrupted operation left: nothing in between is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// As before.
    Old,
    /// As asked for.
    New,
}

/// One operation.
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    /// Makes what is there before; the folder is empty.
    pub(crate) prepare: fn(&Scene) -> anyhow::Result<()>,
    /// The run that is disturbed.
    pub(crate) run: fn(&Scene) -> Run,
    /// What it left; an error says what is torn, lost or too much.
    pub(crate) found: fn(&Scene) -> Result<Version, String>,
    /// The next run of anybody, after which nothing may be left of the disturbed one.
    pub(crate) next: fn(&Scene) -> Run,
    /// It ends with code 0 whatever happens to it, because it must not disturb who started it; it still says what failed.
    pub(crate) silent: bool,
}

pub(crate) const OPERATIONS: &[Operation] = &[
    Operation {
        name: "write",
        prepare: |scene| scene.put("a.json", "old"),
        run: |scene| scene.act("write", &["a.json", "new"]),
        found: |scene| replaced(scene.content("a.json")?.as_deref()),
        next: |scene| scene.act("sweep", &[]),
        silent: false,
    },
    Operation {
        name: "create",
        prepare: |_| Ok(()),
        run: |scene| scene.act("create", &["a.json", "new"]),
        found: |scene| match scene.content("a.json")?.as_deref() {
            None => Ok(Version::Old),
            Some("new") => Ok(Version::New),
            Some(other) => Err(format!("a.json holds {other:?}")),
        },
        next: |scene| scene.act("sweep", &[]),
        silent: false,
    },
    Operation {
        name: "take",
        prepare: |scene| scene.put("a.json", "old"),
        run: |scene| scene.act("take", &["a.json"]),
        found: |scene| {
            let taken = std::fs::read_dir(scene.sessions()).map_err(|error| error.to_string())?;
            let taken = taken.flatten().filter(|entry| entry.file_name().to_string_lossy().contains(".taken-"));
            match (scene.content("a.json")?.as_deref(), taken.count()) {
                (Some("old"), 0) => Ok(Version::Old),
                (None, 1) => Ok(Version::New),
                (content, count) => Err(format!("a.json holds {content:?}, and {count} files are taken")),
            }
        },
        next: |scene| scene.act("sweep", &[]),
        silent: false,
    },
    Operation {
        name: "remove",
        prepare: |scene| scene.put("a.json", "old"),
        run: |scene| scene.act("remove", &["a.json"]),
        found: |scene| match scene.content("a.json")?.as_deref() {
            Some("old") => Ok(Version::Old),
            None => Ok(Version::New),
            Some(other) => Err(format!("a.json holds {other:?}")),
        },
        next: |scene| scene.act("sweep", &[]),
        silent: false,
    },
    Operation {
        name: "publish",
        prepare: |scene| put_document(scene, "s-1", "old", std::process::id()),
        run: |scene| publish(scene, "new", true),
        found: |scene| named(scene.document("s-1.json")?.as_ref()),
        next: |scene| publish(scene, "next", true),
        silent: true,
    },
    Operation {
        name: "publish-first",
        prepare: |_| Ok(()),
        run: |scene| publish(scene, "new", true),
        found: |scene| scene.document("s-1.json")?.map_or(Ok(Version::Old), |document| named(Some(&document))),
        next: |scene| publish(scene, "next", true),
        silent: true,
    },
    Operation {
        name: "publish-end",
        prepare: |scene| put_document(scene, "s-1", "old", std::process::id()),
        run: |scene| publish(scene, "new", false),
        found: |scene| {
            let document = scene.document("s-1.json")?;
            document.map_or(Ok(Version::New), |document| named(Some(&document)).map(|_| Version::Old))
        },
        next: |scene| publish(scene, "next", true),
        silent: true,
    },
    Operation {
        name: "prune",
        prepare: |scene| {
            put_document(scene, "s-1", "old", std::process::id())?;
            put_document(scene, "s-2", "old", a_dead_process()?)
        },
        run: |scene| scene.jig(&["prune", "--json"], ""),
        found: |scene| {
            named(scene.document("s-1.json")?.as_ref()).map_err(|error| format!("the live one: {error}"))?;
            Ok(if scene.document("s-2.json")?.is_some() { Version::Old } else { Version::New })
        },
        next: |scene| scene.jig(&["prune", "--json"], ""),
        silent: true,
    },
    Operation {
        name: "request",
        prepare: |scene| put_document(scene, "s-1", "old", std::process::id()),
        run: |scene| scene.jig(&["request", "s-1", "--reload", "--wait", "0", "--json"], ""),
        found: |scene| {
            named(scene.document("s-1.json")?.as_ref())?;
            match scene.document("../requests/s-1.json")? {
                None => Ok(Version::Old),
                Some(request) if request["reload"] == true => Ok(Version::New),
                Some(request) => Err(format!("the request is {request}")),
            }
        },
        next: |scene| scene.jig(&["prune", "--json"], ""),
        silent: false,
    },
    Operation {
        name: "king-pin",
        prepare: |scene| {
            put_card(scene, "k-1111", std::process::id())?;
            scene.put("../pi-king/layout.json", r#"{"theme":"old","pinned":["k-0000"]}"#)
        },
        run: |scene| scene.jig(&["king", "pin", "k-1111", "--json"], ""),
        found: |scene| {
            let layout = scene.document("../pi-king/layout.json")?.ok_or("the layout is lost")?;
            match (layout["theme"].as_str(), layout["pinned"].as_array().map(Vec::len)) {
                (Some("old"), Some(1)) => Ok(Version::Old),
                (Some("old"), Some(2)) => Ok(Version::New),
                _ => Err(format!("the layout is {layout}")),
            }
        },
        next: |scene| scene.jig(&["king", "pin", "k-1111", "--json"], ""),
        silent: false,
    },
    Operation {
        name: "king-dismiss",
        prepare: |scene| {
            put_card(scene, "k-1111", a_dead_process()?)?;
            put_card(scene, "k-2222", a_dead_process()?)?;
            put_card(scene, "k-3333", std::process::id())
        },
        run: |scene| scene.jig(&["king", "dismiss", "k-1111", "--json"], ""),
        found: |scene| {
            scene.document("../pi-king/cards/k-3333.json")?.ok_or("another card is lost")?;
            Ok(if scene.document("../pi-king/cards/k-1111.json")?.is_some() { Version::Old } else { Version::New })
        },
        next: |scene| scene.jig(&["king", "dismiss", "k-2222", "--json"], ""),
        silent: false,
    },
    Operation {
        name: "seen",
        prepare: |scene| put_document(scene, "s-1", "old", std::process::id()),
        run: |scene| scene.jig(&["seen", "s-1", "--json"], ""),
        found: |scene| {
            named(scene.document("s-1.json")?.as_ref())?;
            let marks = std::fs::read_dir(scene.state().join("seen")).into_iter().flatten().flatten();
            let marks = marks.filter(|entry| !entry.file_name().to_string_lossy().starts_with('.')).count();
            Ok(if marks == 0 { Version::Old } else { Version::New })
        },
        next: |scene| scene.jig(&["seen", "s-1", "--json"], ""),
        silent: false,
    },
    Operation {
        name: "hooks-install",
        prepare: |scene| {
            std::fs::create_dir(scene.state().join("claude"))?;
            scene.put("../claude/settings.json", r#"{"model":"old"}"#)
        },
        run: hooks_install,
        found: |scene| {
            let settings = scene.document("../claude/settings.json")?.ok_or("the settings are lost")?;
            match (settings["model"].as_str(), settings.get("hooks").is_some()) {
                (Some("old"), false) => Ok(Version::Old),
                (Some("old"), true) => Ok(Version::New),
                _ => Err(format!("the settings are {settings}")),
            }
        },
        next: hooks_install,
        silent: false,
    },
];

/// An edit of another program's settings.
fn hooks_install(scene: &Scene) -> Run {
    let mut run = scene.jig(&["hooks", "install", "claude"], "");
    run.env.push(("CLAUDE_CONFIG_DIR".to_owned(), scene.state().join("claude").to_string_lossy().into_owned()));
    run
}

/// Every operation that is interrupted.
pub(crate) fn all() -> impl Iterator<Item = &'static Operation> {
    OPERATIONS.iter().chain(super::bus::OPERATIONS)
}

fn replaced(content: Option<&str>) -> Result<Version, String> {
    match content {
        Some("old") => Ok(Version::Old),
        Some("new") => Ok(Version::New),
        other => Err(format!("a.json holds {other:?}")),
    }
}

/// A status document tells by its session's name which version it is.
fn named(document: Option<&Value>) -> Result<Version, String> {
    let document = document.ok_or("the document is lost")?;
    match document["name"].as_str() {
        Some("old") => Ok(Version::Old),
        Some("new" | "next") => Ok(Version::New),
        _ => Err(format!("the document has the name {}", document["name"])),
    }
}

/// The events of a short session. Its process is this one, which lives as long as the test.
fn publish(scene: &Scene, name: &str, keep: bool) -> Run {
    let pid = std::process::id();
    let mut lines = vec![
        json!({ "event": "session", "schema": 1, "session": "s-1", "pid": pid, "cwd": "/tmp", "name": name }),
        json!({ "event": "turn", "phase": "start" }),
    ];
    if keep {
        lines.push(json!({ "event": "end", "keep": true }));
    }
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    scene.jig(&["publish", "--agent", "acme"], &input)
}

/// A status document of a process of this run of the machine.
fn put_document(scene: &Scene, session: &str, name: &str, pid: u32) -> anyhow::Result<()> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let start = stat.rsplit(')').next().and_then(|rest| rest.split_ascii_whitespace().nth(19)).unwrap_or("1");
    let process = json!({ "start": format!("linux:{start}"), "bootId": boot.trim() });
    let document = json!({
        "schema": 1, "session": session, "agent": { "name": "acme" }, "name": name, "cwd": "/tmp", "agentDir": "",
        "state": "idle", "model": null, "context": { "tokens": null, "window": null, "percent": null },
        "usage": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "cost": null },
        "tools": { "active": 0, "total": 0 }, "outputs": [], "recent": [], "ticket": null, "workflow": null,
        "lastRequest": null, "pid": pid, "process": process, "terminal": null, "terminalFrom": null,
        "startedAt": "2026-01-01T00:00:00.000Z", "updatedAt": "2026-01-01T00:00:00.000Z",
    });
    scene.put(&format!("{session}.json"), &document.to_string())
}

/// A pi-king card of a process.
fn put_card(scene: &Scene, id: &str, pid: u32) -> anyhow::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(scene.cards())?;
    let card = json!({
        "formatVersion": 1, "id": id, "cwd": "/tmp", "project": "tmp", "pid": pid, "startedAt": 4_102_444_800_000_i64,
        "lastActivity": 4_102_444_800_000_i64, "status": "idle", "activity": "", "title": "", "subagents": [],
        "visible": true, "isFork": false,
    });
    scene.put(&format!("../pi-king/cards/{id}.json"), &card.to_string())
}

/// The id of a process that has ended just now.
fn a_dead_process() -> anyhow::Result<u32> {
    let mut child = std::process::Command::new("true").spawn()?;
    child.wait()?;
    Ok(child.id())
}
