//! Running a program under strace: what it calls, and what happens when one of those calls fails or is its last.

use std::collections::HashMap;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::Context;

/// The calls that reach the file system. A leading `?` lets strace pass over a name that this processor does not have.
const CALLS: &str = "?open,openat,?openat2,?creat,?mkdir,mkdirat,read,?readv,?pread64,write,?writev,?pwrite64,fstat,\
    ?newfstatat,?stat,?lstat,statx,?access,?faccessat,?faccessat2,fstatfs,?statfs,fchmod,?chmod,fchmodat,fsync,\
    fdatasync,?rename,renameat,renameat2,?link,linkat,?unlink,unlinkat,?rmdir,ftruncate,flock,getdents64,?readlink,\
    readlinkat,close";

/// A program with its arguments and input. It gets no other environment than the one named here.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) input: String,
    /// The file system has no locks: that is what it is told.
    pub(crate) lockless: bool,
}

/// How a run ended and what it said.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) text: String,
    /// The fault was met: the call was reached in this run.
    pub(crate) hit: bool,
}

/// One call of a run that reaches into the watched folder.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) name: String,
    /// The how many-eth call of that name it is in its thread: strace counts so.
    pub(crate) nth: usize,
    /// The line of the log, for the report.
    pub(crate) line: String,
}

/// What is done to a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// The process is killed instead of making it.
    Kill,
    /// It is not made and gives this errno.
    Errno(&'static str),
}

pub(crate) fn is_there() -> bool {
    Command::new("strace").arg("--version").output().is_ok_and(|output| output.status.success())
}

impl Run {
    /// Runs it as it is.
    pub(crate) fn plainly(&self) -> anyhow::Result<Ended> {
        if self.lockless {
            return self.finish(self.traced(Path::new("/dev/null"), "flock", &[]));
        }
        let mut command = Command::new(&self.program);
        command.args(&self.args);
        self.finish(command)
    }

    /// The calls it makes into a folder, in their order.
    pub(crate) fn calls(&self, folder: &Path, log: &Path) -> anyhow::Result<Vec<Call>> {
        self.finish(self.traced(log, CALLS, &[]))?;
        let text = std::fs::read_to_string(log).with_context(|| format!("no log {}", log.display()))?;
        let folder = folder.to_string_lossy();
        let mut counts: HashMap<(&str, &str), usize> = HashMap::new();
        let mut calls = Vec::new();
        for line in text.lines() {
            let Some((thread, call)) = line.split_once(' ') else { continue };
            let Some((name, _)) = call.trim_start().split_once('(') else { continue };
            if !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
                continue;
            }
            let nth = counts.entry((thread, name)).or_default();
            *nth += 1;
            if line.contains(folder.as_ref()) && !(self.lockless && name == "flock") {
                calls.push(Call { name: name.to_owned(), nth: *nth, line: call.trim().to_owned() });
            }
        }
        Ok(calls)
    }

    /// Runs it with a fault at one call.
    pub(crate) fn with_fault(&self, call: &Call, fault: Fault, folder: &Path, log: &Path) -> anyhow::Result<Ended> {
        let (name, nth) = (&call.name, call.nth);
        let effect = match fault {
            Fault::Kill => "signal=SIGKILL".to_owned(),
            Fault::Errno(errno) => format!("error={errno}"),
        };
        let mut ended = self.finish(self.traced(log, name, &[format!("inject={name}:{effect}:when={nth}")]))?;
        ended.hit = match fault {
            Fault::Kill => ended.status.signal() == Some(9),
            Fault::Errno(_) => {
                let text = std::fs::read_to_string(log).unwrap_or_default();
                let folder = folder.to_string_lossy();
                let call = format!(" {name}(");
                let met = |line: &str| line.contains("(INJECTED)") && line.contains(folder.as_ref());
                text.lines().any(|line| line.contains(&call) && met(line))
            }
        };
        Ok(ended)
    }

    fn traced(&self, log: &Path, calls: &str, expressions: &[String]) -> Command {
        let mut command = Command::new("strace");
        command.args(["-f", "-y", "-qq", "-o"]).arg(log);
        // What is not traced is not disturbed.
        let flock = if self.lockless && !calls.contains("flock") { ",flock" } else { "" };
        command.args(["-e", &format!("trace={calls}{flock}")]);
        for expression in expressions {
            command.args(["-e", expression]);
        }
        if self.lockless {
            command.args(["-e", "inject=flock:error=ENOLCK"]);
        }
        command.arg("--").arg(&self.program).args(&self.args);
        command
    }

    fn finish(&self, mut command: Command) -> anyhow::Result<Ended> {
        command.env_clear().current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        let mut child = command.spawn().with_context(|| format!("cannot run {command:?}"))?;
        // The input is a few lines: it fits a pipe, so it can be written before anything is read. A program that ended
        // before does not read it, which is its own affair.
        let _ = child.stdin.take().expect("it is piped").write_all(self.input.as_bytes());
        let output = child.wait_with_output().with_context(|| format!("cannot wait for {command:?}"))?;
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        Ok(Ended { status: output.status, text, hit: false })
    }
}
