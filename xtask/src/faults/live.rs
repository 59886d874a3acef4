//! A program that runs on while something is done around it.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::Value;

use super::strace::Run;

/// How long anything may take before it counts as hung.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A running program; it is ended with its owner, however that ends.
pub(crate) struct Live {
    child: Child,
}

impl Live {
    pub(crate) fn start(run: &Run) -> anyhow::Result<Self> {
        let mut command = Command::new(&run.program);
        command.args(&run.args).env_clear().envs(run.env.iter().map(|(name, value)| (name, value)));
        command.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().with_context(|| format!("cannot run {}", run.program.display()))?;
        Ok(Self { child })
    }

    /// Writes one line to its input.
    pub(crate) fn line(&mut self, line: &Value) -> anyhow::Result<()> {
        let input = self.child.stdin.as_mut().context("its input is closed")?;
        writeln!(input, "{line}").context("it reads no more")
    }

    /// Closes its input.
    pub(crate) fn close(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Reads its stderr until a line holds a word; gives that line. The rest is read and dropped, so that it never waits
    /// for a reader.
    pub(crate) fn stderr_until(&mut self, word: &str) -> anyhow::Result<String> {
        let stderr: ChildStderr = self.child.stderr.take().context("its stderr is read already")?;
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let end = Instant::now() + PATIENCE;
        let mut said = Vec::new();
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let line = receiver.recv_timeout(left);
            let line = line.with_context(|| format!("it did not say {word}, only: {}", said.join(" | ")))?;
            if line.contains(word) {
                return Ok(line);
            }
            said.push(line);
        }
    }

    /// Closes its input and waits for its end.
    pub(crate) fn end(mut self) -> anyhow::Result<ExitStatus> {
        self.close();
        self.child.wait().context("cannot wait for it")
    }

    /// Waits for its end; gives what it said on stderr.
    pub(crate) fn output(mut self) -> anyhow::Result<(ExitStatus, String)> {
        self.close();
        let mut said = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            stderr.read_to_string(&mut said).context("cannot read what it says")?;
        }
        Ok((self.child.wait().context("cannot wait for it")?, said))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Looks again and again until something holds.
pub(crate) fn wait_for(what: &str, mut holds: impl FnMut() -> bool) -> anyhow::Result<()> {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        anyhow::ensure!(Instant::now() < end, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
