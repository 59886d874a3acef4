//! The session bus's operations, and mail over a power cut.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::Value;

use super::Report;
use super::operations::{Operation, Version};
use super::scene::{Programs, Scene};
use super::strace::Run;
use crate::run::target;

/// What each is to leave is told by the files of the bus. The next run of anybody is a look at it, which prunes.
pub(crate) const OPERATIONS: &[Operation] = &[
    Operation {
        name: "bus-join",
        prepare: |_| Ok(()),
        run: |scene| join(scene, "a"),
        found: |scene| Ok(if documents(scene, "sessions")?.is_empty() { Version::Old } else { Version::New }),
        next: status,
        silent: false,
    },
    Operation {
        name: "bus-claim",
        prepare: |scene| done(&join(scene, "a")),
        run: |scene| acting(scene, "a", &["claim", "x"]),
        found: |scene| Ok(if documents(scene, "claims")?.is_empty() { Version::Old } else { Version::New }),
        next: status,
        silent: false,
    },
    Operation {
        name: "bus-claim-two",
        prepare: |scene| done(&join(scene, "a")),
        run: |scene| acting(scene, "a", &["claim", "x", "y"]),
        found: |scene| match holding(scene)? {
            0 => Ok(Version::Old),
            2 => Ok(Version::New),
            count => Err(format!("{count} of two claims of one call hold")),
        },
        next: status,
        silent: false,
    },
    Operation {
        name: "bus-release",
        prepare: |scene| {
            done(&join(scene, "a"))?;
            done(&acting(scene, "a", &["claim", "x"]))
        },
        run: |scene| acting(scene, "a", &["release", "x"]),
        found: |scene| Ok(if documents(scene, "claims")?.is_empty() { Version::New } else { Version::Old }),
        next: status,
        silent: false,
    },
    Operation {
        name: "bus-claim-lockless",
        prepare: |scene| done(&join(scene, "a")),
        run: |scene| lockless(acting(scene, "a", &["claim", "x", "y"])),
        found: |scene| match holding(scene)? {
            0 => Ok(Version::Old),
            2 => Ok(Version::New),
            count => Err(format!("{count} of two claims of one call hold")),
        },
        next: next_lockless,
        silent: false,
    },
    Operation {
        name: "bus-release-lockless",
        prepare: |scene| {
            done(&join(scene, "a"))?;
            done(&lockless(acting(scene, "a", &["claim", "x"])))
        },
        run: |scene| lockless(acting(scene, "a", &["release", "x"])),
        found: |scene| Ok(if documents(scene, "claims")?.is_empty() { Version::New } else { Version::Old }),
        next: next_lockless,
        silent: false,
    },
    Operation {
        name: "bus-takeover",
        prepare: |scene| {
            done(&join(scene, "a"))?;
            done(&lockless(join(scene, "b")))?;
            leave_dead_holder(scene)
        },
        run: |scene| lockless(acting(scene, "a", &["claim", "x"])),
        found: |scene| Ok(if documents(scene, "claims")?.is_empty() { Version::Old } else { Version::New }),
        next: next_lockless,
        silent: false,
    },
    Operation {
        name: "bus-prune",
        prepare: |scene| {
            let mut holder = Holder(Command::new("sleep").arg("600").spawn()?);
            let pid = holder.0.id().to_string();
            done(&bus(scene, &["join", "dead", "--id", "s-dead", "--pid", &pid]))?;
            done(&acting(scene, "dead", &["claim", "x"]))?;
            holder.end();
            done(&join(scene, "a"))
        },
        run: |scene| acting(scene, "a", &["claim", "x/y"]),
        found: |scene| {
            let claims = documents(scene, "claims")?;
            match claims.iter().filter(|claim| claim["id"] == "s-a").count() {
                0 => Ok(Version::Old),
                1 if claims.len() == 1 => Ok(Version::New),
                _ => Err(format!("a dead session holds beside a living one: {claims:?}")),
            }
        },
        next: status,
        silent: false,
    },
    Operation {
        name: "bus-send",
        prepare: |scene| {
            done(&join(scene, "a"))?;
            done(&join(scene, "b"))
        },
        run: |scene| acting(scene, "a", &["send", "b", "hello"]),
        found: |scene| match mail(scene)? {
            0 => Ok(Version::Old),
            1 => Ok(Version::New),
            count => Err(format!("one message became {count}")),
        },
        next: status,
        silent: false,
    },
    Operation {
        name: "bus-inbox",
        prepare: |scene| {
            done(&join(scene, "a"))?;
            done(&join(scene, "b"))?;
            done(&acting(scene, "a", &["send", "b", "hello"]))
        },
        run: |scene| acting(scene, "b", &["inbox"]),
        found: |scene| match mail(scene)? {
            0 => Ok(Version::New),
            1 => Ok(Version::Old),
            count => Err(format!("one message became {count}")),
        },
        next: status,
        // Mail that was shown and cannot be removed comes back; what cannot be read is said and left.
        silent: true,
    },
];

struct Holder(Child);

impl Holder {
    fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.end();
    }
}

/// A bus command in a folder that is no repository: the bus of a folder is the same bus.
fn bus(scene: &Scene, rest: &[&str]) -> Run {
    let home = scene.state().with_file_name("home");
    let home = home.to_string_lossy();
    let mut args = vec!["bus", "--cwd", &home];
    args.extend(rest);
    scene.jig(&args, "")
}

/// A session whose process is this one, which lives as long as the test.
fn join(scene: &Scene, label: &str) -> Run {
    let pid = std::process::id().to_string();
    bus(scene, &["join", label, "--id", &format!("s-{label}"), "--pid", &pid])
}

fn acting(scene: &Scene, label: &str, rest: &[&str]) -> Run {
    let id = format!("s-{label}");
    let mut args = vec!["--as", id.as_str()];
    args.extend(rest);
    bus(scene, &args)
}

/// The same on a file system without locks.
fn lockless(run: Run) -> Run {
    Run { lockless: true, ..run }
}

/// Whoever comes next without locks is let in; then the look at the bus.
fn next_lockless(scene: &Scene) -> Run {
    let next = lockless(join(scene, "next"));
    if done(&next).is_ok() { status(scene) } else { next }
}

/// The lock of files as a process leaves it that is killed with it, and as its heir does that is killed too.
fn leave_dead_holder(scene: &Scene) -> anyhow::Result<()> {
    let folder = folder(scene).context("there is no bus")?;
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").context("no boot id")?;
    let mut child = Command::new("true").spawn()?;
    let pid = child.id();
    child.wait()?;
    let held = |token: &str| {
        let process = serde_json::json!({ "start": "linux:1", "bootId": boot.trim() });
        serde_json::json!({ "schema": 1, "token": token, "pid": pid, "process": process }).to_string()
    };
    fs::write(folder.join("lock.holder"), held("00000000000000aa"))?;
    fs::write(folder.join("lock.holder-00000000000000aa"), held("00000000000000bb"))?;
    Ok(())
}

fn status(scene: &Scene) -> Run {
    bus(scene, &["status"])
}

/// Runs what must succeed before the operation.
fn done(run: &Run) -> anyhow::Result<()> {
    let ended = run.plainly()?;
    anyhow::ensure!(ended.status.success(), "{:?} ended with {}: {}", run.args, ended.status, ended.text);
    Ok(())
}

/// The bus's folder; there is one.
fn folder(scene: &Scene) -> Option<PathBuf> {
    fs::read_dir(scene.state().join("bus")).ok()?.flatten().map(|entry| entry.path()).find(|path| path.is_dir())
}

/// The documents of one folder of the bus; torn ones are what must not be.
fn documents(scene: &Scene, name: &str) -> Result<Vec<Value>, String> {
    folder(scene).map_or(Ok(Vec::new()), |folder| read_all(&folder.join(name)))
}

/// How many claims hold: not those that a killed call was making.
fn holding(scene: &Scene) -> Result<usize, String> {
    let claims = documents(scene, "claims")?.len();
    let note = folder(scene).and_then(|folder| fs::read(folder.join("claiming.json")).ok());
    let note: Option<Value> = note.and_then(|note| serde_json::from_slice(&note).ok());
    Ok(if note.is_some_and(|note| note["files"].as_array().is_some_and(|files| files.len() == 2)) { 0 } else { claims })
}

fn read_all(folder: &Path) -> Result<Vec<Value>, String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') || !name.ends_with(".json") {
            continue;
        }
        let text = fs::read_to_string(entry.path()).map_err(|error| format!("{name} cannot be read: {error}"))?;
        found.push(serde_json::from_str(&text).map_err(|error| format!("{name} is torn: {error}"))?);
    }
    Ok(found)
}

/// How many messages there are for `b`, taken ones included.
fn mail(scene: &Scene) -> Result<usize, String> {
    let Some(inbox) = folder(scene).map(|folder| folder.join("inbox/s-b")) else { return Ok(0) };
    let mut count = read_all(&inbox)?.len();
    for entry in fs::read_dir(&inbox).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(".taken-") {
            count += read_all(&entry.path())?.len();
        }
    }
    Ok(count)
}

/// How many messages are sent before the power goes.
const MESSAGES: usize = 40;

/// Messages that were reported as queued are whole after a power cut: the image of a mounted file system is copied, as
/// the disk would be found, and looked at.
pub(crate) fn power_cut(programs: &Programs, report: &mut Report) -> anyhow::Result<()> {
    for (kind, size) in [("ext4", "64M"), ("xfs", "320M")] {
        let about = format!("mail over a power cut on {kind}");
        let base = target().join("faults").join(format!("{}-power-{kind}", std::process::id()));
        let wrong = cut(kind, size, &base, programs);
        let _ = Command::new("umount").arg("--lazy").arg(base.join("mounted")).stderr(Stdio::null()).status();
        let _ = Command::new("umount").arg("--lazy").arg(base.join("found")).stderr(Stdio::null()).status();
        let _ = fs::remove_dir_all(&base);
        match wrong {
            Ok(Ok(wrong)) => report.check(&about, wrong),
            Ok(Err(why)) => report.skip(&about, &why),
            Err(error) => report.check(&about, vec![format!("{error:#}")]),
        }
    }
    Ok(())
}

/// What is wrong after one cut; the inner error says why it cannot be tried here.
fn cut(kind: &str, size: &str, base: &Path, programs: &Programs) -> anyhow::Result<Result<Vec<String>, String>> {
    let (mounted, found) = (base.join("mounted"), base.join("found"));
    for folder in [&mounted, &found] {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let (image, copy) = (base.join("image"), base.join("copy"));
    let quiet = |program: &str, args: &[&std::ffi::OsStr]| {
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command.status().is_ok_and(|status| status.success())
    };
    if !quiet("truncate", &["--size".as_ref(), size.as_ref(), image.as_os_str()]) {
        return Ok(Err("no image can be made here".to_owned()));
    }
    if !quiet(&format!("mkfs.{kind}"), &["-q".as_ref(), image.as_os_str()]) {
        return Ok(Err(format!("mkfs.{kind} is missing or cannot make a file system here")));
    }
    if !quiet("mount", &["-o".as_ref(), "loop".as_ref(), image.as_os_str(), mounted.as_os_str()]) {
        return Ok(Err("no file system can be mounted here".to_owned()));
    }
    let scene = Scene::inside(&mounted, programs)?;
    scene.clear()?;
    let path = scene.state();
    let below = path.strip_prefix(fs::canonicalize(&mounted)?).context("the scene lies on the file system")?.to_owned();
    for label in ["a", "b"] {
        done(&join(&scene, label))?;
    }
    for number in 0..MESSAGES {
        done(&acting(&scene, "a", &["send", "b", &format!("message {number}")]))?;
    }
    // What was reported is on the disk now, whatever the file system still holds back.
    if !quiet("cp", &["--sparse=always".as_ref(), image.as_os_str(), copy.as_os_str()]) {
        return Ok(Err("the image cannot be copied".to_owned()));
    }
    let end = Instant::now() + Duration::from_secs(20);
    while !quiet("umount", &[mounted.as_os_str()]) && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(100));
    }
    std::mem::forget(scene);
    // A copy of a mounted xfs bears the mark of the one that is mounted: it is told to pass over that.
    let options: &[&str] = if kind == "xfs" { &["-o", "loop,nouuid"] } else { &["-o", "loop"] };
    let mut args: Vec<&std::ffi::OsStr> = options.iter().map(std::ffi::OsStr::new).collect();
    args.extend([copy.as_os_str(), found.as_os_str()]);
    if !quiet("mount", &args) {
        return Ok(Ok(vec!["what the cut left cannot be mounted".to_owned()]));
    }
    let mut buses = fs::read_dir(found.join(below).join("bus"))?.flatten().map(|entry| entry.path());
    let inbox = buses.find(|path| path.is_dir()).map(|bus| bus.join("inbox/s-b"));
    let whole = inbox.map(|inbox| read_all(&inbox)).unwrap_or(Ok(Vec::new()));
    Ok(Ok(match whole {
        Ok(messages) if messages.len() == MESSAGES => Vec::new(),
        Ok(messages) => {
            vec![format!("{} of {MESSAGES} messages that were reported as queued are there", messages.len())]
        }
        Err(torn) => vec![torn],
    }))
}
