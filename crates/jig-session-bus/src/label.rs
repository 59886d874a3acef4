//! Labels: the names peers address each other by.

use jig_session_schema::invisible::is_invisible;

use crate::limits;
use crate::text;

/// Why an explicit label is rejected, as the text of the error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadLabel {
    /// Nothing is left of it.
    #[error("a label cannot be blank")]
    Blank,
    /// It means something else.
    #[error("\"{0}\" is not a label: it has a meaning of its own")]
    Reserved(String),
    /// Its first character belongs to options and resources.
    #[error("a label cannot begin with \"{0}\"")]
    Beginning(char),
    /// It is too long to be an address.
    #[error("a label has at most {} characters", limits::LABEL)]
    TooLong,
    /// It would not look like what it is.
    #[error("a label cannot hold control, bidi or zero-width characters")]
    Invisible,
}

/// Validates an explicit label: it is used as written, apart from surrounding blanks, or rejected.
pub fn given(label: &str) -> Result<String, BadLabel> {
    let label = text::nfc(label);
    if label.chars().any(|c| is_unseen(c) && !c.is_whitespace()) {
        return Err(BadLabel::Invisible);
    }
    let label = join_blanks(&label);
    if label.chars().count() > limits::LABEL {
        return Err(BadLabel::TooLong);
    }
    match label.chars().next() {
        None => Err(BadLabel::Blank),
        Some(c @ ('-' | '@')) => Err(BadLabel::Beginning(c)),
        Some(_) if is_reserved(&label) => Err(BadLabel::Reserved(label)),
        Some(_) => Ok(label),
    }
}

/// Makes a label of a name that was not meant as one (a folder, a session's name); `None` when nothing is left.
pub fn derived(name: &str) -> Option<String> {
    let visible: String = text::nfc(name).chars().filter(|c| c.is_whitespace() || !is_unseen(*c)).collect();
    let joined = join_blanks(&visible);
    let label: String = joined.trim_start_matches(['-', '@']).chars().take(limits::LABEL).collect();
    (!label.is_empty() && !is_reserved(&label)).then_some(label)
}

/// The label itself, then the label with more and more of the end of the id.
///
/// Ids that were made together (UUIDv7) share a prefix, so the suffix distinguishes them.
pub fn with_suffixes<'a>(label: &'a str, id: &str) -> impl Iterator<Item = String> + 'a {
    let tail: Vec<char> = id.chars().filter(char::is_ascii_alphanumeric).collect();
    let lengths = [4, 6, 8, tail.len()];
    std::iter::once(label.to_owned()).chain(lengths.into_iter().map(move |length| {
        let suffix: String = tail[tail.len().saturating_sub(length)..].iter().collect();
        let room = limits::LABEL.saturating_sub(suffix.chars().count() + 1);
        let head: String = label.chars().take(room).collect();
        if head.is_empty() { suffix } else { format!("{head}-{suffix}") }
    }))
}

/// Whether a character of an address is not seen. A text keeps the selectors of an emoji's form, an address does not:
/// with and without them it looks the same. The blank pattern of Braille is a blank that is no white space.
fn is_unseen(c: char) -> bool {
    is_invisible(c) || matches!(c, '\u{fe0e}' | '\u{fe0f}' | '\u{2800}')
}

/// Whether two labels look alike, by the skeletons of Unicode's table of confusable characters (UTS 39).
pub fn alike(a: &str, b: &str) -> bool {
    let skeleton = |text: &str| unicode_security::skeleton(text).collect::<String>();
    let alike = |a: &str, b: &str| skeleton(a) == skeleton(b);
    // Each case has a look of its own.
    same(a, b) || alike(a, b) || alike(&a.to_lowercase(), &b.to_lowercase())
}

/// Whether two labels are one address.
pub fn same(a: &str, b: &str) -> bool {
    a == b || a.to_lowercase() == b.to_lowercase()
}

fn is_reserved(label: &str) -> bool {
    label == "*" || label.eq_ignore_ascii_case("all")
}

/// Trims, and turns each run of blanks into one `-`.
fn join_blanks(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_labels_are_kept_or_refused() {
        // Behaviours 29 and 30.
        assert_eq!(given("billing-core"), Ok("billing-core".into()));
        assert_eq!(given("  billing   core "), Ok("billing-core".into()));
        assert_eq!(given("e\u{301}"), Ok("\u{e9}".into()));
        assert_eq!(given("*"), Err(BadLabel::Reserved("*".into())));
        assert_eq!(given("ALL"), Err(BadLabel::Reserved("ALL".into())));
        assert_eq!(given("   "), Err(BadLabel::Blank));
        assert_eq!(given("\u{1b}\u{7}"), Err(BadLabel::Invisible));
        assert_eq!(given("a\u{202e}b"), Err(BadLabel::Invisible));
        assert_eq!(given("a\u{200b}b"), Err(BadLabel::Invisible));
        assert_eq!(given("\u{2800}"), Err(BadLabel::Invisible));
        assert_eq!(given("alice\u{fe0f}"), Err(BadLabel::Invisible));
        assert_eq!(given("-x"), Err(BadLabel::Beginning('-')));
        assert_eq!(given("@x"), Err(BadLabel::Beginning('@')));
        assert_eq!(given(&"x".repeat(48)), Ok("x".repeat(48)));
        assert_eq!(given(&"x".repeat(49)), Err(BadLabel::TooLong));
    }

    #[test]
    fn derived_labels_are_cleaned_and_cut() {
        // Behaviour 30: what was not meant as a label is cut, not refused.
        assert_eq!(derived("my project"), Some("my-project".into()));
        assert_eq!(derived(&"x".repeat(60)), Some("x".repeat(48)));
        assert_eq!(derived("\u{1b}[2Japi"), Some("[2Japi".into()));
        assert_eq!(derived("--api"), Some("api".into()));
        assert_eq!(derived("all"), None);
        assert_eq!(derived(" \u{200b} "), None);
    }

    #[test]
    fn suffixes_come_from_the_end_of_the_id() {
        // Behaviours 25 and 26.
        let labels = |id: &str| with_suffixes("api", id).collect::<Vec<_>>();
        let a = labels("019fb27c-6804-7fa5-8000-00000000aaaa");
        let b = labels("019fb27c-6804-7fa6-8000-00000000bbbb");
        assert_eq!(a[..4], ["api", "api-aaaa", "api-00aaaa", "api-0000aaaa"]);
        assert_eq!(b[1], "api-bbbb");
        let long = "x".repeat(48);
        let second = with_suffixes(&long, "s-1234").nth(1).expect("a suffixed label");
        assert_eq!(second.chars().count(), 48);
        assert!(second.ends_with("-1234"));
    }

    #[test]
    fn labels_that_look_alike_are_told() {
        for (a, b) in [("alice", "\u{430}lice"), ("Alice", "alice"), ("paypal", "paypa\u{406}"), ("core", "c\u{3bf}re")]
        {
            assert!(alike(a, b), "{a} {b}");
        }
        for (a, b) in [("alice", "alices"), ("worker-1", "worker-2"), ("core", "cord")] {
            assert!(!alike(a, b), "{a} {b}");
        }
    }

    #[test]
    fn labels_compare_without_case() {
        // Behaviour 27.
        assert!(same("BlueLake", "bluelake"));
        assert!(!same("blue", "bluelake"));
    }
}
