//! Which agent is on PATH, and its version.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use jig_session_agents::{Agent, Hooks};
use jig_session_atomic::read_file;
use jig_session_schema::hooks::InstalledProgram;

/// How long `AGENT --version` may take: some load a whole Node program.
const VERSION_WAIT: Duration = Duration::from_secs(10);
/// More than any package's description has.
const PACKAGE_BYTES: usize = 1 << 20;

/// The agent's program on a PATH, with its version.
#[must_use]
pub fn found(agent: &Agent, path: &OsStr) -> Option<InstalledProgram> {
    let program = agent.program.names.iter().find_map(|name| on_path(path, Path::new(name)))?;
    let version = package_version(agent, &program).or_else(|| own_version(&program));
    let mut found = InstalledProgram::new().path(program.to_string_lossy().into_owned());
    found.version = version;
    Some(found)
}

/// Whether the agent's program is on a PATH.
#[must_use]
pub fn is_on_path(agent: &Agent, path: &OsStr) -> bool {
    agent.program.names.iter().any(|name| on_path(path, Path::new(name)).is_some())
}

/// The first file of this name on a PATH that can be run.
pub(crate) fn on_path(path: &OsStr, name: &Path) -> Option<PathBuf> {
    let runs = |path: &PathBuf| {
        use std::os::unix::fs::PermissionsExt;
        path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(path).map(|folder| folder.join(name)).find(|path| path.is_absolute() && runs(path))
}

/// npm links a program to a file in its package, whose `package.json` names the version without running anything.
fn package_version(agent: &Agent, program: &Path) -> Option<String> {
    let real = program.canonicalize().ok()?;
    for folder in real.ancestors().skip(1).take(6) {
        let Ok(read) = read_file(folder.join("package.json"), PACKAGE_BYTES) else { continue };
        let package: serde_json::Value = serde_json::from_slice(&read.bytes).ok()?;
        let name = package["name"].as_str().unwrap_or_default();
        let last = name.rsplit('/').next().unwrap_or_default();
        if agent.program.package.is_some_and(|package| last == package || last.starts_with(&format!("{package}-"))) {
            return package["version"].as_str().map(str::to_owned);
        }
    }
    None
}

/// What the program says of itself, within a bounded time.
fn own_version(program: &Path) -> Option<String> {
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
    text.split_whitespace()
        .find(|word| version_numbers(word).is_some())
        .map(|word| word.trim_start_matches('v').to_owned())
}

/// The three numbers of a version.
#[must_use]
pub fn version_numbers(version: &str) -> Option<[u32; 3]> {
    let mut parts = version.trim().trim_start_matches('v').split(['.', '-', '+']);
    let mut next = || parts.next()?.parse().ok();
    Some([next()?, next()?, next()?])
}

/// What a version of an agent cannot do with the file that it loads, as sentences; the last one says which versions are
/// supported. None for a version that is not understood.
#[must_use]
pub fn limits(agent: &Agent, version: &str) -> Vec<String> {
    let (Hooks::Plugin(plugin), Some(version)) = (&agent.hooks, version_numbers(version)) else { return Vec::new() };
    let is_older = |than: &str| version_numbers(than).is_some_and(|than| version < than);
    let title = agent.title;
    let lacking = plugin.since.iter().filter(|(since, _)| is_older(since));
    let mut limits: Vec<_> =
        lacking.map(|(since, limit)| format!("{limit} (from {title} {since} on it is better)")).collect();
    if let Some(supported) = plugin.supported.filter(|supported| is_older(supported)) {
        limits.push(format!("{title} before {supported} is not supported: it publishes, the rest may not work"));
    }
    limits
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn the_version_is_read_from_the_package_the_program_lies_in() {
        let folder = tempfile::tempdir().unwrap();
        for (name, package, version) in [
            ("pi", "@x/pi-coding-agent", "1.4.0"),
            ("claude", "@anthropic-ai/claude-code", "2.1.332"),
            ("gemini", "@google/gemini-cli", "0.61.0"),
        ] {
            let home = folder.path().join("lib").join(name);
            fs::create_dir_all(home.join("dist")).unwrap();
            fs::create_dir_all(folder.path().join("bin")).unwrap();
            fs::write(home.join("package.json"), format!(r#"{{"name":"{package}","version":"{version}"}}"#)).unwrap();
            fs::write(home.join("dist/cli.js"), "").unwrap();
            fs::set_permissions(home.join("dist/cli.js"), fs::Permissions::from_mode(0o755)).unwrap();
            symlink(home.join("dist/cli.js"), folder.path().join("bin").join(name)).unwrap();
            let agent = jig_session_agents::named(name).unwrap();
            let found = found(agent, folder.path().join("bin").as_os_str()).unwrap();
            assert_eq!(found.version.as_deref(), Some(version), "{name}");
        }
    }

    #[test]
    fn a_program_that_is_no_package_says_its_version_itself() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("codex");
        fs::write(&program, "#!/bin/sh\necho codex-cli 0.171.0\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let agent = jig_session_agents::named("codex").unwrap();
        let found = found(agent, folder.path().as_os_str()).unwrap();
        assert_eq!(found.version.as_deref(), Some("0.171.0"));
        assert_eq!(super::found(agent, OsStr::new("/nonexistent")), None);
    }
}
