//! The bus's operations under test. Its members' process is this one, which lives as long as the test.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::operations::{Found, Manner, Operation};
use super::scene::Scene;
use super::strace::Run;

/// What is sent.
const TEXT: &str = "a letter that must arrive";

pub(crate) const OPERATIONS: &[Operation] = &[
    Operation {
        name: "bus-join",
        prepare: |_| Ok(()),
        run: |scene| join(scene, "one", std::process::id()),
        found: |scene| one_of(&documents(scene, "sessions")?, "id", "one"),
        next: |scene| join(scene, "one", std::process::id()),
        manner: Manner::Fails,
        needs_room: true,
        delivers: None,
    },
    Operation {
        name: "bus-send",
        prepare: both,
        run: |scene| bus(scene, "one", &["send", "two", TEXT]),
        found: |scene| one_of(&documents(scene, "inbox/two")?, "text", TEXT),
        next: |scene| bus(scene, "two", &["status"]),
        manner: Manner::Fails,
        needs_room: true,
        delivers: None,
    },
    Operation {
        name: "bus-inbox",
        prepare: |scene| {
            both(scene)?;
            done(&bus(scene, "one", &["send", "two", TEXT]))
        },
        run: |scene| bus(scene, "two", &["inbox"]),
        // Mail that was taken and not told yet is still there.
        found: |scene| match one_of(&documents(scene, "inbox/two")?, "text", TEXT)? {
            Found::New => Ok(Found::Old),
            Found::Old => Ok(Found::New),
        },
        next: |scene| bus(scene, "two", &["inbox"]),
        manner: Manner::Fails,
        needs_room: false,
        delivers: Some(TEXT),
    },
    Operation {
        name: "bus-claim",
        prepare: both,
        run: |scene| bus(scene, "one", &["claim", "src"]),
        found: |scene| one_of(&documents(scene, "claims")?, "path", "src"),
        next: |scene| bus(scene, "one", &["claim", "src"]),
        manner: Manner::Fails,
        needs_room: true,
        delivers: None,
    },
    Operation {
        name: "bus-release",
        prepare: |scene| {
            both(scene)?;
            done(&bus(scene, "one", &["claim", "src"]))
        },
        run: |scene| bus(scene, "one", &["release", "src"]),
        found: |scene| match one_of(&documents(scene, "claims")?, "path", "src")? {
            Found::New => Ok(Found::Old),
            Found::Old => Ok(Found::New),
        },
        next: |scene| bus(scene, "one", &["status"]),
        manner: Manner::Fails,
        needs_room: false,
        delivers: None,
    },
    Operation {
        name: "bus-prune",
        prepare: |scene| {
            done(&join(scene, "one", std::process::id()))?;
            let mut mortal = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn()?;
            let joined = done(&join(scene, "two", mortal.id()));
            mortal.kill()?;
            mortal.wait()?;
            joined
        },
        run: |scene| bus(scene, "one", &["status"]),
        found: |scene| {
            let members = documents(scene, "sessions")?;
            let is = |id: &str| members.iter().any(|member| member["id"] == id);
            match (is("one"), is("two")) {
                (true, true) => Ok(Found::Old),
                (true, false) => Ok(Found::New),
                _ => Err("the living member is lost".to_owned()),
            }
        },
        next: |scene| bus(scene, "one", &["status"]),
        manner: Manner::Tries,
        needs_room: false,
        delivers: None,
    },
];

fn both(scene: &Scene) -> anyhow::Result<()> {
    done(&join(scene, "one", std::process::id()))?;
    done(&join(scene, "two", std::process::id()))
}

fn join(scene: &Scene, id: &str, pid: u32) -> Run {
    bus(scene, id, &["join", id, "--pid", &pid.to_string()])
}

fn bus(scene: &Scene, id: &str, action: &[&str]) -> Run {
    let folder = scene.repository().to_string_lossy().into_owned();
    let mut args = vec!["bus", "--json", "--as", id, "--cwd", &folder];
    args.extend(action);
    scene.jig(&args, "")
}

fn done(run: &Run) -> anyhow::Result<()> {
    let ended = run.plainly()?;
    anyhow::ensure!(ended.status.success(), "{:?} ended with {}: {}", run.args, ended.status, ended.text);
    Ok(())
}

/// The documents in a folder of the bus, and in the folders of taken mail in it. A torn one is an error.
fn documents(scene: &Scene, folder: &str) -> Result<Vec<Value>, String> {
    let buses = fs::read_dir(scene.state().join("bus")).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = buses.map(|bus| bus.path().join(folder)).collect();
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            } else if name.ends_with(".json") && !name.starts_with('.') {
                let text = fs::read_to_string(entry.path()).map_err(|error| format!("{name}: {error}"))?;
                found.push(serde_json::from_str(&text).map_err(|error| format!("{name} is torn: {error}"))?);
            }
        }
    }
    Ok(found)
}

/// None is the old state, one with that text the new one; anything else is wrong.
fn one_of(documents: &[Value], field: &str, text: &str) -> Result<Found, String> {
    match documents {
        [] => Ok(Found::Old),
        [one] if one[field] == text => Ok(Found::New),
        other => Err(format!("{} documents, the first is {}", other.len(), other[0])),
    }
}
