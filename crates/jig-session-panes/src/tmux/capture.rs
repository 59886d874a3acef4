//! The visible screens of many panes in one call, framed by a marker that no pane can forge.

use std::collections::HashMap;
use std::fmt::Write;
use std::ops::Range;

use super::{Server, TmuxError};
use crate::classify::Cursor;

/// The screens of one call.
#[derive(Debug, Default)]
pub struct Capture {
    output: Vec<u8>,
    panes: HashMap<String, Frame>,
}

#[derive(Debug)]
struct Frame {
    dead: bool,
    alternate: bool,
    cursor: Option<Cursor>,
    text: Range<usize>,
}

/// One pane as it was when it was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturedPane<'a> {
    /// `pane_dead` at that moment.
    pub dead: bool,
    /// `alternate_on` at that moment.
    pub alternate: bool,
    /// `cursor_x` and `cursor_y` at that moment.
    pub cursor: Option<Cursor>,
    /// The visible screen.
    pub bytes: &'a [u8],
}

impl Capture {
    /// The screen of a pane; none when the pane was gone.
    pub fn get(&self, pane_id: &str) -> Option<CapturedPane<'_>> {
        let frame = self.panes.get(pane_id)?;
        Some(CapturedPane {
            dead: frame.dead,
            alternate: frame.alternate,
            cursor: frame.cursor,
            bytes: &self.output[frame.text.clone()],
        })
    }
}

/// Captures these panes with one process. `nonce` must be unpredictable (128 bits in hex).
///
/// Each line of the batch is a command of its own, so a pane that is gone costs one line on stderr and
/// the rest goes on; the exit code says nothing, the markers do.
pub fn captures<'a>(server: &Server, nonce: &str, panes: impl Iterator<Item = &'a str>) -> Result<Capture, TmuxError> {
    let batch = batch(nonce, panes);
    if batch.is_empty() {
        return Ok(Capture::default());
    }
    let answer = server.query(&["source-file", "-"], batch.as_bytes())?;
    Ok(split(answer.output, nonce))
}

/// The batch: two commands a pane. Also what the two calls are measured against.
pub fn batch<'a>(nonce: &str, panes: impl Iterator<Item = &'a str>) -> String {
    let mut batch = String::new();
    for pane in panes {
        // A pane id is `%` and digits; anything else would be a command of its own here.
        if pane.strip_prefix('%').is_none_or(|id| id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_digit())) {
            continue;
        }
        let _ = writeln!(
            batch,
            "display-message -p -t '{pane}' '@{nonce} #{{pane_id}} #{{pane_dead}} #{{alternate_on}} #{{cursor_x}} #{{cursor_y}}'\ncapture-pane -p -t '{pane}'"
        );
    }
    batch
}

/// Cuts the output at the markers.
fn split(output: Vec<u8>, nonce: &str) -> Capture {
    let marker = format!("@{nonce} ");
    let mut panes = HashMap::new();
    let mut open: Option<(String, Frame)> = None;
    let mut at = 0;
    while at < output.len() {
        let end = output[at..].iter().position(|&byte| byte == b'\n').map_or(output.len(), |length| at + length);
        if let Some(head) = output[at..end].strip_prefix(marker.as_bytes()) {
            if let Some((pane, mut frame)) = open.take() {
                frame.text.end = at;
                panes.insert(pane, frame);
            }
            open = header(&String::from_utf8_lossy(head), (end + 1).min(output.len())..output.len());
        }
        at = end + 1;
    }
    panes.extend(open);
    Capture { output, panes }
}

/// Reads a marker's words; its text goes on to the next one.
fn header(head: &str, text: Range<usize>) -> Option<(String, Frame)> {
    let mut words = head.split(' ');
    let pane = words.next()?.to_owned();
    let (dead, alternate) = (words.next() == Some("1"), words.next() == Some("1"));
    let mut number = || words.next()?.parse().ok();
    let cursor = number().zip(number()).map(|(column, row)| Cursor { column, row });
    Some((pane, Frame { dead, alternate, cursor, text }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_cut_at_the_markers() {
        let output = b"@n0 %1 0 1 7 2\nfirst\n@x %9 forged\n@n0 %2 1 0\n@n0 %3 0 0\nlast\n".to_vec();
        let capture = split(output, "n0");
        assert_eq!(
            capture.get("%1"),
            Some(CapturedPane {
                dead: false,
                alternate: true,
                cursor: Some(Cursor { column: 7, row: 2 }),
                bytes: b"first\n@x %9 forged\n"
            })
        );
        assert_eq!(capture.get("%2"), Some(CapturedPane { dead: true, alternate: false, cursor: None, bytes: b"" }));
        assert_eq!(capture.get("%3").map(|shot| shot.bytes), Some(&b"last\n"[..]));
        assert_eq!(capture.get("%9"), None);
    }

    #[test]
    fn only_pane_ids_enter_the_batch() {
        let batch = batch("n", ["%1", "%2; kill-server", "x", "%"].into_iter());
        assert_eq!(batch.lines().count(), 2);
        assert!(batch.contains("capture-pane -p -t '%1'"));
    }
}
