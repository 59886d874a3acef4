//! Following a broker: a thread that takes what it says into a [`Picture`].

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use jig_session_remote::FleetLook;
use jig_session_schema::time::Timestamp;
use rumqttc::{Client, Connection, Event, Packet, QoS, SubscribeFilter};

use crate::address::Address;
use crate::connect::{self, Access, ConnectError, Pauses};
use crate::picture::{Picture, Received};
use crate::topic::Topics;

/// Requests that wait for the connection: a few subscriptions.
const REQUESTS: usize = 16;
/// A broker that sends what it holds after it has taken a subscription is silent for this long when that was all.
const QUIET: Duration = Duration::from_millis(50);

/// A broker that is followed until this value is dropped.
pub struct Follower {
    shared: Arc<Shared>,
    client: Client,
}

impl std::fmt::Debug for Follower {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follower").field("shared", &self.shared).finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    ended: AtomicBool,
}

#[derive(Debug)]
struct State {
    picture: Picture,
    /// How many attempts to connect have failed.
    failed: u64,
    heard: Instant,
}

impl Follower {
    /// Follows a broker. `own` is the id of this machine, whose sessions are left out; `clock` is the caller's; `wake`
    /// is called whenever a look would show something new.
    ///
    /// # Errors
    /// When the certificates cannot be used. A broker that cannot be reached is none: it is tried again.
    pub fn start(
        address: &Address,
        access: &Access,
        own: Option<String>,
        clock: impl Fn() -> Timestamp + Send + 'static,
        wake: impl Fn() + Send + 'static,
    ) -> Result<Self, ConnectError> {
        let options = connect::options(address, access, &connect::client_id("view"))?;
        let topics = Topics::below(&address.prefix);
        let (client, mut connection) = Client::new(options, REQUESTS);
        connection.eventloop.set_network_options(connect::network());
        let picture = Picture::new(topics.clone(), address.to_string(), own);
        let state = Mutex::new(State { picture, failed: 0, heard: Instant::now() });
        let shared = Arc::new(Shared { state, changed: Condvar::new(), ended: AtomicBool::new(false) });
        let thread = Thread { topics, client: client.clone(), shared: Arc::clone(&shared) };
        thread::spawn(move || thread.run(&mut connection, &clock, &wake));
        Ok(Self { shared, client })
    }

    /// What the broker said of all machines.
    #[must_use]
    pub fn look(&self) -> FleetLook {
        self.shared.lock().picture.look()
    }

    /// Every session with its machine, its topic and its document.
    #[must_use]
    pub fn documents(&self) -> Vec<(String, String, jig_session_schema::fleet::FleetSession)> {
        let state = self.shared.lock();
        state.picture.sessions().map(|(machine, topic, session)| (machine.to_owned(), topic, session.clone())).collect()
    }

    /// Waits until the broker has sent all that it holds or cannot be reached, at most this long.
    pub fn settle(&self, limit: Duration) {
        let end = Instant::now() + limit;
        let mut state = self.shared.lock();
        loop {
            let now = Instant::now();
            let quiet = (state.heard + QUIET).saturating_duration_since(now);
            if now >= end || state.failed > 0 || (state.picture.is_ready() && quiet.is_zero()) {
                return;
            }
            let wait = if state.picture.is_ready() { quiet } else { end - now };
            state = self.shared.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        let _ = self.client.try_disconnect();
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Thread {
    topics: Topics,
    client: Client,
    shared: Arc<Shared>,
}

impl Thread {
    fn run(&self, connection: &mut Connection, clock: &dyn Fn() -> Timestamp, wake: &dyn Fn()) {
        let mut pauses = Pauses::default();
        // The broker answers in order: once the second subscription is taken, all that belongs to the first was sent.
        let mut taken = 0;
        loop {
            let event = connection.recv();
            if self.shared.ended.load(Ordering::SeqCst) {
                return;
            }
            let Ok(event) = event else { return };
            let mut state = self.shared.lock();
            match event {
                Ok(Event::Incoming(Packet::ConnAck(_))) => {
                    pauses.connected();
                    taken = 0;
                    state.picture.connected();
                    let all = self.topics.all().map(|pattern| SubscribeFilter::new(pattern, QoS::AtMostOnce));
                    // The channel is empty: only these two pass through it.
                    let _ = self.client.try_subscribe_many(all);
                    let _ = self.client.try_subscribe(self.topics.machine("+"), QoS::AtMostOnce);
                }
                Ok(Event::Incoming(Packet::SubAck(_))) => {
                    taken += 1;
                    if taken == 2 {
                        state.picture.told();
                        state.heard = Instant::now();
                    }
                }
                Ok(Event::Incoming(Packet::Publish(message))) => {
                    let received =
                        Received { topic: &message.topic, payload: &message.payload, retained: message.retain };
                    state.picture.take(received, clock());
                    state.heard = Instant::now();
                }
                Ok(_) => continue,
                Err(error) => {
                    state.picture.lost(connect::words(&error));
                    state.failed += 1;
                    self.shared.changed.notify_all();
                    wake();
                    let pause = pauses.next();
                    let ended = |_: &mut State| !self.shared.ended.load(Ordering::SeqCst);
                    drop(self.shared.changed.wait_timeout_while(state, pause, ended));
                    continue;
                }
            }
            drop(state);
            self.shared.changed.notify_all();
            wake();
        }
    }
}
