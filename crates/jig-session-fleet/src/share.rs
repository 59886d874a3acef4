//! Sharing this machine's sessions: a thread for the connection, and a loop over the local store.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use jig_session_schema::fleet::{FleetMachine, FleetSession};
use jig_session_schema::row::{Row, Source as RowSource};
use jig_session_schema::time::Timestamp;
use rumqttc::{Client, Connection, Event, LastWill, Packet, QoS, SubscribeFilter};

use crate::address::Address;
use crate::connect::{self, Access, ConnectError, Pauses};
use crate::outbox::Outbox;
use crate::picture::SILENT_MS;
use crate::reduce::{Sharing, shared};
use crate::topic::{Topic, Topics, is_part};

/// Messages that wait for the connection.
const REQUESTS: usize = 256;
/// How often a machine says that it is there.
const BEAT: Duration = Duration::from_secs(60);
/// The longest pause between two looks.
const LOOK: Duration = Duration::from_secs(2);
/// The pause after the queue to the connection was full.
const FULL: Duration = Duration::from_millis(20);
/// How long the last words may take.
const FAREWELL: Duration = Duration::from_secs(2);

/// Where the sessions come from.
pub trait Source {
    /// The live sessions now; `None` when they cannot be read for the moment.
    fn rows(&mut self) -> Option<Vec<Row>>;
    /// Waits for a change, for a nudge, or until this much time has passed.
    fn wait(&self, limit: Duration);
    /// What ends a wait, from any thread.
    fn nudge(&self) -> Box<dyn Fn() + Send>;
    /// The time.
    fn now(&self) -> Timestamp;
    /// Whether the program is to end.
    fn has_ended(&self) -> bool;
}

/// What a person may want to know meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// The connection stands, and this many sessions are shared.
    Connected(usize),
    /// The connection is lost, and is tried again.
    Lost(String),
}

/// Why sharing ends.
#[derive(Debug, thiserror::Error)]
pub enum ShareError {
    /// The certificates cannot be used.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The name is no part of a topic.
    #[error("{0:?} cannot be a machine's name: letters A-Z, a-z, digits, '.', '_' and '-', at most 200")]
    Name(String),
    /// Another machine is connected under this name.
    #[error("another machine shares as {0} at this moment")]
    Taken(String),
}

enum Word {
    Connected,
    Taken,
    Message { topic: String, payload: Vec<u8> },
    Lost(String),
}

/// Shares the sessions of `source` as `name` until it has ended. `id` is the machine's, `version` the program's.
///
/// # Errors
/// When the name or the certificates cannot be used, or another machine has the name. A broker that cannot be reached is
/// tried again for ever.
pub fn share(
    address: &Address,
    access: &Access,
    machine: (&str, &str, &str),
    sharing: Sharing,
    source: &mut dyn Source,
    tell: &mut dyn FnMut(Told),
) -> Result<(), ShareError> {
    let (name, id, version) = machine;
    if !is_part(name) {
        return Err(ShareError::Name(name.to_owned()));
    }
    let topics = Topics::below(&address.prefix);
    let said = FleetMachine::new().id(id.to_owned()).version(Some(version.to_owned()));
    let said = said.os(Some(std::env::consts::OS.to_owned()));
    let mut options = connect::options(address, access, &connect::client_id(name))?;
    let will = payload(&said.clone().at(source.now()).online(false));
    options.set_last_will(LastWill::new(topics.machine(name), will, QoS::AtLeastOnce, true));
    let (client, mut connection) = Client::new(options, REQUESTS);
    connection.eventloop.set_network_options(connect::network());
    let link = Link::start(connection, source.nudge());
    let mut sharer =
        Sharer { name, topics, said, client, outbox: Outbox::default(), answered: 0, beat: None, link, sharing };
    sharer.run(source, tell)
}

struct Sharer<'a> {
    name: &'a str,
    topics: Topics,
    said: FleetMachine,
    client: Client,
    outbox: Outbox,
    /// Answers to the subscriptions of this connection: after the second, all that the broker holds of ours is known.
    answered: u8,
    beat: Option<Instant>,
    link: Link,
    sharing: Sharing,
}

impl Sharer<'_> {
    fn run(&mut self, source: &mut dyn Source, tell: &mut dyn FnMut(Told)) -> Result<(), ShareError> {
        let mut read = false;
        while !source.has_ended() {
            if let Some(rows) = source.rows() {
                read = true;
                self.outbox.set(rows.iter().filter_map(|row| Some((file(row)?, shared(row, self.sharing)))));
            }
            while let Ok(word) = self.link.words.try_recv() {
                self.hear(word, source.now(), tell)?;
            }
            // Nothing is said before it is known what is there: a folder that cannot be read is no empty one.
            let wait = if read && self.answered >= 2 { self.send(source.now()) } else { LOOK };
            source.wait(wait.min(LOOK));
        }
        self.leave(source.now());
        Ok(())
    }

    fn hear(&mut self, word: Word, now: Timestamp, tell: &mut dyn FnMut(Told)) -> Result<(), ShareError> {
        match word {
            Word::Connected => {
                self.answered = 0;
                self.beat = None;
                self.outbox.connected();
                // Only until the broker has sent all: what we send ourselves need not come back. It answers in order, so
                // that the second answer comes after all that belongs to the first.
                let own = [self.topics.session(self.name, "+"), self.topics.machine(self.name)];
                let own = own.map(|pattern| SubscribeFilter::new(pattern, QoS::AtMostOnce));
                let _ = self.client.try_subscribe_many(own);
                let _ = self.client.try_subscribe(self.topics.machine(self.name), QoS::AtMostOnce);
            }
            Word::Taken => {
                self.answered += 1;
                if self.answered == 2 {
                    let _ = self.client.try_unsubscribe(self.topics.session(self.name, "+"));
                    let _ = self.client.try_unsubscribe(self.topics.machine(self.name));
                    tell(Told::Connected(self.outbox.len()));
                }
            }
            Word::Message { topic, payload } => match self.topics.read(&topic) {
                Some(Topic::Session { name, .. }) if !payload.is_empty() && self.answered < 2 => {
                    self.outbox.holds(name);
                }
                Some(Topic::Machine(_)) if self.answered < 2 => {
                    let other = FleetMachine::read(&payload).ok().map(|read| read.value);
                    // A broker may have kept the word of one that is long gone.
                    let here = |other: &FleetMachine| now.since_ms(other.at) <= SILENT_MS;
                    if other.is_some_and(|other| other.online && other.id != self.said.id && here(&other)) {
                        return Err(ShareError::Taken(self.name.to_owned()));
                    }
                }
                _ => {}
            },
            Word::Lost(why) => {
                self.answered = 0;
                tell(Told::Lost(why));
            }
        }
        Ok(())
    }

    /// Sends what is due; how long nothing more is.
    fn send(&mut self, now: Timestamp) -> Duration {
        let mut full = false;
        for (name, session) in self.outbox.due(now.epoch_ms()) {
            let bytes = session.map(|session| payload(&session.at(now))).unwrap_or_default();
            if full || !self.publish(self.topics.session(self.name, &name), bytes) {
                full = true;
                self.outbox.unsent(&name);
            }
        }
        if full {
            return FULL;
        }
        // After the sessions: once a machine says that it is there, all of its sessions have been sent.
        if self.beat.is_none_or(|beat| beat.elapsed() >= BEAT) {
            let said = self.said.clone().at(now).online(true).sessions(Some(self.outbox.len() as u64));
            if !self.publish(self.topics.machine(self.name), payload(&said)) {
                return FULL;
            }
            self.beat = Some(Instant::now());
        }
        let next = self.outbox.next_ms(now.epoch_ms()).map(|ms| Duration::from_millis(ms.unsigned_abs()));
        let beat = self.beat.map_or(Duration::ZERO, |beat| BEAT.saturating_sub(beat.elapsed()));
        next.map_or(beat, |next| next.min(beat))
    }

    fn publish(&self, topic: String, payload: Vec<u8>) -> bool {
        self.client.try_publish(topic, QoS::AtLeastOnce, true, payload).is_ok()
    }

    /// The machine says itself that it goes; its sessions stay, as last seen.
    fn leave(&mut self, now: Timestamp) {
        if self.answered >= 2 {
            self.publish(self.topics.machine(self.name), payload(&self.said.clone().at(now).online(false)));
        }
        let _ = self.client.try_disconnect();
        self.link.end();
    }
}

/// The connection, in a thread of its own.
struct Link {
    words: Receiver<Word>,
    ended: Arc<(AtomicBool, Mutex<()>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Link {
    fn start(connection: Connection, nudge: Box<dyn Fn() + Send>) -> Self {
        let (sender, words) = channel();
        let ended = Arc::new((AtomicBool::new(false), Mutex::new(()), Condvar::new()));
        let seen = Arc::clone(&ended);
        let thread = thread::spawn(move || follow(connection, &sender, &nudge, &seen));
        Self { words, ended, thread: Some(thread) }
    }

    fn end(&mut self) {
        self.ended.0.store(true, Ordering::SeqCst);
        self.ended.2.notify_all();
        let until = Instant::now() + FAREWELL;
        while self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

fn follow(
    mut connection: Connection,
    words: &Sender<Word>,
    nudge: &dyn Fn(),
    ended: &(AtomicBool, Mutex<()>, Condvar),
) {
    let mut pauses = Pauses::default();
    while let Ok(event) = connection.recv() {
        let word = match event {
            Ok(Event::Incoming(Packet::ConnAck(_))) => {
                pauses.connected();
                Word::Connected
            }
            Ok(Event::Incoming(Packet::SubAck(_))) => Word::Taken,
            Ok(Event::Incoming(Packet::Publish(message))) => {
                Word::Message { topic: message.topic.clone(), payload: message.payload.to_vec() }
            }
            Ok(_) => continue,
            Err(_) if ended.0.load(Ordering::SeqCst) => return,
            Err(error) => {
                let told = words.send(Word::Lost(connect::words(&error)));
                nudge();
                if told.is_err() {
                    return;
                }
                let held = ended.1.lock().unwrap_or_else(PoisonError::into_inner);
                let goes_on = |(): &mut ()| !ended.0.load(Ordering::SeqCst);
                drop(ended.2.wait_timeout_while(held, pauses.next(), goes_on));
                continue;
            }
        };
        if words.send(word).is_err() {
            return;
        }
        nudge();
    }
}

/// The name of a session on the broker is that of its file.
fn file(row: &Row) -> Option<String> {
    let own = row.source == RowSource::Jig && row.host.is_none();
    let name = row.path.rsplit('/').next().and_then(|name| name.strip_suffix(".json"))?;
    (own && is_part(name)).then(|| name.to_owned())
}

trait Payload {
    fn map(&self) -> serde_json::Map<String, serde_json::Value>;
}

impl Payload for FleetMachine {
    fn map(&self) -> serde_json::Map<String, serde_json::Value> {
        self.to_document()
    }
}

impl Payload for FleetSession {
    fn map(&self) -> serde_json::Map<String, serde_json::Value> {
        self.to_document()
    }
}

fn payload(document: &impl Payload) -> Vec<u8> {
    serde_json::Value::Object(document.map()).to_string().into_bytes()
}
