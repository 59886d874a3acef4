//! A lock made of files, for file systems that have none: held by who made a file, and taken over from the dead.
//!
//! `lock.holder` names its holder: a word of its own (the token) and the identity of a process. Whoever makes that file,
//! which only one can, has the lock, and gives it back by removing it.
//!
//! A dead holder's file is not removed: of two that judge the same dead file one would remove the file of a third, made
//! meanwhile. The heir makes `lock.holder-<token>` instead, with the token of the dead, and again only one can; if the
//! heir dies too, the next heir's file bears the heir's token. So the holder is the last of a chain that begins with
//! `lock.holder`, and it alone removes that file, which frees all.
//!
//! A heir that was slow may have come to a chain that was freed since. It looks again: no token ever comes back, so if
//! `lock.holder` is the file that it began with, the chain was there all the time, and its end is the heir.
//!
//! Age proves nothing. A holder of which nothing is known (another machine, another pid namespace) is waited for and
//! named, never passed over.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jig_session_atomic::{PrivateDir, Reason, Stamp};
use jig_session_liveness::Record;
use jig_session_schema::bus_marks::LockHolder;
use jig_session_schema::limits::{BUS_FILE_BYTES, UNPARSABLE_AGE};
use jig_session_schema::names;
use jig_session_schema::status::Process;

use crate::error::{Code, Error, Refusal};
use crate::world::{World, verdict};

/// The file that the lock is.
const HOLDER: &str = "lock.holder";

/// Who waits looks again after a time that grows to this, and differs, so that two do not meet for ever.
const LONGEST_PAUSE_MS: u32 = 20;

/// How often one that does not wait begins anew, when others are quicker each time.
const TRIES: u32 = 8;

/// No chain of heirs that died one after the other is that long.
const LONGEST_CHAIN: usize = 1000;

/// Tokens of this process's holders. A file of ours with another token is one that could not be removed.
static HELD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Number of locks this process has requested so far.
static CALLS: AtomicU64 = AtomicU64::new(0);

fn held() -> MutexGuard<'static, BTreeSet<String>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a file of this name is an heir's.
pub(crate) fn is_successor(name: &str) -> bool {
    name.strip_prefix(HOLDER).is_some_and(|rest| rest.starts_with('-'))
}

fn heir_of(token: &str) -> String {
    format!("{HOLDER}-{token}")
}

/// One file of the chain.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Holder {
    token: String,
    /// `None` when the file does not say.
    who: Option<(u32, Process)>,
    /// When it was made, in milliseconds since 1970.
    made_ms: i64,
}

impl Holder {
    /// This process, with a token that nobody has had.
    fn new(world: &dyn World) -> Self {
        let (pid, start) = world.this();
        let process = world.processes().identity_of(pid).unwrap_or_default();
        let boot = process.boot_id.as_deref().unwrap_or_default();
        let namespace = process.pid_namespace.as_deref().unwrap_or_default();
        // The identity distinguishes processes, the count distinguishes calls, the random part covers the rest.
        let count = CALLS.fetch_add(1, Ordering::Relaxed);
        let chance = RandomState::new().hash_one(count);
        let token = names::hash16(&format!("{pid} {start} {boot} {namespace} {count} {chance}"));
        Self { token, who: Some((pid, process)), made_ms: 0 }
    }

    fn bytes(&self) -> Vec<u8> {
        let Some((pid, process)) = &self.who else { return Vec::new() };
        let file = LockHolder::new().token(self.token.clone()).pid(*pid).process(process.clone());
        crate::store::bytes(&file)
    }

    fn parse(bytes: &[u8], stamp: &Stamp) -> Option<Self> {
        let LockHolder { token, pid, process, .. } = LockHolder::read(bytes).ok()?.value;
        let is_token = token.len() == 16 && names::safe(&token) == token;
        is_token.then(|| Self { token, who: Some((pid, process)), made_ms: stamp.modified_ms() })
    }

    /// A file that a power cut left: it names no holder, so its version identifies it.
    fn unnamed(stamp: &Stamp) -> Self {
        let version = format!("{} {} {}", stamp.inode, stamp.size, stamp.modified_ns);
        Self { token: names::hash16(&version), who: None, made_ms: stamp.modified_ms() }
    }

    /// Reads one file of the chain; `None` when it is not there.
    fn read(dir: &PrivateDir, name: &str) -> Result<Option<Self>, Error> {
        match dir.read(name, BUS_FILE_BYTES) {
            Ok(read) => Ok(Some(Self::parse(&read.bytes, &read.stamp).unwrap_or_else(|| Self::unnamed(&read.stamp)))),
            Err(problem) => match (problem.reason, problem.stamp) {
                (Reason::Missing, _) => Ok(None),
                (Reason::Empty | Reason::TooLarge, Some(stamp)) => Ok(Some(Self::unnamed(&stamp))),
                _ => Err(Error::Entry { path: dir.path().join(name), problem }),
            },
        }
    }

    /// Whether its process is proved to have ended.
    fn is_over(&self, world: &dyn World) -> bool {
        let now = world.now();
        let booted_ms = now.wall_ms.saturating_sub(i64::try_from(now.mono_ms).unwrap_or(i64::MAX));
        let before_boot = self.made_ms < booted_ms;
        let Some((pid, process)) = &self.who else {
            // Files are whole from their first moment on: only a power cut leaves one that says nothing.
            let day_ms = i64::try_from(UNPARSABLE_AGE.as_millis()).unwrap_or(i64::MAX);
            return before_boot || now.wall_ms.saturating_sub(self.made_ms) > day_ms;
        };
        if process.start.is_none() {
            return false;
        }
        let own = world.processes().identity_of(world.pid()).ok();
        if Record::of(Some(*pid), Some(process)).same_process(&Record::of(Some(world.pid()), own.as_ref())) {
            return !held().contains(&self.token);
        }
        // Two machines made from one image share its id: another boot proves nothing of a file made during this one.
        let same_boot = process.boot_id == now.boot_id;
        verdict(world, Some(*pid), Some(process)).is_over() && (same_boot || before_boot)
    }
}

/// Who stands in the way of who waited in vain.
pub(crate) enum Standing {
    /// Another at each try.
    Many,
    /// This one, and whether its process is known to run.
    One(Holder, bool),
}

impl Standing {
    pub(crate) fn refusal(&self, dir: &PrivateDir) -> Refusal {
        let file = dir.path().join(HOLDER);
        let file = file.display();
        let busy = |message: String, hint: String| Refusal::new(Code::Busy, message).hint(hint);
        match self {
            Self::Many => busy("the bus is busy: many processes want its lock".into(), "try again".into()),
            Self::One(Holder { who: Some((pid, _)), .. }, true) => busy(
                format!("the bus is busy: process {pid} holds its lock"),
                format!("look at it with: ps -fp {pid}; the lock goes with the process"),
            ),
            Self::One(Holder { who: Some((pid, _)), .. }, false) => busy(
                format!("the bus is busy: process {pid} of another container or machine holds its lock"),
                format!("whether that process runs cannot be told from here; when it has ended: rm '{file}'"),
            ),
            Self::One(Holder { who: None, .. }, _) => busy(
                format!("the bus is busy: its lock {file} does not name its holder"),
                format!("it counts for nothing after a day; when no program works on this bus: rm '{file}'"),
            ),
        }
    }
}

/// The held lock of files; dropping it gives it back.
pub(crate) struct FileLock<'b> {
    dir: &'b PrivateDir,
    /// The token of the chain's first file.
    root: String,
    own: Token,
    /// The chain's files, the first one first.
    chain: Vec<String>,
}

/// A token that this process answers for.
struct Token(String);

impl Drop for Token {
    fn drop(&mut self) {
        held().remove(&self.0);
    }
}

/// What came of one try.
enum Try {
    /// The chain ends with us: the token of its first file, and its files.
    Held(String, Vec<String>),
    /// Another holds the lock.
    HeldBy(Holder),
    /// Something changed meanwhile.
    Again,
}

impl<'b> FileLock<'b> {
    /// Waits for the lock until `end`, looking at least once.
    pub(crate) fn acquire(
        dir: &'b PrivateDir,
        world: &dyn World,
        end: Instant,
    ) -> Result<Result<Self, Standing>, Error> {
        let me = Holder::new(world);
        held().insert(me.token.clone());
        let own = Token(me.token.clone());
        let mut tries = 0;
        loop {
            tries += 1;
            let met = match attempt(dir, world, &me)? {
                Try::Held(root, chain) => return Ok(Ok(Self { dir, root, own, chain })),
                Try::HeldBy(holder) => Some(holder),
                Try::Again if tries < TRIES => continue,
                Try::Again => None,
            };
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Err(match met {
                    None => Standing::Many,
                    Some(holder) => {
                        let who = holder.who.as_ref();
                        let runs =
                            who.is_some_and(|(pid, process)| verdict(world, Some(*pid), Some(process)).is_alive());
                        Standing::One(holder, runs)
                    }
                }));
            }
            let most = LONGEST_PAUSE_MS.min(1 << tries.min(16));
            let pause = u64::from(world.random() % most + 1);
            std::thread::sleep(Duration::from_millis(pause).min(left));
        }
    }

    /// Whether a file is part of the chain.
    pub(crate) fn needs(&self, name: &str) -> bool {
        self.chain.iter().any(|file| file == name)
    }
}

fn attempt(dir: &PrivateDir, world: &dyn World, me: &Holder) -> Result<Try, Error> {
    let Some(root) = Holder::read(dir, HOLDER)? else {
        let made = dir.create_new(HOLDER, &me.bytes())?.is_some();
        return Ok(if made { Try::Held(me.token.clone(), vec![HOLDER.to_owned()]) } else { Try::Again });
    };
    let (mut chain, mut last) = (vec![HOLDER.to_owned()], root.clone());
    loop {
        let heir = heir_of(&last.token);
        let Some(next) = Holder::read(dir, &heir)? else { break };
        chain.push(heir);
        last = next;
        if chain.len() > LONGEST_CHAIN {
            return Ok(Try::HeldBy(last));
        }
    }
    // Network file systems can create a file and still report a failure; such a file is ours all the same.
    if last.token != me.token {
        if !last.is_over(world) {
            return Ok(Try::HeldBy(last));
        }
        let heir = heir_of(&last.token);
        if dir.create_new(&heir, &me.bytes())?.is_none() {
            return Ok(Try::Again);
        }
        chain.push(heir);
    }
    let again = Holder::read(dir, HOLDER);
    if matches!(&again, Ok(Some(now)) if now.token == root.token) {
        return Ok(Try::Held(root.token, chain));
    }
    // The chain was released before we reached its end, so our link has no predecessor.
    if let Some(heir) = chain.last().filter(|name| is_successor(name)) {
        dir.remove(heir)?;
    }
    again.map(|_| Try::Again)
}

impl Drop for FileLock<'_> {
    fn drop(&mut self) {
        // A failure that passes is tried again. One that stays is met by this process's next call, which finds a file of
        // its own that nobody here answers for, or by the others when this process ends.
        for _ in 0..3 {
            match Holder::read(self.dir, HOLDER) {
                Ok(None) => break,
                // Somebody removed it by hand, and what stands there now is another's.
                Ok(Some(first)) if first.token != self.root => break,
                Ok(Some(_)) | Err(_) => {
                    if self.dir.remove(HOLDER).is_err() {
                        continue;
                    }
                    for heir in &self.chain[1..] {
                        let _ = self.dir.remove(heir);
                    }
                    break;
                }
            }
        }
        debug_assert!(held().contains(&self.own.0));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::atomic::{AtomicU32, AtomicUsize};

    use jig_session_liveness::fake::{BOOT, Table};
    use jig_session_liveness::{Processes, Verdict};

    use super::*;
    use crate::clock::Moment;

    /// Threads that stand for processes, and which of those have died.
    #[derive(Default)]
    struct Crowd {
        processes: Table,
        dead: AtomicUsize,
        born: AtomicU32,
        inside: AtomicUsize,
        overlaps: AtomicUsize,
        entered: AtomicUsize,
    }

    impl Crowd {
        fn born(&self) -> u32 {
            self.born.fetch_add(1, Ordering::Relaxed) + 1
        }

        /// What is done while the lock is held.
        fn work(&self, pause: Duration) {
            self.entered.fetch_add(1, Ordering::Relaxed);
            if self.inside.fetch_add(1, Ordering::SeqCst) != 0 {
                self.overlaps.fetch_add(1, Ordering::Relaxed);
            }
            std::thread::sleep(pause);
            self.inside.fetch_sub(1, Ordering::SeqCst);
        }
    }

    struct One<'a> {
        crowd: &'a Crowd,
        pid: Cell<u32>,
        dice: Cell<u32>,
    }

    impl One<'_> {
        fn die(&self) {
            self.crowd.processes.set(self.pid.get(), Verdict::Gone);
            self.crowd.dead.fetch_add(1, Ordering::Relaxed);
            self.pid.set(self.crowd.born());
        }
    }

    impl World for One<'_> {
        fn now(&self) -> Moment {
            Moment { wall_ms: 2_000_000_000_000, mono_ms: 2_000_000_000_000, boot_id: Some(BOOT.into()) }
        }

        fn processes(&self) -> &dyn Processes {
            &self.crowd.processes
        }

        fn pid(&self) -> u32 {
            self.pid.get()
        }

        fn random(&self) -> u32 {
            self.dice.set(self.dice.get().wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
            // Nobody waits for long here: the crowd is to be thick.
            (self.dice.get() >> 16) % 2
        }
    }

    fn crowd(rounds: u32, turn: impl Fn(&One<'_>, &PrivateDir) + Sync) -> Crowd {
        let folder = tempfile::tempdir().expect("a folder");
        let crowd = Crowd::default();
        std::thread::scope(|scope| {
            for seed in 0..8 {
                let (crowd, turn, path) = (&crowd, &turn, folder.path());
                scope.spawn(move || {
                    let dir = PrivateDir::open(path).expect("a folder");
                    let one = One { crowd, pid: Cell::new(crowd.born()), dice: Cell::new(seed) };
                    (0..rounds).for_each(|_| turn(&one, &dir));
                });
            }
        });
        crowd
    }

    #[test]
    fn one_at_a_time_holds_it_while_holders_and_heirs_die_at_every_step() {
        let roll = |one: &One<'_>| {
            one.random();
            one.dice.get() >> 20
        };
        let crowd = crowd(120, |one, dir| {
            let end = Instant::now() + Duration::from_secs(60);
            let Ok(lock) = FileLock::acquire(dir, one, end).expect("the folder works") else { panic!("too slow") };
            one.crowd.work(Duration::from_micros(1));
            match roll(one) % 6 {
                // It dies with the lock.
                0 => {
                    std::mem::forget(lock);
                    one.die();
                }
                // It dies while it gives the lock back.
                1 => {
                    dir.remove(HOLDER).expect("removed");
                    std::mem::forget(lock);
                    one.die();
                }
                _ => drop(lock),
            }
        });
        assert_eq!((crowd.overlaps.into_inner(), crowd.entered.into_inner()), (0, 8 * 120));
        assert!(crowd.dead.into_inner() > 100, "many died");
    }

    /// The obvious rule: who finds a dead holder's file removes it and makes its own. It must fail, or the check above
    /// sees nothing.
    #[test]
    fn the_check_sees_what_removing_the_file_of_the_dead_would_do() {
        let crowd = crowd(60, |one, dir| {
            let me = Holder::new(one);
            for _ in 0..200 {
                if dir.create_new(HOLDER, &me.bytes()).expect("the folder works").is_some() {
                    one.crowd.work(Duration::from_micros(500));
                    return one.die();
                }
                let holder = Holder::read(dir, HOLDER).expect("read");
                if holder.is_some_and(|holder| holder.is_over(one)) {
                    std::thread::sleep(Duration::from_micros(200));
                    dir.remove(HOLDER).expect("removed");
                }
            }
        });
        let entered = crowd.entered.into_inner();
        assert!(entered > 0 && crowd.overlaps.into_inner() > 0, "the check is blind: {entered} entered");
    }

    #[test]
    fn a_file_that_its_own_process_could_not_remove_is_passed_over_by_it_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let dir = PrivateDir::open(folder.path()).expect("a folder");
        let crowd = Crowd::default();
        let one = |pid| One { crowd: &crowd, pid: Cell::new(pid), dice: Cell::new(1) };
        let (a, b) = (one(1), one(2));
        let mut lock = FileLock::acquire(&dir, &a, Instant::now()).expect("the folder works").ok().expect("free");
        assert!(
            FileLock::acquire(&dir, &a, Instant::now()).expect("the folder works").is_err(),
            "held by this process"
        );
        // What is not its own is not removed: it looks as if that had failed.
        lock.root = "another".into();
        drop(lock);
        assert!(FileLock::acquire(&dir, &b, Instant::now()).expect("the folder works").is_err());
        let lock =
            FileLock::acquire(&dir, &a, Instant::now()).expect("the folder works").ok().expect("its own leftover");
        assert!(FileLock::acquire(&dir, &b, Instant::now()).expect("the folder works").is_err());
        drop(lock);
        assert!(FileLock::acquire(&dir, &b, Instant::now()).expect("the folder works").is_ok());
        assert_eq!(dir.list().expect("names").len(), 0, "nothing is left");
    }
}
