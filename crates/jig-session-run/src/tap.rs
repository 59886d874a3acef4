//! The program's output on its way to the terminal.
//!
//! While nothing is taken out, every byte passes as it came and the tap only listens. Once the program has been
//! answered by us in the terminal's place, its reports are taken out: the terminal knows nothing of them. The question
//! itself always passes, so that a terminal which learns to answer is heard.

use crate::scan::{Scanner, Sequence, Step};

/// Listens to a stream, and filters reports out of it when configured to.
#[derive(Debug, Default)]
pub struct Tap {
    scanner: Scanner,
    /// What came of a sequence that may have to be taken out.
    held: Vec<u8>,
}

impl Tap {
    /// Listens only: `on` gets every complete sequence; the bytes are the caller's to pass on.
    pub fn listen(&mut self, bytes: &[u8], mut on: impl FnMut(Sequence<'_>)) {
        let mut rest = bytes;
        loop {
            rest = &rest[self.scanner.skip(rest)..];
            let Some((&byte, after)) = rest.split_first() else { return };
            rest = after;
            if self.scanner.step(byte) == Step::Ended {
                on(self.scanner.sequence());
            }
        }
    }

    /// Whether bytes are held back, so that what comes next must go through [`Tap::filter`].
    #[must_use]
    pub fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// Passes everything to `out` but complete reports. A report's beginning is held back until it is whole.
    pub fn filter(&mut self, bytes: &[u8], out: &mut Vec<u8>, mut on: impl FnMut(Sequence<'_>)) {
        let mut rest = bytes;
        loop {
            let plain = self.scanner.skip(rest);
            out.extend_from_slice(&rest[..plain]);
            let Some((&byte, after)) = rest[plain..].split_first() else { return };
            rest = after;
            // A sequence whose beginning has passed already is no longer held.
            let holding = !self.held.is_empty() || self.scanner.is_ground();
            if holding {
                self.held.push(byte);
            } else {
                out.push(byte);
            }
            match self.scanner.step(byte) {
                Step::Inside if self.scanner.may_be_status() => {}
                Step::Inside | Step::Plain | Step::Broken => out.append(&mut self.held),
                Step::Restarted(last) => {
                    let begins = self.held.len().saturating_sub(last);
                    if holding {
                        out.extend(self.held.drain(..begins));
                    } else {
                        // The new sequence can be held from its beginning after all.
                        self.held.extend(out.drain(out.len().saturating_sub(last)..));
                    }
                    if !self.scanner.may_be_status() {
                        out.append(&mut self.held);
                    }
                }
                Step::Ended => {
                    let sequence = self.scanner.sequence();
                    on(sequence);
                    match sequence {
                        Sequence::Status(body) if !asks(body) && holding => self.held.clear(),
                        _ => out.append(&mut self.held),
                    }
                }
            }
        }
    }

    /// The stream has ended: what was held back passes.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.held);
    }
}

/// Whether the body of a program-status sequence is the question whether the terminal knows it, or its answer.
#[must_use]
pub fn asks(body: &[u8]) -> bool {
    body.iter().find(|byte| !matches!(byte, b' ' | b'\t')) == Some(&b'?')
}
