//! What belongs into each folder of the state folder: how a folder that carries no mark yet is distinguished from another
//! program's, and a broken document of ours from another program's file.

use crate::names::{FileName, file_name, name_fits};
use crate::read::ReadError;
use crate::request::Request;
use crate::status::Status;

/// Whether bytes that are no whole document begin as every document of ours does: an object whose first key is
/// `schema`, with a number. What was cut off earlier begins so as far as it goes; no bytes at all begin like nothing.
#[must_use]
pub fn begins_like_ours(bytes: &[u8]) -> bool {
    let mut rest = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    if rest.is_empty() {
        return false;
    }
    for part in ["{", "\"schema\"", ":"] {
        let length = part.len().min(rest.len());
        if rest[..length] != part.as_bytes()[..length] {
            return false;
        }
        rest = rest[length..].trim_ascii_start();
        if rest.is_empty() {
            return true;
        }
    }
    rest[0].is_ascii_digit()
}

/// Whether a file of this name and content belongs into the folder of status files.
#[must_use]
pub fn in_sessions(name: &str, content: &[u8]) -> bool {
    named(name, content, |content| Status::scan(content).err())
}

/// Whether a file of this name and content belongs into the folder of requests.
#[must_use]
pub fn in_requests(name: &str, content: &[u8]) -> bool {
    named(name, content, |content| Request::read(content).err())
}

/// Whether a file of this name and content belongs into the folder of marks: it holds the id of the session that it is
/// named after.
#[must_use]
pub fn in_seen(name: &str, content: &[u8]) -> bool {
    let id = std::str::from_utf8(content).map(|text| text.trim_end_matches('\n'));
    content.is_empty() || id.is_ok_and(|id| name_fits(name, id))
}

/// Whether a folder of this name belongs into the folder of all buses: a readable part, then 16 hex digits.
#[must_use]
pub fn in_bus(name: &str) -> bool {
    let hash = name.rsplit_once('-').filter(|(slug, _)| !slug.is_empty()).map(|(_, hash)| hash);
    hash.is_some_and(|hash| hash.len() == 16 && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')))
}

/// Temporaries, taken files and locks are recognised by their names alone; a document also by what it says.
fn named(name: &str, content: &[u8], problem: impl Fn(&[u8]) -> Option<ReadError>) -> bool {
    match file_name(name) {
        FileName::Other => false,
        FileName::Temporary { .. } | FileName::Taken { .. } | FileName::Lock(_) => true,
        FileName::Document(_) => match problem(content) {
            // A power cut leaves such files, and a newer version of this program others.
            None | Some(ReadError::Empty | ReadError::Unsupported { .. }) => true,
            Some(_) => serde_json::from_slice::<serde::de::IgnoredAny>(content).is_err() && begins_like_ours(content),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = r#"{"schema":1,"session":"s-1","pid":7,"cwd":"/w","state":"idle"}"#;

    #[test]
    fn every_beginning_of_a_document_begins_like_ours() {
        let spaced = "\u{feff} {\n  \"schema\" : 1,\n  \"session\": \"s\"";
        for text in [STATUS, spaced] {
            let first = text.find('{').unwrap_or_default();
            for end in first + 1..text.len() {
                assert!(begins_like_ours(&text.as_bytes()[..end]), "{}", &text[..end]);
            }
        }
        for text in [
            "",
            " ",
            "\u{feff}",
            "[",
            "\0\0\0",
            "x",
            "{}",
            "{'schema'",
            "{\"session\":1",
            "{\"schema\":\"https://x\"",
            "{\"schemas",
        ] {
            assert!(!begins_like_ours(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn a_file_belongs_by_its_name_and_by_what_it_says() {
        let ours = [
            ("a.json", STATUS),
            ("a.json", &STATUS[..30]),
            ("a.json", ""),
            (".a.json.tmp-7-0123abcd", "x"),
            (".a.lock", ""),
        ];
        for (name, content) in ours {
            assert!(in_sessions(name, content.as_bytes()), "{name} {content}");
        }
        let newer = STATUS.replace("\"schema\":1", "\"schema\":9");
        assert!(in_sessions("a.json", newer.as_bytes()));
        let others =
            ["{}", "[]", r#"{"schema":1}"#, r#"{"schema":1,"sessions":[]}"#, "{\"name\":\"x\"", "\0\0", "text"];
        for content in others {
            assert!(!in_sessions("a.json", content.as_bytes()), "{content}");
        }
        for name in ["a.jsonl", ".git", "README", ".a.json.tmp-x", "session.db"] {
            assert!(!in_sessions(name, STATUS.as_bytes()), "{name}");
        }
        let request = r#"{"schema":1,"id":"r-1","reload":true}"#;
        assert!(in_requests("a.json", request.as_bytes()), "{:?}", Request::read(request.as_bytes()));
        assert!(in_requests("a.json", &request.as_bytes()[..20]));
        assert!(!in_requests("a.json", br#"{"schema":1,"method":"GET"}"#));
    }

    #[test]
    fn a_mark_is_told_by_the_id_in_it() {
        assert!(in_seen("s-1", b"s-1\n") && in_seen("a_b", b"a/b\n") && in_seen("s-1", b""));
        assert!(!in_seen("s-1", b"s-2\n") && !in_seen("notes", b"buy milk") && !in_seen("s-1", b"\xff"));
    }

    #[test]
    fn a_bus_is_told_by_its_name() {
        for name in ["app-0123456789abcdef", "a-b.c_d-ffffffffffffffff", "repo-0000000000000000"] {
            assert!(in_bus(name), "{name}");
        }
        for name in ["app", "-0123456789abcdef", "app-0123456789abcde", "app-0123456789ABCDEF", "system_bus_socket"] {
            assert!(!in_bus(name), "{name}");
        }
    }
}
