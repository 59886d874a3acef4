//! A repository, its bus, and a world that does what the test says.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jig_session_bus::who::IdSource;
use jig_session_bus::{Bus, Call, Context, Done, Me, Moment, Room, World, perform_within};
use jig_session_liveness::fake::{BOOT, Table};
use jig_session_liveness::{Processes, Verdict};
use jig_session_schema::bus_result::{
    BusResult, CheckResult, ClaimResult, InboxResult, JoinResult, LeaveResult, PeekResult, ReleaseResult, SendResult,
    StatusResult,
};
use jig_session_schema::status::{AgentName, Process};

/// A day of 2026, well after every file that a test makes by hand.
pub(crate) const NOON: i64 = 1_796_000_000_000;

#[derive(Debug)]
struct Now {
    moment: Moment,
    chance: u32,
    this: u32,
}

/// A world that a test winds by hand.
#[derive(Debug)]
pub(crate) struct Fake(RefCell<Now>, Table);

impl World for Fake {
    fn now(&self) -> Moment {
        self.0.borrow().moment.clone()
    }

    fn processes(&self) -> &dyn Processes {
        &self.1
    }

    fn pid(&self) -> u32 {
        self.0.borrow().this
    }

    fn random(&self) -> u32 {
        let mut now = self.0.borrow_mut();
        now.chance += 1;
        now.chance
    }
}

/// A repository with its bus.
pub(crate) struct Town {
    dir: tempfile::TempDir,
    pub(crate) world: Fake,
    pub(crate) root: PathBuf,
    pub(crate) bus: PathBuf,
}

impl Town {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let base = dir.path().canonicalize().expect("its real path");
        let root = base.join("shop");
        for folder in ["src/api", "src/ui", "docs"] {
            fs::create_dir_all(root.join(folder)).expect("a folder");
        }
        git_init(&root.join(".git"));
        let moment = Moment { wall_ms: NOON, mono_ms: 1_000_000, boot_id: Some(BOOT.into()) };
        let now = Now { moment, chance: 0, this: 900 };
        Self { world: Fake(RefCell::new(now), Table::new()), root, bus: base.join("bus"), dir }
    }

    pub(crate) fn base(&self) -> PathBuf {
        self.dir.path().canonicalize().expect("its real path")
    }

    /// Both clocks go on.
    pub(crate) fn pass(&self, ms: u64) {
        let mut now = self.world.0.borrow_mut();
        now.moment.wall_ms += i64::try_from(ms).expect("a time");
        now.moment.mono_ms += ms;
    }

    /// The wall clock alone is set.
    pub(crate) fn set_wall(&self, by_ms: i64) {
        self.world.0.borrow_mut().moment.wall_ms += by_ms;
    }

    pub(crate) fn life(&self, pid: u32, verdict: Verdict) {
        self.world.1.set(pid, verdict);
    }

    /// How often a process was asked about.
    pub(crate) fn asked(&self) -> usize {
        self.world.1.judged()
    }

    /// From now on this process is another one.
    pub(crate) fn be(&self, pid: u32) {
        self.world.0.borrow_mut().this = pid;
    }

    pub(crate) fn try_at(&self, cwd: &Path, me: &Me, call: &Call) -> Result<Done, jig_session_bus::Error> {
        let repo = jig_session_bus::find_repo(cwd, None).expect("a repository");
        let room = if me.timer { Room::ANSWER } else { Room::output(Room::ANSWER.cost) };
        let context = Context { root: &self.bus, repo, world: &self.world, me, room };
        perform_within(&context, call, Duration::from_millis(50))
    }

    pub(crate) fn at(&self, cwd: &Path, me: &Me, call: &Call) -> Done {
        self.try_at(cwd, me, call).expect("the bus works")
    }

    pub(crate) fn act(&self, me: &Me, call: &Call) -> Done {
        self.at(&self.root.clone(), me, call)
    }

    pub(crate) fn open(&self) -> Bus<'_> {
        let repo = jig_session_bus::find_repo(&self.root, None).expect("a repository");
        Bus::open(&self.bus, repo, &self.world).expect("the bus works")
    }

    /// The bus folder of this repository.
    pub(crate) fn folder(&self) -> PathBuf {
        self.bus.join(jig_session_bus::find_repo(&self.root, None).expect("a repository").key)
    }

    pub(crate) fn files(&self, folder: &str) -> Vec<String> {
        names(&self.folder().join(folder))
    }

    pub(crate) fn status(&self, me: &Me) -> StatusResult {
        result!(self.act(me, &Call::Status), Status)
    }

    pub(crate) fn join(&self, me: &Me) -> JoinResult {
        self.join_as(me, None)
    }

    pub(crate) fn join_as(&self, me: &Me, label: Option<&str>) -> JoinResult {
        result!(self.act(me, &join(label)), Join)
    }

    pub(crate) fn leave(&self, me: &Me) -> LeaveResult {
        result!(self.act(me, &Call::Leave), Leave)
    }

    pub(crate) fn send(&self, me: &Me, to: &str, text: &str) -> SendResult {
        result!(self.act(me, &message(to, text, "message")), Send)
    }

    pub(crate) fn claim(&self, me: &Me, path: &str) -> ClaimResult {
        self.claim_all(me, &[path])
    }

    pub(crate) fn claim_all(&self, me: &Me, paths: &[&str]) -> ClaimResult {
        result!(self.act(me, &claim(paths)), Claim)
    }

    pub(crate) fn check(&self, me: &Me, path: &str) -> CheckResult {
        result!(self.act(me, &Call::Check { paths: vec![path.into()] }), Check)
    }

    pub(crate) fn release(&self, me: &Me, paths: &[&str]) -> ReleaseResult {
        result!(self.act(me, &release(paths)), Release)
    }

    pub(crate) fn release_all(&self, me: &Me) -> ReleaseResult {
        result!(self.act(me, &Call::Release { paths: None }), Release)
    }

    pub(crate) fn peek(&self, me: &Me) -> PeekResult {
        result!(self.act(me, &Call::Peek { limit: None }), Peek)
    }

    /// Takes mail and confirms it, as every surface does after its output was flushed.
    pub(crate) fn inbox(&self, me: &Me) -> InboxResult {
        self.inbox_of(me, None)
    }

    pub(crate) fn inbox_of(&self, me: &Me, limit: Option<u64>) -> InboxResult {
        let mut done = self.act(me, &Call::Inbox { limit });
        if let Some(taken) = done.taken.take() {
            taken.confirm().expect("confirmed");
        }
        result!(done, Inbox)
    }

    pub(crate) fn texts(&self, me: &Me) -> Vec<String> {
        self.inbox(me).messages.into_iter().filter_map(|message| message.text).collect()
    }
}

/// The result of one action, or the test's end.
macro_rules! result {
    ($done:expr, $Variant:ident) => {
        match $done.result {
            BusResult::$Variant(result) => result,
            other => panic!("another action's result: {other:?}"),
        }
    };
}
pub(crate) use result;

pub(crate) fn join(label: Option<&str>) -> Call {
    Call::Join { label: label.map(str::to_owned), wake: false, listen: true, guard: None }
}

pub(crate) fn message(to: &str, text: &str, kind: &str) -> Call {
    Call::Send { to: to.into(), text: text.into(), kind: kind.into(), paths: Vec::new(), reply_to: None }
}

pub(crate) fn claim(paths: &[&str]) -> Call {
    Call::Claim { paths: paths.iter().map(|path| (*path).to_owned()).collect(), reason: None }
}

pub(crate) fn release(paths: &[&str]) -> Call {
    Call::Release { paths: Some(paths.iter().map(|path| (*path).to_owned()).collect()) }
}

/// A session with a process of its own.
pub(crate) fn session(id: &str, pid: u32) -> Me {
    let process = Process::new().start(Some(format!("linux:{pid}"))).boot_id(Some(BOOT.into()));
    with_process(id, Some(pid), Some(process))
}

/// A session of which nobody knows a process.
pub(crate) fn unproven(id: &str) -> Me {
    with_process(id, None, None)
}

pub(crate) fn with_process(id: &str, pid: Option<u32>, process: Option<Process>) -> Me {
    Me {
        id: id.into(),
        agent: AgentName::PI,
        model: None,
        pid,
        owner: Me::owner_of(id, pid, process.as_ref(), 0),
        process,
        name: None,
        source: IdSource::Agent { replaces: true },
        timer: true,
    }
}

pub(crate) fn calls(me: Me) -> Me {
    Me { timer: false, ..me }
}

/// What git makes of a new repository, as far as it is looked at.
pub(crate) fn git_init(folder: &Path) {
    for sub in ["objects", "refs/heads"] {
        fs::create_dir_all(folder.join(sub)).expect("a folder");
    }
    fs::write(folder.join("HEAD"), "ref: refs/heads/main\n").expect("a file");
}

pub(crate) fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Every file below a folder with its bytes and time: equal trees mean that nothing was touched.
pub(crate) fn tree(folder: &Path) -> Vec<(PathBuf, Vec<u8>, std::time::SystemTime)> {
    let mut found = Vec::new();
    let mut left = vec![folder.to_owned()];
    while let Some(folder) = left.pop() {
        for name in names(&folder) {
            let path = folder.join(name);
            let about = path.symlink_metadata().expect("an entry");
            if about.is_dir() {
                left.push(path);
            } else {
                let bytes = fs::read(&path).expect("a file");
                found.push((path, bytes, about.modified().expect("a time")));
            }
        }
    }
    found.sort();
    found
}
