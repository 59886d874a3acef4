//! Processes of a test: a sleeper that a status file can name, the program run to its end, the program left running.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::DEADLINE;

/// A process that does nothing, killed and reaped at the end.
pub struct Sleeper(Child);

impl Sleeper {
    pub fn start() -> Self {
        let mut command = Command::new("sleep");
        command.arg("3600").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().expect("sleep can be started"))
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Kills and reaps it: from here on no process has this pid, until the system gives it to another.
    pub fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    /// Kills it without reaping: a zombie until this value is dropped.
    pub fn zombie(&mut self) {
        self.0.kill().expect("the process is ours");
        let end = Instant::now() + DEADLINE;
        while stat_fields(self.pid()).first().is_none_or(|state| state != "Z") {
            assert!(Instant::now() < end, "the killed process never became a zombie");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Sends a signal by name, such as `STOP`.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").arg(format!("-{name}")).arg(self.pid().to_string()).status();
        assert!(status.expect("kill can be started").success(), "the signal can be sent");
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The `process` object of a status file for a running process, read here without the program's own code.
/// `machine` is left out, as writers may.
pub fn identity(pid: u32) -> Value {
    let start = stat_fields(pid).get(19).cloned().expect("a running process has a start time");
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("the boot id can be read");
    let namespace = std::fs::read_link("/proc/self/ns/pid").expect("the pid namespace can be read");
    let namespace = namespace.to_string_lossy().chars().filter(char::is_ascii_digit).collect::<String>();
    json!({ "start": format!("linux:{start}"), "bootId": boot.trim(), "pidNamespace": namespace })
}

/// The fields of `/proc/<pid>/stat` from the third on (the state).
fn stat_fields(pid: u32) -> Vec<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    rest.split_ascii_whitespace().map(str::to_owned).collect()
}

/// What a run of the program gave.
#[derive(Debug)]
pub struct Output {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Output {
    /// The one document on stdout.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("stdout is no document ({error}): {self:?}"))
    }

    /// The error document on stderr.
    pub fn error(&self) -> Value {
        serde_json::from_str(&self.stderr).unwrap_or_else(|error| panic!("stderr is no document ({error}): {self:?}"))
    }

    /// Every line of stdout as a document.
    pub fn json_lines(&self) -> Vec<Value> {
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("no document ({error}): {line}"));
        self.stdout.lines().map(parse).collect()
    }

    /// Fails unless the exit code is this one.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "exit code; stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }
}

/// Runs a command to its end with `input` on stdin; kills it and fails the test after [`DEADLINE`].
pub fn finish(mut command: Command, input: &[u8]) -> Output {
    let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
    let mut child = command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let feeder = child.stdin.take().map(|mut pipe| {
        let input = input.to_vec();
        // A program that ends before it read everything is the program's choice.
        thread::spawn(move || drop(pipe.write_all(&input)))
    });
    let stdout = child.stdout.take().map(drain).expect("stdout is a pipe");
    let stderr = child.stderr.take().map(drain).expect("stderr is a pipe");
    let status = wait(&mut child, &format!("{command:?}"));
    if let Some(feeder) = feeder {
        let _ = feeder.join();
    }
    let text = |reader: thread::JoinHandle<Vec<u8>>| {
        String::from_utf8_lossy(&reader.join().expect("the reader does not panic")).into_owned()
    };
    Output { code: code_of(status), stdout: text(stdout), stderr: text(stderr) }
}

fn drain(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}

fn wait(child: &mut Child, what: &str) -> ExitStatus {
    let end = Instant::now() + DEADLINE;
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait().expect("the child is ours") {
            return status;
        }
        if Instant::now() > end {
            let _ = child.kill();
            let _ = child.wait();
            panic!("did not end within {DEADLINE:?}: {what}");
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// The exit code, or 128 + the signal that ended it, as a shell says it.
fn code_of(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

/// The program left running; killed and reaped at the end.
pub struct Running {
    child: Child,
    out: Receiver<String>,
    err: Receiver<String>,
}

impl Running {
    /// Starts a command with stdin, stdout and stderr as pipes.
    pub fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let out = lines(child.stdout.take().expect("stdout is a pipe"));
        let err = lines(child.stderr.take().expect("stderr is a pipe"));
        Self { child, out, err }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes one line to its stdin.
    pub fn send(&mut self, line: &str) {
        let pipe = self.child.stdin.as_mut().expect("stdin is still open");
        pipe.write_all(format!("{line}\n").as_bytes()).and_then(|()| pipe.flush()).expect("it still reads its stdin");
    }

    /// Closes its stdin.
    pub fn close_stdin(&mut self) {
        drop(self.child.stdin.take());
    }

    /// The next line of stdout; fails the test when none comes in [`DEADLINE`].
    #[track_caller]
    pub fn line(&self) -> String {
        next(&self.out, "stdout")
    }

    /// The next line of stdout as a document.
    #[track_caller]
    pub fn json_line(&self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("no document ({error}): {line}"))
    }

    /// The next line of stderr; fails the test when none comes in [`DEADLINE`].
    #[track_caller]
    pub fn error_line(&self) -> String {
        next(&self.err, "stderr")
    }

    /// The next line of stdout, if one comes within `limit`.
    pub fn line_within(&self, limit: Duration) -> Option<String> {
        self.out.recv_timeout(limit).ok()
    }

    /// Sends a signal by name, such as `TERM`.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").arg(format!("-{name}")).arg(self.pid().to_string()).status();
        assert!(status.expect("kill can be started").success(), "the signal can be sent");
    }

    /// Waits for its end and gives what was not read yet.
    pub fn end(mut self) -> Output {
        self.close_stdin();
        let code = code_of(wait(&mut self.child, "the running program"));
        let rest = |lines: &Receiver<String>| lines.iter().map(|line| line + "\n").collect::<String>();
        Output { code, stdout: rest(&self.out), stderr: rest(&self.err) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
        }
    });
    receiver
}

#[track_caller]
fn next(lines: &Receiver<String>, from: &str) -> String {
    match lines.recv_timeout(DEADLINE) {
        Ok(line) => line,
        Err(RecvTimeoutError::Timeout) => panic!("no line on {from} within {DEADLINE:?}"),
        Err(RecvTimeoutError::Disconnected) => panic!("{from} was closed before the line that was waited for"),
    }
}
