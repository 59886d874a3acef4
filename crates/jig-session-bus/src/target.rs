//! Who is meant by a word: an id, a label, or a piece of an id.

use jig_session_schema::bus_result::MemberState as State;

use crate::error::{Code, Refusal};
use crate::label;
use crate::member::Member;

/// Shortest piece of an id that names a session.
const SHORTEST: usize = 4;

/// Why a word names nobody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoTarget {
    /// Nobody is called that.
    Unknown,
    /// Several match: their indices in the list.
    Ambiguous(Vec<usize>),
}

/// Whether a session, as its id and its label, is meant.
type Rule<'a> = dyn Fn(&(&str, &str)) -> bool + 'a;

/// Finds the one session that `word` names: exact id, else label without case, else the beginning or end of one id.
///
/// `sessions` are `(id, label)`; the answer is a place in it.
pub(crate) fn resolve(word: &str, sessions: &[(&str, &str)]) -> Result<usize, NoTarget> {
    let word = word.trim();
    let by_id = |(id, _): &(&str, &str)| *id == word;
    let by_label = |(_, name): &(&str, &str)| label::same(name, word);
    let by_piece =
        |(id, _): &(&str, &str)| word.chars().count() >= SHORTEST && (id.starts_with(word) || id.ends_with(word));
    let rules: [&Rule<'_>; 3] = [&by_id, &by_label, &by_piece];
    for rule in rules {
        let found: Vec<usize> = (0..sessions.len()).filter(|i| rule(&sessions[*i])).collect();
        match found.len() {
            0 => {}
            1 => return Ok(found[0]),
            _ => return Err(NoTarget::Ambiguous(found)),
        }
    }
    Err(NoTarget::Unknown)
}

/// The member that `word` names, as a place in the list, or why there is none. What a dead session left behind does not
/// make a living one ambiguous.
pub fn choose(word: &str, members: &[Member]) -> Result<usize, Refusal> {
    let sessions: Vec<(&str, &str)> =
        members.iter().map(|member| (member.record.id.as_str(), member.record.label.as_str())).collect();
    let standing: Vec<usize> = (0..members.len()).filter(|i| members[*i].state != State::Gone).collect();
    let alive: Vec<(&str, &str)> = standing.iter().map(|i| sessions[*i]).collect();
    let found = match resolve(word, &alive) {
        Ok(i) => Ok(standing[i]),
        Err(NoTarget::Unknown) => resolve(word, &sessions),
        Err(NoTarget::Ambiguous(places)) => Err(NoTarget::Ambiguous(places.into_iter().map(|i| standing[i]).collect())),
    };
    found.map_err(|none| match none {
        NoTarget::Unknown => {
            let near = nearest(word, &alive);
            let hint = match near.as_slice() {
                [] => "nobody is on it: see jig-session bus status".to_owned(),
                near => format!("on it are: {}", near.join(", ")),
            };
            let mut refusal =
                Refusal::new(Code::NotFound, format!("nobody on this bus is called \"{word}\"")).hint(hint);
            refusal.candidates = near;
            refusal
        }
        NoTarget::Ambiguous(places) => {
            let named: Vec<String> =
                places.iter().map(|i| format!("{} ({})", sessions[*i].0, sessions[*i].1)).collect();
            let message = format!("\"{word}\" names {} sessions: {}", places.len(), named.join(", "));
            let mut refusal = Refusal::new(Code::Ambiguous, message).hint("use more of the id");
            refusal.candidates = places.iter().map(|i| sessions[*i].0.to_owned()).collect();
            refusal
        }
    })
}

/// Most names that are offered for one that nobody has.
const OFFERED: usize = 5;

/// The labels that are most like a word, the most similar one first.
fn nearest(word: &str, sessions: &[(&str, &str)]) -> Vec<String> {
    let word = word.trim().to_lowercase();
    let likeness = |label: &str| strsim::jaro_winkler(&word, &label.to_lowercase());
    let mut labels: Vec<&str> = sessions.iter().map(|(_, label)| *label).collect();
    labels.sort_by(|a, b| likeness(b).total_cmp(&likeness(a)).then(a.cmp(b)));
    labels.dedup();
    labels.into_iter().take(OFFERED).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_like_a_word_is_offered_first() {
        let sessions = [("1", "web"), ("2", "billing"), ("3", "api-lead"), ("4", "docs"), ("5", "ui"), ("6", "e2e")];
        assert_eq!(nearest("bilign", &sessions)[0], "billing");
        assert_eq!(nearest("API", &sessions)[0], "api-lead");
        assert_eq!(nearest("x", &sessions).len(), OFFERED);
        assert!(nearest("x", &[]).is_empty());
    }

    #[test]
    fn ids_then_labels_then_pieces() {
        // Behaviours 55 to 57.
        let sessions = [
            ("019fb27c-6804-7fa5-8000-00000000aaaa", "api"),
            ("019fb27c-6804-7fa6-8000-00000000bbbb", "web"),
            ("web", "other"),
        ];
        assert_eq!(resolve("api", &sessions), Ok(0));
        assert_eq!(resolve("API", &sessions), Ok(0));
        assert_eq!(resolve("web", &sessions), Ok(2), "an exact id goes before a label");
        assert_eq!(resolve("bbbb", &sessions), Ok(1));
        assert_eq!(resolve("019fb27c-6804-7fa6", &sessions), Ok(1));
        assert_eq!(resolve("019fb2", &sessions), Err(NoTarget::Ambiguous(vec![0, 1])));
        assert_eq!(resolve("bbb", &sessions), Err(NoTarget::Unknown), "three characters are too few");
        assert_eq!(resolve("nobody", &sessions), Err(NoTarget::Unknown));
        assert_eq!(resolve("", &sessions), Err(NoTarget::Unknown));
    }
}
