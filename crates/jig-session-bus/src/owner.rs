//! Which incarnation of a session owns its record.

use jig_session_schema::names;

/// First 16 hex digits of SHA-256 of id, pid and start, each followed by a line feed.
///
/// One agent's command line, server and hooks share id and process, so they are one owner; the same session in a second
/// pane is another. Without a process nothing can be shared, and a random number distinguishes incarnations.
pub(crate) fn of(id: &str, pid: Option<u32>, start: Option<&str>, random: u32) -> String {
    match (pid, start) {
        (Some(pid), Some(start)) => names::hash16(&format!("{id}\n{pid}\n{start}\n")),
        _ => names::hash16(&format!("{id}\n{random}\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_is_one_owner() {
        assert_eq!(of("s", Some(7), Some("linux:1"), 1), of("s", Some(7), Some("linux:1"), 2));
        assert_ne!(of("s", Some(7), Some("linux:1"), 1), of("s", Some(8), Some("linux:1"), 1));
        assert_ne!(of("s", Some(7), Some("linux:1"), 1), of("s", Some(7), Some("linux:2"), 1));
        assert_ne!(of("s", None, None, 1), of("s", None, None, 2));
        assert_eq!(of("s", Some(7), Some("linux:1"), 1).len(), 16);
    }
}
