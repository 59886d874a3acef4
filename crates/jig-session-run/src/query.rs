//! Does the terminal know program status? Who answers, and when.
//!
//! A program asks `OSC 7501 ; ?` and then for the primary attributes (DA1), which every terminal answers. A terminal
//! that knows program status answers the first question first. Questions are queued in the order in which the program
//! asked them, so that an answer of DA1 is distinguished from that of an earlier one; when the one behind the question
//! comes and the terminal has said nothing, our answer goes in before it.

use std::collections::VecDeque;
use std::time::Duration;

use termstate_core::{Capabilities, Terminator};

use crate::scan::{Scanner, Sequence, Step};
use crate::tap::asks;

/// How long a terminal that answers nothing at all is waited for.
pub const PATIENCE: Duration = Duration::from_millis(300);
/// How long the beginning of what may be an answer is held back: a person's Esc key looks like one.
pub const HOLD: Duration = Duration::from_millis(5);
/// Maximum number of pending queries: a program that queries endlessly is not answered endlessly.
const OPEN: usize = 64;

/// A query by the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Query {
    Attributes,
    Status { at: Duration },
}

/// The questions that are open, and the terminal's input while one is.
#[derive(Debug, Default)]
pub struct Questions {
    asked: VecDeque<Query>,
    scanner: Scanner,
    held: Vec<u8>,
    held_since: Duration,
    /// The current sequence's beginning has passed already.
    passed: bool,
    ours: bool,
}

impl Questions {
    /// Takes a sequence of the program's output, before the terminal gets it. True: a question has been opened.
    pub fn output(&mut self, sequence: Sequence<'_>, now: Duration) -> bool {
        let asked = match sequence {
            Sequence::AskAttributes => Query::Attributes,
            Sequence::Status(body) if asks(body) => Query::Status { at: now },
            _ => return false,
        };
        if !self.are_open() {
            // Input that arrived without a pending query was not scanned.
            self.scanner = Scanner::new();
        }
        if self.asked.len() == OPEN {
            self.asked.pop_front();
        }
        self.asked.push_back(asked);
        asked != Query::Attributes
    }

    /// Whether the terminal's input must go through [`Questions::input`].
    #[must_use]
    pub fn are_open(&self) -> bool {
        !self.asked.is_empty() || !self.held.is_empty()
    }

    /// Whether we have answered in the terminal's place: then the program's reports are not for the terminal.
    #[must_use]
    pub fn answered_by_us(&self) -> bool {
        self.ours
    }

    /// The terminal's input on its way to the program, our answer included when it is due.
    pub fn input(&mut self, bytes: &[u8], now: Duration, out: &mut Vec<u8>) {
        let mut rest = bytes;
        loop {
            let plain = self.scanner.skip(rest);
            out.extend_from_slice(&rest[..plain]);
            let Some((&byte, after)) = rest[plain..].split_first() else { break };
            rest = after;
            if self.held.is_empty() && self.scanner.is_ground() {
                self.passed = false;
                self.held_since = now;
            }
            self.held.push(byte);
            match self.scanner.step(byte) {
                Step::Inside => {}
                Step::Plain | Step::Broken => out.append(&mut self.held),
                Step::Restarted(last) => {
                    let begins = self.held.len().saturating_sub(last);
                    out.extend(self.held.drain(..begins));
                    self.passed = false;
                    self.held_since = now;
                }
                Step::Ended => {
                    match self.scanner.sequence() {
                        Sequence::Attributes => self.attributes_came(out),
                        Sequence::Status(body) if asks(body) => self.terminal_answered(),
                        _ => {}
                    }
                    out.append(&mut self.held);
                }
            }
            if self.passed || !self.scanner.may_be_answer() || !self.waits() {
                self.passed |= !self.scanner.is_ground();
                out.append(&mut self.held);
            }
        }
    }

    /// Lets go what has been held back for too long, and answers when nothing else does.
    pub fn expire(&mut self, now: Duration, out: &mut Vec<u8>) {
        if !self.held.is_empty() && now >= self.held_since + HOLD {
            self.passed = true;
            out.append(&mut self.held);
        }
        let late = |asked: &Query| matches!(asked, Query::Status { at } if now >= *at + PATIENCE);
        if now >= self.between() {
            while let Some(first) = self.asked.iter().position(late) {
                self.asked.remove(first);
                self.answer(out);
            }
        }
    }

    /// When [`Questions::expire`] has something to do.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        let held = (!self.held.is_empty()).then(|| self.held_since + HOLD);
        let asked = self.asked.iter().find_map(|asked| match asked {
            Query::Status { at } => Some((*at + PATIENCE).max(self.between())),
            Query::Attributes => None,
        });
        held.into_iter().chain(asked).min()
    }

    /// When our answer can stand between two of the terminal's sequences: not while one is coming in. A key that looks
    /// like a beginning stays the beginning of nothing, so it counts for a moment only.
    fn between(&self) -> Duration {
        if self.scanner.is_ground() { Duration::ZERO } else { self.held_since + 4 * HOLD }
    }

    fn waits(&self) -> bool {
        self.asked.iter().any(|asked| *asked != Query::Attributes)
    }

    /// The terminal's attributes have arrived: earlier queries will not be answered any more.
    fn attributes_came(&mut self, out: &mut Vec<u8>) {
        let Some(place) = self.asked.iter().position(|asked| *asked == Query::Attributes) else { return };
        for asked in self.asked.drain(..=place).collect::<Vec<_>>() {
            if asked != Query::Attributes {
                self.answer(out);
            }
        }
    }

    fn terminal_answered(&mut self) {
        self.ours = false;
        if let Some(place) = self.asked.iter().position(|asked| *asked != Query::Attributes) {
            self.asked.remove(place);
        }
    }

    fn answer(&mut self, out: &mut Vec<u8>) {
        self.ours = true;
        let mut text = String::new();
        // A text takes whatever is written to it.
        let _ = Capabilities::default().write_reply(&mut text, Terminator::St);
        out.extend_from_slice(text.as_bytes());
    }
}
