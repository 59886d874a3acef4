//! What a machine has to send: the newest document of each session, at most one a second.

use std::collections::BTreeMap;

use jig_session_schema::fleet::FleetSession;

/// Two documents of one session are at least this far apart, in milliseconds.
const SPACING_MS: i64 = 1000;

/// The sessions as they are, and as they were sent to the broker. It holds one document a session and no more, however
/// long the broker is away.
#[derive(Debug, Default)]
pub struct Outbox {
    wanted: BTreeMap<String, FleetSession>,
    sent: BTreeMap<String, Sent>,
}

#[derive(Debug)]
struct Sent {
    /// Without its time; `None` for one that the broker holds and that is nobody's any more.
    session: Option<FleetSession>,
    at_ms: i64,
}

impl Outbox {
    /// Sets the sessions that are there now, by the names of their files.
    pub fn set(&mut self, sessions: impl IntoIterator<Item = (String, FleetSession)>) {
        self.wanted = sessions.into_iter().collect();
    }

    /// How many sessions are there.
    #[must_use]
    pub fn len(&self) -> usize {
        self.wanted.len()
    }

    /// Whether none is there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// The connection is a new one: a broker may have lost what it held, so all is sent again.
    pub fn connected(&mut self) {
        self.sent.clear();
    }

    /// The broker holds a document of this name: one that is nobody's is taken back.
    pub fn holds(&mut self, name: &str) {
        let leftover = Sent { session: None, at_ms: i64::MIN };
        self.sent.entry(name.to_owned()).or_insert(leftover);
    }

    /// What is to be sent now: a session, or that a name's is gone. Each is taken as sent.
    pub fn due(&mut self, now_ms: i64) -> Vec<(String, Option<FleetSession>)> {
        let mut due = Vec::new();
        self.sent.retain(|name, _| {
            let there = self.wanted.contains_key(name);
            if !there {
                due.push((name.clone(), None));
            }
            there
        });
        for (name, session) in &self.wanted {
            let is_due = match self.sent.get(name) {
                None => true,
                Some(sent) => sent.session.as_ref() != Some(session) && is_spaced(sent.at_ms, now_ms),
            };
            if is_due {
                self.sent.insert(name.clone(), Sent { session: Some(session.clone()), at_ms: now_ms });
                due.push((name.clone(), Some(session.clone())));
            }
        }
        due
    }

    /// What could not be handed over is due again.
    pub fn unsent(&mut self, name: &str) {
        match self.wanted.contains_key(name) {
            true => drop(self.sent.remove(name)),
            false => self.holds(name),
        }
    }

    /// In how many milliseconds something is due; `None` when nothing is.
    #[must_use]
    pub fn next_ms(&self, now_ms: i64) -> Option<i64> {
        let waits = self.wanted.iter().filter_map(|(name, session)| match self.sent.get(name) {
            None => Some(0),
            Some(sent) if sent.session.as_ref() == Some(session) => None,
            Some(sent) if is_spaced(sent.at_ms, now_ms) => Some(0),
            Some(sent) => Some(sent.at_ms.saturating_add(SPACING_MS).saturating_sub(now_ms)),
        });
        let gone = self.sent.keys().any(|name| !self.wanted.contains_key(name)).then_some(0);
        waits.chain(gone).min()
    }
}

/// Whether a second has passed; a clock that was set back makes nobody wait.
fn is_spaced(at_ms: i64, now_ms: i64) -> bool {
    now_ms < at_ms || now_ms.saturating_sub(at_ms) >= SPACING_MS
}

#[cfg(test)]
mod tests {
    use jig_session_schema::status::State;

    use super::*;

    fn session(id: &str, state: State) -> (String, FleetSession) {
        (id.to_owned(), FleetSession::new().session(id.to_owned()).state(state))
    }

    fn names(due: &[(String, Option<FleetSession>)]) -> Vec<String> {
        due.iter().map(|(name, session)| format!("{}{name}", if session.is_some() { '+' } else { '-' })).collect()
    }

    #[test]
    fn the_newest_is_sent_once_a_second() {
        let mut outbox = Outbox::default();
        outbox.connected();
        outbox.set([session("a", State::Idle)]);
        assert_eq!(names(&outbox.due(0)), ["+a"]);
        for state in [State::Busy, State::Idle, State::Busy] {
            outbox.set([session("a", state)]);
            assert_eq!(names(&outbox.due(500)), [""; 0]);
        }
        assert_eq!(outbox.next_ms(500), Some(500));
        let due = outbox.due(1000);
        assert_eq!(due[0].1.as_ref().map(|session| session.state), Some(State::Busy));
        assert_eq!((outbox.next_ms(1000), names(&outbox.due(9000))), (None, vec![]));
    }

    #[test]
    fn what_went_is_taken_back_at_once_and_once() {
        let mut outbox = Outbox::default();
        outbox.set([session("a", State::Idle), session("b", State::Idle)]);
        outbox.due(0);
        outbox.set([session("b", State::Idle)]);
        assert_eq!(outbox.next_ms(1), Some(0));
        assert_eq!(names(&outbox.due(1)), ["-a"]);
        assert_eq!(names(&outbox.due(2)), [""; 0]);
    }

    #[test]
    fn a_new_connection_is_told_all_and_rid_of_what_is_nobodys() {
        let mut outbox = Outbox::default();
        outbox.set([session("a", State::Idle)]);
        outbox.due(0);
        outbox.connected();
        outbox.holds("old");
        outbox.holds("a");
        assert_eq!(names(&outbox.due(10)), ["-old", "+a"]);
        // What did not leave is due again, whether it is there or gone.
        outbox.unsent("a");
        outbox.unsent("old");
        assert_eq!(names(&outbox.due(11)), ["-old", "+a"]);
    }
}
