//! Which Pi is on the PATH, and what that version cannot do for us.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use jig_session_atomic::read_file;
use jig_session_schema::limits::DOCUMENT_BYTES;

use crate::app::App;

/// How long `pi --version` may take: it loads a whole Node program.
const VERSION_WAIT: Duration = Duration::from_secs(10);
/// The oldest version the whole test suite passes on.
const SUPPORTED: &str = "1.3.0";

/// What came with which version: without it, the sentence holds.
const SINCE: &[(&str, &str)] = &[
    ("0.78.1", "the mode is guessed: a JSON run looks like a print run"),
    ("0.80.3", "a new session name is seen at the next start only"),
    ("0.80.4", "a session may look idle a moment too early"),
    ("0.84.2", "a request cannot reload it; /session-reload does"),
    ("0.84.2", "a tool switched off in the middle of a run goes at the next prompt"),
    ("0.84.4", "a session that waits for an answer does not show attention"),
    ("1.2.0", "what is told before a prompt is not told in a run that mail started"),
    (SUPPORTED, "skills cannot be switched off"),
];

/// The Pi that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) path: String,
    pub(super) version: String,
}

/// The first `pi` on the PATH and its version.
pub(super) fn find(app: &App) -> Option<Found> {
    let path = app.env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str())?;
    let program = on_path(path, "pi")?;
    let version = package_version(&program).or_else(|| told_version(&program))?;
    Some(Found { path: program.to_string_lossy().into_owned(), version })
}

/// What a version cannot do, as sentences; the last one says which versions are supported.
pub(super) fn limits(version: &str) -> Vec<String> {
    let Some(version) = numbers(version) else { return Vec::new() };
    let older = |than: &str| numbers(than).is_some_and(|than| version < than);
    let mut limits: Vec<_> = SINCE
        .iter()
        .filter(|(since, _)| older(since))
        .map(|(since, limit)| format!("{limit} (from Pi {since} on it is better)"))
        .collect();
    if older(SUPPORTED) {
        limits.push(format!("Pi before {SUPPORTED} is not supported: it publishes, the rest may not work"));
    }
    limits
}

fn numbers(version: &str) -> Option<[u32; 3]> {
    let mut parts = version.trim().trim_start_matches('v').split(['.', '-', '+']);
    let mut next = || parts.next()?.parse().ok();
    Some([next()?, next()?, next()?])
}

fn on_path(path: &OsStr, program: &str) -> Option<PathBuf> {
    std::env::split_paths(path).map(|folder| folder.join(program)).find(|path| path.is_absolute() && path.is_file())
}

/// npm links the program to a file in the package, whose `package.json` tells the version without running it.
fn package_version(program: &Path) -> Option<String> {
    let real = program.canonicalize().ok()?;
    for folder in real.ancestors().skip(1).take(6) {
        let Ok(read) = read_file(folder.join("package.json"), DOCUMENT_BYTES) else { continue };
        let package: serde_json::Value = serde_json::from_slice(&read.bytes).ok()?;
        if package["name"].as_str().is_some_and(|name| name.ends_with("pi-coding-agent")) {
            return package["version"].as_str().map(str::to_owned);
        }
    }
    None
}

/// The program's own word, within a bounded time.
fn told_version(program: &Path) -> Option<String> {
    let mut child = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let end = Instant::now() + VERSION_WAIT;
    while child.try_wait().ok()?.is_none() {
        if Instant::now() > end {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.lines().next()?.trim();
    numbers(version)?;
    Some(version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_version_is_told_what_it_lacks_and_a_new_one_nothing() {
        for (version, count) in [("0.73.1", 9), ("0.84.2", 4), ("1.2.0", 2), ("1.3.0", 0), ("1.6.0", 0), ("next", 0)] {
            assert_eq!(limits(version).len(), count, "{version}: {:?}", limits(version));
        }
        assert!(limits("1.0.3").last().is_some_and(|limit| limit.contains("not supported")));
    }

    #[test]
    fn the_version_is_read_from_the_package_the_program_lies_in() {
        let folder = tempfile::tempdir().unwrap();
        let package = folder.path().join("lib/pi-coding-agent");
        std::fs::create_dir_all(package.join("dist")).unwrap();
        std::fs::create_dir_all(folder.path().join("bin")).unwrap();
        std::fs::write(package.join("package.json"), r#"{"name":"@x/pi-coding-agent","version":"1.4.0"}"#).unwrap();
        std::fs::write(package.join("dist/cli.js"), "").unwrap();
        std::os::unix::fs::symlink(package.join("dist/cli.js"), folder.path().join("bin/pi")).unwrap();
        let env = vec![("PATH".into(), folder.path().join("bin").into())];
        let found = find(&App { env, json: false, color: false }).unwrap();
        assert_eq!(found.version, "1.4.0");
    }
}
