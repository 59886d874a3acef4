//! Escape sequences in a terminal's stream, found wherever the reads fell.
//!
//! Only what `run` needs is recognised: program status (OSC 7501), the question for the terminal's primary attributes
//! and its answer (DA1), a full reset, a shell's prompt, titles and the older progress sequence. Nothing is rewritten:
//! [`Scanner`] says where a sequence ended, and the bytes stay whose they are.
//!
//! It follows the parser of real terminals: `CAN` and `SUB` break a sequence off, an `ESC` breaks it off and begins the
//! next one, control characters inside are ignored, and eight-bit controls are none, since the stream is UTF-8.

use termstate_core::limits::{MAX_SEQUENCE, PREFIX};

const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;
/// What a program-status sequence begins with, behind `ESC ]`.
const STATUS: &[u8] = b"7501;";
/// The longest run of parameters of a control sequence that is looked at.
const PARAMETERS: usize = 64;

/// What a complete sequence says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequence<'a> {
    /// Program status: what stands behind `7501;`.
    Status(&'a [u8]),
    /// The program queries the terminal's primary attributes.
    AskAttributes,
    /// The terminal's primary attributes.
    Attributes,
    /// A full reset.
    Reset,
    /// A shell's prompt begins.
    Prompt,
    /// The window's title.
    Title(&'a [u8]),
    /// The older progress sequence (`OSC 9;4`): what stands behind `9;4;`.
    Progress(&'a [u8]),
    /// Any other.
    Other,
}

/// What one byte did.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// The byte belongs to no sequence.
    Plain,
    /// It begins a sequence, or goes on with one.
    Inside,
    /// The byte breaks the sequence off and stands outside of any.
    Broken,
    /// The sequence before was broken off, and these last bytes (one or two) begin the next one.
    Restarted(usize),
    /// The byte ends a sequence; [`Scanner::sequence`] says which.
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ground,
    Escape,
    Control,
    Command,
    CommandEscape,
}

/// A state machine over a stream of bytes.
#[derive(Clone, Debug)]
pub struct Scanner {
    state: State,
    /// Parameters of a control sequence, or the body of an operating system command.
    body: Vec<u8>,
    /// How long the body is, what is not stored included.
    length: usize,
    /// A control character stood where the prefix of a program-status sequence must be unbroken.
    odd: bool,
    ended: Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Reset,
    Control(u8),
    Command { terminator: usize },
}

impl Default for Scanner {
    fn default() -> Self {
        Self::new()
    }
}

impl Scanner {
    /// A scanner outside of any sequence.
    #[must_use]
    pub fn new() -> Self {
        Self { state: State::Ground, body: Vec::new(), length: 0, odd: false, ended: Ended::Reset }
    }

    /// Whether the stream is outside of any sequence.
    #[must_use]
    pub fn is_ground(&self) -> bool {
        self.state == State::Ground
    }

    /// Whether what has come so far may become a program-status sequence.
    #[must_use]
    pub fn may_be_status(&self) -> bool {
        match self.state {
            State::Escape => true,
            State::Command | State::CommandEscape => {
                let shown = self.body.len().min(STATUS.len());
                !self.odd && self.body[..shown] == STATUS[..shown] && self.length <= MAX_SEQUENCE
            }
            State::Ground | State::Control => false,
        }
    }

    /// Whether what has come so far may become the terminal's attributes, or its answer about program status.
    #[must_use]
    pub fn may_be_answer(&self) -> bool {
        const ANSWER: &[u8] = b"7501;?";
        match self.state {
            State::Escape => true,
            State::Control => self.body.first().is_none_or(|first| *first == b'?'),
            State::Command | State::CommandEscape => {
                let shown = self.body.len().min(ANSWER.len());
                self.body[..shown] == ANSWER[..shown] && self.may_be_status()
            }
            State::Ground => false,
        }
    }

    /// Where the next byte is that this scanner must look at: all before it is plain.
    #[must_use]
    pub fn skip(&self, bytes: &[u8]) -> usize {
        if self.state == State::Ground { memchr::memchr(ESC, bytes).unwrap_or(bytes.len()) } else { 0 }
    }

    /// Takes one byte.
    pub fn step(&mut self, byte: u8) -> Step {
        match self.state {
            State::Ground if byte == ESC => self.begin(),
            State::Ground => Step::Plain,
            State::Escape => self.escape(byte, 1),
            State::Control => match byte {
                ESC => self.restart(1),
                CAN | SUB => self.broken(),
                0x40..=0x7e => self.end(Ended::Control(byte)),
                _ => self.store(byte, PARAMETERS),
            },
            State::Command => match byte {
                BEL => self.end(Ended::Command { terminator: 1 }),
                ESC => {
                    self.state = State::CommandEscape;
                    Step::Inside
                }
                CAN | SUB => self.broken(),
                0x00..=0x1f => {
                    self.odd |= self.length < STATUS.len();
                    Step::Inside
                }
                _ => self.store(byte, MAX_SEQUENCE),
            },
            State::CommandEscape if byte == b'\\' => self.end(Ended::Command { terminator: 2 }),
            State::CommandEscape => {
                self.begin();
                self.escape(byte, 2)
            }
        }
    }

    /// The sequence that the last byte has ended.
    #[must_use]
    pub fn sequence(&self) -> Sequence<'_> {
        match self.ended {
            Ended::Reset => Sequence::Reset,
            Ended::Control(b'c') => match self.body.as_slice() {
                b"" | b"0" => Sequence::AskAttributes,
                [b'?', rest @ ..] if rest.iter().all(|byte| byte.is_ascii_digit() || *byte == b';') => {
                    Sequence::Attributes
                }
                _ => Sequence::Other,
            },
            Ended::Control(_) => Sequence::Other,
            Ended::Command { terminator } => self.command(terminator),
        }
    }

    fn command(&self, terminator: usize) -> Sequence<'_> {
        let body = self.body.as_slice();
        if let Some(status) = body.strip_prefix(STATUS).filter(|_| !self.odd) {
            let whole = PREFIX.len() + self.length - STATUS.len() + terminator;
            return if whole <= MAX_SEQUENCE { Sequence::Status(status) } else { Sequence::Other };
        }
        if body == b"133;A" || body.starts_with(b"133;A;") {
            return Sequence::Prompt;
        }
        if let Some(progress) = body.strip_prefix(b"9;4;") {
            return Sequence::Progress(progress);
        }
        match body {
            [b'0' | b'2', b';', title @ ..] if self.length < MAX_SEQUENCE => Sequence::Title(title),
            _ => Sequence::Other,
        }
    }

    fn begin(&mut self) -> Step {
        self.state = State::Escape;
        self.body.clear();
        self.length = 0;
        self.odd = false;
        Step::Inside
    }

    /// The byte behind an `ESC`. `since` is how many bytes the sequence has by now when it did not begin just before.
    fn escape(&mut self, byte: u8, since: usize) -> Step {
        let inside = if since == 1 { Step::Inside } else { Step::Restarted(since) };
        match byte {
            b'[' => self.state = State::Control,
            b']' => self.state = State::Command,
            b'c' => {
                let end = self.end(Ended::Reset);
                // What was broken off before it counts as passed; the reset itself has ended.
                return end;
            }
            ESC => return self.restart(1),
            _ => return self.broken(),
        }
        inside
    }

    fn restart(&mut self, bytes: usize) -> Step {
        self.begin();
        Step::Restarted(bytes)
    }

    fn broken(&mut self) -> Step {
        self.state = State::Ground;
        Step::Broken
    }

    fn end(&mut self, ended: Ended) -> Step {
        self.state = State::Ground;
        self.ended = ended;
        Step::Ended
    }

    fn store(&mut self, byte: u8, most: usize) -> Step {
        self.length += 1;
        if self.body.len() < most {
            self.body.push(byte);
        }
        Step::Inside
    }
}
