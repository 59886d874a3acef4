//! Where the strings of a JSON text begin and end, found for 64 bytes at a time.
//!
//! Most of a document is strings, and most of reading one is looking for their ends. Here this is done for the whole text
//! at once, without a decision for each of them.

use crate::skim::Odd;

const BLOCK: usize = 64;

/// The quotes that open or close a string: one bit for each byte of the text.
#[derive(Debug)]
pub(crate) struct Quotes {
    blocks: Vec<u64>,
    escapes: bool,
}

impl Quotes {
    /// Looks once over a text. Escapes and what may not stand in a string are checked here.
    pub(crate) fn of(text: &str) -> Result<Self, Odd> {
        let text = text.as_bytes();
        let mut found = Vec::with_capacity(text.len() / BLOCK + 1);
        let (blocks, rest) = text.as_chunks::<BLOCK>();
        let mut last = [b' '; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        let mut state = State::default();
        for block in blocks.iter().chain(std::iter::once(&last)) {
            let (mut quotes, odd) = marks(block);
            if odd || state.escaped {
                state.check(text, found.len() * BLOCK, block, &mut quotes)?;
            }
            state.inside ^= quotes.count_ones() & 1 == 1;
            found.push(quotes);
        }
        Ok(Self { blocks: found, escapes: state.escapes })
    }

    /// The index after the next quote, which closes the string whose text begins here.
    #[inline]
    pub(crate) fn after(&self, at: usize) -> Result<usize, Odd> {
        let mut place = at / BLOCK;
        let mut bits = self.blocks.get(place).ok_or(Odd)? & (u64::MAX << (at % BLOCK));
        while bits == 0 {
            place += 1;
            bits = *self.blocks.get(place).ok_or(Odd)?;
        }
        Ok(place * BLOCK + bits.trailing_zeros() as usize + 1)
    }

    /// Whether there is a backslash anywhere.
    pub(crate) fn escapes(&self) -> bool {
        self.escapes
    }
}

/// What is known at the beginning of a block.
#[derive(Debug, Default)]
struct State {
    /// It begins within a string.
    inside: bool,
    /// Its first byte follows a backslash.
    escaped: bool,
    /// There were backslashes in the blocks before.
    escapes: bool,
}

impl State {
    /// Deals with a block that holds backslashes or control characters: takes the quotes that are escaped out of
    /// `quotes`.
    fn check(&mut self, text: &[u8], from: usize, block: &[u8; BLOCK], quotes: &mut u64) -> Result<(), Odd> {
        let mut backslashes = each(block, |byte| byte == b'\\');
        let controls = each(block, |byte| byte < b' ');
        if std::mem::take(&mut self.escaped) {
            *quotes &= !1;
            backslashes &= !1;
        }
        while backslashes != 0 {
            let place = backslashes.trailing_zeros();
            escape(text, from + place as usize)?;
            // The byte behind it, and a backslash there is none of its own.
            let behind = (1_u64 << place) << 1;
            *quotes &= !behind;
            backslashes &= !(behind | 1 << place);
            self.escaped = behind == 0;
            self.escapes = true;
        }
        // From each opening quote to the closing one: the parity of the quotes up to there.
        let mut strings = *quotes;
        for shift in [1, 2, 4, 8, 16, 32] {
            strings ^= strings << shift;
        }
        if self.inside {
            strings = !strings;
        }
        if controls & strings == 0 { Ok(()) } else { Err(Odd) }
    }
}

/// An escape must be one that a parser knows.
fn escape(text: &[u8], at: usize) -> Result<(), Odd> {
    match text.get(at + 1).ok_or(Odd)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(()),
        b'u' if text.get(at + 2..at + 6).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) => Ok(()),
        _ => Err(Odd),
    }
}

fn each(block: &[u8; BLOCK], is: impl Fn(u8) -> bool) -> u64 {
    block.iter().zip(0..).fold(0, |bits, (byte, place)| bits | u64::from(is(*byte)) << place)
}

/// The quotes of a block, and whether it holds backslashes or control characters. Without decisions, and so done for
/// sixteen bytes or more at a time.
fn marks(block: &[u8; BLOCK]) -> (u64, bool) {
    let odd = block.iter().fold(false, |odd, byte| odd | (*byte < b' ') | (*byte == b'\\'));
    let found = block.map(|byte| u8::from(byte == b'"'));
    let quotes = found.as_chunks::<8>().0.iter().zip(0..).fold(0, |quotes, (part, place)| {
        // Gathers the lowest bits of eight bytes in the highest byte.
        quotes | u64::from_le_bytes(*part).wrapping_mul(0x0102_0408_1020_4080) >> 56 << (8 * place)
    });
    (quotes, odd)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte at every place of a block, among bytes that differ from it by one bit.
    #[test]
    fn quotes_and_odd_bytes_are_found_at_every_place() {
        for byte in 0..=u8::MAX {
            for around in [b' ', b'"', b'\\', 0x1f, 0xff, byte ^ 1, byte ^ 0x80] {
                for place in 0..BLOCK {
                    let mut block = [around; BLOCK];
                    block[place] = byte;
                    let odd = block.iter().any(|byte| *byte < b' ' || *byte == b'\\');
                    assert_eq!(marks(&block), (each(&block, |byte| byte == b'"'), odd), "{byte:#x} in {around:#x}");
                }
            }
        }
    }

    /// Strings that begin and end at every place around the ends of blocks.
    #[test]
    fn quotes_are_found_across_blocks() {
        for before in 0..130 {
            for inside in [
                "",
                "x",
                "\\\"",
                "\\\\",
                "\\u00e9",
                "a long text \\\" with \\\\ escapes in it, longer than one block is \\n",
            ] {
                let text = format!("{}\"{inside}\" ", " ".repeat(before));
                let quotes = Quotes::of(&text).expect("well-formed");
                assert_eq!(quotes.after(0), Ok(before + 1), "{text}");
                assert_eq!(quotes.after(before + 1), Ok(before + inside.len() + 2), "{text}");
                assert_eq!(quotes.after(before + inside.len() + 2), Err(Odd));
                assert_eq!(quotes.escapes(), inside.contains('\\'), "{text}");
            }
            for bad in ["\n", "\u{1}", "\\x", "\\u12g4", "\\", "\\\\\\"] {
                let text = format!("\n{}\"{bad}", " ".repeat(before));
                assert_eq!(Quotes::of(&text).map(|_| ()), Err(Odd), "{text}");
            }
        }
    }
}
