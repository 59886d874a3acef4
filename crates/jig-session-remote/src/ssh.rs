//! The system's ssh: its options, and the command that it runs over there.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::host::Host;

/// Seconds until a host that does not answer counts as unreachable.
const CONNECT_SECONDS: u32 = 5;
/// The longest path of a socket, but for the digits that ssh puts in and the suffix it adds for a moment.
const SOCKET_PATH: usize = 104 - 40 - 18;
/// Looks where a shell that is not a login shell does not: both places hold what their user installed.
const PROGRAM: &str = r#"PATH="$PATH:$HOME/.local/bin:$HOME/.cargo/bin"; export PATH; "#;
/// Runs the program once.
const ONCE: &str = r#"exec jig-session "$@""#;
/// Runs the program until it ends or this side of the connection is gone: then its stdin ends. Without that it would
/// live over there until its next line.
const LASTING: &str = r#"exec 3<&0; jig-session "$@" </dev/null 3<&- & p=$!
{ cat <&3; kill $p; } >/dev/null 2>&1 & c=$!
exec 3<&-; wait $p; s=$?; kill $c 2>/dev/null; exit $s"#;

/// How ssh is called.
#[derive(Clone, Debug)]
pub struct Ssh {
    program: OsString,
    sockets: Option<PathBuf>,
}

impl Ssh {
    /// The `ssh` of this `PATH`. Connections are shared through sockets in that folder, which must be private; with
    /// none, or where its path is too long for a socket, each call connects anew.
    #[must_use]
    pub fn new(sockets: Option<&Path>) -> Self {
        let fits = |folder: &&Path| folder.as_os_str().len() <= SOCKET_PATH;
        Self { program: "ssh".into(), sockets: sockets.filter(fits).map(Path::to_owned) }
    }

    /// Another program in its place, for tests.
    #[must_use]
    pub fn with_program(mut self, program: impl Into<OsString>) -> Self {
        self.program = program.into();
        self
    }

    /// The words behind `jig-session`, run once.
    pub(crate) fn once(&self, host: &Host, words: &[String]) -> Command {
        let mut command = self.command(host, ONCE, words);
        command.stdin(Stdio::null());
        command
    }

    /// The words behind `jig-session`, run for as long as the command's stdin is open.
    pub(crate) fn lasting(&self, host: &Host, words: &[String]) -> Command {
        let mut command = self.command(host, LASTING, words);
        command.stdin(Stdio::piped());
        command
    }

    fn command(&self, host: &Host, script: &str, words: &[String]) -> Command {
        let mut command = Command::new(&self.program);
        for option in [
            // Nothing is ever asked: neither a password nor whether a key is right.
            "BatchMode=yes".to_owned(),
            format!("ConnectTimeout={CONNECT_SECONDS}"),
            // A connection that died is noticed within ten seconds.
            "ServerAliveInterval=5".to_owned(),
            "ServerAliveCountMax=2".to_owned(),
            "RequestTTY=no".to_owned(),
            "ForwardAgent=no".to_owned(),
            "ForwardX11=no".to_owned(),
            "ClearAllForwardings=yes".to_owned(),
        ] {
            command.arg("-o").arg(option);
        }
        if let Some(sockets) = self.sockets.as_ref().filter(|_| !self.is_shared_already(host)) {
            let mut path = OsString::from("ControlPath=");
            path.push(sockets.join("%C"));
            command.args(["-o", "ControlMaster=auto", "-o", "ControlPersist=60", "-o"]).arg(path);
        }
        let remote = format!("sh -c {} sh", quoted(&format!("{PROGRAM}{script}")));
        let remote = words.iter().fold(remote, |line, word| format!("{line} {}", quoted(word)));
        command.arg("--").arg(host.name()).arg(remote);
        command.env("SSH_ASKPASS_REQUIRE", "never").stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Whether the user's own configuration shares connections to this host: then that is not changed.
    fn is_shared_already(&self, host: &Host) -> bool {
        let asked = Command::new(&self.program).args(["-G", "--", host.name()]).stdin(Stdio::null()).output();
        asked.is_ok_and(|output| {
            let text = String::from_utf8_lossy(&output.stdout).to_ascii_lowercase();
            text.lines().any(|line| line.strip_prefix("controlpath ").is_some_and(|path| path.trim() != "none"))
        })
    }
}

/// A word for whatever shell runs the line over there.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(command: &Command) -> Vec<String> {
        command.get_args().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn nothing_is_asked_and_the_host_is_no_option() {
        let host = Host::new("far").expect("a host");
        let ssh = Ssh::new(None).with_program("/nonexistent/ssh");
        let words = words(&ssh.once(&host, &["ls".into(), "--json".into()]));
        assert!(words.contains(&"BatchMode=yes".to_owned()) && words.contains(&"ConnectTimeout=5".to_owned()));
        assert!(!words.iter().any(|word| word.starts_with("Control")));
        let end = words.iter().position(|word| word == "--").expect("the end of the options");
        assert_eq!((words[end + 1].as_str(), words.len()), ("far", end + 3));
        assert!(words[end + 2].starts_with("sh -c 'PATH="), "{}", words[end + 2]);
    }

    #[test]
    fn connections_are_shared_in_a_folder_whose_path_fits() {
        let host = Host::new("far").expect("a host");
        let with =
            |folder: &str| words(&Ssh::new(Some(Path::new(folder))).with_program("/nonexistent/ssh").once(&host, &[]));
        assert!(with("/run/user/1000/jig").contains(&"ControlPath=/run/user/1000/jig/%C".to_owned()));
        let long = format!("/{}", "x".repeat(90));
        assert!(!with(&long).iter().any(|word| word.starts_with("Control")));
    }

    #[test]
    fn a_word_stays_a_word_in_a_shell() {
        for word in ["plain", "two words", "it's", "$(id) `id` \\ \" ; & | > *", "-x", ""] {
            let script = format!("printf '%s' {}", quoted(word));
            let output = Command::new("sh").arg("-c").arg(script).output().expect("sh runs");
            assert_eq!(String::from_utf8_lossy(&output.stdout), word);
        }
    }

    #[test]
    fn what_lasts_ends_with_its_stdin_and_with_the_program() {
        let root = tempfile::tempdir().expect("a folder");
        let program = |text: &str| {
            let path = root.path().join("jig-session");
            std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("written");
            std::process::Command::new("chmod").arg("755").arg(&path).status().expect("chmod runs");
        };
        let start = || {
            let mut command = Command::new("sh");
            command.arg("-c").arg(format!("PATH=\"{}:$PATH\"; {LASTING}", root.path().display())).arg("sh").arg("one");
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("sh runs")
        };
        program("echo \"$1\"; exit 7");
        let output = start().wait_with_output();
        // wait_with_output closes stdin: the program may be ended by that before it ends itself.
        assert!(output.is_ok());
        let mut child = start();
        let held = child.stdin.take();
        assert_eq!(child.wait().expect("waited").code(), Some(7), "the program's own end");
        drop(held);
        program("echo $$; exec sleep 600");
        let mut child = start();
        let mut line = String::new();
        let out = child.stdout.take().expect("a pipe");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).expect("read");
        drop(child.stdin.take());
        child.wait().expect("waited");
        let proc = format!("/proc/{}", line.trim());
        assert!(!Path::new(&proc).exists(), "{proc}: the program is gone");
    }
}
