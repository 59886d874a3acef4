//! Who is meant by a word: an id, a label, or a piece of an id.

use crate::label;

/// Shortest piece of an id that names a session.
const SHORTEST: usize = 4;

/// Why a word names nobody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoTarget {
    /// Nobody is called that.
    Unknown,
    /// These are: places in the list that was asked.
    Ambiguous(Vec<usize>),
}

/// Whether a session, as its id and its label, is meant.
type Rule<'a> = dyn Fn(&(&str, &str)) -> bool + 'a;

/// Finds the one session that `word` names: exact id, else label without case, else the beginning or end of one id.
///
/// `sessions` are `(id, label)`; the answer is a place in it.
pub fn resolve(word: &str, sessions: &[(&str, &str)]) -> Result<usize, NoTarget> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
