//! The verdict on real processes.
#![allow(clippy::disallowed_methods, reason = "tests read the files that they made")]
#![cfg(target_os = "linux")]

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use jig_session_liveness::{
    Machine, Probe, ProbeError, Probes, Process, ProcessState, Processes, Record, Rule, Verdict,
};
use jig_session_schema::status;
use jig_session_testing::child::{NOBODY, is_root, open_copy};
use jig_session_testing::{skipped, until};

fn process(pid: u32) -> Result<Process, ProbeError> {
    Machine::new().process(pid)
}

fn identity_of(pid: u32) -> Result<status::Process, ProbeError> {
    Machine::new().identity_of(pid)
}

fn current() -> Result<status::Process, ProbeError> {
    identity_of(std::process::id())
}

fn ancestors(pid: u32) -> Vec<Process> {
    Machine::new().ancestors(pid)
}

fn judge(subject: &Subject) -> (Verdict, Option<&'static str>, Rule) {
    let judged = Machine::new().judge(&subject.record());
    (judged.verdict, judged.detail, judged.rule)
}

#[test]
fn this_process_is_alive() {
    let own = current().expect("it runs");
    let start = own.start.as_deref().expect("shown");
    assert!(start.strip_prefix("linux:").is_some_and(|ticks| ticks.parse::<u64>().is_ok()), "{start}");
    assert_eq!(own.boot_id.as_deref().map(str::len), Some(36));
    assert!(own.pid_namespace.as_deref().is_some_and(|inode| inode.parse::<u64>().is_ok()));
    let hex = |text: &str| text.len() == 16 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    match std::fs::read_to_string("/etc/machine-id") {
        Ok(id) if !id.trim().is_empty() => {
            let machine = own.machine.as_deref().expect("told");
            assert!(hex(machine), "{machine}");
            assert!(!id.contains(machine), "never the id itself");
        }
        _ => skipped("this_process_is_alive (machine)", "this machine has no id"),
    }
    assert_eq!(identity_of(std::process::id()), Ok(own));
    assert_eq!(judge(&Subject::of(std::process::id())), (Verdict::Alive, None, Rule::SameStart));
}

#[test]
fn a_child_lives_stops_and_goes() {
    let child = Running::start("sh", &["-c", "kill -STOP $$; exec sleep 600"]);
    let subject = Subject::of(child.id());
    until("a stop", || judge(&subject).1 == Some("stopped"));
    assert_eq!(judge(&subject), (Verdict::Alive, Some("stopped"), Rule::SameStart));
    let id = rustix::process::Pid::from_raw(child.id() as i32).expect("an id");
    rustix::process::kill_process(id, rustix::process::Signal::CONT).expect("it goes on");
    // The program that follows by exec has the same identity.
    until("another program", || process(subject.pid).is_ok_and(|now| now.command == "sleep"));
    assert_eq!(judge(&subject), (Verdict::Alive, None, Rule::SameStart));
    child.end();
    assert_eq!(judge(&subject), (Verdict::Gone, None, Rule::NoProcess));
    assert!(Machine::new().is_missing(subject.pid));
    assert_eq!(identity_of(subject.pid), Err(ProbeError::Missing));
}

#[test]
fn a_zombie_is_gone() {
    let mut child = Running::start("sh", &["-c", "read line"]);
    // With nothing to read it ends at once; it is asked about as soon as it may have.
    let pid = child.id();
    until("an end", || process(pid).is_ok_and(|now| now.state == ProcessState::Zombie));
    let subject = Subject::of(pid);
    assert_eq!(judge(&subject), (Verdict::Gone, Some("zombie"), Rule::Zombie));
    let legacy = Record { pid: Some(i64::from(pid)), ..Record::default() };
    assert_eq!(Machine::new().judge(&legacy).verdict, Verdict::Gone);
    child.0.wait().expect("it has ended");
    assert_eq!(judge(&subject).0, Verdict::Gone);
}

#[test]
fn a_process_whose_first_thread_has_ended_is_alive() {
    const NAME: &str = "a_process_whose_first_thread_has_ended_is_alive";
    if !cfg!(target_arch = "x86_64") {
        return skipped(NAME, "the number of the system call that ends a thread is written here for x86-64 only");
    }
    let script = "import ctypes, threading, time\n\
                  threading.Thread(target=time.sleep, args=(600,)).start()\n\
                  ctypes.CDLL(None).syscall(60, 0)";
    let Ok(child) = std::process::Command::new("python3").args(["-c", script]).spawn() else {
        return skipped(NAME, "python3 is not installed");
    };
    let child = Running(child);
    let subject = Subject::of(child.id());
    let stat = format!("/proc/{}/stat", child.id());
    until("the end of the first thread", || {
        std::fs::read_to_string(&stat).is_ok_and(|text| text.rsplit(')').next().is_some_and(|t| t.starts_with(" Z")))
    });
    assert_eq!(judge(&subject), (Verdict::Alive, None, Rule::SameStart));
}

#[test]
fn absurd_ids_are_no_process() {
    let own = current().expect("it runs");
    let machine = Machine::new();
    for pid in [0, -1, -2, i64::MIN, i64::from(i32::MAX), 2_147_483_648, 4_294_967_295, 4_294_967_296, i64::MAX] {
        let judged = machine.judge(&Record { pid: Some(pid), ..Record::of(Some(1), Some(&own)) });
        assert_eq!((judged.verdict, judged.rule), (Verdict::Unknown, Rule::BadPid), "{pid}");
    }
    for pid in [0, u32::MAX, i32::MAX as u32, 2_147_483_648] {
        assert_eq!(identity_of(pid), Err(ProbeError::Missing), "{pid}");
    }
    let judged = machine.judge(&Record { pid: None, ..Record::of(Some(1), Some(&own)) });
    assert_eq!((judged.verdict, judged.rule), (Verdict::Unknown, Rule::NoPid));
}

/// The ids of threads come from the same numbers: one is no proof that a recorded process lives.
#[test]
fn a_thread_id_is_not_the_process_that_had_it() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let (stop, wait) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || {
        sender.send(rustix::thread::gettid().as_raw_nonzero().get()).expect("heard");
        let _ = wait.recv();
    });
    let id = u32::try_from(receiver.recv().expect("told")).expect("positive");
    assert_ne!(id, std::process::id());
    // Recorded by a process that started at another time, as every former owner of the number did.
    let mut identity = current().expect("it runs");
    identity.start = Some("linux:1".to_owned());
    assert_eq!(judge(&Subject { pid: id, identity }).0, Verdict::Reused);
    drop(stop);
    thread.join().expect("no panic");
}

#[test]
fn a_record_without_identity_is_judged_one_sided() {
    let child = Running::sleeping();
    let started = process(child.id()).expect("it runs").started_ms.expect("told");
    let judge = |written_ms| {
        let record = Record { pid: Some(i64::from(child.id())), written_ms, local: true, ..Record::default() };
        Machine::new().judge(&record).rule
    };
    // A session may begin long after its process; a process cannot begin after its own last sign.
    assert_eq!(judge(Some(started + 44_888_000)), Rule::NoIdentity);
    assert_eq!(judge(Some(started)), Rule::NoIdentity);
    assert_eq!(judge(None), Rule::NoIdentity);
    let before = started - 120_000;
    if Machine::new().booted_ms().is_some_and(|booted| before > booted) {
        assert_eq!(judge(Some(before)), Rule::TooYoung);
    } else {
        skipped("a_record_without_identity_is_judged_one_sided (too young)", "this machine was started just now");
    }
    let booted = Machine::new().booted_ms().expect("told");
    assert_eq!(judge(Some(booted - 70_000)), Rule::BeforeBoot);
}

#[test]
fn the_ancestors_lead_to_this_process() {
    let child = Running::start("sh", &["-c", "sleep 600; true"]);
    let mut grandchild = None;
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    if std::fs::read_to_string(&children).is_err() {
        return skipped("the_ancestors_lead_to_this_process", "this kernel does not list children");
    }
    until("a grandchild", || {
        let text = std::fs::read_to_string(&children).unwrap_or_default();
        grandchild = text.split_whitespace().next().and_then(|pid| pid.parse().ok());
        grandchild.is_some_and(|pid| process(pid).is_ok_and(|now| now.command == "sleep"))
    });
    let found = ancestors(grandchild.expect("seen"));
    let pids: Vec<u32> = found.iter().map(|process| process.pid).collect();
    assert_eq!(pids[..2], [child.id(), std::process::id()]);
    assert_eq!(found[0].command, "sh");
    assert!(pids.len() < 128);
    assert!(ancestors(u32::MAX).is_empty());
    let id = rustix::process::Pid::from_raw(grandchild.expect("seen") as i32).expect("an id");
    let _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
}

/// Each process is looked at once in one look around, and its end is seen in the next one.
#[test]
fn one_look_sees_one_moment() {
    let child = Running::sleeping();
    let subject = Subject::of(child.id());
    let machine = Machine::new();
    let look = Probes::new(&machine);
    assert_eq!(look.judge(&subject.record()).verdict, Verdict::Alive);
    child.end();
    assert_eq!(look.judge(&subject.record()).verdict, Verdict::Alive);
    assert_eq!(Probes::new(&machine).judge(&subject.record()).verdict, Verdict::Gone);
}

/// Without a descriptor left nothing is concluded about a live process; that a process is gone needs none.
#[test]
fn no_descriptors_left_is_unknown() {
    const NAME: &str = "no_descriptors_left_is_unknown";
    if let Some(subject) = Subject::given() {
        let machine = Machine::new();
        assert_eq!(machine.judge(&subject.record()).verdict, Verdict::Alive);
        let gone = Subject { pid: Running::sleeping().end(), identity: subject.identity.clone() };
        let mut held = Vec::new();
        while let Ok(file) = std::fs::File::open("/dev/null") {
            held.push(file);
            assert!(held.len() < 10_000, "the limit is not in force");
        }
        let judged = machine.judge(&subject.record());
        let dead = machine.judge(&gone.record());
        let probe = machine.evidence(&subject.record()).probe;
        held.clear();
        assert_eq!((judged.verdict, judged.rule), (Verdict::Unknown, Rule::ProbeFailed));
        assert_eq!(probe, Probe::Failed(Some(24)));
        assert_eq!(dead.verdict, Verdict::Gone);
        return;
    }
    let line = "ulimit -n 30; exec \"$0\" \"$@\"";
    again(&["sh", "-c", line], None, NAME, &Subject::of(std::process::id())).expect("a shell runs");
}

/// A process of another user: signalling it is refused, looking at it is not.
#[test]
fn the_process_of_another_user_is_alive() {
    const NAME: &str = "the_process_of_another_user_is_alive";
    if let Some(subject) = Subject::given() {
        assert_eq!(rustix::process::geteuid().as_raw(), NOBODY);
        assert_eq!(judge(&subject), (Verdict::Alive, None, Rule::SameStart));
        return;
    }
    if !is_root() {
        return skipped(NAME, "only root can start a process as another user");
    }
    let temp = tempfile::tempdir().expect("a temporary folder");
    let copy = open_copy(temp.path());
    let wrapper = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let child = Running::sleeping();
    if let Err(why) = again(&wrapper, Some(&copy), NAME, &Subject::of(child.id())) {
        skipped(NAME, &why);
    }
}

/// `/proc` may hide the processes of others: they exist, and their start cannot be read.
#[test]
fn a_hidden_process_is_alive_unverified() {
    const NAME: &str = "a_hidden_process_is_alive_unverified";
    if let Some(subject) = Subject::given() {
        assert_eq!(judge(&subject), (Verdict::Unverified, Some("start unreadable"), Rule::StartHidden));
        assert_eq!(identity_of(subject.pid), Err(ProbeError::Hidden));
        assert!(!Machine::new().is_missing(subject.pid));
        let gone = Subject { pid: Running::sleeping().end(), identity: subject.identity };
        assert_eq!(judge(&gone), (Verdict::Gone, None, Rule::NoProcess));
        return;
    }
    if !is_root() {
        return skipped(NAME, "only root can mount a process folder that hides");
    }
    let temp = tempfile::tempdir().expect("a temporary folder");
    let copy = open_copy(temp.path());
    let line = "mount -t proc -o hidepid=2 proc /proc && \
                exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$0\" \"$@\"";
    let child = Running::sleeping();
    let wrapper = ["unshare", "--mount", "sh", "-c", line];
    if let Err(why) = again(&wrapper, Some(&copy), NAME, &Subject::of(child.id())) {
        skipped(NAME, &format!("a process folder that hides cannot be mounted here: {why}"));
    }
}

/// The same number means another process in another pid namespace, whatever is mounted on `/proc`.
#[test]
fn another_namespace_is_unknown() {
    const NAME: &str = "another_namespace_is_unknown";
    if let Some(subject) = Subject::given() {
        assert_eq!(judge(&subject), (Verdict::Unknown, Some("other pid namespace"), Rule::OtherNamespace));
        return;
    }
    if !is_root() {
        return skipped(NAME, "only root can make a pid namespace here");
    }
    let child = Running::sleeping();
    for wrapper in [&["unshare", "--pid", "--fork", "--mount-proc"][..], &["unshare", "--pid", "--fork"][..]] {
        if let Err(why) = again(wrapper, None, NAME, &Subject::of(child.id())) {
            skipped(NAME, &format!("no pid namespace can be made here: {why}"));
        }
    }
}

/// A `/proc` of another namespace is not believed: its numbers are not ours.
#[test]
fn a_foreign_process_folder_is_not_believed() {
    const NAME: &str = "a_foreign_process_folder_is_not_believed";
    if Subject::given().is_some() {
        assert_eq!(current(), Err(ProbeError::Hidden));
        let child = Running::sleeping();
        let record = Record { pid: Some(i64::from(child.id())), ..Record::default() };
        assert_eq!(Machine::new().judge(&record).verdict, Verdict::Unverified);
        let gone = Record { pid: Some(i64::from(child.end())), ..Record::default() };
        assert_eq!(Machine::new().judge(&gone).verdict, Verdict::Gone);
        return;
    }
    if !is_root() {
        return skipped(NAME, "only root can make a pid namespace here");
    }
    // The child is process 1 of its namespace, and must not be the one number that is the same in both.
    let wrapper = ["unshare", "--pid", "--fork"];
    if let Err(why) = again(&wrapper, None, NAME, &Subject::of(std::process::id())) {
        skipped(NAME, &format!("no pid namespace can be made here: {why}"));
    }
}

/// A time namespace shifts the kernel's number; the process is the same one from both sides.
#[test]
fn another_time_namespace_changes_nothing() {
    const NAME: &str = "another_time_namespace_changes_nothing";
    if let Some(subject) = Subject::given() {
        assert_ne!(identity_of(subject.pid).expect("it runs").start, subject.identity.start, "the clock is shifted");
        assert_eq!(judge(&subject), (Verdict::Alive, None, Rule::SameStart));
        let mut other = subject;
        other.identity.start = Some("linux:1".to_owned());
        assert_eq!(judge(&other).0, Verdict::Reused);
        return;
    }
    if !is_root() {
        return skipped(NAME, "only root can make a time namespace here");
    }
    let child = Running::sleeping();
    let wrapper = ["unshare", "--time", "--boottime", "100000", "--fork"];
    if let Err(why) = again(&wrapper, None, NAME, &Subject::of(child.id())) {
        skipped(NAME, &format!("no time namespace can be made here: {why}"));
    }
}

/// No live process is ever called gone, whatever state it is in and however busy the machine is.
#[test]
fn no_live_process_is_called_gone() {
    let probes = if full() { 10_000 } else { 1_000 };
    let mut running = vec![
        Running::sleeping(),
        Running::start("sh", &["-c", "kill -STOP $$"]),
        Running::start("sh", &["-c", "while :; do :; done"]),
        Running::start("sh", &["-c", "while sleep 0.01; do :; done"]),
    ];
    if is_root() {
        running.push(Running::as_nobody());
    }
    let mut subjects: Vec<Subject> = running.iter().map(|child| Subject::of(child.id())).collect();
    subjects.push(Subject::of(std::process::id()));
    subjects.push(Subject::of(1));
    let mut wrong = Vec::new();
    for round in 0..probes {
        let subject = &subjects[round % subjects.len()];
        let judged = Machine::new().judge(&subject.record());
        let legacy = Machine::new().judge(&Record { pid: Some(i64::from(subject.pid)), ..Record::default() });
        if judged.verdict != Verdict::Alive || legacy.verdict != Verdict::Unverified {
            wrong.push((subject.pid, judged, legacy));
        }
    }
    assert!(wrong.is_empty(), "{} of {probes}: {:?}", wrong.len(), wrong.first());
}

/// A process that has ended is never called alive, even when the very next process gets its number.
#[test]
fn no_dead_process_is_called_alive() {
    const NAME: &str = "no_dead_process_is_called_alive";
    if Subject::given().is_some() {
        let reuses = if full() { 1_000 } else { 20 };
        for round in 0..reuses {
            let former = Running::sleeping();
            let subject = Subject::of(former.id());
            a_tick_passes(&subject);
            let pid = former.end();
            assert_eq!(judge(&subject).0, Verdict::Gone, "round {round}");
            std::fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string()).expect("it was written to before");
            let next = Running::sleeping();
            assert_eq!(next.id(), pid, "round {round}: nobody else makes processes in this namespace");
            assert_eq!(judge(&subject), (Verdict::Reused, None, Rule::OtherStart), "round {round}");
        }
        return;
    }
    if !is_root() {
        return skipped(NAME, "only root can choose the next process id");
    }
    // In a namespace of its own, so that no other process takes the number in between.
    let line = "echo 100 >/proc/sys/kernel/ns_last_pid && exec \"$0\" \"$@\"";
    let wrapper = ["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", line];
    if let Err(why) = again(&wrapper, None, NAME, &Subject::of(std::process::id())) {
        skipped(NAME, &format!("the next process id cannot be chosen here: {why}"));
    }
}

/// The kernel dates starts in ticks of 10 ms. A number that came back within one tick could not be told from its former
/// owner; no system gives a number again so soon, and this test must not either.
fn a_tick_passes(subject: &Subject) {
    let ticks: i64 =
        subject.identity.start.as_deref().expect("recorded").trim_start_matches("linux:").parse().expect("a number");
    let per_second = i64::try_from(rustix::param::clock_ticks_per_second()).expect("small");
    until("the next tick", || {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        now.tv_sec * per_second + now.tv_nsec * per_second / 1_000_000_000 > ticks + 1
    });
}

/// The variable that tells a child which process it is to look at.
const SUBJECT: &str = "JIG_LIVENESS_TEST_SUBJECT";

/// Whether the long form was asked for: the figures of the contract instead of a taste of them.
fn full() -> bool {
    std::env::var_os("JIG_FULL").is_some_and(|value| value == "1")
}

/// A process id and its recorded identity, carried to a child in one variable.
struct Subject {
    pid: u32,
    identity: status::Process,
}

impl Subject {
    fn of(pid: u32) -> Self {
        Self { pid, identity: Machine::new().identity_of(pid).expect("it runs") }
    }

    fn record(&self) -> Record<'_> {
        Record::of(Some(self.pid), Some(&self.identity))
    }

    /// What this process was started to look at, if it is such a child.
    fn given() -> Option<Self> {
        let text = std::env::var(SUBJECT).ok()?;
        let mut fields = text.split('|').map(str::to_owned);
        let pid = fields.next()?.parse().ok()?;
        let mut next = || fields.next().filter(|field| !field.is_empty());
        let identity = status::Process::new().start(next()).boot_id(next()).pid_namespace(next()).machine(next());
        Some(Self { pid, identity })
    }

    fn text(&self) -> String {
        let status::Process { start, boot_id, pid_namespace, machine, .. } = &self.identity;
        let or = |field: &Option<String>| field.clone().unwrap_or_default();
        format!("{}|{}|{}|{}|{}", self.pid, or(start), or(boot_id), or(pid_namespace), or(machine))
    }
}

/// A child process that ends with the test, however the test ends.
struct Running(Child);

impl Running {
    fn start(program: &str, arguments: &[&str]) -> Self {
        Self(Command::new(program).args(arguments).stdin(Stdio::null()).spawn().expect("it starts"))
    }

    fn sleeping() -> Self {
        Self::start("sleep", &["600"])
    }

    fn as_nobody() -> Self {
        let mut command = Command::new("sleep");
        Self(command.arg("600").uid(NOBODY).gid(NOBODY).current_dir("/").spawn().expect("it starts"))
    }

    fn id(&self) -> u32 {
        self.0.id()
    }

    /// Ends it and waits for it, so that its id is free.
    fn end(mut self) -> u32 {
        let id = self.id();
        let _ = self.0.kill();
        self.0.wait().expect("it ends");
        id
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs one test of this program again behind other programs. `Err` holds why the wrapping failed, which is not the
/// child's failure: the child's is one of the test.
#[track_caller]
fn again(wrapper: &[&str], program: Option<&Path>, test: &str, subject: &Subject) -> Result<(), String> {
    let own = std::env::current_exe().expect("the test program has a path");
    let program = program.unwrap_or(&own);
    let mut words: Vec<OsString> = wrapper.iter().map(OsString::from).collect();
    words.push(program.into());
    words.extend([test, "--exact", "--test-threads=1", "--nocapture"].map(OsString::from));
    let first = words.remove(0);
    let output = Command::new(first).args(words).env(SUBJECT, subject.text()).output().map_err(|e| e.to_string())?;
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !text.contains("running 1 test") {
        return Err(text.trim().replace('\n', "; "));
    }
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    Ok(())
}
