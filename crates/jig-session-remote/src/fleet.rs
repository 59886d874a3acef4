//! Following hosts: one lasting connection each, and what each said last.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use jig_session_schema::documents::{RemovedWhy, WatchLine};
use jig_session_schema::row::{Detail, Problem, ProblemReason, Row, Verdict};
use jig_session_schema::time::Timestamp;

use crate::ask::{complaint, kill, problem, start};
use crate::host::Host;
use crate::ssh::Ssh;

/// The first pause before a lost host is asked again; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
/// No pause is longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// A connection that lasted this long was a good one: the next pause is the first again.
const GOOD: Duration = Duration::from_secs(30);
/// No line of a host is longer.
const LONGEST_LINE: u64 = 1 << 20;
/// A host has no more sessions than this.
const SESSIONS: usize = 10_000;

/// What one host has said: a pure function of its lines and of what happened to the connection.
#[derive(Clone, Debug)]
pub struct Followed {
    host: Host,
    rows: BTreeMap<String, Row>,
    /// Received since the connection began; the others go when everything has been received.
    told: BTreeSet<String>,
    ready: bool,
    /// Files of the host that give no session.
    problems: Vec<Problem>,
    lost: Option<Problem>,
    /// How sessions went since the last look, with that as their verdict.
    went: Vec<Row>,
    /// A look has seen all that was there when the connection began.
    caught_up: bool,
    /// When its last line came.
    pub last_seen: Option<Timestamp>,
}

impl Followed {
    /// A host of which nothing is known yet.
    #[must_use]
    pub fn new(host: Host) -> Self {
        let (rows, told, problems) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
        let went = Vec::new();
        Self { host, rows, told, ready: false, problems, lost: None, went, caught_up: false, last_seen: None }
    }

    /// Takes a line of its `watch --json`.
    pub fn line(&mut self, line: WatchLine, now: Timestamp) {
        self.last_seen = Some(now);
        self.lost = None;
        match line {
            WatchLine::Added(added) => self.put(added.session),
            WatchLine::Changed(changed) => self.put(changed.session),
            WatchLine::Removed(removed) => {
                let verdict = match removed.why {
                    RemovedWhy::Gone => Some(Verdict::Gone),
                    RemovedWhy::Reused => Some(Verdict::Reused),
                    _ => None,
                };
                if let (Some(row), Some(verdict)) = (self.rows.remove(&removed.session.session), verdict) {
                    self.went.push(row.verdict(verdict));
                }
            }
            WatchLine::Problem(told) => {
                let mut problem = told.problem;
                problem.host = Some(self.host.name().to_owned());
                self.problems.retain(|known| (&known.path, &known.reason) != (&problem.path, &problem.reason));
                self.problems.push(problem);
            }
            WatchLine::Ready(_) => {
                let told = std::mem::take(&mut self.told);
                if !self.ready {
                    self.rows.retain(|id, _| told.contains(id));
                }
                self.ready = true;
            }
            // A word of a newer version says nothing to this one.
            _ => {}
        }
    }

    fn put(&mut self, mut row: Row) {
        // What the host says of other hosts, or of this one, is not its to say.
        row.host = Some(self.host.name().to_owned());
        if !self.ready {
            self.told.insert(row.session.clone());
        }
        if self.rows.len() < SESSIONS || self.rows.contains_key(&row.session) {
            self.rows.insert(row.session.clone(), row);
        }
    }

    /// The connection is lost: what was said last stays, and is known to be old.
    pub fn lost(&mut self, mut why: Problem) {
        if let Some(at) = self.last_seen.filter(|_| !self.rows.is_empty()) {
            why.message = format!("{}; its sessions are as last seen at {at}", why.message);
        }
        (self.ready, self.caught_up) = (false, false);
        self.told.clear();
        self.problems.clear();
        self.lost = Some(why);
    }

    /// Whether everything that is there has been received since the connection began.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ready
    }

    /// Its rows. Those of a lost host, and of one that is back and has not sent them again, are as it said them last,
    /// their verdict unknown: nobody can tell.
    pub fn rows(&self) -> impl Iterator<Item = Row> + '_ {
        self.rows.values().map(|row| {
            let mut row = row.clone();
            if self.lost.is_some() || !(self.ready || self.told.contains(&row.session)) {
                row.verdict = Verdict::Unknown;
                row.detail = Some(Detail::UNREACHABLE);
            }
            row
        })
    }

    /// What gives no session there; that the host is lost comes first.
    pub fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.lost.iter().chain(&self.problems)
    }
}

/// What all hosts said, at one moment.
#[derive(Clone, Debug, Default)]
pub struct FleetLook {
    /// The rows of every host.
    pub rows: Vec<Row>,
    /// What gives none; a lost host is one, with when it was seen last in its message.
    pub problems: Vec<Problem>,
    /// Sessions that went since the last look, with that as their verdict.
    pub went: Vec<Row>,
    /// Hosts whose sessions were there before this look could tell when they came.
    pub arriving: BTreeSet<String>,
    /// When each lost host was seen last; never, if it was not reached yet.
    pub last_seen: BTreeMap<String, Option<Timestamp>>,
}

/// Some hosts that are followed until this value is dropped.
#[derive(Debug)]
pub struct Fleet {
    hosts: Vec<Arc<Mutex<Followed>>>,
    end: Arc<End>,
}

/// How the threads learn that nobody looks any more.
#[derive(Debug, Default)]
struct End {
    ended: AtomicBool,
    children: Mutex<Vec<ChildStdin>>,
    pause: (Mutex<()>, Condvar),
}

/// A function of the caller's that a thread can call.
type Shared<T> = Arc<dyn Fn() -> T + Send + Sync>;

impl Fleet {
    /// Follows hosts. `clock` is the caller's, and `wake` is called whenever a look would show something new.
    #[must_use]
    pub fn start(ssh: &Ssh, hosts: Vec<Host>, all: bool, clock: Shared<Timestamp>, wake: Shared<()>) -> Self {
        let end = Arc::new(End::default());
        let mut words = vec!["watch".to_owned(), "--json".to_owned()];
        words.extend(all.then(|| "--all".to_owned()));
        let hosts = hosts.into_iter().map(|host| {
            let followed = Arc::new(Mutex::new(Followed::new(host.clone())));
            let follower = Follower {
                ssh: ssh.clone(),
                host,
                words: words.clone(),
                followed: Arc::clone(&followed),
                end: Arc::clone(&end),
                clock: Arc::clone(&clock),
                wake: Arc::clone(&wake),
            };
            thread::spawn(move || follower.run());
            followed
        });
        Self { hosts: hosts.collect(), end }
    }

    /// What the hosts said last.
    #[must_use]
    pub fn look(&self) -> FleetLook {
        let mut look = FleetLook::default();
        for followed in &self.hosts {
            let mut followed = locked(followed);
            if !followed.caught_up {
                look.arriving.insert(followed.host.name().to_owned());
                followed.caught_up = followed.ready;
            }
            look.went.append(&mut followed.went);
            look.rows.extend(followed.rows());
            look.problems.extend(followed.problems().cloned());
            if followed.lost.is_some() {
                look.last_seen.insert(followed.host.name().to_owned(), followed.last_seen);
            }
        }
        look
    }

    /// Waits until every host has sent what is there or is lost, at most this long.
    pub fn settle(&self, limit: Duration) {
        let end = Instant::now() + limit;
        let settled = |followed: &Arc<Mutex<Followed>>| {
            let followed = locked(followed);
            followed.ready || followed.lost.is_some()
        };
        while !self.hosts.iter().all(settled) && Instant::now() < end {
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.end.ended.store(true, Ordering::SeqCst);
        // Without its stdin the program over there ends, and ssh with it.
        locked(&self.end.children).clear();
        self.end.pause.1.notify_all();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread of one host.
struct Follower {
    ssh: Ssh,
    host: Host,
    words: Vec<String>,
    followed: Arc<Mutex<Followed>>,
    end: Arc<End>,
    clock: Shared<Timestamp>,
    wake: Shared<()>,
}

impl Follower {
    fn run(&self) {
        let mut pause = FIRST_PAUSE;
        while !self.has_ended() {
            let begun = Instant::now();
            let why = match start(self.ssh.lasting(&self.host, &self.words), &self.host) {
                Ok(child) => self.follow(child),
                Err(problem) => problem,
            };
            if self.has_ended() {
                return;
            }
            locked(&self.followed).lost(why);
            (self.wake)();
            pause = if begun.elapsed() >= GOOD { FIRST_PAUSE } else { pause };
            self.wait(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn follow(&self, mut child: Child) -> Problem {
        if let Some(stdin) = child.stdin.take() {
            locked(&self.end.children).push(stdin);
        }
        let stderr = child.stderr.take();
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&said);
        // Bounded, and never in the way of the lines.
        thread::spawn(move || {
            let mut bytes = [0; 512];
            let Some(mut stderr) = stderr else { return };
            while let Ok(count @ 1..) = stderr.read(&mut bytes) {
                let mut heard = locked(&heard);
                if heard.len() < 4096 {
                    heard.extend_from_slice(&bytes[..count]);
                }
            }
        });
        let wrong = child.stdout.take().and_then(|stdout| self.lines(BufReader::new(stdout)));
        if let Some(wrong) = wrong {
            kill(&mut child);
            return wrong;
        }
        match child.wait() {
            Ok(status) if status.success() => problem(&self.host, "its watch has ended"),
            Ok(status) => {
                // What ssh says last comes a moment after its end.
                thread::sleep(Duration::from_millis(50));
                problem(&self.host, &complaint(status, &locked(&said)))
            }
            Err(error) => problem(&self.host, &error.to_string()),
        }
    }

    /// Takes lines until there are none; what is wrong with one that is none.
    fn lines(&self, mut from: impl BufRead) -> Option<Problem> {
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = from.by_ref().take(LONGEST_LINE + 1).read_until(b'\n', &mut line);
            if !matches!(read, Ok(1..)) || self.has_ended() {
                return None;
            }
            if line.len() as u64 > LONGEST_LINE {
                return Some(problem(&self.host, "a line of its answer is too long"));
            }
            match WatchLine::read(&line) {
                Ok(read) => locked(&self.followed).line(read.value, (self.clock)()),
                Err(error) => {
                    let wrong = problem(&self.host, &format!("its answer is no line of watch --json: {error}"));
                    return Some(match error.reason() {
                        "unsupported" => wrong.reason(ProblemReason::UNSUPPORTED),
                        _ => wrong,
                    });
                }
            }
            (self.wake)();
        }
    }

    fn wait(&self, pause: Duration) {
        let held = locked(&self.end.pause.0);
        let ended = |(): &mut ()| !self.end.ended.load(Ordering::SeqCst);
        drop(self.end.pause.1.wait_timeout_while(held, pause, ended));
    }

    fn has_ended(&self) -> bool {
        self.end.ended.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use jig_session_schema::documents::{WatchAdded, WatchReady, WatchRemoved};

    use super::*;

    fn host() -> Host {
        Host::new("far").expect("a host")
    }

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_epoch_ms(ms)
    }

    fn added(id: &str) -> WatchLine {
        let row = Row::new().session(id.to_owned()).verdict(Verdict::Alive).host(Some("elsewhere".into()));
        WatchAdded::new().session(row).into()
    }

    fn ready() -> WatchLine {
        WatchReady::new().into()
    }

    fn seen(followed: &Followed) -> Vec<(String, Verdict)> {
        followed.rows().map(|row| (row.session, row.verdict)).collect()
    }

    #[test]
    fn rows_are_of_their_host_and_stay_when_it_is_lost() {
        let mut followed = Followed::new(host());
        for line in [added("one"), added("two"), ready()] {
            followed.line(line, at(1000));
        }
        assert!(followed.is_ready());
        assert!(followed.rows().all(|row| row.host.as_deref() == Some("far")));
        followed.lost(problem(&host(), "gone away"));
        let old = Verdict::Unknown;
        assert_eq!(seen(&followed), [("one".to_owned(), old), ("two".to_owned(), old)], "old, and not gone");
        assert!(followed.rows().all(|row| row.detail == Some(Detail::UNREACHABLE)));
        assert_eq!(
            followed.problems().map(|problem| problem.message.as_str()).collect::<Vec<_>>(),
            ["gone away; its sessions are as last seen at 1970-01-01T00:00:01.000Z"]
        );
        assert_eq!(followed.last_seen, Some(at(1000)));
    }

    #[test]
    fn what_is_not_told_again_after_a_loss_is_no_longer_there() {
        let mut followed = Followed::new(host());
        for line in [added("one"), added("two"), ready()] {
            followed.line(line, at(1000));
        }
        followed.lost(problem(&host(), "gone away"));
        followed.line(added("two"), at(9000));
        let alive = Verdict::Alive;
        let old = Verdict::Unknown;
        assert_eq!(seen(&followed), [("one".to_owned(), old), ("two".to_owned(), alive)], "until all was told");
        followed.line(ready(), at(9001));
        assert_eq!(seen(&followed), [("two".to_owned(), alive)]);
        let row = Row::new().session("two".to_owned());
        followed.line(WatchRemoved::new().session(row).into(), at(9002));
        assert_eq!(seen(&followed), []);
        assert_eq!(followed.problems().count(), 0);
    }
}
