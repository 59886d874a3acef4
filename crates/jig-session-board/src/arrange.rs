//! Which rows are shown, and in which order.

use std::collections::{HashMap, HashSet};

use jig_session_schema::row::Verdict;
use jig_session_schema::status::State;

use crate::filter::Typed;
use crate::model::{Bus, Entry, Panes, Sessions};

/// A line of the list of sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// The heading of a repository or folder.
    Group(Heading),
    /// A session, by its place.
    Session(usize),
    /// A member of the bus that is no session of the list, by its place.
    Member(usize),
}

/// A heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Heading {
    /// Sessions that are pinned.
    Pinned { count: usize },
    /// Sessions of a repository or a folder.
    Folder { path: String, count: usize, waiting: usize },
    /// Members of the bus without a session of their own.
    Members { count: usize },
}

/// What is shown of the last looks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    pub(crate) sessions: Vec<Item>,
    pub(crate) mail: Vec<usize>,
    pub(crate) claims: Vec<usize>,
    pub(crate) panes: Vec<usize>,
}

impl Shown {
    pub(crate) fn of(sessions: &Sessions, bus: &Bus, panes: &Panes, typed: &mut Typed) -> Self {
        Self {
            sessions: arranged(sessions, bus, typed),
            mail: places(&bus.mail, |mail| {
                let preview = mail.preview.as_deref().unwrap_or_default();
                typed.takes_texts(&[&mail.from.label, &mail.kind, &preview, &mail.paths.join(" ")])
            }),
            claims: places(&bus.status.claims, |claim| {
                typed.takes_texts(&[&claim.path, &claim.label, &claim.reason.as_deref().unwrap_or_default()])
            }),
            panes: places(&panes.rows, |pane| typed.takes_pane(pane)),
        }
    }
}

fn places<T>(rows: &[T], mut shown: impl FnMut(&T) -> bool) -> Vec<usize> {
    (0..rows.len()).filter(|place| shown(&rows[*place])).collect()
}

/// Pinned sessions first; then each repository or folder, the ones in which a person is waited for before the others,
/// which stand still in the order of their names: a list that moves under the eye cannot be read.
fn arranged(sessions: &Sessions, bus: &Bus, typed: &mut Typed) -> Vec<Item> {
    let entries = &sessions.entries;
    let shown = places(entries, |entry| typed.takes(&entry.row));
    let mut items = Vec::with_capacity(shown.len() + 8);
    let pinned: Vec<usize> = sessions
        .pinned
        .iter()
        .filter_map(|id| shown.iter().copied().find(|place| entries[*place].row.session == *id))
        .collect();
    if !pinned.is_empty() {
        items.push(Item::Group(Heading::Pinned { count: pinned.len() }));
        items.extend(pinned.iter().map(|place| Item::Session(*place)));
    }
    let once: HashSet<usize> = pinned.into_iter().collect();
    let mut groups: Vec<(&str, Vec<usize>)> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for place in shown.into_iter().filter(|place| !once.contains(place)) {
        let name = entries[place].group.as_str();
        let at = *known.entry(name).or_insert(groups.len());
        match groups.get_mut(at) {
            Some((_, places)) => places.push(place),
            None => groups.push((name, vec![place])),
        }
    }
    let waits = |place: &usize| entries[*place].waits();
    // The entries come with the longest wait first, and so do their groups; the sort keeps that.
    groups.sort_by(|(one, of_one), (other, of_other)| {
        let waiting = (of_other.iter().any(waits)).cmp(&of_one.iter().any(waits));
        waiting.then_with(|| if of_one.iter().any(waits) { std::cmp::Ordering::Equal } else { one.cmp(other) })
    });
    let by_hand: HashMap<&str, usize> = sessions.order.iter().enumerate().map(|(at, id)| (id.as_str(), at)).collect();
    for (path, mut places) in groups {
        places.sort_by_key(|place| rank(&entries[*place], &by_hand));
        let waiting = places.iter().filter(|place| waits(place)).count();
        items.push(Item::Group(Heading::Folder { path: path.to_owned(), count: places.len(), waiting }));
        items.extend(places.into_iter().map(Item::Session));
    }
    let sessions: HashSet<&str> = entries.iter().map(|entry| entry.row.session.as_str()).collect();
    let members = places(&bus.status.members, |member| {
        !sessions.contains(member.id.as_str())
            && typed.has_words_only()
            && typed.takes_texts(&[&member.label, &member.id, &member.agent])
    });
    if !members.is_empty() {
        items.push(Item::Group(Heading::Members { count: members.len() }));
        items.extend(members.into_iter().map(Item::Member));
    }
    items
}

/// Within a group: who waits, then the order by hand, then who works, and last what is not proved to live.
fn rank(entry: &Entry, by_hand: &HashMap<&str, usize>) -> (u8, usize, u8) {
    let row = &entry.row;
    let group = match (entry.waits(), row.verdict) {
        (true, _) => 0,
        (false, Verdict::Alive) => 1,
        (false, _) => 2,
    };
    let work = if row.state == State::Busy { 0 } else { u8::from(!entry.is_unseen()) + 1 };
    (group, by_hand.get(row.session.as_str()).copied().unwrap_or(usize::MAX), work)
}

#[cfg(test)]
mod tests {
    use jig_session_schema::bus_result::Member;
    use jig_session_schema::row::Row;
    use jig_session_schema::status::{Attention, Reason};

    use super::*;

    fn entry(session: &str, cwd: &str, state: State, waits: bool) -> Entry {
        let attention = waits.then(|| Attention::new().reason(Reason::QUESTION));
        let row = Row::new().session(session.into()).cwd(cwd.into()).state(state).attention(attention);
        Entry::of(row.verdict(Verdict::Alive))
    }

    fn order(sessions: &Sessions, bus: &Bus) -> String {
        let items = arranged(sessions, bus, &mut Typed::default());
        let words = items.iter().map(|item| match item {
            Item::Group(Heading::Pinned { .. }) => "[pinned]".to_owned(),
            Item::Group(Heading::Folder { path, .. }) => format!("[{path}]"),
            Item::Group(Heading::Members { .. }) => "[bus]".to_owned(),
            Item::Session(place) => sessions.entries[*place].row.session.clone(),
            Item::Member(place) => bus.status.members[*place].label.clone(),
        });
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn groups_with_a_wait_come_first_and_the_others_stand_still() {
        let sessions = Sessions {
            entries: vec![
                entry("w1", "/m", State::Busy, true),
                entry("w2", "/a", State::Idle, true),
                entry("b1", "/z", State::Busy, false),
                entry("b2", "/m", State::Busy, false),
                entry("i1", "/b", State::Idle, false),
                entry("i2", "/m", State::Idle, false),
            ],
            ..Sessions::default()
        };
        assert_eq!(order(&sessions, &Bus::default()), "[/m] w1 b2 i2 [/a] w2 [/b] i1 [/z] b1");
    }

    #[test]
    fn pins_and_the_order_by_hand_hold() {
        let mut sessions = Sessions {
            entries: vec![
                entry("w", "/m", State::Busy, true),
                entry("b", "/m", State::Busy, false),
                entry("i", "/m", State::Idle, false),
                entry("j", "/m", State::Idle, false),
            ],
            pinned: vec!["j".into(), "gone".into()],
            order: vec!["i".into(), "b".into(), "w".into()],
            ..Sessions::default()
        };
        assert_eq!(order(&sessions, &Bus::default()), "[pinned] j [/m] w i b");
        sessions.entries[2].row.verdict = Verdict::Unknown;
        assert_eq!(order(&sessions, &Bus::default()), "[pinned] j [/m] w b i", "what is not proved is last");
    }

    #[test]
    fn a_member_without_a_session_is_shown_once() {
        let sessions = Sessions { entries: vec![entry("s", "/m", State::Idle, false)], ..Sessions::default() };
        let mut bus = Bus::default();
        let member = |id: &str| Member::new().id(id.into()).label(format!("l-{id}"));
        bus.status.members = vec![member("s"), member("term-1")];
        assert_eq!(order(&sessions, &bus), "[/m] s [bus] l-term-1");
    }
}
