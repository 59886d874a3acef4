//! The list of all panes: one call, free text length-prefixed because a folder or a title may hold anything.

use std::collections::HashSet;

use super::{Server, TmuxError};
use crate::classify::Cursor;

/// What tmux says about one pane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PaneFacts {
    /// `#{session_name}`.
    pub session: String,
    /// `#{window_index}`.
    pub window_index: String,
    /// `#{pane_index}`.
    pub pane_index: String,
    /// `#{pane_id}`, `%3`: the safe handle.
    pub pane_id: String,
    /// `#{pane_current_command}`, verbatim.
    pub command: String,
    /// `#{pane_current_path}`, verbatim; empty for a dead pane.
    pub path: String,
    /// `#{pane_start_path}`: the folder the pane was opened in, known for dead panes too.
    pub start_path: String,
    /// `#{pane_dead}`.
    pub dead: bool,
    /// `#{pane_dead_status}`, when the process ended by itself.
    pub dead_status: Option<i32>,
    /// `#{pane_active}`.
    pub active: bool,
    /// `#{alternate_on}`.
    pub alternate: bool,
    /// `#{pane_pid}`, the process tmux started in the pane.
    pub pid: u32,
    /// `#{pane_tty}`: the pane's terminal.
    pub tty: String,
    /// `#{pane_title}`, verbatim.
    pub title: String,
    /// Where the cursor stood when the screen was captured.
    pub cursor: Option<Cursor>,
}

impl PaneFacts {
    /// `session:window.pane`.
    pub fn target(&self) -> String {
        format!("{}:{}.{}", self.session, self.window_index, self.pane_index)
    }
}

/// The fields of the list call: numbers first, then six texts, each behind its length in bytes.
pub const FORMAT: &str = "#{pane_id},#{pane_dead},#{pane_dead_status},#{pane_active},#{alternate_on},#{pane_pid},\
#{window_index},#{pane_index};#{n:session_name}:#{session_name}#{n:pane_current_command}:#{pane_current_command}\
#{n:pane_current_path}:#{pane_current_path}#{n:pane_start_path}:#{pane_start_path}#{n:pane_tty}:#{pane_tty}#{n:pane_title}:#{pane_title}";

/// Lists the panes of a server; none when there is no server.
///
/// A pane in grouped sessions or linked windows is under several targets: with `all_targets` each is
/// given, otherwise the first.
pub fn list(server: &Server, all_targets: bool) -> Result<Vec<PaneFacts>, TmuxError> {
    let command = ["list-panes", "-a", "-F", FORMAT];
    let mut answer = server.query(&command, &[])?;
    if answer.code != Some(0) && went_away(&answer.errors) {
        // The server ended during the call; a new one may stand in its place.
        answer = server.query(&command, &[])?;
    }
    if answer.code != Some(0) {
        return if absent(&answer.errors) || went_away(&answer.errors) {
            Ok(Vec::new())
        } else {
            Err(TmuxError::Refused(answer.errors))
        };
    }
    if answer.output.is_empty() && !answer.errors.is_empty() {
        // Some refusals end with exit code 0; a server with sessions always lists a pane.
        return Err(TmuxError::Refused(answer.errors));
    }
    let mut panes = parse(&answer.output).ok_or(TmuxError::Form)?;
    if !all_targets {
        let mut seen = HashSet::new();
        panes.retain(|pane| seen.insert(pane.pane_id.clone()));
    }
    Ok(panes)
}

/// No server runs, or one without sessions, in the words of the tmux client and of the C library.
fn absent(errors: &str) -> bool {
    errors.starts_with("no server running")
        || errors.contains("(No such file or directory)")
        || errors.contains("(Connection refused)")
        || ["no current session", "no current target", "no sessions"].iter().any(|words| errors.starts_with(words))
}

fn went_away(errors: &str) -> bool {
    errors.contains("lost server") || errors.contains("server exited")
}

/// Reads all records; `None` when one does not have the requested format.
pub fn parse(mut bytes: &[u8]) -> Option<Vec<PaneFacts>> {
    let mut panes = Vec::new();
    while !bytes.is_empty() {
        let (pane, rest) = record(bytes)?;
        panes.push(pane);
        bytes = rest;
    }
    Some(panes)
}

fn record(bytes: &[u8]) -> Option<(PaneFacts, &[u8])> {
    let end = bytes.iter().position(|&byte| byte == b';')?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let mut numbers = head.split(',');
    let mut number = || numbers.next();
    let pane_id = number()?.to_owned();
    if !pane_id.starts_with('%') {
        return None;
    }
    let (dead, dead_status, active, alternate) = (number()?, number()?, number()?, number()?);
    let pid = number()?.parse().ok()?;
    let (window_index, pane_index) = (number()?.to_owned(), number()?.to_owned());
    let mut rest = &bytes[end + 1..];
    let mut text = || {
        let (text, after) = prefixed(rest)?;
        rest = after;
        Some(text)
    };
    let pane = PaneFacts {
        session: text()?,
        window_index,
        pane_index,
        pane_id,
        command: text()?,
        path: text()?,
        start_path: text()?,
        dead: dead == "1",
        dead_status: dead_status.parse().ok(),
        active: active == "1",
        alternate: alternate == "1",
        pid,
        tty: text()?,
        title: text()?,
        cursor: None,
    };
    let rest = rest.strip_prefix(b"\n")?;
    Some((pane, rest))
}

/// `5:abcde`; bytes that are no UTF-8 are replaced.
fn prefixed(bytes: &[u8]) -> Option<(String, &[u8])> {
    let colon = bytes.iter().position(|&byte| byte == b':')?;
    let length: usize = std::str::from_utf8(&bytes[..colon]).ok()?.parse().ok()?;
    let text = bytes.get(colon + 1..colon + 1 + length)?;
    Some((String::from_utf8_lossy(text).into_owned(), &bytes[colon + 1 + length..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_holds_any_text() {
        let bytes = "%3,1,7,1,0,42,2,0;6:open-a4:bash0:5:/a\n\tb10:/dev/pts/310:ti;,%1日\n\u{202e}\n%4,0,,0,1,43,0,0;1:s0:0:0:0:0:\n";
        let bytes = bytes.replace("10:ti", &format!("{}:ti", "ti;,%1日\n\u{202e}".len()));
        let panes = parse(bytes.as_bytes()).expect("two records");
        assert_eq!(panes.len(), 2);
        let pane = &panes[0];
        assert_eq!((pane.target().as_str(), pane.pane_id.as_str(), pane.pid), ("open-a:2.0", "%3", 42));
        assert_eq!(
            (pane.path.as_str(), pane.start_path.as_str(), pane.tty.as_str(), pane.title.as_str()),
            ("", "/a\n\tb", "/dev/pts/3", "ti;,%1日\n\u{202e}")
        );
        assert_eq!((pane.dead, pane.dead_status, pane.active, pane.alternate), (true, Some(7), true, false));
        assert_eq!(panes[1].dead_status, None);
    }

    #[test]
    fn another_form_is_refused() {
        assert_eq!(parse(b"garbage\n"), None);
        assert_eq!(parse(b"%1,0,,1,0,1,0,0;x:y\n"), None);
        assert_eq!(parse(b"%1,0,,1,0,1,0,0;99:short\n"), None);
        assert_eq!(parse(b""), Some(Vec::new()));
    }

    #[test]
    fn no_server_is_distinguished_from_a_failure() {
        assert!(absent("no current target"));
        assert!(!absent("access not allowed"));
        assert!(absent("no server running on /tmp/tmux-0/default"));
        assert!(absent("error connecting to /tmp/tmux-0/x (No such file or directory)"));
        assert!(!absent("error connecting to /tmp/tmux-0/x (Permission denied)"));
    }
}
