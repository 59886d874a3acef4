//! The small rules of the format: icons, what counts as running, when a restart is needed, which ids are names.

use jig_session_schema::king::{KingState, KingStatus, KingSubagent, SubagentState};
use jig_session_schema::status::Model;

/// The icon of each word that pi-king's contract names.
const ICONS: [(KingState, char); 6] = [
    (KingState::WORKING, '◐'),
    (KingState::IDLE, '●'),
    (KingState::BACKGROUND, '◒'),
    (KingState::ATTENTION, '◆'),
    (KingState::ERROR, '▲'),
    (KingState::EXITED, '○'),
];

/// The icon of a card's title.
#[must_use]
pub fn icon(word: &KingState) -> char {
    ICONS.iter().find(|(known, _)| known == word).map_or('◌', |(_, icon)| *icon)
}

/// Whether a subagent is queued or runs.
#[must_use]
pub fn runs(subagent: &KingSubagent) -> bool {
    subagent.status == SubagentState::QUEUED || subagent.status == SubagentState::RUNNING
}

/// The model's id, the only field a card has of it.
pub(crate) fn model_id(model: &Model) -> Option<String> {
    Some(model.id.clone()).filter(|id| !id.is_empty())
}

/// Whether a process started with `theirs` must be restarted to load what a fresh start would load.
/// `None`: a fresh value cannot be computed here. A card without a stamp was never compared, which
/// counts as different; one that has ended needs no restart.
#[must_use]
pub fn restart_needed(card: &KingStatus, fresh: Option<&str>) -> Option<bool> {
    if card.status == KingState::EXITED {
        return Some(false);
    }
    fresh.map(|fresh| card.startup_fingerprint.as_deref() != Some(fresh))
}

/// Whether an id may be a file's name in pi-king's folder: it is what Pi itself allows for one.
#[must_use]
pub fn writable_id(id: &str) -> bool {
    let alphanumeric = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = id.as_bytes();
    alphanumeric(bytes.first())
        && alphanumeric(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::{icon, restart_needed, writable_id};
    use jig_session_schema::king::{KingState, KingStatus};

    #[test]
    fn an_unknown_word_has_an_icon_too() {
        assert_eq!((icon(&KingState::IDLE), icon(&KingState::new("compacting").unwrap())), ('●', '◌'));
    }

    #[test]
    fn a_restart_is_needed_when_the_stamp_differs_or_is_missing() {
        let card = |stamp: Option<&str>, word: KingState| {
            KingStatus::new().startup_fingerprint(stamp.map(str::to_owned)).status(word)
        };
        assert_eq!(restart_needed(&card(Some("a"), KingState::IDLE), Some("a")), Some(false));
        assert_eq!(restart_needed(&card(Some("a"), KingState::IDLE), Some("b")), Some(true));
        assert_eq!(restart_needed(&card(None, KingState::IDLE), Some("b")), Some(true));
        assert_eq!(restart_needed(&card(Some("a"), KingState::IDLE), None), None);
        assert_eq!(restart_needed(&card(None, KingState::EXITED), Some("b")), Some(false));
    }

    #[test]
    fn ids_that_pi_accepts() {
        for id in ["a", "01a22867-da07-7ca1-82a3-e8f90f2861de", "A.b_c-9", "9"] {
            assert!(writable_id(id), "{id}");
        }
        for id in ["", ".", "..", "-a", "a-", "a/b", "a b", "a\n", "é", ".a", "a."] {
            assert!(!writable_id(id), "{id:?}");
        }
    }
}
