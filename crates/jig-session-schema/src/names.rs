//! Names on disk: from a session's id to its files, and back from a file's name to what it is.

use crate::limits::SAFE_NAME_BYTES;
use crate::sha256;

/// The id made safe: each UTF-16 code unit outside `A-Z a-z 0-9 . _ -` becomes `_`.
#[must_use]
pub fn safe(id: &str) -> String {
    let mut out = String::with_capacity(id.len());
    for c in id.chars() {
        if is_safe(c) {
            out.push(c);
        } else {
            // A character beyond the basic plane is two code units, as in the languages that count so.
            out.extend(std::iter::repeat_n('_', c.len_utf16()));
        }
    }
    out
}

fn is_safe(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

/// The first 16 hex digits of SHA-256 of the id's UTF-8.
#[must_use]
pub fn hash16(id: &str) -> String {
    sha256::hex16(id.as_bytes())
}

/// The first 16 hex digits of SHA-256 of any bytes.
#[must_use]
pub fn hash16_bytes(bytes: &[u8]) -> String {
    sha256::hex16(bytes)
}

/// All 64 hex digits of SHA-256 of any bytes.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    sha256::hex(&sha256::digest(bytes))
}

/// A document's name without `.json`; None for an empty id.
#[must_use]
pub fn document_name(id: &str) -> Option<String> {
    let plain = safe(id);
    if plain.is_empty() {
        return None;
    }
    if needs_hash(&plain) { hashed_name(id) } else { Some(plain) }
}

/// The longer name `<safe>~<hash>`: for an id whose plain name is unfit or taken by another live session.
#[must_use]
pub fn hashed_name(id: &str) -> Option<String> {
    let mut name = safe(id);
    if name.is_empty() {
        return None;
    }
    if name.starts_with('.') {
        // Readers pass over names that begin with a dot, so this one must not.
        name.replace_range(..1, "_");
    }
    name.truncate(SAFE_NAME_BYTES);
    name.push('~');
    name.push_str(&hash16(id));
    Some(name)
}

/// A document's name on the bus: hashed whenever the safe form differs from the id, since an address must not depend
/// on who came first.
#[must_use]
pub fn bus_name(id: &str) -> Option<String> {
    if safe(id) == id { document_name(id) } else { hashed_name(id) }
}

/// Whether a document named `name` (without `.json`) may hold this id.
#[must_use]
pub fn name_fits(name: &str, id: &str) -> bool {
    // Nearly every id is its own name.
    if name == id && !id.is_empty() && id.bytes().all(|byte| is_safe(char::from(byte))) && !needs_hash(id) {
        return true;
    }
    document_name(id).is_some_and(|plain| plain == name) || hashed_name(id).is_some_and(|hashed| hashed == name)
}

fn needs_hash(plain: &str) -> bool {
    plain.len() > SAFE_NAME_BYTES || plain.starts_with('.') || plain.ends_with('.') || is_windows_device(plain)
}

/// Windows keeps these names for devices, whatever extension follows.
fn is_windows_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name);
    let is = |word: &&str| stem.eq_ignore_ascii_case(word);
    let numbered = |stem: &str| {
        let (kind, digit) = stem.split_at_checked(3)?;
        let known = ["COM", "LPT"].iter().any(|word| kind.eq_ignore_ascii_case(word));
        Some(known && digit.len() == 1 && digit.as_bytes()[0].is_ascii_digit())
    };
    ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"].iter().any(is) || numbered(stem) == Some(true)
}

/// What a file's name says it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileName<'a> {
    /// `<name>.json`.
    Document(&'a str),
    /// `.<name>.json.tmp-<pid>-<8 hex>`: being written, or left by a writer that died.
    Temporary {
        /// The document's name.
        name: &'a str,
        /// Who writes.
        pid: u32,
    },
    /// `.<name>.json.taken-<pid>-<8 hex>`: a request being handled.
    Taken {
        /// The document's name.
        name: &'a str,
        /// Who took it.
        pid: u32,
    },
    /// `.<name>.lock`.
    Lock(&'a str),
    /// Anything else: nobody here wrote it.
    Other,
}

/// Tells a file by its name alone.
#[must_use]
pub fn file_name(file: &str) -> FileName<'_> {
    let Some(hidden) = file.strip_prefix('.') else {
        return match file.strip_suffix(".json") {
            Some(name) if !name.is_empty() => FileName::Document(name),
            _ => FileName::Other,
        };
    };
    if let Some(name) = hidden.strip_suffix(".lock").filter(|name| !name.is_empty()) {
        return FileName::Lock(name);
    }
    for (mark, taken) in [(".json.tmp-", false), (".json.taken-", true)] {
        if let Some((name, pid)) = hidden.rsplit_once(mark).and_then(|(name, tail)| Some((name, owner(tail)?))) {
            return if taken { FileName::Taken { name, pid } } else { FileName::Temporary { name, pid } };
        }
    }
    FileName::Other
}

/// The pid in `<pid>-<8 hex>`.
fn owner(tail: &str) -> Option<u32> {
    let (pid, random) = tail.split_once('-')?;
    let hex = random.len() == 8 && random.bytes().all(|b| b.is_ascii_hexdigit());
    let digits = !pid.is_empty() && pid.bytes().all(|b| b.is_ascii_digit());
    if hex && digits { pid.parse().ok() } else { None }
}

/// A temporary's name beside the document it becomes.
#[must_use]
pub fn temporary_name(name: &str, pid: u32, random: u32) -> String {
    format!(".{name}.json.tmp-{pid}-{random:08x}")
}

/// A taken request's name.
#[must_use]
pub fn taken_name(name: &str, pid: u32, random: u32) -> String {
    format!(".{name}.json.taken-{pid}-{random:08x}")
}

/// A session's lock for concurrent hooks.
#[must_use]
pub fn lock_name(name: &str) -> String {
    format!(".{name}.lock")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn safe_counts_utf16_units_as_javascript_does() {
        assert_eq!(safe("a\u{1f600}/\u{e9}"), "a____");
        assert_eq!(safe("019fb27c-6804_x.Y"), "019fb27c-6804_x.Y");
        assert_eq!(safe("../../etc"), ".._.._etc");
    }

    #[test]
    fn an_unfit_name_gets_a_hash() {
        let long = "x".repeat(161);
        for (id, shown) in [
            (".hidden", "_hidden"),
            ("ends.", "ends."),
            ("..", "_."),
            ("con", "con"),
            ("NUL.txt", "NUL.txt"),
            ("com1", "com1"),
            ("LPT9.x", "LPT9.x"),
            (long.as_str(), &long[..160]),
        ] {
            let hashed = format!("{shown}~{}", hash16(id));
            assert_eq!(document_name(id).as_deref(), Some(hashed.as_str()), "{id}");
            assert!(name_fits(&hashed, id));
        }
        let fits = "x".repeat(160);
        for id in ["a/b", "console", "com10", "a.b", fits.as_str()] {
            assert_eq!(document_name(id), Some(safe(id)), "{id}");
        }
        assert_eq!(document_name(""), None);
        assert_eq!(hash16("abc"), "ba7816bf8f01cfea");
    }

    #[test]
    fn on_the_bus_a_changed_name_always_has_a_hash() {
        assert_eq!(bus_name("a/b"), Some(format!("a_b~{}", hash16("a/b"))));
        assert_eq!(bus_name("a_b"), Some("a_b".into()));
    }

    #[test]
    fn a_name_of_another_id_does_not_fit() {
        assert!(name_fits("a_b", "a/b") && name_fits("a_b", "a_b"));
        assert!(!name_fits("a_b", "a.b") && !name_fits("", "") && !name_fits("a", "b"));
    }

    #[test]
    fn files_are_told_by_their_names() {
        assert_eq!(file_name("s-1.json"), FileName::Document("s-1"));
        assert_eq!(file_name(&temporary_name("s-1", 7, 0xab)), FileName::Temporary { name: "s-1", pid: 7 });
        assert_eq!(file_name(&taken_name("s.json.tmp-1", 7, 1)), FileName::Taken { name: "s.json.tmp-1", pid: 7 });
        assert_eq!(file_name(&lock_name("s-1")), FileName::Lock("s-1"));
        for other in [".json", "x", ".x.json", ".x.json.tmp-1", ".x.json.tmp-a-00000000", ".x.json.tmp-1-zzzzzzzz", ""]
        {
            assert_eq!(file_name(other), FileName::Other, "{other}");
        }
    }
}
