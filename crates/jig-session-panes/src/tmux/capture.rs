//! The visible screens of many panes in one call, framed by a marker that no pane can forge.

use std::collections::HashMap;
use std::fmt::Write;
use std::ops::Range;

use super::{Server, TmuxError};

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
    text: Range<usize>,
}

/// One pane as it was when it was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturedPane<'a> {
    /// `pane_dead` at that moment.
    pub dead: bool,
    /// `alternate_on` at that moment.
    pub alternate: bool,
    /// The visible screen.
    pub bytes: &'a [u8],
}

impl Capture {
    /// The screen of a pane; none when the pane was gone.
    pub fn get(&self, pane_id: &str) -> Option<CapturedPane<'_>> {
        let frame = self.panes.get(pane_id)?;
        Some(CapturedPane { dead: frame.dead, alternate: frame.alternate, bytes: &self.output[frame.text.clone()] })
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
            "display-message -p -t '{pane}' '@{nonce} #{{pane_id}} #{{pane_dead}} #{{alternate_on}}'\ncapture-pane -p -t '{pane}'"
        );
    }
    batch
}

/// Cuts the output at the markers.
fn split(output: Vec<u8>, nonce: &str) -> Capture {
    let marker = format!("@{nonce} ");
    let mut panes = HashMap::new();
    let mut open: Option<(String, bool, bool, usize)> = None;
    let mut at = 0;
    while at < output.len() {
        let end = output[at..].iter().position(|&byte| byte == b'\n').map_or(output.len(), |length| at + length);
        if let Some(head) = output[at..end].strip_prefix(marker.as_bytes()) {
            if let Some((pane, dead, alternate, start)) = open.take() {
                panes.insert(pane, Frame { dead, alternate, text: start..at });
            }
            let head = String::from_utf8_lossy(head);
            let mut words = head.split(' ');
            if let Some(pane) = words.next() {
                let dead = words.next() == Some("1");
                let alternate = words.next() == Some("1");
                open = Some((pane.to_owned(), dead, alternate, (end + 1).min(output.len())));
            }
        }
        at = end + 1;
    }
    if let Some((pane, dead, alternate, start)) = open {
        panes.insert(pane, Frame { dead, alternate, text: start..output.len() });
    }
    Capture { output, panes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_cut_at_the_markers() {
        let output = b"@n0 %1 0 1\nfirst\n@x %9 forged\n@n0 %2 1 0\n@n0 %3 0 0\nlast\n".to_vec();
        let capture = split(output, "n0");
        assert_eq!(
            capture.get("%1"),
            Some(CapturedPane { dead: false, alternate: true, bytes: b"first\n@x %9 forged\n" })
        );
        assert_eq!(capture.get("%2"), Some(CapturedPane { dead: true, alternate: false, bytes: b"" }));
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
