//! What a broker said of all machines: a pure function of its messages and of what happened to the connection.

use std::collections::BTreeMap;

use jig_session_remote::FleetLook;
use jig_session_schema::fleet::{FleetMachine, FleetSession};
use jig_session_schema::row::{Detail, Problem, ProblemReason};
use jig_session_schema::time::Timestamp;

use crate::reduce;
use crate::topic::{Topic, Topics};

/// The largest document that is read, in bytes: one of ours has a tenth of it.
const DOCUMENT_BYTES: usize = 64 << 10;
/// Sessions of one machine; more are counted and not kept.
const SESSIONS: usize = 2000;
/// Sessions of all machines.
const ALL_SESSIONS: usize = 200_000;
/// Documents of one machine that are none, of which the names are kept.
const UNREADABLE: usize = 100;
/// A clock that differs by less is right enough, in milliseconds.
const CLOCK_MS: i64 = 5000;
/// A machine that is connected says so once a minute: one that a broker heard longer ago than this may be gone.
pub(crate) const SILENT_MS: i64 = 180_000;

/// One message of the broker.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// Its topic.
    pub topic: &'a str,
    /// Its payload; empty takes a document back.
    pub payload: &'a [u8],
    /// The broker had kept it: when it was sent is not known.
    pub retained: bool,
}

/// All that a broker said.
#[derive(Debug)]
pub struct Picture {
    topics: Topics,
    broker: String,
    /// Who this machine is: its own sessions are read from its own files.
    own: Option<String>,
    machines: BTreeMap<String, Machine>,
    sessions: usize,
    /// Why there is no connection; at first because there was none yet.
    lost: Option<String>,
    heard: Option<Timestamp>,
    ready: bool,
    /// A look has seen all that was there when the connection began.
    caught_up: bool,
}

#[derive(Debug, Default)]
struct Machine {
    said: Option<FleetMachine>,
    /// It was announced since the connection began, which comes after its sessions.
    told: bool,
    /// It was heard: what it said is not only what a broker had kept since it was there.
    heard: bool,
    /// Another one is connected under the same name.
    twin: bool,
    sessions: BTreeMap<String, Held>,
    refused: u64,
    unreadable: BTreeMap<String, String>,
    /// How far its clock is ahead of ours, as far as that is known.
    ahead_ms: Option<i64>,
}

#[derive(Debug)]
struct Held {
    session: FleetSession,
    /// Received since the connection began; the others go when all of the machine has been received.
    told: bool,
}

impl Picture {
    /// Nothing yet. `broker` is its name for people, `own` the id of this machine, whose sessions are left out.
    #[must_use]
    pub fn new(topics: Topics, broker: String, own: Option<String>) -> Self {
        let lost = Some("not connected yet".to_owned());
        let (machines, sessions) = (BTreeMap::new(), 0);
        Self { topics, broker, own, machines, sessions, lost, heard: None, ready: false, caught_up: false }
    }

    /// The connection stands, and the broker begins to tell what it holds.
    pub fn connected(&mut self) {
        (self.ready, self.caught_up, self.lost) = (false, false, None);
        for machine in self.machines.values_mut() {
            (machine.told, machine.heard) = (false, false);
            machine.sessions.values_mut().for_each(|held| held.told = false);
        }
    }

    /// The broker has sent all that it holds. A session that was not sent again is not there any more, if its machine
    /// was: a broker that was started again may have forgotten both, and the machine will say it once more.
    pub fn told(&mut self) {
        self.ready = true;
        for machine in self.machines.values_mut().filter(|machine| machine.told) {
            self.sessions -= machine.forget();
        }
        self.machines.retain(|_, machine| machine.said.is_some() || !machine.sessions.is_empty());
    }

    /// The connection is lost: what was said stays, and is known to be old.
    pub fn lost(&mut self, why: String) {
        (self.ready, self.caught_up) = (false, false);
        self.lost = Some(why);
    }

    /// Whether all that the broker holds has been received since the connection began.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ready
    }

    /// Why there is no connection.
    #[must_use]
    pub fn trouble(&self) -> Option<&str> {
        self.lost.as_deref()
    }

    /// Takes a message. One that is none of this contract changes nothing but what is said of it.
    pub fn take(&mut self, received: Received<'_>, now: Timestamp) {
        self.heard = Some(now);
        match self.topics.read(received.topic) {
            Some(Topic::Machine(name)) => self.machine(name, received, now),
            Some(Topic::Session { machine, name }) => self.session(machine, name, received, now),
            None => {}
        }
    }

    fn machine(&mut self, name: &str, received: Received<'_>, now: Timestamp) {
        if received.payload.is_empty() {
            if let Some(machine) = self.machines.get_mut(name) {
                machine.said = None;
            }
            return;
        }
        let machine = self.machines.entry(name.to_owned()).or_default();
        let said = match read(received.payload, FleetMachine::read) {
            Ok(said) => said,
            Err(why) => return machine.cannot_read("online", why),
        };
        machine.unreadable.remove("online");
        machine.twin = match &machine.said {
            Some(before) if before.online && said.online => before.id != said.id,
            _ => false,
        };
        // The Last Will holds the time of the connection, not its own.
        if said.online {
            machine.clock(said.at, received.retained, now);
        }
        // A broker that was killed with the machine and keeps what it holds knows of no Last Will.
        machine.heard |= !received.retained || now.since_ms(said.at) <= SILENT_MS;
        machine.told = true;
        // A Last Will is of a machine that had no time to tell all.
        if self.ready && said.online {
            self.sessions -= machine.forget();
        }
        machine.said = Some(said);
    }

    fn session(&mut self, machine: &str, name: &str, received: Received<'_>, now: Timestamp) {
        if received.payload.is_empty() {
            if let Some(machine) = self.machines.get_mut(machine) {
                self.sessions -= usize::from(machine.sessions.remove(name).is_some());
                machine.unreadable.remove(name);
            }
            return;
        }
        let full = self.sessions >= ALL_SESSIONS;
        let machine = self.machines.entry(machine.to_owned()).or_default();
        let session = match read(received.payload, FleetSession::read) {
            Ok(session) => session,
            Err(why) => return machine.cannot_read(name, why),
        };
        machine.unreadable.remove(name);
        machine.clock(session.at, received.retained, now);
        machine.heard |= !received.retained;
        let held = Held { session, told: true };
        if machine.sessions.contains_key(name) {
            machine.sessions.insert(name.to_owned(), held);
        } else if full || machine.sessions.len() >= SESSIONS {
            machine.refused += 1;
        } else {
            machine.sessions.insert(name.to_owned(), held);
            self.sessions += 1;
        }
    }

    /// What every machine shares, with its name and its topic.
    pub fn sessions(&self) -> impl Iterator<Item = (&str, String, &FleetSession)> {
        self.others().flat_map(move |(name, machine)| {
            let topic = move |file: &str| self.topics.session(name, file);
            machine.sessions.iter().map(move |(file, held)| (name, topic(file), &held.session))
        })
    }

    /// The machines but this one.
    fn others(&self) -> impl Iterator<Item = (&str, &Machine)> {
        let own = self.own.as_ref();
        let is_own = move |machine: &Machine| own.is_some() && machine.said.as_ref().map(|said| &said.id) == own;
        self.machines
            .iter()
            .filter(move |(_, machine)| !is_own(machine))
            .map(|(name, machine)| (name.as_str(), machine))
    }

    /// The rows and problems at this moment.
    pub fn look(&mut self) -> FleetLook {
        let mut look = FleetLook::default();
        if let Some(why) = &self.lost {
            let old = self.heard.filter(|_| self.sessions > 0);
            let old = old.map_or_else(String::new, |at| format!("; its sessions are as last seen at {at}"));
            look.problems.push(problem(&self.broker, ProblemReason::UNREACHABLE, format!("{why}{old}")));
        }
        let mut ids: BTreeMap<&str, &str> = BTreeMap::new();
        for (name, machine) in self.others() {
            let online = machine.said.as_ref().is_some_and(|said| said.online);
            let fresh = self.lost.is_none() && online && machine.heard;
            for (file, held) in &machine.sessions {
                let mut row = reduce::row(name, &self.topics.session(name, file), &held.session, fresh);
                if !held.told {
                    row.detail = Some(Detail::UNREACHABLE);
                }
                look.rows.push(row);
            }
            let last = machine.sessions.values().map(|held| held.session.at).max();
            if !online && !machine.sessions.is_empty() {
                let at = last.map_or_else(String::new, |at| format!(" at {at}"));
                let words = format!("it is offline; its sessions are as last seen{at}");
                look.problems.push(problem(name, ProblemReason::UNREACHABLE, words));
                look.last_seen.insert(name.to_owned(), last);
            }
            if online && !machine.heard {
                let at = machine.said.as_ref().map(|said| said.at).unwrap_or_default();
                let words =
                    format!("it said last at {at} that it is there: it went without a word, or its clock is behind");
                look.problems.push(problem(name, ProblemReason::UNREACHABLE, words));
                look.last_seen.insert(name.to_owned(), Some(at));
            }
            look.problems.extend(machine.problems(name));
            if let Some(said) = machine.said.as_ref().filter(|said| !said.id.is_empty())
                && let Some(other) = ids.insert(&said.id, name)
            {
                let words = format!("it has the machine id of {other}: one is a copy of the other, or has two names");
                look.problems.push(problem(name, ProblemReason::MISMATCH, words));
            }
            if !self.caught_up {
                look.arriving.insert(name.to_owned());
            }
        }
        self.caught_up = self.ready;
        look
    }
}

impl Machine {
    /// Forgets the sessions that were not sent again; how many they are.
    fn forget(&mut self) -> usize {
        let before = self.sessions.len();
        self.sessions.retain(|_, held| held.told);
        before - self.sessions.len()
    }

    fn cannot_read(&mut self, name: &str, why: String) {
        if self.unreadable.len() < UNREADABLE {
            self.unreadable.insert(name.to_owned(), why);
        }
    }

    /// Compares the clocks: exactly by what is sent now, and by what the broker had kept as far as it can tell.
    fn clock(&mut self, at: Timestamp, retained: bool, now: Timestamp) {
        let ahead = at.since_ms(now);
        if !retained {
            self.ahead_ms = Some(ahead);
        } else if ahead > CLOCK_MS {
            self.ahead_ms.get_or_insert(ahead);
        }
    }

    fn problems<'a>(&'a self, name: &'a str) -> impl Iterator<Item = Problem> + 'a {
        let twin = self.twin.then(|| {
            let words = "two machines share under this name: give one of them another with --as";
            problem(name, ProblemReason::MISMATCH, words.to_owned())
        });
        let clock = self.ahead_ms.filter(|ahead| ahead.abs() > CLOCK_MS).map(|ahead| {
            let way = if ahead > 0 { "ahead of" } else { "behind" };
            problem(name, ProblemReason::CLOCK, format!("its clock is {} {way} this one", span(ahead.abs())))
        });
        let refused = (self.refused > 0).then(|| {
            let words = format!("it shares more than {SESSIONS} sessions: the others are left out");
            problem(name, ProblemReason::TOO_LARGE, words)
        });
        let unreadable = self.unreadable.iter().map(move |(topic, why)| {
            problem(name, ProblemReason::UNPARSABLE, format!("what it shares as {topic} is not read: {why}"))
        });
        twin.into_iter().chain(clock).chain(refused).chain(unreadable)
    }
}

fn problem(host: &str, reason: ProblemReason, message: String) -> Problem {
    Problem::new().host(Some(host.to_owned())).reason(reason).message(message)
}

fn read<T>(
    payload: &[u8],
    reader: impl Fn(&[u8]) -> Result<jig_session_schema::read::Read<T>, jig_session_schema::read::ReadError>,
) -> Result<T, String> {
    if payload.len() > DOCUMENT_BYTES {
        return Err(format!("it is larger than {DOCUMENT_BYTES} bytes"));
    }
    reader(payload).map(|read| read.value).map_err(|error| error.to_string())
}

/// A span of time in its largest unit.
fn span(ms: i64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    }
}

#[cfg(test)]
mod tests {
    use jig_session_schema::row::Verdict;

    use super::*;

    const T: i64 = 1_796_000_000_000;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_epoch_ms(T + ms)
    }

    fn machine(online: bool, id: &str, when: i64) -> Vec<u8> {
        format!(r#"{{"schema":1,"at":"{}","online":{online},"id":"{id}"}}"#, at(when)).into_bytes()
    }

    fn session(id: &str, when: i64) -> Vec<u8> {
        let rest = format!(r#""session":"{id}","folder":"shop","state":"busy","verdict":"alive""#);
        format!(r#"{{"schema":1,"at":"{}",{rest}}}"#, at(when)).into_bytes()
    }

    struct Told(Picture, i64);

    impl Told {
        fn new() -> Self {
            let mut picture = Picture::new(Topics::below("p"), "broker".to_owned(), Some("own".to_owned()));
            picture.connected();
            Self(picture, 0)
        }

        fn said(&mut self, topic: &str, payload: &[u8], retained: bool) {
            self.0.take(Received { topic, payload, retained }, at(self.1));
        }

        fn rows(&mut self) -> Vec<String> {
            let rows = self.0.look().rows;
            assert!(rows.iter().all(|row| row.verdict == Verdict::Unknown), "nothing is proved here");
            rows.iter()
                .map(|row| {
                    let detail = row.detail.as_ref().map(ToString::to_string).unwrap_or_default();
                    format!("{}/{} {detail}", row.host.as_deref().unwrap_or_default(), row.session)
                })
                .collect()
        }

        fn problems(&mut self) -> Vec<String> {
            let problems = self.0.look().problems;
            problems.iter().map(|it| format!("{}: {}", it.host.as_deref().unwrap_or_default(), it.message)).collect()
        }
    }

    #[test]
    fn rows_stay_when_a_machine_or_the_broker_goes() {
        let mut told = Told::new();
        told.said("p/v1/a/online", &machine(true, "1", 0), true);
        told.said("p/v1/a/s/x", &session("x", 0), true);
        told.0.told();
        assert_eq!(told.rows(), ["a/x reported"]);
        told.said("p/v1/a/online", &machine(false, "1", 0), false);
        assert_eq!(told.rows(), ["a/x unreachable"]);
        assert_eq!(told.problems(), [format!("a: it is offline; its sessions are as last seen at {}", at(0))]);
        told.said("p/v1/a/online", &machine(true, "1", 0), false);
        told.0.lost("refused".to_owned());
        assert_eq!(told.rows(), ["a/x unreachable"]);
        assert_eq!(told.problems(), [format!("broker: refused; its sessions are as last seen at {}", at(0))]);
        // Back, and the broker tells of it again.
        told.0.connected();
        told.said("p/v1/a/s/x", &session("x", 0), true);
        told.said("p/v1/a/online", &machine(true, "1", 0), true);
        told.0.told();
        assert_eq!(told.rows(), ["a/x reported"]);
        // Back, and the broker has forgotten all: nothing is known anew until the machine says it.
        told.0.connected();
        told.0.told();
        assert_eq!(told.rows(), ["a/x unreachable"]);
        told.said("p/v1/a/s/y", &session("y", 0), false);
        told.said("p/v1/a/online", &machine(false, "1", 0), false);
        assert_eq!(told.rows(), ["a/x unreachable", "a/y unreachable"]);
        told.said("p/v1/a/online", &machine(true, "1", 0), false);
        assert_eq!(told.rows(), ["a/y reported"]);
        // Back, and the broker holds the machine and not the session: it went meanwhile.
        told.0.connected();
        told.said("p/v1/a/online", &machine(true, "1", 0), true);
        told.0.told();
        assert_eq!(told.rows(), [""; 0]);
        told.said("p/v1/a/s/x", &session("x", 0), false);
        told.said("p/v1/a/s/x", b"", false);
        assert_eq!(told.rows(), [""; 0]);
    }

    #[test]
    fn what_is_no_document_hides_nothing() {
        let mut told = Told::new();
        told.said("p/v1/a/online", &machine(true, "1", 0), true);
        told.said("p/v1/a/s/x", &session("x", 0), true);
        for payload in [&b"garbage"[..], b"[]", b"{\"schema\":2}", &[b' '; 70_000], b"\xff\xfe", b"{}"] {
            told.said("p/v1/a/s/bad", payload, true);
        }
        for topic in ["p/v1/a/s/x/y", "p/v1/a", "p/v2/a/s/x", "other", "p/v1//s/x", "p/v1/a/s/\u{202e}"] {
            told.said(topic, &session("z", 0), true);
        }
        told.0.told();
        assert_eq!(told.rows(), ["a/x reported"]);
        assert_eq!(told.problems().len(), 1, "{:?}", told.problems());
        told.said("p/v1/a/s/bad", &session("good", 0), false);
        assert_eq!(told.problems(), [""; 0]);
    }

    #[test]
    fn the_topic_says_which_machine_it_is_and_ones_own_is_left_out() {
        let mut told = Told::new();
        let liar = String::from_utf8(session("x", 0)).expect("text").replace("\"shop\"", "\"shop\",\"host\":\"b\"");
        told.said("p/v1/a/online", &machine(true, "1", 0), true);
        told.said("p/v1/a/s/x", liar.as_bytes(), true);
        told.said("p/v1/me/online", &machine(true, "own", 0), true);
        told.said("p/v1/me/s/y", &session("y", 0), true);
        assert_eq!(told.rows(), ["a/x reported"]);
    }

    #[test]
    fn two_of_one_name_and_two_of_one_id_are_told_apart() {
        let mut told = Told::new();
        told.said("p/v1/a/online", &machine(true, "1", 0), true);
        told.said("p/v1/a/online", &machine(true, "2", 0), false);
        assert!(told.problems()[0].contains("two machines share under this name"));
        let mut told = Told::new();
        told.said("p/v1/a/online", &machine(true, "1", 0), true);
        told.said("p/v1/b/online", &machine(true, "1", 0), true);
        assert_eq!(told.problems(), ["b: it has the machine id of a: one is a copy of the other, or has two names"]);
    }

    #[test]
    fn a_clock_that_is_off_is_shown_by_its_offset() {
        for (when, retained, words) in [
            (7_200_000, false, Some("2 h ahead of")),
            (-3_600_000, false, Some("60 min behind")),
            (-10_000, false, Some("10 s behind")),
            (3_600_000, true, Some("60 min ahead of")),
            (-100_000, true, None),
            (4000, false, None),
        ] {
            let mut told = Told::new();
            told.said("p/v1/a/online", &machine(true, "1", when), retained);
            let problems = told.problems();
            assert_eq!(problems.len(), usize::from(words.is_some()), "{when} {retained}: {problems:?}");
            assert!(words.is_none_or(|words| problems[0].contains(words)), "{when} {retained}: {problems:?}");
        }
    }

    #[test]
    fn what_a_broker_has_kept_for_long_is_no_sign_of_life() {
        let mut told = Told::new();
        told.said("p/v1/a/online", &machine(true, "1", -86_400_000), true);
        told.said("p/v1/a/s/x", &session("x", -86_400_000), true);
        told.0.told();
        assert_eq!(told.rows(), ["a/x unreachable"]);
        assert!(told.problems()[0].starts_with("a: it said last at "), "{:?}", told.problems());
        // It beats: only its clock is behind.
        told.said("p/v1/a/online", &machine(true, "1", -86_400_000), false);
        assert_eq!(told.rows(), ["a/x reported"]);
        assert_eq!(told.problems(), ["a: its clock is 24 h behind this one"]);
    }

    #[test]
    fn a_flood_of_topics_has_a_bound() {
        let mut told = Told::new();
        for number in 0..10_000 {
            told.said(&format!("p/v1/a/s/{number}"), &session(&number.to_string(), 0), true);
        }
        told.said("p/v1/b/s/x", &session("x", 0), true);
        assert_eq!(told.0.look().rows.len(), SESSIONS + 1);
        assert!(told.problems().iter().any(|problem| problem.contains("more than 2000 sessions")));
    }
}
