//! One session is one row, and not every row is listed.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;

use jig_session_schema::limits::FOREIGN_AGE;
use jig_session_schema::names;
use jig_session_schema::row::{Detail, Row, Source, Verdict};
use jig_session_schema::status::{AgentName, State};
use jig_session_schema::time::Timestamp;

use crate::entry::Session;

/// Whether the session is not known to be over.
#[must_use]
pub fn is_live(row: &Row) -> bool {
    !row.verdict.is_over() && row.detail != Some(Detail::EXITED)
}

/// One session an id: status v1, unless that one is over and pi-king's card is not. Of two files of one format the
/// live one counts, then the one that began last, then the one that was written last. Of two live processes one that
/// works or waits for a person comes first; that two tell of the session is the row's detail.
#[must_use]
pub fn joined(sessions: Vec<Session>) -> Vec<Session> {
    // Nearly always every id is there once, and nothing needs to move.
    if sessions.iter().all(is_only_one) {
        return sessions;
    }
    let mut kept: Vec<Session> = Vec::with_capacity(sessions.len());
    let mut places: HashMap<String, usize> = HashMap::with_capacity(sessions.len());
    for session in sessions {
        match places.entry(session.row.session.clone()) {
            Entry::Vacant(place) => {
                place.insert(kept.len());
                kept.push(session);
            }
            Entry::Occupied(place) => {
                let other = &mut kept[*place.get()];
                let two = two_processes(other, &session);
                // An idle process says nothing of the other's work.
                let busier = if two { works(&session.row).cmp(&works(&other.row)) } else { Ordering::Equal };
                if busier.then_with(|| rank(&session.row).cmp(&rank(&other.row))).is_gt() {
                    *other = session;
                }
                if two && other.row.detail.is_none() {
                    other.row.detail = Some(Detail::TWO_PROCESSES);
                }
            }
        }
    }
    kept
}

/// Whether no other file can hold this id as long as all say so: a folder has each name once, and an id has one plain
/// name and one longer, hashed one.
fn is_only_one(session: &Session) -> bool {
    let row = &session.row;
    row.source == Source::Jig && row.host.is_none() && !is_hashed(&row.path)
}

/// Whether a file has the longer name, which alone holds a `~`: before 16 digits and `.json`.
fn is_hashed(path: &str) -> bool {
    let from_the_end = "~0123456789abcdef.json".len();
    path.len().checked_sub(from_the_end).is_some_and(|place| path.as_bytes()[place] == b'~')
}

/// Whether two live processes tell of one session.
fn two_processes(one: &Session, other: &Session) -> bool {
    let jig = |session: &Session| session.row.source == Source::Jig && session.row.verdict.is_alive();
    jig(one) && jig(other) && !one.record().same_process(&other.record())
}

/// Whether its process works or waits for a person.
fn works(row: &Row) -> bool {
    row.state != State::Idle || row.attention.is_some()
}

/// Which of two rows of one session is shown. Of two live processes that do the same it is the one that began last: it
/// does not change with every write. Its publisher has seen to it that it has the plain name, by a clock that is not set.
fn rank(row: &Row) -> (bool, bool, bool, Option<Timestamp>, Option<Timestamp>) {
    let stem = Path::new(&row.path).file_stem().and_then(|stem| stem.to_str());
    let plain = names::document_name(&row.session);
    (!row.verdict.is_over(), row.source == Source::Jig, stem == plain.as_deref(), row.started_at, row.updated_at)
}

/// The sessions that are listed by default; `now` is the reader's time.
#[must_use]
pub fn listed(sessions: &[Session], now: Timestamp) -> Vec<bool> {
    let seats = seats(sessions);
    sessions.iter().map(|session| is_listed(session, &seats, now)).collect()
}

/// The live processes of each agent in each folder.
type Seats<'a> = HashMap<(AgentName, &'a str), Vec<Option<u32>>>;

/// Counted lazily, for a shared process only.
fn seats(sessions: &[Session]) -> Seats<'_> {
    let mut seats = Seats::new();
    if sessions.iter().any(|session| session.row.detail == Some(Detail::SHARED_PROCESS)) {
        let alive = |row: &Row| matches!(row.verdict, Verdict::Alive | Verdict::Unverified);
        for row in sessions.iter().map(|session| &session.row).filter(|row| alive(row)) {
            let pids = seats.entry((row.agent_name(), row.cwd.as_str())).or_default();
            // Two differing processes are enough to be company for any.
            if pids.len() < 2 && !pids.contains(&row.pid) {
                pids.push(row.pid);
            }
        }
    }
    seats
}

fn is_listed(session: &Session, seats: &Seats<'_>, now: Timestamp) -> bool {
    let row = &session.row;
    if !is_live(row) || (row.source == Source::PiKing && !session.visible) {
        return false;
    }
    match &row.detail {
        Some(detail) if *detail == Detail::OTHER_MACHINE => is_recent(row, now),
        Some(detail) if *detail == Detail::SHARED_PROCESS => row.state != State::Idle || has_company(row, seats),
        _ => true,
    }
}

/// Nobody here can tell whether a session of another machine lives, so it is shown for a while after its last write.
fn is_recent(row: &Row, now: Timestamp) -> bool {
    let age = row.updated_at.map(|at| now.since_ms(at));
    age.is_some_and(|age| u128::from(age.max(0).unsigned_abs()) <= FOREIGN_AGE.as_millis())
}

/// Whether another live process of the same agent works in the same folder: the seat that the shared process serves.
fn has_company(row: &Row, seats: &Seats<'_>) -> bool {
    let pids = seats.get(&(row.agent_name(), row.cwd.as_str()));
    pids.is_some_and(|pids| pids.iter().any(|pid| *pid != row.pid))
}

#[cfg(test)]
mod tests {
    use jig_session_atomic::Stamp;
    use jig_session_schema::status::Agent;

    use super::*;

    const NOW: i64 = 1_795_976_327_855;

    fn session(id: &str, source: Source, verdict: Verdict, updated_ms_ago: i64) -> Session {
        let mut row = Row::new();
        row.session = id.into();
        row.cwd = "/home/dev/app".into();
        row.source = source;
        row.verdict = verdict;
        row.updated_at = Some(Timestamp::from_epoch_ms(NOW - updated_ms_ago));
        Session {
            row,
            process: None,
            terminal_from: None,
            tmux_socket: None,
            publisher: None,
            visible: true,
            exited: false,
            stamp: Stamp { inode: 1, size: 1, modified_ns: 1 },
            local: true,
        }
    }

    fn is_shown(sessions: &[Session]) -> Vec<bool> {
        listed(sessions, Timestamp::from_epoch_ms(NOW))
    }

    #[test]
    fn one_id_is_one_row() {
        let pairs = [
            (Verdict::Alive, Verdict::Unverified, Source::Jig),
            (Verdict::Unknown, Verdict::Unverified, Source::Jig),
            (Verdict::Gone, Verdict::Unverified, Source::PiKing),
            (Verdict::Reused, Verdict::Unknown, Source::PiKing),
            (Verdict::Gone, Verdict::Gone, Source::Jig),
        ];
        for (jig, king, wanted) in pairs {
            let a = session("s", Source::Jig, jig, 60_000);
            let b = session("s", Source::PiKing, king, 0);
            for both in [vec![a.clone(), b.clone()], vec![b, a]] {
                let rows = joined(both);
                assert_eq!(rows.len(), 1);
                assert_eq!(rows[0].row.source, wanted, "{jig} {king}");
            }
        }
        let mut two = vec![session("s", Source::Jig, Verdict::Alive, 5), session("s", Source::Jig, Verdict::Alive, 1)];
        two[0].row.path = "/s~/s.json".into();
        two[1].row.path = "/s~/s~043a718774c572bd.json".into();
        // The plain name is the newer process's, whatever the clocks of both say.
        assert_eq!(joined(two)[0].row.updated_at, Some(Timestamp::from_epoch_ms(NOW - 5)));
    }

    #[test]
    fn a_session_of_two_live_processes_says_so_and_shows_the_one_that_works_else_the_newer() {
        let of = |pid: u32, began: i64, written_ago: i64, path: &str| {
            let mut session = session("s", Source::Jig, Verdict::Alive, written_ago);
            session.row.pid = Some(pid);
            session.row.started_at = Some(Timestamp::from_epoch_ms(NOW - began));
            session.row.path = path.into();
            session
        };
        let newer = of(8, 1_000, 900, "/s~/s.json");
        let older = of(7, 2_000, 0, "/s~/s~043a718774c572bd.json");
        for both in [vec![newer.clone(), older.clone()], vec![older.clone(), newer.clone()]] {
            let rows = joined(both);
            assert_eq!((rows.len(), rows[0].row.pid), (1, Some(8)));
            assert_eq!(rows[0].row.detail, Some(Detail::TWO_PROCESSES));
        }
        let mut busy = older.clone();
        busy.row.state = State::Busy;
        for both in [vec![newer.clone(), busy.clone()], vec![busy, newer.clone()]] {
            let rows = joined(both);
            assert_eq!((rows[0].row.pid, rows[0].row.detail.clone()), (Some(7), Some(Detail::TWO_PROCESSES)));
        }
        let mut dead = newer;
        dead.row.verdict = Verdict::Gone;
        let rows = joined(vec![dead, older.clone()]);
        assert_eq!((rows[0].row.pid, rows[0].row.detail.clone()), (Some(7), None));
        let rows = joined(vec![of(7, 2_000, 5, "/s~/s.json"), older]);
        assert_eq!((rows.len(), rows[0].row.detail.clone()), (1, None), "one process with two files");
    }

    #[test]
    fn every_verdict_but_an_end_is_listed_at_any_age() {
        let day = 86_400_000;
        for verdict in [Verdict::Alive, Verdict::Unverified, Verdict::Unknown] {
            assert_eq!(is_shown(&[session("s", Source::Jig, verdict, 30 * day)]), [true], "{verdict}");
        }
        for verdict in [Verdict::Gone, Verdict::Reused] {
            assert_eq!(is_shown(&[session("s", Source::Jig, verdict, 0)]), [false], "{verdict}");
        }
    }

    #[test]
    fn another_machines_session_is_listed_for_ten_minutes() {
        for (age, shown) in [(0, true), (600_000, true), (600_001, false), (-5_000, true)] {
            let mut foreign = session("s", Source::Jig, Verdict::Unknown, age);
            foreign.row.detail = Some(Detail::OTHER_MACHINE);
            assert_eq!(is_shown(&[foreign]), [shown], "{age}");
        }
    }

    #[test]
    fn a_card_must_ask_to_be_listed() {
        let mut card = session("s", Source::PiKing, Verdict::Unverified, 0);
        assert_eq!(is_shown(&[card.clone()]), [true]);
        card.visible = false;
        assert_eq!(is_shown(&[card.clone()]), [false]);
        card.visible = true;
        card.row.detail = Some(Detail::EXITED);
        assert_eq!(is_shown(&[card]), [false]);
    }

    #[test]
    fn an_idle_session_of_a_shared_process_needs_company() {
        let of = |id: &str, agent: AgentName, pid: u32| {
            let mut session = session(id, Source::Jig, Verdict::Unverified, 0);
            session.row.agent = Some(Agent::new().name(agent));
            session.row.pid = Some(pid);
            session
        };
        let mut shared = of("shared", AgentName::CODEX, 7);
        shared.row.detail = Some(Detail::SHARED_PROCESS);
        let mut sister = of("sister", AgentName::CODEX, 7);
        sister.row.detail = Some(Detail::SHARED_PROCESS);
        assert_eq!(is_shown(&[shared.clone(), sister]), [false, false], "the process itself is no company");
        assert_eq!(is_shown(&[shared.clone(), of("seat", AgentName::CODEX, 8)]), [true, true]);
        assert_eq!(is_shown(&[shared.clone(), of("other agent", AgentName::PI, 8)]), [false, true]);
        let mut dead = of("dead", AgentName::CODEX, 8);
        dead.row.verdict = Verdict::Gone;
        assert_eq!(is_shown(&[shared.clone(), dead]), [false, false]);
        let mut elsewhere = of("elsewhere", AgentName::CODEX, 8);
        elsewhere.row.cwd = "/other".into();
        assert_eq!(is_shown(&[shared.clone(), elsewhere]), [false, true]);
        shared.row.state = State::Busy;
        assert_eq!(is_shown(&[shared]), [true]);
    }
}
